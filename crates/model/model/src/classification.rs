//! The place of a history in the lattice of models: which models it satisfies, and which it breaks.
//!
//! The verdict of one model implies verdicts of others: a history that satisfies a model satisfies all weaker models,
//! and one that breaks a model breaks all stronger models ([`implies`]). In an execution without rmws, `ccv` is the
//! same as `sra`, and `cc` is the same as `wra`: the table of models says so. So a model is decided at most once, and
//! only if no known verdict implies its verdict. One model comes first: if the strongest allows the history, no other
//! is asked. Of the open models, those that are decided in polynomial time run before those that may need a search.
//! Among these, the model runs first whose verdict, whichever it is, decides the most others.

use std::time::{Duration, Instant};

use crate::{Budget, Decided, Model, Verdict, implies};

/// How the verdict of a model is known.
#[derive(Clone, Debug)]
pub enum Basis {
    /// The engine of the model ran. The duration is how long it took.
    Run(Decided, Duration),
    /// The verdict of this other model, whose engine ran, implies the verdict.
    Implied(Model),
    /// The model does not apply to the execution: `rc20` has no sequentially consistent accesses.
    Inapplicable,
}

/// The verdict of one model, and how it is known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Standing {
    /// The model.
    pub model: Model,
    /// Whether the model allows the execution. `None` if the model does not apply.
    pub verdict: Option<Verdict>,
    /// How the verdict is known.
    pub basis: Basis,
}

/// The place of an execution in the lattice.
#[derive(Clone, Debug)]
pub struct Classification {
    /// The models, for an execution in the order of [`Model::ALL`].
    pub standings: Vec<Standing>,
    /// The models whose engines ran, in this order.
    pub runs: Vec<Model>,
}

impl Classification {
    /// The strongest models that allow the execution: no other model that allows it implies one of them.
    pub fn strongest_satisfied(&self) -> Vec<Model> {
        self.extremes(Verdict::Consistent, |model, other| implies(other, model))
    }

    /// The weakest models that refuse the execution: none of them implies another model that refuses it.
    pub fn weakest_broken(&self) -> Vec<Model> {
        self.extremes(Verdict::Violation, implies)
    }

    /// The models with that verdict.
    pub fn with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Standing> {
        self.standings.iter().filter(move |standing| standing.verdict == Some(verdict))
    }

    /// The decision whose evidence proves the verdict of a model: its own decision, or that of the model which implies
    /// it.
    pub fn decision(&self, model: Model) -> Option<&Decided> {
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

/// A model that was decided before, with its decision.
pub type Known<'a> = Option<(Model, &'a Decided)>;

/// Runs some models, `first` before all others, until all their verdicts are known. `fits` tells which apply, and
/// `check` decides one. `rmw_free` says that the implications hold that need an execution without rmws. What is `known`
/// from before counts like a run that was the first; if it is unknown, it says nothing. Each run gets a `budget` of its
/// own.
pub fn classify(
    models: &[Model],
    first: Model,
    rmw_free: bool,
    fits: impl Fn(Model) -> bool,
    mut check: impl FnMut(Model, Budget) -> Decided,
    known: Known,
    budget: impl Fn() -> Budget,
) -> Classification {
    let mut work = Work { models, first, rmw_free, known: vec![None; models.len()], runs: Vec::new() };
    for model in models.iter().copied().filter(|&model| !fits(model)) {
        work.set(Standing { model, verdict: None, basis: Basis::Inapplicable });
    }
    let is_of_use = |(model, decision): &(Model, &Decided)| {
        decision.verdict != Verdict::Unknown && models.contains(model) && fits(*model)
    };
    if let Some((model, decision)) = known.filter(is_of_use) {
        work.learn(model, decision.clone(), Duration::ZERO);
    }
    while let Some(model) = work.next() {
        let begin = Instant::now();
        let decision = check(model, budget());
        work.learn(model, decision, begin.elapsed());
    }
    Classification { standings: work.known.into_iter().flatten().collect(), runs: work.runs }
}

struct Work<'a> {
    models: &'a [Model],
    first: Model,
    rmw_free: bool,
    /// In the order of the models. `None` for an open model.
    known: Vec<Option<Standing>>,
    runs: Vec<Model>,
}

impl Work<'_> {
    /// Whether the execution satisfies `weaker` if it satisfies `stronger`.
    fn implies(&self, stronger: Model, weaker: Model) -> bool {
        let by_rmw_freedom = |from: Model| {
            let targets = from.row().implies_without_rmws;
            implies(stronger, from) && targets.iter().any(|&to| implies(to, weaker))
        };
        implies(stronger, weaker) || self.rmw_free && self.models.iter().copied().any(by_rmw_freedom)
    }

    /// The open models: those whose verdict is not known yet.
    fn open(&self) -> impl Iterator<Item = Model> {
        self.models.iter().zip(&self.known).filter(|(_, known)| known.is_none()).map(|(&model, _)| model)
    }

    /// The next model to run.
    fn next(&self) -> Option<Model> {
        if self.runs.is_empty() {
            return Some(self.first);
        }
        self.open().max_by_key(|&model| {
            let weaker = self.open().filter(|&other| self.implies(model, other)).count();
            let stronger = self.open().filter(|&other| self.implies(other, model)).count();
            (model.row().polynomial, weaker.min(stronger), weaker + stronger)
        })
    }

    fn set(&mut self, standing: Standing) {
        if let Some(at) = self.models.iter().position(|&model| model == standing.model) {
            self.known[at] = Some(standing);
        }
    }

    /// Notes the result of a run, and all verdicts that it implies. These replace an `unknown` of an earlier run.
    fn learn(&mut self, model: Model, decision: Decided, time: Duration) {
        let verdict = decision.verdict;
        self.runs.push(model);
        self.set(Standing { model, verdict: Some(verdict), basis: Basis::Run(decision, time) });
        for (at, &other) in self.models.iter().enumerate() {
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
