//! The verifier: does the evidence prove the verdict?
//!
//! You want this crate alone if you verify verdicts that others decided. It shares with the checkers only the parsed
//! history and the table of models. Its graph code is its own and naive.
//!
//! | you want to | start from |
//! | --- | --- |
//! | verify a certificate | [`verify`] |
//! | verify evidence about an object of your own | [`specification::verify`] |
//! | see a witness happen, step by step | [`replay`] |
//!
//! The verifier trusts nothing in a certificate. It checks the evidence of a violation against program order and
//! reads-from alone, in time linear in its length ([`derivation`]). It replays a witness ([`witness`]). If a model has
//! no witness, it decides again by the plainest algorithm ([`again`]), which shares nothing with the engines.

mod again;
mod buffered;
mod c11;
mod c11_witness;
mod c20;
mod derivation;
mod graph;
mod object;
mod observed;
pub mod replay;
mod sources;
pub mod specification;
mod transaction;
mod wccm;
mod witness;

use history::execution::EventId;
use history::performed::NotPerformed;
use history::{Execution, History, OperationId, ViewError};
use thiserror::Error;

use graph::ChainGraph;
use model::{Certificate, Evidence, Model, Verdict, View, digest};

pub use object::play::possible_contents;
pub(crate) use object::play::steps as object_steps;

/// Why a certificate is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It was made for another history.
    #[error(
        "the certificate belongs to another history: its digest is {claimed}, and that of this history is {actual}"
    )]
    OtherHistory {
        /// The digest in the certificate.
        claimed: String,
        /// The digest of the history.
        actual: String,
    },
    /// The memory models are not defined on this history.
    #[error("{0}")]
    NotAnExecution(ViewError),
    /// The history does not say in which order its operations were performed.
    #[error("{0}")]
    NotPerformed(NotPerformed),
    /// The history is not one of transactions, or the sources of its reads are not known.
    #[error("{0}")]
    NotTransactions(String),
    /// The object is not built in.
    #[error("`{0}` is not built in: its certificates are verified by a specification of its own")]
    NotBuiltIn(String),
    /// Evidence of this kind cannot prove this verdict of this model.
    #[error("this kind of evidence does not prove {} under {model}", verdict.name())]
    WrongKind {
        /// The model.
        model: Model,
        /// The verdict.
        verdict: Verdict,
    },
    /// The evidence does not prove the verdict.
    #[error("{place}: {what}")]
    Fault {
        /// The place in the evidence.
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
    /// There is no place: the verifier decided again.
    Again,
    /// A linearization, or the pairs of an exchanger.
    Linearization,
    /// The operations that are said to contradict each other.
    Core,
    /// The sources that are chosen for open reads.
    Sources,
    /// The case of that number.
    Case(usize),
    /// The last case.
    LastCase,
    /// The commit order, or the order of reads and commits.
    CommitOrder,
    /// The reads that are said to be wrong.
    Reads,
    /// The lemma of that number.
    Lemma(usize),
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
            Self::Sources => f.write_str("the sources"),
            Self::Case(case) => write!(f, "case {case}"),
            Self::LastCase => f.write_str("the last case"),
            Self::CommitOrder => f.write_str("the commit order"),
            Self::Reads => f.write_str("the reads"),
            Self::Lemma(lemma) => write!(f, "lemma {lemma}"),
        }
    }
}

pub(crate) fn fault<T>(place: Place, what: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Fault { place, what: what.into() })
}

/// Checks that a certificate proves its verdict about a history.
///
/// ```
/// use model::Certificate;
/// use verify::{Refusal, verify};
///
/// let history = format::parse("[0] w x 1\n[1] r x 7\n")?;
/// let digest = model::digest(&history);
/// let line = format!(
///     r#"{{"certificate":1,"history":0,"model":"sc","verdict":"violation","digest":"{digest}",
///     "evidence":{{"thin_air":1}}}}"#
/// );
/// let certificate = Certificate::from_json(&line, &history)?;
/// verify(&certificate, &history)?;
///
/// // The certificate proves nothing about another history.
/// let other = format::parse("[0] w x 1\n[1] r x 1\n")?;
/// assert!(matches!(verify(&certificate, &other), Err(Refusal::OtherHistory { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(certificate: &Certificate, history: &History) -> Result<(), Refusal> {
    let actual = digest(history);
    if certificate.digest != actual {
        return Err(Refusal::OtherHistory { claimed: certificate.digest.clone(), actual });
    }
    let (model, verdict) = (certificate.model, certificate.verdict);
    let row = model.row();
    match row.view {
        View::Calls => {
            admitted(model, verdict, &certificate.evidence).and_then(|()| object::verify(certificate, history))
        }
        View::Performed => {
            admitted(model, verdict, &certificate.evidence).and_then(|()| observed::verify(certificate, history))
        }
        View::Transactions => {
            admitted(model, verdict, &certificate.evidence).and_then(|()| transaction::verify(certificate, history))
        }
        View::Execution => match Execution::from_history(history) {
            Ok(execution) => proves(&execution, model, verdict, &certificate.evidence),
            Err(ViewError::Ambiguous { .. }) => sources::verify(certificate, history),
            Err(error) => Err(Refusal::NotAnExecution(error)),
        },
    }
}

