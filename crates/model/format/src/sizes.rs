//! The sizes of accesses to a memory.
//!
//! Invariant: all accesses of a history that state a size have one size, and no two locations that are numbers are
//! nearer to each other than that. So equal locations are the same bytes, and others share none. Accesses of mixed
//! sizes are not modelled: a history with some is refused.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::Fault;
use history::value::{Value, Words};

/// The size of the accesses so far, and their addresses.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Sizes {
    /// The size, and the line of the first access that states it.
    size: Option<(u64, u32)>,
    /// The locations that are numbers, by address, each with the line of its first access.
    addresses: BTreeMap<i128, (Value, u32)>,
}

impl Sizes {
    /// Takes in an access of a location, on this line. The fault is at the offset `at`.
    pub fn add(&mut self, words: &Words, location: Value, size: u64, line: u32, at: usize) -> Result<(), Fault> {
        let (known, first) = *self.size.get_or_insert((size, line));
        if size == 0 {
            return Err(Fault::new(at, "an access has no size of 0").expected("the size in bytes, from 1"));
        }
        if size != known {
            let message = format!(
                "this access has a size of {size}, and that on line {first} has {known}: mixed sizes are not modelled"
            );
            return Err(Fault::new(at, message).expected("one size for all accesses"));
        }
        // Addresses of more than 128 bits are no addresses of this world: they are names.
        let Ok(address) = words.canonical(location).parse::<i128>() else { return Ok(()) };
        if self.addresses.contains_key(&address) {
            return Ok(());
        }
        let size = i128::from(size);
        let below = self.addresses.range(..address).next_back().filter(|&(&other, _)| address - other < size);
        let above = self.addresses.range(address..).next().filter(|&(&other, _)| other - address < size);
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
