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
//! An edge is not kept as such. Values are ordered along each thread, so what precedes a chain is, of each thread, what it has
//! accessed up to some position: a clock, that of what was *heard* of before the chain ([`chains`]). The edges that an event
//! adds are a join of its clock to that of its target's chain, and only where the former is ahead is there anything to look
//! at. There is an order of the chains, kept topological: an edge that agrees with it closes no cycle, and costs no more.
//!
//! An event that would close a cycle is refused. So is one whose known access has a later value in the same chain, or
//! any value but the initial one where it reads the initial write.
//!
//! (RF, Algorithm 5, keeps such clocks, too, there called HBMO, but no order: so it must close them transitively at each read, and
//! hand on what is new along each thread.)

mod chains;
mod retire;

use history::MemoryOrder;
use history::execution::Kind;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::clocks::{copy, join};
use super::coherence::{acquires, releases};
use chains::{Access, Chains, Location};

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
    /// [`NOBODY`] if it does not write.
    location: u32,
    /// Its chain, and its place in it.
    place: [u32; 2],
    /// The number of its clock; [`NOBODY`] if it was retired.
    clock: u32,
    /// The rmw that reads it.
    updater: u32,
}

impl Past {
    /// What is kept of an event that does not write.
    const NO_WRITE: Self = Self { location: NOBODY, place: [NOBODY; 2], clock: NOBODY, updater: NOBODY };

    /// Whether it is a write that can be read from.
    fn is_source(&self) -> bool {
        self.clock != NOBODY
    }
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
    /// By location, a lane a thread: the position of its last access; zero if there is none.
    tails: Vec<u32>,
    chains: Chains,
    /// What happens before the candidate.
    clock: Vec<u32>,
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
            tails: Vec::new(),
            chains: Chains::default(),
            clock: vec![0; 4],
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
            (self.chains.ranks[chain as usize], place)
        });
        writes
    }

    fn make_room(&mut self, thread: usize, location: usize) {
        let (threads, locations) = (self.current.len() / self.width, self.locations.len());
        if thread >= threads || location >= locations {
            self.grow(thread, location);
        }
    }

    #[cold]
    fn grow(&mut self, thread: usize, location: usize) {
        if thread >= self.width {
            let width = (thread + 1).next_power_of_two();
            let by_thread = [&mut self.current, &mut self.pending, &mut self.published];
            let others = [&mut self.carried, &mut self.tails, &mut self.chains.heard, &mut self.clock];
            for clocks in by_thread.into_iter().chain(others) {
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
            self.tails.resize(self.tails.len() + self.width, 0);
            self.locations.push(Location::default());
            let initial = self.chains.begin(&vec![0; self.width], self.locations.last_mut().expect("just pushed"));
            self.locations.last_mut().expect("just pushed").chain = initial;
        }
    }

    /// Finds what happens before a candidate, and whether it may be appended. Answers the chain and place of the target
    /// of an event that reads.
    fn examine(&mut self, candidate: &Candidate) -> Result<Option<[u32; 2]>, Refused> {
        let &Candidate { thread, kind, location, order, source } = candidate;
        if self.orders && order == MemoryOrder::SequentiallyConsistent {
            return Err(Refused::Sequential);
        }
        let Self { orders, width, current, pending, carried, events, locations, tails, chains, clock, .. } = self;
        let lanes = thread * *width..(thread + 1) * *width;
        copy(clock, &current[lanes.clone()]);
        if source.is_some() && !kind.reads() {
            return Err(Refused::Source);
        }
        match kind {
            Kind::Fence => {
                if *orders && acquires(order, true) {
                    join(clock, &pending[lanes]);
                }
                return Ok(None);
            }
            // Nothing follows the chain that it begins.
            Kind::Write => return Ok(None),
            Kind::Read | Kind::Rmw => {}
        }
        let of_location = &locations[location];
        let (mut target, mut updater) = ([of_location.chain, 0], of_location.updater);
        if let Some(source) = source {
            let write = events.get(source).filter(|write| write.location == location as u32 && write.is_source());
            let write = write.ok_or(Refused::Source)?;
            (target, updater) = (write.place, write.updater);
            if !*orders || acquires(order, false) {
                join(clock, &carried[write.clock as usize * *width..][..*width]);
            }
        }
        if kind == Kind::Rmw && updater != NOBODY {
            return Err(Violation::UpdatedTwice { by: updater as usize }.into());
        }
        let tails = &tails[location * *width..][..*width];
        match chains.examine(of_location, target, clock, tails) {
            None => Ok(Some(target)),
            Some(known) => Err(Violation::Overwritten { known: known as usize }.into()),
        }
    }

    /// Appends a candidate that was just examined.
    fn append(&mut self, candidate: &Candidate, target: Option<[u32; 2]>) {
        let &Candidate { thread, kind, location, order, source } = candidate;
        let Self { orders, width, current, pending, published, carried, events, locations, tails, chains, clock } = self;
        let event = events.len() as u32;
        let lanes = thread * *width..(thread + 1) * *width;
        let position = clock[thread] + 1;
        // The own lane is counted up in the copies: of a clock, it is read last, so as not to wait for what was just written.
        let current = &mut current[lanes.clone()];
        copy(current, clock);
        current[thread] = position;
        if kind == Kind::Fence {
            if *orders && releases(order, true) {
                let published = &mut published[lanes];
                copy(published, clock);
                published[thread] = position;
            }
            events.push(Past::NO_WRITE);
            return;
        }
        let of_location = &mut locations[location];
        let mut value = match target {
            Some(target) => {
                chains.precede(clock, target[0], of_location);
                target
            }
            None => [chains.begin(clock, of_location), 0],
        };
        chains.heard[value[0] as usize * *width + thread] = position;
        let learnt = source.map(|source| events[source].clock as usize * *width);
        if let Some(learnt) = learnt
            && *orders
            && !acquires(order, false)
        {
            join(&mut pending[lanes.clone()], &carried[learnt..][..*width]);
        }
        let mut past = Past::NO_WRITE;
        if kind.writes() {
            if kind == Kind::Rmw {
                value[1] += 1;
                chains.last[value[0] as usize] = value[1];
                match source {
                    None => of_location.updater = event,
                    Some(source) => events[source].updater = event,
                }
            }
            let begin = carried.len();
            past = Past { location: location as u32, place: value, clock: (begin / *width) as u32, updater: NOBODY };
            let release = !*orders || releases(order, false);
            carried.extend_from_slice(if release { clock } else { &published[lanes] });
            // An rmw carries on the release sequence of its source.
            if let Some(learnt) = learnt {
                let (before, own) = carried.split_at_mut(begin);
                join(own, &before[learnt..][..*width]);
            }
            if release {
                carried[begin + thread] = position;
            }
            of_location.writes.push(event);
        }
        tails[location * *width + thread] = position;
        of_location.push(thread as u32, Access { position, event, value, before: NOBODY });
        events.push(past);
    }
}
