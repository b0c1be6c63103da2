//! Forgetting what no thread can refer to any more.
//!
//! Suppose that all threads are known, and that no other thread will come. An access that all threads know is *common*.
//! No thread can read a write that precedes the value of a common access, in the order of chains or within its chain,
//! now or later: such a write is *dead*. (Only the writes that precede the common value of the highest rank are looked
//! for. There may be other writes that no thread can read. They stay until a common value of a higher rank stands
//! behind them. Every later write is behind the values that are common now, so these writes are found later, not
//! never.)
//! - Dead chains are downward closed: a chain that precedes a dead chain is dead. So the order of the other chains does
//!   not depend on them. No chain can be ordered before them any more, and that they come first is no constraint. An
//!   access whose value is in a dead chain has no effect.
//! - Every clock that a thread has, or can get, has at least the events that all threads know. So of the common
//!   accesses, it can find only the last one of each thread on each location. The clock of what was heard of before a
//!   chain can have fewer events. But if several remaining accesses have values in one chain, the first of them stands
//!   for all.
//! - Places in threads are only compared with the places of the remaining accesses. So when places get large, they are
//!   renumbered: the remaining common accesses come first, and the others follow.

use order::{Entries, Width};

use super::super::clocks::{join, with_width};
use super::chains::{Access, Location, ThreadAccesses, Write};
use super::{Incremental, NO_EVENT, NOBODY, WriteId};

/// Places of a thread are renumbered when all threads know of so many of its events.
pub(super) const RENUMBER_FROM: u32 = 1 << 30;

/// Memory that every call uses again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// The clock of what all threads know.
    least: Vec<u32>,
    /// The writes that no thread can read any more, and that begin a chain which is not dead.
    gone: Vec<u32>,
    /// By row of one location: how many accesses are common, and how many have a dead value.
    commons: Vec<usize>,
    passed: Vec<usize>,
}

impl Incremental {
    /// Forgets the events that no thread can refer to any more, if there will be no threads other than those below
    /// `threads` and those that were active already. The answer is the writes that were forgotten.
    pub fn retire(&mut self, threads: usize) -> impl Iterator<Item = WriteId> {
        if threads > 0 {
            self.make_room(threads - 1, 0);
        }
        self.trail.clear();
        let mut scratch = std::mem::take(&mut self.scratch);
        self.find_least(&mut scratch.least);
        scratch.gone.clear();
        let free = self.chains.free_count();
        with_width!(self.width, width => self.forget_dead(width, &mut scratch));
        if scratch.least.iter().any(|&place| place >= RENUMBER_FROM) {
            self.renumber_places(&scratch.least);
        }
        self.scratch = scratch;
        self.scratch.gone.iter().chain(self.chains.freed(free)).map(|&write| WriteId(write))
    }

    fn find_least(&self, least: &mut Vec<u32>) {
        let mut clocks = self.current.chunks_exact(self.width);
        least.clear();
        least.extend_from_slice(clocks.next().unwrap_or(&[]));
        for clock in clocks {
            for (least, &lane) in least.iter_mut().zip(clock) {
                *least = lane.min(*least);
            }
        }
        least.resize(self.width, 0);
    }

    fn forget_dead<W: Width>(&mut self, width: W, scratch: &mut Scratch) {
        for location in 0..self.locations.len() {
            if self.find_dead(width, location, scratch) {
                self.drop_writes(location, &mut scratch.gone);
                self.drop_accesses(location, scratch);
            }
        }
    }

    /// Finds the dead chains of a location, and sets their `floor`. The answer is whether there is a common access.
    fn find_dead<W: Width>(&mut self, width: W, location: usize, scratch: &mut Scratch) -> bool {
        let Self { locations, chains, .. } = self;
        let Scratch { least, commons, passed, .. } = scratch;
        let Location { initial, rows, .. } = &locations[location];
        commons.clear();
        let mut latest = None;
        for row in rows {
            let common = row.within(least[row.thread as usize]);
            commons.push(common);
            if let Some(&Access { value, .. }) = row.list[..common].last() {
                latest = latest.max(Some((chains.writes[value[0] as usize].rank, value[1], value[0])));
            }
        }
        let Some((_, place, latest)) = latest else { return false };
        let floor = &mut chains.writes[latest as usize].floor;
        *floor = place.max(*floor);
        if latest != *initial {
            chains.writes[*initial as usize].floor = NOBODY;
        }
        // By thread: the position up to which the values of its accesses precede the latest chain, or are in it.
        let mut until = width.copy(&chains.clocks, 2 * latest as usize + 1);
        passed.clear();
        passed.resize(rows.len(), 0);
        let mut is_done = false;
        while !std::mem::replace(&mut is_done, true) {
            for (row, passed) in rows.iter().zip(&mut *passed) {
                let (begin, end) = (*passed, until.as_ref()[row.thread as usize]);
                for access in &row.list[begin..] {
                    let chain = access.value[0];
                    let floor = &mut chains.writes[chain as usize].floor;
                    if chain == latest || access.position > end && *floor != NOBODY {
                        break;
                    }
                    // If the floor of the chain is set already, it is set again: this cannot be predicted, so there is
                    // no branch on it.
                    *floor = NOBODY;
                    join(until.as_mut(), chains.heard(chain, width));
                    *passed += 1;
                }
                is_done &= *passed == begin;
            }
        }
        true
    }

