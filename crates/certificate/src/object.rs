//! Evidence about linearizability.
//!
//! For `consistent`: an order of the operations of each object, which the verifier runs; for an exchanger, the pairs.
//! For a violation: the few operations that cannot be, or where there is no such core, the operation at whose return no
//! order is left.

use history::{OperationId, Value};

/// An order of the operations on one object (of one key; of one element of a set). Pending operations that are not in it
/// did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Linearization {
    /// The operations, each at the moment at which it takes effect.
    pub order: Vec<OperationId>,
    /// What the pending operations in it return, where they return something.
    pub results: Vec<(OperationId, Value)>,
}

/// The time that a value, which is inserted only once, spends in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Its insertion.
    pub insert: OperationId,
    /// Its removal; none if no operation that returned removed it.
    pub remove: Option<OperationId>,
    /// Those of the peeks that saw it on which the violation hangs.
    pub peeks: Box<[OperationId]>,
}

impl Stay {
    /// The stay of a value that no peek tells of.
    pub fn new(insert: OperationId, remove: Option<OperationId>) -> Self {
        Self { insert, remove, peeks: Box::default() }
    }
}

/// All operations on one value of a register that is written only once: they stand together in every linearization,
/// the write first. What matters is which returned first, and which was called last.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The write; none for the initial value.
    pub write: Option<OperationId>,
    /// The one that returned first; none for the initial value, which was there before all.
    pub returned: Option<OperationId>,
    /// The one that was called last.
    pub called: OperationId,
}

/// The operations that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Core {
    /// This operation returned a value that nobody inserted or wrote.
    NeverInserted(OperationId),
    /// A value that was inserted once was removed twice.
    RemovedTwice {
        /// The insertion.
        insert: OperationId,
        /// The removals.
        removes: [OperationId; 2],
    },
    /// This operation returned a value before its only insertion or write was called.
    TooEarly {
        /// The insertion or write.
        insert: OperationId,
        /// The removal or read.
        remove: OperationId,
    },
    /// This peek returned a value that was inserted once, and was called after its removal had returned.
    TooLate {
        /// The insertion.
        insert: OperationId,
        /// The removal.
        remove: OperationId,
        /// The peek.
        peek: OperationId,
    },
    /// A queue: the first was inserted before the second, and the second was removed, or seen in front, before the first
    /// was removed or seen.
    Overtaken {
        /// Inserted first.
        first: Stay,
        /// Removed or seen first.
        second: Stay,
    },
    /// A queue: each of these values was inserted before the next, or removed or seen in front before it; and the last
    /// before the first.
    Circle(Vec<Stay>),
    /// At every moment at which this removal or peek could take effect, one of these values is certainly inside: for
    /// `empty` any value, for a value of a priority queue a larger one.
    Covered {
        /// The removal or the peek.
        removal: OperationId,
        /// Stays that together cover its time, by their beginnings.
        by: Vec<Stay>,
    },
    /// A stack: these values cannot be nested.
    Tangled(Vec<Stay>),
    /// A register: these two values cannot stand one after the other.
    Zones([Zone; 2]),
    /// An exchanger: nothing can be the partner of this exchange.
    Unpaired(OperationId),
    /// When this operation returns, every order has failed: the verifier decides again what happened up to there.
    Stuck(OperationId),
}
