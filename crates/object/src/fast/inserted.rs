//! The records of values by value, told in the order of the calls.
//!
//! Mostly a value is removed not long after it was inserted. Values that have been inserted and not removed are in a small
//! table, at a place that the value alone tells, and so are those whose removal was called before their insert. Only where two
//! values have the same place, the older goes to a large table, most of which is never touched. So it does not matter in which
//! order values come.

use super::containers::NONE;
use crate::view::ValueId;

/// How many values the small table has room for.
const NEAR: usize = 1 << 16;

/// What the small table knows of a value.
#[derive(Copy, Clone, PartialEq, Eq)]
enum State {
    /// Nothing more: it was removed.
    Gone,
    /// Its record.
    Inside(u32),
    /// Its removal, which was called before its insert.
    Awaited(u32),
}

/// What has been inserted so far.
pub struct Inserted {
    near: Vec<(u32, State)>,
    /// By value: one more than the record, 0 if there is none. Empty as long as there are none.
    far: Vec<u32>,
    count: usize,
    /// By value: whether it has been inserted, one bit each.
    ever: Vec<u64>,
}

/// What is known of a value when it is inserted.
pub struct Insertion {
    /// Whether it had not been inserted before.
    pub is_new: bool,
    /// The removal that has been waiting for it.
    pub removal: Option<u32>,
}

impl Inserted {
    /// Nothing; the numbers of values are below `count`.
    pub fn new(count: usize) -> Self {
        Self {
            near: vec![(NONE, State::Gone); count.next_power_of_two().min(NEAR)],
            far: Vec::new(),
            count,
            ever: vec![0; count.div_ceil(64)],
        }
    }

    fn near(&mut self, value: ValueId) -> &mut (u32, State) {
        let place = value.index() & (self.near.len() - 1);
        &mut self.near[place]
    }

    /// A value is inserted. If its removal has been waiting, it is gone at once.
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

    /// The same for a removal, after which the value is gone. If it has not been inserted yet, the removal may wait for that.
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

    /// More values than the small table has room for, far apart: those inside are found, each removal finds its insert
    /// or is found by it, unless another value took its place.
    #[test]
    fn values_far_apart() {
        let count = 8 * NEAR as u32;
        let value = |record: u32| ValueId(record.wrapping_mul(0x9e37_79b1) % count);
        let mut inserted = Inserted::new(count as usize);
        let inserts = 3 * NEAR as u32;
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
