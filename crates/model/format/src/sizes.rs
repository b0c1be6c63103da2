//! The sizes of accesses to a memory.
//!
//! Invariant: all accesses of a history that state a size have one size, and if any does, no two locations that are
//! numbers are nearer to each other than that. So equal locations are the same bytes, and others share none. Accesses
//! of mixed sizes are not modelled: a history with some is refused. An access that states no size is as large as the
//! others; it is looked at when the history is whole.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use super::error::Fault;
use history::value::{Value, Words};

/// The size of the accesses so far, and their addresses.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Sizes {
    /// The size, and the line of the first access that states it.
    size: Option<(NonZeroU64, u32)>,
    /// The locations that are numbers, by address, each with the line of its first access.
    addresses: BTreeMap<i128, (Value, u32)>,
}

impl Sizes {
    /// Whether any access states its size.
    pub fn are_known(&self) -> bool {
        self.size.is_some()
    }

    /// Takes in an access of a location that states its size, on this line. The fault is at the offset `at`.
    pub fn add(&mut self, words: &Words, location: Value, size: NonZeroU64, line: u32, at: usize) -> Result<(), Fault> {
        let (known, first) = *self.size.get_or_insert((size, line));
        if size != known {
            let message = format!(
                "this access has a size of {size}, and that on line {first} has {known}: mixed sizes are not modelled"
            );
            return Err(Fault::new(at, message).expected("one size for all accesses"));
        }
        self.add_like_others(words, location, line, at)
    }

    /// Like [`Self::add`], for an access that is as large as the others.
    pub fn add_like_others(&mut self, words: &Words, location: Value, line: u32, at: usize) -> Result<(), Fault> {
        let Some((size, _)) = self.size else { return Ok(()) };
        // Addresses of more than 128 bits are no addresses of this world: they are names.
        let Ok(address) = words.canonical(location).parse::<i128>() else { return Ok(()) };
        if self.addresses.contains_key(&address) {
            return Ok(());
        }
        let bytes = i128::from(size.get());
        let below =
            self.addresses.range(..address).next_back().filter(|&(&other, _)| address.saturating_sub(other) < bytes);
        let above = self.addresses.range(address..).next().filter(|&(&other, _)| other.saturating_sub(address) < bytes);
        if let Some((_, &(other, line))) = below.or(above) {
            let message = format!(
                "the {size} bytes at {} overlap those at {}, on line {line}, partly: mixed sizes are not modelled",
                words.show_key(location),
                words.show_key(other),
            );
            return Err(Fault::new(at, message).expected("accesses of whole locations"));
        }
        self.addresses.insert(address, (location, line));
        Ok(())
    }
}
