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
//! observer tells all others, the directory, too, in a *notice* of its own. They extend the vectors that reach beyond
//! the operation, also those that arrive later. Cores that perform in program order need no notice.
//!
//! **Lag.** A notice takes its time. Until it has arrived, an operation may be checked against vectors that it would
//! have extended, so a violation may be missed. So an observer keeps the vectors that it has checked an operation
//! against for as long as notices travel. Notices that arrive extend them, too, and then the operation is checked
//! again. By then all has come that was performed before the operation, so this second check is exact. That is what an
//! exact distributed detection needs: notices whose time has a bound, and room for the operations of that time.
//!
//! **What nobody needs.** Each observer knows, for each core, an index up to which the core has performed all its
//! operations (its *frontier*); it rides on every message. An entry of a vector that is not beyond the frontier can
//! make no check fail and no notice apply, for both concern operations that are not performed yet. So it is dropped,
//! and so is a notice that has no other entries. A frontier covers an operation only after its second check and, if it
//! was late, when its notice has arrived. Notices at a place extend each other, so that no order of arrival matters.
//!
//! **Values.** The value of the last store travels with the write vector. A load that returns another value is a
//! [mistake of the memory](WrongValue). It is counted, and it is no violation: `sc-observed` is about the order alone,
//! and another order may well explain the value.

use std::collections::VecDeque;

use history::execution::Kind;
use rustc_hash::FxHashMap;

use crate::observed::join;
use crate::{PerformedNow, Progress, Violation};

/// How many bytes an entry of a vector takes.
const ENTRY: u64 = 8;
/// What is wrong with an operation that was performed too late, or with those that were performed before it.
const TOO_EARLY: &str = "an earlier operation on this location depends on a later operation of this thread";
/// After so many operations it is looked at how much the core of the last one has to keep.
const MEASURED_EVERY: u64 = 8;

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
    fn extend(&mut self, notice: &Notice) {
        notice.extend(&mut self.writes);
        notice.extend(&mut self.reads);
    }

    /// Drops what nobody needs if the cores have come that far.
    fn forget(&mut self, frontier: &[u64]) {
        for vector in [&mut self.writes, &mut self.reads] {
            for (entry, &end) in vector.iter_mut().zip(frontier) {
                if *entry <= end {
                    *entry = 0;
                }
            }
        }
    }

    /// How many bytes the entries take that were not dropped.
    fn bytes(&self) -> u64 {
        self.writes.iter().chain(&self.reads).filter(|&&entry| entry > 0).count() as u64 * ENTRY
    }
}

/// Consecutive indices of a core that are all performed, and the vector of the last one.
#[derive(Clone, Debug)]
struct Stretch {
    first: u64,
    end: u64,
    clock: Vec<u64>,
}

/// What an operation that was performed late depends on.
#[derive(Clone, Debug)]
struct Notice {
    core: usize,
    stamp: u64,
    clock: Vec<u64>,
}

impl Notice {
    /// Extends a vector if it reaches beyond the operation.
    fn extend(&self, vector: &mut [u64]) {
        if vector[self.core] > self.stamp {
            join(vector, &self.clock);
        }
    }

    /// Whether it tells anything beyond the frontiers.
    fn is_needed(&self, frontier: &[u64]) -> bool {
        let mut entries = self.clock.iter().zip(frontier).enumerate();
        entries.any(|(core, (&entry, &end))| core != self.core && entry > end)
    }
}

/// What rides on a message: vectors of locations, and the frontiers that the sender knew.
#[derive(Clone, Debug)]
struct Cargo {
    vectors: Vec<(u32, Vectors)>,
    frontier: Vec<u64>,
}

