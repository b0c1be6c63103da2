//! The papers' ways to decide `sc`, `tso` and `pso`, by name, beside those of the product.
//!
//! A way only decides. The evidence, and the witness if one is wanted, come from the product's search: so every
//! decision has a certificate, and a way that is wrong is found out.

use history::Execution;
use memory::research::{Choices, Frame, PairSolver, Saturated, Unsaturated, frame, open_pairs};
use memory::{Budget, ExecutionChecker, MemoryOptions, Tactic};
use model::{Decided, GaveUp, Model, Verdict};

use crate::literal::{Algorithm, Rule, Saturation};
use crate::{direct, frontier};

/// All events in an order that explains the reads, or `None` if there is no such order.
pub type Line = Result<Option<Vec<u32>>, GaveUp>;

/// A strategy: one of the product's, or a way of a paper.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// One of the product's.
    Product(memory::Strategy),
    /// A way of a paper.
    Paper(&'static Way),
}

/// A way of a paper to decide some models.
#[derive(Debug)]
pub struct Way {
    /// Its name on the command line.
    pub name: &'static str,
    /// The models that it decides.
    pub models: &'static [Model],
    method: Method,
}

/// Ways are equal if they have the same name.
impl PartialEq for Way {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Way {}

/// What a way says.
enum Answer {
    /// Whether the model allows the execution.
    Decided(bool),
    /// It leaves so many pairs of writes open.
    Open(usize),
}

#[derive(Copy, Clone, Debug)]
enum Method {
    /// As the paper writes it, from the execution on.
    Literal(Algorithm),
    /// A saturation. What it leaves open is not decided.
    Saturation(Saturation),
    /// A search in the frame of the model.
    InFrame(fn(&Frame<'_>, &Budget) -> Line),
    /// The saturation of the product, then a SAT solver over the pairs of writes that it leaves open.
    AfterSaturation,
    /// The partial store order of the product, `pww` or `wpww`, then a SAT solver over the pairs that it leaves open.
    AfterPartialOrder,
}

const SC: &[Model] = &[Model::Sc];
const TSO: &[Model] = &[Model::Tso];
const PSO: &[Model] = &[Model::Pso];

const fn literal(name: &'static str, models: &'static [Model], algorithm: Algorithm) -> Way {
    Way { name, models, method: Method::Literal(algorithm) }
}

const fn saturation(name: &'static str, rule: Rule, guesses: u32) -> Way {
    Way { name, models: SC, method: Method::Saturation(Saturation { rule, guesses }) }
}

/// The ways: those of wSC and of GCC by the names in the papers, the saturations of section 4 of wSC, then those that
/// only the product's saturation makes possible.
pub static WAYS: [Way; 21] = [
    literal("wsc+dbcop", SC, Algorithm::WscDbcop),
    literal("wsc+enum", SC, Algorithm::WscEnum),
    literal("ccm+enum", SC, Algorithm::ScCcmSat),
    Way { name: "dbcop", models: SC, method: Method::InFrame(frontier::search) },
    saturation("wsc+six", Rule::SixWrites, 0),
    saturation("wsc+guess", Rule::Wsc, 1),
    saturation("wsc+guess(2)", Rule::Wsc, 2),
    saturation("wsc+guess(3)", Rule::Wsc, 3),
    literal("sc-sat", SC, Algorithm::ScSat),
    literal("sc-ccm+enum", SC, Algorithm::ScCcmEnum),
    literal("sc-ccm+sat", SC, Algorithm::ScCcmSat),
    literal("tso-sat", TSO, Algorithm::TsoSat),
    literal("tso-ccm+enum", TSO, Algorithm::TsoCcmEnum),
    literal("tso-ccm+sat", TSO, Algorithm::TsoCcmSat),
    Way { name: "machine", models: &[Model::Tso, Model::Pso], method: Method::InFrame(frontier::search) },
    Way { name: "sat", models: &[Model::Sc, Model::Tso, Model::Pso], method: Method::InFrame(direct::solve) },
    Way { name: "wsc+sat", models: SC, method: Method::AfterSaturation },
    Way { name: "wtso+sat", models: TSO, method: Method::AfterSaturation },
    Way { name: "wpso+sat", models: PSO, method: Method::AfterSaturation },
    Way { name: "ccm+sat", models: SC, method: Method::AfterPartialOrder },
    Way { name: "wccm+sat", models: TSO, method: Method::AfterPartialOrder },
];

impl Strategy {
    /// Every strategy, those of the product first.
    pub fn all() -> impl Iterator<Item = Self> {
        memory::Strategy::all().map(Self::Product).chain(WAYS.iter().map(Self::Paper))
    }

    /// The strategy of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let way = || WAYS.iter().find(|way| way.name == name).map(Self::Paper);
        memory::Strategy::from_name(name).map(Self::Product).or_else(way)
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Product(strategy) => strategy.name(),
            Self::Paper(way) => way.name,
        }
    }