/// Whether evidence of this kind may prove this verdict of this model.
fn admitted(model: Model, verdict: Verdict, evidence: &Evidence) -> Result<(), Refusal> {
    if model.row().admits(verdict, evidence.kind()) { Ok(()) } else { Err(Refusal::WrongKind { model, verdict }) }
}

/// Checks that the evidence proves the verdict about an execution.
fn proves(execution: &Execution, model: Model, verdict: Verdict, evidence: &Evidence) -> Result<(), Refusal> {
    if verdict == Verdict::Consistent && !execution.thin_air().is_empty() {
        let what = "a read returned a value that nobody wrote, so no model allows the history";
        return fault(Place::ThinAir, what);
    }
    admitted(model, verdict, evidence)?;
    let claim = Claim::new(execution);
    match verdict {
        Verdict::Violation => violation(&claim, model, evidence),
        _ => consistent(&claim, model, evidence),
    }
}

/// Checks that the evidence proves a violation. The model admits evidence of this kind.
fn violation(claim: &Claim<'_>, model: Model, evidence: &Evidence) -> Result<(), Refusal> {
    match evidence {
        Evidence::ThinAir(read) => claim.thin_air(*read),
        Evidence::Cycle(derivation) if c20::speaks_of(model) => c20::violation(claim, model, derivation),
        Evidence::Refutation(lemmas) if c20::speaks_of(model) => c20::refutation(claim, model, lemmas),
        Evidence::Cycle(derivation) if c11::speaks_of(model) => c11::violation(claim, model, derivation),
        Evidence::Cycle(derivation) if model == Model::Wccm => wccm::violation(claim, derivation),
        Evidence::Cycle(derivation) => derivation::verify(claim, model, derivation),
        Evidence::Refutation(lemmas) => derivation::refutation(claim, model, lemmas),
        Evidence::DecideAgain if model == Model::Sra && claim.execution.thin_air().is_empty() => c11::sra_again(claim),
        Evidence::DecideAgain
        | Evidence::Constraints(_)
        | Evidence::Interleaving(_)
        | Evidence::MemoryOrder(_)
        | Evidence::WriteOrder(_)
        | Evidence::ViewOrders(_)
        | Evidence::ModificationOrders(_)
        | Evidence::Linearizations(_)
        | Evidence::Pairs(_)
        | Evidence::Core(_)
        | Evidence::Sources(..)
        | Evidence::Cases(_)
        | Evidence::Transactions(_) => Err(Refusal::WrongKind { model, verdict: Verdict::Violation }),
    }
}

/// Checks that the evidence proves that the execution is allowed. The model admits evidence of this kind, and no read
/// is from thin air.
fn consistent(claim: &Claim<'_>, model: Model, evidence: &Evidence) -> Result<(), Refusal> {
    match (evidence, model) {
        // An interleaving proves `sc`, which implies all models that admit this evidence.
        (Evidence::Interleaving(order), _) => witness::interleaving(claim, order),
        (Evidence::MemoryOrder(order), _) => buffered::memory_order(claim, model, order),
        (Evidence::WriteOrder(order), Model::Ccv) => witness::write_order(claim, order),
        (Evidence::ViewOrders(orders), Model::Cm) => witness::view_orders(claim, orders),
        (Evidence::ModificationOrders(orders), _) if c20::speaks_of(model) => {
            c20::modification_orders(claim, model, orders)
        }
        (Evidence::ModificationOrders(orders), _) => c11_witness::modification_orders(claim, model, orders),
        (Evidence::DecideAgain, _) => again::decide(claim, model),
        (
            Evidence::WriteOrder(_)
            | Evidence::ViewOrders(_)
            | Evidence::ThinAir(_)
            | Evidence::Cycle(_)
            | Evidence::Constraints(_)
            | Evidence::Refutation(_)
            | Evidence::Linearizations(_)
            | Evidence::Pairs(_)
            | Evidence::Core(_)
            | Evidence::Sources(..)
            | Evidence::Cases(_)
            | Evidence::Transactions(_),
            _,
        ) => Err(Refusal::WrongKind { model, verdict: Verdict::Consistent }),
    }
}

/// The execution that a certificate is about.
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

    /// The event of an operation, if it has one.
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
    fn causality(&self) -> ChainGraph<'a> {
        ChainGraph::new(self.execution)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
