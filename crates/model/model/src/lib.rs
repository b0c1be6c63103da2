//! The table of consistency models, and the evidence for their verdicts with its JSON.
//!
//! This crate says what there is to decide and what proves it. It does not know how a checker finds its evidence, nor
//! how the verifier checks it: `verify` is a crate of its own.
//!
//! | you want to | start from |
//! | --- | --- |
//! | know a model: its name, definition, and what it implies | [`Model`] and its [row](Row), [`implies`] |
//! | know what the verdicts of some models say of the others | [`classification`] |
//! | write a certificate | [`Certificate::new`] and [`Certificate::to_json`] |
//! | read a certificate | [`Certificate::from_json`] |
//! | an object of your own | [`Sequential`] |
//!
//! ```
//! use history::OperationId;
//! use model::{Certificate, Decided, Evidence, Model, Verdict};
//!
//! // The read returns 7, which nobody wrote. That is a violation of every memory model.
//! let history = format::parse("[0] w x 1\n[1] r x 7\n")?;
//! let evidence = Some(Evidence::ThinAir(OperationId(1)));
//! let decision = Decided { verdict: Verdict::Violation, strategy: "reads-from", reason: None, evidence };
//! let certificate = Certificate::new(0, &history, Model::Sc, &decision).unwrap();
//! let line = certificate.to_json(&history);
//! assert_eq!(Certificate::from_json(&line, &history)?, certificate);
//!
//! let sc = Model::from_name("sc").unwrap();
//! assert!(sc.row().implies.contains(&Model::Tso));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules name some papers by short names, which the bibliography in `docs/models.md` expands. RF is the paper on
//! reads-from consistency checking for C11, GCC the one on gradual consistency checking.

pub mod classification;
mod digest;
pub mod evidence;
mod json;
pub mod object;
mod object_json;
pub mod specification;
pub mod table;
pub mod transaction;
mod transaction_json;

use history::History;

pub use budget::{Budget, Cancel, GaveUp};
pub use digest::digest;
pub use evidence::{
    Because, Case, Choice, Decided, Derivation, Edge, Evidence, EvidenceKind, Node, Rule, Step, Verdict,
};
pub use json::JsonError;
pub use specification::Sequential;
pub use table::{Family, Isolation, Level, Model, Row, Sessions, View, implications, implies};

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
    pub fn new(number: u32, history: &History, model: Model, decision: &Decided) -> Option<Self> {
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
