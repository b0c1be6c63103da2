//! How much memory this process takes, and how much it may take.
//!
//! The limit holds for the whole process, since that is what the system counts, and what it ends when memory runs out.
//! Nobody counts the bytes of his own tables: the system says how much memory the process has in use
//! ([`resident`]). Whoever works for long asks from time to time whether that [exceeds](is_exceeded) the limit, and
//! asks for [room](has_room) before he makes a large table. A process without a limit is never stopped.

use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// There is no limit.
const NONE: usize = usize::MAX;
/// The limit is half of what is free. It is not known yet how much that is.
const HALF: usize = 0;
/// A process that takes less than this many bytes does not ask how much is free.
const SMALL: usize = 64 << 20;
/// To ask for room for fewer bytes than this is to ask whether the limit is exceeded already.
const LITTLE: usize = 1 << 20;
/// The system is asked again after this time. In so short a time a process cannot fill more than a few megabytes.
const INTERVAL: Duration = Duration::from_millis(4);

static LIMIT: AtomicUsize = AtomicUsize::new(NONE);

/// Limits the memory of this process to so many bytes.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.max(1), Relaxed);
}

/// Limits the memory of this process to half of what the machine has free.
pub fn set_limit_to_half() {
    LIMIT.store(HALF, Relaxed);
}

/// The limit in bytes. `None` if there is no limit.
pub fn limit() -> Option<usize> {
    match LIMIT.load(Relaxed) {
        NONE => None,
        HALF => {
            let bytes = left_by_system().map_or(NONE, |left| (left.saturating_add(resident()) / 2).max(SMALL));
            // Another thread may have been quicker. All threads use the first answer.
            let _ = LIMIT.compare_exchange(HALF, bytes, Relaxed, Relaxed);
            limit()
        }
        bytes => Some(bytes),
    }
}

/// Whether the process takes more memory than it may. The system is asked at most once in four milliseconds.
pub fn is_exceeded() -> bool {
    /// When the system was asked last, in nanoseconds after [`START`]; 0 if it was never asked.
    static ASKED: AtomicU64 = AtomicU64::new(0);
    static EXCEEDED: AtomicBool = AtomicBool::new(false);
    static START: OnceLock<Instant> = OnceLock::new();

    if LIMIT.load(Relaxed) == NONE {
        return false;
    }
    let now = START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1;
    let asked = ASKED.load(Relaxed);
    let is_recent = asked > 0 && now < asked + INTERVAL.as_nanos() as u64;
    if is_recent || ASKED.compare_exchange(asked, now, Relaxed, Relaxed).is_err() {
        return EXCEEDED.load(Relaxed);
    }
    let is_exceeded = !allows(0);
    EXCEEDED.store(is_exceeded, Relaxed);
    is_exceeded
}

/// Whether the process may take so many bytes more. Without a limit they must fit into what the system has left. To ask
/// for little is cheap.
pub fn has_room(bytes: usize) -> bool {
    match LIMIT.load(Relaxed) {
        NONE => bytes < SMALL || left_by_system().is_none_or(|left| bytes <= left),
        _ if bytes < LITTLE => !is_exceeded(),
        _ => allows(bytes),
    }
}

/// Whether the limit allows so many bytes more. The system is asked.
fn allows(bytes: usize) -> bool {
    let wanted = resident().saturating_add(bytes);
    let is_small = LIMIT.load(Relaxed) == HALF && wanted < SMALL;
    is_small || limit().is_none_or(|limit| wanted <= limit)
}

/// How many bytes this process may take in all: the limit, or what the system would give. `None` if nobody says.
pub fn most() -> Option<usize> {
    limit().or_else(|| Some(left_by_system()?.saturating_add(resident())))
}

/// How many bytes this process may still take: what the system has left, or what is left of the limit if that is less.
/// `None` if nobody says.
pub fn left() -> Option<usize> {
    let of_limit = limit().map(|limit| limit.saturating_sub(resident()));
    [of_limit, left_by_system()].into_iter().flatten().min()
}

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

/// How many bytes of memory this process may still take. `None` if the system does not say.
fn left_by_system() -> Option<usize> {
    let limits = [of_machine(), of_address_space(), of_group()];
    limits.into_iter().flatten().min().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
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
