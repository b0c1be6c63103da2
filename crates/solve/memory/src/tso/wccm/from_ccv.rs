//! A violation of `wccm` from one of `ccv`, which `wccm` implies.

use history::execution::EventId;
use history::{Execution, OperationId};
use model::{Derivation, Edge, Node, Step};
use rustc_hash::FxHashMap;

/// A derivation against `ccv` as one against `wccm`, by the argument for `wccm => ccv`: reads-from within a thread
/// becomes program order, and consecutive edges of program order become one edge. `None` if a read returns a later
/// write of its own thread. The cycle of `wccm` is then another one.
pub(crate) fn buffered(execution: &Execution, derivation: &Derivation) -> Option<Derivation> {
    let mut events: FxHashMap<OperationId, EventId> = FxHashMap::default();
    let nodes = derivation.steps.iter().flat_map(|step| &step.path).chain(&derivation.cycle).flat_map(|&edge| {
        let (from, to) = derivation.ends(edge);
        [from, to]
    });
    for node in nodes {
        if let Node::Operation(operation) = node {
            events.insert(operation, EventId::NONE);
        }
    }
    for id in execution.ids() {
        if let Some(event) = events.get_mut(&execution.operation(id)) {
            *event = id;
        }
    }
    let in_one_thread = |from: Node, to: Node| match (from, to) {
        (Node::Operation(from), Node::Operation(to)) => {
            let [from, to] = [from, to].map(|operation| events[&operation]);
            (execution.thread(from) == execution.thread(to)).then_some((from, to))
        }
        _ => None,
    };
    let path = |path: &[Edge]| {
        let mut merged: Vec<Edge> = Vec::with_capacity(path.len());
        for &edge in path {
            let edge = match edge {
                Edge::Rf(from, to) => match in_one_thread(from, to) {
                    Some((write, read)) if write < read => Edge::Po(from, to),
                    Some(_) => return None,
                    None => edge,
                },
                edge => edge,
            };
            match (merged.last_mut(), edge) {
                (Some(Edge::Po(_, end)), Edge::Po(_, to)) => *end = to,
                _ => merged.push(edge),
            }
        }
        Some(merged)
    };
    let step = |step: &Step| Some(Step { path: path(&step.path)?, ..step.clone() });
    // The cycle begins after an edge between threads, so that its first and last edges need not be merged.
    let is_between = |edge: &Edge| match *edge {
        Edge::Rf(from, to) => in_one_thread(from, to).is_none(),
        edge => matches!(edge, Edge::Derived(_)),
    };
    let mut cycle = derivation.cycle.clone();
    let begin = cycle.iter().position(is_between)?;
    cycle.rotate_left(begin + 1);
    Some(Derivation { steps: derivation.steps.iter().map(step).collect::<Option<_>>()?, cycle: path(&cycle)? })
}
