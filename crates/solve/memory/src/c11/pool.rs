//! The clocks of the writes that some event will still read. A write takes a slot, and its last reader gives the slot
//! back. So few clocks are in use, and they stay in the cache, however long the execution is.
//!
//! Whether a write has readers, and whether a reader is the last, cannot be predicted, so there is no branch on it. The
//! next free slot is written in any case. It stays free if the write has no readers.

use history::Execution;
use model::Budget;
use order::Width;

use super::{Ended, check_room};

/// Clocks and rf-chains of the writes that are still to be read. See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Pool {
    clocks: Vec<u32>,
    /// By slot: the chain of the write, and its place in it.
    places: Vec<[u32; 2]>,
    /// The numbers of the free slots: the first `free_count` of the list. The list has room for one more than all
    /// slots.
    free: Vec<u32>,
    free_count: usize,
    /// By event: how many events will still read it; [`Pool::UNCOUNTED`] if there were ever too many to count. At the
    /// end of the list, the same for the initial writes.
    readers: Vec<u8>,
}

impl Pool {
    /// The slot of the initial writes: its clock is zero.
    pub(super) const INIT: u32 = 0;
    const UNCOUNTED: u8 = u8::MAX;

    /// Empties the pool and counts the readers of each write.
    pub(super) fn start(&mut self, execution: &Execution, width: usize) {
        self.clocks.clear();
        self.clocks.resize(width, 0);
        self.places.clear();
        self.places.push([0, 0]);
        self.free.clear();
        self.free.push(0);
        self.free_count = 0;
        let count = execution.len();
        self.readers.clear();
        self.readers.resize(count + 1, 0);
        for event in execution.events() {
            let readers = &mut self.readers[event.source.index().min(count)];
            *readers = readers.saturating_add(1);
        }
        self.readers[count] = Self::UNCOUNTED;
    }

    /// Makes sure that so many slots are free.
    #[inline]
    pub(super) fn reserve(&mut self, budget: &Budget, width: impl Width, count: usize) -> Result<(), Ended> {
        if self.free_count < count { self.grow(budget, width, count) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, budget: &Budget, width: impl Width, count: usize) -> Result<(), Ended> {
        let slots = self.places.len();
        let more = count.max(slots / 8);
        check_room(budget, more * width.entries())?;
        self.places.resize(slots + more, [0, 0]);
        self.clocks.resize((slots + more) * width.entries(), 0);
        self.free.resize(slots + more + 1, 0);
        for slot in slots..slots + more {
            self.free[self.free_count] = slot as u32;
            self.free_count += 1;
        }
        Ok(())
    }

    /// One of the reserved slots for a write, if the write has readers. Otherwise the answer is a free slot, which
    /// stays free. The clock of the slot has any content.
    #[inline]
    pub(super) fn take(&mut self, write: u32, place: [u32; 2]) -> u32 {
        let slot = self.free[self.free_count - 1];
        self.places[slot as usize] = place;
        self.free_count -= usize::from(self.readers[write as usize] != 0);
        slot
    }

    /// Notes that one reader of a write is done. For an initial write, `source` is the number of events.
    #[inline]
    pub(super) fn give_back(&mut self, source: usize, slot: u32) {
        let readers = &mut self.readers[source];
        *readers -= u8::from(*readers != Self::UNCOUNTED);
        self.free[self.free_count] = slot;
        self.free_count += usize::from(*readers == 0);
    }

    #[inline]
    pub(super) fn place(&self, slot: u32) -> [u32; 2] {
        self.places[slot as usize]
    }

    #[inline]
    pub(super) fn clock(&self, width: impl Width, slot: u32) -> &[u32] {
        width.clock(&self.clocks, slot as usize)
    }

    #[inline]
    pub(super) fn clock_mut(&mut self, width: impl Width, slot: u32) -> &mut [u32] {
        width.clock_mut(&mut self.clocks, slot as usize)
    }

    /// Copies the clock of one slot to another.
    #[inline]
    pub(super) fn copy(&mut self, width: impl Width, from: u32, to: u32) {
        let [from, to] = [from, to].map(|slot| slot as usize * width.entries() / 4);
        let chunks = self.clocks.as_chunks_mut::<4>().0;
        for chunk in 0..width.entries() / 4 {
            chunks[to + chunk] = chunks[from + chunk];
        }
    }
}
