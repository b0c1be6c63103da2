//! Finds out which sources of a refused choice are to blame.
//!
//! The evidence of a violation names some operations. The execution of these operations alone, and of the writes that
//! they read from, is mostly a violation, too; and if it is one, every execution that contains it is one: what was
//! left out only adds events and order. So the sources of its reads are a lemma. The evidence may rely on what it
//! does not name, such as the rmws (read-modify-writes) of a chain, or a fence between two operations. If the small
//! execution satisfies the model, larger ones are tried, and in the end the whole. Then reads are left out, one by
//! one, as long as the violation remains.
//!
//! Invariant: of an event that is kept, only an open read is ever left out. A read that is not open has its source
//! whatever is chosen, so the verifier has it, too. An rmw without its read is a write, and a step of the evidence
//! about a write is no step about an rmw.

use history::execution::{Event, EventId, Kind};
use history::{Execution, OpenExecution};
use model::{Derivation, Edge, Evidence, Model, Node, Rule, Verdict};
use rustc_hash::FxHashSet;

use crate::knobs::SourceKnobs;
use crate::{MemoryOptions, check};

/// Sources that the model refuses, whatever the others are.
pub(super) struct Conflict {
    /// The open reads with these sources.
    pub(super) reads: Vec<(usize, EventId)>,
    pub(super) evidence: Evidence,
}

impl Conflict {
    /// All sources that are chosen.
    pub(super) fn whole(chosen: &[Option<EventId>], evidence: Evidence) -> Self {
        let reads = chosen.iter().enumerate().filter_map(|(read, source)| Some((read, (*source)?))).collect();
        Self { reads, evidence }
    }
}

/// How much of an execution is kept.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    /// The operations that are named, and the writes that they read from. Such a write is an rmw only if its source is
    /// known without a choice.
    Named,
    /// Also whole chains of rmws.
    Chains,
    /// Also all fences and rmws.
    Fences,
}

/// The sources to blame for a violation. `execution` is the execution of `chosen`, and `evidence` refutes it for this
/// model or for a weaker one. `None` if only the whole execution is known to be refuted.
pub(super) fn find(
    model: Model,
    open: &OpenExecution,
    execution: &Execution,
    chosen: &[Option<EventId>],
    evidence: &Evidence,
    knobs: SourceKnobs,
) -> Option<Conflict> {
    let open_read = |event: EventId| open.find(event).and_then(|read| Some((read, chosen[read]?)));
    let mut named = FxHashSet::default();
    if name_operations(evidence, &mut |node| {
        if let Node::Operation(id) = node {
            named.insert(id);
        }
    }) {
        let named: Vec<EventId> = execution.ids().filter(|&id| named.contains(&execution.operation(id))).collect();
        for extent in [Extent::Named, Extent::Chains, Extent::Fences] {
            let mut part = Part::new(open, execution, &named, extent);
            if let Some(mut evidence) = part.refuted(model) {
                if part.reads().filter(|&event| open_read(event).is_some()).count() <= knobs.left_out {
                    part.leave_out_reads(model, &mut evidence, |event| open_read(event).is_some());
                }
                let reads = part.reads().filter_map(open_read).collect();
                return Some(Conflict { reads, evidence });
            }
        }
    }
    None
}

/// Visits the nodes that the evidence names. Returns whether the evidence names all that it needs, or most of it.
fn name_operations(evidence: &Evidence, visit: &mut impl FnMut(Node)) -> bool {
    let derivations: &[Derivation] = match evidence {
        Evidence::Cycle(derivation) => std::slice::from_ref(derivation),
        Evidence::Refutation(lemmas) => lemmas,
        _ => return false,
    };
    for derivation in derivations {
        let paths = derivation.steps.iter().flat_map(|step| &step.path);
        for edge in paths.chain(&derivation.cycle) {
            match *edge {
                Edge::Po(from, to) | Edge::Rf(from, to) => [from, to].into_iter().for_each(&mut *visit),
                Edge::Sw { release, write, read, acquire } => {
                    [release, write, read, acquire].into_iter().for_each(&mut *visit);
                }
                Edge::Derived(_) => {}
            }
        }
        for step in &derivation.steps {
            visit(step.from);
            visit(step.to);
            match step.rule {
                Rule::Conflict { read, .. } => visit(read),
                Rule::Coherence { before, after } => [before, after].into_iter().for_each(&mut *visit),
                _ => {}
            }
        }
    }
    true
}

/// A part of an execution: some events, some of them without their reads.
struct Part<'a> {
    execution: &'a Execution,
    /// The events, in their order, and whether their reads are kept.
    events: Vec<(EventId, bool)>,
    small: Execution,
}

impl<'a> Part<'a> {
    fn new(open: &OpenExecution, execution: &'a Execution, named: &[EventId], extent: Extent) -> Self {
        let mut reads: FxHashSet<EventId> = named.iter().copied().collect();
        let mut others = FxHashSet::default();
        if extent == Extent::Fences {
            let fences = execution.ids().filter(|&id| matches!(execution.event(id).kind, Kind::Fence | Kind::Rmw));
            reads.extend(fences);
        }
        let mut todo: Vec<EventId> = reads.iter().copied().collect();
        while let Some(id) = todo.pop() {
            let source = execution.event(id).source;
            if !source.is_event() {
                continue;
            }
            if extent == Extent::Named && open.find(source).is_some() {
                others.insert(source);
            } else if reads.insert(source) {
                todo.push(source);
            }
        }
        let mut events: Vec<(EventId, bool)> = reads.iter().map(|&id| (id, true)).collect();
        events.extend(others.difference(&reads).map(|&id| (id, false)));
        events.sort_unstable();
        Self { execution, events, small: Execution::default() }
    }

    /// The evidence that the model refuses this part, if it does.
    fn refuted(&mut self, model: Model) -> Option<Evidence> {
        let Self { execution, events, small } = self;
        let number = |id: EventId| {
            let at = events.binary_search_by_key(&id, |&(id, _)| id);
            if id.is_event() { EventId(at.expect("a source is kept") as u32) } else { id }
        };
        small.refill(
            execution.thread_count(),
            events.iter().map(|&(id, reads)| {
                let event = execution.event(id);
                let event = if reads { Event { source: number(event.source), ..event } } else { event.without_read() };
                (execution.thread(id), event, execution.operation(id))
            }),
        );
        let decision = check(model, small, &MemoryOptions::default());
        decision.evidence.filter(|_| decision.verdict == Verdict::Violation)
    }

    /// Leaves out reads, one by one, as long as the model refuses the part.
    fn leave_out_reads(&mut self, model: Model, evidence: &mut Evidence, is_open: impl Fn(EventId) -> bool) {
        let reads: Vec<EventId> = self.reads().filter(|&id| is_open(id)).collect();
        for read in reads {
            let before = self.events.clone();
            let at = self.events.binary_search_by_key(&read, |&(id, _)| id).expect("it is there");
            if self.execution.event(read).kind == Kind::Read {
                self.events.remove(at);
            } else {
                self.events[at].1 = false;
            }
            match self.refuted(model) {
                Some(smaller) => *evidence = smaller,
                None => self.events = before,
            }
        }
    }

    /// The events whose reads are kept.
    fn reads(&self) -> impl Iterator<Item = EventId> + '_ {
        let reads = |id: EventId| self.execution.event(id).kind.reads();
        self.events.iter().filter(move |&&(id, is_kept)| is_kept && reads(id)).map(|&(id, _)| id)
    }
}
