//! Reasons of the edges of a saturated order: paths, and derivations that consist of paths.
//!
//! The premise of a derived edge is a path over program order, reads-from, and derived edges of smaller numbers. The
//! paths are not stored. When an explanation is needed, they are found again ([`order::reasons`]).

use std::collections::{BTreeMap, BinaryHeap};

use certificate::{Derivation, Edge, Node, Rule, Step};
use history::execution::{EventId, LocationId};
use order::lanes::Lane;
use order::saturation::{Conflict, Derived, NONE};
use order::{Hops, Saturation, cheapest_path};
use rustc_hash::FxHashMap;

use super::frame::Frame;
use super::rules::{ASSUMED, LEMMA, READ_WRITE};

/// One edge of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Program order. If the first is [`NONE`], the edge begins at the initial write of the location of the second.
    Po(u32, u32),
    /// Reads-from.
    Rf(u32, u32),
    /// From a write to a later read of the same thread and location that reads from another thread: the write comes
    /// before the source of the read, and so before the read.
    Own(u32, u32),
    /// From a write to the source of a read. The third event is the read, which knows of the write by the base alone.
    Known(u32, u32, u32),
    /// The derived edge of that number.
    Derived(u32),
}

impl Frame<'_> {
    /// Appends a hop to a path. Two hops in program order become one, if the base has that one, too.
    pub fn append(&self, path: &mut Vec<Hop>, hop: Hop) {
        match (path.last_mut(), hop) {
            (Some(Hop::Po(begin, end)), Hop::Po(_, to)) if *begin == NONE || self.keeps(*begin, to) => *end = to,
            _ => path.push(hop),
        }
    }

    /// A cycle. It starts where it does not continue in program order.
    pub fn cycle(&self, hops: impl IntoIterator<Item = Hop>) -> Vec<Hop> {
        let mut cycle = Vec::new();
        for hop in hops {
            self.append(&mut cycle, hop);
        }
        if let ([Hop::Po(_, to), .., Hop::Po(from, _)], true) = (&cycle[..], cycle.len() > 2)
            && self.keeps(*from, *to)
        {
            cycle[0] = Hop::Po(*from, *to);
            cycle.pop();
        }
        cycle
    }
}

/// A derived edge and its premise, which is a path. An assumed edge has an empty premise. The premise of an edge by a
/// lemma is no path, but the other assumptions of the lemma.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The number of the edge.
    pub number: u32,
    /// The edge.
    pub edge: Derived,
    /// The premise.
    pub path: Vec<Hop>,
}

/// The explanation of a conflict: its cycle, and the edges that the cycle depends on, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The edges.
    pub edges: Vec<Explained>,
    /// The cycle.
    pub cycle: Vec<Hop>,
    /// The edge to the initial write, with its premise, if such an edge closes the cycle. Its number is [`NONE`].
    pub bottom: Option<Explained>,
}

/// Finds explanations in an order.
#[derive(Copy, Clone, Debug)]
pub struct Explainer<'a, L = u32> {
    /// The frame.
    pub frame: &'a Frame<'a>,
    /// The order.
    pub order: &'a Saturation<L>,
    /// Edges of smaller numbers need no explanation.
    pub known: u32,
    /// The edges by lemmas, in the order of their numbers.
    pub by_lemma: &'a [ByLemma],
}

/// An edge that holds because a lemma refuted its opposite.
#[derive(Clone, Debug)]
pub struct ByLemma {
    /// The number of the edge.
    pub number: u32,
    /// The number of the lemma.
    pub lemma: u32,
    /// The edges that are the other assumptions of the lemma.
    pub others: Vec<u32>,
}

