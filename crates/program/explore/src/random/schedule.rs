//! Which thread goes on.
//!
//! What a thread needs to go on is found once for each of its steps. A thread that waits for a value is asked again
//! only if there is another write. One that spins goes on if it can read another value, and then it does: with the same
//! value it would go round its loop once more, which leads to nothing new.

use super::{RandomStrategy, Sampler};
use crate::exploration::{admit, may_leave_loop, may_read};
use crate::graph::NONE;
use crate::program::{Next, Program, Step};

/// Whether a thread can go on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has not begun.
    Unknown,
    /// It can.
    Ready,
    /// If this thread has finished.
    Joins(u32),
    /// If it can read a value that it waits for.
    Awaits,
    /// If it can read another value than those of its last steps, as many as told.
    Spins(u32),
    /// It has finished.
    Finished,
    /// It never can.
    Over,
}

impl State {
    /// Whether it can go on if something happens.
    fn waits(self) -> bool {
        matches!(self, Self::Joins(_) | Self::Awaits | Self::Spins(_))
    }
}

fn remove(list: &mut Vec<u32>, thread: u32) {
    if let Some(at) = list.iter().position(|&other| other == thread) {
        list.swap_remove(at);
    }
}

impl<P: Program> Sampler<P> {
    /// The thread that goes on. Its step is known.
    pub(super) fn choose(&mut self, now: usize) -> Option<u32> {
        // What one thread does when it is woken may wake another.
        while self.wake() && self.ready.is_empty() && self.awake.is_empty() {}
        self.choose_ready(now)
    }

    /// Finds for every thread that has begun, or can, whether it can go on.
    pub(super) fn settle_all(&mut self) {
        self.spawned.clear();
        for thread in 0..self.graph.thread_count() {
            if thread < self.program.threads() || self.graph.spawned[thread as usize] != NONE {
                self.spawned.push(thread);
            }
        }
        self.settle_spawned();
    }

    /// Finds whether a thread can go on that has had a step, or that was woken, and the same for those that it has
    /// spawned.
    #[inline]
    pub(super) fn settle(&mut self, thread: u32) {
        let (old, new) = (self.states[thread as usize], self.run_on(thread));
        if old != new {
            self.states[thread as usize] = new;
            match old {
                State::Ready => remove(&mut self.ready, thread),
                _ if old.waits() => remove(&mut self.waiting, thread),
                _ => {}
            }
            match new {
                State::Ready => self.ready.push(thread),
                _ if new.waits() => self.waiting.push(thread),
                _ => {}
            }
        }
        if !self.spawned.is_empty() {
            self.settle_spawned();
        }
    }

    fn settle_spawned(&mut self) {
        let count = self.graph.thread_count() as usize;
        if self.states.len() < count {
            self.states.resize(count, State::Unknown);
            self.asleep.resize(count, NONE);
            self.stale.resize(count, None);
        }
        while let Some(thread) = self.spawned.pop() {
            self.settle(thread);
        }
    }

    /// Adds the next steps of a thread as long as no other thread can tell when they happen: accesses that are only
    /// checked for races, which are found in whatever order, and the beginning of the thread. If the graph is eager,
    /// that is every step that does not read. The answer is whether the thread can go on after these.
    fn run_on(&mut self, thread: u32) -> State {
        loop {
            let states = &self.states;
            let has_finished = |thread: u32| states.get(thread as usize) == Some(&State::Finished);
            let step = match *self.nexts.advance(&mut self.program, &mut self.graph, thread) {
                Next::Step(Step::Read { until: None, .. } | Step::Rmw { until: None, .. }) => return State::Ready,
                Next::Step(Step::Read { .. } | Step::Rmw { .. }) => return State::Awaits,
                Next::Step(Step::Join(child)) if !self.graph.is_eager || !has_finished(child) => {
                    return State::Joins(child);
                }
                Next::Step(step) => step,
                Next::Spins(steps) => return State::Spins(steps),
                Next::Finished => return State::Finished,
                _ => return State::Over,
            };
            if !self.graph.is_eager && !matches!(step, Step::Access { .. } | Step::Begin) {
                return State::Ready;
            }
            self.nexts.forget(thread);
            admit(&mut self.graph, &self.program, &step);
            self.add(thread, &step);
        }
    }

