//! Certificates of consistency verdicts: the models, the evidence, its JSON, and the verifier.
//!
//! You want this crate alone if you verify verdicts that others decided. To decide verdicts, use the crate `seriatim`.
//!
//! This crate does not know how a checker found its evidence. The verifier shares only the parsed history with the
//! checkers.
//!
//! | you want to | start from |
//! | --- | --- |
//! | verify a certificate | [`Certificate::from_json`] and [`verify`] |
//! | write a certificate | [`Certificate::new`] and [`Certificate::to_json`] |
//! | know a model: its name, definition, and what it implies | [`Model`] and its [row](model::Row) |
//! | verify evidence about an object of your own | [`specification::verify`] |
//! | see a witness happen, step by step | [`replay`] |
//!
//! ```
//! use certificate::{Certificate, Decision, Evidence, Model, Verdict, verify};
//! use history::{History, OperationId};
//!
//! // The read returns 7, which nobody wrote. That is a violation of every memory model.
//! let history = History::parse("[0] w x 1\n[1] r x 7\n")?;
//! let evidence = Some(Evidence::ThinAir(OperationId(1)));
//! let decision = Decision { verdict: Verdict::Violation, strategy: "reads-from", reason: None, evidence };
//! let certificate = Certificate::new(0, &history, Model::Sc, &decision).unwrap();
//!
//! // Someone else reads the certificate and verifies it.
//! let line = certificate.to_json(&history);
//! verify(&Certificate::from_json(&line, &history)?, &history)?;
//!
//! let sc = Model::from_name("sc").unwrap();
//! assert!(sc.row().implies.contains(&Model::Tso));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules name some papers by short names, which the bibliography in `docs/models.md` expands. RF is the paper on
//! reads-from consistency checking for C11, GCC the one on gradual consistency checking.

mod digest;
pub mod evidence;
mod json;
pub mod limits;
pub mod model;
pub mod object;
mod object_json;
pub mod replay;
pub mod specification;
pub mod transaction;
mod transaction_json;
mod verify;

use history::History;

pub use digest::digest;
pub use evidence::{
    Because, Case, Choice, Decision, Derivation, Edge, Evidence, EvidenceKind, Node, Rule, Step, Verdict,
};
pub use json::JsonError;
pub use limits::{GaveUp, Interrupt};
pub use model::{Family, Model, Tactic, View};
pub use specification::Sequential;
pub use verify::{Place, Refusal, verify};

/// A verdict with its evidence, bound to the history that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The place of the history in its file, from zero.
    pub history: u32,
    /// The model.
    pub model: Model,
    /// The verdict. It is never `unknown`.
    pub verdict: Verdict,
    /// The [`digest`] of the history.
    pub digest: String,
    /// The evidence for the verdict.
    pub evidence: Evidence,
}

impl Certificate {
    /// The certificate of a decision about the history at place `number` of its file. There is none if the verdict is
    /// `unknown`, or if the decision has no evidence because no witness was asked for.
    pub fn new(number: u32, history: &History, model: Model, decision: &Decision) -> Option<Self> {
        if decision.verdict == Verdict::Unknown {
            return None;
        }
        Some(Self::of(number, history, model, decision.verdict, decision.evidence.clone()?))
    }

    /// The certificate of a verdict with this evidence. The verdict is not `unknown`.
    pub fn of(number: u32, history: &History, model: Model, verdict: Verdict, evidence: Evidence) -> Self {
        Self { history: number, model, verdict, digest: digest(history), evidence }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
