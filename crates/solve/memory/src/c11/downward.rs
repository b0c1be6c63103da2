//! `sra` by Theorem 1.3 of RF: a memoised search over downward-closed sets, on top of a saturated order.
//!
//! Events are executed one by one, each after everything that is before it. If some rmw reads the last write of a
//! location, no other write of the location is executed before that rmw. The state of the search is the set of executed
//! events, which is one position for each thread. A set from which the search cannot complete is remembered, and not
//! entered twice. There are at most n^k sets for k threads.
//!
//! An event is executed at once if that restricts no other event. Such events are a read, a write that no rmw reads,
//! the rmw that its location waits for, and a write that all remaining writes of its location must come after.

use history::Execution;
use history::execution::{EventId, Kind};
use order::Saturation;
use order::saturation::NONE;
use rustc_hash::FxHashSet;

use super::Ended;
use crate::store::frame::Frame;
use model::Budget;

/// How a search ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All events in an order in which no write comes between an rmw and its source.
    Found(Vec<u32>),
    /// There is none.
    Refuted,
    /// The limit of sets is reached, and there are more sets to look at.
    Paused,
}

/// The search.
pub(super) struct Downward<'a> {
    frame: &'a Frame<'a>,
    execution: &'a Execution,
    order: &'a Saturation,
    /// The writes by location, thread and program order; and where each location begins.
    writes: Vec<u32>,
    locations: Vec<u32>,
    /// The next event of each thread.
    next: Vec<u32>,
    /// By location: the rmw that must be the next write of the location, or [`NONE`].
    awaited: Vec<u32>,
    /// The executed events, each with the rmw that its location awaited before.
    trail: Vec<(u32, u32)>,
}

impl<'a> Downward<'a> {
    /// A search for an order that extends `order`. Only rmws read in the frame.
    pub(super) fn new(frame: &'a Frame<'a>, order: &'a Saturation) -> Self {
        let execution = frame.execution();
        let mut locations = vec![0; execution.location_count() + 1];
        let writes_of = || (0..).zip(execution.events()).filter(|(_, event)| event.kind.writes());
        for (_, event) in writes_of() {
            locations[event.location.index() + 1] += 1;
        }
        for location in 1..locations.len() {
            locations[location] += locations[location - 1];
        }
        let mut writes = vec![0; *locations.last().unwrap_or(&0) as usize];
        let mut next = locations.clone();
        let mut awaited = vec![NONE; execution.location_count()];
        for (id, event) in writes_of() {
            writes[next[event.location.index()] as usize] = id;
            next[event.location.index()] += 1;
            if event.source == EventId::INIT {
                awaited[event.location.index()] = id;
            }
        }
        let next = execution.starts()[..execution.thread_count()].to_vec();
        Self { frame, execution, order, writes, locations, next, awaited, trail: Vec::new() }
    }

    /// Searches until so many sets are known from which the search cannot complete.
    pub(super) fn run(&mut self, sets: usize, budget: &Budget) -> Result<Outcome, Ended> {
        let threads = self.execution.thread_count();
        let mut dead: FxHashSet<Box<[u32]>> = FxHashSet::default();
        // For each choice: how long the trail was before it, and which threads were not tried yet.
        let mut choices: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut steps = 0u32;
        loop {
            self.run_ahead();
            if self.trail.len() == self.execution.len() {
                return Ok(Outcome::Found(self.trail.iter().map(|&(event, _)| event).collect()));
            }
            if !dead.contains(&self.next[..]) {
                let open = (0..threads).rev().filter(|&thread| self.is_executable(thread)).collect();
                choices.push((self.trail.len(), open));
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1024) {
                budget.check()?;
            }
            loop {
                let Some((length, open)) = choices.last_mut() else {
                    return Ok(Outcome::Refuted);
                };
                let length = *length;
                let thread = open.pop();
                self.undo(length);
                if let Some(thread) = thread {
                    self.execute(thread);
                    break;
                }
                dead.insert(self.next.clone().into_boxed_slice());
                if dead.len() >= sets {
                    return Ok(Outcome::Paused);
                }
                choices.pop();
            }
        }
    }

    /// The writes of a thread on a location that are not executed.
    fn remaining(&self, location: usize, thread: usize) -> &[u32] {
        let all = &self.writes[self.locations[location] as usize..self.locations[location + 1] as usize];
        let begin = all.partition_point(|&write| write < self.next[thread]);
        let end = all.partition_point(|&write| write < self.execution.starts()[thread + 1]);
        &all[begin..end]
    }

    /// The rmw that reads a write.
    fn updater(&self, write: u32) -> u32 {
        self.frame.readers(self.order, write).first().copied().unwrap_or(NONE)
    }

    /// Whether the next event of a thread may be executed.
    fn is_executable(&self, thread: usize) -> bool {
        let at = self.next[thread];
        if at == self.execution.starts()[thread + 1] {
            return false;
        }
        let event = self.execution.events()[at as usize];
        let awaited = if event.kind.writes() { self.awaited[event.location.index()] } else { NONE };
        let known = self.order.clock(at).iter().zip(&self.next).enumerate();
        (awaited == NONE || awaited == at)
            && known.into_iter().all(|(other, (end, next))| other == thread || end <= next)
    }

    /// Whether the next event of a thread, which is executable, can be executed without restricting any other event.
    fn is_harmless(&self, thread: usize) -> bool {
        let at = self.next[thread];
        let event = self.execution.events()[at as usize];
        event.kind == Kind::Fence
            || self.awaited[event.location.index()] == at
            || self.updater(at) == NONE
            || (0..self.next.len()).filter(|&other| other != thread).all(|other| {
                let first = self.remaining(event.location.index(), other).first();
                first.is_none_or(|&write| self.order.before(at, write))
            })
    }

    fn run_ahead(&mut self) {
        loop {
            let before = self.trail.len();
            for thread in 0..self.next.len() {
                while self.is_executable(thread) && self.is_harmless(thread) {
                    self.execute(thread);
                }
            }
            if self.trail.len() == before {
                return;
            }
        }
    }

    fn execute(&mut self, thread: usize) {
        let at = self.next[thread];
        let event = self.execution.events()[at as usize];
        self.next[thread] += 1;
        let mut awaited = NONE;
        if event.kind.writes() {
            let updater = self.updater(at);
            awaited = std::mem::replace(&mut self.awaited[event.location.index()], updater);
        }
        self.trail.push((at, awaited));
    }

    fn undo(&mut self, length: usize) {
        for (at, awaited) in self.trail.drain(length..).rev() {
            let event = self.execution.events()[at as usize];
            self.next[self.execution.threads()[at as usize].index()] = at;
            if event.kind.writes() {
                self.awaited[event.location.index()] = awaited;
            }
        }
    }
}
