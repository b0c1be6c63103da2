//! Certificates: what a verdict claims, the evidence for it, its JSON, and the verifier.
//!
//! This crate does not know how a checker found its evidence, and the verifier shares nothing with the checkers but
//! the history that was parsed.

pub mod evidence;
pub mod model;

pub use evidence::{Decision, Derivation, Edge, Evidence, Node, Rule, Step, Verdict};
pub use model::Model;
