//! Distributed observers of `sc-observed`, as VC means them (Cain and Lipasti: Verifying Sequential Consistency Using
//! Vector Clocks): one observer for each core, and vectors that ride on the messages of the coherence protocol.
//!
//! **What is where.** The observer of a core keeps the vectors of its instructions, as [`crate::ScObserved`] does for a
//! thread. The write vector and the read vector of a location are kept wherever the protocol keeps the block: at each
//! cache that has or had it, and at the directory. A message that answers, or that writes data back, carries the
//! vectors that its sender has for the locations of the block; the receiver joins them to its own.
//!
//! **Why this is exact.** All that a controller has in its vectors belongs to operations that were performed before, so
//! nothing false is ever joined. And all that is needed is there: before a load is performed, data has come on a way
//! from the last store; before a store is performed, every cache that may have a copy has answered that it has none any
//! more, and its answer carried the read vector. So a check looks at local vectors alone. This holds for a protocol
//! that is right. If a protocol loses an invalidation, it loses the vectors, too, and the observers may see nothing;
//! the values that they compare show some such mistakes.
//!
//! **Out of program order.** If an operation is performed after a later one of its core, what it depends on must also
//! reach whatever already depends on the later one, wherever that is. No message of the protocol goes there. So the
//! observer tells all others, in a message of its own, which then extend the vectors that reach beyond the operation.
//! Cores that perform in program order need no such message.
//!
//! **Values.** The value of the last store travels with the write vector. A load that returns another value is a
//! [mistake of the memory](WrongValue). It is counted, and it is no violation: `sc-observed` is about the order alone,
//! and another order may well explain the value.

use history::execution::Kind;
use rustc_hash::FxHashMap;

use crate::observed::join;
use crate::{PerformedNow, Progress, Violation};

/// How many bytes an entry of a vector takes.
const ENTRY: u64 = 8;

/// The vectors of a location at some place.
#[derive(Clone, Debug)]
struct Vectors {
    writes: Vec<u64>,
    reads: Vec<u64>,
    /// How many stores there were, and the value of the last one.
    stores: u64,
    value: u64,
}

impl Vectors {
    fn new(cores: usize) -> Self {
        Self { writes: vec![0; cores], reads: vec![0; cores], stores: 0, value: 0 }
    }

    fn join(&mut self, other: &Self) {
        join(&mut self.writes, &other.writes);
        join(&mut self.reads, &other.reads);
        if other.stores > self.stores {
            (self.stores, self.value) = (other.stores, other.value);
        }
    }

    /// Extends what reaches beyond an operation of a core that was performed late.
    fn extend(&mut self, core: usize, stamp: u64, clock: &[u64]) {
        for vector in [&mut self.writes, &mut self.reads] {
            if vector[core] > stamp {
                join(vector, clock);
            }
        }
    }
}

/// Consecutive indices of a core that are all performed, and the vector of the last one.
#[derive(Clone, Debug)]
struct Stretch {
    first: u64,
    end: u64,
    clock: Vec<u64>,
}

/// A load that returned another value than the last store that its observer has heard of wrote.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct WrongValue {
    /// The number of the operation, counted from zero in the order of performance.
    pub event: u64,
    /// What the load returned.
    pub read: u64,
    /// What was stored last.
    pub stored: u64,
}

/// What the observers have sent and kept.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Messages of the protocol that carried vectors.
    pub carriers: u64,
    /// The bytes of all vectors that they carried.
    pub carried: u64,
    /// Messages from observer to observer about operations that were performed out of program order.
    pub late: u64,
    /// Their bytes.
    pub late_bytes: u64,
    /// How many bytes the vectors of one block take at one place.
    pub block: u64,
    /// How many locations have vectors, at all places together.
    pub kept: u64,
}

/// The observers of all cores. Places are numbered: that of a core has its number, the directory comes after them, and
/// the memory behind a second level after it.
///
/// ```
/// use history::execution::Kind::{Read, Write};
/// use monitor::{Observers, PerformedNow};
///
/// let mut observers = Observers::new(2, 1);
/// let store = PerformedNow { thread: 0, index: Some(0), kind: Write, location: 7 };
/// observers.performed(store, 5)?;
/// // Core 1 gets the block from core 0.
/// observers.sent(0, 0, 7);
/// observers.taken(0, 1);
/// let load = PerformedNow { thread: 1, index: Some(0), kind: Read, location: 7 };
/// observers.performed(load, 5)?;
/// assert_eq!(observers.wrong_values(), (0, None));
/// // The load is in order, but its value is not what was stored.
/// observers.performed(PerformedNow { index: Some(1), ..load }, 6)?;
/// assert_eq!(observers.wrong_values().0, 1);
/// # Ok::<(), monitor::Violation>(())
/// ```
#[derive(Clone, Debug)]
pub struct Observers {
    cores: usize,
    words: u32,
    events: u64,
    /// By core: what it has performed.
    runs: Vec<Vec<Stretch>>,
    /// By place and location.
    places: Vec<FxHashMap<u32, Vectors>>,
    /// By message: what it carries.
    flying: FxHashMap<u32, Vec<(u32, Vectors)>>,
    traffic: Traffic,
    /// How many loads returned a wrong value, and the first of them.
    wrong_values: (u64, Option<WrongValue>),
}

impl Observers {
    /// Observers of so many cores. A block has so many locations.
    pub fn new(cores: usize, words: u32) -> Self {
        let block = u64::from(words) * 2 * cores as u64 * ENTRY;
        Self {
            cores,
            words,
            events: 0,
            runs: vec![Vec::new(); cores],
            places: vec![FxHashMap::default(); cores + 2],
            flying: FxHashMap::default(),
            traffic: Traffic { block, ..Traffic::default() },
            wrong_values: (0, None),
        }
    }

