//! Which model implies which.
//!
//! Most implications are plain from the definitions, or the papers state them. The following ones need an argument from
//! the axioms. Two facts serve them all. Each of the stronger models excludes that a thread reads its own later write,
//! so `rf` within a thread is part of `po`. And a path of `po u rf` enters a thread by `rfe`, at a read, and leaves it
//! by `rfe`, at a write.
//!
//! - `tso => sra`, with the store order as `mo`.
//!   - `hb u mo` is acyclic: a path of `po u rf` from a write to a write is a path of `ppo u rfe`, because in each
//!     thread it leads from a read or a write to a write, and `ppo` has all these pairs. So `hb` between writes, and
//!     `mo`, both agree with the memory order.
//!   - No read r of w knows of a write w' that overwrote w: suppose that w `mo` w' and w' `hb` r, so r `rw` w'. If the
//!     path from w' to r enters the thread of r from another thread, it does so at a read, which is r or is before r in
//!     `ppo`. So w' is before r in the memory order, and `rw` closes a cycle. If not, w' is of the thread of r. Then w'
//!     `po-loc` r, and `rw` closes a cycle of coherence.
//!   - No write stands between an rmw and its source, since `rw` puts the rmw before that write.
//! - `wtso => ra`. The same paths are in one of the two `hb_B` of `wtso`. So `st` has all pairs of `co` between writes
//!   of one location, and all pairs of `cf[co]`. Take a chain of rmws, each of which reads the write before it. A write
//!   that comes after one write of the chain in `st` comes after all of them, by `rw`. A write that comes before one
//!   comes before all, by `cf`. So the chains of a location can be put into a total order that extends `st`. This order
//!   is the `mo` of `ra`.
//! - `wccm => ccv`. Take a path of `co` from a write to a read of its location. If it enters the thread of the read
//!   from another thread, it is a path of `ppo u rfe`. If not, the write is of that thread, and the pair is in
//!   `po-loc`. So `cf[co]` is part of `wpww`.
//!   - `po u rf u cf[co]` is acyclic: suppose that it has a cycle. Only `po` leads out of a pure read. If `po` also
//!     leads into it, the two edges are replaced by one. Then `po` leads only to writes, so the cycle is one of `ppo u
//!     rfe u wpww`.
//!   - There is no w `co` w' `co` r for a read r of w: `whb` would put w before w', and `cf[co]` would put w' before w.
//! - `wccm => wra`. `cc` follows from `ccv`. If two rmws read one write, `rw[wpww]` puts each of them before the other.
//! - `wpso => relaxed`. The argument is that of `wtso => ra`, with `po-loc` instead of `co`. A cycle of `po u rf` leads
//!   through each thread from a read to a write, and `ppo` has these pairs in `wpso`, too.
//!
//! There are no other implications: the corpus refutes every implication that does not follow from these.

use std::sync::OnceLock;

use certificate::{Derivation, Edge, Model, Node, Step, Verdict};
use history::execution::EventId;
use history::{Execution, OperationId};
use rustc_hash::FxHashMap;

/// Pairs of a model and the next weaker ones that it implies, from the [table](certificate::model) of models; the
/// strongest first. The others follow by transitivity.
///
/// ```
/// use certificate::Model;
/// use memory::lattice::implications;
///
/// let is_stated = |stronger, weaker| implications().any(|pair| pair == (stronger, weaker));
/// assert!(is_stated(Model::Tso, Model::Pso));
/// // `tso` also implies `coherence`, by way of `pso`.
/// assert!(!is_stated(Model::Tso, Model::Coherence));
/// ```
pub fn implications() -> impl Iterator<Item = (Model, Model)> {
    Model::every().rev().flat_map(|model| model.row().implies.iter().map(move |&weaker| (model, weaker)))
}

/// The bit of a model, by its number in the table.
const fn bit(model: Model) -> u64 {
    1 << model as u64
}

/// Whether every execution that `stronger` allows is allowed by `weaker`.
///
/// ```
/// use certificate::Model;
/// use memory::lattice::implies;
///
/// assert!(implies(Model::Sc, Model::Tso));
/// assert!(!implies(Model::Tso, Model::Sc));
/// ```
pub fn implies(stronger: Model, weaker: Model) -> bool {
    // By model: a bit for each model that it implies.
    static IMPLIED: OnceLock<Vec<u64>> = OnceLock::new();
    let implied = IMPLIED.get_or_init(|| {
        let mut implied: Vec<u64> = Model::every().map(bit).collect();
        // As many rounds as there are models: the longest chain of implications has no more steps.
        for _ in Model::every() {
            for (from, to) in implications() {
                implied[from as usize] |= implied[to as usize];
            }
        }
        implied
    });
    implied[stronger as usize] & bit(weaker) != 0
}

/// The verdicts of some models: one bit for each model that holds, and one for each that fails.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Verdicts {
    holds: u64,
    fails: u64,
}

impl Verdicts {
    /// Notes a verdict. An unknown one says nothing.
    pub(crate) fn note(&mut self, model: Model, verdict: Verdict) {
        match verdict {
            Verdict::Consistent => self.holds |= bit(model),
            Verdict::Violation => self.fails |= bit(model),
            Verdict::Unknown => {}
        }
    }

    /// The verdict of a model, if it was noted.
    pub(crate) fn of(self, model: Model) -> Option<Verdict> {
        if self.holds & bit(model) != 0 {
            Some(Verdict::Consistent)
        } else {
            (self.fails & bit(model) != 0).then_some(Verdict::Violation)
        }
    }
}

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
