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

use super::chains::{Location, Tails};
use super::{Incremental, NOBODY};
use crate::c11::clocks::join;

/// The place of the last common access of a thread to a location.
const COMMON: u32 = 2;

impl Incremental {
    /// Forgets what none of the threads below `threads` (or of those that were active) can refer to any more, if no other thread
    /// will come. Events get new numbers: by their old ones; [`Self::FORGOTTEN`] for those that are gone.
    pub fn retire(&mut self, threads: usize) -> Vec<u32> {
        if threads > 0 {
            self.make_room(threads - 1, 0);
        }
        let least = self.least();
        // By chain: the place from which on its writes are not dead; none if all are.
        let mut dead = vec![0; self.chains.writes.len()];
        for location in 0..self.locations.len() {
            match self.width {
                4 => self.bury(4, location, &least, &mut dead),
                8 => self.bury(8, location, &least, &mut dead),
                16 => self.bury(16, location, &least, &mut dead),
                width => self.bury(width, location, &least, &mut dead),
            }
        }
        let writes = self.drop_writes(&dead);
        let numbers = self.drop_events();
        self.number_places(&least);
        self.renumber(&numbers, &writes, &least);
        numbers
    }

    /// Whether an event is a write that can be read from.
    pub fn is_source(&self, event: usize) -> bool {
        self.events.get(event).is_some_and(|&write| write != NOBODY)
    }

    /// What all threads know.
    fn least(&self) -> Vec<u32> {
        let mut clocks = self.current.chunks_exact(self.width);
        let mut least = clocks.next().unwrap_or(&[]).to_vec();
        for clock in clocks {
            for (least, &lane) in least.iter_mut().zip(clock) {
                *least = lane.min(*least);
            }
        }
        least.resize(self.width, 0);
        least
    }

    /// Finds the dead chains of a location, and drops the accesses that are as none.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn bury(&mut self, width: usize, location: usize, least: &[u32], dead: &mut [u32]) {
        let Self { locations, chains, .. } = self;
        let Location { initial, rows, .. } = &mut locations[location];
        // Of each thread, up to where the values of its accesses are dead.
        let mut until = vec![0; width];
        for row in &*rows {
            let Some(common) = row.last_within(least[row.thread as usize]) else { continue };
            let [chain, place] = common.value;
            let dead_places = &mut dead[chain as usize];
            *dead_places = place.max(*dead_places);
            if chain != *initial {
                dead[*initial as usize] = NOBODY;
            }
            let heard = chains.heard(chain, width);
            for row in &*rows {
                let within = row.within(heard[row.thread as usize]);
                if let Some(access) = row.list[..within].iter().rfind(|access| access.value[0] != chain) {
                    let until = &mut until[row.thread as usize];
                    *until = access.position.max(*until);
                }
            }
        }
        let mut passed = vec![0; rows.len()];
        let mut is_done = false;
        while !std::mem::replace(&mut is_done, true) {
            for (row, passed) in rows.iter().zip(&mut passed) {
                while let Some(access) = row.list.get(*passed)
                    && (access.position <= until[row.thread as usize] || dead[access.value[0] as usize] == NOBODY)
                {
                    *passed += 1;
                    is_done = false;
                    let chain = access.value[0];
                    if std::mem::replace(&mut dead[chain as usize], NOBODY) != NOBODY {
                        join(&mut until, chains.heard(chain, width));
                    }
                }
            }
        }
        for (row, passed) in rows.iter_mut().zip(passed) {
            let common = row.within(least[row.thread as usize]);
            if passed + 1 < common {
                row.list.drain(passed + 1..common - 1);
            }
            row.list.drain(..passed);
        }
    }

    /// Drops the writes that cannot be read and head no chain that is left. The others get new numbers.
    fn drop_writes(&mut self, dead: &[u32]) -> Vec<u32> {
        let Self { width, chains, locations, .. } = self;
        for location in &mut *locations {
            location.writes.clear();
            location.order.clear();
        }
        let mut writes = vec![NOBODY; chains.writes.len()];
        let mut kept = 0;
        for at in 0..chains.writes.len() {
            let mut write = chains.writes[at];
            let [chain, place] = write.place;
            let floor = dead[chain as usize];
            if write.is_initial || floor != NOBODY && (place >= floor || place == 0) {
                let location = &mut locations[write.location as usize];
                if place == 0 {
                    location.order.push(kept as u32);
                }
                // What cannot be read has no event any more.
                if place < floor {
                    write.event = NOBODY;
                }
                if write.event != NOBODY {
                    location.writes.push(kept as u32);
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
        writes
    }

    /// Drops the events that are neither a write that can be read nor an access that is left. The others get new numbers.
    fn drop_events(&mut self) -> Vec<u32> {
        const NO_WRITE: u32 = NOBODY - 1;
        let Self { events, locations, chains, .. } = self;
        let mut numbers = vec![Self::FORGOTTEN; events.len()];
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
        numbers
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
    fn renumber(&mut self, numbers: &[u32], writes: &[u32], least: &[u32]) {
        let new = |numbers: &[u32], number: u32| if number == NOBODY { NOBODY } else { numbers[number as usize] };
        let Self { width, locations, chains, tails, .. } = self;
        for write in &mut chains.writes {
            write.event = new(numbers, write.event);
            write.updater = new(numbers, write.updater);
            write.place[0] = writes[write.place[0] as usize];
        }
        for (location, tails) in locations.iter_mut().zip(tails.chunks_exact_mut(*width / 4)) {
            location.initial = writes[location.initial as usize];
            tails.fill(Tails::default());
            let mut rows = location.rows.iter_mut().peekable();
            for (thread, &least) in least.iter().enumerate() {
                let row = rows.next_if(|row| row.thread as usize == thread);
                let list = row.map_or(&mut [][..], |row| &mut row.list);
                // The common ones that are left.
                let common: [u32; 2] = std::array::from_fn(|at| list.get(at).map_or(NOBODY, |access| access.position));
                let count = common.iter().filter(|&&place| place <= least).count() as u32;
                let place = |place: u32| {
                    let known = common.iter().filter(|&&common| common <= place).count() as u32;
                    if place > least { place - least + COMMON } else { known + COMMON - count }
                };
                for &chain in &location.order {
                    let heard = &mut chains.heard_mut(chain, *width)[thread];
                    *heard = place(*heard);
                }
                for access in &mut *list {
                    access.position = place(access.position);
                    access.event = numbers[access.event as usize];
                    access.value[0] = writes[access.value[0] as usize];
                    access.before = new(writes, access.before);
                }
                for access in &list[list.len().saturating_sub(2)..] {
                    tails[thread / 4].push(thread % 4, access.position, access.value[0]);
                }
            }
            location.rows.retain(|row| !row.list.is_empty());
        }
    }
}
