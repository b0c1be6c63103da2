//! What grew in the clocks of an order, so that it can be taken back.
//!
//! An entry of a clock only grows, and mostly by little. So the trail keeps by how much, in 16 bits. The entries of one
//! block that grow together share one header. If an entry grows by more, the same block is recorded several times.
//!
//! Invariant: to take back all that was recorded after a [`TrailPlace`], the last first, restores the clocks of that
//! place.

use crate::lanes::{Block, Lane, bits};

/// The trail. See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    /// The blocks that changed, and which lanes of each.
    blocks: Pieces<u32>,
    lanes: Pieces<u16>,
    /// By how much each of these lanes grew.
    growths: Pieces<u16>,
}

/// A stack that is stored in pieces. So it takes no more memory than what it has, and is never copied.
#[derive(Clone, Debug, Default)]
struct Pieces<T> {
    full: Vec<Vec<T>>,
    last: Vec<T>,
}

/// How many items a piece has.
const PIECE: usize = 1 << 20;

impl<T> Pieces<T> {
    fn len(&self) -> usize {
        self.full.len() * PIECE + self.last.len()
    }

    fn clear(&mut self) {
        self.full.clear();
        self.last.clear();
    }

    #[inline]
    fn push(&mut self, item: T) {
        if self.last.len() == PIECE {
            self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(PIECE)));
        }
        self.last.push(item);
    }

    fn pop(&mut self) -> Option<T> {
        if self.last.is_empty() {
            self.last = self.full.pop()?;
        }
        self.last.pop()
    }

    /// How many bytes are allocated soon.
    fn room(&self) -> usize {
        let capacity = self.last.capacity();
        let is_soon = self.last.len() >= capacity - capacity / 8;
        if is_soon { PIECE.min(2 * capacity) * size_of::<T>() } else { 0 }
    }
}

/// A place on the trail: how many blocks were recorded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct TrailPlace(usize);

impl Trail {
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.lanes.clear();
        self.growths.clear();
    }

    pub(super) fn place(&self) -> TrailPlace {
        TrailPlace(self.blocks.len())
    }

    /// How many bytes are allocated soon.
    pub(super) fn room(&self) -> usize {
        self.blocks.room() + self.lanes.room() + self.growths.room()
    }

    /// Records that a block changes in some lanes.
    #[cold]
    pub(super) fn record<L: Lane>(&mut self, block: usize, mut lanes: u32, old: &Block<L>, new: &Block<L>) {
        let mut recorded = 0;
        while lanes != 0 {
            self.blocks.push(block as u32);
            self.lanes.push(lanes as u16);
            let limit = u32::from(u16::MAX);
            let left = |lane: usize| new[lane].growth(old[lane]) - recorded;
            for lane in bits(u64::from(lanes)) {
                self.growths.push(left(lane).min(limit) as u16);
            }
            lanes = bits(u64::from(lanes)).filter(|&lane| left(lane) > limit).fold(0, |all, lane| all | 1 << lane);
            recorded += limit;
        }
    }

    /// Takes back everything since a place.
    pub(super) fn undo<L: Lane>(&mut self, place: TrailPlace, clocks: &mut [Block<L>]) {
        while self.blocks.len() > place.0
            && let (Some(block), Some(lanes)) = (self.blocks.pop(), self.lanes.pop())
        {
            let mut left = lanes;
            while left != 0
                && let Some(growth) = self.growths.pop()
            {
                let lane = left.ilog2() as usize;
                left ^= 1 << lane;
                let entry = &mut clocks[block as usize][lane];
                *entry = entry.less(growth);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{BLOCK, larger};

    #[test]
    fn what_was_recorded_is_taken_back_whatever_it_grew_by() {
        let mut state = 1u32;
        let mut next = move || {
            // Marsaglia's xorshift.
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        let mut clocks = vec![[0; BLOCK]; 5];
        let mut trail = Trail::default();
        let mut places = Vec::new();
        for _ in 0..2_000 {
            places.push((trail.place(), clocks.clone()));
            let at = next() as usize % clocks.len();
            let old = clocks[at];
            let new: Block = std::array::from_fn(|lane| match next() % 8 {
                0 => old[lane] + next() % 3,
                1 => old[lane] + (1 << 16) - 2 + next() % 3,
                2 if old[lane] < 1 << 29 => old[lane] + next() % (1 << 18),
                _ => old[lane],
            });
            trail.record(at, larger(&new, &old), &old, &new);
            clocks[at] = new;
        }
        while let Some((place, before)) = places.pop() {
            if places.len() % 3 == 0 {
                trail.undo(place, &mut clocks);
                assert_eq!(clocks, before);
            }
        }
        assert_eq!([trail.blocks.len(), trail.lanes.len(), trail.growths.len()], [0; 3]);
    }
}
