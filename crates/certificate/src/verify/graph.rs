//! The plainest way to close a relation: a list of predecessors for each event, and clocks in topological order.

use std::collections::HashMap;

use history::Execution;
use history::execution::{EventId, LocationId};

/// Program order, reads-from, and edges added to them.
#[derive(Clone)]
pub struct Graph<'a> {
    execution: &'a Execution,
    /// Predecessors beyond program order.
    predecessors: Vec<Vec<u32>>,
}

/// For each event how many events of each thread are before it, itself included.
pub struct Past<'a> {
    execution: &'a Execution,
    counts: Vec<u32>,
}

impl<'a> Graph<'a> {
    pub fn new(execution: &'a Execution) -> Self {
        let predecessors = execution
            .events()
            .iter()
            .map(|event| if event.source.is_event() { vec![event.source.0] } else { Vec::new() })
            .collect();
        Self { execution, predecessors }
    }

    /// Adds an edge; whether it was new.
    pub fn add(&mut self, from: EventId, to: EventId) -> bool {
        let list = &mut self.predecessors[to.index()];
        let new = !list.contains(&from.0);
        if new {
            list.push(from.0);
        }
        new
    }

    /// Adds an edge that may be there already.
    pub fn add_again(&mut self, from: EventId, to: EventId) {
        self.predecessors[to.index()].push(from.0);
    }

    /// All events in an order that respects every edge; none if there is a cycle.
    pub fn topological_order(&self) -> Option<Vec<EventId>> {
        let execution = self.execution;
        let mut open: Vec<usize> = self.predecessors.iter().map(Vec::len).collect();
        let mut successors: Vec<Vec<u32>> = vec![Vec::new(); execution.len()];
        for id in execution.ids() {
            if execution.position(id) > 0 {
                open[id.index()] += 1;
                successors[id.index() - 1].push(id.0);
            }
            for &before in &self.predecessors[id.index()] {
                successors[before as usize].push(id.0);
            }
        }
        let mut order: Vec<EventId> = execution.ids().filter(|id| open[id.index()] == 0).collect();
        let mut at = 0;
        while at < order.len() {
            for &after in &successors[order[at].index()] {
                open[after as usize] -= 1;
                if open[after as usize] == 0 {
                    order.push(EventId(after));
                }
            }
            at += 1;
        }
        (order.len() == execution.len()).then_some(order)
    }

    /// What is before each event; none if there is a cycle.
    pub fn past(&self) -> Option<Past<'a>> {
        let execution = self.execution;
        let width = execution.thread_count();
        let mut counts = vec![0; width * execution.len()];
        for id in self.topological_order()? {
            let mut clock = vec![0; width];
            let own = (execution.position(id) > 0).then(|| id.0 - 1);
            for &before in self.predecessors[id.index()].iter().chain(&own) {
                for (entry, &other) in clock.iter_mut().zip(&counts[before as usize * width..]) {
                    *entry = u32::max(*entry, other);
                }
            }
            clock[execution.thread(id).index()] = execution.position(id) + 1;
            counts[id.index() * width..(id.index() + 1) * width].copy_from_slice(&clock);
        }
        Some(Past { execution, counts })
    }
}

impl Past<'_> {
    /// Whether `a` is before `b`, or the same.
    pub fn contains(&self, b: EventId, a: EventId) -> bool {
        self.count(b, self.execution.thread(a).index()) > self.execution.position(a)
    }

    /// How many events of a thread are before an event.
    pub fn count(&self, event: EventId, thread: usize) -> u32 {
        self.counts[event.index() * self.execution.thread_count() + thread]
    }
}

/// The writes of each location, by thread.
pub struct Writers {
    lists: HashMap<LocationId, Vec<Vec<EventId>>>,
}

impl Writers {
    pub fn new(execution: &Execution) -> Self {
        let mut lists: HashMap<LocationId, Vec<Vec<EventId>>> = HashMap::new();
        for id in execution.ids() {
            let event = execution.event(id);
            if event.kind.writes() {
                let threads = lists.entry(event.location).or_default();
                match threads.last_mut() {
                    Some(list) if execution.thread(list[0]) == execution.thread(id) => list.push(id),
                    _ => threads.push(vec![id]),
                }
            }
        }
        Self { lists }
    }

    /// The last write of each thread on the location of `event` that is before it and is not itself.
    pub fn last_before<'b>(
        &'b self,
        execution: &'b Execution,
        past: &'b Past<'_>,
        event: EventId,
    ) -> impl Iterator<Item = EventId> + 'b {
        let lists = self.lists.get(&execution.event(event).location).map_or(&[][..], Vec::as_slice);
        lists.iter().filter_map(move |list| {
            let count = past.count(event, execution.thread(list[0]).index());
            let before = list.partition_point(|&write| execution.position(write) < count && write != event);
            before.checked_sub(1).map(|at| list[at])
        })
    }
}
