//! The decision about a model and a history. It can explain itself in words, and prove itself by a certificate.

use std::fmt;

use history::History;
use model::transaction::{self, TransactionDerivation, TransactionEdge, TransactionNode};
use model::{Certificate, Evidence, Model, Verdict};
use report::Line;

/// The verdict of a model on a history, with its evidence.
///
/// ```
/// use seriatim::{History, Model, Options, Verdict, check, verify};
///
/// let history = seriatim::parse("[0] w x 1\n[1] r x 1\n")?;
/// let decision = check(&history, Model::Sc, &Options::default().witness(true))?;
/// assert_eq!(decision.verdict, Verdict::Consistent);
/// let certificate = decision.certificate(0, &history).expect("a witness was asked for");
/// verify(&certificate, &history)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// The model.
    pub model: Model,
    /// The answer.
    pub verdict: Verdict,
    /// The name of the tactic or algorithm that decided.
    pub strategy: &'static str,
    /// Why the verdict is `unknown`.
    pub reason: Option<String>,
    /// The evidence for the verdict. A violation always has it. A consistent history has it only if
    /// [a witness was asked for](crate::Options::witness).
    pub evidence: Option<Evidence>,
    /// For the violation of an isolation level: the strongest form of the level that holds, if it holds without real
    /// time or without the order of sessions.
    pub weaker_form: Option<Model>,
}

impl Decision {
    /// What an engine decided about a model.
    pub fn new(model: Model, decided: model::Decided) -> Self {
        let model::Decided { verdict, strategy, reason, evidence, .. } = decided;
        Self { model, verdict, strategy, reason, evidence, weaker_form: None }
    }

    /// The decision that nothing is known of a model, for this reason.
    pub fn unknown(model: Model, reason: String) -> Self {
        Self {
            model,
            verdict: Verdict::Unknown,
            strategy: "none",
            reason: Some(reason),
            evidence: None,
            weaker_form: None,
        }
    }

    /// The decision as an engine gives it.
    pub(crate) fn decided(&self) -> model::Decided {
        let Self { verdict, strategy, reason, evidence, .. } = self.clone();
        model::Decided { verdict, strategy, reason, evidence }
    }

    /// Whether the evidence about an isolation level uses real time, and whether it uses the order of sessions.
    pub(crate) fn uses_order(&self) -> (bool, bool) {
        let Some(Evidence::Transactions(evidence)) = &self.evidence else { return (false, false) };
        let derivations: &[TransactionDerivation] = match &**evidence {
            transaction::TransactionEvidence::Cycle(derivation) => std::slice::from_ref(derivation),
            transaction::TransactionEvidence::Refutation(lemmas) => lemmas,
            _ => &[],
        };
        let edges = derivations.iter().flat_map(|derivation| {
            let steps = derivation.steps.iter().flat_map(|step| step.path.iter().chain(step.others.iter().flatten()));
            steps.chain(&derivation.cycle)
        });
        edges.fold((false, false), |(time, sessions), edge| match edge {
            TransactionEdge::RealTime(..) => (true, sessions),
            TransactionEdge::Session(TransactionNode::Transaction(_), _) => (time, true),
            _ => (time, sessions),
        })
    }

    /// The decision in words, for a person: the verdict and, for a violation, which operations clash and why. `history`
    /// must be the history that was decided.
    pub fn explain(&self, history: &History) -> Explanation {
        let lines = match &self.evidence {
            Some(evidence) if self.verdict == Verdict::Violation => report::explain(history, self.model, evidence),
            _ => Vec::new(),
        };
        let Self { model, verdict, weaker_form, .. } = *self;
        Explanation { model, verdict, weaker_form, reason: self.reason.clone(), lines }
    }

    /// The certificate of the decision. `number` is the place of the history in its file, counted from 0. There is no
    /// certificate if the verdict is `unknown`, or if it is `consistent` and no
    /// [witness](crate::Options::witness) was asked for.
    pub fn certificate(&self, number: u32, history: &History) -> Option<Certificate> {
        let evidence = self.evidence.clone().filter(|_| self.verdict != Verdict::Unknown)?;
        Some(Certificate::of(number, history, self.model, self.verdict, evidence))
    }
}

/// A decision in words. It prints as in the output of the command: the model and its verdict, and below them the lines
/// that explain it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The model.
    pub model: Model,
    /// The answer.
    pub verdict: Verdict,
    /// See [`Decision::weaker_form`].
    pub weaker_form: Option<Model>,
    /// Why the verdict is `unknown`.
    pub reason: Option<String>,
    /// For a violation: which operations clash and why, in lines of styled text.
    pub lines: Vec<Line>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.model, self.verdict.name())?;
        if let Some(form) = self.weaker_form {
            write!(f, " ({form} holds)")?;
        }
        if let Some(reason) = &self.reason {
            write!(f, "\n  {reason}")?;
        }
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
