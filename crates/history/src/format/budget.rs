//! Refuses a history that would not fit into memory, with a message, before the allocator fails.
//!
//! The size of a history is estimated from the sizes of its tables, once for each buffer that is read. When the size
//! has grown, the reader asks the system how much memory is left. That must suffice for the tables to double, and for
//! the work after parsing.

use std::fs;

use super::builder::Builder;
use super::error::Fault;
use super::input::Input;

/// For a history smaller than this many bytes, the system is not asked.
const UNCHECKED_SIZE: usize = 16 << 20;
/// The memory that is left must be this many times the size of the history. A table that grows takes twice its size in
/// addition to itself, and checkers make tables of their own.
const HEADROOM_FACTOR: usize = 3;

/// How many bytes of memory this process may still take. `None` if the system does not say.
pub fn available_memory() -> Option<usize> {
    let limits = [of_machine(), of_address_space(), of_group()];
    limits.into_iter().flatten().min().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// The first number after `name` in a file whose lines begin with names.
fn number(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn of_machine() -> Option<u64> {
    Some(number("/proc/meminfo", "MemAvailable:")? << 10)
}

/// What is left of the limit of `ulimit -v`.
fn of_address_space() -> Option<u64> {
    let limit = number("/proc/self/limits", "Max address space")?;
    Some(limit.saturating_sub(number("/proc/self/status", "VmSize:")? << 10))
}

/// What is left of the limit of a container. The file cache of the container does not count: it can be dropped.
fn of_group() -> Option<u64> {
    let limit = number("/sys/fs/cgroup/memory.max", "")?;
    let taken = number("/sys/fs/cgroup/memory.current", "")?;
    Some(limit.saturating_sub(taken.saturating_sub(number("/sys/fs/cgroup/memory.stat", "file ")?)))
}

/// The memory that a reader may use.
#[derive(Debug)]
pub(super) struct Budget {
    /// How many buffers had been read at the last check.
    refills: u64,
    /// The size of the history at the last check.
    size: usize,
    /// The size at which the system is asked again.
    next: usize,
}

impl Budget {
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
        self.ask(builder.footprint() + besides)
    }

    #[cold]
    fn ask(&mut self, size: usize) -> Result<(), Fault> {
        if size < self.size {
            // Another history began. The last one may still be in memory, so the system is asked again early.
            self.next = UNCHECKED_SIZE;
        }
        self.size = size;
        if size < self.next {
            return Ok(());
        }
        self.next = size + size / 8;
        match available_memory() {
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
    pub fn allows(size: usize) -> bool {
        size < UNCHECKED_SIZE || available_memory().is_none_or(|left| size.saturating_mul(HEADROOM_FACTOR) <= left)
    }
}
