//! Vector clocks as frontiers.
//!
//! The clock of an event has one entry a chain: the events of that chain numbered below the entry are before the event,
//! or are the event itself. Entries are event numbers, not counts, so `e` is in the past of clock `c` iff
//! `e < c[chain of e]`.

/// The clocks of events that are done one after the other.
///
/// Each chain has a running clock, that of its last event done. The clocks of events that are asked for later are kept,
/// in the order in which the events were done: what is needed together was kept together.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    width: usize,
    running: Vec<u32>,
    kept: Vec<u32>,
    /// How many clocks were kept before that of each event; [`NOT_KEPT`] if it was not.
    ranks: Vec<u32>,
    count: u32,
}

const NOT_KEPT: u32 = u32::MAX;

impl Clocks {
    /// Nothing is done yet of the chains that begin at `starts` (whose last entry is the number of events). There is room
    /// to keep `keep` clocks.
    pub fn new(starts: &[u32], keep: usize) -> Self {
        let width = starts.len().saturating_sub(1);
        let events = starts.last().map_or(0, |&n| n as usize);
        Self {
            width,
            running: (0..width).flat_map(|_| &starts[..width]).copied().collect(),
            kept: Vec::with_capacity(keep * width),
            ranks: vec![NOT_KEPT; events],
            count: 0,
        }
    }

    /// How many bytes it takes to keep that many clocks of that many chains.
    pub fn bytes(chains: usize, keep: usize) -> usize {
        chains.saturating_mul(keep.saturating_add(chains)).saturating_mul(size_of::<u32>())
    }

    /// Adds the next event of a chain to its running clock.
    #[inline]
    pub fn advance(&mut self, event: u32, chain: usize) {
        self.running[chain * self.width + chain] = event + 1;
    }

    /// Adds the past of an event that was kept to the running clock of a chain.
    #[inline]
    pub fn join(&mut self, chain: usize, other: u32) {
        let (at, from) = (chain * self.width, self.ranks[other as usize] as usize * self.width);
        join(&mut self.running[at..at + self.width], &self.kept[from..from + self.width]);
    }

    /// The running clock of a chain.
    #[inline]
    pub fn running(&self, chain: usize) -> &[u32] {
        &self.running[chain * self.width..(chain + 1) * self.width]
    }

    /// Keeps the running clock of a chain as that of its last event.
    #[inline]
    pub fn keep(&mut self, event: u32, chain: usize) {
        self.ranks[event as usize] = self.count;
        self.count += 1;
        let at = chain * self.width;
        self.kept.extend_from_slice(&self.running[at..at + self.width]);
    }

    /// The clock of an event that was kept.
    #[inline]
    pub fn of(&self, event: u32) -> &[u32] {
        self.ranked(self.ranks[event as usize])
    }

    /// How many clocks were kept before that of an event.
    #[inline]
    pub fn rank(&self, event: u32) -> u32 {
        self.ranks[event as usize]
    }

    /// The clock that was kept after so many others.
    #[inline]
    pub fn ranked(&self, rank: u32) -> &[u32] {
        let at = rank as usize * self.width;
        &self.kept[at..at + self.width]
    }
}

/// The least clock above both.
#[inline]
pub fn join(clock: &mut [u32], other: &[u32]) {
    for (entry, &other) in clock.iter_mut().zip(other) {
        *entry = (*entry).max(other);
    }
}