    /// Whether the strategy says how a model is decided.
    pub fn speaks_of(self, model: Model) -> bool {
        match self {
            Self::Product(strategy) => strategy.speaks_of(model),
            Self::Paper(way) => way.models.contains(&model),
        }
    }

    /// Decides a model. One that the strategy does not speak of is decided as usual.
    pub fn check(self, model: Model, execution: &Execution, options: &MemoryOptions) -> Decided {
        let mut checker = ExecutionChecker::new(execution, options);
        match self {
            Self::Product(strategy) => checker.set_strategy(strategy),
            Self::Paper(way) if way.models.contains(&model) => return way.check(model, execution, options, checker),
            Self::Paper(_) => {}
        }
        checker.check(model)
    }
}

impl Way {
    fn check(
        &self,
        model: Model,
        execution: &Execution,
        options: &MemoryOptions,
        mut checker: ExecutionChecker<'_>,
    ) -> Decided {
        let unknown = |reason| Decided { verdict: Verdict::Unknown, strategy: self.name, reason, evidence: None };
        let by = |checker: &mut ExecutionChecker<'_>, tactic| {
            checker.set_strategy(memory::Strategy::Only(tactic));
            checker.check(model)
        };
        // What a read, or a thread by itself, refutes has nothing to search.
        for tactic in [Tactic::ReadsFrom, Tactic::Coherence] {
            if memory::Strategy::Only(tactic).speaks_of(model) {
                let decision = by(&mut checker, tactic);
                if decision.verdict == Verdict::Violation {
                    return decision;
                }
            }
        }
        let verdict = match self.allows(model, execution, &options.budget) {
            Ok(Answer::Decided(true)) => Verdict::Consistent,
            Ok(Answer::Decided(false)) => Verdict::Violation,
            Ok(Answer::Open(pairs)) => {
                return unknown(Some(format!("the saturation leaves {pairs} pairs of writes open")));
            }
            Err(why) => return unknown(Some(why.to_string())),
        };
        if verdict == Verdict::Consistent && !options.witness {
            return Decided { verdict, strategy: self.name, reason: None, evidence: None };
        }
        let proved = by(&mut checker, Tactic::Search);
        match proved.verdict {
            Verdict::Unknown => unknown(proved.reason),
            found if found != verdict => {
                unknown(Some(format!("it is a {}; the search says otherwise", verdict.name())))
            }
            _ => Decided { strategy: self.name, ..proved },
        }
    }

    /// Whether the model allows an execution that neither a read from thin air nor a thread by itself refutes.
    fn allows(&self, model: Model, execution: &Execution, budget: &Budget) -> Result<Answer, GaveUp> {
        let Some(frame) = frame(model, execution) else { return Ok(Answer::Decided(false)) };
        let solve = |choices: &Choices<'_>| Ok(PairSolver::new(choices, budget).solve(None)?.is_some());
        let decided = match self.method {
            Method::Literal(algorithm) => algorithm.decide(execution, budget),
            Method::Saturation(saturation) => {
                let Some(order) = saturation.order(execution, budget)? else { return Ok(Answer::Decided(false)) };
                let open = Saturation::open(execution, &order);
                return Ok(if open == 0 { Answer::Decided(true) } else { Answer::Open(open) });
            }
            Method::InFrame(search) => Ok(search(&frame, budget)?.is_some()),
            Method::AfterSaturation => match Saturated::new(&frame, budget) {
                Ok(saturated) => solve(&Choices::after_saturation(&frame, &saturated)?),
                Err(Unsaturated::GaveUp(why)) => Err(why),
                Err(_) => Ok(false),
            },
            Method::AfterPartialOrder => match open_pairs(execution, &frame, budget)? {
                Some(choices) => solve(&choices),
                None => Ok(false),
            },
        };
        decided.map(Answer::Decided)
    }

    /// Whether it decides every execution, given time. The others may leave pairs of writes open.
    pub const fn is_exact(&self) -> bool {
        !matches!(self.method, Method::Saturation(_))
    }
}
