//! Violations of the C11 family.
//!
//! A cycle of `po` and `rf` violates every model of the family. For `coherence`, it must be all on one location. Other
//! violations:
//!
//! | model | steps | their premises | the cycle |
//! | --- | --- | --- | --- |
//! | `ra`, `rc20`, `relaxed`, `coherence` | coherence | `po`, and `rf` (`ra`) or `sw` (`rc20`) | see below |
//! | | atomicity | one step | |
//! | | `rw` of an rmw | as the cycle | |
//! | `sra` | `cf` of a pure read | `po`, `rf` | `po`, `rf`, steps |
//! | | `cf` and `rw` of an rmw | `po`, `rf`, steps | |
//! | `wra` | `cf` | `po`, `rf` | `po`, `rf`, and one step |
//! | | `rw` of an rmw | `rf` into another | two steps |
//!
//! In the first row, the cycle has steps, `rf` into rmws, and `po` from the initial write. All its nodes are writes of
//! one location.
//!
//! A refutation of `sra` is made of lemmas ([`super::derivation`]), each a derivation of `sra` under assumptions.
//!
//! Each edge of a cycle says that two writes are in that order in the modification order `mo` of every witness (`sra`:
//! in every order that extends `hb u mo`). Such an order has no cycle, so there is no witness.

use std::collections::HashSet;

use history::MemoryOrder;
use history::execution::{EventId, Kind, LocationId, ThreadId};

use super::derivation::{self, Check};
use super::graph::Writers;
use super::{Claim, Place, Refusal, fault};
use model::{Derivation, Edge, Model, Node, Rule, Step};

/// Whether a model is of the C11 family, or `coherence`.
pub fn speaks_of(model: Model) -> bool {
    matches!(model, Model::Wra | Model::Ra | Model::Sra | Model::Rc20 | Model::Relaxed | Model::Coherence)
}

/// Checks a derivation of a violation.
pub fn violation(claim: &Claim<'_>, model: Model, derivation: &Derivation) -> Result<(), Refusal> {
    let causal = |edge: &Edge| matches!(edge, Edge::Po(..) | Edge::Rf(..));
    if model == Model::Rc20 {
        no_sequential_access(claim)?;
    }
    let two_steps = model == Model::Wra && derivation.steps.iter().any(|step| step.rule == Rule::ReadWrite);
    if derivation.steps.is_empty() && derivation.cycle.iter().all(causal) || model == Model::Wra && !two_steps {
        if model == Model::Coherence {
            on_one_location(claim, derivation)?;
        }
        return derivation::verify(claim, Model::Cc, derivation);
    }
    let check = Check { claim, model, derivation, lemmas: None };
    if model == Model::Sra {
        return check.strong();
    }
    for (at, step) in derivation.steps.iter().enumerate() {
        match model {
            Model::Wra => check.weak_step(at, step)?,
            _ => check.coherence_step(at, step)?,
        }
    }
    check.closes(|edge| match (model, edge) {
        (_, Edge::Derived(_)) => Ok(()),
        (Model::Wra, _) => Err("a cycle with rw steps has no other edges"),
        _ => check.orders_writes(edge),
    })
}

/// Checks that all operations of a cycle access one location.
fn on_one_location(claim: &Claim<'_>, derivation: &Derivation) -> Result<(), Refusal> {
    let location = |node: Node| match node {
        Node::Init(location) => Some(location),
        Node::Operation(id) => claim.event(id).map(|event| claim.execution.event(event).location),
    };
    let mut locations = derivation.cycle.iter().map(|&edge| location(derivation.ends(edge).0));
    let first = locations.next();
    if locations.any(|location| Some(location) != first) || first == Some(Some(LocationId::NONE)) {
        return fault(Place::Cycle, "it must stay on one location");
    }
    Ok(())
}

/// Refuses executions with `sc` accesses, for which RC20 has no meaning.
pub fn no_sequential_access(claim: &Claim<'_>) -> Result<(), Refusal> {
    let sequential = |event: &history::execution::Event| event.order == MemoryOrder::SequentiallyConsistent;
    if claim.execution.events().iter().any(sequential) {
        return fault(Place::Again, "rc20 has no sequentially consistent accesses or fences");
    }
    Ok(())
}

