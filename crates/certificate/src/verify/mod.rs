//! The verifier: does the evidence prove the verdict?
//!
//! It trusts nothing in a certificate. A violation's evidence is checked in time linear in its length, against program
//! order and reads-from alone ([`derivation`]). A witness is replayed ([`witness`]). Where a model has no witness, the
//! verdict is decided again by the plainest algorithm ([`again`]), which knows nothing of how the engines do it.

mod again;
mod buffered;
mod c11;
mod c11_witness;
mod derivation;
mod graph;
mod object;
mod observed;
mod wccm;
mod witness;

use history::execution::EventId;
use history::performed::NotPerformed;
use history::{Execution, History, OperationId, ViewError};
use thiserror::Error;

use crate::{Certificate, Evidence, Model, Verdict, View, digest};
use graph::Graph;

/// Why a certificate is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It was made for another history.
    #[error(
        "the certificate belongs to another history: its digest is {claimed}, and that of this history is {actual}"
    )]
    OtherHistory {
        /// What the certificate says.
        claimed: String,
        /// What it should be.
        actual: String,
    },
    /// The history is not one that a memory model speaks of.
    #[error("{0}")]
    NotAnExecution(ViewError),
    /// The history is not one of operations that were performed.
    #[error("{0}")]
    NotPerformed(NotPerformed),
    /// The object is not built in.
    #[error("`{0}` is not built in: its certificates are verified by a specification of its own")]
    NotBuiltIn(String),
    /// That kind of evidence does not prove that verdict of that model.
    #[error("this kind of evidence does not prove {} under {model}", verdict.name())]
    WrongKind {
        /// The model.
        model: Model,
        /// The verdict.
        verdict: Verdict,
    },
    /// The evidence has a hole.
    #[error("{place}: {what}")]
    Fault {
        /// Where in the evidence.
        place: Place,
        /// What is wrong there.
        what: String,
    },
}

/// A place in the evidence.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The step of that number.
    Step(usize),
    /// The cycle.
    Cycle,
    /// The read that is said to be from thin air.
    ThinAir,
    /// The order of all operations.
    Interleaving,
    /// The order in which operations take effect on memory.
    MemoryOrder,
    /// The last lemma.
    LastLemma,
    /// The order of the writes.
    WriteOrder,
    /// The order of the view of the process of that number.
    ViewOrder(usize),
    /// The modification order of the location of that number.
    ModificationOrder(usize),
    /// Deciding again.
    Again,
    /// A linearization, or the pairs of an exchanger.
    Linearization,
    /// The operations that are said not to be linearizable.
    Core,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Step(step) => write!(f, "step {step}"),
            Self::Cycle => f.write_str("the cycle"),
            Self::ThinAir => f.write_str("the thin-air read"),
            Self::Interleaving => f.write_str("the order of all operations"),
            Self::MemoryOrder => f.write_str("the memory order"),
            Self::LastLemma => f.write_str("the last lemma"),
            Self::WriteOrder => f.write_str("the order of writes"),
            Self::ViewOrder(process) => write!(f, "the order of view {process}"),
            Self::ModificationOrder(location) => write!(f, "the modification order of location {location}"),
            Self::Again => f.write_str("deciding again"),
            Self::Linearization => f.write_str("the linearization"),
            Self::Core => f.write_str("the operations"),
        }
    }
}

pub(crate) fn fault<T>(place: Place, what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Fault { place, what: what.into() })
}

/// Checks that a certificate proves its verdict about a history.
pub fn verify(certificate: &Certificate, history: &History) -> Result<(), Refusal> {
    let actual = digest(history);
    if certificate.digest != actual {
        return Err(Refusal::OtherHistory { claimed: certificate.digest.clone(), actual });
    }
    let (model, verdict) = (certificate.model, certificate.verdict);
    let row = model.row();
    let is_admitted = row.admits(verdict, certificate.evidence.kind());
    let admitted = if is_admitted { Ok(()) } else { Err(Refusal::WrongKind { model, verdict }) };
    match row.view {
        View::Calls => admitted.and_then(|()| object::verify(certificate, history)),
        View::Performed => admitted.and_then(|()| observed::verify(certificate, history)),
        View::Execution => {
            let execution = Execution::from_history(history).map_err(Refusal::NotAnExecution)?;
            if verdict == Verdict::Consistent && !execution.thin_air().is_empty() {
                let what = "a read returned a value that nobody wrote, so no model allows the history";
                return fault(Place::ThinAir, what);
            }
            admitted?;
            let claim = Claim::new(&execution);
            match verdict {
                Verdict::Violation => violation(&claim, model, &certificate.evidence),
                _ => consistent(&claim, model, &certificate.evidence),
            }
        }
    }
}

