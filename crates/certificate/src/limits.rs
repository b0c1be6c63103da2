//! The limits of all engines: when to give up, and why an engine gave up.

use std::time::Instant;

use thiserror::Error;

/// What is said when the time is over.
pub const OUT_OF_TIME: &str = "the time limit was reached";

/// When an engine has to stop.
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

    /// Never stop.
    pub const fn never() -> Self {
        Self { deadline: None }
    }

    /// Whether it is time to stop.
    pub fn is_due(self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Gives up if it is time to stop.
    pub fn check(self) -> Result<(), GaveUp> {
        if self.is_due() { Err(GaveUp::Time) } else { Ok(()) }
    }
}

/// Why an engine gave up. Its verdict is then [unknown](crate::Verdict::Unknown).
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum GaveUp {
    /// The time is over.
    #[error("{OUT_OF_TIME}")]
    Time,
    /// The steps of this turn are used up. An engine that may go on in a later turn says so.
    #[error("the steps that it was given are used up")]
    Steps,
    /// There is not enough memory for the clocks.
    #[error(
        "{clocks} vector clocks of {entries} entries would take {} GiB, and the limit is {} GiB",
        bytes >> 30, limit >> 30
    )]
    Clocks {
        /// How many clocks.
        clocks: usize,
        /// How many entries each has.
        entries: usize,
        /// How many bytes they would take.
        bytes: usize,
        /// How many bytes they may take.
        limit: usize,
    },
    /// There is not enough memory for clocks, or for the states that a search remembers.
    #[error("the vector clocks or the search would take more than {} GiB", limit >> 30)]
    Memory {
        /// How many bytes they may take.
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
