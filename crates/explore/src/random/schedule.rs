//! Which thread goes on.
//!
//! What a thread needs to go on is found once for each of its steps. A thread that waits for a value is asked again
//! only if there is another write. One that spins goes on if it can read another value, and then it does: with the same
//! value it would go round its loop once more, which leads to nothing new.

use super::{Sampler, Strategy};
use crate::exploration::{admit, may_leave_loop, may_read};
use crate::graph::NONE;
use crate::program::{Next, Program, Step};

/// Whether a thread can go on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its next step is not known.
    Unknown,
    /// It can.
    Ready,
    /// If it was spawned.
    Begins,
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

impl<P: Program> Sampler<P> {
    /// The thread that goes on, and its step.
    pub(super) fn choose(&mut self, now: usize) -> Option<(u32, Step)> {
        let count = self.graph.thread_count();
        if self.states.len() < count as usize {
            self.states.resize(count as usize, State::Unknown);
            self.asleep.resize(count as usize, NONE);
            self.stale.resize(count as usize, None);
        }
        self.ready.clear();
        for thread in 0..count {
            if self.can_go_on(thread) {
                self.ready.push(thread);
            }
        }
        let thread = self.choose_ready(now)?;
        let &Next::Step(step) = self.nexts.of(&mut self.program, &self.graph, thread) else { return None };
        admit(&mut self.graph, &self.program, step);
        Some((thread, step))
    }

    fn state(&mut self, thread: u32) -> State {
        let state = &mut self.states[thread as usize];
        if *state == State::Unknown {
            *state = match *self.nexts.advance(&mut self.program, &mut self.graph, thread) {
                Next::Spins(steps) => State::Spins(steps),
                Next::Step(Step::Begin) => State::Begins,
                Next::Step(Step::Join(child)) => State::Joins(child),
                Next::Step(Step::Read { until: Some(_), .. } | Step::Rmw { until: Some(_), .. }) => State::Awaits,
                Next::Step(_) => State::Ready,
                Next::Finished => State::Finished,
                _ => State::Over,
            };
        }
        *state
    }

    /// Whether a thread can go on. One that spins is woken if it can.
    fn can_go_on(&mut self, thread: u32) -> bool {
        let at = thread as usize;
        match self.state(thread) {
            State::Ready => true,
            State::Begins => self.graph.spawned[at] != NONE,
            State::Joins(child) => {
                let has_begun = child < self.program.threads() || !self.graph.is_empty(child);
                has_begun && self.state(child) == State::Finished
            }
            State::Awaits | State::Spins(_) if self.asleep[at] == self.graph.write_count => false,
            State::Awaits => {
                let is_awake = self.has_source(thread);
                if !is_awake {
                    self.asleep[at] = self.graph.write_count;
                }
                is_awake
            }
            State::Spins(steps) => {
                if !may_leave_loop(&mut self.graph, thread, steps) {
                    self.asleep[at] = self.graph.write_count;
                    return false;
                }
                self.stale[at] = self.stale_value(thread, steps);
                self.program.wake(thread, &self.graph);
                self.nexts.forget(thread);
                self.states[at] = State::Unknown;
                // It may wait at once for something else.
                !matches!(self.state(thread), State::Spins(_)) && self.can_go_on(thread)
            }
            State::Unknown | State::Finished | State::Over => false,
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
    fn choose_ready(&mut self, now: usize) -> Option<u32> {
        if self.ready.is_empty() {
            return None;
        }
        if self.strategy == Strategy::Uniform {
            let at = self.random.below(self.ready.len());
            return Some(self.ready[at]);
        }
        while self.priorities.len() < self.graph.thread_count() as usize {
            let priority = self.random.below(1 << 40) as i64;
            self.priorities.push(priority);
        }
        let priority = |&&thread: &&u32| self.priorities[thread as usize];
        let first = *self.ready.iter().max_by_key(priority)?;
        if !self.changes.contains(&now) {
            return Some(first);
        }
        // Below all others, and below those that were lowered before.
        let lowest = self.priorities.iter().copied().min().unwrap_or(0).min(0) - 1;
        self.priorities[first as usize] = lowest;
        self.ready.iter().max_by_key(|&&thread| self.priorities[thread as usize]).copied()
    }

    /// Whether there is a write that a thread waits for.
    fn has_source(&mut self, thread: u32) -> bool {
        let &Next::Step(step) = self.nexts.of(&mut self.program, &self.graph, thread) else { return false };
        admit(&mut self.graph, &self.program, step);
        let (Some(location), Some(until)) = (step.location(), step.until()) else { return false };
        // The newest is the most likely one.
        (0..self.graph.locations[location as usize].writes.len()).rev().any(|write| {
            let source = self.graph.locations[location as usize].writes[write];
            until.accepts(self.graph.value_of(location, source)) && may_read(&mut self.graph, thread, step, source)
        })
    }
}