/// That evidence of a kind which the model admits proves a violation.
fn violation(claim: &Claim<'_>, model: Model, evidence: &Evidence) -> Result<(), Refusal> {
    match evidence {
        Evidence::ThinAir(read) => claim.thin_air(*read),
        Evidence::Cycle(derivation) if c11::speaks_of(model) => c11::violation(claim, model, derivation),
        Evidence::Cycle(derivation) if model == Model::Wccm => wccm::violation(claim, derivation),
        Evidence::Cycle(derivation) => derivation::verify(claim, model, derivation),
        Evidence::Refutation(lemmas) => derivation::refutation(claim, model, lemmas),
        Evidence::DecideAgain if model == Model::Sra && claim.execution.thin_air().is_empty() => c11::sra_again(claim),
        _ => Err(Refusal::WrongKind { model, verdict: Verdict::Violation }),
    }
}

/// That evidence of a kind which the model admits proves that the execution is allowed. No read is from thin air.
fn consistent(claim: &Claim<'_>, model: Model, evidence: &Evidence) -> Result<(), Refusal> {
    match (evidence, model) {
        // `sc` implies all models that admit it.
        (Evidence::Interleaving(order), _) => witness::interleaving(claim, order),
        (Evidence::MemoryOrder(order), _) => buffered::memory_order(claim, model, order),
        (Evidence::WriteOrder(order), Model::Ccv) => witness::write_order(claim, order),
        (Evidence::ViewOrders(orders), Model::Cm) => witness::view_orders(claim, orders),
        (Evidence::ModificationOrders(orders), _) => c11_witness::modification_orders(claim, model, orders),
        (Evidence::DecideAgain, Model::Wra) => c11::no_shared_source(claim).and_then(|()| again::cc(claim)),
        (Evidence::DecideAgain, Model::Cc) => again::cc(claim),
        (Evidence::DecideAgain, Model::Ccm) => again::ccm(claim),
        (Evidence::DecideAgain, Model::Wccm) => again::wccm(claim),
        (Evidence::DecideAgain, Model::Wsc) => again::saturates(claim, [claim.causality()]),
        (Evidence::DecideAgain, Model::Wtso | Model::Wpso) => {
            again::saturates(claim, buffered::bases(claim.execution, model))
        }
        _ => Err(Refusal::WrongKind { model, verdict: Verdict::Consistent }),
    }
}

/// The execution that a certificate speaks of, by operation.
struct Claim<'a> {
    execution: &'a Execution,
    /// The event of each operation, or [`EventId::NONE`].
    events: Vec<EventId>,
}

impl<'a> Claim<'a> {
    fn new(execution: &'a Execution) -> Self {
        let operations = execution.operations().iter().map(|operation| operation.index() + 1).max();
        let mut events = vec![EventId::NONE; operations.unwrap_or(0)];
        for id in execution.ids() {
            events[execution.operation(id).index()] = id;
        }
        Self { execution, events }
    }

    /// The event of an operation, if it is one.
    fn event(&self, id: OperationId) -> Option<EventId> {
        self.events.get(id.index()).copied().filter(|event| event.is_event())
    }

    fn thin_air(&self, read: OperationId) -> Result<(), Refusal> {
        match self.event(read) {
            Some(event) if self.execution.thin_air().contains(&event) => Ok(()),
            _ => fault(Place::ThinAir, "the operation does not read a value that nobody wrote"),
        }
    }

    /// Program order and reads-from.
    fn causality(&self) -> Graph<'a> {
        Graph::new(self.execution)
    }
}
