//! The choice of keys: all alike, or by Zipf's law, where the n-th key has the weight 1/n, as in a store with a few
//! popular keys.

use crate::random::SplitMix64;

/// Chooses keys, all alike or by Zipf's law: the n-th key with a weight of 1/n.
pub(super) struct Keys {
    count: u32,
    /// The sums of the weights up to each key; empty if all keys are alike.
    sums: Vec<f64>,
}

impl Keys {
    pub fn new(count: u32, zipf: bool) -> Self {
        let mut sum = 0.0;
        let add = |key: u32| {
            sum += 1.0 / f64::from(key + 1);
            sum
        };
        Self { count, sums: if zipf { (0..count).map(add).collect() } else { Vec::new() } }
    }

    pub fn pick(&self, random: &mut SplitMix64) -> u32 {
        let Some(&all) = self.sums.last() else {
            return random.below(u64::from(self.count)) as u32;
        };
        // 53 bits are all that a double has.
        let point = (random.next() >> 11) as f64 / (1_u64 << 53) as f64 * all;
        (self.sums.partition_point(|&sum| sum <= point) as u32).min(self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keys_are_chosen_most() {
        let keys = Keys::new(10, true);
        let mut random = SplitMix64::new(1);
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            counts[keys.pick(&mut random) as usize] += 1;
        }
        assert!(counts[0] > counts[1] && counts[1] > counts[4] && counts[9] > 0, "{counts:?}");
    }
}
