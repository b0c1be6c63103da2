//! Derivations of cycles: of chains, or of `psc`.

use certificate::{Derivation, Edge, Model, Node, Rule, Step};
use history::execution::{EventId, Kind};
use rustc_hash::FxHashMap;

use super::super::happens::happens_before;
use super::graph::{ECO, END, GOT, ORDER, OTHER, PO, READERS, ROW, START, THROUGH, Vertex};
use super::steps::{NONE, Steps};
use super::{Chains, Reason, assumptions};

/// A derivation that is being made.
pub(super) struct Deriver<'a> {
    steps: &'a Steps<'a>,
    chains: &'a Chains,
    lemmas: &'a [Derivation],
    made: Derivation,
    /// By pair of chains: its step.
    numbers: FxHashMap<u32, u32>,
}

impl<'a> Deriver<'a> {
    pub(super) fn new(steps: &'a Steps<'a>, chains: &'a Chains, lemmas: &'a [Derivation]) -> Self {
        Self { steps, chains, lemmas, made: Derivation::default(), numbers: FxHashMap::default() }
    }

    fn node(&self, event: u32) -> Node {
        Node::Operation(self.steps.execution.operation(EventId(event)))
    }

    /// The node of a write, or of the initial write of a location.
    fn write(&self, write: usize) -> Node {
        match write.checked_sub(self.steps.execution.len()) {
            Some(location) => Node::Init(history::execution::LocationId(location as u32)),
            None => self.node(write as u32),
        }
    }

    /// The source of a read, as the number of a write.
    fn source(&self, read: u32) -> usize {
        let event = self.steps.execution.events()[read as usize];
        match event.source {
            EventId::INIT => self.steps.execution.len() + event.location.index(),
            source => source.index(),
        }
    }

    fn kind(&self, event: u32) -> Kind {
        self.steps.execution.events()[event as usize].kind
    }

    fn push(&mut self, rule: Rule, from: Node, to: Node, path: Vec<Edge>) -> u32 {
        self.made.steps.push(Step { rule, from, to, path });
        self.made.steps.len() as u32 - 1
    }

    fn happens_before(&self, before: u32, after: u32) -> Vec<Edge> {
        let path = happens_before(self.steps.execution, Model::Rc20, EventId(before), EventId(after));
        path.unwrap_or_default()
    }

    /// The step of a pair of chains.
    fn step(&mut self, number: u32) -> u32 {
        if let Some(&step) = self.numbers.get(&number) {
            return step;
        }
        let pair = self.chains.pairs[number as usize];
        let step = match pair.reason {
            Reason::Fact { before, after } => {
                let from = if self.kind(before).writes() { before as usize } else { self.source(before) };
                let to = if self.kind(after).reads() { self.source(after) } else { after as usize };
                let rule = Rule::Coherence { before: self.node(before), after: self.node(after) };
                self.push(rule, self.write(from), self.write(to), self.happens_before(before, after))
            }
            Reason::Assumed => self.push(Rule::Assumed, self.node(pair.first), self.node(pair.second), Vec::new()),
            Reason::Lemma(lemma) => {
                let opposite = (self.node(pair.second), self.node(pair.first));
                let others: Vec<(Node, Node)> =
                    assumptions(&self.lemmas[lemma as usize]).filter(|&pair| pair != opposite).collect();
                let mut path = Vec::new();
                for (from, to) in others {
                    let is_other = |pair: &super::Pair| {
                        !matches!(pair.reason, Reason::Fact { .. })
                            && (self.node(pair.first), self.node(pair.second)) == (from, to)
                    };
                    // What a lemma assumes besides was assumed before it, and still is.
                    if let Some(other) = self.chains.pairs.iter().position(is_other) {
                        path.push(Edge::Derived(self.step(other as u32)));
                    }
                }
                self.push(Rule::Lemma(lemma), self.node(pair.first), self.node(pair.second), path)
            }
        };
        self.numbers.insert(number, step);
        step
    }

    /// The same pair of chains, between two other writes of theirs.
    fn between(&mut self, step: u32, from: Node, to: Node) -> Edge {
        let Step { from: first, to: second, .. } = self.made.steps[step as usize];
        if (first, second) == (from, to) {
            return Edge::Derived(step);
        }
        Edge::Derived(self.push(Rule::Atomicity, from, to, vec![Edge::Derived(step)]))
    }

