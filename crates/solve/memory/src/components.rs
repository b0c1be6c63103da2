//! The components of an execution: parts that can be decided one by one.
//!
//! Program order and reads-from lead from no component to another, so threads that no read connects are in different
//! components. Components may share locations. Then one restriction is left: if a component reads the initial value of
//! a location, and another writes the location, the first must come before the second. Components that would have to
//! come before each other are one component.
//!
//! So the components have an order in which each comes before all that overwrite an initial value that it reads. A
//! model allows an execution iff it allows each of its components:
//!
//! - What a model derives in a component, it derives in the whole. And the orders that show that the whole is allowed
//!   show the same of each component, if the other events are left out.
//! - Conversely, take the witnesses of the components one after the other, in that order. Each read reads from its own
//!   component, and no write comes between: the writes of the other components come before or after all of it, those
//!   that overwrite an initial value after it. If a model has no witness, but forbids a cycle of derived edges, the
//!   same argument holds: by induction, all edges from one component to another lead forward in that order. For the
//!   premise of a rule leads forward, and then so does its conclusion, because a read and its source are in one
//!   component. So no cycle leads through two components, and no path leads from a component through another one back.
//!
//! A component has its own numbers for threads and locations, so that it costs what it contains. Operations keep their
//! numbers. [`Component::restore`] gives the threads and locations in evidence the numbers of the whole again.

use history::execution::{EventId, LocationId, ThreadId};
use history::{Execution, OperationId, ProcessId};
use model::{Derivation, Edge, Evidence, EvidenceKind, Node, Rule, Step};
use order::{Rows, strong_components};
use rustc_hash::FxHashMap;

/// One component.
pub(crate) struct Component {
    /// The component as an execution of its own.
    pub(crate) execution: Execution,
    /// By thread and by location of the component: its number in the whole.
    threads: Vec<u32>,
    locations: Vec<u32>,
}

/// Disjoint sets of threads.
struct Sets {
    parents: Vec<u32>,
    /// How many sets there are.
    count: usize,
}

impl Sets {
    fn new(threads: usize) -> Self {
        Self { parents: (0..threads as u32).collect(), count: threads }
    }

