//! What grew in the clocks of an order, so that it can be taken back.
//!
//! An entry of a clock only grows, and mostly by little. So the trail keeps by how much, in 16 bits. The entries of one
//! block that grow together share one header. If an entry grows by more, the same block is recorded several times.
//!
//! Invariant: to take back all that was recorded after a [`Place`], the last first, restores the clocks of that place.

use crate::lanes::{Block, bits};

/// The trail. See the [module](self).
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    /// The blocks that changed, and which lanes of each.
    blocks: Vec<u32>,
    lanes: Vec<u16>,
    /// By how much each of these lanes grew.
    growths: Vec<u16>,
}

/// A place on the trail: how many blocks were recorded.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Place(usize);

impl Trail {
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.lanes.clear();
        self.growths.clear();
    }

    pub(super) fn place(&self) -> Place {
        Place(self.blocks.len())
    }

    /// Of each table: how many items it has, for how many it has room, and how many bytes an item takes.
    pub(super) fn tables(&self) -> [(usize, usize, usize); 3] {
        let Self { blocks, lanes, growths } = self;
        [
            (blocks.len(), blocks.capacity(), size_of::<u32>()),
            (lanes.len(), lanes.capacity(), size_of::<u16>()),
            (growths.len(), growths.capacity(), size_of::<u16>()),
        ]
    }

    /// Records that a block changes in some lanes.
    #[cold]
    pub(super) fn record(&mut self, block: usize, mut lanes: u32, old: &Block, new: &Block) {
        let mut recorded = 0;
        while lanes != 0 {
            self.blocks.push(block as u32);
            self.lanes.push(lanes as u16);
            let limit = u32::from(u16::MAX);
            let left = |lane: usize| new[lane] - old[lane] - recorded;
            self.growths.extend(bits(u64::from(lanes)).map(|lane| left(lane).min(limit) as u16));
            lanes = bits(u64::from(lanes)).filter(|&lane| left(lane) > limit).fold(0, |all, lane| all | 1 << lane);
            recorded += limit;
        }
    }

    /// Takes back everything since a place.
    pub(super) fn undo(&mut self, place: Place, clocks: &mut [Block]) {
        while self.blocks.len() > place.0
            && let (Some(block), Some(lanes)) = (self.blocks.pop(), self.lanes.pop())
        {
            let begin = self.growths.len() - lanes.count_ones() as usize;
            for (lane, growth) in bits(u64::from(lanes)).zip(self.growths.drain(begin..)) {
                clocks[block as usize][lane] -= u32::from(growth);
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
        assert!(trail.tables().iter().all(|&(length, ..)| length == 0));
    }
}
