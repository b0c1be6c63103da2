//! `ra` and `rc20`, event by event.
//!
//! Events arrive after their `po`-predecessors and sources. So all that happens before an event is known when the event
//! arrives, and never grows. Each event adds, once, the edges that [`super::coherence`] derives from it, and no earlier
//! edge changes:
//! - of each thread, take the last access on the location that happens before the event. Its value must be in a chain
//!   that precedes the chain of the event's target, or in the same chain and not later than the target. So the edges of
//!   an event lead into one chain;
//! - a write begins a chain, which nothing follows yet;
//! - an rmw makes the chain of its source longer. Chains are ordered as wholes, so no edge changes; but its source must
//!   have been the end of the chain, else two rmws read one write.
//!
//! Edges are not stored one by one. Values are ordered along each thread. So the accesses of a thread whose values
//! precede a chain are those up to some position of the thread, and all these positions are one clock: what was *heard*
//! of before the chain ([`chains`]). To add the edges of an event is to join its clock to the clock of its target's
//! chain. Only lanes in which the clock of the event is ahead have to be looked at. A topological order of the chains
//! is maintained. An edge that agrees with this order closes no cycle, and needs no further work.
//!
//! An event that would close a cycle is refused. An event is also refused if it knows of an access with a later value
//! in the chain of its target, or if it reads the initial write and knows of an access with any other value.
//!
//! (Algorithm 5 of RF keeps such clocks, too, called HBMO, but no order of the chains. So it must close the clocks
//! transitively at each read, and hand on new entries along each thread.)

mod chains;
mod retire;
#[cfg(test)]
mod tests;
mod trail;

use history::MemoryOrder;
use history::execution::Kind;
use order::{Entries, Width};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::clocks::{MAX_COUNT, copy, join, with_width};
use super::coherence::{acquires, releases};
use chains::{Access, Chains, Location, Tails, Write};

pub use trail::Mark;

/// Why an event was refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// The model would not allow the execution with this event.
    #[error(transparent)]
    Violation(#[from] C11Violation),
    /// `rc20` has no sequentially consistent accesses or fences.
    #[error("rc20 has no sequentially consistent accesses or fences")]
    Sequential,
    /// The source is not an earlier write of the location, or the event does not read and was given one.
    #[error("the source must be an earlier write of the same location, and only a read or rmw has a source")]
    Source,
    /// The thread has had 2^31 events that some other thread has not heard of, or 2^31 rmws have updated one write in
    /// turn.
    #[error(
        "no room for this event: its thread has 2^31 events that some other thread has not heard of, \
         or 2^31 rmws have updated one write in turn"
    )]
    Full,
}

/// How an event contradicts the model.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum C11Violation {
    /// Another rmw has updated the source.
    #[error("event {by} is an rmw that has already updated the same write")]
    UpdatedTwice {
        /// The number of that rmw.
        by: u64,
    },
    /// The event knows of an access whose value overwrote the source, in every modification order.
    #[error("event {known} happens before this event, and wrote or read a value that overwrote the one read here")]
    Overwritten {
        /// The number of that access.
        known: u64,
    },
}

const NOBODY: u32 = u32::MAX;
const NO_EVENT: u64 = u64::MAX;

/// The place after so many events of a thread, or after so many writes of a chain.
#[inline]
const fn next_place(count: u32) -> Result<u32, Refused> {
    if count < MAX_COUNT { Ok(count + 1) } else { Err(Refused::Full) }
}

/// The name of a write that was accepted, by which reads refer to it. When the write is forgotten, another write may
/// get the same name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WriteId(u32);

impl WriteId {
    /// The number of the write. It is small, so that a caller can keep data of writes in an array.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The write of that number.
    #[inline]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }
}

/// A read or rmw that is to be appended.
#[derive(Copy, Clone)]
struct Reading {
    thread: usize,
    is_rmw: bool,
    location: usize,
    order: MemoryOrder,
    source: Option<WriteId>,
}

