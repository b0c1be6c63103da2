//! Why work ended without a result: a limit of the [budget](crate::Budget), or one of the work itself. It becomes the
//! reason of the verdict `unknown`.

use std::fmt;

use thiserror::Error;

/// Why an engine gave up. Its verdict is then `unknown`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum GaveUp {
    /// The time is over.
    #[error("the time limit was reached")]
    Time,
    /// Somebody [cancelled](crate::Cancel) it.
    #[error("it was cancelled")]
    Cancelled,
    /// It may not ask its budget [again](crate::Budget::asks).
    #[error("the number of steps that was allowed is used up")]
    Asks,
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
    /// Whether nobody else may go on either: the time or the budget's answers are over for all, or all was cancelled.
    /// If it was memory or the steps of a turn, another way to decide may need less.
    pub const fn ends_all(self) -> bool {
        matches!(self, Self::Time | Self::Cancelled | Self::Asks)
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
