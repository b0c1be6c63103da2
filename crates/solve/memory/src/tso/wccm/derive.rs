//! Turns a cycle into its derivation.
//!
//! The orders tell which event comes before which, and each [`ViewEdge`] tells which read forces it. The paths between
//! are found here, as shortest paths. They are found only for the edges that the cycle uses, and for the edges that
//! these depend on in turn. The search for a path visits only events that are after its begin by the clocks. The order
//! may have grown since, but it still has all that it had.

use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use history::ProcessId;
use history::execution::{EventId, LocationId};
use model::{Derivation, Edge, Node, Rule, Step};
use order::saturation::NONE;
use order::{Hop, Hops, Rows, Saturation, Stuck, path};
use rustc_hash::FxHashMap;

use super::views::Base;
use super::{PartialStoreOrder, Reason};
use crate::causal::derive::ViewEdge;
use crate::store::explain;

/// The derivation of a cycle through an event, of the base and some pairs of views.
pub fn cycle(base: &Base, event: u32, edges: Range<u32>) -> Derivation {
    let (mut views, mut steps) = (Views::new(base), Steps::default());
    let hops = views.hops(event, event, &edges);
    views.justify(&mut steps, hops.iter().filter_map(label));
    let hops = base.frame.cycle(path_of_steps(base, &hops, |edge| views.steps[&edge]));
    steps.finish(hops.into_iter().map(|hop| views.edge(hop)).collect())
}

/// The derivation of a write that comes before a read of the initial value, by the base and some pairs of views.
pub fn overwritten(base: &Base, write: u32, read: u32, edges: Range<u32>) -> Derivation {
    let (mut views, mut steps) = (Views::new(base), Steps::default());
    let conflict = views.conflict(&mut steps, write, read, edges);
    steps.finish(vec![Edge::Po(views.source(read), views.node(write)), Edge::Derived(conflict)])
}

/// The steps so far.
#[derive(Default)]
struct Steps {
    all: Vec<Step>,
    /// The steps that are in no view, by their rule and ends.
    known: FxHashMap<(Rule, Node, Node), u32>,
}

impl Steps {
    fn push(&mut self, step: Step) -> u32 {
        if !matches!(step.rule, Rule::Conflict { view: Some(_), .. }) {
            self.known.insert((step.rule, step.from, step.to), self.all.len() as u32);
        }
        self.all.push(step);
        self.all.len() as u32 - 1
    }

    /// The step which says that an initial write comes before another write.
    fn initial(&mut self, init: Node, to: Node) -> u32 {
        let known = self.known.get(&(Rule::StoreOrder, init, to)).copied();
        let path = vec![Edge::Po(init, to)];
        known.unwrap_or_else(|| self.push(Step { rule: Rule::StoreOrder, from: init, to, path }))
    }

    fn finish(self, cycle: Vec<Edge>) -> Derivation {
        Derivation { steps: self.all, cycle }
    }
}

/// The first event of each chain after an event, in the form in which [`path`] wants the starts of the chains.
fn bounds(order: &Saturation, starts: &[u32], from: u32) -> Vec<u32> {
    let first = |chain: &[u32]| {
        let (mut low, mut high) = (chain[0], chain[1]);
        while low < high {
            let middle = low + (high - low) / 2;
            if order.before(from, middle) { high = middle } else { low = middle + 1 }
        }
        low
    };
    starts.windows(2).map(first).chain(starts.last().copied()).collect()
}

/// A shortest path along the chains of an order and the edges that `incoming` tells. If a cycle was found in the order,
/// edges that would have been inserted later are missing. So all events are searched if the path is a cycle, or if the
/// order does not lead to the end of the path.
fn shortest<L: Copy>(
    order: &Saturation,
    starts: &[u32],
    from: u32,
    to: u32,
    mut incoming: impl FnMut(u32, &mut Vec<(u32, L)>),
) -> Vec<Hop<L>> {
    let mut within = |bounds: &[u32]| path(bounds, |event| order.chain(event), from, to, &mut incoming);
    let near = if from == to { None } else { within(&bounds(order, starts, from)) };
    near.or_else(|| within(starts)).expect("what an order says has a path")
}

/// A shortest path of a base and further edges, which have labels.
fn search<L: Copy>(
    base: &Base,
    from: u32,
    to: u32,
    mut incoming: impl FnMut(u32, &mut Vec<(u32, Option<L>)>),
) -> Vec<Hop<Option<L>>> {
    shortest(&base.order, base.frame.execution().starts(), from, to, |event, edges| {
        edges.extend(base.frame.predecessors(event).map(|predecessor| (predecessor, None)));
        incoming(event, edges);
    })
}

