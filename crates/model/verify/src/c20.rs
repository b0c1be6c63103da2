//! `c20`: `rc20` with sequentially consistent accesses and fences; and `rc11`, the same with the release sequences of
//! RC11, which go on over later writes of the releasing thread.
//!
//! ```text
//! eco = (rf u mo u fr)+     po!= : po but for two accesses of one location
//! hb|loc : hb between accesses of one location
//! scb = po u po!=;hb;po!= u hb|loc u mo u fr
//! psc = ([SC] u [Fsc];hb?) ; scb ; ([SC] u hb?;[Fsc])   u   [Fsc] ; (hb u hb;eco;hb) ; [Fsc]
//! ```
//!
//! SC are the sequentially consistent events, Fsc the fences among them. In all else they are acquires and releases, so
//! the other axioms are those of `rc20` for the execution without sequentially consistent orders.
//!
//! *A violation* is one of `rc20`, or a cycle of `psc`. Its steps are those of `rc20`: coherence and atomicity, which
//! order writes of a location, and `rw`, whose premise orders the source of a read before a write. An `rw` step of a
//! pure read is `fr`. Of the cycle every edge is known to be `po`, `sw`, `rf`, `mo` or `fr`. A set of [phases](Phase)
//! goes along the cycle and says how the edges so far can be read as edges of `psc`. In a refutation, lemmas may assume
//! orders of two writes.
//!
//! *A witness* is a modification order of each location: it must satisfy `rc20`, and `psc` must be acyclic. A vertex of
//! the graph that is searched for a cycle is an event in a phase.

use std::collections::HashMap;

use history::execution::{EventId, Kind, LocationId};
use history::{Execution, MemoryOrder, OperationId};

use super::c11::{is_acquire, is_release};
use super::derivation::{self, Check};
use super::graph::ChainGraph;
use super::{Claim, Place, Refusal, c11_witness, fault};
use model::{Derivation, Edge, Model, Node, Rule};

/// Whether a model is one of the two.
pub fn speaks_of(model: Model) -> bool {
    matches!(model, Model::C20 | Model::Rc11)
}

/// Checks a cycle.
pub fn violation(claim: &Claim<'_>, model: Model, derivation: &Derivation) -> Result<(), Refusal> {
    let weak = claim.execution.without_sequential_orders();
    let inner = Claim::new(&weak);
    let check = Check { claim: &inner, model, derivation, lemmas: None };
    check.sequential(claim.execution)
}

/// Checks a refutation by lemmas.
pub fn refutation(claim: &Claim<'_>, model: Model, lemmas: &[Derivation]) -> Result<(), Refusal> {
    let weak = claim.execution.without_sequential_orders();
    let inner = Claim::new(&weak);
    derivation::lemmas(&inner, model, lemmas, |check| check.sequential(claim.execution))
}

fn is_sequential(execution: &Execution, event: EventId) -> bool {
    execution.event(event).order == MemoryOrder::SequentiallyConsistent
}

/// Whether two events are no accesses of one location.
fn differ(execution: &Execution, one: EventId, two: EventId) -> bool {
    let [one, two] = [one, two].map(|id| execution.event(id));
    one.kind == Kind::Fence || two.kind == Kind::Fence || one.location != two.location
}

/// How a path that begins and ends at sequentially consistent events has been read so far.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Whole edges of `psc`.
    Node,
    /// `[Fsc];hb`
    From,
    /// `po!=` of `scb`, and then `po!=;hb`.
    Other,
    Through,
    /// `hb` since this access, which may become `hb|loc`.
    Since(EventId),
    /// `mo u fr`, the end of `scb`.
    Order,
    /// The end of `scb`.
    End,
    /// `scb;hb`
    Into,
    /// `[Fsc];hb;eco`, and then `hb`.
    Eco,
    After,
}

/// What is known of an edge of a cycle.
#[allow(clippy::struct_excessive_bools, reason = "an edge may be several of these at once")]
#[derive(Copy, Clone)]
struct Known {
    po: bool,
    hb: bool,
    mo: bool,
    fr: bool,
    eco: bool,
}

