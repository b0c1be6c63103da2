//! The source of all random choices of the generators.
//!
//! Invariant: the numbers that a seed yields never change, in any version: a seed in a bug report, a corpus or a
//! benchmark means the same history for ever. So this crate has its own generator, and a test fixes its first numbers.

/// Steele, Lea and Flood's `SplitMix64`: a counter and a mixing function. Not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator that starts at `seed`. Neighbouring seeds yield unrelated numbers.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number. All 64 bits are random.
    pub const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not zero. The bias of at most `bound / 2^64` does not matter here.
    pub const fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below zero");
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub const fn between(&mut self, low: u32, high: u32) -> u32 {
        assert!(low <= high, "an empty range");
        low + self.below((high - low) as u64 + 1) as u32
    }

    /// True in `percent` of a hundred cases.
    pub const fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < percent as u64
    }

    /// One of these items. There must be at least one.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let mut random = SplitMix64::new(1_234_567);
        // The first numbers that the authors' own implementation yields for this seed.
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next(), random.next(), random.next()], first);
    }

    #[test]
    fn choices_stay_in_range_and_reach_its_ends() {
        let mut random = SplitMix64::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            assert!(random.below(3) < 3);
            seen[random.between(3, 7) as usize - 3] = true;
            assert!(!random.percent(0) && random.percent(100));
            assert!([2, 4].contains(&random.pick(&[2, 4])));
        }
        assert_eq!(seen, [true; 5]);
    }
}
