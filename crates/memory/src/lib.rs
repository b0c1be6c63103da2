//! The memory models, and the engines that decide them.
//!
//! One module a family; each states its definition and the argument why its algorithm decides it. [`check`] is the one
//! way in. [`lattice`] says which model implies which.

pub mod causal;
pub mod lattice;
pub mod sc;
pub mod writes;

use std::time::Instant;

use causal::{Causality, Halt};
use certificate::{Decision, Evidence, Model, Verdict};
use history::Execution;

pub use lattice::implications;

/// How to check.
#[derive(Copy, Clone, Debug, Default)]
pub struct Options {
    /// Whether to build the witness of a consistent execution. The evidence of a violation is always built.
    pub witness: bool,
    /// When to give up and answer `unknown`.
    pub deadline: Option<Instant>,
}

/// When an engine has to stop.
#[derive(Copy, Clone, Debug, Default)]
pub struct Interrupt {
    deadline: Option<Instant>,
}

impl Interrupt {
    /// Never.
    pub const fn never() -> Self {
        Self { deadline: None }
    }

    /// Whether it is time to stop.
    pub fn is_due(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// Clocks that would take more than this are not computed: the verdict is `unknown`.
const CLOCK_LIMIT: usize = 8 << 30;

/// Decides whether an execution is allowed by a model.
pub fn check(model: Model, execution: &Execution, options: &Options) -> Decision {
    Checker::new(execution, options).check(model)
}

/// Checks one execution against several models, and computes what they share once.
pub struct Checker<'a> {
    execution: &'a Execution,
    options: Options,
    causality: Option<Result<Causality<'a>, Decision>>,
}

impl<'a> Checker<'a> {
    /// Nothing is computed yet.
    pub fn new(execution: &'a Execution, options: &Options) -> Self {
        Self { execution, options: *options, causality: None }
    }

    /// Changes when to give up.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.options.deadline = deadline;
    }

    /// Decides one model.
    pub fn check(&mut self, model: Model) -> Decision {
        if let Some(&read) = self.execution.thin_air().first() {
            return violation("reads-from", Evidence::ThinAir(self.execution.operation(read)));
        }
        let interrupt = Interrupt { deadline: self.options.deadline };
        if let Some(Err(Decision { verdict: Verdict::Unknown, .. })) = self.causality {
            self.causality = None;
        }
        let execution = self.execution;
        match model {
            Model::Wsc => return sc::weak(execution, self.options.witness, interrupt),
            Model::Sc => return sc::check(execution, self.options.witness, interrupt),
            _ => {}
        }
        let causality = self.causality.get_or_insert_with(|| {
            let bytes = order::Clocks::bytes(execution.starts());
            if bytes > CLOCK_LIMIT {
                return Err(unknown(format!(
                    "the vector clocks of {} operations on {} threads would take {} GiB, more than the limit of {} GiB",
                    execution.len(),
                    execution.thread_count(),
                    bytes >> 30,
                    CLOCK_LIMIT >> 30
                )));
            }
            Causality::new(execution, interrupt).map_err(|halt| conclude("causality", Err(halt), false))
        });
        let causality = match causality {
            Ok(causality) => causality,
            Err(decision) => return decision.clone(),
        };
        let witness = self.options.witness;
        let (strategy, answer) = match model {
            Model::Cc => ("clocks", causal::cc::check(causality, interrupt)),
            Model::Ccv => ("clocks", causal::ccv::check(causality, witness, interrupt)),
            Model::Cm => ("views", causal::cm::check(causality, witness, interrupt)),
            Model::Ccm | Model::Wsc | Model::Sc => ("views", causal::ccm::check(causality, interrupt)),
        };
        conclude(strategy, answer, witness)
    }
}

fn conclude(strategy: &'static str, answer: causal::Answer, witness: bool) -> Decision {
    match answer {
        Ok(evidence) => Decision {
            verdict: Verdict::Consistent,
            strategy,
            reason: None,
            evidence: evidence.or(witness.then_some(Evidence::DecideAgain)),
        },
        Err(Halt::Violation(derivation)) => violation(strategy, Evidence::Cycle(derivation)),
        Err(Halt::Interrupted) => unknown("the time limit was reached".to_owned()),
    }
}

fn violation(strategy: &'static str, evidence: Evidence) -> Decision {
    Decision { verdict: Verdict::Violation, strategy, reason: None, evidence: Some(evidence) }
}

fn unknown(reason: String) -> Decision {
    Decision { verdict: Verdict::Unknown, strategy: "none", reason: Some(reason), evidence: None }
}
