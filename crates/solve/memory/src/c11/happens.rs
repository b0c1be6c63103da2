//! Paths of happens-before, for explanations.
//!
//! Happens-before is the closure of program order and of the edges of the model: reads-from, or for `rc20`
//! synchronizes-with. The engines know it by clocks, which say that there is a path. Here a shortest path is found, for
//! the few pairs that evidence names.

use history::Execution;
use history::execution::{Event, EventId, Kind};
use model::{Edge, Model, Node};
use order::{Hop, path};
use rustc_hash::FxHashMap;

use super::coherence::{acquires, releases};

/// The node of an event.
pub(super) fn node(execution: &Execution, event: EventId) -> Node {
    Node::Operation(execution.operation(event))
}

/// The node of the source of a read.
pub(super) fn source(execution: &Execution, read: EventId) -> Node {
    let event = execution.event(read);
    if event.source == EventId::INIT { Node::Init(event.location) } else { node(execution, event.source) }
}

/// An `sw` edge into an event: from the release (the label's event) through a write and a read.
#[derive(Copy, Clone)]
struct Through {
    write: u32,
    read: u32,
}

/// A shortest path by which `from` happens before `to`, if it does.
pub(super) fn happens_before(execution: &Execution, model: Model, from: EventId, to: EventId) -> Option<Vec<Edge>> {
    let mut synchronised = Synchronised::new(execution, model);
    let hops = path(
        execution.starts(),
        |event| execution.thread(EventId(event)).index(),
        from.0,
        to.0,
        |event, edges| {
            let source = execution.event(EventId(event)).source;
            match model {
                Model::Relaxed => {}
                Model::Rc20 | Model::Rc11 => synchronised.edges_into(event, edges),
                _ if source.is_event() => edges.push((source.0, Through { write: source.0, read: event })),
                _ => {}
            }
        },
    )?;
    let node = |event| node(execution, EventId(event));
    let edge = |hop: &Hop<Through>| match *hop {
        Hop::Chain(from, to) => Edge::Po(node(from), node(to)),
        Hop::Edge(from, to, Through { write, read }) if matches!(model, Model::Rc20 | Model::Rc11) => {
            Edge::Sw { release: node(from), write: node(write), read: node(read), acquire: node(to) }
        }
        Hop::Edge(from, to, _) => Edge::Rf(node(from), node(to)),
    };
    Some(hops.iter().map(edge).collect())
}

/// By event, if it writes: the last event of its thread whose past it publishes, or [`EventId::NONE`]. That is the
/// write itself if it releases, or the last release fence. With `longer` release sequences, as RC11 has them, it can
/// also be an earlier release of the location.
pub(super) fn publishers(execution: &Execution, longer: bool) -> Vec<EventId> {
    let mut publishers = vec![EventId::NONE; execution.len()];
    let mut releases_of = FxHashMap::default();
    for thread in 0..execution.thread_count() {
        let mut fence = None;
        releases_of.clear();
        for at in execution.starts()[thread]..execution.starts()[thread + 1] {
            let event = execution.event(EventId(at));
            let is_fence = event.kind == Kind::Fence;
            let is_release = releases(event.order, is_fence);
            if is_fence && is_release {
                fence = Some(at);
            } else if event.kind.writes() {
                if longer && is_release {
                    releases_of.insert(event.location, at);
                }
                let earlier = fence.max(releases_of.get(&event.location).copied());
                let last = if is_release { Some(at) } else { earlier };
                publishers[at as usize] = last.map_or(EventId::NONE, EventId);
            }
        }
    }
    publishers
}

/// The `sw` edges of `rc20` or `rc11`. The releases that a write carries are listed once only: the read that asks first
/// is the nearest to the target.
struct Synchronised<'a> {
    execution: &'a Execution,
    followed: Vec<bool>,
    publishers: Vec<EventId>,
}

impl<'a> Synchronised<'a> {
    fn new(execution: &'a Execution, model: Model) -> Self {
        let publishers = match model {
            Model::Rc20 | Model::Rc11 => publishers(execution, model == Model::Rc11),
            _ => Vec::new(),
        };
        Self { execution, followed: vec![false; execution.len()], publishers }
    }

    fn event(&self, at: u32) -> Event {
        self.execution.events()[at as usize]
    }

    fn edges_into(&mut self, at: u32, edges: &mut Vec<(u32, Through)>) {
        let event = self.event(at);
        if event.kind.reads() && acquires(event.order, false) {
            self.carried(at, edges);
        } else if event.kind == Kind::Fence && acquires(event.order, true) {
            // Reads before an earlier acquire fence are in the past of that fence, so the search stops there.
            let begin = self.execution.starts()[self.execution.thread(EventId(at)).index()];
            for before in (begin..at).rev() {
                let event = self.event(before);
                if event.kind == Kind::Fence && acquires(event.order, true) {
                    break;
                }
                if event.kind.reads() {
                    self.carried(before, edges);
                }
            }
        }
    }

    /// Adds the releases that a read learns of.
    fn carried(&mut self, read: u32, edges: &mut Vec<(u32, Through)>) {
        let mut source = self.event(read).source;
        while source.is_event() && !std::mem::replace(&mut self.followed[source.index()], true) {
            let event = self.event(source.0);
            let publisher = self.publishers[source.index()];
            if publisher.is_event() {
                edges.push((publisher.0, Through { write: source.0, read }));
            }
            if event.kind != Kind::Rmw {
                break;
            }
            source = event.source;
        }
    }
}
