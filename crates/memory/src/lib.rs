//! The memory models, and the engines that decide them.

use std::time::Instant;

use certificate::{Decision, Model, Verdict};
use history::Execution;

pub mod sc;

/// How to check.
#[derive(Copy, Clone, Debug, Default)]
pub struct Options {
    /// Whether to build the witness of a consistent execution. The evidence of a violation is always built.
    pub witness: bool,
    /// When to give up and answer `unknown`.
    pub deadline: Option<Instant>,
}

/// Decides whether an execution is allowed by a model.
pub fn check(_model: Model, _execution: &Execution, _options: &Options) -> Decision {
    Decision { verdict: Verdict::Unknown, strategy: "none", reason: Some("not built yet".to_owned()), evidence: None }
}
