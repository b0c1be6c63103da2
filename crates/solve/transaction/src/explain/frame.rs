//! Derivations from the edges of a saturated order over a [`CommitFrame`]: the premises of the rules, and the steps.

use history::{KeyId, OperationId};
use model::transaction::{TransactionDerivation, TransactionEdge, TransactionNode, TransactionRule, TransactionStep};
use order::saturation::{Derived, NONE};
use order::{Explained, Explanation, Grounds, Hops, Premises, Saturation};
use rustc_hash::FxHashMap;

use super::{append, closed, node};
use crate::Sessions;
use crate::frame::CommitFrame;
use crate::graph::EdgeReason;
use crate::rules::Reason;
use crate::view::{ExternalRead, INIT};

/// One hop of a path of events.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CommitHop {
    /// Along a chain.
    Chain(u32, u32),
    /// Along the base.
    Base(u32, u32, EdgeReason),
    /// The derived edge of that number.
    Derived(u32),
}

/// The premises of the edges of a saturated order.
pub struct OfFrame<'a> {
    /// The frame.
    pub frame: &'a CommitFrame<'a>,
    /// The reads by their operations.
    pub reads: &'a FxHashMap<u32, (u32, ExternalRead)>,
}

impl Hops for OfFrame<'_> {
    type Hop = CommitHop;

    fn chain(&self, from: u32, to: u32) -> CommitHop {
        CommitHop::Chain(from, to)
    }

    fn derived(&self, number: u32) -> CommitHop {
        CommitHop::Derived(number)
    }

    fn base(&self, event: u32, mut reach: impl FnMut(u32, CommitHop, bool)) {
        for base in self.frame.base(event) {
            reach(base.from, CommitHop::Base(base.from, event, base.why), true);
        }
    }

    fn append(&self, path: &mut Vec<CommitHop>, hop: CommitHop) {
        match (path.last_mut(), hop) {
            (Some(CommitHop::Chain(_, end)), CommitHop::Chain(_, to)) => *end = to,
            _ => path.push(hop),
        }
    }
}

impl Premises for OfFrame<'_> {
    fn number(hop: CommitHop) -> Option<u32> {
        if let CommitHop::Derived(number) = hop { Some(number) } else { None }
    }

    fn premise(&self, edge: Derived, path: impl Fn(u32, u32) -> Vec<CommitHop>) -> Vec<CommitHop> {
        let frame = self.frame;
        match Reason::decode(edge.reason) {
            Reason::Overwritten(read) => path(edge.from, frame.r(self.reads[&read].0)),
            Reason::AntiDependency(read) => {
                let source = self.reads[&read].1.source;
                let t2 = frame.transaction(edge.to).unwrap_or(0);
                if source == INIT { Vec::new() } else { path(frame.w(source), frame.anchor(t2)) }
            }
            Reason::Conflict(_) => {
                let [u, t] = [edge.from, edge.to].map(|event| frame.transaction(event).unwrap_or(0));
                path(frame.r(u), frame.w(t))
            }
        }
    }

    /// The cycle is told from an event of a transaction on, not from a cut.
    fn tell(&self, order: &Saturation, mut cycle: Vec<CommitHop>) -> Vec<CommitHop> {
        let begin = |hop: CommitHop| match hop {
            CommitHop::Chain(from, _) | CommitHop::Base(from, ..) => from,
            CommitHop::Derived(number) => order.edge(number).from,
        };
        let first = cycle.iter().position(|&hop| begin(hop) < self.frame.events).unwrap_or(0);
        cycle.rotate_left(first);
        cycle
    }
}

/// Builds a derivation from explained edges.
pub struct TransactionDerivationBuilder<'a> {
    frame: &'a CommitFrame<'a>,
    derivation: TransactionDerivation,
    steps: FxHashMap<u32, u32>,
}