fn label<L: Copy>(hop: &Hop<Option<L>>) -> Option<L> {
    if let Hop::Edge(_, _, label) = *hop { label } else { None }
}

/// A path in terms of steps.
fn path_of_steps<L: Copy>(base: &Base, hops: &[Hop<Option<L>>], step: impl Fn(L) -> u32) -> Vec<explain::Hop> {
    let mut path = Vec::with_capacity(hops.len());
    for hop in hops {
        let hop = match *hop {
            Hop::Chain(from, to) => explain::Hop::Po(from, to),
            Hop::Edge(from, to, None) => base.frame.hop(from, to),
            Hop::Edge(_, _, Some(label)) => explain::Hop::Derived(step(label)),
        };
        base.frame.append(&mut path, hop);
    }
    path
}

/// The views of a base, and the steps of their pairs, as far as there are any.
struct Views<'a> {
    base: &'a Base,
    /// The pairs by where they end.
    edges_in: Rows,
    steps: FxHashMap<u32, u32>,
}

impl<'a> Views<'a> {
    fn new(base: &'a Base) -> Self {
        let by_target = base.edges.iter().map(|edge| edge.to as usize).zip(0..);
        Self { base, edges_in: Rows::new(base.operations.len(), by_target), steps: FxHashMap::default() }
    }

    fn node(&self, event: u32) -> Node {
        Node::Operation(self.base.operations[event as usize])
    }

    fn edge(&self, hop: explain::Hop) -> Edge {
        match hop {
            explain::Hop::Po(from, to) => Edge::Po(self.node(from), self.node(to)),
            explain::Hop::Rf(from, to) => Edge::Rf(self.node(from), self.node(to)),
            explain::Hop::Derived(step) => Edge::Derived(step),
            explain::Hop::Own(..) | explain::Hop::Known(..) => {
                unreachable!("the bases of wccm have program order and reads-from alone")
            }
        }
    }

    /// A shortest path of the base and some pairs.
    fn hops(&self, from: u32, to: u32, edges: &Range<u32>) -> Vec<Hop<Option<u32>>> {
        search(self.base, from, to, |event, into| {
            let usable = self.edges_in.of(event as usize).iter().filter(|number| edges.contains(number));
            into.extend(usable.map(|&number| (self.base.edges[number as usize].from, Some(number))));
        })
    }

    /// Adds the steps of pairs, and of the pairs that they depend on. Each pair depends on earlier pairs of its view.
    fn justify(&mut self, steps: &mut Steps, wanted: impl Iterator<Item = u32>) {
        let Base { frame, edges, .. } = self.base;
        let mut open: BinaryHeap<u32> = wanted.collect();
        let mut premises = BTreeMap::new();
        while let Some(number) = open.pop() {
            if self.steps.contains_key(&number) || premises.contains_key(&number) {
                continue;
            }
            let ViewEdge { from, read, .. } = edges[number as usize];
            let owner = frame.owner(read);
            let first = edges.partition_point(|edge| frame.owner(edge.read) < owner) as u32;
            let premise = self.hops(from, read, &(first..number));
            open.extend(premise.iter().filter_map(label));
            premises.insert(number, premise);
        }
        for (number, premise) in premises {
            let ViewEdge { from, to, read } = edges[number as usize];
            let rule = Rule::Conflict { read: self.node(read), view: Some(ProcessId(frame.owner(read))) };
            let path = self.edges(&premise);
            let step = steps.push(Step { rule, from: self.node(from), to: self.node(to), path });
            self.steps.insert(number, step);
        }
    }

    /// A path whose pairs have their steps.
    fn edges(&self, hops: &[Hop<Option<u32>>]) -> Vec<Edge> {
        path_of_steps(self.base, hops, |number| self.steps[&number]).into_iter().map(|hop| self.edge(hop)).collect()
    }

    fn source(&self, read: u32) -> Node {
        match self.base.frame.source(read) {
            NONE => Node::Init(self.base.location(read)),
            source => self.node(source),
        }
    }