impl Check<'_> {
    /// Checks a derivation. The check is about the execution without sequentially consistent orders; `original` has
    /// them.
    fn sequential(&self, original: &Execution) -> Result<(), Refusal> {
        let causal = |edge: &Edge| matches!(edge, Edge::Po(..) | Edge::Rf(..));
        if self.derivation.steps.is_empty() && self.derivation.cycle.iter().all(causal) {
            return derivation::verify(self.claim, Model::Cc, self.derivation);
        }
        for (at, step) in self.derivation.steps.iter().enumerate() {
            if !self.argues(at, step)? {
                self.coherence_step(at, step)?;
            }
        }
        if self.closes(|edge| self.orders_writes(edge)).is_ok() {
            return Ok(());
        }
        self.closes(|edge| match edge {
            Edge::Sw { .. } => self.synchronises(edge),
            _ => Ok(()),
        })?;
        self.is_psc(original)
    }

    fn known(&self, edge: Edge) -> Known {
        let mo = self.orders_writes(edge).is_ok();
        let fr = matches!(edge, Edge::Derived(step) if self.derivation.steps[step as usize].rule == Rule::ReadWrite);
        let po = matches!(edge, Edge::Po(..));
        let (hb, eco) = (po || matches!(edge, Edge::Sw { .. }), mo || fr || matches!(edge, Edge::Rf(..)));
        Known { po, hb, mo, fr, eco }
    }

    /// Checks that the cycle, whose edges hold, is one of `psc`.
    fn is_psc(&self, original: &Execution) -> Result<(), Refusal> {
        let event = |node: Node| match node {
            Node::Operation(id) => self.claim.event(id),
            Node::Init(_) => None,
        };
        let cycle = &self.derivation.cycle;
        let begin = cycle.first().and_then(|&edge| event(self.derivation.ends(edge).0));
        let Some(mut at) = begin.filter(|&begin| is_sequential(original, begin)) else {
            return fault(Place::Cycle, "it must begin at a sequentially consistent operation, or order writes only");
        };
        let mut phases = vec![Phase::Node];
        for &edge in cycle {
            let Some(to) = event(self.derivation.ends(edge).1) else {
                return fault(Place::Cycle, "an initial write is not sequentially consistent");
            };
            let known = self.known(edge);
            let mut next = Vec::new();
            for phase in phases {
                advance(original, phase, at, to, known, &mut next);
            }
            at = to;
            let is_fence = is_sequential(original, at) && original.event(at).kind == Kind::Fence;
            for phase in next.clone() {
                let is_end = match phase {
                    Phase::Order | Phase::End => is_sequential(original, at),
                    Phase::Since(access) if access != at && !differ(original, access, at) => {
                        next.push(Phase::End);
                        is_sequential(original, at)
                    }
                    Phase::From | Phase::Into | Phase::After => is_fence,
                    _ => false,
                };
                if is_end {
                    next.push(Phase::Node);
                }
            }
            phases = Vec::new();
            for phase in next {
                if !phases.contains(&phase) {
                    phases.push(phase);
                }
            }
        }
        if phases.contains(&Phase::Node) { Ok(()) } else { fault(Place::Cycle, "it is no cycle of psc") }
    }
}

/// The phases after an edge from one event to another.
fn advance(execution: &Execution, phase: Phase, from: EventId, to: EventId, known: Known, next: &mut Vec<Phase>) {
    let Known { po, hb, mo, fr, eco } = known;
    let differ = differ(execution, from, to);
    let is_access = execution.event(from).kind != Kind::Fence;
    if matches!(phase, Phase::Node | Phase::From) {
        // `scb` begins.
        next.extend(po.then_some(Phase::End));
        next.extend((po && differ).then_some(Phase::Other));
        next.extend((hb && is_access).then_some(Phase::Since(from)));
        next.extend((mo || fr).then_some(Phase::Order));
    }
    let is_fence = is_sequential(execution, from) && !is_access;
    match phase {
        Phase::Node => next.extend((hb && is_fence).then_some(Phase::From)),
        Phase::From => {
            next.extend(hb.then_some(Phase::From));
            next.extend(eco.then_some(Phase::Eco));
        }
        Phase::Other => next.extend(hb.then_some(Phase::Through)),
        Phase::Through => {
            next.extend(hb.then_some(Phase::Through));
            next.extend((po && differ).then_some(Phase::End));
        }
        Phase::Since(access) => next.extend(hb.then_some(Phase::Since(access))),
        Phase::Order => {
            next.extend(mo.then_some(Phase::Order));
            next.extend(hb.then_some(Phase::Into));
        }
        Phase::End | Phase::Into => next.extend(hb.then_some(Phase::Into)),
        Phase::Eco => {
            next.extend(eco.then_some(Phase::Eco));
            next.extend(hb.then_some(Phase::After));
        }
        Phase::After => next.extend(hb.then_some(Phase::After)),
    }
}

/// Checks modification orders.
pub fn modification_orders(claim: &Claim<'_>, model: Model, orders: &[Vec<OperationId>]) -> Result<(), Refusal> {
    let weak = claim.execution.without_sequential_orders();
    let inner = Claim::new(&weak);
    let happens = if model == Model::Rc11 { model } else { Model::Rc20 };
    c11_witness::modification_orders(&inner, happens, orders)?;
    let product = Product::new(claim, &weak, model == Model::Rc11, orders);
    if product.is_acyclic() { Ok(()) } else { fault(Place::Again, "psc has a cycle with these orders") }
}

