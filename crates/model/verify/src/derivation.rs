//! Checks violations: every edge of the cycle must hold, down to program order and reads-from.
//!
//! These are the rules that each model allows (the definitions are in `memory::causal`):
//!
//! | model | steps | their premises | the cycle |
//! | --- | --- | --- | --- |
//! | `cc` | `cf` | `po`, `rf` | `po`, `rf`, and at most one step |
//! | `ccv` | `cf` | `po`, `rf` | `po`, `rf`, steps |
//! | `cm` | `cf` in the view of one process | `po`, `rf`, steps | `po`, `rf`, steps |
//! | `ccm` | `cf` in views | `po`, `rf`, `cf` steps in the same view | `po`, `rf`, steps |
//! | | `cf` for all, `ww` | `po`, `rf`, `cf` steps in any view | |
//! | | `rw` | `cf` and `ww` steps | |
//! | `wsc`, `sc` | `cf` for all, `ww`, `rw` | `po`, `rf`, steps | `po`, `rf`, steps |
//! | `wtso`, `tso`, `wpso`, `pso` | `cf` for all, `ww`, `rw` | `ppo`, `rfe`, steps | `ppo`, `rfe`, steps |
//! | | | or `po-loc`, `rf`, steps | or `po-loc`, `rf`, steps |
//!
//! For `wccm` see [`super::wccm`].
//!
//! A refutation (`sc`, `tso`, `pso`, and `sra`, whose rules are in [`super::c11`]) is made of lemmas. A lemma is a
//! derivation with two further kinds of steps: steps that assume an order of two writes of one location, and steps by
//! earlier lemmas. A store order orders two writes one way or the other. So a lemma says: if all its assumptions but
//! one hold, the opposite of that one holds.

use std::collections::HashSet;

use history::execution::{EventId, LocationId};
use history::{OperationId, ProcessId};

use super::{Claim, Place, Refusal, buffered, fault};
use model::{Derivation, Edge, Model, Node, Rule, Step};

/// Checks a derivation of a violation of `model`.
pub fn verify(claim: &Claim<'_>, model: Model, derivation: &Derivation) -> Result<(), Refusal> {
    Check { claim, model, derivation, lemmas: None }.all()
}

/// Checks a refutation by lemmas.
pub fn refutation(claim: &Claim<'_>, model: Model, lemmas: &[Derivation]) -> Result<(), Refusal> {
    self::lemmas(claim, model, lemmas, |check| if model == Model::Sra { check.strong() } else { check.all() })
}

/// Checks lemmas, each in this way. The last must assume nothing.
pub(super) fn lemmas(
    claim: &Claim<'_>,
    model: Model,
    lemmas: &[Derivation],
    holds: impl Fn(&Check<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut assumed: Vec<Vec<(Node, Node)>> = Vec::with_capacity(lemmas.len());
    for derivation in lemmas {
        holds(&Check { claim, model, derivation, lemmas: Some(&assumed) })?;
        let assumptions = derivation.steps.iter().filter(|step| step.rule == Rule::Assumed);
        assumed.push(assumptions.map(|step| (step.from, step.to)).collect());
    }
    match assumed.last() {
        Some(last) if last.is_empty() => Ok(()),
        _ => fault(Place::LastLemma, "there must be one, and it must assume nothing"),
    }
}

pub(super) struct Check<'a> {
    pub(super) claim: &'a Claim<'a>,
    pub(super) model: Model,
    pub(super) derivation: &'a Derivation,
    /// The assumptions of the lemmas before this one. None if the derivation is not a lemma.
    pub(super) lemmas: Option<&'a [Vec<(Node, Node)>]>,
}

/// The steps that a premise may use, besides program order and reads-from.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Premise {
    /// Nothing.
    Causal,
    /// `cf` in the view of this process.
    View(ProcessId),
    /// `cf` in any view.
    AnyView,
    /// Only steps that order writes of one location.
    StoreOrder,
    /// Any step.
    AnyStep,
}

