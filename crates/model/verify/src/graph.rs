//! Closes a relation in the plainest way: a list of predecessors for each event, and clocks in topological order. An
//! event is before another if the clock of the other has it.

use std::collections::HashMap;

use history::Execution;
use history::execution::{EventId, LocationId};

/// Events in chains, and edges between them.
#[derive(Clone)]
pub struct ChainGraph<'a> {
    execution: &'a Execution,
    /// The chain of each event.
    chains: Vec<usize>,
    /// Its place in its chain.
    places: Vec<u32>,
    /// How many chains there are.
    width: usize,
    /// The direct predecessors of each event, without those of its own chain.
    predecessors: Vec<Vec<u32>>,
    /// The event before each in its chain.
    previous: Vec<Option<u32>>,
}

/// The past of each event: the events that come before it, and the event itself. It is kept as the number of its events
/// in each chain.
pub struct Past<'a> {
    graph: ChainGraph<'a>,
    counts: Vec<u32>,
}

impl<'a> ChainGraph<'a> {
    /// Program order and reads-from: a chain is a thread.
    pub fn new(execution: &'a Execution) -> Self {
        let chains = execution.ids().map(|id| execution.thread(id).index()).collect();
        let mut graph = Self::of_chains(execution, chains);
        for (id, event) in execution.events().iter().enumerate() {
            if event.source.is_event() {
                graph.predecessors[id].push(event.source.0);
            }
        }
        graph
    }

    /// Chains, each in the order of event numbers, and no edge between them.
    pub fn of_chains(execution: &'a Execution, chains: Vec<usize>) -> Self {
        let width = chains.iter().map(|&chain| chain + 1).max().unwrap_or(0);
        let mut last: Vec<Option<u32>> = vec![None; width];
        let mut counts = vec![0; width];
        let (mut places, mut previous) = (Vec::new(), Vec::new());
        for (id, &chain) in chains.iter().enumerate() {
            places.push(counts[chain]);
            counts[chain] += 1;
            previous.push(last[chain].replace(id as u32));
        }
        Self { execution, chains, places, width, predecessors: vec![Vec::new(); execution.len()], previous }
    }

    /// Adds an edge. Returns whether it was new.
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

    /// Adds all edges of another graph, including those in its chains.
    pub fn include(&mut self, other: &Self) {
        for id in self.execution.ids() {
            for from in other.predecessors(id) {
                self.add_again(EventId(from), id);
            }
        }
    }

    fn predecessors(&self, id: EventId) -> impl Iterator<Item = u32> + '_ {
        self.predecessors[id.index()].iter().copied().chain(self.previous[id.index()])
    }

    /// All events in an order that respects every edge; none if there is a cycle.
    pub fn topological_order(&self) -> Option<Vec<EventId>> {
        let execution = self.execution;
        let mut open: Vec<usize> = execution.ids().map(|id| self.predecessors(id).count()).collect();
        let mut successors: Vec<Vec<u32>> = vec![Vec::new(); execution.len()];
        for id in execution.ids() {
            for before in self.predecessors(id) {
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

    /// The past of each event; none if there is a cycle.
    pub fn past(&self) -> Option<Past<'a>> {
        let width = self.width;
        let mut counts = vec![0; width * self.execution.len()];
        for id in self.topological_order()? {
            let mut clock = vec![0; width];
            for before in self.predecessors(id) {
                for (entry, &other) in clock.iter_mut().zip(&counts[before as usize * width..]) {
                    *entry = u32::max(*entry, other);
                }
            }
            clock[self.chains[id.index()]] = self.places[id.index()] + 1;
            counts[id.index() * width..(id.index() + 1) * width].copy_from_slice(&clock);
        }
        Some(Past { graph: self.clone(), counts })
    }
}

impl Past<'_> {
    /// Whether `a` is in the past of `b`: it comes before `b`, or is `b`.
    pub fn contains(&self, b: EventId, a: EventId) -> bool {
        self.count(b, self.graph.chains[a.index()]) > self.graph.places[a.index()]
    }

    /// How many events of a chain are in the past of an event.
    pub fn count(&self, event: EventId, chain: usize) -> u32 {
        self.counts[event.index() * self.graph.width + chain]
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

    /// The last write of each thread on the location of `event` that comes before `event`. `event` itself does not
    /// count.
    pub fn last_before<'b>(
        &'b self,
        execution: &'b Execution,
        past: &'b Past<'_>,
        event: EventId,
    ) -> impl Iterator<Item = EventId> + 'b {
        let lists = self.lists.get(&execution.event(event).location).map_or(&[][..], Vec::as_slice);
        lists.iter().filter_map(move |list| {
            // In every base, the writes of a thread to one location are in program order.
            let before = list.partition_point(|&write| past.contains(event, write) && write != event);
            before.checked_sub(1).map(|at| list[at])
        })
    }
}
