//! The exact near-linear algorithms. Each object has a module.
//!
//! The algorithms have preconditions. Each value is inserted or written only once (except for set, mutex, semaphore,
//! exchanger, counter and max-register). The operations of a set say what they returned. If a precondition does not
//! hold, the algorithm declines, and the [search](crate::search) decides. A priority queue whose values repeat is first
//! tried with a guess which removal takes which [copy](copies).
//!
//! Pending operations: a pending insertion or write whose value nobody saw can be ignored. One whose value was returned
//! did happen, and is taken to return after all others. A pending removal may have taken any value that no other
//! operation removed; [`containers`] says how this is decided.

pub mod chains;
pub mod containers;
pub mod copies;
pub mod counter;
pub mod element;
pub mod exchanger;
pub mod gaps;
pub mod inserted;
pub mod largest;
pub mod priority_queue;
pub mod queue;
pub mod register;
pub mod stack;
pub mod sum;
pub mod swaps;
pub mod taken;
pub mod text;
pub mod whole;

use certificate::object::{Core, Linearization};

/// What an algorithm found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Linearizable, with a witness if one was asked for.
    Linearizable(Option<Linearization>),
    /// An exchanger that is linearizable, with its pairs.
    Paired(Vec<[history::OperationId; 2]>),
    /// Not linearizable.
    Violation(Core),
    /// The algorithm cannot decide this history, for this reason.
    Declined(&'static str),
}
