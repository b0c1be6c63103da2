//! The components of an execution: parts that share no thread and no location.
//!
//! Every memory model speaks of one order, or of several, over program order, reads-from and the writes of each
//! location. None of these leads from one component to another. So a model allows an execution iff it allows each of
//! its components. The witness of the whole is made of the witnesses of the components, one after the other, and the
//! evidence against one component is evidence against the whole.
//!
//! A component has its own numbers for threads and locations, so that it costs what it contains. Operations keep their
//! numbers. [`Component::restore`] gives the threads and locations in evidence the numbers of the whole again.

use certificate::{Derivation, Edge, Evidence, EvidenceKind, Node, Rule, Step};
use history::execution::{Event, EventId, LocationId, ThreadId};
use history::{Execution, OperationId, ProcessId};

/// How many events of each thread are looked at first. Mostly they show that there is only one component.
const FIRST_EVENTS: usize = 16;

/// One component.
pub(crate) struct Component {
    /// The component as an execution of its own.
    pub(crate) execution: Execution,
    /// By thread and by location of the component: its number in the whole.
    threads: Vec<u32>,
    locations: Vec<u32>,
}

/// Disjoint sets of numbers.
struct Sets {
    parents: Vec<u32>,
    /// How many sets there are.
    count: usize,
}

impl Sets {
    fn new(numbers: usize) -> Self {
        Self { parents: (0..numbers as u32).collect(), count: numbers }
    }

    /// The least number of a set. On the way, the path to it is halved.
    fn find(&mut self, mut at: u32) -> u32 {
        while self.parents[at as usize] != at {
            let above = self.parents[self.parents[at as usize] as usize];
            self.parents[at as usize] = above;
            at = above;
        }
        at
    }

    fn unite(&mut self, a: u32, b: u32) {
        let [a, b] = [a, b].map(|at| self.find(at));
        if a != b {
            self.parents[a.max(b) as usize] = a.min(b);
            self.count -= 1;
        }
    }
}

/// The components, by their first threads. Threads without an access belong to the component of the first thread. The
/// list is empty if there is only one component.
pub(crate) fn components(execution: &Execution) -> Vec<Component> {
    let (threads, locations) = (execution.thread_count(), execution.location_count());
    // First the threads, then the locations. Every location that counts is accessed by a thread.
    let mut sets = Sets::new(threads + locations);
    let mut is_accessed = vec![false; locations];
    let mut unused = locations;
    let mut add = |sets: &mut Sets, id: EventId| {
        let location = execution.event(id).location;
        if location != LocationId::NONE {
            sets.unite(execution.thread(id).0, threads as u32 + location.0);
            unused -= usize::from(!std::mem::replace(&mut is_accessed[location.index()], true));
        }
        sets.count - unused
    };
    for thread in (0..threads as u32).map(ThreadId) {
        for id in execution.thread_events(thread).take(FIRST_EVENTS) {
            if add(&mut sets, id) == 1 {
                return Vec::new();
            }
        }
    }
    for id in execution.ids() {
        if add(&mut sets, id) == 1 {
            return Vec::new();
        }
    }
    let has_access = |&thread: &u32| {
        execution.thread_events(ThreadId(thread)).any(|id| execution.event(id).location != LocationId::NONE)
    };
    for thread in (1..threads as u32).filter(|thread| !has_access(thread)) {
        sets.unite(0, thread);
    }
    split(execution, &mut sets)
}

/// The components, given the sets of threads and locations.
fn split(execution: &Execution, sets: &mut Sets) -> Vec<Component> {
    const NEW: u32 = u32::MAX;
    let threads = execution.thread_count() as u32;
    // By the least number of a set: its component. The least number is that of a thread.
    let mut numbers = vec![NEW; threads as usize];
    let mut components: Vec<Component> = Vec::new();
    for thread in 0..threads {
        let number = &mut numbers[sets.find(thread) as usize];
        if *number == NEW {
            *number = components.len() as u32;
            components.push(Component { execution: Execution::default(), threads: Vec::new(), locations: Vec::new() });
        }
        components[*number as usize].threads.push(thread);
    }
    if components.len() < 2 {
        return Vec::new();
    }
    // By location: its number in its component.
    let mut places = Vec::with_capacity(execution.location_count());
    for location in 0..execution.location_count() as u32 {
        let set = sets.find(threads + location) as usize;
        // A location that no event accesses is in no component.
        let component = numbers.get(set).map(|&number| &mut components[number as usize]);
        places.push(component.map_or(0, |component| {
            component.locations.push(location);
            component.locations.len() as u32 - 1
        }));
    }
    // By thread: how much less the numbers of its events are in the component.
    let mut offsets = vec![0; threads as usize];
    for component in &mut components {
        let mut count = 0;
        for &thread in &component.threads {
            let (begin, end) = (execution.starts()[thread as usize], execution.starts()[thread as usize + 1]);
            offsets[thread as usize] = begin - count;
            count += end - begin;
        }
        let events = (0..).map(ThreadId).zip(&component.threads).flat_map(|(place, &thread)| {
            execution.thread_events(ThreadId(thread)).map(move |id| (place, id))
        });
        let events = events.map(|(place, id)| {
            let event = execution.event(id);
            let source = if event.source.is_event() {
                EventId(event.source.0 - offsets[execution.thread(event.source).index()])
            } else {
                event.source
            };
            let location = match event.location {
                LocationId::NONE => LocationId::NONE,
                location => LocationId(places[location.index()]),
            };
            (place, Event { source, location, ..event }, execution.operation(id))
        });
        component.execution.refill(component.threads.len(), events);
    }
    components
}