    /// Finds which of the threads that wait can go on. Those that then can whatever happens do so, or get ready. The
    /// answer is whether there are any of these.
    #[inline]
    fn wake(&mut self) -> bool {
        self.awake.clear();
        let mut has_woken = false;
        // A thread that goes on leaves its place to the last one, which was looked at before.
        for at in (0..self.waiting.len()).rev() {
            has_woken |= self.wake_one(self.waiting[at]);
        }
        has_woken
    }

    fn wake_one(&mut self, thread: u32) -> bool {
        let at = thread as usize;
        match self.states[at] {
            State::Joins(child) => {
                let can_join = self.states.get(child as usize) == Some(&State::Finished);
                if can_join && self.graph.is_eager {
                    self.settle(thread);
                } else if can_join {
                    self.states[at] = State::Ready;
                    remove(&mut self.waiting, thread);
                    self.ready.push(thread);
                }
                can_join
            }
            State::Awaits | State::Spins(_) if self.asleep[at] == self.graph.write_count => false,
            State::Awaits => {
                if self.has_source(thread) {
                    self.awake.push(thread);
                } else {
                    self.asleep[at] = self.graph.write_count;
                }
                false
            }
            State::Spins(steps) => {
                if !may_leave_loop(&mut self.graph, thread, steps) {
                    self.asleep[at] = self.graph.write_count;
                    return false;
                }
                self.stale[at] = self.stale_value(thread, steps);
                self.program.wake(thread, &self.graph);
                self.nexts.forget(thread);
                self.settle(thread);
                // It may wait at once for something else.
                !matches!(self.states[at], State::Spins(_))
            }
            _ => false,
        }
    }

    /// The value that a loop has read in its last round, if it reads once in a round.
    fn stale_value(&self, thread: u32, steps: u32) -> Option<i64> {
        let len = self.graph.len(thread);
        let round = (len.saturating_sub(steps)..len).map(|index| self.graph.event(thread, index));
        let mut reads = round.filter(|event| matches!(event.step, Step::Read { .. } | Step::Rmw { .. }));
        let read = reads.next()?.read;
        reads.next().is_none().then_some(read)
    }

    /// The thread that goes on, of those that can.
    #[inline]
    fn choose_ready(&mut self, now: usize) -> Option<u32> {
        let Self { ready, awake, random, priorities, .. } = self;
        let count = ready.len() + awake.len();
        if count == 0 {
            return None;
        }
        if self.strategy == RandomStrategy::Uniform {
            let at = random.below(count);
            return ready.get(at).or_else(|| awake.get(at - ready.len())).copied();
        }
        while priorities.len() < self.graph.thread_count() as usize {
            priorities.push(random.below(1 << 40) as i64);
        }
        let all = ready.iter().chain(&*awake).copied();
        let first = all.clone().max_by_key(|&thread| (priorities[thread as usize], thread))?;
        if !self.changes.contains(&now) {
            return Some(first);
        }
        // Below all others, and below those that were lowered before.
        let lowest = priorities.iter().copied().min().unwrap_or(0).min(0) - 1;
        priorities[first as usize] = lowest;
        all.max_by_key(|&thread| (priorities[thread as usize], thread))
    }

    /// Whether there is a write that a thread waits for.
    fn has_source(&mut self, thread: u32) -> bool {
        let &Next::Step(step) = self.nexts.of(&mut self.program, &self.graph, thread) else { return false };
        admit(&mut self.graph, &self.program, &step);
        let (Some(location), Some(until)) = (step.location(), step.until()) else { return false };
        // The newest is the most likely one.
        (0..self.graph.locations[location as usize].writes.len()).rev().any(|write| {
            let source = self.graph.locations[location as usize].writes[write];
            until.accepts(self.graph.value_of(location, source)) && may_read(&mut self.graph, thread, step, source)
        })
    }
}
