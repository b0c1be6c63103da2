//! The instants at which a removal from a priority queue can take effect, and the operations of each value.

use history::Method;
use order::Rows;

use crate::view::{Call, Part};

/// The instants, each right after a moment, that are still free. Instants can be covered, never freed.
pub struct FreeInstants {
    /// For each instant a later one; the instant itself if it is free. One instant after the last is always free.
    next: Vec<u32>,
    /// The same backwards. The numbers are one more than the instants, and 0 is always free.
    previous: Vec<u32>,
}

impl FreeInstants {
    /// All instants are free.
    pub fn new(moments: u32) -> Self {
        Self { next: (0..=moments).collect(), previous: (0..=moments).collect() }
    }

    fn find(parents: &mut [u32], mut at: u32) -> u32 {
        while parents[at as usize] != at {
            let parent = parents[parents[at as usize] as usize];
            parents[at as usize] = parent;
            at = parent;
        }
        at
    }

    /// The first free instant from a moment on; the number of moments if there is none.
    pub fn from(&mut self, moment: u32) -> u32 {
        Self::find(&mut self.next, moment)
    }

    /// The last free instant before a moment, if there is any.
    pub fn before(&mut self, moment: u32) -> Option<u32> {
        Self::find(&mut self.previous, moment).checked_sub(1)
    }

    /// Covers the instants from the first up to, but without, the second.
    pub fn cover(&mut self, from: u32, to: u32) {
        let mut at = self.from(from);
        while at < to {
            self.next[at as usize] = at + 1;
            self.previous[at as usize + 1] = at;
            at = self.from(at);
        }
    }
}

/// The inserts, removals and peeks of each value, in the order of their calls.
pub fn by_value(part: &Part) -> Rows<u32> {
    let value = |call: &Call| match call.method {
        Method::Insert => Some(call.argument),
        _ => Some(call.result).filter(|result| result.is_index()),
    };
    let of = (0..).zip(part.calls).filter_map(|(at, call)| value(call).map(|value| (value.index(), at)));
    Rows::new(part.values.len(), of)
}
