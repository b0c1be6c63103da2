//! The operations that wait for a gap, as intervals of gaps. All intervals that contain a given gap can be taken out.

use order::Rows;

use super::maxima::Maxima;

/// Intervals of gaps, each until it is taken out.
pub struct Waiting {
    /// The intervals by their first gaps.
    intervals: Rows<u32>,
    /// The first gap after each interval, in the same order.
    ends: Maxima,
}

impl Waiting {
    /// Intervals from one gap to before another, numbered in this order.
    pub fn new(gaps: u32, all: impl Iterator<Item = [u32; 2]> + Clone) -> Self {
        let ends = Rows::new(gaps as usize, all.clone().map(|[first, end]| (first as usize, end)));
        let numbers = (0..).zip(all).map(|(number, [first, _])| (first as usize, number));
        Self { intervals: Rows::new(gaps as usize, numbers), ends: Maxima::new(ends.items().to_vec()) }
    }

    /// Takes out all intervals that contain a gap, and appends their numbers.
    pub fn take(&mut self, gap: u32, numbers: &mut Vec<u32>) {
        let before = numbers.len();
        self.ends.take([0, self.intervals.starts()[gap as usize + 1]], gap, numbers);
        for place in &mut numbers[before..] {
            *place = self.intervals.items()[*place as usize];
        }
    }
}
