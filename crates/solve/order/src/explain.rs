//! Explanations of a saturated order: why an edge holds, and what a conflict rests on.
//!
//! Some edges of a [`Justified`](crate::Justified) order are *asserted*: they were decided, or a clause asserted them
//! because other pairs of events are in order. All others follow by the rules, each from a premise, which is a path
//! over the chains, the base, and edges of smaller numbers. Paths are not stored: [`cheapest_path`] finds them again.
//! So an explanation goes from the latest edge to the earliest, and meets each edge once.

use std::collections::{BTreeMap, BinaryHeap};

use search::Lit;

use crate::lanes::Lane;
use crate::reasons::{Hops, cheapest_path};
use crate::saturation::{Conflict, Derived, NONE, Saturation};

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
    pub(crate) fn hops(&self) -> impl Iterator<Item = H> + '_ {
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
    /// The numbers of the edges that were decided.
    pub(crate) fn decided(&self) -> impl Iterator<Item = u32> + '_ {
        self.edges.iter().filter(|explained| matches!(explained.because, Grounds::Decided)).map(|it| it.number)
    }

    /// The numbers of the clauses that it uses.
    pub(crate) fn uses(&self) -> impl Iterator<Item = u32> + '_ {
        self.edges.iter().filter_map(|explained| match explained.because {
            Grounds::Clause { number, .. } => Some(number),
            _ => None,
        })
    }
}

/// An edge that was asserted. By a clause, or else it was decided.
#[derive(Clone, Debug)]
pub(crate) struct Asserted {
    /// The literal that says so.
    pub(crate) lit: Lit,
    /// The number of the edge.
    pub(crate) edge: u32,
    /// The number of the clause, and the pairs of events that it asks for: the first event of each is before the
    /// second.
    pub(crate) by: Option<(u32, Vec<(u32, u32)>)>,
}

/// Finds explanations in an order.
pub struct Explainer<'a, P, L = u32> {
    pub(crate) order: &'a Saturation<L>,
    pub(crate) premises: &'a P,
    /// The edges that were asserted, by their numbers.
    pub(crate) asserted: &'a [Asserted],
    /// Edges of smaller numbers need no explanation. Paths use them as if they were of the base.
    pub(crate) known: u32,
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
            Ok(Some((clause, others))) => {
                let others = others.iter().map(|&(from, to)| self.edge_or_path(from, to, number)).collect();
                Grounds::Clause { number: *clause, others }
            }
        };
        Explained { number, edge, because }
    }

    /// The edges of some hops, and all edges that they depend on, in the order of their numbers. Those that are known
    /// are left out.
    pub(crate) fn expand(&self, hops: impl Iterator<Item = P::Hop>) -> Vec<Explained<P::Hop>> {
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
