//! The one way to decide a model. It chooses the view of the history that the model is defined on, finds out whether
//! the model fits, and asks the right engine.
//!
//! A view is made when the first model needs it, and is kept. The intermediate results that the models of one view
//! share are kept, too.

use history::execution::ViewError;
use history::performed::{NotPerformed, Performed};
use history::{Execution, History, Object, OpenExecution};
use memory::{Strategy, observed, sources};
use model::classification::{self, Classification, Known};
use model::{Budget, Isolation, Model, Sessions, Verdict, View};
use object::{ObjectError, ObjectHistory};
use transaction::ResolveError;

use crate::{Cause, Decision, Misfit, Options};

/// Decides whether a history is allowed by a model.
///
/// An error means that the model does not fit such a history; the error says which models fit.
///
/// ```
/// use seriatim::{History, Model, Options, Verdict, check};
///
/// let history = seriatim::parse("[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] return empty\n")?;
/// let decision = check(&history, Model::Linearizable, &Options::default())?;
/// assert_eq!(decision.verdict, Verdict::Violation);
///
/// let misfit = check(&history, Model::Sc, &Options::default()).unwrap_err();
/// assert_eq!(misfit.fitting, [Model::Linearizable]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(history: &History, model: Model, options: &Options) -> Result<Decision, Misfit> {
    Checker::new(history, options).check(model)
}

/// Checks one history against several models, and does the work that they share only once.
///
/// ```
/// use seriatim::{Checker, History, Model, Options, Verdict};
///
/// // Store buffering: neither thread sees the write of the other.
/// let history = seriatim::parse("[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n")?;
/// let mut checker = Checker::new(&history, &Options::default());
/// assert_eq!(checker.check(Model::Sc)?.verdict, Verdict::Violation);
/// assert_eq!(checker.check(Model::Tso)?.verdict, Verdict::Consistent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Checker<'a> {
    history: &'a History,
    options: Options,
    memory: Option<Result<Memory, ViewError>>,
    open: Option<Result<Open, ViewError>>,
    calls: Option<Result<ObjectHistory<'a>, ObjectError>>,
    performed: Option<Result<Vec<Performed>, NotPerformed>>,
    transactions: Option<Result<transaction::LevelChecker, ResolveError>>,
}

impl<'a> Checker<'a> {
    /// A checker of this history. Nothing is computed yet.
    pub fn new(history: &'a History, options: &Options) -> Self {
        Self {
            history,
            options: options.clone(),
            memory: None,
            open: None,
            calls: None,
            performed: None,
            transactions: None,
        }
    }

    /// Decides one model. The time limit of the options holds for each model by itself.
    pub fn check(&mut self, model: Model) -> Result<Decision, Misfit> {
        let budget = &self.options.budget_now();
        let decided = match model.row().view {
            View::Calls => self.linearizable(budget),
            View::Performed => self.observed(),
            View::Execution => self.memory(model, budget),
            View::Transactions => self.isolation(model, budget),
        };
        match decided {
            Ok(decided) => {
                let mut decision = Decision::new(model, decided);
                decision.weaker_form = self.weaker_form(&decision, budget);
                Ok(decision)
            }
            Err(cause) => Err(Misfit::new(model, cause, self.history)),
        }
    }

    fn linearizable(&mut self, budget: &Budget) -> Result<model::Decided, Cause> {
        let history = self.history;
        if object::is_named(history) {
            let options = object::ObjectOptions {
                witness: self.options.witness,
                budget: budget.clone(),
                ..object::ObjectOptions::default()
            };
            return object::check_named(history, &options).map_err(Cause::NoCalls);
        }
        let calls = self.calls.get_or_insert_with(|| ObjectHistory::new(history)).as_ref();
        let options = object::ObjectOptions {
            witness: self.options.witness,
            budget: budget.clone(),
            algorithm: self.options.algorithm,
            ..object::ObjectOptions::default()
        };
        calls.map(|calls| object::check(calls, &options)).map_err(|error| Cause::NoCalls(error.clone()))
    }

    fn isolation(&mut self, model: Model, budget: &Budget) -> Result<model::Decided, Cause> {
        let view = || Ok(transaction::LevelChecker::new(self.history)?.with_witness(self.options.witness));
        let checker = self.transactions.get_or_insert_with(view).as_mut();
        checker
            .map_err(|error| error.clone())
            .and_then(|checker| {
                checker.set_budget(budget.clone());
                checker.check(model)
            })
            .map_err(Cause::NotTransactions)
    }

