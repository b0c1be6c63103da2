//! Forgetting what no thread can refer to any more.
//!
//! Let the threads be given, and no others to come. A thread can read neither a write that precedes, in the order of chains or
//! in one chain, a value that the thread knows, now and ever after: its knowledge only grows. What no thread can read is *dead*.
//! - Dead chains are downward closed: what precedes a dead chain is dead. So no order of others is lost with them; nothing can
//!   be ordered before them any more, and that they come first constrains nothing. An access whose value is in one is as none.
//! - A clock that somebody has or can get knows of a thread at least what the clocks of all threads know. Of the accesses up
//!   to there, only the last one on each location counts.
//! - Places in threads only count in comparison with those of the accesses that are left, so they are numbered anew.

use super::{Incremental, NOBODY};

impl Incremental {
    /// Forgets what none of the threads below `threads` (or of those that were active) can refer to any more, if no other thread
    /// will come. Events get new numbers: by their old ones; [`Self::FORGOTTEN`] for those that are gone.
    pub fn retire(&mut self, threads: usize) -> Vec<u32> {
        if threads > 0 {
            self.make_room(threads - 1, 0);
        }
        let threads = self.current.len() / self.width;
        let dead = self.dead(threads);
        let alive: Vec<bool> = self
            .events
            .iter()
            .map(|past| past.kind.writes() && past.clock != NOBODY && past.place[1] >= dead[past.place[0] as usize])
            .collect();

        self.drop_accesses(threads, &alive, &dead);
        let mut numbers = vec![Self::FORGOTTEN; self.events.len()];
        for (number, _) in numbers.iter_mut().zip(&alive).filter(|(_, alive)| **alive) {
            *number = 0;
        }
        for access in self.locations.iter().flat_map(|location| &location.accesses).flat_map(|accesses| &accesses.list)
        {
            numbers[access.event as usize] = 0;
        }
        let kept = numbers.iter_mut().filter(|number| **number == 0);
        for (number, new) in kept.zip(0..) {
            *number = new;
        }

        let mut is_kept: Vec<bool> = dead.iter().map(|&place| place != NOBODY).collect();
        for location in &self.locations {
            is_kept[location.chain as usize] = true;
        }
        let chains = self.chains.retain(&is_kept);
        let places = self.compress_clocks(&alive);
        self.renumber(&numbers, &alive, &chains, &places);
        numbers
    }

    /// Whether an event is a write that can be read from.
    pub fn is_source(&self, event: usize) -> bool {
        self.events.get(event).is_some_and(|past| past.kind.writes() && past.clock != NOBODY)
    }

    /// By chain: the place from which on its writes are not dead; [`NOBODY`] if all are.
    fn dead(&self, threads: usize) -> Vec<u32> {
        let words = threads.div_ceil(64);
        let nodes = self.chains.len();
        // By chain, a bit a thread: whether it knows a value of the chain, and whether it knows one of a later chain.
        let mut knows = vec![0u64; nodes * words];
        let mut beyond = vec![0u64; nodes * words];
        let mut known: Vec<[u32; 3]> = Vec::new();
        for location in &self.locations {
            for (thread, clock) in self.current.chunks_exact(self.width).enumerate() {
                for accesses in &location.accesses {
                    let Some(access) = accesses.last_within(clock[accesses.thread]) else { continue };
                    let [chain, place] = access.value;
                    let (word, bit) = (thread / 64, 1 << (thread % 64));
                    knows[chain as usize * words + word] |= bit;
                    known.push([chain, thread as u32, place]);
                    if chain != location.chain {
                        beyond[location.chain as usize * words + word] |= bit;
                    }
                }
            }
        }
        self.chains.pull(|from, to| {
            for word in 0..words {
                let later = beyond[to as usize * words + word] | knows[to as usize * words + word];
                beyond[from as usize * words + word] |= later;
            }
        });
        let is_beyond =
            |chain: u32, thread: u32| beyond[chain as usize * words + thread as usize / 64] >> (thread % 64) & 1 == 1;
        let count = |chain: usize| -> usize {
            beyond[chain * words..][..words].iter().map(|word| word.count_ones() as usize).sum()
        };
        let mut dead: Vec<u32> = (0..nodes).map(|chain| if count(chain) == threads { NOBODY } else { 0 }).collect();
        // Of a chain that is not dead, the least of the places that those know who know of nothing later.
        known.sort_unstable();
        for of_chain in known.chunk_by(|a, b| a[0] == b[0]) {
            let chain = of_chain[0][0];
            let (mut least, mut knowing) = (NOBODY, 0);
            for of_thread in of_chain.chunk_by(|a, b| a[1] == b[1]) {
                let [_, thread, place] = of_thread[of_thread.len() - 1];
                if !is_beyond(chain, thread) {
                    least = least.min(place);
                    knowing += 1;
                }
            }
            if dead[chain as usize] == 0 && knowing + count(chain as usize) == threads {
                dead[chain as usize] = least;
            }
        }
        dead
    }