/// An operation that will be checked again.
#[derive(Clone, Debug)]
struct Unsettled {
    due: u64,
    event: u64,
    core: usize,
    stamp: u64,
    /// The vectors that it must not be in: the write vector and, for a store, the read vector.
    vectors: Vec<Vec<u64>>,
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
    /// Messages from core to core about operations that were performed out of program order; the directory gets each
    /// such notice once, too.
    pub late: u64,
    /// Their bytes.
    pub late_bytes: u64,
    /// How many bytes the vectors of one block take at one place.
    pub block: u64,
    /// How many locations have vectors, at all places together.
    pub kept: u64,
    /// The bytes that protocol messages carry if what nobody needs is left out, frontiers included.
    pub needed: u64,
    /// The most bytes of vectors that a core's observer had to keep, as far as somebody may need them.
    pub most_kept: u64,
    /// The most notices that a place had to keep.
    pub most_notices: u64,
    /// The most operations that were to be checked again at a time, of all cores.
    pub most_unsettled: u64,
    /// Notices that were dropped although somebody may have needed them, for want of room.
    pub dropped: u64,
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
    flying: FxHashMap<u32, Cargo>,
    /// How many ticks a notice travels, and how many notices a place has room for.
    lag: u64,
    room: usize,
    now: u64,
    /// Notices under way: when they arrive, in their order.
    under_way: VecDeque<(u64, Notice)>,
    /// Operations that will be checked again, in the order in which they will.
    unsettled: VecDeque<Unsettled>,
    /// By place: the notices that vectors still to come may need.
    notices: Vec<VecDeque<Notice>>,
    /// By place and core: all operations before this index are performed.
    frontiers: Vec<Vec<u64>>,
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
            lag: 0,
            room: usize::MAX,
            now: 0,
            under_way: VecDeque::new(),
            unsettled: VecDeque::new(),
            notices: vec![VecDeque::new(); cores + 2],
            frontiers: vec![vec![0; cores]; cores + 2],
            traffic: Traffic { block, ..Traffic::default() },
            wrong_values: (0, None),
        }
    }

    /// Notices take so many ticks. Without lag, they arrive at once.
    #[must_use]
    pub fn with_lag(self, lag: u64) -> Self {
        Self { lag, ..self }
    }

    /// A place has room for so many notices. If there are more, the oldest is dropped.
    #[must_use]
    pub fn with_room(self, room: usize) -> Self {
        Self { room, ..self }
    }

    /// It is this tick now. Operations whose time has come are checked again; the first that is wrong is told.
    pub fn tick(&mut self, now: u64) -> Option<Violation> {
        self.now = now;
        while self.under_way.front().is_some_and(|(due, _)| *due <= now)
            && let Some((_, notice)) = self.under_way.pop_front()
        {
            for place in (0..self.places.len()).filter(|&place| place != notice.core) {
                self.hear(place, notice.clone());
            }
        }
        let mut found = None;
        while self.unsettled.front().is_some_and(|it| it.due <= now)
            && let Some(it) = self.unsettled.pop_front()
        {
            if it.vectors.iter().any(|vector| vector[it.core] > it.stamp) {
                found.get_or_insert_with(|| Violation {
                    event: it.event,
                    reason: TOO_EARLY.to_owned(),
                    evidence: None,
                });
            }
        }
        found
    }

    /// A message that carries vectors leaves a place. It is about the block of this location.
    pub fn sent(&mut self, message: u32, from: u32, location: u32) {
        let first = location / self.words * self.words;
        let place = from as usize;
        self.advance(place);
        let frontier = self.frontiers[place].clone();
        let here = &mut self.places[place];
        for location in first..first + self.words {
            if let Some(vectors) = here.get_mut(&location) {
                vectors.forget(&frontier);
                self.traffic.needed += vectors.bytes();
            }
        }
        self.traffic.needed += self.cores as u64 * ENTRY;
        let vectors: Vec<(u32, Vectors)> =
            (first..first + self.words).filter_map(|location| Some((location, here.get(&location)?.clone()))).collect();
        self.traffic.carriers += 1;
        self.traffic.carried += self.traffic.block;
        self.flying.insert(message, Cargo { vectors, frontier });
    }

    /// A message arrives. If it carries nothing, nothing happens.
    pub fn taken(&mut self, message: u32, to: u32) {
        let Some(Cargo { vectors, frontier }) = self.flying.remove(&message) else { return };
        let (place, cores) = (to as usize, self.cores);
        join(&mut self.frontiers[place], &frontier);
        for (location, mut vectors) in vectors {
            for notice in &self.notices[place] {
                vectors.extend(notice);
            }
            vectors.forget(&self.frontiers[place]);
            self.places[place].entry(location).or_insert_with(|| Vectors::new(cores)).join(&vectors);
        }
        self.notices[place].retain(|notice| notice.is_needed(&self.frontiers[place]));
    }

    /// The frontier of a core, as its observer knows it. It does not cover what others have not heard of, nor what is
    /// to be checked again.
    fn advance(&mut self, core: usize) {
        let Some(run) = self.runs.get(core).and_then(|runs| runs.first()) else { return };
        if run.first == 0 {
            let unheard = self.under_way.iter().filter(|(_, notice)| notice.core == core).map(|(_, it)| it.stamp - 1);
            let unsettled = self.unsettled.iter().filter(|it| it.core == core).map(|it| it.stamp - 1);
            let end = unheard.chain(unsettled).min().map_or(run.end, |least| least.min(run.end));
            let known = &mut self.frontiers[core][core];
            *known = end.max(*known);
        }
    }

    /// How much a core has to keep now.
    fn measure(&mut self, core: usize) {
        self.advance(core);
        let frontier = &self.frontiers[core];
        let here = self.places[core].values_mut();
        let bytes = here.map(|vectors| {
            vectors.forget(frontier);
            vectors.bytes()
        });
        self.traffic.most_kept = self.traffic.most_kept.max(bytes.sum());
    }

    /// A notice arrives at a place.
    fn hear(&mut self, place: usize, mut notice: Notice) {
        for known in &mut self.notices[place] {
            known.extend(&mut notice.clock);
        }
        for known in &mut self.notices[place] {
            notice.extend(&mut known.clock);
        }
        // The order does not matter: each vector is extended by itself.
        self.places[place].values_mut().for_each(|vectors| vectors.extend(&notice));
        self.runs.get_mut(place).into_iter().flatten().for_each(|run| notice.extend(&mut run.clock));
        for it in self.unsettled.iter_mut().filter(|it| it.core == place) {
            it.vectors.iter_mut().for_each(|vector| notice.extend(vector));
        }
        if notice.is_needed(&self.frontiers[place]) {
            let kept = &mut self.notices[place];
            kept.push_back(notice);
            if kept.len() > self.room {
                kept.pop_front();
                self.traffic.dropped += 1;
            }
            self.traffic.most_notices = self.traffic.most_notices.max(kept.len() as u64);
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
                return Err(violation(TOO_EARLY.to_owned()));
            }
            if self.lag > 0 {
                let reads = event.kind.writes().then(|| here.reads.clone());
                let vectors = [here.writes.clone()].into_iter().chain(reads).collect();
                self.unsettled.push_back(Unsettled { due: self.now + self.lag, event: number, core, stamp, vectors });
                self.traffic.most_unsettled = self.traffic.most_unsettled.max(self.unsettled.len() as u64);
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
        if number.is_multiple_of(MEASURED_EVERY) {
            self.measure(core);
        }
        Ok(Progress::Possible)
    }

    /// All observers, and that of the directory, hear of an operation that was performed late: its own at once.
    fn tell_others(&mut self, core: usize, stamp: u64, clock: &[u64]) {
        self.traffic.late += self.cores as u64 - 1;
        self.traffic.late_bytes += (self.cores as u64 - 1) * (self.cores as u64 + 1) * ENTRY;
        let notice = Notice { core, stamp, clock: clock.to_vec() };
        self.hear(core, notice.clone());
        self.under_way.push_back((self.now + self.lag, notice));
        if self.lag == 0 {
            self.tick(self.now);
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