/// Events in phases. An execution that `rc20` allows with these orders.
struct Product<'a> {
    original: &'a Execution,
    /// By event: where happens-before leads at once.
    next: Vec<Vec<u32>>,
    /// By event: the first event after it in its thread that is no access of the same location.
    other: Vec<Option<u32>>,
    /// By event: the next access of its location in its thread, and the accesses of other threads of which it is the
    /// last that happens before.
    row: Vec<Option<u32>>,
    before: Vec<Vec<u32>>,
    /// By access: the first write that overwrites what it wrote or else read.
    overwritten: Vec<Option<u32>>,
    readers: Vec<Vec<u32>>,
}

const NODE: usize = 0;
const FROM: usize = 1;
const START: usize = 2;
const PO: usize = 3;
const OTHER: usize = 4;
const THROUGH: usize = 5;
const ROW: usize = 6;
const ORDER: usize = 7;
const END: usize = 8;
const INTO: usize = 9;
const ECO: usize = 10;
const GOT: usize = 11;
const AFTER: usize = 12;
const PHASES: usize = 13;

impl<'a> Product<'a> {
    fn new(claim: &Claim<'a>, weak: &Execution, longer: bool, orders: &[Vec<OperationId>]) -> Self {
        let original = claim.execution;
        let count = original.len();
        let is_last = |id: EventId| original.thread_events(original.thread(id)).next_back() == Some(id);
        let mut happens = ChainGraph::of_chains(weak, weak.ids().map(|id| weak.thread(id).index()).collect());
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); count];
        for id in original.ids().filter(|&id| !is_last(id)) {
            next[id.index()].push(id.0 + 1);
        }
        for (release, acquire) in synchronisations(weak, longer) {
            next[release.index()].push(acquire.0);
            happens.add_again(release, acquire);
        }
        let mut other = vec![None; count];
        for id in original.ids().rev().filter(|&id| !is_last(id)) {
            let after = EventId(id.0 + 1);
            other[id.index()] = if differ(original, id, after) { Some(after.0) } else { other[after.index()] };
        }
        let mut accesses: HashMap<LocationId, Vec<Vec<EventId>>> = HashMap::new();
        let mut row = vec![None; count];
        for id in original.ids().filter(|&id| original.event(id).kind != Kind::Fence) {
            let threads = accesses.entry(original.event(id).location).or_default();
            match threads.last_mut() {
                Some(list) if original.thread(list[0]) == original.thread(id) => {
                    row[list[list.len() - 1].index()] = Some(id.0);
                    list.push(id);
                }
                _ => threads.push(vec![id]),
            }
        }
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); count];
        // Synchronisation goes along `rf`, so there is no cycle.
        if let Some(past) = happens.past() {
            for id in original.ids().filter(|&id| original.event(id).kind != Kind::Fence) {
                for list in accesses.get(&original.event(id).location).into_iter().flatten() {
                    let known = list.partition_point(|&access| past.contains(id, access));
                    if known > 0 && original.thread(list[0]) != original.thread(id) {
                        before[list[known - 1].index()].push(id.0);
                    }
                }
            }
        }
        let mut after: HashMap<EventId, u32> = HashMap::new();
        let mut first: HashMap<LocationId, u32> = HashMap::new();
        for order in orders {
            let writes: Vec<EventId> = order.iter().filter_map(|&id| claim.event(id)).collect();
            if let Some(&write) = writes.first() {
                first.insert(original.event(write).location, write.0);
            }
            after.extend(writes.windows(2).map(|pair| (pair[0], pair[1].0)));
        }
        let mut readers: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut overwritten = vec![None; count];
        for id in original.ids() {
            let event = original.event(id);
            if event.source.is_event() {
                readers[event.source.index()].push(id.0);
            }
            overwritten[id.index()] = match event.source {
                _ if event.kind.writes() => after.get(&id).copied(),
                EventId::INIT => first.get(&event.location).copied(),
                source => after.get(&source).copied(),
            };
        }
        Self { original, next, other, row, before, overwritten, readers }
    }

    /// The vertices that a vertex leads to.
    fn successors(&self, phase: usize, at: usize) -> Vec<(usize, u32)> {
        let id = EventId(at as u32);
        let event = self.original.event(id);
        let is_sc = is_sequential(self.original, id);
        let is_fence = is_sc && event.kind == Kind::Fence;
        let hb = |phase: usize| self.next[at].iter().map(move |&to| (phase, to));
        let in_thread = |&&to: &&u32| self.original.thread(EventId(to)) == self.original.thread(id);
        let thread = |phase| self.next[at].iter().find(in_thread).map(|&to| (phase, to));
        let mut to: Vec<(usize, u32)> = Vec::new();
        match phase {
            NODE => {
                to.push((START, id.0));
                to.extend(hb(FROM).filter(|_| is_fence));
            }
            FROM => {
                to.push((START, id.0));
                to.extend(hb(FROM));
                to.extend(self.overwritten[at].map(|write| (ECO, write)));
                to.extend(self.readers[at].iter().map(|&read| (GOT, read)));
                to.extend(is_fence.then_some((NODE, id.0)));
            }
            START => {
                to.extend(thread(PO));
                to.extend(self.other[at].map(|other| (OTHER, other)));
                to.push((ROW, id.0));
                to.extend(self.overwritten[at].map(|write| (ORDER, write)));
            }
            PO => {
                to.extend(thread(PO));
                to.push((END, id.0));
            }
            OTHER => to.extend(hb(THROUGH)),
            THROUGH => {
                to.extend(hb(THROUGH));
                to.extend(self.other[at].map(|other| (PO, other)));
            }
            ROW => {
                to.extend(self.row[at].map(|next| (ROW, next)));
                to.extend(self.before[at].iter().map(|&access| (END, access)));
            }
            ORDER => {
                to.extend(self.overwritten[at].map(|write| (ORDER, write)));
                to.push((END, id.0));
            }
            END => {
                to.extend(is_sc.then_some((NODE, id.0)));
                to.extend(hb(INTO));
            }
            INTO | AFTER => {
                to.extend(hb(phase));
                to.extend(is_fence.then_some((NODE, id.0)));
            }
            ECO => {
                to.extend(self.overwritten[at].map(|write| (ECO, write)));
                to.push((GOT, id.0));
                to.extend(self.readers[at].iter().map(|&read| (GOT, read)));
            }
            _ => to.extend(hb(AFTER)),
        }
        to
    }

    /// Whether no path from a sequentially consistent event leads back to it: a search in depth.
    fn is_acyclic(&self) -> bool {
        let count = self.original.len();
        // 0: not seen, 1: on the path, 2: done.
        let mut seen = vec![0_u8; PHASES * count];
        for start in self.original.ids().filter(|&id| is_sequential(self.original, id)) {
            if seen[start.index()] != 0 {
                continue;
            }
            seen[start.index()] = 1;
            let mut path = vec![(start.index(), self.successors(NODE, start.index()))];
            while let Some((vertex, open)) = path.last_mut() {
                let Some((phase, at)) = open.pop() else {
                    seen[*vertex] = 2;
                    path.pop();
                    continue;
                };
                let vertex = phase * count + at as usize;
                match seen[vertex] {
                    0 => {
                        seen[vertex] = 1;
                        path.push((vertex, self.successors(phase, at as usize)));
                    }
                    1 => return false,
                    _ => {}
                }
            }
        }
        true
    }
}

