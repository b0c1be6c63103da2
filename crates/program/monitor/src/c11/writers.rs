//! Which write has written which value to which location. Every write is entered here and every read looks here, so
//! this is a flat table.

use history::Value;
use memory::c11::WriteId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What is known of a value of a location, or of a label.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Writer {
    /// This write has written the value.
    Write(WriteId),
    /// An event that writes nothing has the label.
    NoWrite,
    /// More than one event has written the value, or has the label.
    Several,
    /// An event that was left out has written the value, or has the label.
    LeftOut,
}

/// A value of a location.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Key {
    value: Value,
    location: u32,
}

/// The key of a write that was forgotten.
const NO_KEY: Key = Key { value: Value::NONE, location: u32::MAX };
/// The content of a slot without a write.
const FREE: u32 = u32::MAX;

/// The writes by location and value.
///
/// A write is in the first free slot from the slot of its hash on. At most half of the slots are taken, and their
/// number is a power of two. A forgotten write stays in its slot without a key until the table is rebuilt. If its
/// number is given to a new write before that, the new write is found through this slot, too. This is harmless.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Writers {
    /// The keys by write.
    keys: Vec<Key>,
    slots: Vec<u32>,
    /// How far to shift a hash to the right to get a slot.
    shift: u32,
    taken: usize,
    /// Keys without a single writer. Most often there are none.
    others: FxHashMap<Key, Writer>,
}

/// How far to shift a hash to the right to get one of `slots` slots, a power of two.
const fn shift(slots: usize) -> u32 {
    slots.leading_zeros() + 1
}

impl Default for Writers {
    fn default() -> Self {
        let (keys, others) = Default::default();
        Self { keys, slots: vec![FREE; Self::MIN_SLOTS], shift: shift(Self::MIN_SLOTS), taken: 0, others }
    }
}

impl Writers {
    const MIN_SLOTS: usize = 16;

    /// The slot of a key, or the free slot where it would be entered.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn find(&self, key: Key) -> usize {
        let bits = key.value.bits().wrapping_add(u64::from(key.location).wrapping_mul(0xd6e8_feb8_6659_fd93));
        let mask = self.slots.len() - 1;
        // Multiples of the golden ratio are far apart, so consecutive values get different slots.
        let hash = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        let mut at = hash as usize & mask;
        loop {
            match self.keys.get(self.slots[at] as usize) {
                Some(&found) if found != key => at = (at + 1) & mask,
                _ => return at,
            }
        }
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn get(&self, location: u32, value: Value) -> Option<Writer> {
        let key = Key { value, location };
        if !self.others.is_empty()
            && let Some(&writer) = self.others.get(&key)
        {
            return Some(writer);
        }
        let write = self.slots[self.find(key)];
        (write != FREE).then_some(Writer::Write(WriteId::new(write)))
    }

    /// The location and the value that a write has written.
    #[inline]
    pub(super) fn written(&self, write: WriteId) -> (u32, Value) {
        let Key { value, location } = self.keys.get(write.index()).copied().unwrap_or(NO_KEY);
        (location, value)
    }

    /// Enters a write.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) fn enter(&mut self, location: u32, value: Value, write: WriteId) {
        let key = Key { value, location };
        self.place(key, write.index() as u32);
        match self.keys.get_mut(write.index()) {
            Some(of_write) => *of_write = key,
            None => self.add(write, key),
        }
        if self.taken > self.slots.len() / 2 {
            self.make_anew(2 * self.slots.len());
        }
    }

    #[cold]
    fn add(&mut self, write: WriteId, key: Key) {
        self.keys.resize((write.index() + 1).next_power_of_two(), NO_KEY);
        self.keys[write.index()] = key;
    }

    /// Puts a write into a slot.
    #[inline]
    fn place(&mut self, key: Key, write: u32) {
        let at = self.find(key);
        let slot = &mut self.slots[at];
        if *slot != FREE || !self.others.is_empty() && self.others.contains_key(&key) {
            return self.repeat(key);
        }
        *slot = write;
        self.taken += 1;
    }

    #[cold]
    fn repeat(&mut self, key: Key) {
        self.others.insert(key, Writer::Several);
    }

    /// Enters an event that no read can read from, for its value or its label.
    pub(super) fn enter_other(&mut self, location: u32, value: Value, writer: Writer) {
        let writer = if self.get(location, value).is_some() { Writer::Several } else { writer };
        self.others.insert(Key { value, location }, writer);
    }

    /// Forgets a write.
    #[inline]
    pub(super) fn forget(&mut self, write: WriteId) {
        if let Some(key) = self.keys.get_mut(write.index()) {
            *key = NO_KEY;
        }
    }

    /// Looks again after some writes were forgotten: a value may have a single writer again, and slots can be freed.
    pub(super) fn look_again(&mut self) {
        let slots = self.slots.len();
        if !self.others.is_empty() || self.taken > slots / 8 * 3 {
            self.others.retain(|_, writer| *writer == Writer::LeftOut);
            self.make_anew(slots);
        } else if self.taken < slots / 32 && slots > Self::MIN_SLOTS {
            self.make_anew(slots / 2);
        }
    }

    /// Rebuilds the table with `slots` slots.
    #[cold]
    fn make_anew(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, FREE);
        self.shift = shift(slots);
        self.taken = 0;
        for write in 0..self.keys.len() {
            if self.keys[write].location != NO_KEY.location {
                self.place(self.keys[write], write as u32);
            }
        }
    }
}