/// An execution that grows by one event at a time, and that the model always allows. An event that the model would not
/// allow is refused, and changes nothing.
///
/// Events arrive in an order in which each comes after its predecessors in its thread and after the write that it
/// reads. Then the accepted events are, at every moment, an execution that [`C11Checker`](super::C11Checker) allows.
/// Threads and locations are numbers. They should start at zero and have no large gaps, because memory is reserved for
/// the numbers between. Each write keeps a clock of one word for each thread. [`Self::retire`] forgets events that no
/// thread can refer to any more. With it, the memory depends only on how far the threads are apart: on the accesses
/// since the last time that every thread had heard of every other, and on the values that threads may still read.
///
/// ```
/// use history::MemoryOrder::{Acquire, Relaxed, Release};
/// use history::execution::Kind::{Read, Rmw, Write};
/// use memory::c11::{Incremental, Refused, C11Violation};
///
/// let mut execution = Incremental::rc20();
/// let (data, flag) = (0, 1);
/// let written = execution.push(0, Write, data, Relaxed, None)?;
/// let raised = execution.push(0, Write, flag, Release, None)?;
/// // A thread that has not seen the flag may read the old data.
/// execution.push(1, Read, data, Relaxed, None)?;
/// execution.push(1, Read, flag, Acquire, raised)?;
/// // From now on thread 1 must read the new data: the old is refused (event 0 tells why), ...
/// let overwritten = Refused::Violation(C11Violation::Overwritten { known: 0 });
/// assert_eq!(execution.push(1, Read, data, Relaxed, None), Err(overwritten));
/// assert!(execution.may_read_from(1, Read, data, Relaxed).eq([written]));
/// // ... and since that changed nothing, the execution goes on.
/// let update = execution.push(1, Rmw, data, Relaxed, written)?;
/// // A write is updated once, here by event 4; thread 2 has seen nothing and may read anything.
/// let twice = Refused::Violation(C11Violation::UpdatedTwice { by: 4 });
/// assert_eq!(execution.push(2, Rmw, data, Relaxed, written), Err(twice));
/// assert!(execution.may_read_from(2, Read, data, Relaxed).eq([None, written, update]));
/// assert_eq!(execution.modification_order(data), [0, 4]);
/// # Ok::<(), Refused>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Incremental {
    /// Whether memory orders count as written (`rc20`). Otherwise every access is release and acquire (`ra`).
    orders: bool,
    /// How many lanes a clock has: a multiple of four.
    width: usize,
    /// How many threads there is room for.
    threads: usize,
    /// The number of the next event.
    next: u64,
    /// By thread: the clock of what happens before its next event. The lane of the thread itself counts its events.
    current: Vec<u32>,
    /// By thread: the clock that an acquire fence would add.
    pending: Vec<u32>,
    /// By thread: the clock of what happened before its last release fence.
    published: Vec<u32>,
    chains: Chains,
    locations: Vec<Location>,
    /// By location, and by groups of four threads: the ends of the rows of the location.
    tails: Vec<Tails>,
    #[serde(skip)]
    scratch: retire::Scratch,
    #[serde(skip)]
    trail: trail::Trail,
}

impl Incremental {
    /// An empty execution under `ra`: memory orders and fences mean nothing.
    pub fn ra() -> Self {
        Self::new(false)
    }

    /// An empty execution under `rc20`: memory orders are as written. An access without one is relaxed, and a fence
    /// without one is acquire and release.
    pub fn rc20() -> Self {
        Self::new(true)
    }

    fn new(orders: bool) -> Self {
        Self {
            orders,
            width: 4,
            threads: 0,
            next: 0,
            current: Vec::new(),
            pending: Vec::new(),
            published: Vec::new(),
            chains: Chains::default(),
            locations: Vec::new(),
            tails: Vec::new(),
            scratch: retire::Scratch::default(),
            trail: trail::Trail::default(),
        }
    }

    /// The number that the next event gets, if it is accepted. It is the number of events accepted so far, unless
    /// [`Self::set_next`] has changed it.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The next event that is accepted gets this number, and those after it the following ones. (So the numbers can be
    /// those of a stream of which some events are left out. Numbers only serve to name events in a [`C11Violation`].)
    #[inline]
    pub fn set_next(&mut self, number: u64) {
        self.next = number;
    }

    /// How many writes and accesses are remembered. The memory is in proportion to this number.
    pub fn size(&self) -> usize {
        let accesses = self.locations.iter().flat_map(|location| &location.rows).map(|row| row.list.len());
        self.chains.count() + accesses.sum::<usize>()
    }

