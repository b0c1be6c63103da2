//! Store buffers: `tso`, `pso` and their weak forms.
//!
//! A memory order is replayed on the machine. Each path of a violation uses only one of the two bases, `ppo u rfe` or
//! `po-loc u rf`, and steps. `wtso` and `wpso` are decided again by the two rules in both bases.

use std::collections::{HashMap, VecDeque};

use history::execution::{Event, EventId, Kind, LocationId, ThreadId};
use history::{Execution, MemoryOrder, OperationId};

use super::graph::ChainGraph;
use super::{Claim, Place, Refusal, fault};
use model::{Edge, Model, Node};

/// Whether a model is one of those with store buffers.
pub fn speaks_of(model: Model) -> bool {
    matches!(model, Model::Tso | Model::Wtso | Model::Pso | Model::Wpso)
}

/// Whether there is a buffer for each location.
fn is_partial(model: Model) -> bool {
    matches!(model, Model::Pso | Model::Wpso)
}

fn is_full_fence(event: &Event) -> bool {
    event.kind == Kind::Fence && matches!(event.order, MemoryOrder::Plain | MemoryOrder::SequentiallyConsistent)
}

/// Whether two events of one thread, the first of them before the second, are in `ppo`.
fn preserved(model: Model, first: &Event, second: &Event) -> bool {
    let orders_nothing = |event: &Event| event.kind == Kind::Fence && !is_full_fence(event);
    if orders_nothing(first) || orders_nothing(second) {
        return false;
    }
    match (first.kind, second.kind) {
        (Kind::Write, Kind::Read) => false,
        (Kind::Write, Kind::Write | Kind::Rmw) => !is_partial(model) || first.location == second.location,
        _ => true,
    }
}

/// Which bases an edge of a path belongs to, if it holds: `ppo u rfe`, and `po-loc u rf`. A derived edge belongs to
/// both.
pub fn in_bases(claim: &Claim<'_>, model: Model, edge: Edge) -> [bool; 2] {
    let execution = claim.execution;
    let event = |node: Node| match node {
        Node::Operation(id) => claim.event(id),
        Node::Init(_) => None,
    };
    let location = |node: Node| match node {
        Node::Init(location) => location,
        Node::Operation(_) => event(node).map_or(LocationId::NONE, |event| execution.event(event).location),
    };
    match edge {
        Edge::Po(from, to) => {
            let in_ppo = match (event(from), event(to)) {
                (Some(from), Some(to)) => preserved(model, &execution.event(from), &execution.event(to)),
                _ => true,
            };
            [in_ppo, location(from) == location(to) && location(to) != LocationId::NONE]
        }
        Edge::Rf(from, to) => {
            let is_external = match (event(from), event(to)) {
                (Some(from), Some(to)) => execution.thread(from) != execution.thread(to),
                _ => true,
            };
            [is_external, true]
        }
        Edge::Sw { .. } => [false; 2],
        Edge::Derived(_) => [true; 2],
    }
}

/// Checks that all edges of a path belong to one base. The edges hold.
pub fn one_base(claim: &Claim<'_>, model: Model, place: Place, path: &[Edge]) -> Result<(), Refusal> {
    let keeps_to = |base: usize| path.iter().all(|&edge| in_bases(claim, model, edge)[base]);
    if keeps_to(0) || keeps_to(1) {
        return Ok(());
    }
    fault(place, format!("a path is neither in ppo and rfe nor in po-loc and rf, under {model}"))
}

/// The store buffers of all threads.
struct Buffers {
    partial: bool,
    /// The buffered writes of each thread and location, the oldest first.
    writes: HashMap<(ThreadId, LocationId), VecDeque<EventId>>,
    /// The buffered writes of each thread, the oldest first. Under `pso` they are not in order.
    threads: Vec<VecDeque<EventId>>,
    /// How many writes of each thread are buffered.
    counts: Vec<usize>,
}

impl Buffers {
    fn push(&mut self, thread: ThreadId, location: LocationId, write: EventId) {
        self.writes.entry((thread, location)).or_default().push_back(write);
        self.counts[thread.index()] += 1;
        if !self.partial {
            self.threads[thread.index()].push_back(write);
        }
    }

    /// Removes a write if it is the oldest of its buffer. Returns whether it was.
    fn pop(&mut self, thread: ThreadId, location: LocationId, write: EventId) -> bool {
        let oldest = |queue: Option<&VecDeque<EventId>>| queue.and_then(VecDeque::front).copied() == Some(write);
        if !oldest(self.writes.get(&(thread, location))) || !(self.partial || oldest(self.threads.get(thread.index())))
        {
            return false;
        }
        if let Some(queue) = self.writes.get_mut(&(thread, location)) {
            queue.pop_front();
        }
        self.threads[thread.index()].pop_front();
        self.counts[thread.index()] -= 1;
        true
    }

