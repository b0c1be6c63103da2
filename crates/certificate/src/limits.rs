//! The limits of all engines: when to give up, and why an engine gave up.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use history::ram;
use thiserror::Error;

/// What is said when the time is over.
pub const OUT_OF_TIME: &str = "the time limit was reached";
/// What is said when there is no memory left, in short.
pub const OUT_OF_MEMORY: &str = "the memory limit was reached";

/// What is said when all engines were [stopped](stop).
pub const STOPPED: &str = "it was stopped";

static IS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Makes all engines of this process give up soon, until [`go_on`] is called: somebody has lost patience. Whoever did
/// not mean to stop asks again afterwards. An engine that was given no time limit may not notice.
pub fn stop() {
    IS_STOPPED.store(true, Relaxed);
}

/// Lets engines run again after [`stop`].
pub fn go_on() {
    IS_STOPPED.store(false, Relaxed);
}

/// When an engine has to stop: at a certain moment, as soon as the process takes more [memory](history::ram) than it
/// may, and when somebody [stops](stop) all engines.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// The moment at which to stop, if there is one. The time is over as soon as this moment has come.
    pub deadline: Option<Instant>,
}

impl Interrupt {
    /// Stop at this moment, if one is given.
    pub const fn at(deadline: Option<Instant>) -> Self {
        Self { deadline }
    }

    /// Stop at no moment.
    pub const fn never() -> Self {
        Self { deadline: None }
    }

    /// Whether the engine has to stop.
    pub fn is_due(self) -> bool {
        self.is_late() || IS_STOPPED.load(Relaxed) || ram::is_exceeded()
    }

    fn is_late(self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Why an engine that has to stop has to stop.
    pub fn why(self) -> GaveUp {
        match self {
            _ if IS_STOPPED.load(Relaxed) => GaveUp::Stopped,
            late if late.is_late() => GaveUp::Time,
            _ => GaveUp::memory(),
        }
    }

    /// The same, in short.
    pub fn reason(self) -> &'static str {
        match self.why() {
            GaveUp::Stopped => STOPPED,
            GaveUp::Time => OUT_OF_TIME,
            _ => OUT_OF_MEMORY,
        }
    }

    /// Gives up if the engine has to stop.
    pub fn check(self) -> Result<(), GaveUp> {
        if self.is_due() { Err(self.why()) } else { Ok(()) }
    }
}

/// A number of bytes, as people read it.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ ..0x4000_0000 => write!(f, "{} MiB", bytes >> 20),
            bytes => write!(f, "{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        }
    }
}

/// Checks that there is room for so many clocks of so many entries, which take so many bytes.
pub fn check_room_for_clocks(clocks: usize, entries: usize, bytes: usize) -> Result<(), GaveUp> {
    if ram::has_room(bytes) {
        return Ok(());
    }
    Err(GaveUp::Clocks { clocks, entries, bytes, limit: ram::most().unwrap_or(usize::MAX) })
}

/// How many bytes a table takes that grows soon: it has room for `capacity` entries, and has `length`. While it grows,
/// the old table is there as well, so one has to ask for [room](check_room) before. 0 if the table does not grow soon.
pub const fn growth(length: usize, capacity: usize, bytes_of_entry: usize) -> usize {
    if length < capacity - capacity / 8 { 0 } else { (2 * capacity).saturating_mul(bytes_of_entry) }
}

/// Checks that there is room for a table of so many bytes.
pub fn check_room(bytes: usize) -> Result<(), GaveUp> {
    if ram::has_room(bytes) { Ok(()) } else { Err(GaveUp::memory()) }
}

/// Why an engine gave up. Its verdict is then [unknown](crate::Verdict::Unknown).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum GaveUp {
    /// The time is over.
    #[error("{OUT_OF_TIME}")]
    Time,
    /// All engines were [stopped](stop).
    #[error("{STOPPED}")]
    Stopped,
    /// The steps of this turn are used up. An engine that may go on in a later turn says so.
    #[error("the steps that it was given are used up")]
    Steps,
    /// There is not enough memory for the clocks.
    #[error(
        "{clocks} vector clocks of {entries} entries would take {}, and the memory limit is {}",
        Bytes(*bytes), Bytes(*limit)
    )]
    Clocks {
        /// How many clocks.
        clocks: usize,
        /// How many entries each has.
        entries: usize,
        /// How many bytes they would take.
        bytes: usize,
        /// How many bytes the process may take.
        limit: usize,
    },
    /// There is not enough memory for clocks, or for the states that a search remembers.
    #[error("the memory limit of {} was reached", Bytes(*limit))]
    Memory {
        /// How many bytes the process may take.
        limit: usize,
    },
    /// A search has been at more places than it can remember.
    #[error("the search remembers too many places")]
    Places,
    /// The events cannot be numbered.
    #[error("clocks count {most} events at most")]
    Events {
        /// How many events the clocks can number.
        most: usize,
    },
    /// More pairs of writes are open than can be listed.
    #[error("too many pairs of writes are open")]
    Pairs,
    /// The axioms would need too many clauses.
    #[error("too many clauses would be needed")]
    Clauses,
}

impl GaveUp {
    /// The limit of memory was reached, or would be.
    fn memory() -> Self {
        Self::Memory { limit: ram::most().unwrap_or(usize::MAX) }
    }
}
