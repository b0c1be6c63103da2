//! Certificates of violations: lemmas, each a cycle of `psc` or of writes under assumptions.
//!
//! An edge of the [order](super::rules) that a fact or an update gives is a step of its own. An edge between writes
//! that follows from `psc`, or from atomicity, is a lemma: with its opposite there would be a cycle. The lemma assumes
//! that opposite, and what the edge depends on besides: decisions. Edges between events are no steps, but parts of
//! cycles. So a lemma of the search becomes several lemmas, of which the last is the cycle of the conflict.
//!
//! Invariant: a lemma assumes exactly what is listed for it, and names only lemmas before it.

use std::rc::Rc;

use history::execution::{EventId, Kind, LocationId};
use model::{Derivation, Edge, Evidence, Node as Named, Rule, Step};
use order::saturation::{Derived, NONE};
use order::{Explained, Explanation, Grounds};
use rustc_hash::FxHashMap;

use super::fixed::{self, happens};
use super::nodes::{Fact, Node, Nodes, Port, Value};
use super::rules::{PscRules, Reason, Way};
use super::theory::Hop;

/// Pairs of writes, sorted.
type Pairs = Rc<[(Node, Node)]>;

/// How an edge between writes is said in a derivation.
#[derive(Clone, Debug)]
enum Told {
    Assumed,
    /// By a lemma that assumes the opposite: by the number of the lemma, what else it assumes is known by these pairs,
    /// each with an edge that has the same ends, or with the lemma that shows it.
    Lemma(u32, Rc<[(Pair, Shown)]>),
    Fact(Fact),
    Update(Rc<[Hop]>),
}

type Pair = (Node, Node);

/// How a pair that a lemma assumes is known.
#[derive(Copy, Clone, Debug)]
enum Shown {
    Assumed,
    Edge(u32),
    /// By another lemma, all of whose assumptions are assumed here.
    Lemma(u32),
}

/// What is known of an edge of an explanation.
#[derive(Clone, Debug)]
struct Known {
    edge: Derived,
    told: Told,
    /// The path of an edge between events.
    path: Rc<[Hop]>,
    assumes: Pairs,
}

/// Makes the lemmas of a certificate.
pub(super) struct Certifier<'b, 'a> {
    nodes: &'a Nodes,
    rules: &'b PscRules<'a>,
    lemmas: Vec<Derivation>,
    /// By lemma: what it assumes.
    assumed: Vec<Pairs>,
    /// The edges of the present explanation, by their numbers; those below `level` are the same in all.
    known: FxHashMap<u32, Known>,
    level: u32,
}

impl<'b, 'a> Certifier<'b, 'a> {
    /// `level` is the number of edges that depend on nothing that was asserted.
    pub(super) fn new(nodes: &'a Nodes, rules: &'b PscRules<'a>, level: u32) -> Self {
        Self { nodes, rules, lemmas: Vec::new(), assumed: Vec::new(), known: FxHashMap::default(), level }
    }

    /// All lemmas, as evidence.
    pub(super) fn into_evidence(self) -> Evidence {
        match <[Derivation; 1]>::try_from(self.lemmas) {
            Ok([only]) => Evidence::Cycle(only),
            Err(lemmas) => Evidence::Refutation(lemmas),
        }
    }

    /// Adds a conflict. `lemmas` tells the lemma of each clause. Returns the number of the last lemma.
    pub(super) fn add(&mut self, explanation: &Explanation<Hop>, lemmas: impl Fn(u32) -> u32) -> u32 {
        let level = self.level;
        self.known.retain(|&number, _| number < level);
        for explained in &explanation.edges {
            if !self.known.contains_key(&explained.number) {
                let known = self.learn(explained, &lemmas);
                self.known.insert(explained.number, known);
            }
        }
        let mut draft = Draft::new(self);
        let cycle = match &explanation.bottom {
            Some(Explained { edge, because: Grounds::Rule(path), .. }) => draft.before_initial(*edge, path),
            _ => draft.path(&explanation.cycle),
        };
        let (derivation, assumes) = draft.finish(cycle);
        self.push(derivation, assumes)
    }

    fn push(&mut self, derivation: Derivation, assumes: Pairs) -> u32 {
        self.lemmas.push(derivation);
        self.assumed.push(assumes);
        self.lemmas.len() as u32 - 1
    }

