//! Evidence: derivations of violations.
//!
//! | module | from |
//! | --- | --- |
//! | [`graph`] | cycles of graphs whose edges say why they hold |
//! | [`frame`] | the edges of a saturated order, which [`order::explain`] explains; the premises of its rules |
//!
//! In both, two steps of session order that follow each other are told as one.

pub mod frame;
pub mod graph;

use model::transaction::{TransactionDerivation, TransactionEdge, TransactionNode};
use rustc_hash::FxHashMap;

use crate::Stop;
use crate::view::{ExternalRead, INIT, TransactionView};
use graph::OfGraph;

/// A transaction, or the initial one, as a node of a derivation.
fn node(view: &TransactionView, t: u32) -> TransactionNode {
    if t == INIT { TransactionNode::Init } else { TransactionNode::Transaction(view.ids[t as usize]) }
}

/// Appends an edge to a path. Two steps of session order become one.
fn append(path: &mut Vec<TransactionEdge>, edge: TransactionEdge) {
    match (path.last_mut(), edge) {
        (Some(TransactionEdge::Session(_, end)), TransactionEdge::Session(_, to)) => *end = to,
        _ => path.push(edge),
    }
}

/// A cycle that does not begin in the middle of a session: its last step in session order and its first become one.
fn closed(mut cycle: Vec<TransactionEdge>) -> Vec<TransactionEdge> {
    if let ([TransactionEdge::Session(_, to), .., TransactionEdge::Session(from, _)], true) =
        (&cycle[..], cycle.len() > 2)
    {
        cycle[0] = TransactionEdge::Session(*from, *to);
        cycle.pop();
    }
    cycle
}

/// The reads of a view by their operations.
pub fn reads(view: &TransactionView) -> FxHashMap<u32, (u32, ExternalRead)> {
    view.all().flat_map(|t| view.reads_of(t).iter().map(move |read| (read.operation, (t, *read)))).collect()
}

impl Stop {
    /// The derivation of what stopped a pass over the pairs of a weak level.
    pub(crate) fn derivation(&self, of: &OfGraph<'_>) -> Option<TransactionDerivation> {
        match *self {
            Self::Overwritten { from, why } => Some(of.overwritten(from, why)),
            Self::GaveUp(_) => None,
        }
    }
}
