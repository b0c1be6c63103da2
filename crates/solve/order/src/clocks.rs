//! Vector clocks as frontiers.
//!
//! The clock of an event has one entry for each chain: the events of that chain numbered below the entry are before the
//! event, or are the event itself. Entries are event numbers, not counts, so `e` is in the past of clock `c` iff `e <
//! c[chain of e]`.

use crate::lanes::{self, BLOCK};
use crate::prefetch;
use crate::width::{Entries, Width};

/// The clocks of events that are done one after the other.
///
/// ```
/// use order::Clocks;
///
/// // Two chains: events 0 and 1, and events 2 and 3.
/// let mut clocks = Clocks::new(&[0, 2, 4], 4);
/// clocks.keep(0, 0);
/// // Event 3 comes after event 0 of the other chain, and after event 2 of its own.
/// clocks.keep(2, 1);
/// assert_eq!(clocks.join(1, 0), Some(true));
/// clocks.keep(3, 1);
/// assert_eq!(clocks.of(2), [0, 3]);
/// assert_eq!(clocks.of(3), [1, 4]);
/// ```
///
/// Each chain has a running clock: the clock of the last event of the chain that was done. The caller says which clocks
/// are [kept](Self::keep). They are stored in the order in which the events were done, so that clocks that are needed
/// together lie close together. There is room for a fixed number of clocks. When the room is full, the oldest clocks
/// are forgotten.
#[derive(Clone, Debug, Default)]
pub struct Clocks<W = Entries> {
    width: W,
    running: Vec<u32>,
    /// The clock of rank `r` is in place `r % room`.
    kept: Vec<u32>,
    /// A power of two, so that the remainder is a mask.
    room: u32,
    /// How many clocks were kept before that of each event; [`NOT_KEPT`] if it was not.
    ranks: Vec<u32>,
    count: u32,
}

const NOT_KEPT: u32 = u32::MAX;
/// By how many clocks the used memory grows each time it is used up. (To touch all the memory at once would waste the
/// cache.)
const CLOCKS_PER_GROWTH: usize = 64;
/// The entry of a chain in its own running clock: it includes all events of the chain that are done.
const ALL_DONE: u32 = i32::MAX as u32;

impl Clocks {
    /// The clocks of the chains that begin at `starts`, whose last entry is the number of events. No event is done yet.
    /// There is room for at least `keep` clocks.
    pub fn new(starts: &[u32], keep: usize) -> Self {
        Self::of_width(Entries(starts.len().saturating_sub(1)), starts, keep)
    }

    /// How many bytes it takes to keep that many clocks of that many chains.
    pub fn bytes(chains: usize, keep: usize) -> usize {
        chains.saturating_mul(keep.saturating_add(chains)).saturating_mul(size_of::<u32>())
    }
}

impl<W: Width> Clocks<W> {
    /// As [`Clocks::new`], for clocks of so many entries: at least one for each chain.
    pub fn of_width(width: W, starts: &[u32], keep: usize) -> Self {
        let chains = starts.len().saturating_sub(1);
        let events = starts.last().map_or(0, |&n| n as usize);
        let room = keep.max(1).next_power_of_two();
        let mut first = starts[..chains].to_vec();
        first.resize(width.entries(), 0);
        let mut running = first.repeat(chains);
        for chain in 0..chains {
            running[chain * width.entries() + chain] = ALL_DONE;
        }
        Self {
            width,
            running,
            kept: Vec::with_capacity(room.min(events) * width.entries()),
            room: room as u32,
            ranks: vec![NOT_KEPT; events],
            count: 0,
        }
    }

    /// Adds the past of an event to the running clock of a chain. The answer is whether this changed the running clock,
    /// that is, whether the event was not in the past of the chain. It is `None` if the clock of the event is
    /// forgotten.
    #[inline]
    pub fn join(&mut self, chain: usize, other: u32) -> Option<bool> {
        let at = chain * self.width.entries();
        let from = self.place(self.ranks[other as usize])?;
        Some(join(&mut self.running[at..at + self.width.entries()], &self.kept[from..from + self.width.entries()]))
    }

    /// Prefetches the rank of an event.
    #[inline]
    pub fn prefetch(&self, event: u32) {
        prefetch(&self.ranks, event as usize);
    }

    /// Prefetches the clock of an event, if there is one.
    #[inline]
    pub fn prefetch_clock(&self, event: u32) {
        if let Some(&rank) = self.ranks.get(event as usize) {
            prefetch(&self.kept, (rank & (self.room - 1)) as usize * self.width.entries());
        }
    }

