//! Guesses the sources of open reads, by an interleaving of the values.
//!
//! All threads are run on one memory. An open read may run if the location holds its value; a read that is not open, if
//! the location holds its source. What only reads runs as soon as it may: that never spoils an interleaving. If nothing
//! of this kind is left, a write has to be chosen. A write does harm if another thread would next read what it
//! overwrites. So one without harm is preferred, of these one whose value another thread waits for, and of these the one
//! that was recorded first. If all threads wait, the last choices are taken back and made in another way, within a
//! budget. If that does not help either, one of the reads that wait is from the write that it may be from which was done
//! last, and all goes on.
//!
//! This is only a guess: nothing follows from what was not found. But if no read had to be forced, the sources have an
//! interleaving, and every model holds.
//!
//! A file may have the operations of one thread after those of another. Then nothing is known about what was recorded
//! first, and it is guessed that all threads made progress at the same rate.

use certificate::{GaveUp, Interrupt};
use history::execution::{EventId, Kind, LocationId};
use history::{Execution, OpenExecution};
use order::rows::Rows;
use rustc_hash::FxHashSet;

use super::Sources;

/// How many choices may be taken back where all threads wait, before a read is forced.
const BACKTRACKS: u32 = 2_000;
/// How many steps of the run may be taken back.
const REACH: usize = 4_096;
/// How many writes are compared when one has to be chosen.
const COMPARED: usize = 16;
/// How many places are looked at between two looks at the clock.
const PER_LOOK: u64 = 1 << 12;

/// Guessed sources.
pub(super) struct Guess {
    /// By open read. An optional read may have none.
    pub(super) chosen: Sources,
    /// For each event the place that it has in the run.
    pub(super) places: Vec<u32>,
}

impl Guess {
    pub(super) fn new(open: &OpenExecution, interrupt: Interrupt) -> Result<Self, GaveUp> {
        Run::new(open).all(interrupt)
    }

    /// The candidates of an open read, those that ran near to it first.
    pub(super) fn candidates(&self, open: &OpenExecution, read: usize) -> Vec<EventId> {
        let place = |event: EventId| if event.is_event() { i64::from(self.places[event.index()]) } else { -1 };
        let own = place(open.reads()[read].event);
        let mut candidates: Vec<EventId> = open.candidates(read).collect();
        candidates.sort_by_key(|&candidate| (place(candidate) - own).unsigned_abs());
        candidates
    }
}

/// What a read waits for.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Wanted {
    Nothing,
    Class(u32),
    Source(EventId),
}

/// A step of the run that can be taken back.
struct Done {
    event: EventId,
    /// What the location held before, if the event wrote.
    held: EventId,
}

/// A choice between writes.
struct Fork {
    /// How long the run was before.
    length: usize,
    /// The threads whose writes were not tried yet, the best last.
    rest: Vec<u32>,
}

struct Run<'a> {
    open: &'a OpenExecution,
    execution: &'a Execution,
    kinds: Vec<Kind>,
    locations: Vec<LocationId>,
    wanted: Vec<Wanted>,
    /// The moment at which each event was probably recorded.
    when: Vec<u64>,
    /// The accesses of each thread to each location it accesses: a row is one thread and one location.
    rows: Rows<u32>,
    /// The row of each event.
    row_of: Vec<u32>,
    /// For each row: how many of its accesses ran.
    ran: Vec<u32>,
    /// For each location its rows.
    rows_of: Rows<u32>,
    /// The next event of each thread.
    next: Vec<u32>,
    holds: Vec<EventId>,
    done: Vec<Done>,
    forks: Vec<Fork>,
    /// The hash values of the states at forks.
    seen: FxHashSet<u64>,
    hash: u64,
    chosen: Sources,
}

