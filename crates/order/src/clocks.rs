//! Vector clocks as frontiers.
//!
//! The clock of an event has one entry a chain: the events of that chain numbered below the entry are before the event,
//! or are the event itself. Entries are event numbers, not counts, so `e` is in the past of clock `c` iff
//! `e < c[chain of e]`.

/// One clock per event, all of the same width, in one allocation.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    width: usize,
    entries: Vec<u32>,
    scratch: Vec<u32>,
}

impl Clocks {
    /// Room for the clocks of all events of the chains that begin at `starts` (whose last entry is the number of
    /// events).
    pub fn new(starts: &[u32]) -> Self {
        let width = starts.len().saturating_sub(1);
        let events = starts.last().map_or(0, |&n| n as usize);
        Self { width, entries: vec![0; width * events], scratch: vec![0; width] }
    }

    /// How many bytes the clocks of such chains take.
    pub fn bytes(starts: &[u32]) -> usize {
        starts.len().saturating_sub(1).saturating_mul(starts.last().map_or(0, |&n| n as usize)).saturating_mul(4)
    }

    /// The clock of an event.
    pub fn of(&self, event: u32) -> &[u32] {
        let at = event as usize * self.width;
        &self.entries[at..at + self.width]
    }

    /// One entry of the clock of an event.
    pub fn entry(&self, event: u32, chain: usize) -> u32 {
        self.entries[event as usize * self.width + chain]
    }

    /// Begins the clock of an event: that of its predecessor in its chain, if it has one, and the event itself.
    pub fn begin(&mut self, event: u32, chain: usize, starts: &[u32]) {
        let at = event as usize * self.width;
        if event == starts[chain] {
            self.entries[at..at + self.width].copy_from_slice(&starts[..self.width]);
        } else {
            self.entries.copy_within(at - self.width..at, at);
        }
        self.entries[at + chain] = event + 1;
    }

    /// Adds the past of `other` to that of `event`.
    pub fn join(&mut self, event: u32, other: u32) {
        let (at, from) = (event as usize * self.width, other as usize * self.width);
        self.scratch.copy_from_slice(&self.entries[from..from + self.width]);
        join(&mut self.entries[at..at + self.width], &self.scratch);
    }
}

/// The least clock above both.
pub fn join(clock: &mut [u32], other: &[u32]) {
    for (entry, &other) in clock.iter_mut().zip(other) {
        *entry = (*entry).max(other);
    }
}
