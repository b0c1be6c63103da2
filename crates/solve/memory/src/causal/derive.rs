//! Turns the result of an engine into a derivation: a cycle in which every derived edge has its reason.
//!
//! The engines keep clocks, not reasons. When an engine finds a contradiction, the reasons are found again here, as
//! shortest paths. They are found only for the edges that the cycle uses, and for the edges that these reasons use in
//! turn. A view edge (see [`ViewEdge`]) is justified by view edges of later reads of the same thread only, so the
//! search for reasons ends.

use history::Execution;
use history::ProcessId;
use history::execution::EventId;
use model::{Derivation, Edge, Node, Rule, Step};
use order::{Hop, path};
use rustc_hash::FxHashMap;

/// `from` is before `to` in the view of the thread of `read`: `read` reads from `to` and has `from` in its past there.
/// `to` may be [`EventId::INIT`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ViewEdge {
    /// A write.
    pub from: u32,
    /// The source of `read`, on the same location.
    pub to: u32,
    /// The read.
    pub read: u32,
}

/// What kind of edge an edge of a path is, if it is not program order.
#[derive(Copy, Clone, Debug)]
enum Label {
    ReadsFrom,
    /// The view edge of that number.
    View(u32),
}

/// Builds a derivation.
pub struct Deriver<'a> {
    execution: &'a Execution,
    /// View edges, sorted by target.
    views: Vec<ViewEdge>,
    /// By view edge: the step that justifies it, if there is one already.
    justified: FxHashMap<u32, u32>,
    steps: Vec<Step>,
}

/// Which view edges a path may use.
#[derive(Copy, Clone)]
enum Allowed {
    None,
    /// View edges of later reads of the same thread.
    After(u32),
    All,
}

impl<'a> Deriver<'a> {
    /// A deriver without view edges: paths are causal.
    pub fn new(execution: &'a Execution) -> Self {
        Self::with_views(execution, Vec::new())
    }

    /// A deriver that may use the view edges that were found.
    pub fn with_views(execution: &'a Execution, mut views: Vec<ViewEdge>) -> Self {
        views.sort_by_key(|edge| (edge.to, edge.from, edge.read));
        Self { execution, views, justified: FxHashMap::default(), steps: Vec::new() }
    }

    /// The derivation with that cycle.
    pub fn finish(self, cycle: Vec<Edge>) -> Derivation {
        Derivation { steps: self.steps, cycle }
    }

    fn node(&self, event: u32) -> Node {
        Node::Operation(self.execution.operation(EventId(event)))
    }

    /// The source of a read as a node.
    pub fn source_node(&self, read: u32) -> Node {
        let event = self.execution.event(EventId(read));
        if event.source == EventId::INIT { Node::Init(event.location) } else { self.node(event.source.0) }
    }

    /// The edge of program order between two events, unless they are the same event.
    pub fn po(&self, from: u32, to: u32) -> Option<Edge> {
        (from != to).then(|| Edge::Po(self.node(from), self.node(to)))
    }

    /// The reads-from edge into a read.
    pub fn rf(&self, read: u32) -> Edge {
        Edge::Rf(self.source_node(read), self.node(read))
    }

    fn hops(&self, from: u32, to: u32, allowed: Allowed) -> Vec<Hop<Label>> {
        let execution = self.execution;
        let found = path(
            execution.starts(),
            |event| execution.thread(EventId(event)).index(),
            from,
            to,
            |event, edges| {
                let source = execution.event(EventId(event)).source;
                if source.is_event()
                    && (execution.thread(source) != execution.thread(EventId(event)) || source.0 >= event)
                {
                    edges.push((source.0, Label::ReadsFrom));
                }
                let usable = |edge: &ViewEdge| match allowed {
                    Allowed::None => false,
                    Allowed::After(read) => {
                        edge.read > read && execution.thread(EventId(edge.read)) == execution.thread(EventId(read))
                    }
                    Allowed::All => true,
                };
                let first = self.views.partition_point(|edge| edge.to < event);
                for (at, edge) in (first..).zip(&self.views[first..]).take_while(|(_, edge)| edge.to == event) {
                    if usable(edge) {
                        edges.push((edge.from, Label::View(at as u32)));
                    }
                }
            },
        );
        found.expect("what a clock says has a path")
    }

    fn edges(&self, hops: &[Hop<Label>]) -> Vec<Edge> {
        let edge = |hop: &Hop<Label>| match *hop {
            Hop::Chain(from, to) => Edge::Po(self.node(from), self.node(to)),
            Hop::Edge(_, to, Label::ReadsFrom) => self.rf(to),
            Hop::Edge(_, _, Label::View(at)) => Edge::Derived(self.justified[&at]),
        };
        hops.iter().map(edge).collect()
    }

    /// A path in which all derived edges have their steps.
    fn justified_path(&mut self, from: u32, to: u32, allowed: Allowed) -> Vec<Edge> {
        let hops = self.hops(from, to, allowed);
        self.justify(&hops);
        self.edges(&hops)
    }

