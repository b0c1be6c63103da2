//! Evidence: derivations from cycles of graphs, and from the edges of a saturated order.
//!
//! The edges of a saturated order are explained by [`order::explain`]. Here are the premises of their rules.

use history::{KeyId, OperationId};
use model::transaction::{TransactionDerivation, TransactionEdge, TransactionNode, TransactionRule, TransactionStep};
use order::saturation::{Derived, NONE};
use order::{Explained, Explanation, Grounds, Hops, Premises, Saturation};
use rustc_hash::FxHashMap;

use crate::frame::CommitFrame;
use crate::graph::{CommitGraph, EdgeReason};
use crate::rules::Reason;
use crate::view::{ExternalRead, INIT, TransactionView};
use crate::weak::causal_path;
use crate::{Sessions, Stop};

/// A transaction, or the initial one, as a node of a derivation.
pub fn node(view: &TransactionView, t: u32) -> TransactionNode {
    if t == INIT { TransactionNode::Init } else { TransactionNode::Transaction(view.ids[t as usize]) }
}

/// Appends an edge to a path. Two steps of session order become one.
pub fn append(path: &mut Vec<TransactionEdge>, edge: TransactionEdge) {
    match (path.last_mut(), edge) {
        (Some(TransactionEdge::Session(_, end)), TransactionEdge::Session(_, to)) => *end = to,
        _ => path.push(edge),
    }
}

/// The reads of a view by their operations.
pub fn reads(view: &TransactionView) -> FxHashMap<u32, (u32, ExternalRead)> {
    view.all().flat_map(|t| view.reads_of(t).iter().map(move |read| (read.operation, (t, *read)))).collect()
}

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
        // A cycle that begins in the middle of a session goes on there.
        if let ([TransactionEdge::Session(_, to), .., TransactionEdge::Session(from, _)], true) =
            (&path[..], path.len() > 2)
        {
            let whole = TransactionEdge::Session(*from, *to);
            path[0] = whole;
            path.pop();
        }
        derivation.cycle = path;
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
        if let ([TransactionEdge::Session(_, to), .., TransactionEdge::Session(from, _)], true) =
            (&cycle[..], cycle.len() > 2)
        {
            let whole = TransactionEdge::Session(*from, *to);
            cycle[0] = whole;
            cycle.pop();
        }
        this.derivation.cycle = cycle;
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

impl Stop {
    /// The derivation of what stopped a pass over the pairs of a weak level.
    pub(crate) fn derivation(&self, of: &OfGraph<'_>) -> Option<TransactionDerivation> {
        match *self {
            Self::Overwritten { from, why } => Some(of.overwritten(from, why)),
            Self::GaveUp(_) => None,
        }
    }
}
