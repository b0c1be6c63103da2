//! Vector clocks in flat arrays: a clock is `width` lanes, one a thread, and says how many events of each thread are
//! known. The width is a multiple of four, so that clocks are joined and compared four lanes at a time.
//!
//! A pool holds the clocks of the writes that somebody will still read: a write takes a slot, and its last reader gives
//! the slot back. So the clocks in use stay few, and in the cache, however long the execution is.

use history::Execution;
use history::execution::EventId;

use super::{Stop, check_room};

/// The lanes of a clock for so many threads.
pub(super) fn width(threads: usize) -> usize {
    threads.next_multiple_of(4)
}

/// `into` becomes the lane-wise maximum of both.
#[allow(clippy::inline_always)] // where the number of lanes is known, there is no loop
#[inline(always)]
pub(super) fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        *into = std::array::from_fn(|lane| into[lane].max(from[lane]));
    }
}

/// `into` becomes the same as `from`. (For a few lanes that is less work than `copy_from_slice`.)
#[allow(clippy::inline_always)] // where the number of lanes is known, there is no loop
#[inline(always)]
pub(super) fn copy(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.as_chunks_mut::<4>().0.iter_mut().zip(from.as_chunks::<4>().0) {
        *into = *from;
    }
}

/// Clocks and rf-chains of the writes that are still to be read. See the module.
#[derive(Debug, Default)]
pub(super) struct Pool {
    width: usize,
    clocks: Vec<u32>,
    /// By slot: the chain of the write, and its place in it.
    places: Vec<[u32; 2]>,
    free: Vec<u32>,
    /// By event: how many events will still read it; [`Pool::MANY`] if that was ever too many to count.
    readers: Vec<u8>,
}

impl Pool {
    /// The slot of the initial writes: its clock is zero.
    pub(super) const INIT: u32 = 0;
    const MANY: u8 = u8::MAX;

    /// Empties the pool and counts the readers of each write.
    pub(super) fn start(&mut self, execution: &Execution, width: usize) {
        self.width = width;
        self.clocks.clear();
        self.clocks.resize(width, 0);
        self.places.clear();
        self.places.push([0, 0]);
        self.free.clear();
        self.readers.clear();
        self.readers.resize(execution.len(), 0);
        for event in execution.events() {
            if event.source.is_event() {
                let readers = &mut self.readers[event.source.index()];
                *readers = readers.saturating_add(1);
            }
        }
    }

    /// A slot for a write, if somebody will read it. Its clock holds anything.
    #[inline]
    pub(super) fn take(&mut self, write: u32, place: [u32; 2]) -> Result<Option<u32>, Stop> {
        if self.readers[write as usize] == 0 {
            return Ok(None);
        }
        if let Some(slot) = self.free.pop() {
            self.places[slot as usize] = place;
            return Ok(Some(slot));
        }
        check_room(self.clocks.len())?;
        let slot = self.places.len() as u32;
        self.places.push(place);
        self.clocks.resize(self.clocks.len() + self.width, 0);
        Ok(Some(slot))
    }

    /// One reader of a write is done.
    #[inline]
    pub(super) fn give_back(&mut self, write: EventId, slot: u32) {
        let readers = &mut self.readers[write.index()];
        if *readers != Self::MANY {
            *readers -= 1;
            if *readers == 0 {
                self.free.push(slot);
            }
        }
    }

    #[inline]
    pub(super) fn place(&self, slot: u32) -> [u32; 2] {
        self.places[slot as usize]
    }

    #[inline]
    pub(super) fn clock(&self, slot: u32) -> &[u32] {
        &self.clocks[slot as usize * self.width..][..self.width]
    }

    #[inline]
    pub(super) fn clock_mut(&mut self, slot: u32) -> &mut [u32] {
        &mut self.clocks[slot as usize * self.width..][..self.width]
    }

    /// Copies the clock of one slot to another.
    #[inline]
    pub(super) fn copy(&mut self, from: u32, to: u32) {
        let from = from as usize * self.width;
        self.clocks.copy_within(from..from + self.width, to as usize * self.width);
    }
}
