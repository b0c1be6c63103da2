//! What was decided, and how it is told and proved.

use std::fmt;

use certificate::{Certificate, Evidence, Model, Verdict};
use history::History;
use report::Line;

/// The verdict of a model on a history, with what stands behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// The model.
    pub model: Model,
    /// The answer.
    pub verdict: Verdict,
    /// What decided it.
    pub strategy: &'static str,
    /// Why the verdict is `unknown`.
    pub reason: Option<String>,
    /// Always there for a violation; for a consistent history where [a witness was asked for](crate::Options::witness).
    pub evidence: Option<Evidence>,
}

impl Decision {
    pub(crate) fn new(model: Model, decided: certificate::Decision) -> Self {
        let certificate::Decision { verdict, strategy, reason, evidence, .. } = decided;
        Self { model, verdict, strategy, reason, evidence }
    }

    /// That nothing is known of a model, for this reason.
    pub fn unknown(model: Model, reason: String) -> Self {
        Self { model, verdict: Verdict::Unknown, strategy: "none", reason: Some(reason), evidence: None }
    }

    /// The decision told to a person: the verdict, and of a violation which operations clash and why. `history` is the one that
    /// was decided.
    pub fn explain(&self, history: &History) -> Explanation {
        let lines = match &self.evidence {
            Some(evidence) if self.verdict == Verdict::Violation => report::explain(history, self.model, evidence),
            _ => Vec::new(),
        };
        Explanation { model: self.model, verdict: self.verdict, reason: self.reason.clone(), lines }
    }

    /// The certificate of the decision about the history at place `number` of its file. There is none if the verdict is `unknown`,
    /// or consistent without a [witness](crate::Options::witness).
    pub fn certificate(&self, number: u32, history: &History) -> Option<Certificate> {
        let evidence = self.evidence.clone().filter(|_| self.verdict != Verdict::Unknown)?;
        let digest = certificate::digest(history);
        Some(Certificate { history: number, model: self.model, verdict: self.verdict, digest, evidence })
    }
}

/// A decision in words. It prints as the command prints it: the model and its verdict, and below that the lines which explain it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The model.
    pub model: Model,
    /// The answer.
    pub verdict: Verdict,
    /// Why the verdict is `unknown`.
    pub reason: Option<String>,
    /// Of a violation: which operations clash and why, in lines of styled text.
    pub lines: Vec<Line>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.model, self.verdict.name())?;
        if let Some(reason) = &self.reason {
            write!(f, "\n  {reason}")?;
        }
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
