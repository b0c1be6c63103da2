//! Who has written which value to which location. Every write is entered and every read looks here, so this is a flat table.

use history::Value;
use serde::{Deserialize, Serialize};

/// What is known of a value of a location, or of a label.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Writer {
    /// This event has written it.
    Event(u32),
    /// More than one event has.
    Several,
    /// An event that was left out has.
    LeftOut,
}

/// A writer, or none. (This is smaller than an `Option<Writer>`.)
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Packed(u32);

impl Packed {
    const NONE: Self = Self(0);
    const SEVERAL: Self = Self(1);
    const LEFT_OUT: Self = Self(2);

    const fn new(writer: Writer) -> Self {
        match writer {
            Writer::Event(event) => Self(event + 3),
            Writer::Several => Self::SEVERAL,
            Writer::LeftOut => Self::LEFT_OUT,
        }
    }

    const fn writer(self) -> Option<Writer> {
        match self {
            Self::NONE => None,
            Self::SEVERAL => Some(Writer::Several),
            Self::LEFT_OUT => Some(Writer::LeftOut),
            Self(event) => Some(Writer::Event(event - 3)),
        }
    }
}

#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
struct Slot {
    value: Value,
    location: u32,
    writer: Packed,
}

const FREE: Slot = Slot { value: Value::ZERO, location: 0, writer: Packed::NONE };

/// By location and value: who has written it.
///
/// At most three quarters of the slots are taken; their number is a power of two. An entry is in the first slot, from that of its hash on,
/// that was free.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Writers {
    slots: Vec<Slot>,
    taken: usize,
    has_left_out: bool,
}

impl Default for Writers {
    fn default() -> Self {
        Self { slots: vec![FREE; Self::LEAST], taken: 0, has_left_out: false }
    }
}

impl Writers {
    const LEAST: usize = 16;

    /// The slot of a value, or the free one where it would be entered.
    #[inline]
    fn find(&self, location: u32, value: Value) -> usize {
        let key = value.bits().wrapping_add(u64::from(location).wrapping_mul(0xd6e8_feb8_6659_fd93));
        let mask = self.slots.len() - 1;
        // Multiples of the golden ratio are far apart: values that follow each other do not meet.
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (mask.leading_zeros());
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.value == value && slot.location == location || slot.writer == Packed::NONE {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub(super) fn get(&self, location: u32, value: Value) -> Option<Writer> {
        self.slots[self.find(location, value)].writer.writer()
    }

    /// One more event has written a value.
    #[inline]
    pub(super) fn enter(&mut self, location: u32, value: Value, writer: Writer) {
        self.has_left_out |= writer == Writer::LeftOut;
        let at = self.find(location, value);
        let slot = &mut self.slots[at];
        if slot.writer != Packed::NONE {
            slot.writer = Packed::SEVERAL;
            return;
        }
        *slot = Slot { value, location, writer: Packed::new(writer) };
        self.taken += 1;
        if self.taken > self.slots.len() / 4 * 3 {
            self.resize(2 * self.slots.len());
        }
    }

    /// Forgets all but what events that were left out have written. There is room for as much as there was.
    pub(super) fn keep_left_out(&mut self) {
        let slots = (self.taken / 3 * 4).next_power_of_two().max(Self::LEAST);
        if self.has_left_out || slots < self.slots.len() / 2 {
            self.slots.iter_mut().filter(|slot| slot.writer != Packed::LEFT_OUT).for_each(|slot| *slot = FREE);
            self.resize(slots);
        } else {
            self.slots.fill(FREE);
            self.taken = 0;
        }
    }

    /// Enters all that there is anew, in so many slots.
    #[cold]
    fn resize(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.slots, vec![FREE; slots]);
        self.taken = 0;
        for slot in old {
            if slot.writer != Packed::NONE {
                let at = self.find(slot.location, slot.value);
                self.slots[at] = slot;
                self.taken += 1;
            }
        }
    }
}
