//! Derivations from the edges of a [`CommitGraph`]. Each edge says why it holds, so no path has to be found but the
//! causal ones.

use history::{KeyId, OperationId};
use model::transaction::{TransactionDerivation, TransactionEdge, TransactionNode, TransactionRule, TransactionStep};
use order::saturation::NONE;

use super::{append, closed, node};
use crate::graph::{CommitGraph, EdgeReason};
use crate::view::{INIT, TransactionView};
use crate::weak::causal_path;

/// Derivations from the edges of a [`CommitGraph`].
pub struct OfGraph<'a> {
    /// The transactions.
    pub view: &'a TransactionView,
    /// Session order, reads-from and real time, over transactions.
    pub before: &'a CommitGraph,
    /// How many transactions a vertex number is divided by to be that of its transaction: one or two.
    pub split: bool,
}

impl OfGraph<'_> {
    fn transaction(&self, vertex: u32) -> Option<u32> {
        let t = if self.split { vertex / 2 } else { vertex };
        ((t as usize) < self.view.len()).then_some(t)
    }

    /// The derivation of a cycle, given as numbers of edges.
    pub fn cycle(&self, graph: &CommitGraph, cycle: &[u32]) -> TransactionDerivation {
        let edges: Vec<_> = cycle.iter().map(|&edge| graph.edges[edge as usize]).collect();
        let begin = edges.iter().position(|edge| self.transaction(edge.from).is_some()).unwrap_or(0);
        let mut derivation = TransactionDerivation::default();
        let mut path = Vec::new();
        let mut from = INIT;
        let mut pending = None;
        for edge in edges[begin..].iter().chain(&edges[..begin]) {
            if let Some(t) = self.transaction(edge.from)
                && pending.is_none()
            {
                from = t;
            }
            let why = pending.filter(|_| edge.why == EdgeReason::Aside).unwrap_or(edge.why);
            match (why, self.transaction(edge.to)) {
                (EdgeReason::Aside, _) => {}
                (why, None) => pending = Some(why),
                (why, Some(to)) => {
                    pending = None;
                    let edge = self.edge(&mut derivation, from, to, why);
                    append(&mut path, edge);
                }
            }
        }
        derivation.cycle = closed(path);
        derivation
    }

    /// The derivation of a pair that is forced before the initial transaction.
    pub fn overwritten(&self, from: u32, why: EdgeReason) -> TransactionDerivation {
        let mut derivation = TransactionDerivation::default();
        let edge = self.edge(&mut derivation, from, INIT, why);
        derivation.cycle = vec![TransactionEdge::Session(TransactionNode::Init, node(self.view, from)), edge];
        derivation
    }

    fn edge(&self, derivation: &mut TransactionDerivation, from: u32, to: u32, why: EdgeReason) -> TransactionEdge {
        let view = self.view;
        let (begin, end) = (node(view, from), node(view, to));
        let reader = |operation: u32| {
            let found = view.all().find_map(|t| {
                let read = view.reads_of(t).iter().find(|read| read.operation == operation)?;
                Some((t, *read))
            });
            found.expect("a reason names a read of the view")
        };
        let (rule, path) = match why {
            EdgeReason::Aside | EdgeReason::Session => return TransactionEdge::Session(begin, end),
            EdgeReason::RealTime => return TransactionEdge::RealTime(begin, end),
            EdgeReason::Reads(operation) => return TransactionEdge::Reads(begin, end, OperationId(operation)),
            EdgeReason::Version(key) => return TransactionEdge::Version(begin, end, KeyId(key)),
            EdgeReason::BySession(read) => {
                let path = vec![TransactionEdge::Session(begin, node(view, reader(read).0))];
                (TransactionRule::Overwritten { read: OperationId(read) }, path)
            }
            EdgeReason::ByRealTime(read) => {
                let path = vec![TransactionEdge::RealTime(begin, node(view, reader(read).0))];
                (TransactionRule::Overwritten { read: OperationId(read) }, path)
            }
            EdgeReason::ByRead(earlier, read) if earlier < read => {
                (TransactionRule::ReadBefore { earlier: OperationId(earlier), read: OperationId(read) }, Vec::new())
            }
            EdgeReason::ByRead(other, read) => {
                let path = vec![TransactionEdge::Reads(begin, node(view, reader(read).0), OperationId(other))];
                (TransactionRule::Overwritten { read: OperationId(read) }, path)
            }
            EdgeReason::ByCause(read) => {
                let path = self.causal_path(from, reader(read).0);
                (TransactionRule::Overwritten { read: OperationId(read) }, path)
            }
            EdgeReason::Next(read) => {
                let (_, of_reader) = reader(read);
                let source = node(view, of_reader.source);
                let path = if of_reader.source == INIT {
                    TransactionEdge::Session(source, end)
                } else if view.is_list[of_reader.key as usize] {
                    TransactionEdge::Version(source, end, KeyId(of_reader.key))
                } else {
                    let next = view.reads_of(to).iter().find(|other| other.key == of_reader.key);
                    TransactionEdge::Reads(source, end, OperationId(next.map_or(NONE, |next| next.operation)))
                };
                (TransactionRule::AntiDependency { read: OperationId(read) }, vec![path])
            }
        };
        let number = derivation.steps.len() as u32;
        derivation.steps.push(TransactionStep { rule, from: begin, to: end, path, others: Vec::new() });
        TransactionEdge::Derived(number)
    }

    fn causal_path(&self, from: u32, to: u32) -> Vec<TransactionEdge> {
        let mut path = Vec::new();
        let mut begin = from;
        for number in causal_path(self.before, from, to) {
            let edge = self.before.edges[number as usize];
            if (edge.from as usize) < self.view.len() {
                begin = edge.from;
            }
            if edge.why != EdgeReason::Aside {
                let (from, to) = (node(self.view, begin), node(self.view, edge.to));
                append(
                    &mut path,
                    match edge.why {
                        EdgeReason::RealTime => TransactionEdge::RealTime(from, to),
                        EdgeReason::Reads(read) => TransactionEdge::Reads(from, to, OperationId(read)),
                        _ => TransactionEdge::Session(from, to),
                    },
                );
            }
        }
        path
    }
}
