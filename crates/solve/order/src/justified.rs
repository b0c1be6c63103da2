//! The part that all theories of an order share, for the kernel `search`: pairs as literals, in a saturated order.
//!
//! A variable is a pair of [items](Items) of which one must come before the other. To assert the literal 'a comes
//! before b' is to insert the edge that this means; the rules of the order close it again. A literal holds if the order
//! has its edge. A conflict is explained down to the edges that were asserted, and so to literals and clauses.
//!
//! Invariants: the order is the closure of what it had at first and of the edges that are asserted. Each asserted edge
//! was new when it was, and stands before all that follows from it. So the premises of an edge have smaller numbers,
//! and to take back the last edges restores an earlier order.

use std::ops::Range;

use search::{Lemma, Lit, Pairs, Why};

use crate::explain::{Asserted, Explained, Explainer, Explanation, Premises};
use crate::lanes::Lane;
use crate::saturation::{Conflict, Derived, NONE, Rules, Saturation, SaturationMark};

/// What it means for the order that one item comes before another.
pub trait Items {
    /// The edge that says so: its first and its second event.
    fn edge(&self, first: u32, second: u32) -> (u32, u32);
}

/// Items that are events: one comes before the other by the edge between them.
#[derive(Copy, Clone, Debug)]
pub struct EventItems;

impl Items for EventItems {
    #[inline]
    fn edge(&self, first: u32, second: u32) -> (u32, u32) {
        (first, second)
    }
}

/// A saturated order in which edges are asserted and taken back, and in which every edge can be explained.
#[derive(Clone, Debug)]
pub struct Justified<R, L = u32, I = EventItems> {
    order: Saturation<L>,
    rules: R,
    items: I,
    pairs: Pairs,
    /// How many edges depend on nothing that was asserted.
    known: u32,
    /// The edges that were asserted, by their numbers.
    asserted: Vec<Asserted>,
    /// Edges of smaller numbers are no [news](Self::news). Whether anything was asserted or taken back since then.
    seen: u32,
    has_changed: bool,
}

/// A state of a [`Justified`] order to come back to.
#[derive(Copy, Clone, Debug)]
pub struct Checkpoint {
    order: SaturationMark,
    asserted: usize,
}

impl<R: Rules<L>, L: Lane, I: Items> Justified<R, L, I> {
    /// An order in which nothing was asserted yet. All events have entered.
    pub fn new(mut order: Saturation<L>, rules: R, items: I) -> Self {
        order.record();
        let known = order.edge_count() as u32;
        let (pairs, asserted) = (Pairs::default(), Vec::new());
        Self { order, rules, items, pairs, known, asserted, seen: known, has_changed: false }
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

    /// The literal which says that one item comes before another.
    pub fn lit(&mut self, first: u32, second: u32) -> Lit {
        self.pairs.lit(first, second)
    }

    /// What a literal says comes first, and what comes second.
    pub fn pair(&self, lit: Lit) -> (u32, u32) {
        self.pairs.of(lit)
    }

    /// Whether one item comes before another.
    #[inline]
    pub fn before(&self, first: u32, second: u32) -> bool {
        let (from, to) = self.items.edge(first, second);
        self.order.before(from, to)
    }

    /// The edges that are new since this was asked last, if anything was asserted or taken back since then.
    pub fn news(&mut self) -> Option<Range<u32>> {
        let seen = std::mem::replace(&mut self.seen, self.order.edge_count() as u32);
        std::mem::take(&mut self.has_changed).then_some(seen..self.seen)
    }

    /// The present state.
    pub fn mark(&self) -> Checkpoint {
        Checkpoint { order: self.order.mark(), asserted: self.asserted.len() }
    }

    /// Takes back everything since a state.
    pub fn undo_to(&mut self, state: Checkpoint) {
        self.order.undo(state.order);
        self.asserted.truncate(state.asserted);
        self.seen = self.seen.min(self.order.edge_count() as u32);
        self.has_changed = true;
    }

    /// Asserts a literal, which is not known to hold yet, and closes the order.
    pub fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), Conflict> {
        let (from, to) = self.edge(lit);
        debug_assert!(!self.order.before(from, to), "what is asserted is new");
        let by = match why {
            Why::Decided => None,
            Why::Clause { number, others } => Some((number, others.iter().map(|&other| self.edge(other)).collect())),
        };
        self.asserted.push(Asserted { lit, edge: self.order.edge_count() as u32, by });
        self.has_changed = true;
        self.order.insert(Derived { from, to, reason: NONE }, &mut self.rules)
    }

    /// Whether a literal holds, or its negation does.
    pub fn holds(&self, lit: Lit) -> Option<bool> {
        let (first, second) = self.pairs.of(lit);
        if self.before(first, second) { Some(true) } else { self.before(second, first).then_some(false) }
    }

    /// Explains a conflict, down to what was asserted, and to edges that depend on nothing that was asserted. The order
    /// must be as the conflict left it.
    pub fn explain<P: Premises<L>>(&self, premises: &P, conflict: Conflict) -> Lemma<Explanation<P::Hop>> {
        let Self { order, known, asserted, .. } = self;
        let proof = Explainer { order, premises, asserted, known: *known }.conflict(conflict);
        let decided = proof.decided().filter_map(|number| asserted.binary_search_by_key(&number, |it| it.edge).ok());
        Lemma { refuted: decided.map(|at| asserted[at].lit).collect(), uses: proof.uses().collect(), proof }
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

    /// The edge that a literal asserts.
    fn edge(&self, lit: Lit) -> (u32, u32) {
        let (first, second) = self.pairs.of(lit);
        self.items.edge(first, second)
    }
}
