//! The place of an execution in the lattice of models: which it satisfies, which it breaks.
//!
//! What is known of one model says something of others: whoever satisfies a model satisfies all weaker ones, whoever
//! breaks it breaks all stronger ones ([`crate::lattice`]). Without rmws, moreover, `ccv` is `sra` and `cc` is `wra`:
//! the table of models has that, too. So each model is run at most once, and only while nothing known decides it. `sc`
//! comes first: one run is enough for an execution that it allows. Of the models still open, those decided in
//! polynomial time come before those that may need a search, and among them the one whose answer, whichever it is,
//! decides the most others.

use std::time::{Duration, Instant};

use certificate::{Decision, Model, Verdict};
use history::Execution;
use history::execution::Kind;

use crate::lattice::implies;
use crate::{Checker, Options, fits};

/// How the verdict of a model is known.
#[derive(Clone, Debug)]
pub enum Basis {
    /// Its engine was asked, and took so long.
    Run(Decision, Duration),
    /// The verdict of this model, whose engine was asked, implies it.
    Implied(Model),
    /// The model does not speak of the execution: it knows no sequentially consistent accesses (`rc20`).
    Inapplicable,
}

/// What is known of one model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Standing {
    /// The model.
    pub model: Model,
    /// Whether it allows the execution; nothing if it does not speak of it.
    pub verdict: Option<Verdict>,
    /// How that is known.
    pub basis: Basis,
}

/// The place of an execution in the lattice.
#[derive(Clone, Debug)]
pub struct Classification {
    /// Every memory model, in the order of [`Model::ALL`].
    pub standings: Vec<Standing>,
    /// The models whose engines were asked, one after the other.
    pub runs: Vec<Model>,
}

impl Classification {
    /// The models that allow the execution and that no other such model implies.
    pub fn strongest_satisfied(&self) -> Vec<Model> {
        self.extremes(Verdict::Consistent, |model, other| implies(other, model))
    }

    /// The models that refuse the execution and that imply no other such model.
    pub fn weakest_broken(&self) -> Vec<Model> {
        self.extremes(Verdict::Violation, implies)
    }

    /// The models of a verdict.
    pub fn with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Standing> {
        self.standings.iter().filter(move |standing| standing.verdict == Some(verdict))
    }

    /// The decision whose evidence stands behind the verdict of a model: its own, or that of the model which implies
    /// it.
    pub fn decision(&self, model: Model) -> Option<&Decision> {
        match &self.standings.iter().find(|standing| standing.model == model)?.basis {
            Basis::Run(decision, _) => Some(decision),
            Basis::Implied(by) => self.decision(*by),
            Basis::Inapplicable => None,
        }
    }

    fn extremes(&self, verdict: Verdict, less_extreme: impl Fn(Model, Model) -> bool) -> Vec<Model> {
        let models: Vec<Model> = self.with_verdict(verdict).map(|standing| standing.model).collect();
        let extreme = |&model: &Model| !models.iter().any(|&other| other != model && less_extreme(model, other));
        models.iter().copied().filter(extreme).collect()
    }
}

/// Classifies an execution; each run ends after `limit`, if there is one, with the verdict `unknown`.
pub fn classify(execution: &Execution, limit: Option<Duration>) -> Classification {
    let mut work = Work {
        rmw_free: !execution.events().iter().any(|event| event.kind == Kind::Rmw),
        known: vec![None; Model::ALL.len()],
        runs: Vec::new(),
    };
    for model in Model::ALL.into_iter().filter(|&model| fits(model, execution).is_err()) {
        work.set(Standing { model, verdict: None, basis: Basis::Inapplicable });
    }
    let mut checker = Checker::new(execution, &Options::default());
    while let Some(model) = work.next() {
        let begin = Instant::now();
        checker.set_deadline(limit.and_then(|limit| begin.checked_add(limit)));
        let decision = checker.check(model);
        work.learn(model, decision, begin.elapsed());
    }
    Classification { standings: work.known.into_iter().flatten().collect(), runs: work.runs }
}

struct Work {
    rmw_free: bool,
    /// In the order of [`Model::ALL`]; nothing of a model that is open.
    known: Vec<Option<Standing>>,
    runs: Vec<Model>,
}

impl Work {
    /// Whether the execution satisfies `weaker` if it satisfies `stronger`.
    fn implies(&self, stronger: Model, weaker: Model) -> bool {
        let by_rmw_freedom = |from: Model| {
            let targets = from.row().implies_without_rmws;
            implies(stronger, from) && targets.iter().any(|&to| implies(to, weaker))
        };
        implies(stronger, weaker) || self.rmw_free && Model::ALL.into_iter().any(by_rmw_freedom)
    }

    /// The models of which nothing is known.
    fn open(&self) -> impl Iterator<Item = Model> {
        Model::ALL.into_iter().zip(&self.known).filter(|(_, known)| known.is_none()).map(|(model, _)| model)
    }

    /// The next model to run.
    fn next(&self) -> Option<Model> {
        if self.runs.is_empty() {
            return Some(Model::Sc);
        }
        self.open().max_by_key(|&model| {
            let weaker = self.open().filter(|&other| self.implies(model, other)).count();
            let stronger = self.open().filter(|&other| self.implies(other, model)).count();
            (model.row().polynomial, weaker.min(stronger), weaker + stronger)
        })
    }

    fn set(&mut self, standing: Standing) {
        if let Some(at) = Model::ALL.iter().position(|&model| model == standing.model) {
            self.known[at] = Some(standing);
        }
    }

    /// Takes note of a run and of all that its verdict implies, also for what an earlier run could not decide.
    fn learn(&mut self, model: Model, decision: Decision, time: Duration) {
        let verdict = decision.verdict;
        self.runs.push(model);
        self.set(Standing { model, verdict: Some(verdict), basis: Basis::Run(decision, time) });
        for (at, other) in Model::ALL.into_iter().enumerate() {
            let undecided = self.known[at].as_ref().is_none_or(|known| known.verdict == Some(Verdict::Unknown));
            let implied = match verdict {
                Verdict::Consistent => self.implies(model, other),
                Verdict::Violation => self.implies(other, model),
                Verdict::Unknown => false,
            };
            if undecided && implied {
                self.set(Standing { model: other, verdict: Some(verdict), basis: Basis::Implied(model) });
            }
        }
    }
}
