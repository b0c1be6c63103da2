//! The monitor of `sc-observed`: sequential consistency if the order in which operations were performed is observed
//! (Cain and Lipasti: Verifying Sequential Consistency Using Vector Clocks; with a correction).
//!
//! **Definition.** Operations come in the order in which they were globally performed. Each has an index in the program
//! order of its thread. A thread may perform its operations out of program order. Two operations conflict if they are
//! on the same location and at least one of them writes. The constraint graph has an edge from each operation to every
//! later operation of its thread, and from each operation to every conflicting operation that is performed later. The
//! execution is sequentially consistent exactly if this graph is acyclic. Values are not looked at: by definition, a
//! read returns the value that was performed last.
//!
//! **Clocks.** An operation a *leads to* b if the graph has a path from a to b. The clock of an operation has an entry
//! for each thread: one more than the largest index of that thread among the operations that lead to it, or zero. All
//! smaller indices of that thread lead to it, too, as soon as they are performed, since program order leads on from
//! them.
//!
//! **A new operation** y of thread t has edges from the conflicting operations and from the operations before it in t.
//! Its only outgoing edges lead to operations behind y in t that were performed early. So y closes a cycle exactly if
//! an operation of t behind y leads to an operation that conflicts with y. This is so exactly if the clock of a
//! conflicting operation reaches beyond y in t. If there is no cycle, then everything that leads to y now also leads to
//! every operation whose clock reaches beyond y in t. One pass joins the clock of y to these clocks. One pass suffices,
//! since all clocks were complete before.
//!
//! **Which clocks are kept?** For a location: the clock of its last write, which covers all earlier writes, and the
//! join of the clocks of its reads. (The paper overwrites the clock of a read by the next. That is wrong, since a read
//! does not cover other reads.) For a thread: the clock of the last operation before each gap in its performed indices,
//! since no operation can come between two neighbours. So memory is in proportion to threads times (threads + locations
//! + gaps), whatever the length of the stream.

use history::execution::Kind;
use serde::{Deserialize, Serialize};

use crate::{Monitor, Progress, Violation};

/// An operation that was globally performed just now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PerformedNow {
    /// Its thread. Threads are numbers, best from zero on without large gaps.
    pub thread: u32,
    /// Its index in the program order of its thread, from zero on. An operation without an index comes right after the
    /// largest index that its thread has performed so far. In the end the indices must have no gaps, or memory grows
    /// with the gaps.
    pub index: Option<u64>,
    /// Whether it reads, writes, does both, or is a fence.
    pub kind: Kind,
    /// Its location: a number, best from zero on without large gaps. It has no meaning for a fence.
    pub location: u32,
}

/// Consecutive indices of a thread that are all performed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stretch {
    /// The first index, and one more than the last.
    first: u64,
    end: u64,
    /// The slot of the clock of the last operation.
    clock: u32,
}

/// The monitor of `sc-observed`. The [front page](crate) of the crate has an example.
///
/// Memory is in proportion to threads times (threads + locations + gaps in the performed indices), whatever the length
/// of the stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScObserved {
    events: u64,
    /// How many entries a clock has.
    width: usize,
    /// Clocks, by slot.
    clocks: Vec<u64>,
    /// Slots that are not in use. Their clocks are zero.
    free: Vec<u32>,
    /// For each slot: whether it is in `open`.
    is_open: Vec<bool>,
    /// All slots whose clocks may have to grow, since they reach beyond a gap of some thread. There may be others.
    open: Vec<u32>,
    /// For each thread: the indices that it has performed.
    threads: Vec<Vec<Stretch>>,
    /// For each location: the slots of its writes and of its reads.
    locations: Vec<[u32; 2]>,
    /// The clock of the current operation.
    clock: Vec<u64>,
    /// Room for what [`Self::propagate`] computes.
    #[serde(skip)]
    settled: Vec<u64>,
}

impl Default for ScObserved {
    fn default() -> Self {
        Self::new()
    }
}

/// Sets each entry of `into` to the maximum of both entries.
pub(crate) fn join(into: &mut [u64], from: &[u64]) {
    for (into, &from) in into.iter_mut().zip(from) {
        *into = (*into).max(from);
    }
}

impl ScObserved {
    /// A monitor without operations.
    pub fn new() -> Self {
        Self {
            events: 0,
            width: 4,
            clocks: Vec::new(),
            free: Vec::new(),
            is_open: Vec::new(),
            open: Vec::new(),
            threads: Vec::new(),
            locations: Vec::new(),
            clock: vec![0; 4],
            settled: Vec::new(),
        }
    }

    /// How many clocks the monitor keeps.
    pub fn clock_count(&self) -> usize {
        self.is_open.len() - self.free.len()
    }

