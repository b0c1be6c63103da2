//! What an algorithm or a search found about a part.

use history::OperationId;
use model::object::{Core, Linearization};

/// What an algorithm found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Linearizable, with a witness if one was asked for.
    Linearizable(Option<Linearization>),
    /// An exchanger that is linearizable, with its pairs.
    Paired(Vec<[OperationId; 2]>),
    /// Not linearizable.
    Violation(Core),
    /// The algorithm cannot decide this history, for this reason.
    Declined(&'static str),
}
