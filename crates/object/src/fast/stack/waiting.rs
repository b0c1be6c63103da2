//! The operations that wait for a gap, as intervals of gaps. All intervals that contain a given gap can be taken out.

use std::ops::Range;

const BLOCK: usize = 32;

/// A row of numbers, in which large numbers are found fast: the numbers are in blocks, with a tree of their maxima.
pub struct Maxima {
    numbers: Vec<u32>,
    leaves: usize,
    tree: Vec<u32>,
    /// For each block: the maximum of all numbers before it, at the beginning. Usually it says that no large number is
    /// left to be found.
    before: Vec<u32>,
}

impl Maxima {
    /// The row of these numbers.
    pub fn new(numbers: Vec<u32>) -> Self {
        let leaves = numbers.len().div_ceil(BLOCK).next_power_of_two();
        let mut tree = vec![0; 2 * leaves];
        for (leaf, block) in tree[leaves..].iter_mut().zip(numbers.chunks(BLOCK)) {
            *leaf = block.iter().copied().max().unwrap_or(0);
        }
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].max(tree[2 * node + 1]);
        }
        let mut largest = 0_u32;
        let before = |&leaf: &u32| {
            let before = largest;
            largest = largest.max(leaf);
            before
        };
        let before = tree[leaves..].iter().map(before).collect();
        Self { numbers, leaves, tree, before }
    }

    /// Appends the places in a range at which a number is more than the bound, and makes these numbers 0.
    pub fn take(&mut self, range: Range<usize>, bound: u32, places: &mut Vec<u32>) {
        let mut end = range.end;
        while end > range.start {
            let block = (end - 1) / BLOCK;
            if self.tree[self.leaves + block] > bound {
                let start = (block * BLOCK).max(range.start);
                let before = places.len();
                for (place, number) in (start as u32..).zip(&mut self.numbers[start..end]) {
                    if *number > bound {
                        *number = 0;
                        places.push(place);
                    }
                }
                if places.len() > before {
                    self.repair(block);
                }
            }
            if self.before[block] <= bound {
                break;
            }
            match self.last_above(block, bound) {
                Some(block) => end = (block + 1) * BLOCK,
                None => break,
            }
        }
    }

    fn repair(&mut self, block: usize) {
        let end = self.numbers.len().min((block + 1) * BLOCK);
        let mut node = self.leaves + block;
        self.tree[node] = self.numbers[block * BLOCK..end].iter().copied().max().unwrap_or(0);
        while node > 1 {
            node /= 2;
            let maximum = self.tree[2 * node].max(self.tree[2 * node + 1]);
            if self.tree[node] == maximum {
                break;
            }
            self.tree[node] = maximum;
        }
    }

    /// The last block before this one with a number that is more than the bound.
    fn last_above(&self, block: usize, bound: u32) -> Option<usize> {
        let mut node = self.leaves + block;
        while node.is_multiple_of(2) || self.tree[node - 1] <= bound {
            node /= 2;
            if node <= 1 {
                return None;
            }
        }
        node -= 1;
        while node < self.leaves {
            node = 2 * node + usize::from(self.tree[2 * node + 1] > bound);
        }
        Some(node - self.leaves)
    }
}

/// Intervals of gaps, each until it is taken out.
pub struct Waiting {
    /// The intervals, sorted by their first gaps, and where those of each gap begin.
    intervals: Vec<u32>,
    starts: Vec<u32>,
    /// The first gap after each interval, in the same order.
    ends: Maxima,
}

impl Waiting {
    /// Intervals from one gap to before another, numbered in this order.
    pub fn new(gaps: u32, all: impl Iterator<Item = [u32; 2]> + Clone) -> Self {
        let mut starts = vec![0_u32; gaps as usize + 2];
        let mut count = 0_usize;
        for [first, _] in all.clone() {
            starts[first as usize + 2] += 1;
            count += 1;
        }
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut intervals = vec![0; count];
        let mut ends = vec![0; count];
        for (number, [first, end]) in (0..).zip(all) {
            let place = &mut starts[first as usize + 1];
            intervals[*place as usize] = number;
            ends[*place as usize] = end;
            *place += 1;
        }
        Self { intervals, starts, ends: Maxima::new(ends) }
    }

    /// Takes out all intervals that contain a gap, and appends their numbers.
    pub fn take(&mut self, gap: u32, numbers: &mut Vec<u32>) {
        let before = numbers.len();
        self.ends.take(0..self.starts[gap as usize + 1] as usize, gap, numbers);
        for place in &mut numbers[before..] {
            *place = self.intervals[*place as usize];
        }
    }
}
