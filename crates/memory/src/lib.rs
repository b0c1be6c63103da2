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
pub use sc::Strategy;

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
    /// At a moment, if one is given.
    pub const fn at(deadline: Option<Instant>) -> Self {
        Self { deadline }
    }

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
    strategy: Strategy,
    causality: Option<Result<Causality<'a>, Decision>>,
}

impl<'a> Checker<'a> {
    /// Nothing is computed yet.
    pub fn new(execution: &'a Execution, options: &Options) -> Self {
        Self { execution, options: *options, strategy: Strategy::Auto, causality: None }
    }

    /// Changes when to give up.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.options.deadline = deadline;
    }

    /// Changes how `sc` is decided.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Decides one model.
    pub fn check(&mut self, model: Model) -> Decision {
        if let Some(&read) = self.execution.thin_air().first() {
            return violation("reads-from", Evidence::ThinAir(self.execution.operation(read)));
        }
        let interrupt = Interrupt { deadline: self.options.deadline };
        let (execution, witness) = (self.execution, self.options.witness);
        let (strategy, answer) = match model {
            Model::Sc => return sc::check(execution, self.strategy, witness, interrupt),
            Model::Wsc => return sc::weak(execution, witness, interrupt),
            Model::Cc => ("clocks", self.causality(interrupt).map(|it| causal::cc::check(it, interrupt))),
            Model::Ccv => ("clocks", self.causality(interrupt).map(|it| causal::ccv::check(it, witness, interrupt))),
            Model::Cm => ("views", self.causality(interrupt).map(|it| causal::cm::check(it, witness, interrupt))),
            Model::Ccm => ("views", self.causality(interrupt).map(|it| causal::ccm::check(it, interrupt))),
        };
        match answer {
            Ok(answer) => conclude(strategy, answer, witness),
            Err(decision) => decision,
        }
    }

    /// Causality, computed once; or the decision, if there is none.
    fn causality(&mut self, interrupt: Interrupt) -> Result<&Causality<'a>, Decision> {
        if let Some(Err(Decision { verdict: Verdict::Unknown, .. })) = self.causality {
            self.causality = None;
        }
        let execution = self.execution;
        let causality = self.causality.get_or_insert_with(|| {
            if let Some(reason) = too_large(execution) {
                return Err(unknown(reason));
            }
            Causality::new(execution, interrupt).map_err(|halt| conclude("causality", Err(halt), false))
        });
        causality.as_ref().map_err(Clone::clone)
    }
}

/// Why the clocks of an execution are not computed, if they would take too much room.
fn too_large(execution: &Execution) -> Option<String> {
    let bytes = order::Clocks::bytes(execution.starts());
    (bytes > CLOCK_LIMIT).then(|| {
        format!(
            "the vector clocks of {} operations on {} threads would take {} GiB, more than the limit of {} GiB",
            execution.len(),
            execution.thread_count(),
            bytes >> 30,
            CLOCK_LIMIT >> 30
        )
    })
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
