//! COUNTING(k): the approximation by interval orders of length k (Bouajjani, Emmi, Enea, Hamza: *Tractable Refinement
//! Checking for Concurrent Objects*, POPL 2015). It is the baseline of MR, which describes it in section 6: histories
//! are weakened "by forgetting ordering constraints such that the resulting order is a k-length interval order".
//!
//! Real time is an interval order. Number the stretches of time that begin at the first call after a return from 0 to
//! n. An operation lasts from the stretch of its call to the stretch of its return, and o1 < o2 exactly if o1 ends in
//! an earlier stretch than o2 begins. The approximation keeps the last k steps of that order, and puts everything older
//! into one first stretch: an operation [i, j] becomes [max(0, i - (n - k)), max(0, j - (n - k))]. This history is
//! weaker. So a violation of the approximation is a violation of the history. If the approximation has no violation,
//! this proves nothing, unless n is at most k at every return.
//!
//! At each return, [`symbolic`](super::symbolic) decides the approximation. The baseline of the paper counts operations
//! with the same label and the same interval instead, which gives the same verdict.

use crate::refinement::{Invocation, Options, Step, Witness};
use history::Object;
use object::ValueId;

use super::symbolic::Instance;

const FORGOT: &str = "COUNTING forgot order, and found no contradiction in what is left, which proves nothing";

#[derive(Copy, Clone, Debug)]
struct Interval {
    invocation: Invocation,
    begin: u32,
    /// The last stretch, and the result, if the operation returned.
    end: Option<(u32, ValueId)>,
}

/// The incremental monitor.
pub struct Monitor {
    object: Object,
    capacity: u64,
    initial: ValueId,
    k: u32,
    options: Options,
    intervals: Vec<Interval>,
    stretch: u32,
    has_returned: bool,
}

impl Monitor {
    /// A monitor of a new object. `capacity` is for a semaphore, `initial` for a register.
    pub fn new(
        object: Object,
        capacity: u64,
        initial: ValueId,
        k: u32,
        options: Options,
    ) -> Result<Self, &'static str> {
        // This fails if there is no theory of the object.
        Instance::new(object, capacity, initial, &options)?;
        let (intervals, stretch, has_returned) = (Vec::new(), 0, false);
        Ok(Self { object, capacity, initial, k, options, intervals, stretch, has_returned })
    }

    fn test(&self) -> Result<Step, &'static str> {
        let mut instance = Instance::new(self.object, self.capacity, self.initial, &self.options)?;
        let shift = self.stretch.saturating_sub(self.k);
        let kept = (self.stretch - shift) as usize;
        let mut begins = vec![Vec::new(); kept + 1];
        let mut ends = vec![Vec::new(); kept + 1];
        for interval in &self.intervals {
            begins[interval.begin.saturating_sub(shift) as usize].push(interval);
        }
        let mut number = 0;
        for at in 0..=kept {
            for interval in &begins[at] {
                let result = interval.end.map(|(_, result)| result);
                instance.call(number, interval.invocation, result.filter(|&result| result != ValueId::NONE));
                if let Some((end, result)) = interval.end {
                    ends[end.saturating_sub(shift) as usize].push((number, result));
                }
                number += 1;
            }
            for &(number, result) in &ends[at] {
                instance.return_(number, result)?;
            }
        }
        Ok(instance.test())
    }
}

impl crate::refinement::Monitor for Monitor {
    fn call(&mut self, _: u32, invocation: Invocation) {
        self.stretch += u32::from(std::mem::take(&mut self.has_returned));
        self.intervals.push(Interval { invocation, begin: self.stretch, end: None });
    }

    fn return_(&mut self, number: u32, result: ValueId) -> Step {
        self.has_returned = true;
        self.intervals[number as usize].end = Some((self.stretch, result));
        self.test().unwrap_or_else(Step::GaveUp)
    }

    fn witness(&mut self) -> Witness {
        Witness::None(FORGOT)
    }
}
