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
//! - Places in threads only count in comparison with those of the accesses that are left, so they are numbered anew: those
//!   two are 1 and 2, and the others follow.

use super::super::clocks::{Width, join, with_width};
use super::chains::{Access, Location, Row, Tails};
use super::{Incremental, NOBODY};

/// The place of the last common access of a thread to a location.
const COMMON: u32 = 2;

/// Room that is used again each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// What all threads know.
    least: Vec<u32>,
    /// By chain: the place from which on its writes are not dead; [`NOBODY`] if all are.
    dead: Vec<u32>,
    /// The new numbers of writes and of events.
    writes: Vec<u32>,
    numbers: Vec<u32>,
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
    /// will come. Events get new numbers: by their old ones; [`Self::FORGOTTEN`] for those that are gone.
    pub fn retire(&mut self, threads: usize) -> &[u32] {
        if threads > 0 {
            self.make_room(threads - 1, 0);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        self.find_least(&mut scratch.least);
        scratch.none.resize(self.width, 0);
        scratch.dead.clear();
        scratch.dead.resize(self.chains.writes.len(), 0);
        with_width!(self.width, width => self.bury(width, &mut scratch));
        self.drop_writes(&mut scratch);
        self.drop_events(&mut scratch.numbers);
        self.number_places(&scratch.least);
        with_width!(self.width, width => self.renumber(width, &mut scratch));
        self.scratch = scratch;
        &self.scratch.numbers
    }

    /// The location of an event that is a write, if it can still be read from.
    pub fn written_location(&self, event: usize) -> Option<u32> {
        self.chains.writes.get(*self.events.get(event)? as usize).map(|write| write.location)
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

    /// Finds the dead chains of all locations, and drops the accesses that are as none.
    fn bury<W: Width>(&mut self, width: W, scratch: &mut Scratch) {
        for location in 0..self.locations.len() {
            self.bury_in(width, location, scratch);
        }
    }

    fn bury_in<W: Width>(&mut self, width: W, location: usize, scratch: &mut Scratch) {
        let Self { locations, chains, .. } = self;
        let Scratch { least, dead, commons, passed, none, .. } = scratch;
        let Location { initial, rows, .. } = &mut locations[location];
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
            let dead_places = &mut dead[chain as usize];
            *dead_places = place.max(*dead_places);
            if std::mem::replace(&mut last, chain) == chain {
                continue;
            }
            if chain != *initial {
                dead[*initial as usize] = NOBODY;
            }
            let heard = chains.heard(chain, width);
            for row in &*rows {
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
                        if access.position > end && dead[chain as usize] != NOBODY {
                            break;
                        }
                        // If that has been done for the chain before, it is done again: whether so cannot be foretold.
                        dead[chain as usize] = NOBODY;
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
        for ((row, &passed), &common) in rows.iter_mut().zip(&*passed).zip(&*commons) {
            // What is left: the first that is not dead, the last common one, and what follows.
            let mut left = 0;
            for at in (passed..row.list.len()).take(1).chain((passed + 1).max(common.saturating_sub(1))..row.list.len())
            {
                row.list[left] = row.list[at];
                left += 1;
            }
            row.list.truncate(left);
        }
    }

    /// Drops the writes that cannot be read and head no chain that is left. The others get new numbers.
    fn drop_writes(&mut self, scratch: &mut Scratch) {
        let Self { width, chains, locations, .. } = self;
        let Scratch { dead, writes, .. } = scratch;
        for location in &mut *locations {
            location.latest = NOBODY;
            location.order.clear();
        }
        writes.clear();
        writes.resize(chains.writes.len(), NOBODY);
        let mut kept = 0;
        for at in 0..chains.writes.len() {
            let mut write = chains.writes[at];
            let [chain, place] = write.place;
            let floor = dead[chain as usize];
            let is_left = floor != NOBODY && (place >= floor || place == 0);
            let location = &mut locations[write.location as usize];
            if is_left || location.initial as usize == at {
                if place == 0 {
                    location.order.push(kept as u32);
                }
                // What cannot be read has no event any more.
                if place < floor {
                    write.event = NOBODY;
                }
                if write.event != NOBODY {
                    write.earlier = std::mem::replace(&mut location.latest, kept as u32);
                }
                writes[at] = kept as u32;
                chains.writes[kept] = write;
                chains.clocks.copy_within(2 * at * *width..2 * (at + 1) * *width, 2 * kept * *width);
                kept += 1;
            }
        }
        chains.writes.truncate(kept);
        chains.clocks.truncate(2 * kept * *width);
        for location in locations {
            location.order.sort_unstable_by_key(|&chain| chains.writes[chain as usize].rank);
            for (&chain, rank) in location.order.iter().zip(0..) {
                chains.writes[chain as usize].rank = rank;
            }
        }
    }

    /// Drops the events that are neither a write that can be read nor an access that is left. The others get new numbers.
    fn drop_events(&mut self, numbers: &mut Vec<u32>) {
        const NO_WRITE: u32 = NOBODY - 1;
        let Self { events, locations, chains, .. } = self;
        numbers.clear();
        numbers.resize(events.len(), Self::FORGOTTEN);
        for access in locations.iter().flat_map(|location| &location.rows).flat_map(|row| &row.list) {
            numbers[access.event as usize] = NO_WRITE;
        }
        for (write, number) in chains.writes.iter().zip(0..) {
            if write.event != NOBODY {
                numbers[write.event as usize] = number;
            }
        }
        events.clear();
        for number in numbers.iter_mut().filter(|number| **number != Self::FORGOTTEN) {
            let kept = events.len() as u32;
            events.push(if *number == NO_WRITE { NOBODY } else { *number });
            *number = kept;
        }
    }

    /// Numbers the places of each thread anew.
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

    /// Applies the new numbers: the given ones of events and writes, and those of places.
    fn renumber<W: Width>(&mut self, width: W, scratch: &mut Scratch) {
        let new = |numbers: &[u32], number: u32| if number == NOBODY { NOBODY } else { numbers[number as usize] };
        let Self { locations, chains, tails, .. } = self;
        let Scratch { numbers, writes, least, left: [first, second], .. } = scratch;
        let least = &least[..width.lanes()];
        for write in &mut chains.writes {
            write.event = new(numbers, write.event);
            write.place[0] = writes[write.place[0] as usize];
        }
        for (location, tails) in locations.iter_mut().zip(tails.chunks_exact_mut(width.lanes() / 4)) {
            location.initial = writes[location.initial as usize];
            location.rows.retain(|row| !row.list.is_empty());
            tails.fill(Tails::default());
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
                    access.event = numbers[access.event as usize];
                    access.value[0] = writes[access.value[0] as usize];
                    access.before = new(writes, access.before);
                }
                for access in &row.list[row.list.len().saturating_sub(2)..] {
                    let [chain, _] = access.value;
                    let rank = chains.writes[chain as usize].rank;
                    tails[thread / 4].push(thread % 4, access.position, chain, rank);
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
#[allow(clippy::inline_always)]
#[inline(always)]
fn new_place(place: u32, least: u32, left: [u32; 2]) -> u32 {
    let until = |end: u32| left.iter().map(|&left| u32::from(left <= end)).sum::<u32>();
    if place > least { place - least + COMMON } else { COMMON + until(place) - until(least) }
}
