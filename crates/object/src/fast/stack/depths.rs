//! How many values are certainly inside at each gap: lowered over a range, and asked for a gap of small depth.
//!
//! Gaps are in blocks. A tree over the blocks holds the least depth of each; most ranges lie in few blocks, and most of
//! the tree is touched rarely.

const BLOCK: usize = 32;

/// The depths of gaps.
pub struct Depths {
    /// Without what was added to the block as a whole, and to nodes above it.
    cells: Vec<i32>,
    leaves: usize,
    /// The least depth below a node, without what was added above it.
    minima: Vec<i32>,
    /// What was added to all below a node.
    added: Vec<i32>,
}

impl Depths {
    /// More than any depth: the gap has been taken.
    const TAKEN: i32 = i32::MAX / 2;

    /// These depths; gaps of depth 0 count as taken.
    pub fn new(depths: Vec<u32>) -> Self {
        let cell = |depth: u32| if depth == 0 { Self::TAKEN } else { depth as i32 };
        let cells: Vec<i32> = depths.into_iter().map(cell).collect();
        let leaves = cells.len().div_ceil(BLOCK).next_power_of_two();
        let mut minima = vec![Self::TAKEN; 2 * leaves];
        for (leaf, block) in minima[leaves..].iter_mut().zip(cells.chunks(BLOCK)) {
            *leaf = least(block);
        }
        for node in (1..leaves).rev() {
            minima[node] = minima[2 * node].min(minima[2 * node + 1]);
        }
        Self { cells, leaves, minima, added: vec![0; 2 * leaves] }
    }

    fn block(&mut self, block: usize) -> &mut [i32] {
        let end = self.cells.len().min((block + 1) * BLOCK);
        &mut self.cells[block * BLOCK..end]
    }

    /// Lowers the depths from the first gap to before the second: at least one.
    pub fn decrease(&mut self, [from, to]: [u32; 2]) {
        let (from, to) = (from as usize, to as usize);
        let [first, last] = [from / BLOCK, (to - 1) / BLOCK];
        for cell in &mut self.cells[from..to.min((first + 1) * BLOCK)] {
            *cell -= 1;
        }
        if first != last {
            for cell in &mut self.cells[last * BLOCK..to] {
                *cell -= 1;
            }
            let (mut left, mut right) = (first + 1 + self.leaves, last + self.leaves);
            while left < right {
                if left % 2 == 1 {
                    self.lower(left);
                    left += 1;
                }
                if right % 2 == 1 {
                    right -= 1;
                    self.lower(right);
                }
                left /= 2;
                right /= 2;
            }
            self.repair(last);
        }
        // Each node whose child was lowered is above one of the two.
        self.repair(first);
    }

    fn lower(&mut self, node: usize) {
        self.minima[node] -= 1;
        self.added[node] -= 1;
    }

    /// Makes the minima right from a block up.
    fn repair(&mut self, block: usize) {
        let mut node = block + self.leaves;
        self.minima[node] = least(self.block(block)) + self.added[node];
        while node > 1 {
            node /= 2;
            self.minima[node] = self.minima[2 * node].min(self.minima[2 * node + 1]) + self.added[node];
        }
    }

    /// A gap that has not been taken, of depth `most` or less, and its depth.
    pub fn take(&mut self, most: i32) -> Option<(u32, i32)> {
        let depth = self.minima[1];
        if depth > most {
            return None;
        }
        let (mut node, mut wanted) = (1, depth);
        while node < self.leaves {
            wanted -= self.added[node];
            node *= 2;
            if self.minima[node] != wanted {
                node += 1;
            }
        }
        wanted -= self.added[node];
        let block = node - self.leaves;
        let place = self.block(block).iter().position(|&cell| cell == wanted)?;
        self.block(block)[place] = Self::TAKEN;
        self.repair(block);
        Some(((block * BLOCK + place) as u32, depth))
    }
}

fn least(block: &[i32]) -> i32 {
    block.iter().copied().min().unwrap_or(Depths::TAKEN)
}
