//! An execution as the specification sees it: nodes, and the relations `po` and `rf`. The initial writes are nodes,
//! too.
//!
//! First come the events, by their numbers, and then the initial writes, one for each location. The initial writes are
//! `po`-before every event, and in no thread.

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
    /// Pairs of writes to one location that a store order must have, because the second write is known to be the last.
    pub(crate) known: Relation,
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
        let known = Relation::empty(nodes.len());
        Some(Self { nodes, locations, po, rf, known })
    }

    /// Notes that this event, or the initial write, is the last write to its location.
    pub(crate) fn set_last(&mut self, location: u32, last: EventId) {
        let last =
            if last == EventId::INIT { self.nodes.len() - (self.locations - location) as usize } else { last.index() };
        for write in self.all() {
            if self.rivals(write, last) {
                self.known.insert(write, last);
            }
        }
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

    /// Whether some store order with the known pairs satisfies `holds`. All store orders are tried that have the
    /// initial write first and agree with `po`. Every model asks for this, because `ww` and `po` on one location must
    /// be acyclic, or by write coherence.
    pub(crate) fn some_store_order(&self, holds: impl Fn(&Relation) -> bool) -> bool {
        let writes_to = |location| {
            let on_it = move |&w: &usize| self.writes(w) && self.nodes[w].location == Some(location);
            self.all().filter(on_it).collect::<Vec<_>>()
        };
        let writes: Vec<Vec<usize>> = (0..self.locations).map(writes_to).collect();
        let holds = |order: &Relation| self.known.is_subset(order) && holds(order);
        self.extend(&writes, &mut Vec::new(), &mut Relation::empty(self.size()), &holds)
    }

    /// Tries every order of the writes of each of these locations. In the first location, the writes `placed` come
    /// first.
    fn extend(
        &self,
        locations: &[Vec<usize>],
        placed: &mut Vec<usize>,
        order: &mut Relation,
        holds: &dyn Fn(&Relation) -> bool,
    ) -> bool {
        let Some((writes, others)) = locations.split_first() else {
            return holds(order);
        };
        if placed.len() == writes.len() {
            return self.extend(others, &mut Vec::new(), order, holds);
        }
        let left: Vec<usize> = writes.iter().copied().filter(|w| !placed.contains(w)).collect();
        for &next in left.iter().filter(|&&next| !left.iter().any(|&other| self.po.has(other, next))) {
            let before = order.clone();
            for &w in &*placed {
                order.insert(w, next);
            }
            placed.push(next);
            if self.extend(locations, placed, order, holds) {
                return true;
            }
            placed.pop();
            *order = before;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use history::ExecutionBuilder;

    use super::*;

    #[test]
    fn every_store_order_is_tried_once() {
        let mut builder = ExecutionBuilder::new();
        for (thread, location) in [(0, 0), (0, 0), (1, 0), (1, 1), (2, 1), (2, 0)] {
            builder.push(thread, Kind::Write, location);
        }
        let graph = Graph::new(&builder.build()).unwrap();
        let tried = RefCell::new(Vec::new());
        assert!(!graph.some_store_order(|ww| {
            assert_eq!(graph.ww(ww), *ww);
            assert!((ww | &graph.po.filter(|a, b| graph.same_location(a, b))).is_acyclic());
            assert!(graph.all().all(|a| graph.all().all(|b| !graph.rivals(a, b) || ww.has(a, b) != ww.has(b, a))));
            assert!(!tried.borrow().contains(ww));
            tried.borrow_mut().push(ww.clone());
            false
        }));
        // Location 0 has a chain of two writes and two more: 4! / 2; location 1 has two writes.
        assert_eq!(tried.borrow().len(), 12 * 2);
    }
}
