//! The chains of all locations. For each location, an order of its chains is kept topological while edges arrive.
//!
//! A chain has the number of its first write. What was *heard* of before a chain is a clock: the join of the clocks of
//! all events with a target in the chain. This clock stands for edges into the chain. For each thread, there is an edge
//! from the value of the last access within the clock whose value is not in the chain itself. (The accesses of a thread
//! with values in one chain are neighbours, and no value after them can precede the chain.)
//!
//! Invariant: an edge leads from a lower rank to a higher. If all edges of an event agree with the ranks, there is
//! nothing to do. Otherwise only chains between the target and the highest origin can be out of place. The chains that
//! reach an origin move before the target, and otherwise all chains keep their order. If the target itself reaches an
//! origin, there is a cycle. (Pearce and Kelly, 2006, also move the chains that the target reaches. For that they store
//! edges in both directions.)

use order::{Width, lanes};
use serde::{Deserialize, Serialize};

use super::super::clocks::{copy, join};
use super::super::coherence::acquires;
use super::{C11Violation, NO_EVENT, NOBODY, Reading, Refused};

/// A write, or the initial write of a location.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Write {
    /// Its event number. [`NO_EVENT`] for an initial write, and for a write that no thread can read any more.
    pub event: u64,
    /// Its chain, and its place in it.
    pub place: [u32; 2],
    pub location: u32,
    /// The thread that has written it, and its place in that thread. The place is zero for an initial write, which
    /// every thread knows.
    pub thread: u32,
    pub position: u32,
    /// The next write of its chain that is remembered; [`NOBODY`] if there is none.
    pub next: u32,
    /// If it is the first of its chain: the place of the chain in the order of the location.
    pub rank: u32,
    /// If it is the first of its chain: the place of the first write of the chain that is not dead (see
    /// [`super::retire`]). [`NOBODY`] if all are dead.
    pub floor: u32,
}

/// The location of a number that is not in use.
const NOWHERE: u32 = u32::MAX;

const FREE: Write = Write {
    event: NO_EVENT,
    place: [0; 2],
    location: NOWHERE,
    thread: 0,
    position: 0,
    next: NOBODY,
    rank: 0,
    floor: 0,
};

/// An access of a thread to a location. An access with the same value as the one before it is not kept. A read of a
/// write that happens before it is not kept either: a thread that hears of the read hears of the write.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Access {
    pub event: u64,
    /// Its place in its thread, from one.
    pub position: u32,
    /// The chain and place of its value.
    pub value: [u32; 2],
    /// The chain of the last access before it whose value is in another chain; [`NOBODY`] if there is none.
    pub before: u32,
}

/// The accesses of one thread to one location, in program order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ThreadAccesses {
    pub thread: u32,
    pub list: Vec<Access>,
}

impl ThreadAccesses {
    /// How many accesses are among the first `count` events of the thread. Mostly all are, or all but a few.
    pub(super) fn within(&self, count: u32) -> usize {
        let (mut begin, mut end, mut step) = (0, self.list.len(), 1);
        while begin < end {
            let at = end.saturating_sub(step);
            if self.list[at].position <= count {
                begin = at + 1;
                break;
            }
            end = at;
            step *= 2;
        }
        begin + self.list[begin..end].partition_point(|access| access.position <= count)
    }

    /// The last access among the first `count` events of the thread.
    pub(super) fn last_within(&self, count: u32) -> Option<&Access> {
        self.within(count).checked_sub(1).map(|at| &self.list[at])
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Location {
    /// Its initial write.
    pub initial: u32,
    /// One row for each thread that has accessed it, in ascending order.
    pub rows: Vec<ThreadAccesses>,
    /// Its chains by rank.
    pub order: Vec<u32>,
}

impl Location {
    /// Where the row of a thread is, or would be.
    #[inline]
    pub(super) fn row(&self, thread: usize) -> Result<usize, usize> {
        // If all threads up to this one have rows, the first comparison finds the row.
        let mut end = self.rows.len().min(thread + 1);
        while let Some(at) = end.checked_sub(1) {
            let found = self.rows[at].thread as usize;
            if found <= thread {
                return if found == thread { Ok(at) } else { Err(end) };
            }
            end = at;
        }
        Err(0)
    }

    /// The row of a thread.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn row_mut(&mut self, thread: usize) -> &mut ThreadAccesses {
        let at = match self.rows.get(thread) {
            Some(row) if row.thread as usize == thread => thread,
            _ => self.make_row(thread),
        };
        &mut self.rows[at]
    }

    /// Adds an access to the row of its thread. `rank` is the rank of its chain.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn remember(&mut self, thread: usize, mut access: Access, rank: u32, tails: &mut [Tails]) {
        let tails = &mut tails[thread / 4];
        let list = &mut self.row_mut(thread).list;
        access.before = tails.chain(thread % 4).unwrap_or(NOBODY);
        if access.before == access.value[0] {
            let last = list[list.len() - 1];
            if last.value == access.value {
                return;
            }
            access.before = last.before;
        }
        tails.push(thread % 4, access.position, access.value[0], rank);
        list.push(access);
    }