    /// Drops the accesses that no clock can find any more, and those with dead values.
    fn drop_accesses(&mut self, threads: usize, alive: &[bool], dead: &[u32]) {
        let Self { width, current, pending, published, carried, events, locations, .. } = self;
        let least = |thread: usize| {
            let own = current.iter().skip(thread).step_by(*width);
            if own.clone().all(|&lane| lane > 0) {
                return own.copied().min().unwrap_or(0);
            }
            // Who knows nothing of the thread can learn of it from any write.
            let sources = events.iter().zip(alive).filter(|(_, alive)| **alive);
            let written = sources.map(|(past, _)| carried[past.clock as usize * *width + thread]);
            let clocks = [&*current, &*pending, &*published].into_iter();
            let lanes = clocks.flat_map(|clocks| clocks.iter().skip(thread).step_by(*width).copied());
            lanes.chain(written).filter(|&lane| lane > 0).min().unwrap_or(0)
        };
        let least: Vec<u32> = (0..threads).map(least).collect();
        for accesses in locations.iter_mut().flat_map(|location| &mut location.accesses) {
            let within = accesses.list.partition_point(|access| access.position <= least[accesses.thread]);
            accesses.list.drain(..within.saturating_sub(1));
            accesses.list.retain(|access| dead[access.value[0] as usize] != NOBODY);
        }
    }

    /// Numbers the places of each thread anew: those of its accesses, from one on.
    fn compress_clocks(&mut self, alive: &[bool]) -> Vec<Vec<u32>> {
        let Self { width, current, pending, published, carried, events, locations, .. } = self;
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); *width];
        for accesses in locations.iter().flat_map(|location| &location.accesses) {
            places[accesses.thread].extend(accesses.list.iter().map(|access| access.position));
        }
        for places in &mut places {
            places.sort_unstable();
        }
        let compress = |clock: &mut [u32]| {
            for (lane, places) in clock.iter_mut().zip(&places) {
                *lane = places.partition_point(|place| place <= lane) as u32;
            }
        };
        for clocks in [current, pending, published] {
            clocks.chunks_exact_mut(*width).for_each(compress);
        }
        let mut left = Vec::new();
        for (past, alive) in events.iter_mut().zip(alive) {
            if *alive {
                let begin = left.len();
                left.extend_from_slice(&carried[past.clock as usize * *width..][..*width]);
                compress(&mut left[begin..]);
                past.clock = (begin / *width) as u32;
            } else {
                past.clock = NOBODY;
            }
        }
        *carried = left;
        places
    }

    fn renumber(&mut self, numbers: &[u32], alive: &[bool], chains: &[u32], places: &[Vec<u32>]) {
        let new = |event: u32| if event == NOBODY { NOBODY } else { numbers[event as usize] };
        for location in &mut self.locations {
            location.chain = chains[location.chain as usize];
            location.updater = new(location.updater);
            location.writes.retain(|&write| alive[write as usize]);
            for write in &mut location.writes {
                *write = new(*write);
            }
            for accesses in &mut location.accesses {
                for access in &mut accesses.list {
                    let places = &places[accesses.thread];
                    access.position = places.partition_point(|&place| place <= access.position) as u32;
                    access.event = new(access.event);
                    access.value[0] = chains[access.value[0] as usize];
                }
            }
            location.accesses.retain(|accesses| !accesses.list.is_empty());
        }
        let mut at = 0;
        self.events.retain_mut(|past| {
            let number = numbers[at];
            at += 1;
            past.updater = new(past.updater);
            if past.clock != NOBODY {
                past.place[0] = chains[past.place[0] as usize];
            }
            number != Self::FORGOTTEN
        });
    }
}
