//! The gaps of a history: the instants that matter.
//!
//! Between two moments all instants are alike. They are a gap. Only those gaps matter that come right after a call and
//! right before a return. Any other gap is no better than such a gap nearby: fewer operations are open there, or more
//! values are certainly inside. Every operation has such a gap between its call and its return.
//!
//! Gaps are numbered in the order of time. The last gap comes after all moments. The removals that never came are
//! there.

use super::containers::{Stays, Times};
use crate::view::Call;

/// The gaps of a part.
#[derive(Clone, Debug)]
pub struct Gaps {
    /// For each moment: how many gaps come before it.
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

    /// The first gap after a moment. This is one more than the last gap before the moment.
    pub fn after(&self, moment: u32) -> u32 {
        self.before[moment as usize]
    }

    /// Four gaps of a value: the first gap for its insert, the first gap at which it is certainly inside, the first gap
    /// after that time, and the first gap after those for its removal. If the second is not less than the third, the
    /// value is certainly inside at no gap.
    pub fn ends(&self, times: &Times) -> [u32; 4] {
        [times.insert_call, times.insert_return, times.remove_call, times.remove_return]
            .map(|moment| self.after(moment))
    }

    /// The first gap for a peek that saw a value, and the first gap after those for it.
    pub fn seen(&self, times: &Times, peek: &Call) -> [u32; 2] {
        [peek.call.max(times.insert_call), peek.ret.min(times.remove_return)].map(|moment| self.after(moment))
    }
}
