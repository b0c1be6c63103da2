//! Forgetting what no thread can refer to any more.
//!
//! Let the threads be given, and no others to come. An access that all of them know is *common*; what precedes its
//! value, in the order of chains or in its chain, none of them can read, now and ever after: it is *dead*. (Only what
//! precedes the common value of the highest rank is looked for. Other writes may be such that nobody can read them.
//! They stay until there is a higher one behind them, and whatever is written from now on is behind what is common now:
//! so that is a matter of when, not of what.)
//! - Dead chains are downward closed: what precedes a dead chain is dead. So no order of others is lost with them;
//!   nothing can be ordered before them any more, and that they come first constrains nothing. An access whose value is
//!   in one is as none.
//! - A clock that somebody has or can get knows of a thread at least what the clocks of all threads know. Of the common
//!   accesses, only the last one of each thread on each location is found by it. What was heard of before a chain can
//!   be less, but where others that are left have the chain of that last one, the first of them stands for all.
//! - Places in threads only count in comparison with those of the accesses that are left. So when they get large they
//!   are renumbered: the common ones that are left come first, and the others follow.

use order::{Entries, Width};

use super::super::clocks::{join, with_width};
use super::chains::{Access, Location, Row, Write};
use super::{Incremental, NO_EVENT, NOBODY, WriteId};

/// Places of a thread are renumbered when all know of so many events of it.
pub(super) const RENUMBER_FROM: u32 = 1 << 30;

/// Room that is used again each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// What all threads know.
    least: Vec<u32>,
    /// The writes that nobody can read any more though they head a chain that is left.
    gone: Vec<u32>,
    /// By row of one location: how many accesses are common, and how many have a value that is dead.
    commons: Vec<usize>,
    passed: Vec<usize>,
}

impl Incremental {
    /// Forgets what none of the threads below `threads` (or of those that were active) can refer to any more, if no
    /// other thread will come. Answers the writes that are gone.
    pub fn retire(&mut self, threads: usize) -> impl Iterator<Item = WriteId> {
        if threads > 0 {
            self.make_room(threads - 1, 0);
        }
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

    /// Finds the dead chains of a location: their `floor` tells. Whether there is a common access.
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
        // By thread, up to where the values of its accesses precede the latest or are in its chain.
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
                    // If that has been done for the chain before, it is done again: whether so cannot be foretold.
                    *floor = NOBODY;
                    join(until.as_mut(), chains.heard(chain, width));
                    *passed += 1;
                }
                is_done &= *passed == begin;
            }
        }
        true
    }

    /// Drops the writes of a location that cannot be read and head no chain that is left.
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

    /// Drops the accesses of a location that are as none: those whose value is dead, and common ones between two of the
    /// same chain.
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
                    // What was before is dead.
                    let is_same = |access: &&mut Access| access.value[0] == first.value[0];
                    list.iter_mut().take_while(is_same).for_each(|access| access.before = NOBODY);
                }
            }
            list.truncate(left);
            chains.find_tail(row, tails);
        }
    }

    /// Numbers the places of threads anew. Up to `least`, only how many of the accesses of a row a place includes
    /// counts.
    #[cold]
    fn renumber_places(&mut self, least: &[u32]) {
        let Self { width, current, pending, published, chains, locations, tails, .. } = self;
        let commons = |row: &Row| row.within(least[row.thread as usize]) as u32;
        let most = locations.iter().flat_map(|location| &location.rows).map(commons).max().unwrap_or(0);
        let renumbered = |thread: usize, place: u32| match least[thread] {
            ..RENUMBER_FROM => place,
            least => place.saturating_sub(least) + most,
        };
        let clocks = [current, pending, published].into_iter().flat_map(|clocks| clocks.chunks_exact_mut(*width));
        // Where no chain begins, the second clock of a write means nothing.
        for clock in clocks.chain(chains.clocks.chunks_exact_mut(2 * *width).map(|both| &mut both[..*width])) {
            clock.iter_mut().enumerate().for_each(|(thread, place)| *place = renumbered(thread, *place));
        }
        for write in &mut chains.writes {
            write.position = renumbered(write.thread as usize, write.position);
        }
        for (location, tails) in locations.iter_mut().zip(tails.chunks_exact_mut(*width / 4)) {
            let in_row = |row: &Row, place: u32| match least[row.thread as usize] {
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
