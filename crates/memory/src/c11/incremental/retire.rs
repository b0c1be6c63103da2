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

use super::chains::Location;
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
        let mut dead = vec![0; self.chains.ranks.len()];
        for location in 0..self.locations.len() {
            self.bury(location, &least, &mut dead);
        }
        let alive = |past: &super::Past| past.is_source() && past.place[1] >= dead[past.place[0] as usize];

        let mut numbers: Vec<u32> =
            self.events.iter().map(|past| if alive(past) { 0 } else { Self::FORGOTTEN }).collect();
        for access in self.locations.iter().flat_map(|location| &location.rows).flat_map(|row| &row.list) {
            numbers[access.event as usize] = 0;
        }
        let kept = numbers.iter_mut().filter(|number| **number == 0);
        for (number, new) in kept.zip(0..) {
            *number = new;
        }
        self.drop_events(&numbers, &dead);
        let chains = self.drop_chains(&dead);
        self.number_places(&least);
        self.renumber(&numbers, &chains);
        numbers
    }

    /// Whether an event is a write that can be read from.
    pub fn is_source(&self, event: usize) -> bool {
        self.events.get(event).is_some_and(super::Past::is_source)
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
    fn bury(&mut self, location: usize, least: &[u32], dead: &mut [u32]) {
        let Self { width, locations, chains, .. } = self;
        let Location { chain: initial, rows, .. } = &mut locations[location];
        // Of each thread, up to where the values of its accesses are dead.
        let mut until = vec![0; *width];
        for row in &*rows {
            let Some(common) = row.last_within(least[row.thread as usize]) else { continue };
            let [chain, place] = common.value;
            if dead[chain as usize] < place {
                dead[chain as usize] = place;
            }
            if chain != *initial {
                dead[*initial as usize] = NOBODY;
            }
            let heard = &chains.heard[chain as usize * *width..][..*width];
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
                    let chain = access.value[0] as usize;
                    if std::mem::replace(&mut dead[chain], NOBODY) != NOBODY {
                        join(&mut until, &chains.heard[chain * *width..][..*width]);
                    }
                }
            }
        }
        for (row, passed) in rows.iter_mut().zip(passed) {
            let common = row.within(least[row.thread as usize]);
            let list = &mut row.list;
            if passed + 1 < common {
                list.drain(passed + 1..common - 1);
            }
            list.drain(..passed);
        }
    }

    /// Drops what has no new number, and the clocks of dead writes.
    fn drop_events(&mut self, numbers: &[u32], dead: &[u32]) {
        let Self { width, carried, events, .. } = self;
        let mut clocks = 0;
        let mut at = 0;
        events.retain_mut(|past| {
            if past.is_source() {
                if past.place[1] >= dead[past.place[0] as usize] {
                    let begin = past.clock as usize * *width;
                    carried.copy_within(begin..begin + *width, clocks * *width);
                    past.clock = clocks as u32;
                    clocks += 1;
                } else {
                    past.clock = NOBODY;
                }
            }
            at += 1;
            numbers[at - 1] != Self::FORGOTTEN
        });
        carried.truncate(clocks * *width);
    }

    /// Drops dead chains, but for those of initial writes. The others get new numbers: by their old ones.
    fn drop_chains(&mut self, dead: &[u32]) -> Vec<u32> {
        let Self { width, locations, chains, .. } = self;
        let mut numbers: Vec<u32> = dead.iter().map(|&place| if place == NOBODY { NOBODY } else { 0 }).collect();
        for location in &*locations {
            numbers[location.chain as usize] = 0;
        }
        let mut kept = 0;
        for (chain, number) in numbers.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
            *number = kept as u32;
            chains.last[kept] = chains.last[chain];
            chains.heard.copy_within(chain * *width..(chain + 1) * *width, kept * *width);
            kept += 1;
        }
        chains.truncate(kept, *width);
        for location in locations {
            location.order.retain_mut(|chain| {
                *chain = numbers[*chain as usize];
                *chain != NOBODY
            });
            for (&chain, rank) in location.order.iter().zip(0..) {
                chains.ranks[chain as usize] = rank;
            }
        }
        numbers
    }

    /// Numbers the places of each thread anew.
    fn number_places(&mut self, least: &[u32]) {
        let Self { width, current, pending, published, carried, locations, tails, chains, .. } = self;
        for clocks in [current, pending, published, carried] {
            for clock in clocks.chunks_exact_mut(*width) {
                for (lane, &least) in clock.iter_mut().zip(least) {
                    *lane = lane.saturating_sub(least) + COMMON;
                }
            }
        }
        for (location, tails) in locations.iter_mut().zip(tails.chunks_exact_mut(*width)) {
            let mut rows = location.rows.iter_mut().peekable();
            for (thread, (&least, tail)) in least.iter().zip(tails).enumerate() {
                let row = rows.next_if(|row| row.thread as usize == thread);
                let list = row.map_or(&mut [][..], |row| &mut row.list);
                // The common ones that are left.
                let common: [u32; 2] = std::array::from_fn(|at| list.get(at).map_or(NOBODY, |access| access.position));
                let count = common.iter().filter(|&&place| place <= least).count() as u32;
                let new = |place: u32| {
                    let known = common.iter().filter(|&&common| common <= place).count() as u32;
                    if place > least { place - least + COMMON } else { known + COMMON - count }
                };
                for &chain in &location.order {
                    let heard = &mut chains.heard[chain as usize * *width + thread];
                    *heard = new(*heard);
                }
                for access in &mut *list {
                    access.position = new(access.position);
                }
                *tail = list.last().map_or(0, |access| access.position);
            }
        }
    }

    /// Applies the new numbers of events and chains.
    fn renumber(&mut self, numbers: &[u32], chains: &[u32]) {
        let new = |numbers: &[u32], number: u32| if number == NOBODY { NOBODY } else { numbers[number as usize] };
        for past in &mut self.events {
            past.updater = new(numbers, past.updater);
            past.place[0] = new(chains, past.place[0]);
        }
        let Self { locations, events, .. } = self;
        for location in locations {
            location.chain = chains[location.chain as usize];
            location.updater = new(numbers, location.updater);
            location.writes.retain_mut(|write| {
                *write = numbers[*write as usize];
                *write != NOBODY && events[*write as usize].is_source()
            });
            for access in location.rows.iter_mut().flat_map(|row| &mut row.list) {
                access.event = numbers[access.event as usize];
                access.value[0] = chains[access.value[0] as usize];
                access.before = new(chains, access.before);
            }
            location.rows.retain(|row| !row.list.is_empty());
        }
    }
}
