//! Certificates: what a verdict claims, the evidence for it, its JSON, and the verifier.
//!
//! This crate does not know how a checker found its evidence, and the verifier shares nothing with the checkers but
//! the history that was parsed.

mod digest;
pub mod evidence;
mod json;
pub mod limits;
pub mod model;
pub mod object;
mod object_json;
pub mod specification;
mod verify;

use history::History;

pub use digest::digest;
pub use evidence::{Decision, Derivation, Edge, Evidence, EvidenceKind, Node, Rule, Step, Verdict};
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
    /// The answer: never unknown.
    pub verdict: Verdict,
    /// The [`digest`] of the history.
    pub digest: String,
    /// Why.
    pub evidence: Evidence,
}

impl Certificate {
    /// The certificate of a decision about the history at place `number` of its file; none if it was `unknown`, or made
    /// without asking for a witness.
    pub fn new(number: u32, history: &History, model: Model, decision: &Decision) -> Option<Self> {
        if decision.verdict == Verdict::Unknown {
            return None;
        }
        let evidence = decision.evidence.clone()?;
        Some(Self { history: number, model, verdict: decision.verdict, digest: digest(history), evidence })
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