    /// The step which says that a write is before the source of a read. The write is before the read by the base and
    /// some pairs.
    fn conflict(&mut self, steps: &mut Steps, write: u32, read: u32, edges: Range<u32>) -> u32 {
        let rule = Rule::Conflict { read: self.node(read), view: None };
        let (from, to) = (self.node(write), self.source(read));
        if let Some(&step) = steps.known.get(&(rule, from, to)) {
            return step;
        }
        let hops = self.hops(write, read, &edges);
        self.justify(steps, hops.iter().filter_map(label));
        let path = self.edges(&hops);
        steps.push(Step { rule, from, to, path })
    }

    /// As [`Self::conflict`], where all pairs may be used.
    fn conflict_for_all(&mut self, steps: &mut Steps, write: u32, read: u32) -> u32 {
        self.conflict(steps, write, read, 0..self.base.edges.len() as u32)
    }
}

/// Why an event comes before another in the relation `ppo u rfe u wpww u rw[wpww]`, if not by the base.
#[derive(Copy, Clone)]
enum LastEdge {
    Store,
    ReadWrite,
}

/// Builds derivations from a partial store order.
pub struct Deriver<'a> {
    order: &'a PartialStoreOrder,
    ppo: Views<'a>,
    /// The views of `po-loc`, by location.
    locations: Vec<Views<'a>>,
    /// By event: its number at its location.
    places: Vec<u32>,
    steps: Steps,
}

impl<'a> Deriver<'a> {
    pub fn new(order: &'a PartialStoreOrder) -> Self {
        let mut places = vec![NONE; order.base.operations.len()];
        for location in &order.locations {
            for (place, &event) in (0..).zip(&location.events) {
                places[event as usize] = place;
            }
        }
        let locations = order.locations.iter().map(|location| Views::new(&location.base)).collect();
        Self { order, ppo: Views::new(&order.base), locations, places, steps: Steps::default() }
    }

    fn location(&self, event: u32) -> LocationId {
        self.order.base.location(event)
    }

    /// A path of `whb`.
    fn happens(&mut self, from: u32, to: u32) -> Vec<explain::Hop> {
        let Self { order, ppo, locations, places, steps } = self;
        let hops = search(&order.base, from, to, |event, into| {
            let of_ppo = ppo
                .edges_in
                .of(event as usize)
                .iter()
                .map(|&number| (ppo.base.edges[number as usize].from, Some((None, number))));
            into.extend(of_ppo);
            let at = order.base.location(event).index();
            if let Some(views) = locations.get(at) {
                let numbers = views.edges_in.of(places[event as usize] as usize).iter();
                let event = |place: u32| order.locations[at].events[place as usize];
                into.extend(
                    numbers.map(|&number| (event(views.base.edges[number as usize].from), Some((Some(at), number)))),
                );
            }
        });
        for (at, number) in hops.iter().filter_map(label) {
            let views = at.map_or(&mut *ppo, |at| &mut locations[at]);
            views.justify(steps, std::iter::once(number));
        }
        path_of_steps(&order.base, &hops, |(at, number)| at.map_or(&*ppo, |at| &locations[at]).steps[&number])
    }

    /// The cycle of `whb` through an event.
    pub fn circle(mut self, event: u32) -> Derivation {
        let hops = self.happens(event, event);
        let cycle = self.order.base.frame.cycle(hops);
        self.close(cycle)
    }

    fn close(self, cycle: Vec<explain::Hop>) -> Derivation {
        let Self { ppo, steps, .. } = self;
        steps.finish(cycle.into_iter().map(|hop| ppo.edge(hop)).collect())
    }

    /// The step which says that `whb` orders two writes of one location.
    fn store_order(&mut self, from: u32, to: u32) -> u32 {
        let (first, second) = (self.ppo.node(from), self.ppo.node(to));
        if let Some(&step) = self.steps.known.get(&(Rule::StoreOrder, first, second)) {
            return step;
        }
        let path = self.happens(from, to).into_iter().map(|hop| self.ppo.edge(hop)).collect();
        self.steps.push(Step { rule: Rule::StoreOrder, from: first, to: second, path })
    }

    /// A path of `wpww` between two writes of one location, by their numbers there.
    fn stores(&mut self, location: usize, from: u32, to: u32) -> Vec<u32> {
        let stores = &self.order.stores[location];
        let hops = shortest(&stores.order, &stores.starts, from, to, |number, into| {
            let edges = stores.order.edges_in(number).map(|edge| stores.order.edge(edge));
            into.extend(edges.map(|edge| (edge.from, stores.reasons[edge.reason as usize])));
        });
        let write = |number: u32| stores.writes[number as usize];
        let mut steps = Vec::new();
        for hop in hops {
            let (from, to, reason) = match hop {
                Hop::Chain(from, to) => (from, to, Reason::StoreOrder),
                Hop::Edge(from, to, reason) => (from, to, reason),
            };
            steps.push(self.direct(write(from), write(to), reason));
        }
        steps
    }

