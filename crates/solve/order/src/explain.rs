//! Explanations of a saturated order: why an edge holds, and what a conflict rests on.
//!
//! Some edges of a [`Justified`] order are *asserted*: they were decided, or a clause asserted them because other pairs
//! of events are in order. All others follow by the rules, each from a premise, which is a path over the chains, the
//! base, and edges of smaller numbers. Paths are not stored: [`cheapest_path`] finds them again. So an explanation goes
//! from the latest edge to the earliest, and meets each edge once.

use std::collections::{BTreeMap, BinaryHeap};

use crate::lanes::Lane;
use crate::reasons::{Hops, cheapest_path};
use crate::saturation::{Conflict, Derived, Mark, NONE, Rules, Saturation};

/// The premises of edges that follow by rules.
pub trait Premises<L: Lane = u32>: Hops {
    /// The number of the derived edge that a hop is.
    fn number(hop: Self::Hop) -> Option<u32>;

    /// The premise of an edge that a rule has derived. `path` finds a path from one event to another.
    fn premise(&self, edge: Derived, path: impl Fn(u32, u32) -> Vec<Self::Hop>) -> Vec<Self::Hop>;

    /// A cycle as it is told: it may begin elsewhere, and hops may be joined.
    fn tell(&self, order: &Saturation<L>, cycle: Vec<Self::Hop>) -> Vec<Self::Hop>;
}

/// Why an edge holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grounds<H> {
    /// A rule has derived it from this premise.
    Rule(Vec<H>),
    /// It was decided.
    Decided,
    /// A clause asserted it.
    Clause {
        /// The number of the clause.
        number: u32,
        /// A path for each pair that the clause asks for.
        others: Vec<Vec<H>>,
    },
}

/// An edge, and why it holds.
#[derive(Clone, Debug)]
pub struct Explained<H> {
    /// The number of the edge. [`NONE`] for an edge to [`NONE`], which is in no order.
    pub number: u32,
    /// The edge.
    pub edge: Derived,
    /// Why it holds.
    pub because: Grounds<H>,
}

impl<H: Copy> Explained<H> {
    /// All hops of its paths.
    fn hops(&self) -> impl Iterator<Item = H> + '_ {
        let paths: &[Vec<H>] = match &self.because {
            Grounds::Rule(path) => std::slice::from_ref(path),
            Grounds::Decided => &[],
            Grounds::Clause { others, .. } => others,
        };
        paths.iter().flatten().copied()
    }
}

/// The explanation of a conflict: its cycle, and the edges that the cycle depends on, by their numbers.
#[derive(Clone, Debug)]
pub struct Explanation<H> {
    /// The edges.
    pub edges: Vec<Explained<H>>,
    /// The cycle. It is empty if an edge to [`NONE`] is the conflict.
    pub cycle: Vec<H>,
    /// That edge.
    pub bottom: Option<Explained<H>>,
}

impl<H> Explanation<H> {
    /// The edges that were decided.
    pub fn decided(&self) -> impl Iterator<Item = Derived> + '_ {
        self.edges.iter().filter(|explained| matches!(explained.because, Grounds::Decided)).map(|it| it.edge)
    }

    /// The numbers of the clauses that it uses.
    pub fn uses(&self) -> impl Iterator<Item = u32> + '_ {
        self.edges.iter().filter_map(|explained| match explained.because {
            Grounds::Clause { number, .. } => Some(number),
            _ => None,
        })
    }
}

/// Pairs of events that a clause asks for.
#[derive(Clone, Debug)]
pub struct ByClause {
    /// The number of the clause.
    pub number: u32,
    /// The pairs: the first event of each is before the second.
    pub others: Vec<(u32, u32)>,
}

/// An edge that was asserted. By a clause, or else it was decided.
#[derive(Clone, Debug)]
struct Asserted {
    edge: u32,
    by: Option<ByClause>,
}

/// Finds explanations in an order.
pub struct Explainer<'a, P, L = u32> {
    order: &'a Saturation<L>,
    premises: &'a P,
    /// The edges that were asserted, by their numbers.
    asserted: &'a [Asserted],
    /// Edges of smaller numbers need no explanation. Paths use them as if they were of the base.
    known: u32,
}

impl<'a, P: Premises<L>, L: Lane> Explainer<'a, P, L> {
    /// Explanations in an order in which nothing was asserted, down to the base.
    pub fn new(order: &'a Saturation<L>, premises: &'a P) -> Self {
        Self { order, premises, asserted: &[], known: 0 }
    }

    /// A path from one event to another over edges of numbers below `limit`, with the fewest derived edges that are not
    /// known. There must be a path.
    fn path(&self, from: u32, to: u32, limit: u32) -> Vec<P::Hop> {
        cheapest_path(self.order, self.premises, (from, to), limit, self.known)
    }

    /// The same, but an edge between the two is preferred.
    fn edge_or_path(&self, from: u32, to: u32, limit: u32) -> Vec<P::Hop> {
        let mut between = self.order.edges_in(to).filter(|&at| at < limit && self.order.edge(at).from == from);
        between.next().map_or_else(|| self.path(from, to, limit), |number| vec![self.premises.derived(number)])
    }

    /// The edge from one event to another.
    fn hop(&self, from: u32, to: u32) -> P::Hop {
        let mut found = None;
        if self.order.chain(from) == self.order.chain(to) && from < to {
            return self.premises.chain(from, to);
        }
        self.premises.base(to, |predecessor, hop, _| {
            if predecessor == from && found.is_none() {
                found = Some(hop);
            }
        });
        let derived = || self.order.edges_in(to).find(|&number| self.order.edge(number).from == from);
        let found = found.or_else(|| derived().map(|number| self.premises.derived(number)));
        found.unwrap_or_else(|| self.premises.chain(from, to))
    }

