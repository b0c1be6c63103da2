//! Evidence about linearizability.
//!
//! For `consistent`, it is an order of the operations of each object, which the verifier runs; for an exchanger, it is
//! the pairs. For a violation, it is a core: a few operations that contradict each other. If no such core is known, it
//! is the operation at whose return no order is left.

use history::{OperationId, Value};

/// An order of the operations on one object. Each key has an object of its own, and so has each element of a set.
/// Pending operations that are not in the order did not happen.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Linearization {
    /// The operations, in the order in which they take effect.
    pub order: Vec<OperationId>,
    /// The results of the pending operations in the order, if they return something.
    pub results: Vec<(OperationId, Value)>,
}

/// The stay of a value in a container. The value is inserted only once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Its insertion.
    pub insert: OperationId,
    /// Its removal; none if no operation that returned removed it.
    pub remove: Option<OperationId>,
    /// The peeks that saw the value, as far as the violation depends on them.
    pub peeks: Box<[OperationId]>,
}

impl Stay {
    /// The stay of a value, without peeks.
    pub fn new(insert: OperationId, remove: Option<OperationId>) -> Self {
        Self { insert, remove, peeks: Box::default() }
    }
}

/// All operations on one value of a register. The value is written only once. So these operations stand together in
/// every linearization, the write first. Only two of them matter: the first to return, and the last to be called.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The write; none for the initial value.
    pub write: Option<OperationId>,
    /// The operation that returned first; none for the initial value, which was there before all operations.
    pub returned: Option<OperationId>,
    /// The operation that was called last.
    pub called: OperationId,
}

/// Operations that contradict each other: no linearization can contain them.
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
    /// A queue: the first value was inserted before the second, but the second was removed, or seen in front, before
    /// the first was.
    Overtaken {
        /// The value that was inserted first.
        first: Stay,
        /// The value that was removed or seen first.
        second: Stay,
    },
    /// A queue: each of these values must come before the next, and the last before the first. A value must come before
    /// another if it was inserted, removed or seen in front before the other was.
    Circle(Vec<Stay>),
    /// At every moment at which this removal or peek could take effect, one of these values is certainly inside. That
    /// contradicts the result `empty`. In a priority queue it contradicts the result of a smaller value.
    Covered {
        /// The removal or the peek.
        removal: OperationId,
        /// Stays that together cover the time of the removal or peek, sorted by their beginnings.
        by: Vec<Stay>,
    },
    /// A stack: the stays of these values cannot be nested.
    Tangled(Vec<Stay>),
    /// A register: each of these two values must come before the other.
    Zones([Zone; 2]),
    /// An exchanger: no operation can be the partner of this exchange.
    Unpaired(OperationId),
    /// When this operation returns, no order is left. The verifier decides again what happened up to that return.
    Stuck(OperationId),
}

impl Stay {
    fn operations(&self) -> impl Iterator<Item = OperationId> {
        [self.insert].into_iter().chain(self.remove).chain(self.peeks.iter().copied())
    }
}

impl Core {
    /// The operations that contradict each other, some of them perhaps several times. If the core is
    /// [stuck](Self::Stuck), it is only the operation at whose return no order is left.
    pub fn operations(&self) -> Vec<OperationId> {
        match self {
            Self::NeverInserted(id) | Self::Unpaired(id) | Self::Stuck(id) => vec![*id],
            Self::RemovedTwice { insert, removes: [first, second] } => vec![*insert, *first, *second],
            Self::TooEarly { insert, remove } => vec![*insert, *remove],
            Self::TooLate { insert, remove, peek } => vec![*insert, *remove, *peek],
            Self::Overtaken { first, second } => first.operations().chain(second.operations()).collect(),
            Self::Circle(stays) | Self::Tangled(stays) => stays.iter().flat_map(Stay::operations).collect(),
            Self::Covered { removal, by } => {
                [*removal].into_iter().chain(by.iter().flat_map(Stay::operations)).collect()
            }
            Self::Zones(zones) => {
                zones.iter().flat_map(|zone| zone.write.into_iter().chain(zone.returned).chain([zone.called])).collect()
            }
        }
    }
}
