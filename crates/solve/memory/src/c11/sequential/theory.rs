//! The theory of `psc` for the kernel `search`.
//!
//! A variable is a pair of writes of one location. The literal 'w comes before c' asserts that edge, and the
//! [rules](PscRules) close the order again. A literal holds if the order has its edge. What to decide shows in an
//! [interleaving](super::interleaving): if all nodes wait, there is a cycle of waiters, each of which could go if
//! another write c of its location, which went before it, were not entered by someone who waits for the next waiter w.
//! So one pair of the cycle is turned round: of those that are not ordered, the one whose c went last.
//!
//! The interleaving asks for more than `psc`, so all may wait although there is no such cycle. Then any two writes of a
//! location that have no order are decided. If all have one, saturation has found all of `psc`, without a cycle: the
//! writes in their order are the model.

use std::ops::Range;

use model::{Budget, GaveUp};
use order::justified::Checkpoint;
use order::saturation::{Conflict, Derived};
use order::{Cycles, EventItems, Explainer, Explanation, Hops, Justified, Premises, Saturation};
use search::{Lemma, Lit, Next, Search, Steps, Theory, Why};

use super::fixed;
use super::interleaving::{Interleaving, Waiter};
use super::nodes::{Node, Nodes};
use super::rules::{PscRules, Reason};
use super::steps::NONE;
use crate::knobs::PscKnobs;
use order::Rows;

/// How many events enter between two looks at the clock.
const EVENTS_PER_TIME_CHECK: usize = 1 << 10;

/// One edge of a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// In the order of a chain: program order.
    Chain(Node, Node),
    /// Of `psc`, whatever the modification order is.
    Fixed(Node, Node),
    /// From a write to the rmw that reads it.
    Update(Node, Node),
    /// By the fact of that number.
    Fact(u32),
    /// The derived edge of that number.
    Derived(u32),
}

/// What holds before anything is decided.
pub(crate) struct Base {
    pub(super) nodes: Nodes,
    /// By node of an event: the events before it by `psc`, whatever the modification order is.
    fixed: Rows,
}

impl Base {
    pub(super) fn new(nodes: Nodes) -> Self {
        let fixed = fixed::edges(&nodes);
        Self { nodes, fixed }
    }

    fn predecessors(&self, node: Node) -> impl Iterator<Item = (Node, Hop)> + '_ {
        let is_event = self.nodes.is_event(node);
        let fixed = if is_event { self.fixed.of(node as usize) } else { &[] };
        let fixed = fixed.iter().map(move |&from| (from, Hop::Fixed(from, node)));
        let event = self.nodes.event_of[node as usize];
        let is_update = !is_event && self.nodes.steps.kind(event) == history::execution::Kind::Rmw;
        let source = is_update.then(|| self.nodes.write(self.nodes.source(event))).flatten();
        let facts = self.nodes.facts_into.of(node as usize).iter();
        let facts = facts.map(|&fact| (self.nodes.pair(fact).0, Hop::Fact(fact)));
        fixed.chain(source.map(|from| (from, Hop::Update(from, node)))).chain(facts)
    }

    /// The base predecessors of a node outside its chain.
    fn outside(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let thread = |node: Node| self.nodes.steps.thread(self.nodes.event_of[node as usize]);
        self.predecessors(node).map(|(from, _)| from).filter(move |&from| thread(from) != thread(node))
    }
}

/// The premises of edges, for their explanation.
pub(super) struct Reasons<'b, 'f> {
    pub(super) base: &'b Base,
    pub(super) rules: &'b PscRules<'f>,
}

impl Hops for Reasons<'_, '_> {
    type Hop = Hop;

    fn chain(&self, from: u32, to: u32) -> Hop {
        Hop::Chain(from, to)
    }

    fn derived(&self, number: u32) -> Hop {
        Hop::Derived(number)
    }

    fn base(&self, node: u32, mut reach: impl FnMut(u32, Hop, bool)) {
        self.base.predecessors(node).for_each(|(from, hop)| reach(from, hop, true));
    }

    fn append(&self, path: &mut Vec<Hop>, hop: Hop) {
        match (path.last_mut(), hop) {
            (Some(Hop::Chain(_, end)), Hop::Chain(_, to)) => *end = to,
            _ => path.push(hop),
        }
    }
}

impl Premises for Reasons<'_, '_> {
    fn number(hop: Hop) -> Option<u32> {
        if let Hop::Derived(number) = hop { Some(number) } else { None }
    }

    fn premise(&self, edge: Derived, path: impl Fn(u32, u32) -> Vec<Hop>) -> Vec<Hop> {
        let nodes = &self.base.nodes;
        match Reason::of(edge) {
            Reason::Way(way) => {
                let way = self.rules.way(way);
                if !nodes.is_event(edge.from) {
                    return path(way.exit.node, way.entry.node);
                }
                let [from, to] = [way.entry, way.exit].map(|port| nodes.write(nodes.value(port.access)));
                from.zip(to).map_or_else(Vec::new, |(from, to)| path(from, to))
            }
            Reason::Fact(_) => Vec::new(),
            Reason::Source(rmw) => path(edge.from, nodes.of_write(rmw)),
            Reason::Update => {
                let source = nodes.write(nodes.source(nodes.event_of[edge.from as usize]));
                source.map_or_else(Vec::new, |source| path(source, edge.to))
            }
        }
    }

    fn tell(&self, _: &Saturation, cycle: Vec<Hop>) -> Vec<Hop> {
        cycle
    }
}