    /// The least thread of a set. On the way, the path to it is halved.
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

/// The components, in an order in which each may come before the next. The list is empty if there is only one.
/// So many events of each thread are looked at first: mostly they show that there is only one.
pub(crate) fn components(execution: &Execution, first_events: usize) -> Vec<Component> {
    let threads = execution.thread_count();
    let mut sets = Sets::new(threads);
    // Threads without events are not parts of their own.
    for thread in (1..threads).filter(|&thread| execution.starts()[thread] == execution.starts()[thread + 1]) {
        sets.unite(0, thread as u32);
    }
    let first = (0..threads as u32).flat_map(|thread| execution.thread_events(ThreadId(thread)).take(first_events));
    for id in first.chain(execution.ids()) {
        let source = execution.event(id).source;
        if source.is_event() {
            sets.unite(execution.thread(id).0, execution.thread(source).0);
        }
        if sets.count <= 1 {
            return Vec::new();
        }
    }
    let (mut numbers, mut members) = (vec![0; threads], Vec::new());
    for thread in 0..threads as u32 {
        let least = sets.find(thread);
        if least == thread {
            numbers[thread as usize] = members.len() as u32;
            members.push(Vec::new());
        }
        numbers[thread as usize] = numbers[least as usize];
        members[numbers[least as usize] as usize].push(thread);
    }
    let groups = in_order(execution, &numbers, members.len());
    if groups.len() < 2 {
        return Vec::new();
    }
    let threads = |group: Vec<u32>| {
        let mut threads: Vec<u32> =
            group.into_iter().flat_map(|number| std::mem::take(&mut members[number as usize])).collect();
        threads.sort_unstable();
        threads
    };
    let groups: Vec<Vec<u32>> = groups.into_iter().map(threads).collect();
    split(execution, groups)
}

/// Puts sets of threads in an order in which each comes before all others that overwrite an initial value that it
/// reads. `numbers` is the set of each thread. Sets that would have to come before each other are one group.
fn in_order(execution: &Execution, numbers: &[u32], count: usize) -> Vec<Vec<u32>> {
    // The nodes are the sets, and then the initial writes of the locations: a set leads to the initial writes that it
    // reads, and these to the sets that overwrite them.
    let edges = (0..execution.len() as u32).map(EventId).flat_map(|id| {
        let event = execution.event(id);
        let set = numbers[execution.thread(id).index()];
        let initial = || count + event.location.index();
        let reads = (event.source == EventId::INIT).then(|| (set as usize, initial() as u32));
        reads.into_iter().chain(event.kind.writes().then(|| (initial(), set)))
    });
    let successors = Rows::new(count + execution.location_count(), edges);
    let components = strong_components(successors.count(), |node, at| successors.of(node as usize).get(at).copied());
    let mut groups = vec![Vec::new(); components.len()];
    for (set, &component) in (0..count as u32).zip(&components) {
        groups[component as usize].push(set);
    }
    groups.retain(|group| !group.is_empty());
    groups.reverse();
    groups
}

/// The components, given the threads of each.
fn split(execution: &Execution, groups: Vec<Vec<u32>>) -> Vec<Component> {
    const NEW: u32 = u32::MAX;
    // By location: its number in the component. By thread: how much less the numbers of its events are there.
    let mut places = vec![NEW; execution.location_count()];
    let mut offsets = vec![0; execution.thread_count()];
    let component = |threads: Vec<u32>| {
        let mut count = 0;
        for &thread in &threads {
            let (begin, end) = (execution.starts()[thread as usize], execution.starts()[thread as usize + 1]);
            offsets[thread as usize] = begin - count;
            count += end - begin;
        }
        let mut locations = Vec::new();
        let events = (0..)
            .map(ThreadId)
            .zip(&threads)
            .flat_map(|(place, &thread)| execution.thread_events(ThreadId(thread)).map(move |id| (place, id)));
        let events = events.map(|(place, id)| {
            let mut event = execution.event(id);
            if event.source.is_event() {
                event.source = EventId(event.source.0 - offsets[execution.thread(event.source).index()]);
            }
            if event.location != LocationId::NONE {
                let place = &mut places[event.location.index()];
                if *place == NEW {
                    *place = locations.len() as u32;
                    locations.push(event.location.0);
                }
                event.location = LocationId(*place);
            }
            (place, event, execution.operation(id))
        });
        let mut part = Execution::default();
        part.refill(threads.len(), events);
        for &location in &locations {
            places[location as usize] = NEW;
        }
        Component { execution: part, threads, locations }
    };
    groups.into_iter().map(component).collect()
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
    } else if are(&[EvidenceKind::Interleaving, EvidenceKind::ModificationOrders]) {
        let witnesses =
            witnesses.into_iter().zip(parts).map(|(witness, part)| in_orders(execution, part, witness)).collect();
        let locations = parts.iter().map(|part| &part.locations[..]);
        Evidence::ModificationOrders(lists(execution.location_count(), locations, witnesses))
    } else {
        Evidence::DecideAgain
    }
}

/// An interleaving of a component as the modification orders of its locations; any other witness as it is.
fn in_orders(execution: &Execution, part: &Component, witness: Evidence) -> Evidence {
    let Evidence::Interleaving(line) = witness else { return witness };
    let events: FxHashMap<OperationId, EventId> = execution.ids().map(|id| (execution.operation(id), id)).collect();
    let places: FxHashMap<u32, usize> =
        part.locations.iter().enumerate().map(|(at, &location)| (location, at)).collect();
    let mut orders = vec![Vec::new(); part.locations.len()];
    for operation in line {
        let event = events.get(&operation).map(|&id| execution.event(id)).filter(|event| event.kind.writes());
        if let Some(&at) = event.and_then(|event| places.get(&event.location.0)) {
            orders[at].push(operation);
        }
    }
    Evidence::ModificationOrders(orders)
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
                all[number as usize].extend(list);
            }
        }
    }
    all
}