impl Component {
    /// Gives the threads and locations in evidence the numbers that they have in the whole.
    pub(crate) fn restore(&self, evidence: Evidence) -> Evidence {
        match evidence {
            Evidence::Cycle(derivation) => Evidence::Cycle(self.derivation(derivation)),
            Evidence::Refutation(lemmas) => {
                Evidence::Refutation(lemmas.into_iter().map(|lemma| self.derivation(lemma)).collect())
            }
            evidence => evidence,
        }
    }

    fn derivation(&self, derivation: Derivation) -> Derivation {
        let path = |path: Vec<Edge>| path.into_iter().map(|edge| self.edge(edge)).collect();
        let step = |step: Step| Step {
            rule: match step.rule {
                Rule::Conflict { read, view } => {
                    let view = view.map(|process| ProcessId(self.threads[process.index()]));
                    Rule::Conflict { read: self.node(read), view }
                }
                Rule::Coherence { before, after } => {
                    Rule::Coherence { before: self.node(before), after: self.node(after) }
                }
                rule => rule,
            },
            from: self.node(step.from),
            to: self.node(step.to),
            path: path(step.path),
        };
        Derivation { steps: derivation.steps.into_iter().map(step).collect(), cycle: path(derivation.cycle) }
    }

    fn edge(&self, edge: Edge) -> Edge {
        match edge {
            Edge::Po(from, to) => Edge::Po(self.node(from), self.node(to)),
            Edge::Rf(from, to) => Edge::Rf(self.node(from), self.node(to)),
            // Initial writes do not synchronise.
            edge @ (Edge::Sw { .. } | Edge::Derived(_)) => edge,
        }
    }

    fn node(&self, node: Node) -> Node {
        match node {
            Node::Init(location) => Node::Init(LocationId(self.locations[location.index()])),
            operation @ Node::Operation(_) => operation,
        }
    }
}

/// The witness of an execution, from those of its components. They are of one kind, or of kinds of which one serves for
/// all: an interleaving is a memory order as well, and otherwise the verifier decides again.
pub(crate) fn join(execution: &Execution, parts: &[Component], witnesses: Vec<Evidence>) -> Evidence {
    let are = |kinds: &[EvidenceKind]| witnesses.iter().all(|witness| kinds.contains(&witness.kind()));
    if are(&[EvidenceKind::Interleaving]) {
        Evidence::Interleaving(one_line(witnesses))
    } else if are(&[EvidenceKind::Interleaving, EvidenceKind::MemoryOrder]) {
        Evidence::MemoryOrder(one_line(witnesses))
    } else if are(&[EvidenceKind::WriteOrder]) {
        Evidence::WriteOrder(one_line(witnesses))
    } else if are(&[EvidenceKind::ViewOrders]) {
        let threads = parts.iter().map(|part| &part.threads[..]);
        Evidence::ViewOrders(lists(execution.thread_count(), threads, witnesses))
    } else if are(&[EvidenceKind::ModificationOrders]) {
        let locations = parts.iter().map(|part| &part.locations[..]);
        Evidence::ModificationOrders(lists(execution.location_count(), locations, witnesses))
    } else {
        Evidence::DecideAgain
    }
}

/// Lines of operations, one after the other.
fn one_line(lines: Vec<Evidence>) -> Vec<OperationId> {
    let line = |evidence| match evidence {
        Evidence::Interleaving(line) | Evidence::MemoryOrder(line) | Evidence::WriteOrder(line) => line,
        _ => Vec::new(),
    };
    lines.into_iter().flat_map(line).collect()
}

/// The lists of all threads or all locations, given the numbers that those of each component have in the whole.
fn lists<'a>(
    count: usize,
    numbers: impl Iterator<Item = &'a [u32]>,
    witnesses: Vec<Evidence>,
) -> Vec<Vec<OperationId>> {
    let mut all = vec![Vec::new(); count];
    for (numbers, witness) in numbers.zip(witnesses) {
        if let Evidence::ViewOrders(lists) | Evidence::ModificationOrders(lists) = witness {
            for (&number, list) in numbers.iter().zip(lists) {
                all[number as usize] = list;
            }
        }
    }
    all
}
