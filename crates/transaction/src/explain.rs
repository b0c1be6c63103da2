//! Evidence: derivations from cycles of graphs, and from the edges of a saturated order.
//!
//! The premise of a derived edge is a path over the base and over derived edges of smaller numbers. Paths are not
//! stored. They are found again when evidence is needed, backwards from the end, between the two ends only.

use std::collections::{BTreeMap, BinaryHeap};

use certificate::transaction::{Derivation, Edge, Node, Rule, Step};
use history::{KeyId, OperationId};
use order::saturation::{Conflict, Derived, NONE};
use order::{Hops, Saturation, cheapest_path};
use rustc_hash::FxHashMap;

use crate::frame::Frame;
use crate::graph::{Graph, Why};
use crate::rules::Reason;
use crate::view::{INIT, Read, View};
use crate::weak::causal_path;
use crate::{Sessions, Stop};

/// A transaction, or the initial one, as a node of a derivation.
pub fn node(view: &View, t: u32) -> Node {
    if t == INIT { Node::Init } else { Node::Transaction(view.ids[t as usize]) }
}

/// Appends an edge to a path. Two steps of session order become one.
pub fn append(path: &mut Vec<Edge>, edge: Edge) {
    match (path.last_mut(), edge) {
        (Some(Edge::Session(_, end)), Edge::Session(_, to)) => *end = to,
        _ => path.push(edge),
    }
}

/// The reads of a view by their operations.
pub fn reads(view: &View) -> FxHashMap<u32, (u32, Read)> {
    view.all().flat_map(|t| view.reads_of(t).iter().map(move |read| (read.operation, (t, *read)))).collect()
}

/// Derivations from the edges of a [`Graph`].
pub struct OfGraph<'a> {
    /// The transactions.
    pub view: &'a View,
    /// Session order, reads-from and real time, over transactions.
    pub before: &'a Graph,
    /// How many transactions a vertex number is divided by to be that of its transaction: one or two.
    pub split: bool,
}

impl OfGraph<'_> {
    fn transaction(&self, vertex: u32) -> Option<u32> {
        let t = if self.split { vertex / 2 } else { vertex };
        ((t as usize) < self.view.len()).then_some(t)
    }

    /// The derivation of a cycle, given as numbers of edges.
    pub fn cycle(&self, graph: &Graph, cycle: &[u32]) -> Derivation {
        let edges: Vec<_> = cycle.iter().map(|&edge| graph.edges[edge as usize]).collect();
        let begin = edges.iter().position(|edge| self.transaction(edge.from).is_some()).unwrap_or(0);
        let mut derivation = Derivation::default();
        let mut path = Vec::new();
        let mut from = INIT;
        let mut pending = None;
        for edge in edges[begin..].iter().chain(&edges[..begin]) {
            if let Some(t) = self.transaction(edge.from)
                && pending.is_none()
            {
                from = t;
            }
            let why = pending.filter(|_| edge.why == Why::Aside).unwrap_or(edge.why);
            match (why, self.transaction(edge.to)) {
                (Why::Aside, _) => {}
                (why, None) => pending = Some(why),
                (why, Some(to)) => {
                    pending = None;
                    let edge = self.edge(&mut derivation, from, to, why);
                    append(&mut path, edge);
                }
            }
        }
        // A cycle that begins in the middle of a session goes on there.
        if let ([Edge::Session(_, to), .., Edge::Session(from, _)], true) = (&path[..], path.len() > 2) {
            let whole = Edge::Session(*from, *to);
            path[0] = whole;
            path.pop();
        }
        derivation.cycle = path;
        derivation
    }

    /// The derivation of a pair that is forced before the initial transaction.
    pub fn overwritten(&self, from: u32, why: Why) -> Derivation {
        let mut derivation = Derivation::default();
        let edge = self.edge(&mut derivation, from, INIT, why);
        derivation.cycle = vec![Edge::Session(Node::Init, node(self.view, from)), edge];
        derivation
    }

    fn edge(&self, derivation: &mut Derivation, from: u32, to: u32, why: Why) -> Edge {
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
            Why::Aside | Why::Session => return Edge::Session(begin, end),
            Why::RealTime => return Edge::RealTime(begin, end),
            Why::Reads(operation) => return Edge::Reads(begin, end, OperationId(operation)),
            Why::Version(key) => return Edge::Version(begin, end, KeyId(key)),
            Why::BySession(read) => {
                let path = vec![Edge::Session(begin, node(view, reader(read).0))];
                (Rule::Overwritten { read: OperationId(read) }, path)
            }
            Why::ByRealTime(read) => {
                let path = vec![Edge::RealTime(begin, node(view, reader(read).0))];
                (Rule::Overwritten { read: OperationId(read) }, path)
            }
            Why::ByRead(earlier, read) if earlier < read => {
                (Rule::ReadBefore { earlier: OperationId(earlier), read: OperationId(read) }, Vec::new())
            }
            Why::ByRead(other, read) => {
                let path = vec![Edge::Reads(begin, node(view, reader(read).0), OperationId(other))];
                (Rule::Overwritten { read: OperationId(read) }, path)
            }
            Why::ByCause(read) => {
                let path = self.causal_path(from, reader(read).0);
                (Rule::Overwritten { read: OperationId(read) }, path)
            }
            Why::Next(read) => {
                let (_, of_reader) = reader(read);
                let source = node(view, of_reader.source);
                let path = if of_reader.source == INIT {
                    Edge::Session(source, end)
                } else if view.is_list[of_reader.key as usize] {
                    Edge::Version(source, end, KeyId(of_reader.key))
                } else {
                    let next = view.reads_of(to).iter().find(|other| other.key == of_reader.key);
                    Edge::Reads(source, end, OperationId(next.map_or(NONE, |next| next.operation)))
                };
                (Rule::AntiDependency { read: OperationId(read) }, vec![path])
            }
        };
        let number = derivation.steps.len() as u32;
        derivation.steps.push(Step { rule, from: begin, to: end, path, others: Vec::new() });
        Edge::Derived(number)
    }

    fn causal_path(&self, from: u32, to: u32) -> Vec<Edge> {
        let mut path = Vec::new();
        let mut begin = from;
        for number in causal_path(self.before, from, to) {
            let edge = self.before.edges[number as usize];
            if (edge.from as usize) < self.view.len() {
                begin = edge.from;
            }
            if edge.why != Why::Aside {
                let (from, to) = (node(self.view, begin), node(self.view, edge.to));
                append(
                    &mut path,
                    match edge.why {
                        Why::RealTime => Edge::RealTime(from, to),
                        Why::Reads(read) => Edge::Reads(from, to, OperationId(read)),
                        _ => Edge::Session(from, to),
                    },
                );
            }
        }
        path
    }
}