    fn make_room(&mut self, thread: usize, location: Option<usize>) {
        if thread >= self.width {
            let width = (thread + 1).next_power_of_two();
            let mut wide = vec![0; self.is_open.len() * width];
            for (wide, clock) in wide.chunks_exact_mut(width).zip(self.clocks.chunks_exact(self.width)) {
                wide[..clock.len()].copy_from_slice(clock);
            }
            self.clocks = wide;
            self.width = width;
            self.clock.resize(width, 0);
        }
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Vec::new());
        }
        while location.is_some_and(|location| self.locations.len() <= location) {
            let slots = [self.take_slot(), self.take_slot()];
            self.locations.push(slots);
        }
    }

    fn take_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.clocks.resize(self.clocks.len() + self.width, 0);
            self.is_open.push(false);
            self.is_open.len() as u32 - 1
        })
    }

    /// The clock of a slot, to be changed.
    fn slot_mut(&mut self, slot: u32) -> &mut [u64] {
        if !std::mem::replace(&mut self.is_open[slot as usize], true) {
            self.open.push(slot);
        }
        &mut self.clocks[slot as usize * self.width..][..self.width]
    }

    /// Joins the current clock to all clocks that reach beyond `stamp` in a thread.
    fn propagate(&mut self, thread: usize, stamp: u64) {
        let Self { clocks, is_open, open, threads, clock, width, settled, .. } = self;
        // All operations of the thread before this index are performed.
        let end = |thread: usize| match threads.get(thread).and_then(|runs| runs.first()) {
            Some(run) if run.first == 0 => run.end,
            _ => 0,
        };
        settled.clear();
        settled.extend((0..*width).map(end));
        open.retain(|&slot| {
            let reached = &mut clocks[slot as usize * *width..][..*width];
            if reached[thread] > stamp {
                join(reached, clock);
            }
            let stays = reached.iter().zip(&*settled).any(|(reached, settled)| reached > settled);
            is_open[slot as usize] = stays;
            stays
        });
    }

    /// Enters the current operation after the first `before` runs of its thread.
    fn enter(&mut self, thread: usize, index: u64, before: usize) {
        let runs = &self.threads[thread];
        let extends = before > 0 && runs[before - 1].end == index;
        let meets = runs.get(before).is_some_and(|run| run.first == index + 1);
        match (extends, meets) {
            (true, false) => {
                self.threads[thread][before - 1].end = index + 1;
                let slot = self.threads[thread][before - 1].clock;
                let clock = std::mem::take(&mut self.clock);
                self.slot_mut(slot).copy_from_slice(&clock);
                self.clock = clock;
            }
            (true, true) => {
                let first = self.threads[thread].remove(before - 1);
                self.threads[thread][before - 1].first = first.first;
                // A clock of zeros reaches nowhere, so the slot will leave `open` by itself.
                self.slot_mut(first.clock).fill(0);
                self.free.push(first.clock);
            }
            (false, true) => self.threads[thread][before].first = index,
            (false, false) => {
                let slot = self.take_slot();
                let clock = std::mem::take(&mut self.clock);
                self.slot_mut(slot).copy_from_slice(&clock);
                self.clock = clock;
                self.threads[thread].insert(before, Stretch { first: index, end: index + 1, clock: slot });
            }
        }
    }
}

impl Monitor for ScObserved {
    type Event = PerformedNow;

    fn push(&mut self, event: PerformedNow) -> Result<Progress, Violation> {
        let thread = event.thread as usize;
        let location = (event.kind != Kind::Fence).then_some(event.location as usize);
        let number = self.events;
        self.events += 1;
        self.make_room(thread, location);
        let runs = &self.threads[thread];
        let index = event.index.unwrap_or_else(|| runs.last().map_or(0, |run| run.end));
        if index == u64::MAX {
            return Ok(Progress::Refused("an index in program order must be less than 2^64 - 1".to_owned()));
        }
        let stamp = index + 1;
        let before = match runs.last() {
            Some(last) if last.first > index => runs.partition_point(|run| run.first <= index),
            _ => runs.len(),
        };
        let is_late = before < runs.len();
        match before.checked_sub(1).map(|at| &runs[at]) {
            Some(run) if run.end > index => {
                return Ok(Progress::Refused(format!("operation {index} of this thread was performed before")));
            }
            Some(run) => self.clock.copy_from_slice(&self.clocks[run.clock as usize * self.width..][..self.width]),
            None => self.clock.fill(0),
        }
        if let Some(location) = location {
            // The writes come first, since a read does not conflict with reads.
            let conflicting = if event.kind.writes() { 2 } else { 1 };
            for &slot in &self.locations[location][..conflicting] {
                let known = &self.clocks[slot as usize * self.width..][..self.width];
                if known[thread] > stamp {
                    let reason = "an earlier operation on this location depends on a later operation of this thread";
                    return Err(Violation { event: number, reason: reason.to_owned(), evidence: None });
                }
                join(&mut self.clock, known);
            }
        }
        self.clock[thread] = stamp;
        if let Some(location) = location {
            let [writes, reads] = self.locations[location];
            let slot = if event.kind.writes() { writes } else { reads };
            let clock = std::mem::take(&mut self.clock);
            join(self.slot_mut(slot), &clock);
            self.clock = clock;
        }
        if is_late {
            self.propagate(thread, stamp);
        }
        self.enter(thread, index, before);
        Ok(Progress::Possible)
    }
}
