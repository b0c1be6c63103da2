//! The instants that matter.
//!
//! Between two moments all instants are alike. Of these gaps only those matter that come right after a call and right
//! before a return: at another gap, fewer operations are open (go on to the next call, back to the last return) or more
//! values are certainly inside. Every operation has such a gap between its call and its return.
//!
//! Gaps are numbered in the order of time. The last one comes after all moments: the removals that never came are there.

use super::containers::{Stays, Times};

/// The gaps of a part.
#[derive(Clone, Debug)]
pub struct Gaps {
    /// By moment: how many gaps come before it.
    before: Vec<u32>,
    count: u32,
}

impl Gaps {
    /// The gaps of a container's history.
    pub fn new(stays: &Stays) -> Self {
        const CALL: u32 = 1;
        const RETURN: u32 = 2;
        let end = stays.end as usize;
        let mut before = vec![0_u32; end + 3];
        for call in stays.part.calls {
            before[call.call as usize] = CALL;
            if !call.is_pending() {
                before[call.ret as usize] = RETURN;
            }
        }
        before[end..].copy_from_slice(&[RETURN, CALL, RETURN]);
        let (mut count, mut last) = (0, RETURN);
        for slot in &mut before {
            let event = *slot;
            count += u32::from(last == CALL && event == RETURN);
            if event != 0 {
                last = event;
            }
            *slot = count;
        }
        Self { before, count }
    }

    /// How many gaps there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The first gap after a moment.
    pub fn from(&self, moment: u32) -> u32 {
        self.before[moment as usize]
    }

    /// One more than the last gap before a moment.
    pub fn to(&self, moment: u32) -> u32 {
        self.before[moment as usize]
    }

    /// The gaps at which a value is certainly inside: from the first to before the second. None if they are not ascending.
    pub fn inside(&self, times: &Times) -> [u32; 2] {
        [self.before[times.insert_return as usize], self.before[times.remove_call as usize]]
    }

    /// How many of these values are certainly inside at each gap.
    pub fn depths<'t>(&self, values: impl Iterator<Item = &'t Times>) -> Vec<u32> {
        let mut depths = vec![0_u32; self.count as usize];
        for times in values {
            let [from, to] = self.inside(times);
            if from < to {
                depths[from as usize] = depths[from as usize].wrapping_add(1);
                depths[to as usize] = depths[to as usize].wrapping_sub(1);
            }
        }
        let mut sum = 0_u32;
        for depth in &mut depths {
            sum = sum.wrapping_add(*depth);
            *depth = sum;
        }
        depths
    }
}