impl Check<'_> {
    fn all(&self) -> Result<(), Refusal> {
        for (at, step) in self.derivation.steps.iter().enumerate() {
            self.step(at, step)?;
        }
        self.cycle()
    }

    /// Checks a step by a lemma: all other assumptions of the lemma must be among earlier steps.
    fn by_lemma(&self, at: usize, step: &Step, assumed: &[(Node, Node)]) -> Result<(), Refusal> {
        let place = Place::Step(at);
        let mut known = HashSet::new();
        for &edge in &step.path {
            match edge {
                Edge::Derived(number) if (number as usize) < at => drop(known.insert(self.derivation.ends(edge))),
                _ => return fault(place, "a step by a lemma may name earlier steps only"),
            }
        }
        let opposite = (step.to, step.from);
        if !assumed.contains(&opposite) {
            return fault(place, "the lemma does not assume the opposite of the step");
        }
        if assumed.iter().any(|pair| *pair != opposite && !known.contains(pair)) {
            return fault(place, "another assumption of the lemma is not among the steps that are named");
        }
        Ok(())
    }

    /// Checks a step that is an assumption, or is by an earlier lemma. Returns whether the step is one of these.
    pub(super) fn argues(&self, at: usize, step: &Step) -> Result<bool, Refusal> {
        let place = Place::Step(at);
        match (self.lemmas, step.rule) {
            (Some(_), Rule::Assumed) if step.path.is_empty() => self.distinct_writes(place, step.from, step.to)?,
            (Some(_), Rule::Assumed) => return fault(place, "an assumption must have no premise"),
            (Some(lemmas), Rule::Lemma(number)) => match lemmas.get(number as usize) {
                Some(assumed) => self.by_lemma(at, step, assumed)?,
                None => return fault(place, "the step names a lemma that is not an earlier one"),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn step(&self, at: usize, step: &Step) -> Result<(), Refusal> {
        let place = Place::Step(at);
        if self.argues(at, step)? {
            return Ok(());
        }
        let model = if buffered::speaks_of(self.model) { Model::Sc } else { self.model };
        let (begin, end, premise) = match (model, step.rule) {
            (Model::Wsc | Model::Sc, Rule::Conflict { read, view: None }) => {
                self.conflict(place, step, read)?;
                (step.from, read, Premise::AnyStep)
            }
            (Model::Wsc | Model::Sc, Rule::StoreOrder) => {
                self.distinct_writes(place, step.from, step.to)?;
                (step.from, step.to, Premise::AnyStep)
            }
            (Model::Wsc | Model::Sc, Rule::ReadWrite) => {
                let source = self.read_write(place, step)?;
                (source, step.to, Premise::AnyStep)
            }
            (Model::Cc | Model::Ccv, Rule::Conflict { read, view: None }) => {
                self.conflict(place, step, read)?;
                (step.from, read, Premise::Causal)
            }
            (Model::Cm | Model::Ccm, Rule::Conflict { read, view: Some(process) }) => {
                let event = self.conflict(place, step, read)?;
                if self.claim.execution.thread(event).0 != process.0 {
                    return fault(place, "the step is in the view of one process, and its read is of another");
                }
                (step.from, read, Premise::View(process))
            }
            (Model::Ccm, Rule::Conflict { read, view: None }) => {
                self.conflict(place, step, read)?;
                (step.from, read, Premise::AnyView)
            }
            (Model::Ccm, Rule::StoreOrder) => {
                self.distinct_writes(place, step.from, step.to)?;
                (step.from, step.to, Premise::AnyView)
            }
            (Model::Ccm, Rule::ReadWrite) => (self.read_write(place, step)?, step.to, Premise::StoreOrder),
            _ => return fault(place, format!("this is no rule of {}", self.model)),
        };
        self.path(place, &step.path, begin, end, |edge| match edge {
            Edge::Derived(number) if number as usize >= at => Err("a premise may use earlier steps only"),
            Edge::Po(..) | Edge::Rf(..) if premise == Premise::StoreOrder => {
                Err("the premise of rw may use only steps that order writes")
            }
            Edge::Sw { .. } => Err("this model has no synchronisation edges"),
            Edge::Po(..) | Edge::Rf(..) => Ok(()),
            Edge::Derived(number) => match (premise, self.derivation.steps[number as usize].rule) {
                (Premise::View(process), Rule::Conflict { view: Some(view), .. }) if view == process => Ok(()),
                (Premise::AnyStep, _)
                | (Premise::AnyView, Rule::Conflict { view: Some(_), .. })
                | (Premise::StoreOrder, Rule::Conflict { .. } | Rule::StoreOrder) => Ok(()),
                _ => Err("the premise uses a step that the rule does not allow"),
            },
        })
    }

    fn cycle(&self) -> Result<(), Refusal> {
        let place = Place::Cycle;
        let cycle = &self.derivation.cycle;
        let Some(&first) = cycle.first() else { return fault(place, "it is empty") };
        if cycle.iter().any(|&edge| matches!(edge, Edge::Derived(n) if n as usize >= self.derivation.steps.len())) {
            return fault(place, "it uses a step that does not exist");
        }
        let (begin, _) = self.derivation.ends(first);
        let mut views = cycle.iter().filter_map(|&edge| match edge {
            Edge::Derived(number) => Some(self.derivation.steps[number as usize].rule),
            _ => None,
        });
        let view_of = |rule| match rule {
            Rule::Conflict { view, .. } => view,
            _ => None,
        };
        match self.model {
            Model::Cc if views.nth(1).is_some() => return fault(place, "it uses more than one conflict step"),
            Model::Cm => {
                let view = views.next().and_then(view_of);
                if views.any(|rule| view_of(rule) != view) {
                    return fault(place, "it mixes the views of several processes");
                }
            }
            _ => {}
        }
        self.path(place, cycle, begin, begin, |edge| match edge {
            Edge::Sw { .. } => Err("this model has no synchronisation edges"),
            _ => Ok(()),
        })
    }

    /// Checks that a path leads from `begin` to `end`, that its edges hold, and that each is allowed.
    pub(super) fn path(
        &self,
        place: Place,
        path: &[Edge],
        begin: Node,
        end: Node,
        allowed: impl Fn(Edge) -> Result<(), &'static str>,
    ) -> Result<(), Refusal> {
        if path.is_empty() {
            return fault(place, "a path is empty");
        }
        let mut node = begin;
        for &edge in path {
            allowed(edge).or_else(|what| fault(place, what))?;
            let (from, to) = self.derivation.ends(edge);
            if from != node {
                return fault(place, "a path is broken: an edge does not begin where the one before it ends");
            }
            match edge {
                Edge::Po(..) if !self.in_program_order(from, to) => {
                    return fault(place, "two operations are not in program order");
                }
                Edge::Rf(..) if self.source(place, to)? != from => {
                    return fault(place, "a read does not read from the write that the edge names");
                }
                _ => {}
            }
            node = to;
        }
        if buffered::speaks_of(self.model) {
            buffered::one_base(self.claim, self.model, place, path)?;
        }
        if node == end { Ok(()) } else { fault(place, "a path does not end where it should") }
    }

    pub(super) fn in_program_order(&self, from: Node, to: Node) -> bool {
        let execution = self.claim.execution;
        let event = |id: OperationId| self.claim.event(id);
        match (from, to) {
            (Node::Init(location), Node::Operation(to)) => self.is_location(location) && event(to).is_some(),
            (Node::Operation(from), Node::Operation(to)) => match (event(from), event(to)) {
                (Some(from), Some(to)) => execution.thread(from) == execution.thread(to) && from < to,
                _ => false,
            },
            _ => false,
        }
    }

    fn is_location(&self, location: LocationId) -> bool {
        location.index() < self.claim.execution.location_count()
    }

    /// The source of a read.
    pub(super) fn source(&self, place: Place, read: Node) -> Result<Node, Refusal> {
        self.reading(place, read).map(|(_, source)| source)
    }

    /// The event of a read, and its source.
    fn reading(&self, place: Place, read: Node) -> Result<(EventId, Node), Refusal> {
        let execution = self.claim.execution;
        if let Node::Operation(id) = read
            && let Some(id) = self.claim.event(id)
        {
            let event = execution.event(id);
            match event.source {
                EventId::NONE => {}
                EventId::INIT => return Ok((id, Node::Init(event.location))),
                source => return Ok((id, Node::Operation(execution.operation(source)))),
            }
        }
        fault(place, "an operation that should read from a write does not")
    }

    /// The location that a write writes.
    pub(super) fn written(&self, write: Node) -> Option<LocationId> {
        match write {
            Node::Init(location) => self.is_location(location).then_some(location),
            Node::Operation(id) => {
                let event = self.claim.execution.event(self.claim.event(id)?);
                event.kind.writes().then_some(event.location)
            }
        }
    }

    pub(super) fn distinct_writes(&self, place: Place, first: Node, second: Node) -> Result<(), Refusal> {
        match (self.written(first), self.written(second)) {
            (Some(a), Some(b)) if a == b && first != second => Ok(()),
            _ => fault(place, "the rule needs two different writes of one location"),
        }
    }

    /// Checks the conditions of `rw`, without the path. Returns the source of the read.
    pub(super) fn read_write(&self, place: Place, step: &Step) -> Result<Node, Refusal> {
        let source = self.source(place, step.from)?;
        self.distinct_writes(place, source, step.to)?;
        if step.from == step.to {
            return fault(place, "an operation cannot come before itself");
        }
        Ok(source)
    }

    /// Checks the conditions of `cf`, without the path. Returns the read.
    pub(super) fn conflict(&self, place: Place, step: &Step, read: Node) -> Result<EventId, Refusal> {
        let (event, source) = self.reading(place, read)?;
        if source != step.to {
            return fault(place, "the read does not read from the write that the step leads to");
        }
        self.distinct_writes(place, step.from, step.to)?;
        if read == step.from {
            return fault(place, "an operation cannot come before itself");
        }
        Ok(event)
    }
}
