//! The exact near-linear algorithms, one module an object.
//!
//! They ask that each value is inserted or written only once (set, mutex, semaphore and exchanger do not), that a register is only
//! read and written, and that the set says what its operations returned. Where that does not hold they decline, and the
//! [search](crate::search) decides.
//!
//! Pending operations: an insertion or a write that nobody saw the value of is as good as none, and one whose value was
//! returned did happen, with a return after all others. A pending removal may have taken any value that no other
//! operation removed: [`containers`] tells how that is decided.

pub mod containers;
pub mod counter;
pub mod element;
pub mod exchanger;
pub mod gaps;
pub mod inserted;
pub mod priority_queue;
pub mod queue;
pub mod register;
pub mod stack;
pub mod taken;
pub mod whole;

use certificate::object::{Core, Linearization};

/// What an algorithm found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Linearizable; with a witness, if one was asked for.
    Linearizable(Option<Linearization>),
    /// Linearizable: an exchanger, with its pairs if a witness was asked for.
    Paired(Vec<[history::OperationId; 2]>),
    /// Not linearizable.
    Violation(Core),
    /// The algorithm cannot decide this history, for this reason.
    Declined(&'static str),
}