    /// The step which says that a write comes before another of its location, for that reason.
    fn direct(&mut self, from: u32, to: u32, reason: Reason) -> u32 {
        match reason {
            Reason::StoreOrder => self.store_order(from, to),
            Reason::Conflict(read) => self.ppo.conflict_for_all(&mut self.steps, from, read),
            Reason::LocalConflict(read) => {
                let views = &mut self.locations[self.order.base.location(from).index()];
                views.conflict_for_all(&mut self.steps, self.places[from as usize], read)
            }
        }
    }

    /// The cycle of `wpww` through a write, by its number at its location.
    pub fn store_circle(mut self, location: usize, write: u32) -> Derivation {
        let cycle = self.stores(location, write, write).into_iter().map(Edge::Derived).collect();
        self.steps.finish(cycle)
    }

    /// The derivation of a write that comes before the initial write, for that reason.
    pub fn overwritten(mut self, write: u32, reason: Reason) -> Derivation {
        let conflict = self.direct(write, NONE, reason);
        let init = Node::Init(self.location(write));
        self.steps.finish(vec![Edge::Po(init, self.ppo.node(write)), Edge::Derived(conflict)])
    }

    /// The step which says that a read comes before a write that overwrites its source.
    fn read_write(&mut self, read: u32, write: u32) -> u32 {
        let (from, to) = (self.ppo.node(read), self.ppo.node(write));
        if let Some(&step) = self.steps.known.get(&(Rule::ReadWrite, from, to)) {
            return step;
        }
        let path = match self.order.base.frame.source(read) {
            NONE => vec![self.steps.initial(Node::Init(self.location(read)), to)],
            source => {
                let number = |write: u32| self.order.numbers[write as usize];
                self.stores(self.location(write).index(), number(source), number(write))
            }
        };
        let path = path.into_iter().map(Edge::Derived).collect();
        self.steps.push(Step { rule: Rule::ReadWrite, from, to, path })
    }

    /// A cycle of `ppo u rfe u wpww u rw[wpww]`, given the chains that wait for each other.
    pub fn last_circle(mut self, stuck: &Stuck) -> Derivation {
        let order = self.order;
        let base = &order.base;
        let execution = base.frame.execution();
        let (_, event) = stuck.cycle(|event| base.order.chain(event))[0];
        // Events that were done before the others got stuck are on no cycle.
        let found = path(
            &stuck.rest(execution.starts()),
            |event| base.order.chain(event),
            event,
            event,
            |event, into| {
                into.extend(base.frame.predecessors(event).map(|predecessor| (predecessor, None)));
                if !execution.event(EventId(event)).kind.writes() {
                    return;
                }
                let location = base.location(event).index();
                let initial = order.readers.slot(order.readers.slot_of_init(base.location(event)));
                into.extend(
                    initial.iter().filter(|&&read| read != event).map(|&read| (read, Some(LastEdge::ReadWrite))),
                );
                for write in order.stores[location].last_before(order.numbers[event as usize]) {
                    into.push((write, Some(LastEdge::Store)));
                    let readers = order.readers.of(write).iter().filter(|&&read| read != event);
                    into.extend(readers.map(|&read| (read, Some(LastEdge::ReadWrite))));
                }
            },
        );
        let mut cycle = Vec::new();
        for hop in found.expect("those who wait for each other are on a cycle") {
            match hop {
                Hop::Chain(from, to) => cycle.push(explain::Hop::Po(from, to)),
                Hop::Edge(from, to, None) => cycle.push(base.frame.hop(from, to)),
                Hop::Edge(read, write, Some(LastEdge::ReadWrite)) => {
                    cycle.push(explain::Hop::Derived(self.read_write(read, write)));
                }
                Hop::Edge(from, to, Some(LastEdge::Store)) => {
                    let number = |write: u32| order.numbers[write as usize];
                    let steps = self.stores(self.location(to).index(), number(from), number(to));
                    cycle.extend(steps.into_iter().map(explain::Hop::Derived));
                }
            }
        }
        let cycle = base.frame.cycle(cycle);
        self.close(cycle)
    }
}
