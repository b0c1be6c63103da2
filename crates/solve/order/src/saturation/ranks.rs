//! A set of events that gives them back in the order of their ranks.
//!
//! One bit of the set stands for each rank, so to insert an event takes one step, and to find the first takes little
//! more if events come in about that order.

/// The set. See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct Ranked {
    /// By event, its rank; by rank, its event.
    ranks: Vec<u32>,
    events: Vec<u32>,
    /// By rank: whether the event is in the set.
    members: Vec<u64>,
    /// All words of `members` before this one are zero.
    low: usize,
    count: usize,
}

impl Ranked {
    /// The empty set of events that are ranked by these numbers, or by their own if these are equal.
    pub(super) fn new(keys: impl Iterator<Item = u64>) -> Self {
        let keys: Vec<u64> = keys.collect();
        let mut events: Vec<u32> = (0..keys.len() as u32).collect();
        events.sort_unstable_by_key(|&event| (keys[event as usize], event));
        let mut ranks = vec![0; events.len()];
        for (rank, &event) in (0u32..).zip(&events) {
            ranks[event as usize] = rank;
        }
        Self { members: vec![0; events.len().div_ceil(64)], ranks, events, low: 0, count: 0 }
    }

    /// Whether no event has a rank.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Forgets all events and their ranks.
    pub(super) fn clear(&mut self) {
        self.ranks.clear();
        self.events.clear();
        self.members.clear();
        (self.low, self.count) = (0, 0);
    }

    /// Adds an event, if it is not in the set.
    #[inline]
    pub(super) fn insert(&mut self, event: u32) {
        let rank = self.ranks[event as usize];
        let (at, bit) = (rank as usize / 64, 1 << (rank % 64));
        self.count += usize::from(self.members[at] & bit == 0);
        self.members[at] |= bit;
        self.low = self.low.min(at);
    }

    /// Removes an event that is in the set.
    #[inline]
    pub(super) fn remove(&mut self, event: u32) {
        let rank = self.ranks[event as usize];
        self.members[rank as usize / 64] &= !(1 << (rank % 64));
        self.count -= 1;
    }

    /// The event of the least rank in the set.
    #[inline]
    pub(super) fn first(&mut self) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        while self.members[self.low] == 0 {
            self.low += 1;
        }
        Some(self.events[self.low * 64 + self.members[self.low].trailing_zeros() as usize])
    }

    /// Removes all events, the first first.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> + '_ {
        std::iter::from_fn(|| {
            let event = self.first()?;
            self.remove(event);
            Some(event)
        })
    }
}