    /// What the edges of some hops assume.
    fn assumes(&self, hops: &[Hop]) -> Pairs {
        let edges = hops.iter().filter_map(|hop| if let Hop::Derived(number) = hop { Some(number) } else { None });
        union(edges.map(|number| &self.known[number].assumes))
    }

    fn learn(&mut self, explained: &Explained<Hop>, lemmas: &impl Fn(u32) -> u32) -> Known {
        let edge = explained.edge;
        let none: Rc<[Hop]> = Rc::new([]);
        match &explained.because {
            Grounds::Decided => {
                Known { edge, told: Told::Assumed, path: none, assumes: Rc::new([(edge.from, edge.to)]) }
            }
            Grounds::Clause { number, others } => {
                let mut shown = Vec::new();
                for path in others {
                    let pair = (self.begin(path[0]), self.end(path[path.len() - 1]));
                    let exact = match path[..] {
                        [Hop::Derived(number)] => Some(Shown::Edge(number)),
                        _ => None,
                    };
                    let by = exact.unwrap_or_else(|| Shown::Lemma(self.claim(pair, path)));
                    shown.push((pair, by));
                }
                let parts: Vec<Pairs> = others.iter().map(|path| self.assumes(path)).collect();
                let assumes = union(parts.iter());
                Known { edge, told: Told::Lemma(lemmas(*number), shown.into()), path: none, assumes }
            }
            Grounds::Rule(path) => {
                let (path, assumes): (Rc<[Hop]>, _) = (path.clone().into(), self.assumes(path));
                let told = match Reason::of(edge) {
                    // It is part of a path, and no step.
                    Reason::Way(_) if self.nodes.is_event(edge.from) => Told::Assumed,
                    Reason::Way(_) | Reason::Source(_) => self.refuted_opposite(edge, &path),
                    Reason::Fact(fact) => Told::Fact(self.nodes.facts[fact as usize]),
                    Reason::Update => Told::Update(path.clone()),
                };
                Known { edge, told, path, assumes }
            }
        }
    }

    /// The lemma that an edge cannot be the other way round.
    fn refuted_opposite(&mut self, edge: Derived, path: &[Hop]) -> Told {
        let mut draft = Draft::new(self);
        let assumed = draft.assume((edge.to, edge.from));
        let cycle = draft.way_round(edge, path, vec![Edge::Derived(assumed)]);
        self.tell(draft.finish(cycle), (edge.to, edge.from))
    }

    fn tell(&mut self, (derivation, assumes): (Derivation, Pairs), opposite: Pair) -> Told {
        let others = assumes.iter().filter(|&&pair| pair != opposite).map(|&pair| (pair, Shown::Assumed)).collect();
        Told::Lemma(self.push(derivation, assumes), others)
    }

    /// The lemma that a pair of writes is in the order of a path.
    fn claim(&mut self, (from, to): Pair, path: &[Hop]) -> u32 {
        let mut draft = Draft::new(self);
        let mut cycle = draft.path(path);
        cycle.push(Edge::Derived(draft.assume((to, from))));
        let (derivation, assumes) = draft.finish(cycle);
        self.push(derivation, assumes)
    }

    fn begin(&self, hop: Hop) -> Node {
        match hop {
            Hop::Chain(from, _) | Hop::Fixed(from, _) | Hop::Update(from, _) => from,
            Hop::Fact(fact) => self.nodes.pair(fact).0,
            Hop::Derived(number) => self.known[&number].edge.from,
        }
    }

    fn end(&self, hop: Hop) -> Node {
        match hop {
            Hop::Chain(_, to) | Hop::Fixed(_, to) | Hop::Update(_, to) => to,
            Hop::Fact(fact) => self.nodes.pair(fact).1,
            Hop::Derived(number) => self.known[&number].edge.to,
        }
    }
}

fn union<'c>(all: impl Iterator<Item = &'c Pairs>) -> Pairs {
    let mut pairs: Vec<Pair> = all.flat_map(|pairs| pairs.iter().copied()).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.into()
}

/// A derivation that is being made.
struct Draft<'c, 'b, 'a> {
    certifier: &'c Certifier<'b, 'a>,
    made: Derivation,
    /// By number of an edge: its step.
    steps: FxHashMap<u32, u32>,
    /// By pair: its assumption, or the step of the lemma that shows it.
    assumed: FxHashMap<Pair, u32>,
    shown: FxHashMap<Pair, u32>,
}