/// Checks that a path uses only steps before `end`; `what` is the fault if it does not.
fn only_steps_before(end: usize, place: Place, path: &[Edge], what: &str) -> Result<(), Refusal> {
    if path.iter().any(|&edge| matches!(edge, Edge::Derived(number) if number as usize >= end)) {
        return fault(place, what);
    }
    Ok(())
}

const LATER_STEP: &str = "a premise may use earlier steps only";

impl Check<'_> {
    fn event(&self, node: Node) -> Option<EventId> {
        match node {
            Node::Init(_) => None,
            Node::Operation(id) => self.claim.event(id),
        }
    }

    fn kind(&self, node: Node) -> Option<Kind> {
        self.event(node).map(|event| self.claim.execution.event(event).kind)
    }

    fn rmw_source(&self, place: Place, rmw: Node) -> Result<Node, Refusal> {
        if self.kind(rmw) != Some(Kind::Rmw) {
            return fault(place, "the rule needs an rmw");
        }
        self.source(place, rmw)
    }

    /// Checks that the cycle is closed, and that all its edges are allowed.
    pub(super) fn closes(&self, allowed: impl Fn(Edge) -> Result<(), &'static str>) -> Result<(), Refusal> {
        let cycle = &self.derivation.cycle;
        let Some(&first) = cycle.first() else { return fault(Place::Cycle, "it is empty") };
        only_steps_before(self.derivation.steps.len(), Place::Cycle, cycle, "it uses a step that does not exist")?;
        let begin = self.derivation.ends(first).0;
        self.path(Place::Cycle, cycle, begin, begin, allowed)
    }

    /// Checks a derivation under `sra`.
    pub(super) fn strong(&self) -> Result<(), Refusal> {
        for (at, step) in self.derivation.steps.iter().enumerate() {
            if !self.argues(at, step)? {
                self.strong_step(at, step)?;
            }
        }
        self.closes(|edge| match edge {
            Edge::Sw { .. } => Err("this model has no synchronisation edges"),
            _ => Ok(()),
        })
    }

    fn strong_step(&self, at: usize, step: &Step) -> Result<(), Refusal> {
        let place = Place::Step(at);
        only_steps_before(at, place, &step.path, LATER_STEP)?;
        let (begin, end, steps) = match step.rule {
            Rule::Conflict { read, view: None } => {
                let event = self.conflict(place, step, read)?;
                (step.from, read, self.claim.execution.event(event).kind == Kind::Rmw)
            }
            Rule::ReadWrite => (self.overtaken(place, step)?, step.to, true),
            _ => return fault(place, "this is no rule of sra"),
        };
        self.path(place, &step.path, begin, end, |edge| match edge {
            Edge::Sw { .. } => Err("this model has no synchronisation edges"),
            Edge::Derived(_) if !steps => Err("the premise about a pure read may use only po and rf"),
            _ => Ok(()),
        })
    }

    fn weak_step(&self, at: usize, step: &Step) -> Result<(), Refusal> {
        let place = Place::Step(at);
        if step.rule != Rule::ReadWrite || self.kind(step.to) != Some(Kind::Rmw) {
            return fault(place, "this is no rule of wra, or not between two rmws");
        }
        let source = self.overtaken(place, step)?;
        self.path(place, &step.path, source, step.to, |edge| match edge {
            Edge::Rf(..) if step.path.len() == 1 => Ok(()),
            _ => Err("the two rmws do not read from the same write"),
        })
    }

    /// Checks the conditions of `rw` for an rmw, without the path. Returns the source of the rmw.
    fn overtaken(&self, place: Place, step: &Step) -> Result<Node, Refusal> {
        let source = self.rmw_source(place, step.from)?;
        self.distinct_writes(place, source, step.to)?;
        self.distinct_writes(place, step.from, step.to)?;
        Ok(source)
    }

    pub(super) fn coherence_step(&self, at: usize, step: &Step) -> Result<(), Refusal> {
        let place = Place::Step(at);
        only_steps_before(at, place, &step.path, LATER_STEP)?;
        if super::c20::speaks_of(self.model) && step.rule == Rule::ReadWrite {
            let source = self.read_write(place, step)?;
            return self.path(place, &step.path, source, step.to, |edge| self.orders_writes(edge));
        }
        self.distinct_writes(place, step.from, step.to)?;
        match step.rule {
            Rule::Coherence { before, after } => {
                if self.value(place, before)? != step.from || self.target(place, after)? != step.to {
                    let what = "the ends of the step are not the writes that the two accesses make or read from";
                    return fault(place, what);
                }
                self.path(place, &step.path, before, after, |edge| match (self.model, edge) {
                    (_, Edge::Po(..)) | (Model::Ra, Edge::Rf(..)) => Ok(()),
                    (Model::Rc20 | Model::C20 | Model::Rc11, Edge::Sw { .. }) => self.synchronises(edge),
                    _ => Err("the premise uses an edge that is not in the happens-before of this model"),
                })
            }
            Rule::Atomicity => {
                let [Edge::Derived(premise)] = step.path[..] else {
                    return fault(place, "the premise of atomicity must be one step");
                };
                let (from, to) = self.derivation.ends(Edge::Derived(premise));
                match [from, to, step.from, step.to].map(|write| self.chain(write)) {
                    [Some(first), Some(second), Some(one), Some(other)]
                        if one == first && other == second && first != second =>
                    {
                        Ok(())
                    }
                    _ => fault(place, "the two writes are not in the two chains of rmws that the premise orders"),
                }
            }
            Rule::ReadWrite => {
                let source = self.overtaken(place, step)?;
                self.path(place, &step.path, source, step.to, |edge| self.orders_writes(edge))
            }
            _ => fault(place, format!("this is no rule of {}", self.model)),
        }
    }

    /// Checks that an edge, which holds, orders two writes of one location in the modification order.
    pub(super) fn orders_writes(&self, edge: Edge) -> Result<(), &'static str> {
        match edge {
            Edge::Derived(_) if self.written(self.derivation.ends(edge).0).is_some() => Ok(()),
            Edge::Rf(_, to) if self.kind(to) == Some(Kind::Rmw) => Ok(()),
            Edge::Po(Node::Init(location), to) if self.written(to) == Some(location) => Ok(()),
            _ => Err("the edge does not order two writes of one location"),
        }
    }

    /// The write of an access, or its source if it only reads.
    fn value(&self, place: Place, access: Node) -> Result<Node, Refusal> {
        if self.written(access).is_some() { Ok(access) } else { self.source(place, access) }
    }

    /// The source of an access, or its write if it does not read.
    fn target(&self, place: Place, access: Node) -> Result<Node, Refusal> {
        if self.kind(access) == Some(Kind::Write) { Ok(access) } else { self.source(place, access) }
    }

    /// The first write of the chain of rmws that a write belongs to. None if an rmw of the chain reads a value that
    /// nobody wrote.
    fn chain(&self, write: Node) -> Option<Node> {
        let mut write = write;
        // The number of rounds is limited, since reads-from may have a cycle.
        for _ in 0..=self.claim.execution.len() {
            let Some(event) = self.event(write) else { return Some(write) };
            let event = self.claim.execution.event(event);
            write = match (event.kind, event.source) {
                (Kind::Rmw, EventId::NONE) => return None,
                (Kind::Rmw, EventId::INIT) => Node::Init(event.location),
                (Kind::Rmw, source) => Node::Operation(self.claim.execution.operation(source)),
                _ => return Some(write),
            };
        }
        None
    }

    /// `sw` as RC20 defines it. In `rc11` the write may also be a later one of the thread and location of the release.
    pub(super) fn synchronises(&self, edge: Edge) -> Result<(), &'static str> {
        let Edge::Sw { release, write, read, acquire } = edge else { return Ok(()) };
        let execution = self.claim.execution;
        let events = [release, write, read, acquire].map(|node| self.event(node));
        let [Some(release_event), Some(write_event), Some(read_event), Some(acquire_event)] = events else {
            return Err("an initial write does not synchronise");
        };
        let fence = |event: EventId| execution.event(event).kind == Kind::Fence;
        if !execution.event(write_event).kind.writes() || !execution.event(read_event).kind.reads() {
            return Err("synchronisation needs a write and a read");
        }
        let is_later = self.model == Model::Rc11
            && execution.event(release_event).kind.writes()
            && execution.event(release_event).location == execution.event(write_event).location
            && self.in_program_order(release, write);
        if !(release == write || is_later || fence(release_event) && self.in_program_order(release, write))
            || !is_release(execution.event(release_event))
        {
            return Err("there is no release");
        }
        if !(read == acquire || fence(acquire_event) && self.in_program_order(read, acquire))
            || !is_acquire(execution.event(acquire_event))
        {
            return Err("there is no acquire");
        }
        let mut reader = read_event;
        for _ in 0..execution.len() {
            let source = execution.event(reader).source;
            if source == write_event {
                return Ok(());
            }
            if !source.is_event() || execution.event(source).kind != Kind::Rmw {
                break;
            }
            reader = source;
        }
        Err("the read does not read from the write, directly or through rmws")
    }
}