    /// Appends an event to its thread, or refuses it. The location of a fence means nothing. The source is the write
    /// that a read or rmw reads from, or `None` for the initial write. If the event writes, the answer is its name,
    /// which later events give as their source.
    #[inline]
    pub fn push(
        &mut self,
        thread: u32,
        kind: Kind,
        location: u32,
        order: MemoryOrder,
        source: Option<WriteId>,
    ) -> Result<Option<WriteId>, Refused> {
        if self.orders && order == MemoryOrder::SequentiallyConsistent {
            return Err(Refused::Sequential);
        }
        if source.is_some() && !kind.reads() {
            return Err(Refused::Source);
        }
        let (thread, location) = (thread as usize, location as usize);
        let write = match kind {
            _ if self.trail.is_kept() => self.push_kept(thread, kind, location, order, source)?,
            Kind::Fence => self.push_fence(thread, order)?,
            Kind::Write => self.push_write(thread, location, order)?,
            Kind::Read | Kind::Rmw => {
                self.push_reading(&Reading { thread, is_rmw: kind == Kind::Rmw, location, order, source })?
            }
        };
        Ok((write != NOBODY).then_some(WriteId(write)))
    }

    /// The writes that a read or rmw could read from, if it were the next event of its thread: those with which
    /// [`Self::push`] would accept it, the oldest first. `None` is the initial write.
    pub fn may_read_from(
        &mut self,
        thread: u32,
        kind: Kind,
        location: u32,
        order: MemoryOrder,
    ) -> impl Iterator<Item = Option<WriteId>> + '_ {
        let (thread, location) = (thread as usize, location as usize);
        self.make_room(thread, location);
        let is_refused = self.orders && order == MemoryOrder::SequentiallyConsistent;
        let mut sources = Vec::new();
        if kind.reads() && !is_refused {
            sources.push(None);
            sources.extend(self.writes(location).map(|write| Some(WriteId(write))));
            sources[1..].sort_unstable_by_key(|write| write.map(|write| self.chains.writes[write.index()].event));
        }
        sources.into_iter().filter(move |&source| {
            let reading = Reading { thread, is_rmw: kind == Kind::Rmw, location, order, source };
            with_width!(self.width, width => self.may_push(width, &reading))
        })
    }

    /// The numbers of the writes of a location that were not forgotten, in a modification order with which the model
    /// allows the accepted events.
    pub fn modification_order(&self, location: u32) -> Vec<u64> {
        if location as usize >= self.locations.len() {
            return Vec::new();
        }
        self.writes(location as usize).map(|write| self.chains.writes[write as usize].event).collect()
    }

    /// The writes of a location that can be read from, in a modification order, without the initial one.
    fn writes(&self, location: usize) -> impl Iterator<Item = u32> {
        let write = |number: u32| &self.chains.writes[number as usize];
        let next = move |&last: &u32| Some(write(last).next).filter(|&next| next != NOBODY);
        let chains = self.locations[location].order.iter();
        chains
            .flat_map(move |&chain| std::iter::successors(Some(chain), next))
            .filter(move |&number| write(number).event != NO_EVENT)
    }

    #[inline]
    fn make_room(&mut self, thread: usize, location: usize) {
        if thread >= self.threads || location >= self.locations.len() {
            self.grow(thread, location);
        }
    }

    #[cold]
    fn grow(&mut self, thread: usize, location: usize) {
        if thread >= self.width {
            let width = (thread + 1).next_power_of_two();
            let by_thread = [&mut self.current, &mut self.pending, &mut self.published];
            for clocks in by_thread.into_iter().chain([&mut self.chains.clocks]) {
                widen(clocks, self.width, width);
            }
            widen(&mut self.tails, self.width / 4, width / 4);
            self.width = width;
        }
        self.threads = self.threads.max(thread + 1);
        for clocks in [&mut self.current, &mut self.pending, &mut self.published] {
            clocks.resize(self.threads * self.width, 0);
        }
        let nothing = vec![0; self.width];
        for location in self.locations.len()..=location {
            let mut of_location = Location { initial: 0, rows: Vec::new(), order: Vec::new() };
            let initial = Write::new(NO_EVENT, location, 0, 0);
            let (initial, _) = self.chains.begin(Entries(self.width), initial, &mut of_location, &nothing, &nothing);
            of_location.initial = initial;
            self.locations.push(of_location);
        }
        self.tails.resize(self.locations.len() * self.width / 4, Tails::default());
    }

    fn push_fence(&mut self, thread: usize, order: MemoryOrder) -> Result<u32, Refused> {
        self.make_room(thread, 0);
        let Self { width, current, pending, published, .. } = self;
        let lanes = thread * *width..(thread + 1) * *width;
        let current = &mut current[lanes.clone()];
        let position = next_place(current[thread])?;
        if self.orders && acquires(order, true) {
            join(current, &pending[lanes.clone()]);
        }
        current[thread] = position;
        if self.orders && releases(order, true) {
            copy(&mut published[lanes], current);
        }
        self.next += 1;
        Ok(NOBODY)
    }

    /// Appends a write. Nothing follows the chain that it begins, so it contradicts nothing.
    fn push_write(&mut self, thread: usize, location: usize, order: MemoryOrder) -> Result<u32, Refused> {
        self.make_room(thread, location);
        with_width!(self.width, width => self.push_write_of(width, thread, location, order))
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn push_write_of<W: Width>(
        &mut self,
        width: W,
        thread: usize,
        location: usize,
        order: MemoryOrder,
    ) -> Result<u32, Refused> {
        let Self { orders, next, current, published, chains, locations, tails, .. } = self;
        let current = width.clock_mut(current, thread);
        let tails = &mut tails[location * (width.entries() / 4)..][..width.entries() / 4];
        // The lane of the thread itself is counted up in each copy after the copy was made: to read a whole clock right
        // after one lane was written takes long.
        let position = next_place(current[thread])?;
        let is_release = !*orders || releases(order, false);
        let carried = if is_release { &*current } else { width.clock(published, thread) };
        let of_location = &mut locations[location];
        let (write, both) =
            chains.begin(width, Write::new(*next, location, thread, position), of_location, carried, current);
        current[thread] = position;
        both[width.entries() + thread] = position;
        if is_release {
            both[thread] = position;
        }
        let (value, rank) = ([write, 0], of_location.order.len() as u32 - 1);
        of_location.remember(thread, Access { event: *next, position, value, before: NOBODY }, rank, tails);
        *next += 1;
        Ok(write)
    }

    fn may_push<W: Width>(&mut self, width: W, reading: &Reading) -> bool {
        let Self { orders, current, chains, locations, tails, .. } = self;
        let of_location = &locations[reading.location];
        let tails = &tails[reading.location * (width.entries() / 4)..][..width.entries() / 4];
        chains.find(width, *orders, reading, width.clock(current, reading.thread), of_location, tails).is_ok()
    }

    /// Appends a read or rmw, or refuses it.
    fn push_reading(&mut self, reading: &Reading) -> Result<u32, Refused> {
        self.make_room(reading.thread, reading.location);
        with_width!(self.width, width => self.push_reading_of(width, reading))
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn push_reading_of<W: Width>(&mut self, width: W, reading: &Reading) -> Result<u32, Refused> {
        let &Reading { thread, is_rmw, location, order, .. } = reading;
        let Self { orders, next, current, pending, published, chains, locations, tails, .. } = self;
        let current = width.clock_mut(current, thread);
        let position = next_place(current[thread])?;
        let of_location = &mut locations[location];
        let tails = &mut tails[location * (width.entries() / 4)..][..width.entries() / 4];
        let (target, of_target) = chains.find(width, *orders, reading, current, of_location, tails)?;
        let mut value = of_target.place;
        if is_rmw {
            value[1] = next_place(value[1])?;
        }
        if !*orders || acquires(order, false) {
            join(current, chains.carried(target, width));
        } else {
            join(width.clock_mut(pending, thread), chains.carried(target, width));
        }
        let heard = chains.heard_mut(value[0], width);
        join(heard, current);
        // The lane of the thread itself is counted up at once: except for rmws, the code below does not read the whole
        // clock.
        heard[thread] = position;
        if !chains.behind.is_empty() {
            chains.move_behind(value[0], of_location, tails);
        }
        let is_known = !*orders || current[of_target.thread as usize] >= of_target.position;
        let mut write = NOBODY;
        if is_rmw {
            let is_release = !*orders || releases(order, false);
            let carried = if is_release { &*current } else { width.clock(published, thread) };
            let rmw = Write { place: value, ..Write::new(*next, location, thread, position) };
            write = chains.update(width, rmw, target, carried);
            if is_release {
                chains.carried_mut(write, width)[thread] = position;
            }
        }
        current[thread] = position;
        if is_rmw || !is_known {
            let rank = chains.writes[value[0] as usize].rank;
            of_location.remember(thread, Access { event: *next, position, value, before: NOBODY }, rank, tails);
        }
        *next += 1;
        Ok(write)
    }
}

/// Makes rows of so many items wider.
fn widen<T: Copy + Default>(rows: &mut Vec<T>, width: usize, wider: usize) {
    let mut wide = vec![T::default(); rows.len() / width * wider];
    for (wide, row) in wide.chunks_exact_mut(wider).zip(rows.chunks_exact(width)) {
        wide[..width].copy_from_slice(row);
    }
    *rows = wide;
}
