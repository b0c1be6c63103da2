//! Reasons of the edges of a saturated order: paths, and derivations that consist of paths.
//!
//! The premise of a derived edge is a path over program order, reads-from, and derived edges of smaller numbers.
//! [`order::explain`] finds these paths when an explanation is needed.

use history::execution::{EventId, LocationId};
use model::{Derivation, Edge, Node, Rule, Step};
use order::lanes::Lane;
use order::saturation::{Derived, NONE};
use order::{Explained, Explanation, Grounds, Hops, Premises, Saturation};
use rustc_hash::FxHashMap;

use super::frame::Frame;
use super::rules::READ_WRITE;

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

impl Hops for Frame<'_> {
    type Hop = Hop;

    fn chain(&self, from: u32, to: u32) -> Hop {
        Hop::Po(from, to)
    }

    fn derived(&self, number: u32) -> Hop {
        Hop::Derived(number)
    }

    fn base(&self, event: u32, mut reach: impl FnMut(u32, Hop, bool)) {
        for predecessor in self.predecessors(event) {
            let hop = self.hop(predecessor, event);
            reach(predecessor, hop, !matches!(hop, Hop::Own(..) | Hop::Known(..)));
        }
    }

    /// Two hops in program order become one, if the base has that one, too.
    fn append(&self, path: &mut Vec<Hop>, hop: Hop) {
        match (path.last_mut(), hop) {
            (Some(Hop::Po(begin, end)), Hop::Po(_, to)) if *begin == NONE || self.keeps(*begin, to) => *end = to,
            _ => path.push(hop),
        }
    }
}

impl<L: Lane> Premises<L> for Frame<'_> {
    fn number(hop: Hop) -> Option<u32> {
        if let Hop::Derived(number) = hop { Some(number) } else { None }
    }

    fn premise(&self, edge: Derived, path: impl Fn(u32, u32) -> Vec<Hop>) -> Vec<Hop> {
        match edge.reason {
            READ_WRITE => match self.source(edge.from) {
                NONE => vec![Hop::Po(NONE, edge.to)],
                source => path(source, edge.to),
            },
            read if self.in_program_order(edge.from, read) => vec![Hop::Po(edge.from, read)],
            read => path(edge.from, read),
        }
    }

    fn tell(&self, _: &Saturation<L>, cycle: Vec<Hop>) -> Vec<Hop> {
        self.cycle(cycle)
    }
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
    fn new(frame: &'a Frame<'a>) -> Self {
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
        let step = self.push(rule, self.node(write), self.node(source), path);
        self.by_base.insert((write, read), step);
        step
    }

    /// The derivation of a conflict. `lemmas` tells the place of each lemma in the evidence.
    pub fn build(frame: &'a Frame<'a>, explanation: &Explanation<Hop>, lemmas: &[Option<u32>]) -> Derivation {
        let mut this = Self::new(frame);
        for explained in &explanation.edges {
            this.add(explained, lemmas);
        }
        let mut cycle = this.path(&explanation.cycle);
        if let Some(bottom) = &explanation.bottom {
            cycle = this.path(&[Hop::Po(NONE, bottom.edge.from)]);
            let step = this.add(bottom, lemmas);
            cycle.push(Edge::Derived(step));
        }
        this.derivation.cycle = cycle;
        this.derivation
    }

    fn push(&mut self, rule: Rule, from: Node, to: Node, path: Vec<Edge>) -> u32 {
        self.derivation.steps.push(Step { rule, from, to, path });
        self.derivation.steps.len() as u32 - 1
    }

    /// Adds an edge, after the edges that it depends on. Returns the number of its step.
    fn add(&mut self, explained: &Explained<Hop>, lemmas: &[Option<u32>]) -> u32 {
        let Derived { from, to, reason } = explained.edge;
        let (rule, path) = match &explained.because {
            Grounds::Decided => (Rule::Assumed, Vec::new()),
            Grounds::Clause { number, others } => {
                let others = others.iter().map(|path| self.other(path)).collect();
                (Rule::Lemma(lemmas[*number as usize].unwrap_or(NONE)), others)
            }
            Grounds::Rule(path) if reason == READ_WRITE => (Rule::ReadWrite, self.path(path)),
            Grounds::Rule(path) => (Rule::Conflict { read: self.node(reason), view: None }, self.path(path)),
        };
        let to = if to == NONE { self.initial(from) } else { self.node(to) };
        let step = self.push(rule, self.node(from), to, path);
        self.steps.insert(explained.number, step);
        step
    }

    /// A pair of writes that a lemma asks for, as one step.
    fn other(&mut self, path: &[Hop]) -> Edge {
        let path = self.path(path);
        if let [edge] = path[..] {
            return edge;
        }
        let ends = [path.first(), path.last()].map(|edge| edge.map(|&edge| self.derivation.ends(edge)));
        let [Some((from, _)), Some((_, to))] = ends else { unreachable!("a path has an edge") };
        Edge::Derived(self.push(Rule::StoreOrder, from, to, path))
    }
}