    #[cold]
    fn make_row(&mut self, thread: usize) -> usize {
        self.row(thread).unwrap_or_else(|at| {
            self.rows.insert(at, ThreadAccesses { thread: thread as u32, list: Vec::new() });
            at
        })
    }
}

/// The ends of the rows of a location, for four threads. With them, a row seldom has to be looked at.
#[derive(Copy, Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Tails {
    /// The position of the last access; zero if there is none.
    last: [u32; 4],
    /// Its chain.
    chain: [u32; 4],
    /// The rank of its chain, and the rank of the chain of the access before it. Zero if there is none.
    rank: [u32; 4],
    rank_before: [u32; 4],
}

impl Tails {
    /// Adds an access of a thread.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn push(&mut self, lane: usize, position: u32, chain: u32, rank: u32) {
        self.last[lane] = position;
        self.chain[lane] = chain;
        self.rank_before[lane] = std::mem::replace(&mut self.rank[lane], rank);
    }

    /// The chain of the last access of a thread.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn chain(&self, lane: usize) -> Option<u32> {
        (self.last[lane] > 0).then_some(self.chain[lane])
    }

    /// Whether no access of these threads within the clock has a chain of a higher rank.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn agrees(&self, clock: [u32; 4], rank: u32) -> bool {
        let Self { last, rank: of_last, rank_before, .. } = self;
        // The last known access of a thread is its last access, or an earlier one, whose value precedes. (All these
        // numbers are small enough to be compared as signed numbers, which is faster.)
        let exceeds = std::array::from_fn(|lane| {
            let is_known = last[lane] as i32 <= clock[lane] as i32;
            let [before, last] = [rank_before[lane], of_last[lane]].map(|of_last| of_last as i32 > rank as i32);
            u32::from(before) | u32::from(last) & u32::from(is_known)
        });
        exceeds == [0; 4]
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Chains {
    pub writes: Vec<Write>,
    /// Two clocks for each write: what a reader that acquires learns, and, if the write begins a chain, what was heard
    /// of before the chain.
    pub clocks: Vec<u32>,
    /// By write: whether the current search has reached it. All are false between searches.
    reached: Vec<bool>,
    /// The numbers of writes that are not in use.
    free: Vec<u32>,
    /// The known accesses that disagree with the ranks: their chains and event numbers.
    origins: Vec<(u32, u64)>,
    /// The chains that reach an origin and have a higher rank than the last target that was examined.
    pub behind: Vec<u32>,
    others: Vec<u32>,
    /// Room for the clock of an access that has to be put together.
    known: Vec<u32>,
}

impl Write {
    /// A write at the end of its chain.
    pub(super) fn new(event: u64, location: usize, thread: usize, position: u32) -> Self {
        Self { event, location: location as u32, thread: thread as u32, position, ..FREE }
    }
}

impl Chains {
    /// How many writes are remembered.
    pub(super) fn count(&self) -> usize {
        self.writes.len() - self.free.len()
    }

