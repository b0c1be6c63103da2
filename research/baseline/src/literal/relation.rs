//! A relation between events: one row of bits for each event.

use model::{Budget, GaveUp};

/// How many rows are closed between two looks at the time.
const ROWS_PER_TIME_CHECK: usize = 64;

/// A relation between events.
#[derive(Clone, Debug)]
pub struct Relation {
    count: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Relation {
    /// The empty relation between so many events.
    pub fn new(count: usize) -> Self {
        let words = count.div_ceil(64);
        Self { count, words, bits: vec![0; count * words] }
    }

    /// Whether a pair is in it.
    #[inline]
    pub fn has(&self, a: u32, b: u32) -> bool {
        self.bits[a as usize * self.words + b as usize / 64] >> (b % 64) & 1 == 1
    }

    /// Adds a pair, and nothing else.
    #[inline]
    pub fn set(&mut self, a: u32, b: u32) {
        self.bits[a as usize * self.words + b as usize / 64] |= 1 << (b % 64);
    }

    /// Adds all pairs of another relation.
    pub fn join(&mut self, other: &Self) {
        for (word, &other) in self.bits.iter_mut().zip(&other.bits) {
            *word |= other;
        }
    }

    /// Adds a pair to a transitive relation, and what follows by transitivity. The answer is whether the relation has
    /// no cycle by this pair.
    pub fn insert(&mut self, a: u32, b: u32) -> bool {
        if a == b || self.has(b, a) {
            return false;
        }
        if self.has(a, b) {
            return true;
        }
        let start = b as usize * self.words;
        let mut after = self.bits[start..start + self.words].to_vec();
        after[b as usize / 64] |= 1 << (b % 64);
        for event in 0..self.count as u32 {
            if (event == a || self.has(event, a)) && !self.has(event, b) {
                self.row_mut(event).iter_mut().zip(&after).for_each(|(word, &after)| *word |= after);
            }
        }
        true
    }

    fn row_mut(&mut self, event: u32) -> &mut [u64] {
        &mut self.bits[event as usize * self.words..][..self.words]
    }

    /// Closes the relation under transitivity (Warshall's algorithm). The answer is whether it has no cycle.
    pub fn close(&mut self, budget: &Budget) -> Result<bool, GaveUp> {
        for middle in 0..self.count {
            if middle.is_multiple_of(ROWS_PER_TIME_CHECK) {
                budget.check()?;
            }
            let after = self.bits[middle * self.words..][..self.words].to_vec();
            for event in (0..self.count as u32).filter(|&event| event as usize != middle) {
                if self.has(event, middle as u32) {
                    self.row_mut(event).iter_mut().zip(&after).for_each(|(word, &after)| *word |= after);
                }
            }
        }
        Ok((0..self.count as u32).all(|event| !self.has(event, event)))
    }
}

#[cfg(test)]
mod tests {
    use workload::random::SplitMix64;

    use super::*;

    /// Pair by pair and all at once is the same.
    #[test]
    fn both_ways_to_close_agree() {
        let mut random = SplitMix64::new(1);
        let mut cyclic = 0;
        for case in 0..500 {
            let count = random.between(2, 70);
            let pairs: Vec<(u32, u32)> =
                (0..count).map(|_| (random.between(0, count - 1), random.between(0, count - 1))).collect();
            let mut at_once = Relation::new(count as usize);
            for &(a, b) in &pairs {
                at_once.set(a, b);
            }
            let is_acyclic = at_once.close(&Budget::UNLIMITED).unwrap();
            let mut one_by_one = Relation::new(count as usize);
            assert_eq!(pairs.iter().all(|&(a, b)| one_by_one.insert(a, b)), is_acyclic, "case {case}");
            if is_acyclic {
                assert_eq!(one_by_one.bits, at_once.bits, "case {case}");
            } else {
                cyclic += 1;
            }
        }
        assert!((50..450).contains(&cyclic), "{cyclic}");
    }
}
