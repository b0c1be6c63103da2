//! The chains of all locations, and an order of those of each location that stays topological while edges arrive.
//!
//! What was heard of before a chain is a clock, the join of the clocks of all events with a target in it. It stands for edges:
//! for each thread, from the value of the last access within the clock that is not in the chain itself. (Those of a
//! thread in one chain are neighbours, and what is after them cannot precede the chain.)
//!
//! Invariant: an edge leads from a lower rank to a higher. If all edges of an event agree with the ranks there is nothing to do.
//! Otherwise only chains between the target and the highest origin can be out of place. Those that reach an origin go
//! before the target, and all keep their order otherwise; if the target is among them, there is a cycle. (Pearce and Kelly 2006
//! move what the target reaches, too, for which they keep edges both ways.)

use serde::{Deserialize, Serialize};

use super::NOBODY;
use crate::c11::clocks::join;

/// An access of a thread to a location.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Access {
    /// Its place in its thread, from one.
    pub position: u32,
    pub event: u32,
    /// The chain and place of its value.
    pub value: [u32; 2],
    /// The chain of the last access before it whose value is in another chain; [`NOBODY`] if there is none.
    pub before: u32,
}

/// The accesses of one thread to one location, in program order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub thread: u32,
    pub list: Vec<Access>,
}

impl Row {
    /// How many are among the first `count` events of the thread. Mostly all are, or all but a few.
    #[inline]
    pub(super) fn within(&self, count: u32) -> usize {
        let (mut begin, mut end, mut step) = (0, self.list.len(), 1);
        while end > 0 {
            let at = end.saturating_sub(step);
            if self.list[at].position <= count {
                begin = at + 1;
                break;
            }
            end = at;
            step *= 2;
        }
        begin + self.list[begin..end.max(begin)].partition_point(|access| access.position <= count)
    }

