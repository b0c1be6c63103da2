//! `ra` and `rc20`, event by event.
//!
//! What happens before an event is known when the event arrives and never grows, since po-predecessors and sources
//! arrive first. So each event adds, once, what [`super::coherence`] derives from it, and nothing derived before changes:
//! - the accesses on its location that happen before it, the last of each thread, must have values in chains that
//!   precede the chain of its target, or not later than the target in the same chain: edges into one chain;
//! - a write begins a chain, which nothing follows yet;
//! - an rmw makes the chain of its source longer. Chains are ordered as wholes, so no edge changes; but its source must
//!   have been the end of the chain, else two rmws read one write.
//!
//! [`Ranking`] keeps an order of the chains. An event that would close a cycle in it is refused. So is one whose
//! known access has a later value in the same chain, or any value but the initial one where it reads the initial write.

mod retire;

use history::MemoryOrder;
use history::execution::Kind;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::clocks::{copy, join};
use super::coherence::{acquires, releases};
use super::ranking::Ranking;

/// Why an event was refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The execution would not be allowed with this event.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// `rc20` has no sequentially consistent accesses or fences.
    #[error("rc20 has no sequentially consistent accesses or fences")]
    Sequential,
    /// The source is not an earlier write of the location, or the event does not read and was given one.
    #[error("a source is an earlier write of the location, and only what reads has one")]
    Source,
}

/// How an event contradicts the model.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// Another rmw has updated the source.
    #[error("event {by} has updated the same write")]
    UpdatedTwice {
        /// That rmw.
        by: usize,
    },
    /// The event knows of an access whose value overwrote the source, in every modification order.
    #[error("event {known} happens before, and what it wrote or read overwrote the source")]
    Overwritten {
        /// That access.
        known: usize,
    },
}

const NOBODY: u32 = u32::MAX;

/// What is kept of an event. The rest is of meaning for writes only.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
struct Past {
    kind: Kind,
    location: u32,
    /// Its chain, and its place in it.
    place: [u32; 2],
    /// The number of its clock; [`NOBODY`] if it was retired.
    clock: u32,
    /// The rmw that reads it.
    updater: u32,
}

/// An access of a thread to a location.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
struct Access {
    /// Its place in its thread, from one.
    position: u32,
    event: u32,
    /// The chain and place of its value.
    value: [u32; 2],
}

/// The accesses of one thread to one location, in program order.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Accesses {
    thread: usize,
    list: Vec<Access>,
}

impl Accesses {
    /// The last one among the first `count` events of the thread.
    fn last_within(&self, count: u32) -> Option<Access> {
        let last = *self.list.last()?;
        if last.position <= count {
            return Some(last);
        }
        let within = self.list.partition_point(|access| access.position <= count);
        within.checked_sub(1).map(|at| self.list[at])
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Location {
    /// The chain of its initial write.
    chain: u32,
    /// The rmw that reads its initial write.
    updater: u32,
    /// By thread that has accessed it.
    accesses: Vec<Accesses>,
    /// All its writes, as they came.
    writes: Vec<u32>,
}

/// An event that may be appended.
#[derive(Copy, Clone)]
struct Candidate {
    thread: usize,
    kind: Kind,
    location: usize,
    order: MemoryOrder,
    source: Option<usize>,
}

/// An execution that grows by one event at a time and is always one that the model allows: an event with which it would
/// not be is refused, and leaves everything as it was.
///
/// Events arrive in an order in which each comes after its predecessors in its thread and after the write that it reads. What
/// is accepted then is what [`Checker`](super::Checker) allows, after every event. Threads and locations are numbers, best
/// from zero on without large gaps: memory is set aside for those between. Each write keeps a clock of one word a thread.
/// [`Self::retire`] forgets what no thread can refer to any more: then memory is bounded by how far the threads are apart, that is
/// by the accesses since the last time that every thread had heard of every other, and by the values that they may still read.
///
/// ```
/// use history::MemoryOrder::{Acquire, Relaxed, Release};
/// use history::execution::Kind::{Read, Rmw, Write};
/// use memory::c11::{Incremental, Refused, Violation};
///
/// let mut execution = Incremental::rc20();
/// let (data, flag) = (0, 1);
/// let written = execution.push(0, Write, data, Relaxed, None)?;
/// let raised = execution.push(0, Write, flag, Release, None)?;
/// // Whoever has not seen the flag may read the old data.
/// execution.push(1, Read, data, Relaxed, None)?;
/// execution.push(1, Read, flag, Acquire, Some(raised))?;
/// // From now on thread 1 must read the new data: the old is refused, ...
/// let overwritten = Refused::Violation(Violation::Overwritten { known: written });
/// assert_eq!(execution.push(1, Read, data, Relaxed, None), Err(overwritten));
/// assert!(execution.may_read_from(1, Read, data, Relaxed).eq([Some(written)]));
/// // ... and since that changed nothing, the execution goes on.
/// let update = execution.push(1, Rmw, data, Relaxed, Some(written))?;
/// // A write is updated once; thread 2 has seen nothing and may read anything.
/// let twice = Refused::Violation(Violation::UpdatedTwice { by: update });
/// assert_eq!(execution.push(2, Rmw, data, Relaxed, Some(written)), Err(twice));
/// assert!(execution.may_read_from(2, Read, data, Relaxed).eq([None, Some(written), Some(update)]));
/// assert_eq!(execution.modification_order(data), [written, update]);
/// # Ok::<(), Refused>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Incremental {
    /// Whether orders count as written (`rc20`), else every access is release and acquire (`ra`).
    orders: bool,
    /// The lanes of a clock: a multiple of four.
    width: usize,
    /// By thread: what happens before its next event; its own lane counts its events.
    current: Vec<u32>,
    /// By thread: what an acquire fence would add.
    pending: Vec<u32>,
    /// By thread: what happened before its last release fence.
    published: Vec<u32>,
    /// By write: what a reader that acquires learns.
    carried: Vec<u32>,
    events: Vec<Past>,
    locations: Vec<Location>,
    chains: Ranking,
    /// What happens before the candidate.
    clock: Vec<u32>,
    /// The chains that must precede that of the candidate's target, and for each an access that tells.
    preceding: Vec<u32>,
    tellers: Vec<u32>,
}

impl Incremental {
    /// The new number of an event that is gone: see [`Self::retire`].
    pub const FORGOTTEN: u32 = NOBODY;

