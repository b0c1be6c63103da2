//! `sc-observed`: sequential consistency where the order in which operations were performed is observed (Cain and
//! Lipasti: Verifying Sequential Consistency Using Vector Clocks, corrected).
//!
//! Operations come in the order in which they were globally performed, each with its index in the program order of its
//! thread; a thread may perform out of program order. The constraint graph has an edge from each operation to those
//! later in its thread, and from each operation to those performed later that conflict with it: on the same location,
//! at least one a write. The execution is sequentially consistent iff that graph is acyclic. Values are not looked at:
//! what a read returns is, by definition, what was last performed.
//!
//! The clock of an operation says of each thread how far the operations reach that lead to it: one more than the
//! greatest index of them, or zero. Since program order leads on from what is performed, everything before that index
//! in the thread leads to it, too, as soon as it is performed.
//!
//! A new operation y of thread t gets edges from what conflicts with it and from the operations before it in t, and its
//! only edges to others lead to what t has performed before its turn. So y closes a cycle iff an operation of t behind
//! y leads to something that conflicts with y: iff one of their clocks reaches beyond y in t. If not, then whatever y
//! depends on now reaches all that depends on an operation of t behind y, which are the clocks that reach beyond y in
//! t; one pass joins the clock of y to them, since all clocks were closed before.
//!
//! Which clocks are needed again? Of a location, that of its last write, which knows all writes before, and the join of
//! those of its reads. (Joined, not overwritten as in the paper: reads do not know each other.) Of a thread, the clock
//! of the last operation before each gap in what it has performed: nothing can still come between two neighbours. So
//! memory is in proportion to threads times (threads, locations, and gaps), whatever the length of the stream.

use history::execution::Kind;
use serde::{Deserialize, Serialize};

use crate::{Monitor, Progress, Violation};

/// An operation that was globally performed just now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Performed {
    /// Its thread. Threads are numbers, best from zero on without large gaps.
    pub thread: u32,
    /// Its index in the program order of its thread, from zero on; without one, it comes right after the last of those
    /// performed so far. Indices must be without gaps in the end, else memory grows with the gaps.
    pub index: Option<u64>,
    /// What it is.
    pub kind: Kind,
    /// Its location, a number like that of a thread. That of a fence means nothing.
    pub location: u32,
}

/// Neighbours in program order that are all performed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    /// The first index, and one more than the last.
    first: u64,
    end: u64,
    /// The slot of the clock of the last one.
    clock: u32,
}

/// The monitor of `sc-observed`. See the [module](self).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScObserved {
    events: u64,
    /// The lanes of a clock.
    width: usize,
    /// Clocks, by slot.
    clocks: Vec<u64>,
    /// Slots that are not in use; their clocks are zero.
    free: Vec<u32>,
    /// By slot: whether it is in `open`.
    is_open: Vec<bool>,
    /// At least the slots whose clocks reach beyond a gap of some thread: those that may have to grow.
    open: Vec<u32>,
    /// By thread: what it has performed.
    threads: Vec<Vec<Run>>,
    /// By location: the slots of its writes and of its reads.
    locations: Vec<[u32; 2]>,
    /// The clock of the operation at hand.
    clock: Vec<u64>,
}

impl Default for ScObserved {
    fn default() -> Self {
        Self::new()
    }
}

/// `into` becomes the lane-wise maximum of both.
fn join(into: &mut [u64], from: &[u64]) {
    for (into, &from) in into.iter_mut().zip(from) {
        *into = (*into).max(from);
    }
}

impl ScObserved {
    /// Nothing performed yet.
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
        }
    }

    /// How many clocks are kept.
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

    /// The clock of a slot, which is about to change.
    fn slot_mut(&mut self, slot: u32) -> &mut [u64] {
        if !std::mem::replace(&mut self.is_open[slot as usize], true) {
            self.open.push(slot);
        }
        &mut self.clocks[slot as usize * self.width..][..self.width]
    }

    /// Joins the clock at hand to all clocks that reach beyond `stamp` in a thread.
    fn propagate(&mut self, thread: usize, stamp: u64) {
        let Self { clocks, is_open, open, threads, clock, width, .. } = self;
        // Up to here nothing of a thread can still come.
        let settled = |thread: usize| match threads.get(thread).and_then(|runs| runs.first()) {
            Some(run) if run.first == 0 => run.end,
            _ => 0,
        };
        let settled: Vec<u64> = (0..*width).map(settled).collect();
        open.retain(|&slot| {
            let reached = &mut clocks[slot as usize * *width..][..*width];
            if reached[thread] > stamp {
                join(reached, clock);
            }
            let stays = reached.iter().zip(&settled).any(|(reached, settled)| reached > settled);
            is_open[slot as usize] = stays;
            stays
        });
    }

    /// Enters an operation, whose clock is at hand, behind the first `before` runs of its thread.
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
                // Not open any more, but for a moment: zero reaches nowhere.
                self.slot_mut(first.clock).fill(0);
                self.free.push(first.clock);
            }
            (false, true) => self.threads[thread][before].first = index,
            (false, false) => {
                let slot = self.take_slot();
                let clock = std::mem::take(&mut self.clock);
                self.slot_mut(slot).copy_from_slice(&clock);
                self.clock = clock;
                self.threads[thread].insert(before, Run { first: index, end: index + 1, clock: slot });
            }
        }
    }
}

impl Monitor for ScObserved {
    type Event = Performed;

    fn push(&mut self, event: Performed) -> Result<Progress, Violation> {
        let thread = event.thread as usize;
        let location = (event.kind != Kind::Fence).then_some(event.location as usize);
        let number = self.events;
        self.events += 1;
        self.make_room(thread, location);
        let runs = &self.threads[thread];
        let index = event.index.unwrap_or_else(|| runs.last().map_or(0, |run| run.end));
        if index == u64::MAX {
            return Ok(Progress::Refused("an index in program order is less than 2^64 - 1".to_owned()));
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
            // Writes first: a read does not conflict with reads.
            let conflicting = if event.kind.writes() { 2 } else { 1 };
            for &slot in &self.locations[location][..conflicting] {
                let known = &self.clocks[slot as usize * self.width..][..self.width];
                if known[thread] > stamp {
                    let reason =
                        "what was performed on this location before depends on a later operation of this thread";
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
