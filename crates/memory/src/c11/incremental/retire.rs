//! Forgetting what no thread can refer to any more.
//!
//! Let the threads be given, and no others to come. An access that all of them know is *common*; what precedes its value, in the
//! order of chains or in its chain, none of them can read, now and ever after: it is *dead*. (Other writes may be such that nobody
//! can read them. They stay until there is a common access behind them, so that is a matter of when, not of what.)
//! - Dead chains are downward closed: what precedes a dead chain is dead. So no order of others is lost with them; nothing can
//!   be ordered before them any more, and that they come first constrains nothing. An access whose value is in one is as none.
//! - A clock that somebody has or can get knows of a thread at least what the clocks of all threads know. Of the common
//!   accesses, only the last one of each thread on each location is found by it. What was heard of before a chain can be less, but
//!   of those that are not dead all have the chain of that last one, so the first of them stands for the others.
//! - Places in threads only count in comparison with those of the accesses that are left. So when they get large they are numbered
//!   anew: those two are 1 and 2, and the others follow.

use super::super::clocks::{Width, join, with_width};
use super::chains::{Access, Location, Row, Write};
use super::{Incremental, NO_EVENT, NOBODY, WriteId};

/// The place of the last common access of a thread to a location, when places are numbered anew.
const COMMON: u32 = 2;
/// From which place on they are.
const HIGH: u32 = 1 << 30;

/// Room that is used again each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// What all threads know.
    least: Vec<u32>,
    /// The writes that nobody can read any more.
    gone: Vec<u32>,
    /// By row of one location: how many accesses are common, and how many have a value that is dead.
    commons: Vec<usize>,
    passed: Vec<usize>,
    /// A clock that knows nothing.
    none: Vec<u32>,
    /// By thread, the places of the common accesses that are left: there are at most two.
    left: [Vec<u32>; 2],
}

