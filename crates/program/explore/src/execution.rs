//! An execution that grows and shrinks by one event at a time.

use crate::exploration::may_read;
use crate::graph::{Graph, INITIAL, NONE, Source};
use crate::model::Model;
use crate::program::{Order, Step, Value};

/// An execution that a model allows, for whoever explores in a way of their own: an event is tried, and taken back.
///
/// Events come after their predecessors in their thread, and after the write that they read. An event that the model
/// would not allow is refused and changes nothing. To take an event back costs no more than to push it.
///
/// ```
/// use explore::Order::SequentiallyConsistent as Sc;
/// use explore::{Execution, Model, Source, Step};
///
/// let mut execution = Execution::new(Model::C20, &[]);
/// let write = |location| Step::Write { location, order: Sc, value: 1 };
/// let read = |location| Step::Read { location, order: Sc, until: None };
/// for (thread, step) in [(0, write(0)), (1, write(1))] {
///     assert!(execution.push(thread, step, Source::Nothing));
/// }
/// assert!(execution.push(0, read(1), Source::Initial));
/// // One of the two threads must see what the other wrote.
/// assert_eq!(execution.sources(1, read(0)), [Source::Write(0, 0)]);
/// assert!(!execution.push(1, read(0), Source::Initial));
/// // Without the read of thread 0, thread 1 may read either.
/// assert!(execution.pop());
/// assert_eq!(execution.sources(1, read(0)), [Source::Initial, Source::Write(0, 0)]);
/// ```
#[derive(Debug)]
pub struct Execution {
    graph: Graph,
    initial: Vec<Value>,
}

impl Execution {
    /// No events yet. Locations have these values at first, and 0 beyond.
    pub fn new(model: Model, initial: &[Value]) -> Self {
        Self { graph: Graph::new(model), initial: initial.to_vec() }
    }

    /// The events so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    fn admit(&mut self, thread: u32, step: Step) {
        self.graph.admit_thread(thread);
        while step.location().is_some_and(|location| location >= self.graph.location_count()) {
            let initial = self.initial.get(self.graph.location_count() as usize);
            self.graph.admit_location(initial.copied().unwrap_or(0));
        }
    }

    /// The sources with which a read or rmw could be the next event of its thread: the initial write first, then the
    /// others in the order in which they were pushed. Of a step that waits, those that end the wait.
    pub fn sources(&mut self, thread: u32, step: Step) -> Vec<Source> {
        let (Step::Read { location, .. } | Step::Rmw { location, .. }) = step else { return Vec::new() };
        if self.is_refused(step) {
            return Vec::new();
        }
        self.admit(thread, step);
        let graph = &mut self.graph;
        let mut sources = Vec::new();
        for number in 0..graph.locations[location as usize].writes.len() {
            let slot = graph.locations[location as usize].writes[number];
            let accepts = step.until().is_none_or(|until| until.accepts(graph.value_of(location, slot)));
            if accepts && may_read(graph, thread, step, slot) {
                sources.push(match slot {
                    INITIAL => Source::Initial,
                    slot => {
                        let (thread, index) = graph.place(slot);
                        Source::Write(thread, index - 1)
                    }
                });
            }
        }
        sources
    }

    /// Appends an event to its thread, or refuses it. A read or rmw has a source; all other events have none. A thread
    /// that was spawned begins with [`Step::Begin`], and a thread that is joined has begun. A choice is no event.
    pub fn push(&mut self, thread: u32, step: Step, source: Source) -> bool {
        if self.is_refused(step) {
            return false;
        }
        self.admit(thread, step);
        let graph = &mut self.graph;
        match (step, source) {
            (Step::Read { location, .. } | Step::Rmw { location, .. }, source) => {
                let Some(slot) = find(graph, location, source) else { return false };
                let value = graph.value_of(location, slot);
                if step.until().is_some_and(|until| !until.accepts(value)) || !graph.push_read(thread, &step, slot, 0) {
                    return false;
                }
                let writes = matches!(step, Step::Rmw { update, .. } if update.apply(value).is_some());
                if (writes && !graph.push_update(0)) || !graph.holds() {
                    graph.pop();
                    return false;
                }
                true
            }
            (_, Source::Initial | Source::Write(..)) | (Step::Choice(_), _) => false,
            (Step::Write { .. }, _) => {
                graph.push_write(thread, &step, 0);
                true
            }
            (_, Source::Nothing) => {
                let can_be = match step {
                    Step::Begin => graph.is_empty(thread) && graph.spawned[thread as usize] != NONE,
                    Step::Join(child) => child != thread && !graph.is_empty(child),
                    Step::Spawn(child) => {
                        graph.admit_thread(child);
                        child != thread && graph.is_empty(child) && graph.spawned[child as usize] == NONE
                    }
                    _ => true,
                };
                if can_be {
                    graph.push_plain(thread, &step, 0, 0);
                }
                can_be
            }
        }
    }

    /// Takes the newest event back. False if there is none.
    pub fn pop(&mut self) -> bool {
        let has_event = !self.graph.events.is_empty();
        if has_event {
            self.graph.pop();
        }
        has_event
    }

    /// Whether the model has no such steps.
    fn is_refused(&self, step: Step) -> bool {
        let orders = match step {
            Step::Read { order, .. } | Step::Write { order, .. } | Step::Fence(order) => [order; 2],
            Step::Rmw { order, failure, .. } => [order, failure],
            _ => [Order::NonAtomic; 2],
        };
        self.graph.model().refuses_sequential() && orders.into_iter().any(Order::is_sequential)
    }
}

/// The event of a source, if it is a write of the location.
fn find(graph: &Graph, location: u32, source: Source) -> Option<u32> {
    match source {
        Source::Nothing => None,
        Source::Initial => Some(INITIAL),
        Source::Write(thread, index) => {
            let slot = *graph.threads.get(thread as usize)?.get(index as usize)?;
            let event = &graph.events[slot as usize];
            (event.writes && event.step.location() == Some(location)).then_some(slot)
        }
    }
}