/// One hop of a path of events.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Along a chain.
    Chain(u32, u32),
    /// Along the base.
    Base(u32, u32, Why),
    /// The derived edge of that number.
    Derived(u32),
}

/// A derived edge and its premise.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The number of the edge.
    pub number: u32,
    /// The edge.
    pub edge: Derived,
    /// The premise.
    pub path: Vec<Hop>,
    /// For an edge by a lemma: the lemma, and a path for each of its other assumptions.
    pub lemma: Option<(u32, Vec<Vec<Hop>>)>,
}

/// The explanation of a conflict: its cycle, and the edges that the cycle depends on, by their numbers.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The edges.
    pub edges: Vec<Explained>,
    /// The cycle.
    pub cycle: Vec<Hop>,
    /// The edge to the initial transaction, if such an edge closes the cycle.
    pub bottom: Option<Explained>,
}

/// An edge that holds because a lemma refuted its opposite: a pair of transactions.
#[derive(Clone, Debug)]
pub struct ByLemma {
    /// The number of the edge.
    pub number: u32,
    /// The number of the lemma.
    pub lemma: u32,
    /// The other assumptions of the lemma, as pairs of events.
    pub others: Vec<(u32, u32)>,
}

/// Finds explanations in an order.
pub struct Explainer<'a> {
    /// The frame.
    pub frame: &'a Frame<'a>,
    /// The order.
    pub order: &'a Saturation,
    /// The reads by their operations.
    pub reads: &'a FxHashMap<u32, (u32, Read)>,
    /// The edges by lemmas, in the order of their numbers.
    pub by_lemma: &'a [ByLemma],
    /// Edges of smaller numbers depend on no assumption. Paths use them as if they were of the base.
    pub known: u32,
}

impl Hops for Explainer<'_> {
    type Hop = Hop;

    fn chain(&self, from: u32, to: u32) -> Hop {
        Hop::Chain(from, to)
    }

    fn derived(&self, number: u32) -> Hop {
        Hop::Derived(number)
    }

    fn base(&self, event: u32, mut reach: impl FnMut(u32, Hop, bool)) {
        for base in self.frame.base(event) {
            reach(base.from, Hop::Base(base.from, event, base.why), true);
        }
    }

    fn append(&self, path: &mut Vec<Hop>, hop: Hop) {
        match (path.last_mut(), hop) {
            (Some(Hop::Chain(_, end)), Hop::Chain(_, to)) => *end = to,
            _ => path.push(hop),
        }
    }
}