impl<'c, 'b, 'a> Draft<'c, 'b, 'a> {
    fn new(certifier: &'c Certifier<'b, 'a>) -> Self {
        Self {
            certifier,
            made: Derivation::default(),
            steps: FxHashMap::default(),
            assumed: FxHashMap::default(),
            shown: FxHashMap::default(),
        }
    }

    fn finish(mut self, cycle: Vec<Edge>) -> (Derivation, Pairs) {
        self.made.cycle = cycle;
        let mut assumes: Vec<Pair> = self.assumed.into_keys().collect();
        assumes.sort_unstable();
        (self.made, assumes.into())
    }

    fn event(&self, node: Node) -> u32 {
        self.certifier.nodes.event_of[node as usize]
    }

    fn named(&self, event: u32) -> Named {
        Named::Operation(self.certifier.nodes.steps.execution.operation(EventId(event)))
    }

    fn write(&self, node: Node) -> Named {
        self.named(self.event(node))
    }

    fn initial(&self, value: Value) -> Named {
        Named::Init(LocationId(value - self.certifier.nodes.writes))
    }

    fn kind(&self, event: u32) -> Kind {
        self.certifier.nodes.steps.kind(event)
    }

    fn push(&mut self, rule: Rule, from: Named, to: Named, path: Vec<Edge>) -> u32 {
        self.made.steps.push(Step { rule, from, to, path });
        self.made.steps.len() as u32 - 1
    }

    fn assume(&mut self, pair: Pair) -> u32 {
        if let Some(&step) = self.assumed.get(&pair) {
            return step;
        }
        let step = self.push(Rule::Assumed, self.write(pair.0), self.write(pair.1), Vec::new());
        self.assumed.insert(pair, step);
        step
    }

    /// The step of a pair that a lemma assumes.
    fn show(&mut self, pair: Pair, shown: Shown) -> Edge {
        let step = match shown {
            Shown::Assumed => self.assume(pair),
            Shown::Edge(number) => self.step(number),
            Shown::Lemma(_) if self.shown.contains_key(&pair) => self.shown[&pair],
            Shown::Lemma(lemma) => {
                let certifier = self.certifier;
                let others = certifier.assumed[lemma as usize].iter().filter(|&&other| other != (pair.1, pair.0));
                let path = others.map(|&other| Edge::Derived(self.assume(other))).collect();
                let step = self.push(Rule::Lemma(lemma), self.write(pair.0), self.write(pair.1), path);
                self.shown.insert(pair, step);
                step
            }
        };
        Edge::Derived(step)
    }

    /// The step of an edge between writes.
    fn step(&mut self, number: u32) -> u32 {
        if let Some(&step) = self.steps.get(&number) {
            return step;
        }
        let Known { edge: Derived { from, to, .. }, told, .. } = self.certifier.known[&number].clone();
        let step = match told {
            Told::Assumed => self.assume((from, to)),
            Told::Lemma(lemma, others) => {
                let path = others.iter().map(|&(pair, shown)| self.show(pair, shown)).collect();
                self.push(Rule::Lemma(lemma), self.write(from), self.write(to), path)
            }
            Told::Fact(fact) => self.fact(fact, from, to),
            Told::Update(path) => {
                let path = self.path_after_source(self.event(from), to, &path);
                self.push(Rule::ReadWrite, self.write(from), self.write(to), path)
            }
        };
        self.steps.insert(number, step);
        step
    }

    fn fact(&mut self, fact: Fact, from: Node, to: Node) -> u32 {
        self.coherence(fact, self.write(from), self.write(to))
    }

    fn coherence(&mut self, Fact { before, after }: Fact, from: Named, to: Named) -> u32 {
        let rule = Rule::Coherence { before: self.named(before), after: self.named(after) };
        let path = happens(&self.certifier.nodes.steps, before, after);
        self.push(rule, from, to, path)
    }

    /// A path from what a read reads, if this is a write, or from the initial write, to a write.
    fn path_after_source(&mut self, read: u32, to: Node, path: &[Hop]) -> Vec<Edge> {
        let source = self.certifier.nodes.source(read);
        match self.certifier.nodes.write(source) {
            Some(_) => self.path(path),
            None => vec![Edge::Po(self.initial(source), self.write(to))],
        }
    }

