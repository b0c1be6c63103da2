//! The instants that matter.
//!
//! Between two moments all instants are alike. Of these gaps only those matter that come right after a call and right
//! before a return: at another gap, fewer operations are open (go on to the next call, back to the last return) or more
//! values are certainly inside. Every operation has such a gap between its call and its return.
//!
//! Gaps are numbered in the order of time. The last one comes after all moments: the removals that never came are there.

use super::containers::{Stays, Times};
use crate::view::Call;

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

    /// The first gap after a moment; one more than the last gap before it.
    pub fn after(&self, moment: u32) -> u32 {
        self.before[moment as usize]
    }

    /// The first gap for the insert of a value, the first and the first after those at which it is certainly inside (none if
    /// these are not ascending), and the first after those for its removal.
    pub fn ends(&self, times: &Times) -> [u32; 4] {
        [times.insert_call, times.insert_return, times.remove_call, times.remove_return]
            .map(|moment| self.after(moment))
    }

    /// The first gap for a peek that saw a value, and the first after.
    pub fn seen(&self, times: &Times, peek: &Call) -> [u32; 2] {
        [peek.call.max(times.insert_call), peek.ret.min(times.remove_return)].map(|moment| self.after(moment))
    }
}