    fn explained(&self, number: u32) -> Explained<P::Hop> {
        let edge = self.order.edge(number);
        let asserted = self.asserted.binary_search_by_key(&number, |asserted| asserted.edge);
        let because = match asserted.map(|at| &self.asserted[at].by) {
            Err(_) => Grounds::Rule(self.premises.premise(edge, |from, to| self.path(from, to, number))),
            Ok(None) => Grounds::Decided,
            Ok(Some(ByClause { number: clause, others })) => {
                let others = others.iter().map(|&(from, to)| self.edge_or_path(from, to, number)).collect();
                Grounds::Clause { number: *clause, others }
            }
        };
        Explained { number, edge, because }
    }

    /// The edges of some hops, and all edges that they depend on, in the order of their numbers. Those that are known
    /// are left out.
    fn expand(&self, hops: impl Iterator<Item = P::Hop>) -> Vec<Explained<P::Hop>> {
        let mut edges: BTreeMap<u32, Explained<P::Hop>> = BTreeMap::new();
        let mut wanted: BinaryHeap<u32> = hops.filter_map(P::number).collect();
        while let Some(number) = wanted.pop() {
            if number >= self.known && !edges.contains_key(&number) {
                let explained = self.explained(number);
                wanted.extend(explained.hops().filter_map(P::number));
                edges.insert(number, explained);
            }
        }
        edges.into_values().collect()
    }

    /// Explains a conflict. The order must be as the conflict left it.
    pub fn conflict(&self, conflict: Conflict) -> Explanation<P::Hop> {
        let limit = self.order.edge_count() as u32;
        match conflict {
            Conflict::Cycle { from, to } => {
                let mut cycle = self.path(to, from, limit);
                cycle.push(self.hop(from, to));
                let cycle = self.premises.tell(self.order, cycle);
                Explanation { edges: self.expand(cycle.iter().copied()), cycle, bottom: None }
            }
            Conflict::Bottom(edge) => {
                let because = Grounds::Rule(self.premises.premise(edge, |from, to| self.path(from, to, limit)));
                let bottom = Explained { number: NONE, edge, because };
                Explanation { edges: self.expand(bottom.hops()), cycle: Vec::new(), bottom: Some(bottom) }
            }
        }
    }
}

/// A saturated order in which edges are asserted and taken back, and in which every edge can be explained.
#[derive(Clone, Debug)]
pub struct Justified<R, L = u32> {
    order: Saturation<L>,
    rules: R,
    /// How many edges depend on nothing that was asserted.
    known: u32,
    /// The edges that were asserted, by their numbers.
    asserted: Vec<Asserted>,
}

/// A state of a [`Justified`] order to come back to.
#[derive(Copy, Clone, Debug)]
pub struct State {
    order: Mark,
    asserted: usize,
}

impl<R: Rules<L>, L: Lane> Justified<R, L> {
    /// An order in which nothing was asserted yet. All events have entered.
    pub fn new(mut order: Saturation<L>, rules: R) -> Self {
        order.record();
        let known = order.edge_count() as u32;
        Self { order, rules, known, asserted: Vec::new() }
    }

    /// The order.
    #[inline]
    pub fn order(&self) -> &Saturation<L> {
        &self.order
    }

    /// The rules.
    pub fn rules(&self) -> &R {
        &self.rules
    }

    /// The order, when nothing will be asserted any more.
    pub fn into_order(self) -> Saturation<L> {
        self.order
    }

    /// The present state.
    pub fn state(&self) -> State {
        State { order: self.order.mark(), asserted: self.asserted.len() }
    }

    /// Takes back everything since a state.
    pub fn undo(&mut self, state: State) {
        self.order.undo(state.order);
        self.asserted.truncate(state.asserted);
    }

    /// Asserts that an event is before another, which is not known yet, and closes the order.
    pub fn assert(&mut self, from: u32, to: u32, by: Option<ByClause>) -> Result<(), Conflict> {
        debug_assert!(!self.order.before(from, to), "what is asserted is new");
        self.asserted.push(Asserted { edge: self.order.edge_count() as u32, by });
        self.order.insert(Derived { from, to, reason: NONE }, &mut self.rules)
    }

    /// Explains a conflict, down to what was asserted, and to edges that depend on nothing that was asserted. The order
    /// must be as the conflict left it.
    pub fn explain<P: Premises<L>>(&self, premises: &P, conflict: Conflict) -> Explanation<P::Hop> {
        let Self { order, known, asserted, .. } = self;
        Explainer { order, premises, asserted, known: *known }.conflict(conflict)
    }

    /// The explanation with the edges that depend on nothing that was asserted.
    pub fn whole<P: Premises<L>>(&self, premises: &P, explanation: &Explanation<P::Hop>) -> Explanation<P::Hop> {
        let edges = explanation.edges.iter().chain(&explanation.bottom).flat_map(Explained::hops);
        let is_known = |hop: &P::Hop| P::number(*hop).is_some_and(|number| number < self.known);
        let hops = edges.chain(explanation.cycle.iter().copied()).filter(is_known);
        let mut whole = explanation.clone();
        whole.edges = Explainer::new(&self.order, premises).expand(hops);
        whole.edges.extend_from_slice(&explanation.edges);
        whole
    }
}