    /// Nothing yet, under `ra`: orders and fences mean nothing.
    pub fn ra() -> Self {
        Self::new(false)
    }

    /// Nothing yet, under `rc20`: orders are as written; an access without one is relaxed, a fence acquire and release.
    pub fn rc20() -> Self {
        Self::new(true)
    }

    fn new(orders: bool) -> Self {
        Self {
            orders,
            width: 4,
            current: Vec::new(),
            pending: Vec::new(),
            published: Vec::new(),
            carried: Vec::new(),
            events: Vec::new(),
            locations: Vec::new(),
            chains: Ranking::new(),
            clock: Vec::new(),
            preceding: Vec::new(),
            tellers: Vec::new(),
        }
    }

    /// How many events were accepted, without those that were forgotten.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether no event was accepted yet.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Appends an event to its thread and returns its number, or refuses it. The location of a fence means nothing; the
    /// source is the number of the write that a read or rmw reads from, or `None`: the initial write.
    pub fn push(
        &mut self,
        thread: u32,
        kind: Kind,
        location: u32,
        order: MemoryOrder,
        source: Option<usize>,
    ) -> Result<usize, Refused> {
        let location = if kind == Kind::Fence { 0 } else { location };
        let candidate = Candidate { thread: thread as usize, kind, location: location as usize, order, source };
        self.make_room(candidate.thread, candidate.location);
        let target = self.examine(&candidate)?;
        self.append(&candidate, target);
        Ok(self.events.len() - 1)
    }

    /// The writes (`None`: the initial one) that a read or rmw, if it were the next event of its thread, could read from: those
    /// with which [`Self::push`] would accept it, the oldest first.
    pub fn may_read_from(
        &mut self,
        thread: u32,
        kind: Kind,
        location: u32,
        order: MemoryOrder,
    ) -> impl Iterator<Item = Option<usize>> + '_ {
        let (thread, location) = (thread as usize, location as usize);
        self.make_room(thread, location);
        let sources = if kind.reads() { self.locations[location].writes.len() + 1 } else { 0 };
        (0..sources).filter_map(move |at| {
            let source = at.checked_sub(1).map(|write| self.locations[location].writes[write] as usize);
            self.examine(&Candidate { thread, kind, location, order, source }).is_ok().then_some(source)
        })
    }

    /// The writes of a location, in a modification order with which the model allows what was accepted so far.
    pub fn modification_order(&self, location: u32) -> Vec<usize> {
        let mut writes: Vec<usize> = match self.locations.get(location as usize) {
            None => Vec::new(),
            Some(location) => location.writes.iter().map(|&write| write as usize).collect(),
        };
        writes.sort_unstable_by_key(|&write| {
            let [chain, place] = self.events[write].place;
            (self.chains.rank(chain), place)
        });
        writes
    }

    fn make_room(&mut self, thread: usize, location: usize) {
        if thread >= self.width {
            let width = (thread + 1).next_power_of_two();
            for clocks in [&mut self.current, &mut self.pending, &mut self.published, &mut self.carried] {
                let mut wide = vec![0; clocks.len() / self.width * width];
                for (wide, clock) in wide.chunks_exact_mut(width).zip(clocks.chunks_exact(self.width)) {
                    wide[..clock.len()].copy_from_slice(clock);
                }
                *clocks = wide;
            }
            self.width = width;
        }
        let lanes = (thread + 1) * self.width;
        if self.current.len() < lanes {
            for clocks in [&mut self.current, &mut self.pending, &mut self.published] {
                clocks.resize(lanes, 0);
            }
        }
        while self.locations.len() <= location {
            let chain = self.chains.add_node();
            self.locations.push(Location { chain, updater: NOBODY, accesses: Vec::new(), writes: Vec::new() });
        }
    }