    /// Edges that lead from one write to a later one in every modification order that has the pairs.
    fn order(&mut self, from: usize, to: u32) -> Vec<Edge> {
        let count = self.steps.execution.len();
        let first = if from < count { self.chains.of[from] } else { from as u32 };
        let second = self.chains.of[to as usize];
        if first == second {
            let mut edges = Vec::new();
            let mut write = from;
            while write != to as usize {
                let next = self.chains.updaters[write];
                edges.push(Edge::Rf(self.write(write), self.node(next)));
                write = next as usize;
            }
            return edges;
        }
        if first as usize >= count {
            // The initial write comes first, and what updates it in turn comes right after it.
            let mut edge = Edge::Po(self.write(first as usize), self.node(to));
            let mut write = first as usize;
            while write != from {
                write = self.chains.updaters[write] as usize;
                let step = self.push(Rule::ReadWrite, self.node(write as u32), self.node(to), vec![edge]);
                edge = Edge::Derived(step);
            }
            return vec![edge];
        }
        let path = self.chains.path(first, second).unwrap_or_default();
        let mut edges = Vec::new();
        let mut current = self.write(from);
        for (at, &number) in path.iter().enumerate() {
            let step = self.step(number);
            let next = if at + 1 == path.len() { self.node(to) } else { self.made.steps[step as usize].to };
            edges.push(self.between(step, current, next));
            current = next;
        }
        edges
    }

    /// The derivation of a cycle of chains, given by its pairs.
    pub(super) fn cycle_of_chains(&mut self, cycle: &[u32]) -> Derivation {
        let steps: Vec<u32> = cycle.iter().map(|&pair| self.step(pair)).collect();
        for (at, &step) in steps.iter().enumerate() {
            let from = self.made.steps[step as usize].from;
            let to = self.made.steps[steps[(at + 1) % steps.len()] as usize].from;
            let edge = self.between(step, from, to);
            self.made.cycle.push(edge);
        }
        std::mem::take(&mut self.made)
    }

    /// Whether two events of a thread are no accesses of one location.
    fn differ(&self, one: u32, two: u32) -> bool {
        let events = self.steps.execution.events();
        let [one, two] = [events[one as usize], events[two as usize]];
        one.kind == Kind::Fence || two.kind == Kind::Fence || one.location != two.location
    }

    /// The read by which an event acquires what a write carries.
    fn reader(&self, write: u32, acquire: u32) -> u32 {
        let reads = |&at: &u32| self.steps.execution.events()[at as usize].source == EventId(write);
        (0..=acquire).rev().find(reads).unwrap_or(acquire)
    }

    /// The derivation of a cycle of `psc`.
    pub(super) fn cycle(&mut self, cycle: &[Vertex]) -> Derivation {
        // Where a run of program order began, and whether its last step must lead to another location.
        let mut run: Option<(u32, bool)> = None;
        // Where a release began, and the write that carries it.
        let mut release = [NONE; 2];
        let mut from = NONE;
        for pair in cycle.windows(2) {
            let [one, two] = [pair[0], pair[1]];
            let is_hb = two.phase >= super::graph::FROM;
            let is_po = !one.is_carrier && !two.is_carrier && (is_hb || two.phase == PO);
            if is_po && (one.phase != THROUGH || two.phase == THROUGH) {
                run = run.or(Some((one.event, false)));
                continue;
            }
            if let Some((begin, must_differ)) = run.take() {
                self.add_po(begin, one.event, must_differ);
            }
            match (one.phase, two.phase) {
                (THROUGH, PO) => run = Some((one.event, true)),
                (START, OTHER) => self.add_po(one.event, two.event, false),
                _ if is_hb && two.is_carrier && !one.is_carrier => release = [one.event, two.event],
                _ if is_hb && one.is_carrier && !two.is_carrier => {
                    let [release, write] = release.map(|event| self.node(event));
                    let read = self.node(self.reader(one.event, two.event));
                    self.made.cycle.push(Edge::Sw { release, write, read, acquire: self.node(two.event) });
                }
                (START, ROW) => from = one.event,
                (ROW, END) => {
                    let path = self.happens_before(from, two.event);
                    self.made.cycle.extend(path);
                }
                (before, ORDER | ECO) if before != two.phase => from = one.event,
                (ORDER, END) | (ECO, GOT | READERS) => self.add_order(from, one.event),
                _ => {}
            }
            if (one.phase, two.phase) == (READERS, GOT) {
                self.made.cycle.push(Edge::Rf(self.node(one.event), self.node(two.event)));
            }
        }
        std::mem::take(&mut self.made)
    }

    /// Program order; if the last step must lead to another location, through the first event of another one.
    fn add_po(&mut self, from: u32, to: u32, must_differ: bool) {
        let mut from = from;
        if must_differ && !self.differ(from, to) {
            let other = self.steps.other[from as usize];
            self.made.cycle.push(Edge::Po(self.node(from), self.node(other)));
            from = other;
        }
        self.made.cycle.push(Edge::Po(self.node(from), self.node(to)));
    }

    /// `mo` or `fr` from an access to a write.
    fn add_order(&mut self, from: u32, to: u32) {
        if self.kind(from).writes() {
            let edges = self.order(from as usize, to);
            self.made.cycle.extend(edges);
        } else {
            let path = self.order(self.source(from), to);
            let step = self.push(Rule::ReadWrite, self.node(from), self.node(to), path);
            self.made.cycle.push(Edge::Derived(step));
        }
    }
}