    /// A message that carries vectors leaves a place. It is about the block of this location.
    pub fn sent(&mut self, message: u32, from: u32, location: u32) {
        let first = location / self.words * self.words;
        let here = &self.places[from as usize];
        let cargo: Vec<(u32, Vectors)> =
            (first..first + self.words).filter_map(|location| Some((location, here.get(&location)?.clone()))).collect();
        self.traffic.carriers += 1;
        self.traffic.carried += self.traffic.block;
        self.flying.insert(message, cargo);
    }

    /// A message arrives. If it carries nothing, nothing happens.
    pub fn taken(&mut self, message: u32, to: u32) {
        for (location, vectors) in self.flying.remove(&message).unwrap_or_default() {
            let cores = self.cores;
            self.places[to as usize].entry(location).or_insert_with(|| Vectors::new(cores)).join(&vectors);
        }
    }

    /// An operation was performed. `value` is what it read or wrote; for a read-modify-write, see
    /// [`Observers::performed_rmw`].
    pub fn performed(&mut self, event: PerformedNow, value: u64) -> Result<Progress, Violation> {
        self.perform(event, value, value)
    }

    /// As [`Observers::performed`], for a read-modify-write: what it read, and what it wrote.
    pub fn performed_rmw(&mut self, event: PerformedNow, read: u64, written: u64) -> Result<Progress, Violation> {
        self.perform(event, read, written)
    }

    fn perform(&mut self, event: PerformedNow, read: u64, written: u64) -> Result<Progress, Violation> {
        let core = event.thread as usize;
        let number = self.events;
        self.events += 1;
        let violation = |reason: String| Violation { event: number, reason, evidence: None };
        let runs = &self.runs[core];
        let index = event.index.unwrap_or_else(|| runs.last().map_or(0, |run| run.end));
        let stamp = index + 1;
        let before = runs.partition_point(|run| run.first <= index);
        let is_late = before < runs.len();
        let mut clock = match before.checked_sub(1).map(|at| &runs[at]) {
            Some(run) if run.end > index => {
                return Ok(Progress::Refused(format!("operation {index} of this thread was performed before")));
            }
            Some(run) => run.clock.clone(),
            None => vec![0; self.cores],
        };
        if event.kind != Kind::Fence {
            let cores = self.cores;
            let here = self.places[core].entry(event.location).or_insert_with(|| Vectors::new(cores));
            let stored = here.value;
            if event.kind.writes() {
                // Others will read this value, whatever is said about the operation.
                (here.stores, here.value) = (here.stores + 1, written);
            }
            if here.writes[core] > stamp || (event.kind.writes() && here.reads[core] > stamp) {
                let reason = "an earlier operation on this location depends on a later operation of this thread";
                return Err(violation(reason.to_owned()));
            }
            if event.kind.reads() && stored != read {
                self.wrong_values.0 += 1;
                self.wrong_values.1.get_or_insert(WrongValue { event: number, read, stored });
            }
            join(&mut clock, &here.writes);
            if event.kind.writes() {
                join(&mut clock, &here.reads);
            }
            clock[core] = stamp;
            join(if event.kind.writes() { &mut here.writes } else { &mut here.reads }, &clock);
        }
        clock[core] = stamp;
        if is_late {
            self.tell_others(core, stamp, &clock);
        }
        self.enter(core, index, before, clock);
        Ok(Progress::Possible)
    }

    /// All observers hear of an operation that was performed late.
    fn tell_others(&mut self, core: usize, stamp: u64, clock: &[u64]) {
        self.traffic.late += self.cores as u64 - 1;
        self.traffic.late_bytes += (self.cores as u64 - 1) * (self.cores as u64 + 1) * ENTRY;
        let here = self.places.iter_mut().flat_map(FxHashMap::values_mut);
        // What is on its way is extended when it arrives, before anything else happens with it.
        let flying = self.flying.values_mut().flatten().map(|(_, vectors)| vectors);
        // The order does not matter: each vector is extended by itself.
        here.chain(flying).for_each(|vectors| vectors.extend(core, stamp, clock));
        for run in self.runs.iter_mut().flatten().filter(|run| run.clock[core] > stamp) {
            join(&mut run.clock, clock);
        }
    }

    /// Enters an operation after the first `before` runs of its core.
    fn enter(&mut self, core: usize, index: u64, before: usize, clock: Vec<u64>) {
        let runs = &mut self.runs[core];
        let extends = before > 0 && runs[before - 1].end == index;
        let meets = runs.get(before).is_some_and(|run| run.first == index + 1);
        match (extends, meets) {
            (true, false) => (runs[before - 1].end, runs[before - 1].clock) = (index + 1, clock),
            (true, true) => {
                let first = runs.remove(before - 1).first;
                runs[before - 1].first = first;
            }
            (false, true) => runs[before].first = index,
            (false, false) => runs.insert(before, Stretch { first: index, end: index + 1, clock }),
        }
    }

    /// How many loads returned another value than was stored last, and the first of them.
    pub const fn wrong_values(&self) -> (u64, Option<WrongValue>) {
        self.wrong_values
    }

    /// What was sent and kept so far.
    pub fn traffic(&self) -> Traffic {
        Traffic { kept: self.places.iter().map(|place| place.len() as u64).sum(), ..self.traffic }
    }
}