    /// Whether the clock of an event has been kept.
    #[inline]
    pub fn is_kept(&self, event: u32) -> bool {
        self.ranks[event as usize] != NOT_KEPT
    }

    /// Where the clock of that rank is stored, if it is not forgotten.
    #[inline]
    fn place(&self, rank: u32) -> Option<usize> {
        (self.count - rank <= self.room).then(|| (rank & (self.room - 1)) as usize * self.width.entries())
    }

    /// The running clock of a chain.
    #[inline]
    pub fn running(&self, chain: usize) -> &[u32] {
        &self.running[chain * self.width.entries()..(chain + 1) * self.width.entries()]
    }

    /// The entry of chain `of` in the clock of what is before `event`, the next event of `chain`.
    #[inline]
    pub fn before(&self, event: u32, chain: usize, of: usize) -> u32 {
        if of == chain { event } else { self.running[chain * self.width.entries() + of] }
    }

    /// Keeps the running clock of a chain as that of its last event.
    #[inline]
    pub fn keep(&mut self, event: u32, chain: usize) {
        let place = (self.count & (self.room - 1)) as usize * self.width.entries();
        self.ranks[event as usize] = self.count;
        self.count += 1;
        let clock = &self.running[chain * self.width.entries()..(chain + 1) * self.width.entries()];
        if place == self.kept.len() {
            let most = self.ranks.len().min(self.room as usize) * self.width.entries();
            self.kept.resize(most.min(place + CLOCKS_PER_GROWTH * self.width.entries()), 0);
        }
        let kept = &mut self.kept[place..place + self.width.entries()];
        copy(kept, clock);
        kept[chain] = event + 1;
    }

    /// The clock of an event that was kept, and is not forgotten.
    #[inline]
    pub fn of(&self, event: u32) -> &[u32] {
        self.recent(self.ranks[event as usize]).expect("the clock was kept")
    }

    /// How many clocks were kept before that of an event.
    #[inline]
    pub fn rank(&self, event: u32) -> u32 {
        self.ranks[event as usize]
    }

    /// How many clocks were kept: the rank of the next.
    #[inline]
    pub fn next_rank(&self) -> u32 {
        self.count
    }

    /// The clock that was kept after so many others, if it is not forgotten.
    #[inline]
    pub fn recent(&self, rank: u32) -> Option<&[u32]> {
        self.place(rank).map(|at| &self.kept[at..at + self.width.entries()])
    }
}

/// `clock` becomes the least clock above both, which must have the same number of entries. The answer is whether this
/// changes it.
#[inline]
pub fn join(clock: &mut [u32], other: &[u32]) -> bool {
    let ((blocks, rest), (other_blocks, other_rest)) = (clock.as_chunks_mut::<BLOCK>(), other.as_chunks());
    let mut changed = false;
    for (block, other) in blocks.iter_mut().zip(other_blocks) {
        changed |= lanes::larger(other, block) != 0;
        *block = lanes::join(block, other);
    }
    for (entry, &other) in rest.iter_mut().zip(other_rest) {
        changed |= other > *entry;
        *entry = (*entry).max(other);
    }
    changed
}

/// Copies `other` to `clock`. (For one block, this is less work than a copy of unknown length.)
#[inline]
fn copy(clock: &mut [u32], other: &[u32]) {
    let ((blocks, rest), (other_blocks, other_rest)) = (clock.as_chunks_mut::<BLOCK>(), other.as_chunks());
    for (block, other) in blocks.iter_mut().zip(other_blocks) {
        *block = *other;
    }
    rest.copy_from_slice(other_rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_clocks_are_forgotten() {
        let mut clocks = Clocks::new(&[0, 6, 7], 4);
        for event in 0..6 {
            clocks.keep(event, 0);
        }
        assert_eq!(clocks.recent(clocks.rank(1)), None);
        assert_eq!(clocks.of(2), [3, 6]);
        assert_eq!(clocks.of(5), [6, 6]);
        assert_eq!(clocks.join(1, 1), None);
        assert_eq!(clocks.join(1, 4), Some(true));
        assert_eq!(clocks.join(1, 3), Some(false));
        assert_eq!(clocks.running(1), [5, ALL_DONE]);
        assert_eq!([0, 1].map(|of| clocks.before(6, 1, of)), [5, 6]);
    }
}
