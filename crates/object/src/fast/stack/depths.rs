//! How many values are certainly inside at each gap: lowered over a range, which finds the gaps that have become shallow.
//!
//! A tree of blocks. An entry of the lowest level is the depth of a gap, one of the next level the least entry of a block,
//! and so on up to a single one; all entries of a block are kept without that least entry, so one of them is 0. Hence
//! the depth of a gap is the sum of the entries above it; and whatever happens within a block without changing its least
//! entry ends there: most ranges lie in few blocks.

const BLOCK: usize = 32;

/// The depths of gaps.
pub struct Depths {
    levels: Vec<Vec<i32>>,
}

impl Depths {
    /// Added to the depth of a gap that is shallow, or is none: more than any depth.
    const TAKEN: i32 = i32::MAX / 2;

    /// These depths; a gap is shallow if its depth is `most` or less.
    pub fn new(depths: Vec<u32>, most: u32) -> Self {
        let cell = |depth: u32| if depth <= most { Self::TAKEN } else { (depth - most) as i32 };
        let mut levels: Vec<Vec<i32>> = Vec::new();
        let mut level: Vec<i32> = depths.into_iter().map(cell).collect();
        while level.len() > 1 {
            level.resize(level.len().next_multiple_of(BLOCK), Self::TAKEN);
            let above = level.chunks_exact_mut(BLOCK).map(lift).collect();
            levels.push(std::mem::replace(&mut level, above));
        }
        levels.push(level);
        Self { levels }
    }

    /// Lowers the depths from the first gap to before the second, at least one, and appends the gaps that have become shallow.
    pub fn decrease(&mut self, [from, to]: [u32; 2], shallow: &mut Vec<u32>) {
        let top = self.levels.len() - 1;
        self.lower(top, [from as usize, to as usize], 0, shallow);
    }

    /// Lowers the depths in a range of gaps that are below one block of a level, where `above` is the sum of the entries
    /// above that block; by how much the least entry of the block has grown.
    fn lower(&mut self, level: usize, [from, to]: [usize; 2], above: i32, shallow: &mut Vec<u32>) -> i32 {
        let width = BLOCK.pow(level as u32);
        let [first, last] = [from / width, (to - 1) / width];
        let mut is_same = true;
        for entry in first..=last {
            let [start, end] = [(entry * width).max(from), ((entry + 1) * width).min(to)];
            let before = self.levels[level][entry];
            let after = if end - start < width {
                before + self.lower(level - 1, [start, end], above + before, shallow)
            } else if above + before == 1 {
                before - 1 + self.take(level, entry, shallow)
            } else {
                before - 1
            };
            self.levels[level][entry] = after;
            is_same &= before == after;
        }
        if is_same { 0 } else { self.lift(level, first / BLOCK) }
    }

    /// Takes the gaps below an entry whose depth has become 0; by how much the entry grows.
    fn take(&mut self, level: usize, entry: usize, shallow: &mut Vec<u32>) -> i32 {
        let Some(below) = level.checked_sub(1) else {
            shallow.push(entry as u32);
            return Self::TAKEN;
        };
        for child in entry * BLOCK..(entry + 1) * BLOCK {
            if self.levels[below][child] == 0 {
                self.levels[below][child] = self.take(below, child, shallow);
            }
        }
        self.lift(below, entry)
    }

    fn lift(&mut self, level: usize, block: usize) -> i32 {
        self.levels[level].get_mut(block * BLOCK..(block + 1) * BLOCK).map_or(0, lift)
    }
}

/// Takes the least entry of a block off all of them.
fn lift(block: &mut [i32]) -> i32 {
    let least = block.iter().copied().min().unwrap_or(0);
    if least != 0 {
        for entry in block {
            *entry -= least;
        }
    }
    least
}
