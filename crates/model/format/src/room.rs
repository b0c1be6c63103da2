//! Refuses a history that would not fit into memory, with a message, before the allocator fails.
//!
//! The size of a history is estimated from the sizes of its tables, once for each buffer that is read. When the size
//! has grown, the reader asks the system how much memory is left. That must suffice for the tables to double, and for
//! the work after parsing.

use budget::Budget;

use super::builder::Builder;
use super::error::Fault;
use super::input::Input;

/// For a history smaller than this many bytes, the system is not asked.
const UNCHECKED_SIZE: usize = 16 << 20;
/// The memory that is left must be this many times the size of the history. A table that grows takes twice its size in
/// addition to itself, and checkers make tables of their own.
const HEADROOM_FACTOR: usize = 3;

/// The room that a history may take, within the budget of its input.
#[derive(Debug)]
pub(super) struct Room {
    /// How many buffers had been read at the last check.
    refills: u64,
    /// The size of the history at the last check.
    size: usize,
    /// The size at which the system is asked again.
    next: usize,
}

impl Room {
    pub const fn new() -> Self {
        Self { refills: 0, size: 0, next: UNCHECKED_SIZE }
    }

    /// Checks the size, once for each buffer. `besides` is the memory of the reader itself.
    #[inline]
    pub fn check(&mut self, input: &Input, builder: &Builder, besides: usize) -> Result<(), Fault> {
        if input.refills() == self.refills {
            return Ok(());
        }
        self.refills = input.refills();
        self.ask(input.allowance().budget(), builder.footprint() + besides)
    }

    #[cold]
    fn ask(&mut self, budget: &Budget, size: usize) -> Result<(), Fault> {
        if size < self.size {
            // Another history began. The last one may still be in memory, so the system is asked again early.
            self.next = UNCHECKED_SIZE;
        }
        self.size = size;
        if size < self.next {
            return Ok(());
        }
        self.next = size + size / 8;
        match budget.left() {
            Some(left) if size.saturating_mul(HEADROOM_FACTOR) > left => {
                let [size, left] = [size, left].map(|bytes| bytes >> 20);
                let message =
                    format!("too large: the history takes {size} MiB so far, and {left} MiB of memory are left");
                Err(Fault::new(0, message).expected("a history that fits into a quarter of the memory"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a history of this estimated size would be accepted.
    pub fn allows(budget: &Budget, size: usize) -> bool {
        size < UNCHECKED_SIZE || budget.left().is_none_or(|left| size.saturating_mul(HEADROOM_FACTOR) <= left)
    }
}
