//! Who has written which value to which location. Every write is entered and every read looks here, so this is a flat
//! table.

use history::Value;
use memory::c11::WriteId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What is known of a value of a location, or of a label.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Writer {
    /// This write has written it.
    Write(WriteId),
    /// It is the label of an event that writes nothing.
    NoWrite,
    /// More than one event has written it.
    Several,
    /// An event that was left out has.
    LeftOut,
}

/// A value of a location.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Key {
    value: Value,
    location: u32,
}

/// That of a write that was forgotten.
const NO_KEY: Key = Key { value: Value::NONE, location: u32::MAX };
/// In a slot: no write.
const FREE: u32 = u32::MAX;

/// By location and value: who has written it.
///
/// A write is in the first slot, from that of the hash of its key on, that was free. At most half of the slots are
/// taken; their number is a power of two. A write that was forgotten stays in its slot, without a key, until the table
/// is made anew. If its number has been given to another write by then, that one is found there, too, which is as well.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Writers {
    /// By write.
    keys: Vec<Key>,
    slots: Vec<u32>,
    /// How many bits of a hash do not tell the slot.
    shift: u32,
    taken: usize,
    /// What has no single writer; most often nothing.
    others: FxHashMap<Key, Writer>,
}

/// How many bits of a hash do not tell which of so many slots: a power of two.
const fn shift(slots: usize) -> u32 {
    slots.leading_zeros() + 1
}

impl Default for Writers {
    fn default() -> Self {
        let (keys, others) = Default::default();
        Self { keys, slots: vec![FREE; Self::LEAST], shift: shift(Self::LEAST), taken: 0, others }
    }
}

impl Writers {
    const LEAST: usize = 16;

    /// The slot of a key, or the free one where it would be entered.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn find(&self, key: Key) -> usize {
        let bits = key.value.bits().wrapping_add(u64::from(key.location).wrapping_mul(0xd6e8_feb8_6659_fd93));
        let mask = self.slots.len() - 1;
        // Multiples of the golden ratio are far apart: values that follow each other do not meet.
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

    /// What a write that was entered has written, and where.
    #[inline]
    pub(super) fn written(&self, write: WriteId) -> (u32, Value) {
        let Key { value, location } = self.keys.get(write.index()).copied().unwrap_or(NO_KEY);
        (location, value)
    }

    /// A write has written a value.
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

    /// An event that is no write to be read from has written a value, or has a label.
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

    /// After some were forgotten: what was written several times may not be so any more, and slots can be free again.
    pub(super) fn look_again(&mut self) {
        let slots = self.slots.len();
        if !self.others.is_empty() || self.taken > slots / 8 * 3 {
            self.others.retain(|_, writer| *writer == Writer::LeftOut);
            self.make_anew(slots);
        } else if self.taken < slots / 32 && slots > Self::LEAST {
            self.make_anew(slots / 2);
        }
    }

    /// Enters all that there is anew, in so many slots.
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
