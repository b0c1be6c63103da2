//! What the system says of memory: how much this process has in use, and how much it can still get. Each answer is
//! asked for anew.

use std::fs::{self, File};
use std::io::Read;

/// How many bytes of memory this process has in use. 0 if the system does not say.
pub fn resident() -> usize {
    number("/proc/self/status", "VmRSS:").map_or(0, |kib| (kib << 10) as usize)
}

/// The most bytes of memory that this process has had in use, since it began or since the last [`restart_peak`]. `None`
/// if the system does not say.
pub fn peak() -> Option<usize> {
    number("/proc/self/status", "VmHWM:").map(|kib| (kib << 10) as usize)
}

/// Begins to measure the [peak] anew. The answer is whether the system can do that.
pub fn restart_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// How many bytes of memory this process can still get: what the machine has free, and what limits of the process and
/// of its container leave. `None` if the system does not say.
pub fn left() -> Option<usize> {
    let limits = [of_machine(), of_address_space(), of_group()];
    limits.into_iter().flatten().min().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Half of what this process could have, and at least 64 MiB: a limit that leaves the machine usable. `None` if the
/// system does not say.
pub fn half() -> Option<usize> {
    left().map(|left| (left.saturating_add(resident()) / 2).max(64 << 20))
}

/// The first number after `name` in a file whose lines begin with names.
fn number(path: &str, name: &str) -> Option<u64> {
    // The system does not say how long such a file is. With room for it, one read is enough.
    let mut text = String::with_capacity(4 << 10);
    File::open(path).ok()?.read_to_string(&mut text).ok()?;
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