pub(super) fn is_release(event: history::execution::Event) -> bool {
    matches!(event.order, MemoryOrder::Release | MemoryOrder::AcquireRelease)
        || event.order == MemoryOrder::Plain && event.kind == Kind::Fence
}

pub(super) fn is_acquire(event: history::execution::Event) -> bool {
    matches!(event.order, MemoryOrder::Acquire | MemoryOrder::AcquireRelease)
        || event.order == MemoryOrder::Plain && event.kind == Kind::Fence
}

/// No two rmws read one write.
pub fn no_shared_source(claim: &Claim<'_>) -> Result<(), Refusal> {
    let mut updated: HashSet<(LocationId, EventId)> = HashSet::new();
    for event in claim.execution.events() {
        if event.kind == Kind::Rmw && !updated.insert((event.location, event.source)) {
            return fault(Place::Again, "the history is not allowed: two rmws read from the same write");
        }
    }
    Ok(())
}

/// Decides `sra` again, for a violation whose refutation by lemmas would be too long. The search follows Theorem 1.3 of
/// RF literally. It executes the events in all orders such that
/// - everything that happens before an event is executed before it;
/// - every other write of the location that happens before a read of w is executed before the write w;
/// - no write of the location comes between an rmw and its source.
pub fn sra_again(claim: &Claim<'_>) -> Result<(), Refusal> {
    let execution = claim.execution;
    let Some(past) = claim.causality().past() else { return Ok(()) };
    let writers = Writers::new(execution);
    let mut first: Vec<Vec<EventId>> = vec![Vec::new(); execution.len()];
    let mut updater: Vec<Option<EventId>> = vec![None; execution.len()];
    let mut initial_updater: Vec<Option<EventId>> = vec![None; execution.location_count()];
    for read in execution.ids().filter(|&id| execution.event(id).kind.reads()) {
        let event = execution.event(read);
        let others: Vec<EventId> =
            writers.last_before(execution, &past, read).filter(|&write| write != event.source).collect();
        let slot = if event.source == EventId::INIT {
            if !others.is_empty() {
                return Ok(());
            }
            &mut initial_updater[event.location.index()]
        } else {
            first[event.source.index()].extend(others);
            &mut updater[event.source.index()]
        };
        if event.kind == Kind::Rmw && slot.replace(read).is_some() {
            return Ok(());
        }
    }
    let starts: Vec<u32> = execution.starts()[..execution.thread_count()].to_vec();
    let mut seen: HashSet<Vec<u32>> = HashSet::from([starts.clone()]);
    let mut stack = vec![(starts, initial_updater)];
    while let Some((next, awaited)) = stack.pop() {
        let done = |event: EventId| event.0 < next[execution.thread(event).index()];
        if (0..next.len()).all(|thread| next[thread] == execution.starts()[thread + 1]) {
            return fault(Place::Again, "the history is allowed: the writes have an order");
        }
        for thread in 0..next.len() {
            let Some(id) = execution.thread_events(ThreadId(thread as u32)).find(|id| id.0 == next[thread]) else {
                continue;
            };
            let event = execution.event(id);
            let ready = !event.source.is_event() || done(event.source);
            let mut after = awaited.clone();
            if event.kind.writes() {
                let slot = &mut after[event.location.index()];
                if slot.is_some_and(|rmw| rmw != id) || !first[id.index()].iter().all(|&write| done(write)) {
                    continue;
                }
                *slot = updater[id.index()];
            }
            let mut then = next.clone();
            then[thread] += 1;
            if ready && seen.insert(then.clone()) {
                stack.push((then, after));
            }
        }
    }
    Ok(())
}