impl<'a> TransactionDerivationBuilder<'a> {
    /// The derivation of a conflict. `lemmas` tells the place of each lemma in the evidence.
    pub fn build(
        frame: &'a CommitFrame<'a>,
        explanation: &Explanation<CommitHop>,
        lemmas: &[Option<u32>],
    ) -> TransactionDerivation {
        let mut this = Self { frame, derivation: TransactionDerivation::default(), steps: FxHashMap::default() };
        for explained in &explanation.edges {
            this.add(explained, lemmas);
        }
        let mut cycle = this.path(&explanation.cycle);
        if let Some(bottom) = &explanation.bottom {
            this.add(bottom, lemmas);
            let step = this.derivation.steps.len() as u32 - 1;
            cycle = vec![
                TransactionEdge::Session(TransactionNode::Init, this.derivation.steps[step as usize].from),
                TransactionEdge::Derived(step),
            ];
        }
        this.derivation.cycle = closed(cycle);
        this.derivation
    }

    fn add(&mut self, explained: &Explained<CommitHop>, lemmas: &[Option<u32>]) {
        let frame = self.frame;
        let Derived { from, to, reason } = explained.edge;
        let [begin, end] = [from, to].map(|event| match event {
            NONE => TransactionNode::Init,
            event => node(frame.view, frame.transaction(event).unwrap_or(INIT)),
        });
        let (rule, path, others) = match &explained.because {
            Grounds::Decided => (TransactionRule::Assumed, Vec::new(), Vec::new()),
            Grounds::Clause { number, others } => {
                let others = others.iter().map(|path| self.path(path)).collect();
                (TransactionRule::Lemma(lemmas[*number as usize].unwrap_or(NONE)), Vec::new(), others)
            }
            Grounds::Rule(path) => {
                let path = self.path(path);
                match Reason::decode(reason) {
                    Reason::Overwritten(read) => {
                        (TransactionRule::Overwritten { read: OperationId(read) }, path, Vec::new())
                    }
                    Reason::AntiDependency(read) => {
                        let path = if path.is_empty() {
                            vec![TransactionEdge::Session(TransactionNode::Init, end)]
                        } else {
                            path
                        };
                        (TransactionRule::AntiDependency { read: OperationId(read) }, path, Vec::new())
                    }
                    Reason::Conflict(key) => (TransactionRule::Conflict { key: KeyId(key) }, path, Vec::new()),
                }
            }
        };
        self.steps.insert(explained.number, self.derivation.steps.len() as u32);
        self.derivation.steps.push(TransactionStep { rule, from: begin, to: end, path, others });
    }

    fn path(&self, hops: &[CommitHop]) -> Vec<TransactionEdge> {
        let (frame, view) = (self.frame, self.frame.view);
        let mut path = Vec::new();
        // The transaction that a walk along the cuts began with.
        let mut ended = INIT;
        for &hop in hops {
            match hop {
                CommitHop::Derived(number) => append(&mut path, TransactionEdge::Derived(self.steps[&number])),
                CommitHop::Chain(from, to) => {
                    let (Some(from), Some(to)) = (frame.transaction(from), frame.transaction(to)) else { continue };
                    if from == to {
                        continue;
                    }
                    if frame.sessions != Sessions::None {
                        append(&mut path, TransactionEdge::Session(node(view, from), node(view, to)));
                        continue;
                    }
                    for t in from..to {
                        let read = view.reads_of(t + 1).iter().find(|read| read.source == t);
                        let read = OperationId(read.map_or(NONE, |read| read.operation));
                        append(&mut path, TransactionEdge::Reads(node(view, t), node(view, t + 1), read));
                    }
                }
                CommitHop::Base(from, to, why) => {
                    if let Some(from) = frame.transaction(from) {
                        ended = from;
                    }
                    let Some(to) = frame.transaction(to) else { continue };
                    let (from, to) = (node(view, ended), node(view, to));
                    let edge = match why {
                        EdgeReason::RealTime => TransactionEdge::RealTime(from, to),
                        EdgeReason::Reads(read) => TransactionEdge::Reads(from, to, OperationId(read)),
                        EdgeReason::Version(key) => TransactionEdge::Version(from, to, KeyId(key)),
                        _ => TransactionEdge::Session(from, to),
                    };
                    append(&mut path, edge);
                }
            }
        }
        path
    }
}