    /// Adds the step of every view edge on a path, after the steps that its own premise uses.
    fn justify(&mut self, hops: &[Hop<Label>]) {
        fn first_open(hops: &[Hop<Label>], justified: &FxHashMap<u32, u32>) -> Option<u32> {
            hops.iter().find_map(|hop| match hop {
                Hop::Edge(_, _, Label::View(at)) if !justified.contains_key(at) => Some(*at),
                _ => None,
            })
        }
        while let Some(open) = first_open(hops, &self.justified) {
            let mut stack: Vec<(u32, Vec<Hop<Label>>)> = Vec::new();
            let mut next = Some(open);
            loop {
                if let Some(at) = next {
                    let ViewEdge { from, read, .. } = self.views[at as usize];
                    stack.push((at, self.hops(from, read, Allowed::After(read))));
                }
                let Some((at, premise)) = stack.last() else { break };
                next = first_open(premise, &self.justified);
                if next.is_none() {
                    let ViewEdge { from, read, .. } = self.views[*at as usize];
                    let path = self.edges(premise);
                    let step = self.push_conflict(from, read, true, path);
                    self.justified.insert(*at, step);
                    stack.pop();
                }
            }
        }
    }

    fn push(&mut self, step: Step) -> u32 {
        self.steps.push(step);
        self.steps.len() as u32 - 1
    }

    fn push_conflict(&mut self, from: u32, read: u32, view: bool, path: Vec<Edge>) -> u32 {
        let view = view.then(|| ProcessId(self.execution.thread(EventId(read)).0));
        let rule = Rule::Conflict { read: self.node(read), view };
        self.push(Step { rule, from: self.node(from), to: self.source_node(read), path })
    }

    /// A cycle of causality: pairs `(needed, event)` as of [`order::Stuck::cycle`], all of them reads-from.
    pub fn causal_cycle(self, cycle: &[(u32, u32)]) -> Derivation {
        self.waiting_cycle(cycle, |deriver, _, event| vec![deriver.rf(event)])
    }

    /// As [`Self::causal_cycle`], but an edge may also be a conflict under causality: `forced_by(write, source)` is the
    /// read that forces it.
    pub fn conflict_cycle(self, cycle: &[(u32, u32)], forced_by: impl Fn(u32, u32) -> Option<u32>) -> Derivation {
        self.waiting_cycle(cycle, |deriver, needed, event| {
            if deriver.execution.event(EventId(event)).source.0 == needed {
                return vec![deriver.rf(event)];
            }
            let read = forced_by(needed, event).expect("a conflict is forced by a read");
            let path = deriver.justified_path(needed, read, Allowed::None);
            vec![Edge::Derived(deriver.push_conflict(needed, read, false, path))]
        })
    }

    /// The cycle of chains that wait for each other. `edge` tells the edges of each wait.
    pub fn waiting_cycle(
        mut self,
        cycle: &[(u32, u32)],
        mut edge: impl FnMut(&mut Self, u32, u32) -> Vec<Edge>,
    ) -> Derivation {
        let mut edges = Vec::new();
        for (at, &(needed, event)) in cycle.iter().enumerate().rev() {
            let (_, before) = cycle[(at + 1) % cycle.len()];
            edges.extend(self.po(before, needed));
            edges.extend(edge(&mut self, needed, event));
        }
        self.finish(edges)
    }

    /// `write` comes between a read and its source: the source is causally before `write`, and `write` is before the
    /// read, causally or in the view of the read's thread.
    pub fn stale_read(mut self, read: u32, source: EventId, write: u32, in_view: bool) -> Derivation {
        let allowed = if in_view { Allowed::After(read) } else { Allowed::None };
        let premise = self.justified_path(write, read, allowed);
        let mut cycle = if source == EventId::INIT {
            vec![Edge::Po(self.source_node(read), self.node(write))]
        } else {
            self.justified_path(source.0, write, allowed)
        };
        let step = self.push_conflict(write, read, in_view, premise);
        cycle.push(Edge::Derived(step));
        self.finish(cycle)
    }

    /// A cycle through an event, in causality and view edges: those after `event` if it is a read, or all.
    pub fn cycle_through(mut self, event: u32, all: bool) -> Derivation {
        let allowed = if all { Allowed::All } else { Allowed::After(event) };
        let cycle = self.justified_path(event, event, allowed);
        self.finish(cycle)
    }

    /// An initial write and a write of its location that is before a read of the initial value, in the union of all
    /// views.
    pub fn overwritten_init(mut self, read: u32, write: u32) -> Derivation {
        let conflict = self.conflict(write, read);
        let cycle = vec![Edge::Po(self.source_node(read), self.node(write)), conflict];
        self.finish(cycle)
    }

    /// A conflict in the union of all views: `write` is before `read`, so before its source.
    pub fn conflict(&mut self, write: u32, read: u32) -> Edge {
        let path = self.justified_path(write, read, Allowed::All);
        Edge::Derived(self.push_conflict(write, read, false, path))
    }

    /// Two writes of one location, ordered in the union of all views.
    pub fn store_order(&mut self, from: u32, to: u32) -> Edge {
        let path = self.justified_path(from, to, Allowed::All);
        let step = Step { rule: Rule::StoreOrder, from: self.node(from), to: self.node(to), path };
        Edge::Derived(self.push(step))
    }

    /// The initial write of the location of a write, and the write.
    pub fn store_order_from_init(&mut self, to: u32) -> Edge {
        let from = Node::Init(self.execution.event(EventId(to)).location);
        let to = self.node(to);
        Edge::Derived(self.push(Step { rule: Rule::StoreOrder, from, to, path: vec![Edge::Po(from, to)] }))
    }

    /// A read before a write that overwrites what it read; `path` leads from its source to the write.
    pub fn read_write(&mut self, read: u32, to: u32, path: Vec<Edge>) -> Edge {
        let step = Step { rule: Rule::ReadWrite, from: self.node(read), to: self.node(to), path };
        Edge::Derived(self.push(step))
    }
}
