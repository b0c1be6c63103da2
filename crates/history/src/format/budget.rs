//! Memory: a history that would not fit is refused, in words, before the allocator fails.
//!
//! What a history takes is estimated from the sizes of its tables, once for each buffer that is read. When it has grown, the system
//! is asked what is left: that must be enough for the tables to double, and for what comes after parsing.

use std::fs;

use super::builder::Builder;
use super::error::Fault;
use super::input::Input;

/// Less than this is never asked about.
const SMALL: usize = 16 << 20;
/// How many times what a history takes must be left. A table that grows takes twice its size besides itself, and checkers
/// make tables of their own.
const TIMES: usize = 3;

/// How many bytes of memory this process may still take; `None` if the system does not say.
pub fn available_memory() -> Option<usize> {
    let limits = [of_machine(), of_address_space(), of_group()];
    limits.into_iter().flatten().min().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// The first number after `name` in a file of lines that begin with names.
fn number(path: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn of_machine() -> Option<u64> {
    Some(number("/proc/meminfo", "MemAvailable:")? << 10)
}

/// `ulimit -v`.
fn of_address_space() -> Option<u64> {
    let limit = number("/proc/self/limits", "Max address space")?;
    Some(limit.saturating_sub(number("/proc/self/status", "VmSize:")? << 10))
}

/// The limit of a container. What it keeps of files can be dropped.
fn of_group() -> Option<u64> {
    let limit = number("/sys/fs/cgroup/memory.max", "")?;
    let taken = number("/sys/fs/cgroup/memory.current", "")?;
    Some(limit.saturating_sub(taken.saturating_sub(number("/sys/fs/cgroup/memory.stat", "file ")?)))
}

/// How much a reader may hold.
#[derive(Debug)]
pub(super) struct Budget {
    /// The buffer at which it was last looked at.
    refills: u64,
    /// What there was then.
    size: usize,
    /// At what size the system is asked again.
    next: usize,
}

impl Budget {
    pub const fn new() -> Self {
        Self { refills: 0, size: 0, next: SMALL }
    }

    /// Looks at what is being built, once for each buffer. `besides` is what the reader itself holds.
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
            // Another history: the last one may still be held by others.
            self.next = SMALL;
        }
        self.size = size;
        if size < self.next {
            return Ok(());
        }
        self.next = size + size / 8;
        match available_memory() {
            Some(left) if size.saturating_mul(TIMES) > left => {
                let [size, left] = [size, left].map(|bytes| bytes >> 20);
                let message =
                    format!("too large: what was read takes {size} MiB so far, and {left} MiB of memory are left");
                Err(Fault::new(0, message).expected("a history that fits into a quarter of the memory"))
            }
            _ => Ok(()),
        }
    }

    /// Whether a guess at what a history will take is within the limits.
    pub fn allows(size: usize) -> bool {
        size < SMALL || available_memory().is_none_or(|left| size.saturating_mul(TIMES) <= left)
    }
}