impl<L: Lane> Hops for Explainer<'_, L> {
    type Hop = Hop;

    fn chain(&self, from: u32, to: u32) -> Hop {
        Hop::Po(from, to)
    }

    fn derived(&self, number: u32) -> Hop {
        Hop::Derived(number)
    }

    fn base(&self, event: u32, mut reach: impl FnMut(u32, Hop, bool)) {
        for predecessor in self.frame.predecessors(event) {
            let hop = self.frame.hop(predecessor, event);
            reach(predecessor, hop, !matches!(hop, Hop::Own(..) | Hop::Known(..)));
        }
    }

    fn append(&self, path: &mut Vec<Hop>, hop: Hop) {
        self.frame.append(path, hop);
    }
}

impl<L: Lane> Explainer<'_, L> {
    /// A path from one event to another over edges of numbers below `limit`, with the fewest derived edges that are not
    /// known. There must be a path.
    pub fn path(&self, from: u32, to: u32, limit: u32) -> Vec<Hop> {
        cheapest_path(self.order, self, (from, to), limit, self.known)
    }

    /// The edge from one event to another.
    fn hop(&self, from: u32, to: u32) -> Hop {
        if self.order.chain(from) == self.order.chain(to) && from < to {
            Hop::Po(from, to)
        } else if self.frame.predecessors(to).any(|predecessor| predecessor == from) {
            self.frame.hop(from, to)
        } else {
            let by = self.order.edges_in(to).find(|&number| self.order.edge(number).from == from);
            by.map_or(Hop::Po(from, to), Hop::Derived)
        }
    }

    /// The premise of the edge of that number.
    fn premise(&self, edge: Derived, limit: u32) -> Vec<Hop> {
        match edge.reason {
            ASSUMED => Vec::new(),
            LEMMA => self
                .by_lemma
                .binary_search_by_key(&limit, |by| by.number)
                .map_or_else(|_| Vec::new(), |at| self.by_lemma[at].others.iter().map(|&n| Hop::Derived(n)).collect()),
            READ_WRITE => match self.frame.source(edge.from) {
                NONE => vec![Hop::Po(NONE, edge.to)],
                source => self.path(source, edge.to, limit),
            },
            read => self.conflict_premise(edge.from, read, limit),
        }
    }

    /// Why a write comes before a read of another write of its location.
    fn conflict_premise(&self, write: u32, read: u32, limit: u32) -> Vec<Hop> {
        if self.frame.in_program_order(write, read) {
            return vec![Hop::Po(write, read)];
        }
        self.path(write, read, limit)
    }

    /// Adds to `edges` the edges in `wanted`, and all edges that they depend on.
    fn expand(&self, mut wanted: BinaryHeap<u32>, edges: &mut BTreeMap<u32, Explained>) {
        while let Some(number) = wanted.pop() {
            if number < self.known || edges.contains_key(&number) {
                continue;
            }
            let edge = self.order.edge(number);
            let path = self.premise(edge, number);
            wanted.extend(derived(&path));
            edges.insert(number, Explained { number, edge, path });
        }
    }

    /// Explains edges, and all edges that they depend on, in the order of their numbers.
    pub fn edges(&self, numbers: impl IntoIterator<Item = u32>) -> Vec<Explained> {
        let mut edges = BTreeMap::new();
        self.expand(numbers.into_iter().collect(), &mut edges);
        edges.into_values().collect()
    }

    /// Explains a conflict. The order must be as the conflict left it.
    pub fn conflict(&self, conflict: Conflict) -> Explanation {
        let limit = self.order.edge_count() as u32;
        let (cycle, bottom) = match conflict {
            Conflict::Cycle { from, to } => {
                let last = self.hop(from, to);
                (self.frame.cycle(self.path(to, from, limit).into_iter().chain([last])), None)
            }
            Conflict::Bottom(edge) => {
                let path = self.conflict_premise(edge.from, edge.reason, limit);
                (vec![Hop::Po(NONE, edge.from)], Some(Explained { number: NONE, edge, path }))
            }
        };
        let wanted = derived(&cycle).chain(bottom.iter().flat_map(|bottom| derived(&bottom.path))).collect();
        let mut edges = BTreeMap::new();
        self.expand(wanted, &mut edges);
        Explanation { edges: edges.into_values().collect(), cycle, bottom }
    }
}

