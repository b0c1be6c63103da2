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
use chains::{Access, Chains, Location, Tails};

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
    /// By event: the number of its write, if it is one that can be read from; else [`NOBODY`].
    events: Vec<u32>,
    chains: Chains,
    locations: Vec<Location>,
    /// By location: the ends of its rows ([`Tails`]).
    tails: Vec<u32>,
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
            events: Vec::new(),
            chains: Chains::default(),
            locations: Vec::new(),
            tails: Vec::new(),
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
            let write = at.checked_sub(1).map(|at| self.locations[location].writes[at]);
            let source = write.map(|write| self.chains.writes[write as usize].event as usize);
            self.examine(&Candidate { thread, kind, location, order, source }).is_ok().then_some(source)
        })
    }

    /// The writes of a location, in a modification order with which the model allows what was accepted so far.
    pub fn modification_order(&self, location: u32) -> Vec<usize> {
        let mut writes = self.locations.get(location as usize).map_or(Vec::new(), |location| location.writes.clone());
        let writes_of_all = &self.chains.writes;
        writes.sort_unstable_by_key(|&write| {
            let [chain, place] = writes_of_all[write as usize].place;
            (writes_of_all[chain as usize].rank, place)
        });
        writes.into_iter().map(|write| writes_of_all[write as usize].event as usize).collect()
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
            let others = [&mut self.chains.clocks, &mut self.tails, &mut self.clock];
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
        let nothing = vec![0; self.width];
        for location in self.locations.len()..=location {
            let mut order = Vec::new();
            let initial = self.chains.begin(NOBODY, location, &mut order, &nothing, &nothing);
            self.locations.push(Location { initial, rows: Vec::new(), order, writes: Vec::new() });
        }
        self.tails.resize(self.locations.len() * Tails::CLOCKS * self.width, 0);
    }

    /// Finds what happens before a candidate, and whether it may be appended. Answers the write that an event reads.
    #[inline]
    fn examine(&mut self, candidate: &Candidate) -> Result<Option<u32>, Refused> {
        let &Candidate { thread, kind, location, order, source } = candidate;
        if self.orders && order == MemoryOrder::SequentiallyConsistent {
            return Err(Refused::Sequential);
        }
        let Self { orders, width, current, pending, events, chains, locations, tails, clock, .. } = self;
        let (width, clock) = (*width, &mut clock[..*width]);
        let lanes = thread * width..(thread + 1) * width;
        copy(clock, &current[lanes.clone()]);
        if !kind.reads() {
            if source.is_some() {
                return Err(Refused::Source);
            }
            if kind == Kind::Fence && *orders && acquires(order, true) {
                join(clock, &pending[lanes]);
            }
            // Nothing follows the chain that a write begins.
            return Ok(None);
        }
        let of_location = &locations[location];
        let target = match source {
            None => of_location.initial,
            Some(source) => events.get(source).copied().filter(|&write| write != NOBODY).ok_or(Refused::Source)?,
        };
        let write = &chains.writes[target as usize];
        if write.location as usize != location {
            return Err(Refused::Source);
        }
        if kind == Kind::Rmw && write.updater != NOBODY {
            return Err(Violation::UpdatedTwice { by: write.updater as usize }.into());
        }
        let place = write.place;
        if !*orders || acquires(order, false) {
            join(clock, chains.carried(target, width));
        }
        let tails = Tails::new(&tails[location * Tails::CLOCKS * width..][..Tails::CLOCKS * width], width);
        match chains.examine(of_location, place, clock, &tails) {
            None => Ok(Some(target)),
            Some(known) => Err(Violation::Overwritten { known: known as usize }.into()),
        }
    }

    /// Appends a candidate that was just examined.
    #[inline]
    fn append(&mut self, candidate: &Candidate, target: Option<u32>) {
        let &Candidate { thread, kind, location, order, .. } = candidate;
        let Self { orders, width, current, pending, published, events, chains, locations, tails, clock } = self;
        let (width, clock) = (*width, &mut clock[..*width]);
        let event = events.len() as u32;
        let lanes = thread * width..(thread + 1) * width;
        // The own lane is counted up in the copies: to read a whole clock right after one lane was written takes long.
        let position = clock[thread] + 1;
        let current = &mut current[lanes.clone()];
        copy(current, clock);
        current[thread] = position;
        if kind == Kind::Fence {
            if *orders && releases(order, true) {
                copy(&mut published[lanes], current);
            }
            events.push(NOBODY);
            return;
        }
        let of_location = &mut locations[location];
        let is_release = !*orders || releases(order, false);
        let mut write = NOBODY;
        let value = if let Some(target) = target {
            let place = chains.writes[target as usize].place;
            chains.precede(clock, place[0], of_location);
            chains.heard_mut(place[0], width)[thread] = position;
            if *orders && !acquires(order, false) {
                join(&mut pending[lanes.clone()], chains.carried(target, width));
            }
            if kind == Kind::Rmw {
                write = chains.writes.len() as u32;
                chains.update(event, target, if is_release { clock } else { &published[lanes] })
            } else {
                place
            }
        } else {
            let carried = if is_release { &*clock } else { &published[lanes] };
            write = chains.begin(event, location, &mut of_location.order, carried, clock);
            chains.heard_mut(write, width)[thread] = position;
            [write, 0]
        };
        if write != NOBODY {
            if is_release {
                chains.carried_mut(write, width)[thread] = position;
            }
            of_location.writes.push(write);
        }
        if of_location.push(thread, Access { position, event, value, before: NOBODY }) {
            let tails = &mut tails[location * Tails::CLOCKS * width..][..Tails::CLOCKS * width];
            Tails::push(tails, width, thread, position, value[0]);
        }
        events.push(write);
    }
}
