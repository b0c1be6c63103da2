//! Finds the record of a value. The calls of a part are taken in the order of time.
//!
//! Usually a value is removed soon after it was inserted. A small table holds the values that have been inserted and
//! not removed, and those whose removal was called before their insert. The place of a value in the table depends only
//! on the value. If two values have the same place, the older goes to a large table, most of which is never touched.
//! This works for values in any order.

use super::containers::NONE;
use crate::view::ValueId;

/// How many values the small table has room for. With 2^20, a priority queue of 1,000,000 operations takes 118 ms
/// instead of 90; with 2^12, 84 ms, and a stack 106 ms instead of 102.
const SMALL_TABLE: usize = 1 << 16;

/// What the small table knows of a value.
#[derive(Copy, Clone, PartialEq, Eq)]
enum State {
    /// The value was removed.
    Gone,
    /// The value is inside, with this record.
    Inside(u32),
    /// This removal of the value was called before its insert.
    Awaited(u32),
}

/// What has been inserted so far.
pub struct Inserted {
    near: Vec<(u32, State)>,
    /// The large table. For each value: one more than its record, or 0. The table is empty as long as no value is
    /// there.
    far: Vec<u32>,
    count: usize,
    /// For each value, one bit: whether it has been inserted.
    ever: Vec<u64>,
}

/// What is known of a value when it is inserted.
pub struct Insertion {
    /// Whether it had not been inserted before.
    pub is_new: bool,
    /// The removal that was called before it.
    pub removal: Option<u32>,
}

impl Inserted {
    /// No value has been inserted. The numbers of values are below `count`.
    pub fn new(count: usize) -> Self {
        Self {
            near: vec![(NONE, State::Gone); count.next_power_of_two().min(SMALL_TABLE)],
            far: Vec::new(),
            count,
            ever: vec![0; count.div_ceil(64)],
        }
    }

    fn near(&mut self, value: ValueId) -> &mut (u32, State) {
        let place = value.index() & (self.near.len() - 1);
        &mut self.near[place]
    }

    /// Inserts a value. If its removal was called before, the value is gone at once.
    pub fn insert(&mut self, value: ValueId, record: u32) -> Insertion {
        let word = &mut self.ever[value.index() / 64];
        let before = *word;
        *word |= 1 << (value.index() % 64);
        let is_new = before != *word;
        let near = self.near(value);
        let removal = match *near {
            (of, State::Awaited(removal)) if of == value.0 => Some(removal),
            (older, State::Inside(record)) if older != value.0 => {
                if self.far.is_empty() {
                    self.far = vec![0; self.count];
                }
                self.far[older as usize] = record + 1;
                None
            }
            _ => None,
        };
        *self.near(value) = (value.0, if removal.is_some() { State::Gone } else { State::Inside(record) });
        Insertion { is_new, removal }
    }

    /// Whether a value has been inserted.
    pub fn has(&self, value: ValueId) -> bool {
        self.ever[value.index() / 64] >> (value.index() % 64) & 1 == 1
    }

    /// The record of a value that has been inserted, unless it is gone.
    pub fn find(&mut self, value: ValueId) -> Option<u32> {
        let near = *self.near(value);
        match near {
            (of, State::Inside(record)) if of == value.0 => Some(record),
            _ if self.has(value) => self.far.get(value.index()).and_then(|record| record.checked_sub(1)),
            _ => None,
        }
    }

    /// The record of a value that is removed; the value is gone then. If the value has not been inserted yet, the
    /// removal may wait for its insert.
    pub fn take(&mut self, value: ValueId, removal: u32) -> Option<u32> {
        let found = self.find(value);
        let is_awaited = !self.has(value);
        let near = self.near(value);
        if near.0 == value.0 {
            near.1 = State::Gone;
        }
        if is_awaited && !matches!(near.1, State::Inside(_)) {
            *near = (value.0, State::Awaited(removal));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There are more values than the small table has room for, and they are far apart. Values that are inside are
    /// found. Each removal finds its insert, or its insert finds it, unless another value took its place.
    #[test]
    fn values_far_apart() {
        let count = 8 * SMALL_TABLE as u32;
        let value = |record: u32| ValueId(record.wrapping_mul(0x9e37_79b1) % count);
        let mut inserted = Inserted::new(count as usize);
        let inserts = 3 * SMALL_TABLE as u32;
        for record in 0..inserts {
            let is_early = record % 5 == 0;
            if is_early {
                assert_eq!(inserted.take(value(record), record), None);
            }
            let insertion = inserted.insert(value(record), record);
            assert!(insertion.is_new && inserted.has(value(record)));
            assert_eq!(insertion.removal.is_none(), inserted.find(value(record)).is_some());
            assert!(is_early || insertion.removal.is_none());
            assert!(insertion.removal.is_none_or(|removal| removal == record));
            if record >= 1000 && record % 3 == 0 && (record - 1000) % 5 != 0 {
                assert_eq!(inserted.take(value(record - 1000), record), Some(record - 1000));
            }
        }
        for record in (0..inserts - 1000).filter(|record| (record + 1000) % 3 != 0 && record % 5 != 0) {
            assert_eq!(inserted.find(value(record)), Some(record));
        }
        assert!(!inserted.insert(value(7), 0).is_new);
        assert!(!inserted.has(value(inserts)));
    }
}