/// The derived edges of a path.
pub fn derived(path: &[Hop]) -> impl Iterator<Item = u32> + '_ {
    path.iter().filter_map(|&hop| if let Hop::Derived(number) = hop { Some(number) } else { None })
}

/// Builds a derivation from explained edges.
pub struct DerivationBuilder<'a> {
    frame: &'a Frame<'a>,
    derivation: Derivation,
    steps: FxHashMap<u32, u32>,
    /// The steps that [`Hop::Own`] and [`Hop::Known`] stand for, by write and read.
    by_base: FxHashMap<(u32, u32), u32>,
}

impl<'a> DerivationBuilder<'a> {
    /// An empty derivation.
    pub fn new(frame: &'a Frame<'a>) -> Self {
        Self { frame, derivation: Derivation::default(), steps: FxHashMap::default(), by_base: FxHashMap::default() }
    }

    fn node(&self, event: u32) -> Node {
        Node::Operation(self.frame.execution().operation(EventId(event)))
    }

    fn initial(&self, event: u32) -> Node {
        Node::Init(LocationId(self.frame.execution().event(EventId(event)).location.0))
    }

    fn path(&mut self, path: &[Hop]) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(path.len());
        for &hop in path {
            let edge = match hop {
                Hop::Po(NONE, to) => Edge::Po(self.initial(to), self.node(to)),
                Hop::Po(from, to) => Edge::Po(self.node(from), self.node(to)),
                Hop::Rf(from, to) => Edge::Rf(self.node(from), self.node(to)),
                Hop::Own(write, read) => {
                    let source = self.frame.source(read);
                    edges.push(Edge::Derived(self.by_base(write, source, read)));
                    Edge::Rf(self.node(source), self.node(read))
                }
                Hop::Known(write, source, read) => Edge::Derived(self.by_base(write, source, read)),
                Hop::Derived(number) => Edge::Derived(self.steps[&number]),
            };
            edges.push(edge);
        }
        edges
    }

    /// The step which says that a write comes before the source of a read, because it comes before the read by the base
    /// alone.
    fn by_base(&mut self, write: u32, source: u32, read: u32) -> u32 {
        if let Some(&step) = self.by_base.get(&(write, read)) {
            return step;
        }
        let path = self.path(&self.frame.causal_path(write, read));
        let rule = Rule::Conflict { read: self.node(read), view: None };
        self.derivation.steps.push(Step { rule, from: self.node(write), to: self.node(source), path });
        let step = self.derivation.steps.len() as u32 - 1;
        self.by_base.insert((write, read), step);
        step
    }

    /// Adds an edge, after the edges that it depends on. `lemma` is the number of the lemma that proves it, if there is
    /// one.
    pub fn add(&mut self, explained: &Explained, lemma: Option<u32>) {
        let Derived { from, to, reason } = explained.edge;
        let rule = match (reason, lemma) {
            (_, Some(lemma)) => Rule::Lemma(lemma),
            (ASSUMED, None) => Rule::Assumed,
            (READ_WRITE, None) => Rule::ReadWrite,
            (read, None) => Rule::Conflict { read: self.node(read), view: None },
        };
        let path = self.path(&explained.path);
        let to = if to == NONE { self.initial(from) } else { self.node(to) };
        let step = Step { rule, from: self.node(from), to, path };
        self.steps.insert(explained.number, self.derivation.steps.len() as u32);
        self.derivation.steps.push(step);
    }

    /// Completes the derivation with a conflict whose edges were added.
    pub fn close(mut self, explanation: &Explanation) -> Derivation {
        let mut cycle = self.path(&explanation.cycle);
        if let Some(bottom) = &explanation.bottom {
            self.add(bottom, None);
            cycle.push(Edge::Derived(self.derivation.steps.len() as u32 - 1));
        }
        self.derivation.cycle = cycle;
        self.derivation
    }
}