impl Incremental {
    /// Forgets what none of the threads below `threads` (or of those that were active) can refer to any more, if no other thread
    /// will come. Answers the writes that are gone.
    pub fn retire(&mut self, threads: usize) -> impl Iterator<Item = WriteId> {
        if threads > 0 {
            self.make_room(threads - 1, 0);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        self.find_least(&mut scratch.least);
        scratch.none.resize(self.width, 0);
        scratch.gone.clear();
        with_width!(self.width, width => self.bury(width, &mut scratch));
        if self.current.iter().any(|&place| place >= HIGH) {
            self.number_places(&scratch.least);
            with_width!(self.width, width => self.number_rows(width, &mut scratch));
        }
        for (location, tails) in self.locations.iter().zip(self.tails.chunks_exact_mut(self.width / 4)) {
            self.chains.find_tails(location, tails);
        }
        self.scratch = scratch;
        self.scratch.gone.iter().map(|&write| WriteId(write))
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

    fn bury<W: Width>(&mut self, width: W, scratch: &mut Scratch) {
        for location in 0..self.locations.len() {
            self.find_dead(width, location, scratch);
            self.drop_accesses(location, scratch);
            self.drop_writes(location, &mut scratch.gone);
        }
    }

    /// Finds the dead chains of a location: their `floor` tells.
    fn find_dead<W: Width>(&mut self, width: W, location: usize, scratch: &mut Scratch) {
        let Self { locations, chains, .. } = self;
        let Scratch { least, commons, passed, none, .. } = scratch;
        let Location { initial, rows, .. } = &locations[location];
        commons.clear();
        commons.extend(rows.iter().map(|row| row.within(least[row.thread as usize])));
        // By thread, up to where the values of its accesses are dead.
        let mut until = width.copy(none, 0);
        // Most often all others are dead for the common access with the latest value.
        let common = |(row, &common): (&Row, &usize)| row.list[..common].last().map(|last| (row.thread, *last));
        let rank = |(_, common): &(u32, Access)| chains.writes[common.value[0] as usize].rank;
        let latest = rows.iter().zip(&*commons).filter_map(common).max_by_key(rank);
        let mut last = NOBODY;
        for (thread, common) in latest.into_iter().chain(rows.iter().zip(&*commons).filter_map(common)) {
            let [chain, place] = common.value;
            if common.position <= until.as_ref()[thread as usize] {
                continue;
            }
            let floor = &mut chains.writes[chain as usize].floor;
            *floor = place.max(*floor);
            if std::mem::replace(&mut last, chain) == chain {
                continue;
            }
            if chain != *initial {
                chains.writes[*initial as usize].floor = NOBODY;
            }
            let heard = chains.heard(chain, width);
            for row in rows {
                let within = row.within(heard[row.thread as usize]);
                if let Some(access) = row.list[..within].iter().rfind(|access| access.value[0] != chain) {
                    let until = &mut until.as_mut()[row.thread as usize];
                    *until = access.position.max(*until);
                }
            }
        }
        passed.clear();
        passed.resize(rows.len(), 0);
        let mut is_done = false;
        while !std::mem::replace(&mut is_done, true) {
            for (row, passed) in rows.iter().zip(&mut *passed) {
                let thread = row.thread as usize;
                loop {
                    let (begin, end) = (*passed, until.as_ref()[thread]);
                    let mut all = until.clone();
                    for access in &row.list[begin..] {
                        let chain = access.value[0];
                        let floor = &mut chains.writes[chain as usize].floor;
                        if access.position > end && *floor != NOBODY {
                            break;
                        }
                        // If that has been done for the chain before, it is done again: whether so cannot be foretold.
                        *floor = NOBODY;
                        join(all.as_mut(), chains.heard(chain, width));
                        *passed += 1;
                    }
                    until = all;
                    is_done &= *passed == begin;
                    if until.as_ref()[thread] == end {
                        break;
                    }
                }
            }
        }
    }

    /// Drops the accesses of a location that are as none. What is left: the first that is not dead, the last common one, and what
    /// follows.
    fn drop_accesses(&mut self, location: usize, scratch: &Scratch) {
        let Scratch { commons, passed, .. } = scratch;
        for ((Row { list, .. }, &passed), &common) in self.locations[location].rows.iter_mut().zip(passed).zip(commons)
        {
            let rest = (passed + 1).max(common.saturating_sub(1));
            if rest == 1 {
                continue;
            }
            let Some(&first) = list.get(passed) else {
                list.clear();
                continue;
            };
            list[0] = first;
            list.copy_within(rest.., 1);
            list.truncate(list.len() + 1 - rest);
            if passed > 0 {
                for access in list.iter_mut().take_while(|access| access.value[0] == first.value[0]) {
                    access.before = NOBODY;
                }
            }
        }
    }

    /// Drops the writes of a location that cannot be read and head no chain that is left. What was forgotten must not be named any more:
    /// [`Self::drop_accesses`] has seen to that.
    fn drop_writes(&mut self, location: usize, gone: &mut Vec<u32>) {
        let Self { chains, locations, .. } = self;
        let Location { initial, order, .. } = &mut locations[location];
        let mut kept = 0;
        for at in 0..order.len() {
            let chain = order[at];
            let Write { event, floor, mut next, .. } = chains.writes[chain as usize];
            if floor > 0 {
                if event != NO_EVENT {
                    gone.push(chain);
                }
                while next != NOBODY && chains.writes[next as usize].place[1] < floor {
                    gone.push(next);
                    let following = chains.writes[next as usize].next;
                    chains.free(next);
                    next = following;
                }
                if floor == NOBODY && chain != *initial {
                    chains.free(chain);
                    continue;
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

    /// Numbers the places of each thread anew, in clocks.
    fn number_places(&mut self, least: &[u32]) {
        let Self { width, current, pending, published, chains, .. } = self;
        let clocks = [current, pending, published].into_iter().flat_map(|clocks| clocks.chunks_exact_mut(*width));
        // Where no chain begins, the second clock of a write means nothing.
        for clock in clocks.chain(chains.clocks.chunks_exact_mut(2 * *width).map(|both| &mut both[..*width])) {
            for (lane, &least) in clock.iter_mut().zip(least) {
                *lane = lane.saturating_sub(least) + COMMON;
            }
        }
    }

    /// And in rows, and in what was heard of before chains.
    fn number_rows<W: Width>(&mut self, width: W, scratch: &mut Scratch) {
        let Self { locations, chains, .. } = self;
        let Scratch { least, left: [first, second], .. } = scratch;
        let least = &least[..width.lanes()];
        for location in locations {
            for left in [&mut *first, &mut *second] {
                left.clear();
                left.resize(width.lanes(), NOBODY);
            }
            for row in &mut location.rows {
                let thread = row.thread as usize;
                let left = [0, 1].map(|at| row.list.get(at).map_or(NOBODY, |access| access.position));
                [first[thread], second[thread]] = left;
                for access in &mut row.list {
                    access.position = new_place(access.position, least[thread], left);
                }
            }
            for &chain in &location.order {
                let lanes = chains.heard_mut(chain, width).iter_mut().zip(least);
                for ((heard, &least), (&first, &second)) in lanes.zip(first.iter().zip(&*second)) {
                    *heard = new_place(*heard, least, [first, second]);
                }
            }
        }
    }
}

/// A place in a thread anew, given up to where all know the thread, and the places of its first two accesses to the location.
fn new_place(place: u32, least: u32, left: [u32; 2]) -> u32 {
    let until = |end: u32| left.iter().map(|&left| u32::from(left <= end)).sum::<u32>();
    if place > least { place - least + COMMON } else { COMMON + until(place) - until(least) }
}