    /// If a level is violated only because of real time or of session order: the strongest form of it, with less of
    /// these, that holds.
    fn weaker_form(&mut self, decision: &Decision, budget: &Budget) -> Option<Model> {
        let isolation = decision.model.isolation().filter(|_| decision.verdict == Verdict::Violation)?;
        let (uses_time, uses_sessions) = decision.uses_order();
        let forms = [(Sessions::Session, uses_time), (Sessions::None, uses_time || uses_sessions)];
        let forms = forms.into_iter().filter(|&(sessions, may_hold)| sessions < isolation.sessions && may_hold);
        let forms = forms.map(|(sessions, _)| Isolation { sessions, ..isolation }.model());
        forms
            .into_iter()
            .find(|&form| self.isolation(form, budget).is_ok_and(|decided| decided.verdict == Verdict::Consistent))
    }

    fn observed(&mut self) -> Result<model::Decided, Cause> {
        let performed = self.performed.get_or_insert_with(|| Performed::from_history(self.history)).as_ref();
        performed
            .map(|performed| observed::check(performed, self.options.witness))
            .map_err(|error| Cause::NotPerformed(*error))
    }

    fn memory(&mut self, model: Model, budget: &Budget) -> Result<model::Decided, Cause> {
        let options = &self.options;
        let view = || Execution::from_history(self.history).map(|execution| Memory::with(execution, options));
        let memory = match self.memory.get_or_insert_with(view) {
            Ok(memory) => memory,
            Err(ViewError::Ambiguous { .. }) if !options.unique => return self.open(model, budget),
            Err(error) => return Err(Cause::NotAnExecution(error.clone())),
        };
        let execution = memory.borrow_owner();
        if let Err(error) = memory::fits(model, execution) {
            return Err(Cause::SequentialAccess { operation: execution.operation(error.0), error });
        }
        Ok(memory.with_dependent_mut(|_, checker| {
            checker.set_budget(budget.clone());
            checker.check(model)
        }))
    }

    /// Decides a memory model of a history that leaves the sources of some reads open.
    fn open(&mut self, model: Model, budget: &Budget) -> Result<model::Decided, Cause> {
        let options = &self.options;
        let view = || OpenExecution::from_history(self.history).map(|open| Open::with(open, options));
        let open = self.open.get_or_insert_with(view).as_mut().map_err(|error| Cause::NotAnExecution(error.clone()))?;
        open.with_dependent_mut(|open, checker| {
            if let Err(error) = checker.fits(model) {
                return Err(Cause::SequentialAccess { operation: open.execution().operation(error.0), error });
            }
            checker.set_budget(budget.clone());
            Ok(checker.check(model))
        })
    }
}

type MemoryChecker<'a> = memory::ExecutionChecker<'a>;

self_cell::self_cell!(
    /// An execution, and the checker that keeps what is known about it.
    struct Memory {
        owner: Execution,
        #[not_covariant]
        dependent: MemoryChecker,
    }
);

impl Memory {
    /// The checker of an execution, of which nothing is known yet.
    fn with(execution: Execution, options: &Options) -> Self {
        Self::new(execution, |execution| {
            let &Options { witness, strategy, .. } = options;
            let mut checker = memory::ExecutionChecker::new(
                execution,
                &memory::MemoryOptions { witness, ..memory::MemoryOptions::default() },
            );
            checker.set_strategy(strategy);
            if strategy == Strategy::Auto {
                checker.ask_recorded();
            }
            checker
        })
    }
}

type OpenChecker<'a> = sources::OpenChecker<'a>;

self_cell::self_cell!(
    /// An execution with open reads, and the checker that keeps what is known about it.
    struct Open {
        owner: OpenExecution,
        #[not_covariant]
        dependent: OpenChecker,
    }
);

impl Open {
    /// The checker of an execution with open reads, of which nothing is known yet.
    fn with(open: OpenExecution, options: &Options) -> Self {
        Self::new(open, |open| {
            let &Options { witness, strategy, .. } = options;
            let mut checker =
                sources::OpenChecker::new(open, &memory::MemoryOptions { witness, ..memory::MemoryOptions::default() });
            checker.set_strategy(strategy);
            checker
        })
    }
}