    /// Drops the writes of a location that are dead, except those that begin a chain which is not dead.
    fn drop_writes(&mut self, location: usize, gone: &mut Vec<u32>) {
        let Self { chains, locations, .. } = self;
        let Location { initial, order, .. } = &mut locations[location];
        let mut kept = 0;
        for at in 0..order.len() {
            let chain = order[at];
            let &Write { event, floor, mut next, .. } = &chains.writes[chain as usize];
            if floor > 0 {
                while next != NOBODY && chains.writes[next as usize].place[1] < floor {
                    let following = chains.writes[next as usize].next;
                    chains.free(next);
                    next = following;
                }
                if floor == NOBODY && chain != *initial {
                    chains.free(chain);
                    continue;
                }
                if event != NO_EVENT {
                    gone.push(chain);
                }
            }
            let head = &mut chains.writes[chain as usize];
            if floor > 0 {
                (head.event, head.next) = (NO_EVENT, next);
            }
            head.rank = kept as u32;
            order[kept] = chain;
            kept += 1;
        }
        order.truncate(kept);
    }

    /// Drops the accesses of a location that have no effect: those with a dead value, and common accesses between two
    /// others of the same chain.
    fn drop_accesses(&mut self, location: usize, scratch: &Scratch) {
        let Self { width, chains, locations, tails, .. } = self;
        let Location { rows, .. } = &mut locations[location];
        let tails = &mut tails[location * (*width / 4)..][..*width / 4];
        for ((row, &passed), &common) in rows.iter_mut().zip(&scratch.passed).zip(&scratch.commons) {
            let list = &mut row.list;
            let mut left = 0;
            if let Some(&first) = list.get(passed) {
                let mut rest = passed + 1;
                if common > rest && list[common - 1].value[0] == first.value[0] {
                    rest = common - 1;
                }
                if rest > 1 {
                    list[0] = first;
                    list.copy_within(rest.., 1);
                }
                left = list.len() + 1 - rest;
                if passed > 0 {
                    // The values before this one are dead.
                    let is_same = |access: &&mut Access| access.value[0] == first.value[0];
                    list.iter_mut().take_while(is_same).for_each(|access| access.before = NOBODY);
                }
            }
            list.truncate(left);
            chains.find_tail(row, tails);
        }
    }

    /// Renumbers the places of threads. For places up to `least`, only the number of accesses of a row that they
    /// include counts.
    #[cold]
    fn renumber_places(&mut self, least: &[u32]) {
        let Self { width, current, pending, published, chains, locations, tails, .. } = self;
        let commons = |row: &ThreadAccesses| row.within(least[row.thread as usize]) as u32;
        let most = locations.iter().flat_map(|location| &location.rows).map(commons).max().unwrap_or(0);
        let renumbered = |thread: usize, place: u32| match least[thread] {
            ..RENUMBER_FROM => place,
            least => place.saturating_sub(least) + most,
        };
        let clocks = [current, pending, published].into_iter().flat_map(|clocks| clocks.chunks_exact_mut(*width));
        // If a write begins no chain, its second clock means nothing.
        for clock in clocks.chain(chains.clocks.chunks_exact_mut(2 * *width).map(|both| &mut both[..*width])) {
            clock.iter_mut().enumerate().for_each(|(thread, place)| *place = renumbered(thread, *place));
        }
        for write in &mut chains.writes {
            write.position = renumbered(write.thread as usize, write.position);
        }
        for (location, tails) in locations.iter_mut().zip(tails.chunks_exact_mut(*width / 4)) {
            let in_row = |row: &ThreadAccesses, place: u32| match least[row.thread as usize] {
                least @ RENUMBER_FROM.. if place <= least => most - commons(row) + row.within(place) as u32,
                _ => renumbered(row.thread as usize, place),
            };
            for &chain in &location.order {
                let heard = chains.heard_mut(chain, Entries(*width));
                let before = heard.to_vec();
                heard.iter_mut().enumerate().for_each(|(thread, place)| *place = renumbered(thread, *place));
                for row in &location.rows {
                    heard[row.thread as usize] = in_row(row, before[row.thread as usize]);
                }
            }
            for row in &mut location.rows {
                let places: Vec<_> = row.list.iter().map(|access| in_row(row, access.position)).collect();
                row.list.iter_mut().zip(places).for_each(|(access, place)| access.position = place);
                chains.find_tail(row, tails);
            }
        }
    }
}