    /// A number for a write.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn number(&mut self, width: impl Width) -> u32 {
        if self.free.is_empty() {
            self.make_room(width.entries());
        }
        self.free.pop().unwrap_or(NOBODY)
    }

    #[cold]
    fn make_room(&mut self, width: usize) {
        const WRITES_PER_GROWTH: usize = 64;
        let begin = self.writes.len();
        self.writes.resize(begin + WRITES_PER_GROWTH, FREE);
        self.reached.resize(begin + WRITES_PER_GROWTH, false);
        self.clocks.resize(2 * width * (begin + WRITES_PER_GROWTH), 0);
        self.free.extend((begin as u32..(begin + WRITES_PER_GROWTH) as u32).rev());
    }

    /// How many numbers are free.
    pub(super) fn free_count(&self) -> usize {
        self.free.len()
    }

    /// The numbers that became free after the first `after`.
    pub(super) fn freed(&self, after: usize) -> &[u32] {
        &self.free[after..]
    }

    /// Forgets a write.
    #[inline]
    pub(super) fn free(&mut self, write: u32) {
        let of_write = &mut self.writes[write as usize];
        (of_write.event, of_write.location) = (NO_EVENT, NOWHERE);
        self.free.push(write);
    }

    /// The clock that a reader of this write learns if it acquires.
    #[inline]
    pub(super) fn carried(&self, write: u32, width: impl Width) -> &[u32] {
        width.clock(&self.clocks, 2 * write as usize)
    }

    #[inline]
    pub(super) fn carried_mut(&mut self, write: u32, width: impl Width) -> &mut [u32] {
        width.clock_mut(&mut self.clocks, 2 * write as usize)
    }

    /// What was heard of before a chain: the join of the clocks of all events with a target in it.
    #[inline]
    pub(super) fn heard(&self, chain: u32, width: impl Width) -> &[u32] {
        width.clock(&self.clocks, 2 * chain as usize + 1)
    }

    #[inline]
    pub(super) fn heard_mut(&mut self, chain: u32, width: impl Width) -> &mut [u32] {
        width.clock_mut(&mut self.clocks, 2 * chain as usize + 1)
    }

    /// Adds a write that begins a chain, the last in the order of its location. The answer is its number, and both its
    /// clocks.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        width: impl Width,
        write: Write,
        location: &mut Location,
        carried: &[u32],
        known: &[u32],
    ) -> (u32, &mut [u32]) {
        let chain = self.number(width);
        let rank = location.order.len() as u32;
        location.order.push(chain);
        self.writes[chain as usize] = Write { place: [chain, 0], rank, ..write };
        let lanes = width.entries();
        let both = &mut self.clocks[2 * chain as usize * lanes..][..2 * lanes];
        copy(&mut both[..lanes], carried);
        copy(&mut both[lanes..], known);
        (chain, both)
    }

    /// The rmw that has updated a write, if it is remembered.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn updater(&self, write: &Write) -> Option<u64> {
        let next = self.writes.get(write.next as usize)?;
        (next.place[1] == write.place[1] + 1).then_some(next.event)
    }

    /// Adds an rmw that updates a write. It carries this clock, joined with the clock that the write carries.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn update(&mut self, width: impl Width, rmw: Write, source: u32, carried: &[u32]) -> u32 {
        let write = self.number(width);
        self.writes[source as usize].next = write;
        self.writes[write as usize] = rmw;
        let inherited = width.copy(&self.clocks, 2 * source as usize);
        let own = self.carried_mut(write, width);
        copy(own, carried);
        join(own, inherited.as_ref());
        write
    }

    /// The write that a read or rmw reads, given the clock of what happens before it without what it learns; or why it
    /// cannot be appended. If it can be, [`Self::behind`] has the chains that the caller has to move.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn find(
        &mut self,
        width: impl Width,
        orders: bool,
        reading: &Reading,
        current: &[u32],
        location: &Location,
        tails: &[Tails],
    ) -> Result<(u32, Write), Refused> {
        let target = reading.source.map_or(location.initial, |source| source.0);
        let Some(&write) = self.writes.get(target as usize) else { return Err(Refused::Source) };
        if write.location as usize != reading.location || reading.source.is_some() && write.event == NO_EVENT {
            return Err(Refused::Source);
        }
        if reading.is_rmw
            && let Some(by) = self.updater(&write)
        {
            return Err(C11Violation::UpdatedTwice { by }.into());
        }
        let rank = self.writes[write.place[0] as usize].rank;
        self.behind.clear();
        let acquires = !orders || acquires(reading.order, false);
        let learnt = if acquires { self.carried(target, width) } else { current };
        let mut agrees = write.next == NOBODY;
        for ((&own, &learnt), tails) in current.as_chunks().0.iter().zip(learnt.as_chunks().0).zip(tails) {
            agrees &= tails.agrees(lanes::join(&own, &learnt), rank);
        }
        if !agrees && let Some(known) = self.examine(location, write.place, current, acquires.then_some(target)) {
            return Err(C11Violation::Overwritten { known }.into());
        }
        Ok((target, write))
    }

    /// Whether the clock of an access contradicts its target, which is the chain and place of a write of the location.
    /// If so, the answer is the event number of a known access that proves it.
    #[cold]
    fn examine(
        &mut self,
        location: &Location,
        [chain, place]: [u32; 2],
        current: &[u32],
        learnt: Option<u32>,
    ) -> Option<u64> {
        self.known.clear();
        self.known.extend_from_slice(current);
        if let Some(write) = learnt {
            join(&mut self.known, &self.clocks[2 * write as usize * current.len()..][..current.len()]);
        }
        let clock = &self.known;
        let rank = self.writes[chain as usize].rank;
        self.origins.clear();
        for row in &location.rows {
            let Some(access) = row.last_within(clock[row.thread as usize]) else { continue };
            let [from, at] = access.value;
            // Nothing precedes the initial write.
            let is_overwritten = if from == chain { at > place } else { chain == location.initial };
            if is_overwritten {
                return Some(access.event);
            }
            if self.writes[from as usize].rank > rank {
                self.origins.push((from, access.event));
            }
        }
        if self.origins.is_empty() { None } else { self.search(location, chain, current.len()) }
    }

    /// Finds the chains behind the target that must move; or an origin that the target precedes, which is a cycle.
    #[cold]
    fn search(&mut self, location: &Location, target: u32, width: usize) -> Option<u64> {
        let Self { writes, clocks, reached, origins, behind, .. } = self;
        let rank = writes[target as usize].rank;
        let mut at = 0;
        let contradiction = origins.iter().find(|&&(origin, _)| {
            if !std::mem::replace(&mut reached[origin as usize], true) {
                behind.push(origin);
            }
            while let Some(&chain) = behind.get(at) {
                at += 1;
                let heard = &clocks[(2 * chain as usize + 1) * width..][..width];
                for row in &location.rows {
                    let Some(access) = row.last_within(heard[row.thread as usize]) else { continue };
                    let from = if access.value[0] == chain { access.before } else { access.value[0] };
                    if from == target {
                        return true;
                    }
                    if from != NOBODY
                        && writes[from as usize].rank > rank
                        && !std::mem::replace(&mut reached[from as usize], true)
                    {
                        behind.push(from);
                    }
                }
            }
            false
        });
        for &chain in &*behind {
            reached[chain as usize] = false;
        }
        contradiction.map(|&(_, event)| event)
    }

    /// Moves the chains that [`Self::find`] has just found behind the target before the target.
    #[cold]
    pub(super) fn move_behind(&mut self, target: u32, location: &mut Location, tails: &mut [Tails]) {
        let Self { writes, reached, behind, others, .. } = self;
        let mut highest = 0;
        for &chain in &*behind {
            reached[chain as usize] = true;
            highest = highest.max(writes[chain as usize].rank);
        }
        let lowest = writes[target as usize].rank;
        let region = &mut location.order[lowest as usize..=highest as usize];
        others.clear();
        let mut moved = 0;
        for at in 0..region.len() {
            let chain = region[at];
            if std::mem::take(&mut reached[chain as usize]) {
                region[moved] = chain;
                moved += 1;
            } else {
                others.push(chain);
            }
        }
        region[moved..].copy_from_slice(others);
        for (&chain, rank) in region.iter().zip(lowest..) {
            writes[chain as usize].rank = rank;
        }
        for row in &location.rows {
            self.find_tail(row, tails);
        }
    }

    /// Computes the end of a row again.
    #[inline]
    pub(super) fn find_tail(&self, row: &ThreadAccesses, tails: &mut [Tails]) {
        let rank = |access: &Access| self.writes[access.value[0] as usize].rank;
        let (tails, lane) = (&mut tails[row.thread as usize / 4], row.thread as usize % 4);
        let (mut position, mut chain, mut ranks) = (0, 0, [0; 2]);
        if let [before @ .., last] = &row.list[..] {
            (position, chain) = (last.position, last.value[0]);
            ranks = [rank(last), before.last().map_or(0, rank)];
        }
        (tails.last[lane], tails.chain[lane]) = (position, chain);
        [tails.rank[lane], tails.rank_before[lane]] = ranks;
    }
}