    /// The last one among the first `count` events of the thread.
    #[inline]
    pub(super) fn last_within(&self, count: u32) -> Option<&Access> {
        self.within(count).checked_sub(1).map(|at| &self.list[at])
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Location {
    /// The chain of its initial write.
    pub chain: u32,
    /// The rmw that reads its initial write.
    pub updater: u32,
    /// By thread that has accessed it, in ascending order.
    pub rows: Vec<Row>,
    /// Its chains by rank.
    pub order: Vec<u32>,
    /// All its writes, as they came.
    pub writes: Vec<u32>,
}

impl Default for Location {
    fn default() -> Self {
        Self { chain: NOBODY, updater: NOBODY, rows: Vec::new(), order: Vec::new(), writes: Vec::new() }
    }
}

impl Location {
    /// Where the row of a thread is, or would be.
    #[inline]
    fn row(&self, thread: u32) -> Result<usize, usize> {
        // If all threads up to this one have rows, the first look is right.
        let mut end = self.rows.len().min(thread as usize + 1);
        while let Some(at) = end.checked_sub(1) {
            let found = self.rows[at].thread;
            if found <= thread {
                return if found == thread { Ok(at) } else { Err(end) };
            }
            end = at;
        }
        Err(0)
    }

    /// Adds an access to the end of the row of its thread.
    #[inline]
    pub(super) fn push(&mut self, thread: u32, mut access: Access) {
        let at = self.row(thread).unwrap_or_else(|at| {
            self.rows.insert(at, Row { thread, list: Vec::new() });
            at
        });
        let list = &mut self.rows[at].list;
        if let Some(last) = list.last() {
            access.before = if last.value[0] == access.value[0] { last.before } else { last.value[0] };
        }
        list.push(access);
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Chains {
    /// By chain: its place in the order of its location.
    pub ranks: Vec<u32>,
    /// By chain: the place of its last write.
    pub last: Vec<u32>,
    /// By chain: the clock of what was heard of before.
    pub heard: Vec<u32>,
    /// For searches: all false between them.
    reached: Vec<bool>,
    /// The known accesses that the ranks disagree with: their chains, and the events.
    origins: Vec<[u32; 2]>,
    /// What reaches an origin and has a higher rank than the target that was examined last.
    behind: Vec<u32>,
    others: Vec<u32>,
}

impl Chains {
    /// Begins a chain in which a write is that knows `clock`. It comes last in the order of its location.
    #[inline]
    pub(super) fn begin(&mut self, clock: &[u32], location: &mut Location) -> u32 {
        let chain = self.ranks.len() as u32;
        self.ranks.push(location.order.len() as u32);
        self.last.push(0);
        self.reached.push(false);
        self.heard.extend_from_slice(clock);
        location.order.push(chain);
        chain
    }

    /// Keeps so many chains, the first ones, of which the caller sees to the ranks.
    pub(super) fn truncate(&mut self, count: usize, width: usize) {
        self.ranks.truncate(count);
        self.last.truncate(count);
        self.reached.truncate(count);
        self.heard.truncate(count * width);
    }

    /// Whether an access that knows `clock` contradicts reading from a target, the chain and place of a write of
    /// the location: then the event of a known access that tells.
    #[inline]
    pub(super) fn examine(
        &mut self,
        location: &Location,
        target: [u32; 2],
        clock: &[u32],
        tails: &[u32],
    ) -> Option<u32> {
        let [chain, place] = target;
        self.origins.clear();
        self.behind.clear();
        let width = clock.len();
        let rank = self.ranks[chain as usize];
        let heard = &self.heard[chain as usize * width..][..width];
        let groups = clock.as_chunks::<4>().0.iter().zip(tails.as_chunks::<4>().0).zip(heard.as_chunks::<4>().0);
        for (group, ((clock, tails), heard)) in groups.enumerate() {
            // Where something was accessed that the event knows and of which the chain has not heard.
            let news: [bool; 4] = std::array::from_fn(|lane| clock[lane].min(tails[lane]) > heard[lane]);
            let mut news = news.iter().rev().fold(0u32, |bits, &news| bits << 1 | u32::from(news));
            while news != 0 {
                let lane = news.trailing_zeros() as usize;
                news &= news - 1;
                let Ok(row) = location.row((group * 4 + lane) as u32) else { continue };
                let Some(access) = location.rows[row].last_within(clock[lane]) else { continue };
                let from = access.value[0];
                if from == chain {
                    continue;
                }
                // Nothing precedes the initial write.
                if chain == location.chain {
                    return Some(access.event);
                }
                if self.ranks[from as usize] > rank {
                    self.origins.push([from, access.event]);
                }
            }
        }
        if place < self.last[chain as usize] {
            let later = |access: &&Access| access.value[0] == chain && access.value[1] > place;
            let mut known = location.rows.iter().filter_map(|row| row.last_within(clock[row.thread as usize]));
            if let Some(access) = known.find(later) {
                return Some(access.event);
            }
        }
        if self.origins.is_empty() { None } else { self.search(location, chain, width) }
    }

    /// Finds what is behind the target; or an origin that the target precedes.
    #[cold]
    fn search(&mut self, location: &Location, target: u32, width: usize) -> Option<u32> {
        let Self { ranks, heard, reached, origins, behind, .. } = self;
        let mut at = 0;
        let contradiction = origins.iter().find(|&&[origin, _]| {
            if !std::mem::replace(&mut reached[origin as usize], true) {
                behind.push(origin);
            }
            while let Some(&chain) = behind.get(at) {
                at += 1;
                let heard = &heard[chain as usize * width..][..width];
                for row in &location.rows {
                    let Some(access) = row.last_within(heard[row.thread as usize]) else { continue };
                    let from = if access.value[0] == chain { access.before } else { access.value[0] };
                    if from == target {
                        return true;
                    }
                    if from != NOBODY
                        && ranks[from as usize] > ranks[target as usize]
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
        contradiction.map(|&[_, event]| event)
    }

    /// An event that knows `clock` has its target in this chain, as [`Self::examine`] has just found that it may.
    #[inline]
    pub(super) fn precede(&mut self, clock: &[u32], target: u32, location: &mut Location) {
        join(&mut self.heard[target as usize * clock.len()..][..clock.len()], clock);
        if !self.behind.is_empty() {
            self.move_behind(target, location);
        }
    }

    /// Moves what is behind before the target.
    #[cold]
    fn move_behind(&mut self, target: u32, location: &mut Location) {
        let Self { ranks, reached, behind, others, .. } = self;
        let mut highest = 0;
        for &chain in &*behind {
            reached[chain as usize] = true;
            highest = highest.max(ranks[chain as usize]);
        }
        let lowest = ranks[target as usize];
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
            ranks[chain as usize] = rank;
        }
    }
}