/// The pairs of a release and an acquire, as `rc20` has them. Of several releases that a read learns of, those may be
/// left out that another one knows of. If release sequences are `longer`, a write also carries an earlier release of
/// its thread and location.
fn synchronisations(execution: &Execution, longer: bool) -> Vec<(EventId, EventId)> {
    let mut released: Vec<Option<EventId>> = vec![None; execution.len()];
    let mut pairs = Vec::new();
    for thread in 0..execution.thread_count() as u32 {
        let events = || execution.thread_events(history::execution::ThreadId(thread));
        let mut fence = None;
        let mut releases = HashMap::new();
        for id in events() {
            let event = execution.event(id);
            if event.kind == Kind::Fence && is_release(event) {
                fence = Some(id);
            }
            if event.kind.writes() && is_release(event) {
                releases.insert(event.location, id);
            }
            let sequence = releases.get(&event.location).copied().filter(|_| longer && event.kind.writes());
            let own = Some(id).filter(|_| event.kind.writes() && is_release(event));
            released[id.index()] = own.or(fence.max(sequence));
        }
    }
    for thread in 0..execution.thread_count() as u32 {
        let mut acquire = None;
        for id in execution.thread_events(history::execution::ThreadId(thread)).rev() {
            let event = execution.event(id);
            if event.kind == Kind::Fence && is_acquire(event) {
                acquire = Some(id);
            }
            let Some(acquire) = (if event.kind.reads() && is_acquire(event) { Some(id) } else { acquire }) else {
                continue;
            };
            let mut source = event.source;
            while event.kind.reads() && source.is_event() {
                let write = execution.event(source);
                pairs.extend(released[source.index()].map(|release| (release, acquire)));
                // What reads a release that also acquires knows of all before it.
                if write.kind != Kind::Rmw || is_release(write) && is_acquire(write) {
                    break;
                }
                source = write.source;
            }
        }
    }
    pairs
}