/// A pseudo-random number for a pair.
fn mix(a: u64, b: u64) -> u64 {
    let mut z = (a << 32 ^ b).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl<'a> Run<'a> {
    fn new(open: &'a OpenExecution) -> Self {
        let execution = open.execution();
        let mut kinds: Vec<Kind> = execution.events().iter().map(|event| event.kind).collect();
        let mut locations: Vec<LocationId> = execution.events().iter().map(|event| event.location).collect();
        let sources = execution.events().iter().map(|event| (event.kind.reads(), event.source));
        let mut wanted: Vec<Wanted> =
            sources.map(|(reads, source)| if reads { Wanted::Source(source) } else { Wanted::Nothing }).collect();
        for (at, read) in open.reads().iter().enumerate() {
            kinds[read.event.index()] = open.whole(at).kind;
            locations[read.event.index()] = open.whole(at).location;
            wanted[read.event.index()] = Wanted::Class(read.class);
        }

        let mut accesses: Vec<u32> =
            (0..execution.len() as u32).filter(|&id| kinds[id as usize] != Kind::Fence).collect();
        accesses.sort_by_key(|&id| (locations[id as usize], execution.thread(EventId(id)), id));
        let mut row_of = vec![u32::MAX; execution.len()];
        let mut locations_of_rows: Vec<LocationId> = Vec::new();
        let mut last = None;
        for &id in &accesses {
            let key = (locations[id as usize], execution.thread(EventId(id)));
            if last.replace(key) != Some(key) {
                locations_of_rows.push(key.0);
            }
            row_of[id as usize] = locations_of_rows.len() as u32 - 1;
        }
        let count = locations_of_rows.len();
        let rows = Rows::new(count, accesses.iter().map(|&id| (row_of[id as usize] as usize, id)));
        let pairs = locations_of_rows.iter().enumerate().map(|(row, location)| (location.index(), row as u32));
        let rows_of = Rows::new(execution.location_count(), pairs);
        Self {
            open,
            execution,
            when: recorded(execution),
            kinds,
            locations,
            wanted,
            rows,
            row_of,
            ran: vec![0; count],
            rows_of,
            next: execution.starts()[..execution.thread_count()].to_vec(),
            holds: vec![EventId::INIT; execution.location_count()],
            done: Vec::with_capacity(execution.len()),
            forks: Vec::new(),
            seen: FxHashSet::default(),
            hash: 0,
            chosen: vec![None; open.reads().len()],
        }
    }

    /// Runs all threads to their ends.
    fn all(mut self, interrupt: Interrupt) -> Result<Guess, GaveUp> {
        let mut budget = 4 * self.execution.len() as u64 + 100_000;
        let mut steps = 0u64;
        for thread in 0..self.next.len() {
            self.read_on(thread);
        }
        loop {
            steps += 1;
            if steps.is_multiple_of(PER_LOOK) {
                interrupt.check()?;
            }
            if self.step() {
                continue;
            }
            let Some(waiting) = self.first_waiting() else { break };
            if !self.retry(&mut budget) {
                self.force(waiting);
            }
        }
        let mut places = vec![self.done.len() as u32; self.execution.len()];
        for (at, done) in (0..).zip(&self.done) {
            places[done.event.index()] = at;
        }
        Ok(Guess { chosen: self.chosen, places })
    }

    /// The next event of a thread.
    fn head(&self, thread: usize) -> Option<EventId> {
        let next = self.next[thread];
        (next < self.execution.starts()[thread + 1]).then_some(EventId(next))
    }

    /// Whether a read may run if the location holds this write.
    fn is_content(&self, event: EventId, held: EventId) -> bool {
        match self.wanted[event.index()] {
            Wanted::Nothing => true,
            Wanted::Source(source) => held == source,
            Wanted::Class(class) => self.class(self.locations[event.index()], held) == class,
        }
    }

    fn class(&self, location: LocationId, held: EventId) -> u32 {
        if held.is_event() { self.open.written(held) } else { self.open.initial(location) }
    }

    fn held(&self, event: EventId) -> EventId {
        if self.kinds[event.index()] == Kind::Fence { EventId::NONE } else { self.holds[self.locations[event.index()].index()] }
    }

    fn is_optional(&self, event: EventId) -> bool {
        self.open.find(event).is_some_and(|read| self.open.reads()[read].is_optional)
    }

    /// Runs an event. If it reads and its source is open, the source is what the location holds.
    fn execute(&mut self, event: EventId) {
        let held = self.held(event);
        if matches!(self.wanted[event.index()], Wanted::Class(_))
            && self.is_content(event, held)
            && let Some(read) = self.open.find(event)
        {
            self.chosen[read] = Some(held);
        }
        self.advance(event, 1);
        if self.kinds[event.index()].writes() {
            self.hold(self.locations[event.index()], event);
        }
        self.done.push(Done { event, held });
    }

    /// Moves the thread of an event over it, or back.
    fn advance(&mut self, event: EventId, by: i32) {
        let thread = self.execution.thread(event).index();
        self.hash ^= mix(thread as u64, u64::from(self.next[thread]));
        self.next[thread] = self.next[thread].wrapping_add_signed(by);
        self.hash ^= mix(thread as u64, u64::from(self.next[thread]));
        if let Some(ran) = self.ran.get_mut(self.row_of[event.index()] as usize) {
            *ran = ran.wrapping_add_signed(by);
        }
    }

    fn hold(&mut self, location: LocationId, write: EventId) {
        let place = u64::from(u32::MAX) + u64::from(location.0);
        let before = self.holds[location.index()];
        self.hash ^= mix(place, u64::from(self.class(location, before))) ^ mix(place, u64::from(self.class(location, write)));
        self.holds[location.index()] = write;
    }

    /// Takes back all steps from this length of the run on.
    fn undo(&mut self, length: usize) {
        while self.done.len() > length {
            let Some(Done { event, held }) = self.done.pop() else { return };
            self.advance(event, -1);
            if self.kinds[event.index()].writes() {
                self.hold(self.locations[event.index()], held);
            }
        }
    }

    /// Runs the next events of a thread as long as they only read and may run.
    fn read_on(&mut self, thread: usize) {
        while let Some(head) = self.head(thread) {
            if self.kinds[head.index()].writes() || !self.is_content(head, self.held(head)) {
                return;
            }
            self.execute(head);
        }
    }

    /// Runs a write, and all reads that may run now.
    fn write(&mut self, event: EventId) {
        self.execute(event);
        self.read_on(self.execution.thread(event).index());
        for at in 0..self.rows_of.of(self.locations[event.index()].index()).len() {
            let row = self.rows_of.of(self.locations[event.index()].index())[at] as usize;
            self.read_on(self.execution.thread(EventId(self.rows.of(row)[0])).index());
        }
    }

    /// The next access of a row.
    fn next_access(&self, row: usize) -> Option<EventId> {
        self.rows.of(row).get(self.ran[row] as usize).copied().map(EventId)
    }

    /// How many threads would next read what a write overwrites, and whether a thread waits for the write.
    fn effect(&self, write: EventId) -> (usize, bool) {
        let location = self.locations[write.index()];
        let (held, own) = (self.holds[location.index()], self.row_of[write.index()]);
        let (mut harmed, mut is_wanted) = (0, false);
        for &row in self.rows_of.of(location.index()).iter().filter(|&&row| row != own) {
            let Some(access) = self.next_access(row as usize).filter(|access| self.kinds[access.index()].reads()) else {
                continue;
            };
            let after = self.is_content(access, write);
            harmed += usize::from(self.is_content(access, held) && !after);
            is_wanted |= after && self.next[self.execution.thread(access).index()] == access.0;
        }
        (harmed, is_wanted)
    }

    /// Chooses a write and runs it. Returns whether there is one.
    fn step(&mut self) -> bool {
        let mut heads: Vec<(u64, u32)> = Vec::new();
        for thread in 0..self.next.len() {
            let Some(head) = self.head(thread) else { continue };
            if self.kinds[head.index()].writes() && self.is_content(head, self.held(head)) {
                heads.push((self.when[head.index()], thread as u32));
            }
        }
        if heads.len() > COMPARED {
            heads.select_nth_unstable(COMPARED - 1);
            heads.truncate(COMPARED);
        }
        let mut ranked: Vec<(usize, bool, u64, u32)> = Vec::with_capacity(heads.len());
        for (when, thread) in heads {
            let head = EventId(self.next[thread as usize]);
            let (harmed, is_wanted) = self.effect(head);
            // A compare-and-swap that perhaps did not happen runs only for the sake of another thread.
            if is_wanted || !self.is_optional(head) {
                ranked.push((harmed, !is_wanted, when, thread));
            }
        }
        ranked.sort_unstable_by(|a, b| b.cmp(a));
        let Some((.., best)) = ranked.pop() else { return false };
        if !ranked.is_empty() {
            self.forks.push(Fork { length: self.done.len(), rest: ranked.into_iter().map(|rank| rank.3).collect() });
        }
        self.write(EventId(self.next[best as usize]));
        true
    }

    /// Of the reads that the threads wait for, the one that was recorded first. `None` if all threads are at their ends.
    fn first_waiting(&self) -> Option<EventId> {
        let heads = (0..self.next.len()).filter_map(|thread| self.head(thread));
        heads.filter(|&head| !self.is_optional(head)).min_by_key(|head| self.when[head.index()])
    }

    /// Takes back choices and makes them in another way, until the run is longer than now. If that fails within the
    /// budget, the run is as it was.
    fn retry(&mut self, budget: &mut u64) -> bool {
        let length = self.done.len();
        let reach = length.saturating_sub(REACH);
        let first = self.forks.partition_point(|fork| fork.length < reach);
        self.forks.drain(..first);
        let before: Vec<EventId> = self.done[reach..].iter().map(|done| done.event).collect();
        self.seen.clear();
        let mut tries = 0;
        while tries < BACKTRACKS && *budget > 0 {
            let Some(fork) = self.forks.last_mut() else { break };
            let Some(thread) = fork.rest.pop() else {
                self.forks.pop();
                continue;
            };
            tries += 1;
            *budget -= 1;
            let to = fork.length;
            self.undo(to);
            self.write(EventId(self.next[thread as usize]));
            if !self.seen.insert(self.hash) {
                continue;
            }
            while self.step() {
                if self.done.len() > length {
                    return true;
                }
                if !self.seen.insert(self.hash) {
                    break;
                }
            }
            if self.done.len() > length || self.first_waiting().is_none() {
                return true;
            }
        }
        let (reach, forced) = (reach.min(self.done.len()), before);
        self.undo(reach);
        for event in forced {
            self.execute(event);
        }
        self.forks.clear();
        false
    }

    /// Runs a read that waits. If it is open, it is from the candidate that ran last, or was recorded next.
    fn force(&mut self, read: EventId) {
        self.execute(read);
        if let Some(at) = self.open.find(read) {
            let near = self.done.iter().rev().skip(1).take(REACH).map(|done| done.event);
            let near = near.filter(|&event| self.kinds[event.index()].writes());
            let recorded = |event: EventId| if event.is_event() { self.when[event.index()] } else { 0 };
            let distance = |event: &EventId| recorded(*event).abs_diff(recorded(read));
            let last = near.into_iter().find(|&event| self.open.is_candidate(at, event));
            self.chosen[at] = last.or_else(|| self.open.candidates(at).min_by_key(distance));
        }
        let thread = self.execution.thread(read).index();
        self.read_on(thread);
        if self.kinds[read.index()].writes() {
            let location = self.locations[read.index()].index();
            for row in self.rows_of.of(location).to_vec() {
                self.read_on(self.execution.thread(EventId(self.rows.of(row as usize)[0])).index());
            }
        }
    }
}

/// The moment at which each event was probably recorded.
fn recorded(execution: &Execution) -> Vec<u64> {
    let count = execution.len() as u64;
    let operation = |id: EventId| u64::from(execution.operation(id).0);
    let threads = (0..execution.thread_count()).map(|at| execution.starts()[at]..execution.starts()[at + 1]);
    let mut many = threads.clone().filter(|thread| thread.len() > 1);
    // Three quarters of each thread are looked at: the reads of final values come at the end of the file.
    let is_by_thread = many.all(|thread| {
        let most = thread.len() as u32 * 3 / 4;
        operation(EventId(thread.start + most)) - operation(EventId(thread.start)) < thread.len() as u64
    });
    let mut when = Vec::with_capacity(execution.len());
    for thread in threads {
        let (start, length) = (thread.start, thread.len() as u64);
        when.extend(thread.map(|id| {
            if is_by_thread { u64::from(id - start) * count / length } else { operation(EventId(id)) }
        }));
    }
    when
}