/// Saturates: the order that must hold in any case, or why there is none.
pub(super) fn saturate(
    base: &Base,
    rules: &mut PscRules<'_>,
    budget: &Budget,
) -> Result<Result<Saturation, Explanation<Hop>>, GaveUp> {
    let nodes = &base.nodes;
    let mut order = Saturation::in_layers(&nodes.starts, nodes.threads(), |node| base.outside(node));
    for (at, &event) in nodes.steps.line.iter().enumerate() {
        if at.is_multiple_of(EVENTS_PER_TIME_CHECK) {
            budget.check()?;
        }
        // A write exits to its own event, and so enters before that.
        for node in [nodes.of_write(event), nodes.of_event(event)].into_iter().filter(|&node| node != NONE) {
            if let Err(conflict) = order.enter(node, base.outside(node), rules) {
                return Ok(Err(Explainer::new(&order, &Reasons { base, rules }).conflict(conflict)));
            }
        }
    }
    Ok(Ok(order))
}

/// The theory. See the [module](self).
pub(super) struct Psc<'f> {
    base: &'f Base,
    knobs: PscKnobs,
    budget: Budget,
    order: Justified<PscRules<'f>>,
    interleaving: Interleaving<'f>,
}

impl<'f> Psc<'f> {
    /// A search for a modification order in a saturated order.
    pub(super) fn search(
        base: &'f Base,
        order: Saturation,
        rules: PscRules<'f>,
        knobs: PscKnobs,
        budget: &Budget,
    ) -> Search<Self> {
        let search = Search::new(Self {
            base,
            knobs,
            budget: budget.clone(),
            order: Justified::new(order, rules, EventItems),
            interleaving: Interleaving::new(&base.nodes),
        });
        if knobs.lemmas { search } else { search.without_reuse() }
    }

    pub(super) fn nodes(&self) -> &Nodes {
        &self.base.nodes
    }

    /// The order and its rules.
    pub(super) fn order(&self) -> &Justified<PscRules<'f>> {
        &self.order
    }

    /// Makes the interleaving agree with edges that are new: takes back what must come later.
    fn agree(&mut self, news: Range<u32>) {
        let Self { order, interleaving, .. } = self;
        let order = order.order();
        for number in news {
            let Derived { from, to, .. } = order.edge(number);
            if let Some(place) = interleaving.place(to)
                && interleaving.place(from).is_none_or(|from| from > place)
            {
                interleaving.rewind(to);
            }
        }
        interleaving.reset();
    }

    /// A pair of a cycle of waiters, turned round. None if no pair of a shortest cycle is open.
    fn turned(&self) -> Option<(Node, Node)> {
        let order = self.order.order();
        let (waiters, waits) = self.interleaving.waiters(order);
        let mut cycles = Cycles::new(waiters.len());
        let begins = 0..waiters.len() as u32;
        let shortest = cycles.shortest_of_all(begins, self.knobs.cycle_starts, |at| waits[at as usize].as_slice());
        let is_open = |waiter: &Waiter| waiter.current != NONE && !order.before(waiter.current, waiter.write);
        let open = shortest.iter().map(|&at| waiters[at as usize]).filter(is_open);
        let waiter = open.max_by_key(|waiter| self.interleaving.place(waiter.current))?;
        Some((waiter.write, waiter.current))
    }

    /// The writes, those of each location in their order; or else a pair of writes that has no order.
    fn in_order(&self) -> Result<Vec<Node>, (Node, Node)> {
        let (order, nodes) = (self.order.order(), &self.base.nodes);
        let mut writes: Vec<Node> = (nodes.events..nodes.count()).collect();
        // What is before a write has less before it.
        writes.sort_by_cached_key(|&write| (nodes.location(write), order.sum(write)));
        let is_open =
            |pair: &&[Node]| nodes.location(pair[0]) == nodes.location(pair[1]) && !order.before(pair[0], pair[1]);
        let open = writes.windows(2).find(is_open).map(|pair| (pair[0], pair[1]));
        open.map_or(Ok(writes), Err)
    }
}

impl Theory for Psc<'_> {
    type Conflict = Conflict;
    type Proof = Explanation<Hop>;
    /// The writes in an order, which is the modification order of each location.
    type Model = Vec<Node>;
    type Mark = Checkpoint;
    type GaveUp = GaveUp;

    fn mark(&self) -> Checkpoint {
        self.order.mark()
    }

    fn undo_to(&mut self, state: Checkpoint) {
        self.order.undo_to(state);
    }

    fn assert(&mut self, lit: Lit, why: Why<'_>) -> Result<(), Conflict> {
        self.order.assert(lit, why)
    }

    fn holds(&self, lit: Lit) -> Option<bool> {
        self.order.holds(lit)
    }

    fn explain(&mut self, conflict: Conflict) -> Lemma<Explanation<Hop>> {
        let reasons = Reasons { base: self.base, rules: self.order.rules() };
        self.order.explain(&reasons, conflict)
    }

    /// In a step, all nodes wait.
    fn decide(&mut self, steps: &mut Steps) -> Result<Next<Vec<Node>, Conflict>, GaveUp> {
        if let Some(news) = self.order.news() {
            self.agree(news);
        }
        self.interleaving.advance(self.order.order());
        if self.interleaving.is_complete() {
            let writes = self.interleaving.line().iter().copied().filter(|&node| !self.base.nodes.is_event(node));
            return Ok(Next::Found(writes.collect()));
        }
        self.budget.check()?;
        self.budget.check_room(self.order.order().room_to_record())?;
        if !steps.take() {
            return Ok(Next::Pause);
        }
        Ok(match self.turned().map_or_else(|| self.in_order(), Err) {
            Ok(writes) => Next::Found(writes),
            Err((first, second)) => Next::Decide(self.order.lit(first, second)),
        })
    }
}