    /// Finds what happens before a candidate and what must precede its target, if it may be appended. Answers the chain and
    /// place of the target of an event that reads.
    fn examine(&mut self, candidate: &Candidate) -> Result<Option<[u32; 2]>, Refused> {
        let &Candidate { thread, kind, location, order, source } = candidate;
        if self.orders && order == MemoryOrder::SequentiallyConsistent {
            return Err(Refused::Sequential);
        }
        let Self {
            orders, width, current, pending, carried, events, locations, chains, clock, preceding, tellers, ..
        } = self;
        let lanes = thread * *width..(thread + 1) * *width;
        clock.clear();
        clock.extend_from_slice(&current[lanes.clone()]);
        preceding.clear();
        tellers.clear();
        let location_number = location as u32;
        let location = &locations[location];
        let (mut target, mut updater) = (kind.reads().then_some([location.chain, 0]), location.updater);
        let mut learnt: Option<&[u32]> = None;
        if let Some(source) = source {
            let write = events
                .get(source)
                .filter(|write| kind.reads() && write.kind.writes() && write.location == location_number)
                .filter(|write| write.clock != NOBODY);
            let write = write.ok_or(Refused::Source)?;
            target = Some(write.place);
            updater = write.updater;
            let from_source = &carried[write.clock as usize * *width..][..*width];
            if !*orders || acquires(order, false) {
                join(clock, from_source);
            }
            learnt = Some(from_source);
        }
        if kind == Kind::Fence {
            if *orders && acquires(order, true) {
                join(clock, &pending[lanes]);
            }
            return Ok(None);
        }
        if kind == Kind::Rmw && updater != NOBODY {
            return Err(Violation::UpdatedTwice { by: updater as usize }.into());
        }
        for accesses in &location.accesses {
            let Some(access) = accesses.last_within(clock[accesses.thread]) else { continue };
            // What was known where the source comes from precedes the source already.
            if learnt.is_some_and(|learnt| access.position <= learnt[accesses.thread]) {
                continue;
            }
            let [from, place] = access.value;
            let overwritten = match target {
                Some([chain, index]) if from == chain => place > index,
                // Nothing precedes the initial write.
                Some([chain, _]) => chain == location.chain,
                None => false,
            };
            if overwritten {
                return Err(Violation::Overwritten { known: access.event as usize }.into());
            }
            // That the chain of the initial write is the first goes without saying.
            if from != location.chain && target.is_none_or(|[chain, _]| chain != from) {
                preceding.push(from);
                tellers.push(access.event);
            }
        }
        if let Some([chain, _]) = target
            && let Some(at) = chains.contradicts(preceding, chain)
        {
            return Err(Violation::Overwritten { known: tellers[at] as usize }.into());
        }
        Ok(target)
    }

    /// Appends a candidate that was just examined.
    fn append(&mut self, candidate: &Candidate, target: Option<[u32; 2]>) {
        let &Candidate { thread, kind, location, order, source } = candidate;
        let event = self.events.len() as u32;
        let lanes = thread * self.width..(thread + 1) * self.width;
        let position = self.clock[thread] + 1;
        self.clock[thread] = position;
        copy(&mut self.current[lanes.clone()], &self.clock);
        let mut past = Past { kind, location: location as u32, place: [0, 0], clock: 0, updater: NOBODY };
        if kind == Kind::Fence {
            if self.orders && releases(order, true) {
                copy(&mut self.published[lanes], &self.clock);
            }
            self.events.push(past);
            return;
        }
        let mut value = target.unwrap_or_else(|| {
            let chain = self.chains.add_node();
            // Nothing follows a new chain, so nothing contradicts.
            self.chains.contradicts(&self.preceding, chain);
            [chain, 0]
        });
        self.chains.precede(&self.preceding, value[0]);
        let learnt = source.map(|source| self.events[source].clock as usize * self.width);
        if let Some(learnt) = learnt
            && self.orders
            && !acquires(order, false)
        {
            join(&mut self.pending[lanes.clone()], &self.carried[learnt..][..self.width]);
        }
        if kind == Kind::Rmw {
            value[1] += 1;
            match source {
                None => self.locations[location].updater = event,
                Some(source) => self.events[source].updater = event,
            }
        }
        if kind.writes() {
            let release = !self.orders || releases(order, false);
            let begin = self.carried.len();
            past.place = value;
            past.clock = (begin / self.width) as u32;
            self.carried.extend_from_slice(if release { &self.clock } else { &self.published[lanes] });
            // An rmw carries on the release sequence of its source.
            if let Some(learnt) = learnt {
                let (before, own) = self.carried.split_at_mut(begin);
                join(own, &before[learnt..][..self.width]);
            }
            self.locations[location].writes.push(event);
        }
        let access = Access { position, event, value };
        let by_thread = &mut self.locations[location].accesses;
        match by_thread.iter_mut().find(|accesses| accesses.thread == thread) {
            Some(accesses) => accesses.list.push(access),
            None => by_thread.push(Accesses { thread, list: vec![access] }),
        }
        self.events.push(past);
    }
}