    fn path(&mut self, path: &[Hop]) -> Vec<Edge> {
        let nodes = self.certifier.nodes;
        let mut edges = Vec::new();
        for &hop in path {
            match hop {
                Hop::Chain(from, to) if nodes.is_event(from) => edges.push(Edge::Po(self.write(from), self.write(to))),
                // An rmw knows that earlier writes of its thread are not after its source.
                Hop::Chain(from, to) => {
                    let fact = Fact { before: self.event(from), after: self.event(to) };
                    let target = nodes.write(nodes.target(fact.after)).unwrap_or(to);
                    if target != from {
                        edges.push(Edge::Derived(self.fact(fact, from, target)));
                    }
                    if target != to {
                        edges.push(Edge::Rf(self.write(target), self.write(to)));
                    }
                }
                Hop::Fixed(from, to) => edges.extend(fixed::path(&nodes.steps, self.event(from), self.event(to))),
                Hop::Update(from, to) => edges.push(Edge::Rf(self.write(from), self.write(to))),
                Hop::Fact(number) => {
                    let (from, to) = nodes.pair(number);
                    edges.push(Edge::Derived(self.fact(nodes.facts[number as usize], from, to)));
                }
                Hop::Derived(number) => {
                    let Known { edge, path, .. } = self.certifier.known[&number].clone();
                    match Reason::of(edge) {
                        Reason::Way(way) if nodes.is_event(edge.from) => {
                            let Way { entry, exit } = self.certifier.rules.way(way);
                            edges.extend(self.enter(entry, exit, |draft, to| {
                                match nodes.write(nodes.value(entry.access)) {
                                    Some(_) => draft.path(&path),
                                    None => vec![Edge::Po(draft.initial(nodes.value(entry.access)), draft.write(to))],
                                }
                            }));
                        }
                        _ => edges.push(Edge::Derived(self.step(number))),
                    }
                }
            }
        }
        edges
    }

    /// The way from an event that enters to one that is exited to. `order` is the path from the value of the one access
    /// to that of the other.
    fn enter(&mut self, entry: Port, exit: Port, order: impl FnOnce(&mut Self, Node) -> Vec<Edge>) -> Vec<Edge> {
        let nodes = self.certifier.nodes;
        let to = nodes.value(exit.access) + nodes.events;
        let mut edges = happens(&nodes.steps, self.event(entry.node), entry.access);
        let path = order(self, to);
        if self.kind(entry.access).writes() {
            edges.extend(path);
        } else {
            let step = self.push(Rule::ReadWrite, self.named(entry.access), self.write(to), path);
            edges.push(Edge::Derived(step));
        }
        if !self.kind(exit.access).writes() {
            edges.push(Edge::Rf(self.write(to), self.named(exit.access)));
        }
        edges.extend(happens(&nodes.steps, exit.access, self.event(exit.node)));
        edges
    }

    /// The cycle with the opposite of an edge between writes, which follows from `psc` or atomicity. `opposite` is a
    /// path of that.
    fn way_round(&mut self, edge: Derived, path: &[Hop], opposite: Vec<Edge>) -> Vec<Edge> {
        match Reason::of(edge) {
            Reason::Way(way) => {
                let Way { entry, exit } = self.certifier.rules.way(way);
                let mut cycle = self.path(path);
                cycle.extend(self.enter(entry, exit, |_, _| opposite));
                cycle
            }
            Reason::Source(rmw) => {
                let step = self.push(Rule::ReadWrite, self.named(rmw), self.write(edge.from), opposite);
                let mut cycle = vec![Edge::Derived(step)];
                cycle.extend(self.path(path));
                cycle
            }
            Reason::Fact(_) | Reason::Update => unreachable!("these edges are steps"),
        }
    }

    /// The cycle of a write that must come before the initial write.
    fn before_initial(&mut self, edge: Derived, path: &[Hop]) -> Vec<Edge> {
        debug_assert_eq!(edge.to, NONE);
        let nodes = self.certifier.nodes;
        let initial = Named::Init(LocationId(nodes.location(edge.from) as u32));
        let opposite = vec![Edge::Po(initial, self.write(edge.from))];
        if let Reason::Fact(fact) = Reason::of(edge) {
            let fact = self.coherence(nodes.facts[fact as usize], self.write(edge.from), initial);
            return [vec![Edge::Derived(fact)], opposite].concat();
        }
        self.way_round(edge, path, opposite)
    }
}