impl Explainer<'_> {
    /// A path from one event to another over edges of numbers below `limit`, with the fewest derived edges that are not
    /// known. There must be a path.
    pub fn path(&self, from: u32, to: u32, limit: u32) -> Vec<Hop> {
        cheapest_path(self.order, self, (from, to), limit, self.known)
    }

    /// The premise of a derived edge.
    fn premise(&self, edge: Derived, limit: u32) -> Vec<Hop> {
        let frame = self.frame;
        match Reason::decode(edge.reason) {
            Reason::Overwritten(read) => self.path(edge.from, frame.r(self.reads[&read].0), limit),
            Reason::AntiDependency(read) => {
                let source = self.reads[&read].1.source;
                let t2 = frame.transaction(edge.to).unwrap_or(0);
                if source == INIT { Vec::new() } else { self.path(frame.w(source), frame.anchor(t2), limit) }
            }
            Reason::Conflict(_) => {
                let [u, t] = [edge.from, edge.to].map(|event| frame.transaction(event).unwrap_or(0));
                self.path(frame.r(u), frame.w(t), limit)
            }
            Reason::Assumed | Reason::Lemma => Vec::new(),
        }
    }

    fn explained(&self, number: u32) -> Explained {
        let edge = self.order.edge(number);
        let lemma = self.by_lemma.binary_search_by_key(&number, |by| by.number).ok().map(|at| {
            let by = &self.by_lemma[at];
            (by.lemma, by.others.iter().map(|&(from, to)| self.path(from, to, number)).collect())
        });
        Explained { number, edge, path: self.premise(edge, number), lemma }
    }

    /// The edges of some numbers that are not known, and all such edges that they depend on, in the order of their
    /// numbers.
    pub fn expand(&self, mut wanted: BinaryHeap<u32>) -> Vec<Explained> {
        let mut edges: BTreeMap<u32, Explained> = BTreeMap::new();
        while let Some(number) = wanted.pop() {
            if number >= self.known && !edges.contains_key(&number) {
                let explained = self.explained(number);
                let others = explained.lemma.iter().flat_map(|(_, others)| others.iter().flatten());
                wanted.extend(derived(explained.path.iter().chain(others)));
                edges.insert(number, explained);
            }
        }
        edges.into_values().collect()
    }

    /// Explains a conflict. The order must be as the conflict left it.
    pub fn conflict(&self, conflict: Conflict) -> Explanation {
        let limit = self.order.edge_count() as u32;
        match conflict {
            Conflict::Cycle { from, to } => {
                let mut cycle = self.path(to, from, limit);
                cycle.push(self.hop(from, to));
                // The cycle is told from an event of a transaction on, not from a cut.
                let begin = cycle.iter().position(|&hop| self.begin(hop) < self.frame.events).unwrap_or(0);
                cycle.rotate_left(begin);
                let edges = self.expand(derived(cycle.iter()).collect());
                Explanation { edges, cycle, bottom: None }
            }
            Conflict::Bottom(edge) => {
                let path = self.premise(edge, limit);
                let edges = self.expand(derived(path.iter()).collect());
                let bottom = Some(Explained { number: NONE, edge, path, lemma: None });
                Explanation { edges, cycle: Vec::new(), bottom }
            }
        }
    }

    /// Where a hop begins.
    fn begin(&self, hop: Hop) -> u32 {
        match hop {
            Hop::Chain(from, _) | Hop::Base(from, ..) => from,
            Hop::Derived(number) => self.order.edge(number).from,
        }
    }

    /// The edge from one event to another.
    fn hop(&self, from: u32, to: u32) -> Hop {
        if self.order.chain(from) == self.order.chain(to) && from < to {
            return Hop::Chain(from, to);
        }
        if let Some(base) = self.frame.base(to).iter().find(|base| base.from == from) {
            return Hop::Base(from, to, base.why);
        }
        let by = self.order.edges_in(to).find(|&number| self.order.edge(number).from == from);
        by.map_or(Hop::Chain(from, to), Hop::Derived)
    }
}

impl Explanation {
    /// The derived edges that it uses and does not explain, since they are known.
    pub fn known(&self, known: u32) -> BinaryHeap<u32> {
        let edges = self.edges.iter().chain(&self.bottom);
        let paths = edges.flat_map(|edge| {
            let others = edge.lemma.iter().flat_map(|(_, others)| others.iter().flatten());
            edge.path.iter().chain(others)
        });
        derived(paths.chain(&self.cycle)).filter(|&number| number < known).collect()
    }
}