/// Finds the place of a history among the memory models: which models it satisfies, and which it breaks. Each model is
/// checked at most once, and only if its answer does not follow from the answers of other models.
///
/// ```
/// use seriatim::{History, Model, Options, classify};
///
/// // Store buffering: neither thread sees the write of the other.
/// let history = seriatim::parse("[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n")?;
/// let place = classify(&history, &Options::default())?;
/// assert_eq!(place.strongest_satisfied(), [Model::Cm, Model::Rc11, Model::Tso]);
/// assert_eq!(place.weakest_broken(), [Model::Ccm]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn classify(history: &History, options: &Options) -> Result<Classification, Misfit> {
    classify_knowing(history, None, options)
}

/// As [`classify`], where a model was decided before. It is not decided again, nor is what its verdict implies.
pub(crate) fn classify_knowing(
    history: &History,
    known: Option<&Decision>,
    options: &Options,
) -> Result<Classification, Misfit> {
    let decided = known.map(|known| (known.model, known.decided()));
    let known = decided.as_ref().map(|(model, decided)| (*model, decided));
    if history.is_of_transactions() {
        return classify_transactions(history, known, options);
    }
    let budget = || options.budget_now();
    let classified = match Execution::from_history(history) {
        Ok(execution) => Ok(memory::classify::classify(&execution, known, budget)),
        Err(ViewError::Ambiguous { .. }) if !options.unique => {
            OpenExecution::from_history(history).map(|open| memory::classify::classify_open(&open, known, budget))
        }
        Err(error) => Err(error),
    };
    classified.map_err(|error| Misfit::new(Model::Sc, Cause::NotAnExecution(error), history))
}

fn classify_transactions(history: &History, known: Known, options: &Options) -> Result<Classification, Misfit> {
    let misfit = |error| Misfit::new(Model::Serializable, Cause::NotTransactions(error), history);
    let mut checker = transaction::LevelChecker::new(history).map_err(misfit)?;
    let models: Vec<Model> = Isolation::all().map(Isolation::model).collect();
    let fits = |model: Model| {
        let is_timed = model.isolation().is_some_and(|isolation| isolation.sessions == Sessions::RealTime);
        !is_timed || !history.is_untimed()
    };
    let first = if history.is_untimed() { Model::Serializable } else { Model::StrictSerializable };
    let check = |model: Model, budget| {
        checker.set_budget(budget);
        checker.check(model).expect("only levels that fit are checked")
    };
    Ok(classification::classify(&models, first, false, fits, check, known, || options.budget_now()))
}

/// Whether the memory models are defined on such an object.
fn is_memory(object: Object) -> bool {
    matches!(object, Object::Memory | Object::Register)
}

/// The models that are defined on histories like this one, the weakest first. There are none for an object that is not
/// built in. Such a model may still not fit: a read may name a source that it cannot have, and `rc20` has no `sc`
/// accesses.
///
/// ```
/// use seriatim::{History, Model, fitting};
///
/// let history = seriatim::parse("[0] call enqueue 1\n[0] return\n")?;
/// assert_eq!(fitting(&history), [Model::Linearizable]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fitting(history: &History) -> Vec<Model> {
    if history.is_of_transactions() {
        let is_there = |isolation: &Isolation| isolation.sessions != Sessions::RealTime || !history.is_untimed();
        return Isolation::all().filter(is_there).map(Isolation::model).collect();
    }
    let mut models = Vec::new();
    if is_memory(history.object()) {
        models.extend(Model::ALL);
    }
    let is_known = object::is_named(history) || !matches!(history.object(), Object::Open | Object::Transactions);
    if history.has_calls() && is_known {
        models.push(Model::Linearizable);
    }
    models
}

/// The model to check if the user names none. For transactions, `strict-serializable` if times are known, else
/// `serializable`. For a history with calls and returns, `linearizable`. For any other, `sc`.
///
/// ```
/// use seriatim::{History, Model, default_model};
///
/// assert_eq!(default_model(&seriatim::parse("[0] w x 1\n")?), Model::Sc);
/// assert_eq!(default_model(&seriatim::parse("[0] call enqueue 1\n[0] return\n")?), Model::Linearizable);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn default_model(history: &History) -> Model {
    if history.is_of_transactions() {
        return if history.is_untimed() { Model::Serializable } else { Model::StrictSerializable };
    }
    if history.has_calls() || !is_memory(history.object()) { Model::Linearizable } else { Model::Sc }
}