    fn newest(&self, thread: ThreadId, location: LocationId) -> Option<EventId> {
        self.writes.get(&(thread, location)).and_then(VecDeque::back).copied()
    }
}

/// Runs the machine. Each operation takes effect at its place in the order; a write takes effect when it leaves its
/// buffer.
pub fn memory_order(claim: &Claim<'_>, model: Model, order: &[OperationId]) -> Result<(), Refusal> {
    let place = Place::MemoryOrder;
    let execution = claim.execution;
    if order.len() != execution.len() {
        return fault(place, "it must list all operations");
    }
    let mut executed = execution.starts()[..execution.thread_count()].to_vec();
    let mut memory = vec![EventId::INIT; execution.location_count()];
    let mut buffers = Buffers {
        partial: is_partial(model),
        writes: HashMap::new(),
        threads: vec![VecDeque::new(); execution.thread_count()],
        counts: vec![0; execution.thread_count()],
    };
    for &operation in order {
        let Some(id) = claim.event(operation) else {
            return fault(place, format!("there is no operation {} in the execution", operation.0));
        };
        let thread = execution.thread(id);
        let next = &mut executed[thread.index()];
        let event = execution.event(id);
        // The thread must have executed everything before this operation by now. Only writes can be left to execute.
        let until = if event.kind == Kind::Write { id.0 + 1 } else { id.0 };
        while *next < until {
            let write = execution.event(EventId(*next));
            if write.kind != Kind::Write {
                return fault(place, format!("operation {} comes before an earlier one of its process", operation.0));
            }
            buffers.push(thread, write.location, EventId(*next));
            *next += 1;
        }
        if event.kind == Kind::Write {
            if !buffers.pop(thread, event.location, id) {
                return fault(place, format!("operation {} is not the oldest in its store buffer", operation.0));
            }
            memory[event.location.index()] = id;
            continue;
        }
        if *next != id.0 {
            return fault(place, format!("operation {} is not the next operation of its process", operation.0));
        }
        *next += 1;
        let newest = buffers.newest(thread, event.location);
        let waits = match event.kind {
            Kind::Rmw if buffers.partial => newest.is_some(),
            Kind::Rmw => buffers.counts[thread.index()] > 0,
            _ => is_full_fence(&event) && buffers.counts[thread.index()] > 0,
        };
        if waits {
            return fault(place, format!("the store buffer is not empty when operation {} executes", operation.0));
        }
        if event.kind.reads() {
            let found = newest.unwrap_or(memory[event.location.index()]);
            if found != event.source {
                return fault(place, format!("operation {} does not find the value that it read", operation.0));
            }
        }
        if event.kind.writes() {
            memory[event.location.index()] = id;
        }
    }
    Ok(())
}

/// Numbers the chains into which `part` divides each thread. Returns the chain of each event.
fn chains(execution: &Execution, part: impl Fn(&Event) -> Option<LocationId>) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let events = execution.ids().zip(execution.events());
    events
        .map(|(id, event)| {
            let next = numbers.len();
            *numbers.entry((execution.thread(id), part(event))).or_insert(next)
        })
        .collect()
}

/// Both bases: `ppo u rfe` and `po-loc u rf`.
pub fn bases(execution: &Execution, model: Model) -> [ChainGraph<'_>; 2] {
    // The buffer in which a write waits.
    let buffer = |event: &Event| if is_partial(model) { event.location } else { LocationId::NONE };
    // A fence that is not full is like a read without a location: it adds no order between reads and writes that `ppo`
    // does not have anyway.
    let chains = chains(execution, |event| (event.kind == Kind::Write).then(|| buffer(event)));
    let mut ppo = ChainGraph::of_chains(execution, chains);
    let mut po_loc = ChainGraph::of_chains(execution, self::chains(execution, |event| Some(event.location)));
    for thread in 0..execution.thread_count() as u32 {
        let mut last_read: Option<EventId> = None;
        let mut last_writes: HashMap<LocationId, EventId> = HashMap::new();
        for id in execution.thread_events(ThreadId(thread)) {
            let event = execution.event(id);
            if event.kind == Kind::Write {
                if let Some(read) = last_read {
                    ppo.add_again(read, id);
                }
                last_writes.insert(buffer(&event), id);
                continue;
            }
            if event.kind == Kind::Rmw
                && let Some(&write) = last_writes.get(&buffer(&event))
            {
                ppo.add_again(write, id);
            }
            if is_full_fence(&event) {
                let mut writes: Vec<EventId> = last_writes.values().copied().collect();
                writes.sort_unstable();
                for write in writes {
                    ppo.add_again(write, id);
                }
            }
            last_read = Some(id);
        }
    }
    for id in execution.ids() {
        let source = execution.event(id).source;
        if source.is_event() {
            po_loc.add_again(source, id);
            if execution.thread(source) != execution.thread(id) {
                ppo.add_again(source, id);
            }
        }
    }
    [ppo, po_loc]
}
