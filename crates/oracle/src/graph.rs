//! An execution as the specification sees it: nodes and the relations `po` and `rf`, the initial writes being nodes.
//!
//! The nodes are the events, by their numbers, and then the initial writes, one a location, which are `po`-before
//! every event and in no thread.

use history::execution::{EventId, Kind};
use history::{Execution, MemoryOrder};

use crate::relation::Relation;

/// A node: an event or an initial write.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) order: MemoryOrder,
    /// `None` for a fence.
    pub(crate) location: Option<u32>,
    /// `None` for an initial write.
    pub(crate) thread: Option<u32>,
    /// The node that it reads from.
    pub(crate) source: Option<usize>,
}

/// The nodes with `po` and `rf`.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) locations: u32,
    pub(crate) po: Relation,
    pub(crate) rf: Relation,
}

impl Graph {
    /// The graph of an execution, or `None` if some read is from thin air.
    pub(crate) fn new(execution: &Execution) -> Option<Self> {
        if !execution.thin_air().is_empty() {
            return None;
        }
        let events = execution.len();
        let locations = execution.location_count() as u32;
        let mut nodes = Vec::new();
        for id in execution.ids() {
            let event = execution.event(id);
            nodes.push(Node {
                kind: event.kind,
                order: event.order,
                location: (event.kind != Kind::Fence).then_some(event.location.0),
                thread: Some(execution.thread(id).0),
                source: event.kind.reads().then(|| match event.source {
                    EventId::INIT => events + event.location.index(),
                    source => source.index(),
                }),
            });
        }
        nodes.extend((0..locations).map(|location| Node {
            kind: Kind::Write,
            order: MemoryOrder::Plain,
            location: Some(location),
            thread: None,
            source: None,
        }));
        // Events of a thread are numbered in program order.
        let po = Relation::of(nodes.len(), |a, b| match (nodes[a].thread, nodes[b].thread) {
            (Some(this), Some(that)) => this == that && a < b,
            (None, Some(_)) => true,
            (_, None) => false,
        });
        let rf = Relation::of(nodes.len(), |w, r| nodes[r].source == Some(w));
        Some(Self { nodes, locations, po, rf })
    }

    pub(crate) fn size(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn all(&self) -> std::ops::Range<usize> {
        0..self.nodes.len()
    }

    pub(crate) fn writes(&self, node: usize) -> bool {
        self.nodes[node].kind.writes()
    }

    pub(crate) fn is_initial(&self, node: usize) -> bool {
        self.nodes[node].thread.is_none()
    }

    pub(crate) fn is_fence(&self, node: usize) -> bool {
        self.nodes[node].kind == Kind::Fence
    }

    pub(crate) fn same_location(&self, a: usize, b: usize) -> bool {
        self.nodes[a].location.is_some() && self.nodes[a].location == self.nodes[b].location
    }

    /// The reads, each with the write it reads from.
    pub(crate) fn reads(&self) -> impl Iterator<Item = (usize, usize)> {
        self.nodes.iter().enumerate().filter_map(|(read, node)| Some((read, node.source?)))
    }

    /// Whether these are distinct writes to one location.
    pub(crate) fn rivals(&self, a: usize, b: usize) -> bool {
        a != b && self.writes(a) && self.writes(b) && self.same_location(a, b)
    }

    /// `R_WW`: R on pairs of distinct writes to one location.
    pub(crate) fn ww(&self, relation: &Relation) -> Relation {
        relation.filter(|a, b| self.rivals(a, b))
    }

    /// `cf[R]`: the pairs (w1, w2) of distinct writes to one location with (w1, r) in R, r reading w2, w1 != r.
    pub(crate) fn cf(&self, relation: &Relation) -> Relation {
        let mut cf = Relation::empty(self.size());
        for (r, w2) in self.reads() {
            for w1 in self.all() {
                if relation.has(w1, r) && w1 != r && self.rivals(w1, w2) {
                    cf.insert(w1, w2);
                }
            }
        }
        cf
    }

    /// `rw[R]`: the pairs (r, w') with r reading w, (w, w') in `R_WW`, r != w'.
    pub(crate) fn rw(&self, relation: &Relation) -> Relation {
        let mut rw = Relation::empty(self.size());
        for (r, w) in self.reads() {
            for next in self.all() {
                if relation.has(w, next) && r != next && self.rivals(w, next) {
                    rw.insert(r, next);
                }
            }
        }
        rw
    }

    /// No read r of w has a write w' to its location with w R w' R r.
    pub(crate) fn no_overwritten_read(&self, relation: &Relation) -> bool {
        self.reads().all(|(r, w)| {
            !self.all().any(|between| {
                self.rivals(w, between) && between != r && relation.has(w, between) && relation.has(between, r)
            })
        })
    }

    /// Whether some store order satisfies `holds`. All store orders are tried that have the initial write first and
    /// agree with `po`: no model of ours has a witness among the others, and a test checks that.
    pub(crate) fn some_store_order(&self, holds: impl Fn(&Relation) -> bool) -> bool {
        self.search_store_order(&|w, next| self.po.has(w, next), &holds)
    }

    /// Whether some store order that agrees with `must` satisfies `holds`.
    pub(crate) fn search_store_order(
        &self,
        must: &dyn Fn(usize, usize) -> bool,
        holds: &dyn Fn(&Relation) -> bool,
    ) -> bool {
        let writes_to = |location| {
            let on_it = move |&w: &usize| self.writes(w) && self.nodes[w].location == Some(location);
            self.all().filter(on_it).collect::<Vec<_>>()
        };
        let rest: Vec<Vec<usize>> = (0..self.locations).map(writes_to).collect();
        extend(&rest, 0, &mut Vec::new(), &mut Relation::empty(self.size()), must, holds)
    }
}

/// Tries every way to order the writes `all[at..]`, given that `placed` of `all[at]` come first.
fn extend(
    all: &[Vec<usize>],
    at: usize,
    placed: &mut Vec<usize>,
    order: &mut Relation,
    must: &dyn Fn(usize, usize) -> bool,
    holds: &dyn Fn(&Relation) -> bool,
) -> bool {
    let Some(writes) = all.get(at) else {
        return holds(order);
    };
    if placed.len() == writes.len() {
        return extend(all, at + 1, &mut Vec::new(), order, must, holds);
    }
    let left: Vec<usize> = writes.iter().copied().filter(|w| !placed.contains(w)).collect();
    for &next in &left {
        if left.iter().any(|&other| must(other, next)) {
            continue;
        }
        let before = order.clone();
        for &w in &*placed {
            order.insert(w, next);
        }
        placed.push(next);
        if extend(all, at, placed, order, must, holds) {
            return true;
        }
        placed.pop();
        *order = before;
    }
    false
}
