//! The records of values by value, in the order of the calls.
//!
//! Mostly a value is removed not long after it was inserted. Values that have been inserted and not removed are in a small table, at a
//! place that the value alone tells; only where two of them have the same place, the older goes to a large one, the pages of which are
//! mostly never touched. So it does not matter how large values are, or whether they come in any order.

use super::containers::NONE;
use crate::view::ValueId;

/// How many values the small table has room for.
const NEAR: usize = 1 << 16;

#[derive(Copy, Clone)]
struct Near {
    value: u32,
    record: u32,
}

/// What has been inserted so far.
pub struct Inserted {
    near: Vec<Near>,
    /// By value: one more than the record, 0 if there is none. Empty if there are few values.
    far: Vec<u32>,
    /// By value: whether it has been inserted, one bit each.
    ever: Vec<u64>,
}

impl Inserted {
    /// Nothing; the numbers of values are below `count`.
    pub fn new(count: usize) -> Self {
        Self {
            near: vec![Near { value: NONE, record: NONE }; count.next_power_of_two().min(NEAR)],
            far: if count > NEAR { vec![0; count] } else { Vec::new() },
            ever: vec![0; count.div_ceil(64)],
        }
    }

    fn near(&mut self, value: ValueId) -> &mut Near {
        let place = value.index() & (self.near.len() - 1);
        &mut self.near[place]
    }

    /// A value is inserted; whether that is new.
    pub fn insert(&mut self, value: ValueId, record: u32) -> bool {
        let near = self.near(value);
        let older = std::mem::replace(near, Near { value: value.0, record });
        if older.record != NONE && older.value != value.0 {
            self.far[older.value as usize] = older.record + 1;
        }
        let word = &mut self.ever[value.index() / 64];
        let before = *word;
        *word |= 1 << (value.index() % 64);
        before != *word
    }

    /// Whether a value has been inserted.
    pub fn has(&self, value: ValueId) -> bool {
        self.ever[value.index() / 64] >> (value.index() % 64) & 1 == 1
    }

    /// The record of a value that has been inserted, unless it is forgotten.
    pub fn find(&mut self, value: ValueId) -> Option<u32> {
        let near = *self.near(value);
        if near.value == value.0 && near.record != NONE {
            return Some(near.record);
        }
        self.far.get(value.index()).and_then(|record| record.checked_sub(1))
    }

    /// The same, and a value in the small table is forgotten.
    pub fn take(&mut self, value: ValueId) -> Option<u32> {
        let found = self.find(value);
        let near = self.near(value);
        if near.value == value.0 {
            near.record = NONE;
        }
        found
    }
}