fn derived<'a>(hops: impl Iterator<Item = &'a Hop>) -> impl Iterator<Item = u32> {
    hops.filter_map(|&hop| if let Hop::Derived(number) = hop { Some(number) } else { None })
}

/// Builds a derivation from explained edges.
pub struct Builder<'a> {
    frame: &'a Frame<'a>,
    derivation: Derivation,
    steps: FxHashMap<u32, u32>,
}

impl<'a> Builder<'a> {
    /// The derivation of a conflict. `lemmas` tells the new number of each lemma.
    pub fn build(frame: &'a Frame<'a>, explanation: &Explanation, lemmas: &[u32]) -> Derivation {
        let mut this = Self { frame, derivation: Derivation::default(), steps: FxHashMap::default() };
        for explained in &explanation.edges {
            this.add(explained, lemmas);
        }
        let mut cycle = this.path(&explanation.cycle);
        if let Some(bottom) = &explanation.bottom {
            this.add(bottom, lemmas);
            let step = this.derivation.steps.len() as u32 - 1;
            cycle = vec![Edge::Session(Node::Init, this.derivation.steps[step as usize].from), Edge::Derived(step)];
        }
        if let ([Edge::Session(_, to), .., Edge::Session(from, _)], true) = (&cycle[..], cycle.len() > 2) {
            let whole = Edge::Session(*from, *to);
            cycle[0] = whole;
            cycle.pop();
        }
        this.derivation.cycle = cycle;
        this.derivation
    }

    fn add(&mut self, explained: &Explained, lemmas: &[u32]) {
        let frame = self.frame;
        let Derived { from, to, reason } = explained.edge;
        let mut path = self.path(&explained.path);
        let mut others = Vec::new();
        let [begin, end] = [from, to].map(|event| match event {
            NONE => Node::Init,
            event => node(frame.view, frame.transaction(event).unwrap_or(INIT)),
        });
        let rule = match (Reason::decode(reason), &explained.lemma) {
            (_, Some((lemma, paths))) => {
                others = paths.iter().map(|path| self.path(path)).collect();
                Rule::Lemma(lemmas[*lemma as usize])
            }
            (Reason::Overwritten(read), None) => Rule::Overwritten { read: OperationId(read) },
            (Reason::AntiDependency(read), None) => {
                if path.is_empty() {
                    path = vec![Edge::Session(Node::Init, end)];
                }
                Rule::AntiDependency { read: OperationId(read) }
            }
            (Reason::Conflict(key), None) => Rule::Conflict { key: KeyId(key) },
            (Reason::Assumed | Reason::Lemma, None) => Rule::Assumed,
        };
        self.steps.insert(explained.number, self.derivation.steps.len() as u32);
        self.derivation.steps.push(Step { rule, from: begin, to: end, path, others });
    }

    fn path(&self, hops: &[Hop]) -> Vec<Edge> {
        let (frame, view) = (self.frame, self.frame.view);
        let mut path = Vec::new();
        // The transaction that a walk along the cuts began with.
        let mut ended = INIT;
        for &hop in hops {
            match hop {
                Hop::Derived(number) => append(&mut path, Edge::Derived(self.steps[&number])),
                Hop::Chain(from, to) => {
                    let (Some(from), Some(to)) = (frame.transaction(from), frame.transaction(to)) else { continue };
                    if from == to {
                        continue;
                    }
                    if frame.sessions != Sessions::None {
                        append(&mut path, Edge::Session(node(view, from), node(view, to)));
                        continue;
                    }
                    for t in from..to {
                        let read = view.reads_of(t + 1).iter().find(|read| read.source == t);
                        let read = OperationId(read.map_or(NONE, |read| read.operation));
                        append(&mut path, Edge::Reads(node(view, t), node(view, t + 1), read));
                    }
                }
                Hop::Base(from, to, why) => {
                    if let Some(from) = frame.transaction(from) {
                        ended = from;
                    }
                    let Some(to) = frame.transaction(to) else { continue };
                    let (from, to) = (node(view, ended), node(view, to));
                    let edge = match why {
                        Why::RealTime => Edge::RealTime(from, to),
                        Why::Reads(read) => Edge::Reads(from, to, OperationId(read)),
                        Why::Version(key) => Edge::Version(from, to, KeyId(key)),
                        _ => Edge::Session(from, to),
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
    pub(crate) fn derivation(&self, of: &OfGraph<'_>) -> Option<Derivation> {
        match *self {
            Self::Overwritten { from, why } => Some(of.overwritten(from, why)),
            Self::GaveUp(_) => None,
        }
    }
}
