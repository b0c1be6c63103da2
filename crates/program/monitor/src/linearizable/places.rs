//! Storage with fixed places: a thing stays at its place until the place is released.
//!
//! In [`Values`], a thing is also found by its value. The places of the values with the same hash form a chain.
//!
//! Invariants: place 0 always exists, and belongs to no thing. There are at least twice as many chains as values, so
//! most chains have one link or none.

use std::ops::{Index, IndexMut, Range};

use serde::{Deserialize, Serialize};

/// Things, each at its place. A released place is used again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Places<T> {
    things: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Places<T> {
    /// Storage with place 0 only, and the content of place 0.
    pub(super) fn new(at_zero: T) -> Self {
        Self { things: vec![at_zero], free: Vec::new() }
    }

    /// Takes a free place. It still holds old content, which the caller overwrites. (If the content were an argument,
    /// it would be written twice.)
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.things.push(self.things[0]);
            self.things.len() as u32 - 1
        })
    }

    /// Releases a place.
    #[inline]
    pub(super) fn release(&mut self, at: u32) {
        self.free.push(at);
    }

    /// How many places are taken.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.things.len() - 1 - self.free.len()
    }

    /// All places except place 0, free places included.
    pub(super) fn all(&self) -> Range<u32> {
        1..self.things.len() as u32
    }
}

impl<T> Index<u32> for Places<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: u32) -> &T {
        &self.things[at as usize]
    }
}

impl<T> IndexMut<u32> for Places<T> {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.things[at as usize]
    }
}

/// Things by value, each at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Values<T> {
    places: Places<Link<T>>,
    /// The first place of each chain, 0 if the chain is empty. The number of chains is a power of two.
    chains: Vec<u32>,
    /// How far to shift a hash to the right to get a chain.
    shift: u32,
}

/// A thing in its chain.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Link<T> {
    value: u64,
    /// The place of the next link of the chain, 0 at its end.
    next: u32,
    kept: T,
}

impl<T: Copy> Values<T> {
    /// Storage without values, and the content of place 0.
    pub(super) fn new(at_zero: T) -> Self {
        Self { places: Places::new(Link { value: 0, next: 0, kept: at_zero }), chains: vec![0; 16], shift: 60 }
    }

    /// How many values there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// All places except place 0, free places included.
    pub(super) fn places(&self) -> Range<u32> {
        self.places.all()
    }

    /// The chain of a value. The upper bits of the product depend on all bits of the value, and consecutive numbers get
    /// different chains.
    #[inline]
    fn chain(&self, value: u64) -> usize {
        (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The place of a value; `None` if the value is not there.
    #[inline]
    pub(super) fn find(&self, value: u64) -> Option<u32> {
        let mut at = self.chains[self.chain(value)];
        while at != 0 && self.places[at].value != value {
            at = self.places[at].next;
        }
        (at != 0).then_some(at)
    }

    /// Takes a place for a new value. It still holds old content. `None` if the value is there already.
    #[allow(clippy::inline_always)] // a call would be a good part of what an event costs
    #[inline(always)]
    pub(super) fn insert(&mut self, value: u64) -> Option<u32> {
        if self.find(value).is_some() {
            return None;
        }
        if self.len() * 2 >= self.chains.len() {
            self.spread();
        }
        let at = self.places.take();
        let chain = self.chain(value);
        let first = std::mem::replace(&mut self.chains[chain], at);
        let link = &mut self.places[at];
        link.value = value;
        link.next = first;
        Some(at)
    }

    /// Removes the value at a place.
    #[inline]
    pub(super) fn remove(&mut self, at: u32) {
        let Link { value, next, .. } = self.places[at];
        let chain = self.chain(value);
        let mut before = self.chains[chain];
        if before == at {
            self.chains[chain] = next;
        } else {
            while self.places[before].next != at {
                before = self.places[before].next;
            }
            self.places[before].next = next;
        }
        self.places.release(at);
    }

    /// Doubles the number of chains.
    #[cold]
    fn spread(&mut self) {
        self.shift -= 1;
        let twice = vec![0; self.chains.len() * 2];
        for mut at in std::mem::replace(&mut self.chains, twice) {
            while at != 0 {
                let chain = self.chain(self.places[at].value);
                let first = std::mem::replace(&mut self.chains[chain], at);
                at = std::mem::replace(&mut self.places[at].next, first);
            }
        }
    }
}

impl<T> Index<u32> for Values<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: u32) -> &T {
        &self.places[at].kept
    }
}

impl<T> IndexMut<u32> for Values<T> {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut T {
        &mut self.places[at].kept
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Values come and go. Each is found at its place, and nothing else is found.
    #[test]
    fn values_are_found_where_they_are_kept() {
        let mut values = Values::new(0);
        let mut expected = BTreeMap::new();
        let mut state = 1u64;
        for step in 0..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = ((state >> 40) % 2000) << [0, 2, 40][step as usize % 3];
            assert_eq!(values.find(value), expected.get(&value).copied());
            // The number of values grows to some hundreds, falls to zero, and so on.
            if step / 500 % 2 == 0 {
                let at = values.insert(value);
                assert_eq!(at.is_none(), expected.contains_key(&value));
                if let Some(at) = at {
                    values[at] = value;
                    expected.insert(value, at);
                }
            } else if let Some((_, at)) = expected.pop_first() {
                values.remove(at);
            }
            assert!(expected.iter().all(|(&value, &at)| values[at] == value), "step {step}");
            assert_eq!((values.len(), values[0]), (expected.len(), 0));
        }
    }
}
