//! Decides histories that leave sources open: a value was written twice, and a read of it does not say which write it
//! is from.
//!
//! Such a history satisfies a model exactly if the execution of some choice of sources does ([`OpenExecution`] says
//! what may be chosen, and why a partial choice is an execution, too). So reads-from becomes a choice, and the engine
//! of the model judges choices, as a theory of the kernel `search`:
//!
//! 1. [`guess`] chooses sources that an interleaving of the values explains as far as possible. A history that a
//!    correct memory made is mostly decided by this choice alone.
//! 2. If the model, or a weaker one, refuses a choice, its evidence names few reads. [`conflict`] finds choices of few
//!    sources which the model refuses whatever the other sources are: a lemma.
//! 3. [`search`] looks for the next choice that contains none of these. Where lemmas forbid all candidates of a read,
//!    what they rest on is a lemma, too. A lemma without choices says that the history is a violation. The lemmas
//!    that it needs are the evidence: its *cases*.
//!
//! The search is complete: a lemma refuses at least the choice that it was found with, and there are finitely many
//! choices. Like the problem, it may take exponential time. If no read is open, the engine of the model decides alone.

mod conflict;
mod guess;
mod search;

use history::execution::EventId;
use history::{Execution, OpenExecution, OperationId};
use model::{Budget, Choice, Decided, Evidence, GaveUp, Model, Node, Verdict, View, implies};

use crate::c11::SequentialAccess;
use crate::{MemoryOptions, Strategy, consistent, fits, unknown, violation};
use ::search::{Ending, Search, Steps, Turns};
use conflict::Conflict;
use guess::Guess;
use search::{ChoiceTheory, Undecided};

/// The source that is chosen for each open read, if one is.
type Sources = Vec<Option<EventId>>;

/// Checks one history that leaves sources open against several models.
///
/// ```
/// use model::{Model, Verdict};
/// use history::{History, OpenExecution};
/// use memory::{MemoryOptions, sources};
///
/// // The first read is from the first write, or from the third; only the third explains the second read.
/// let history = format::parse("[0] w x 1\n[0] w x 2\n[0] w x 1\n[1] r x 2\n[1] r x 1\n")?;
/// let open = OpenExecution::from_history(&history)?;
/// let mut checker = sources::OpenChecker::new(&open, &MemoryOptions::default());
/// assert_eq!(checker.check(Model::Sc).verdict, Verdict::Consistent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OpenChecker<'a> {
    open: &'a OpenExecution,
    options: MemoryOptions,
    strategy: Strategy,
    /// The execution with the chosen sources.
    execution: Execution,
    /// Made when the first model asks for it. A choice that satisfies a model is the guess for the next.
    guess: Option<Guess>,
}

impl<'a> OpenChecker<'a> {
    /// A checker for one open execution. It computes nothing before it is asked for a model.
    pub fn new(open: &'a OpenExecution, options: &MemoryOptions) -> Self {
        let execution = open.execution().clone();
        Self { open, options: options.clone(), strategy: Strategy::Auto, execution, guess: None }
    }

    /// Sets what may be used from now on.
    pub fn set_budget(&mut self, budget: Budget) {
        self.options.budget = budget;
    }

    /// Sets the strategy that decides the execution of a choice.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Whether a model gives a meaning to all events.
    pub fn fits(&self, model: Model) -> Result<(), SequentialAccess> {
        if model.row().sequential_accesses {
            return Ok(());
        }
        let mut whole = self.open.execution().clone();
        for read in 0..self.open.reads().len() {
            self.open.set_source(&mut whole, read, Some(EventId::INIT));
        }
        fits(model, &whole)
    }

    /// Decides one model.
    pub fn check(&mut self, model: Model) -> Decided {
        if model.row().view != View::Execution {
            return unknown(self.strategy.name(), format!("{model} does not speak of executions"));
        }
        let open = self.open;
        // What no choice can change comes first: most violations of real histories are found here or by the first
        // choice.
        if open.reads().is_empty() || !open.execution().thin_air().is_empty() {
            return self.judge(model, self.strategy);
        }
        let (knobs, budget) = (self.options.knobs.sources, self.options.budget.clone());
        let guess = match self.guess.take().map_or_else(|| Guess::new(open, knobs, &budget), Ok) {
            Ok(guess) => guess,
            Err(why) => return unknown(self.strategy.name(), why.to_string()),
        };
        let judge = Judge::new(model, &self.options, self.strategy, &mut self.execution);
        let restarts = Turns { first: knobs.conflicts, growth: 1 };
        let mut search = Search::new(ChoiceTheory::new(open, &guess, judge, budget)).with_restarts(restarts);
        let ending = search.run(&mut Steps::new(u64::MAX));
        let strategy = search.theory().strategy();
        let decision = match ending {
            Ok(Ending::Found(evidence)) => {
                let chosen = search.into_theory().into_chosen();
                let sources = |evidence: Evidence| Evidence::Sources(sources(open, &chosen), evidence.into());
                let decision = consistent(strategy, evidence.map(sources));
                self.guess = Some(Guess { chosen, ..guess });
                return decision;
            }
            Ok(Ending::Refuted) => violation(strategy, search.theory().evidence(&search.refutation())),
            Ok(Ending::Paused) => unknown(strategy, GaveUp::Steps.to_string()),
            Err(Undecided::GaveUp(why)) => unknown(strategy, why.to_string()),
            Err(Undecided::Judged(decision)) => *decision,
        };
        drop(search);
        self.guess = Some(guess);
        decision
    }

    /// What the engine of the model says of the execution.
    fn judge(&self, model: Model, strategy: Strategy) -> Decided {
        judge(&self.execution, &self.options, model, strategy)
    }
}

/// What the engine of a model says of an execution.
fn judge(execution: &Execution, options: &MemoryOptions, model: Model, strategy: Strategy) -> Decided {
    let mut checker = crate::ExecutionChecker::new(execution, options);
    checker.set_strategy(strategy);
    if strategy == Strategy::Auto {
        checker.ask_recorded();
    }
    checker.check(model)
}

/// Judges choices by a model. What a weaker model refuses is refused for the sake of fewer reads, and sooner. So after
/// the first choice, a weaker model is asked first.
struct Judge<'a> {
    model: Model,
    weaker: Option<Model>,
    options: &'a MemoryOptions,
    strategy: Strategy,
    /// The execution with the sources of the last choice.
    execution: &'a mut Execution,
    name: &'static str,
    is_first: bool,
}

/// What was judged.
enum Judged {
    /// The model refuses these choices, whatever the others are.
    Refused(Conflict),
    /// The model holds, or nothing is known.
    Decided(Decided),
}

impl<'a> Judge<'a> {
    fn new(model: Model, options: &'a MemoryOptions, strategy: Strategy, execution: &'a mut Execution) -> Self {
        let mut weaker = [Model::Coherence, Model::Cc].into_iter();
        let weaker = weaker.find(|&weaker| weaker != model && implies(model, weaker));
        Self { model, weaker, options, strategy, execution, name: strategy.name(), is_first: true }
    }

    /// The name of the tactic that judged last.
    fn strategy(&self) -> &'static str {
        self.name
    }

    /// Judges a full choice.
    fn judge(&mut self, open: &OpenExecution, chosen: &[Option<EventId>]) -> Judged {
        for (read, &source) in chosen.iter().enumerate() {
            open.set_source(self.execution, read, source);
        }
        let execution = &*self.execution;
        if let Some(weaker) = self.weaker.filter(|_| !std::mem::take(&mut self.is_first)) {
            let evidence = judge(execution, self.options, weaker, Strategy::Auto).evidence;
            let knobs = self.options.knobs.sources;
            let find = |evidence| conflict::find(self.model, open, execution, chosen, evidence, knobs);
            if let Some(found) = evidence.as_ref().and_then(find) {
                return Judged::Refused(found);
            }
        }
        let decision = judge(execution, self.options, self.model, self.strategy);
        self.name = decision.strategy;
        match (decision.verdict, decision.evidence) {
            (Verdict::Violation, Some(evidence)) => {
                let knobs = self.options.knobs.sources;
                let found = conflict::find(self.model, open, execution, chosen, &evidence, knobs);
                Judged::Refused(found.unwrap_or_else(|| Conflict::whole(chosen, evidence)))
            }
            (_, evidence) => Judged::Decided(Decided { evidence, ..decision }),
        }
    }
}

/// The choices, as evidence.
fn sources(open: &OpenExecution, chosen: &[Option<EventId>]) -> Vec<Choice> {
    let chosen = chosen.iter().enumerate();
    chosen.filter_map(|(read, source)| source.map(|source| choice(open, read, source))).collect()
}

/// One choice, as evidence.
fn choice(open: &OpenExecution, read: usize, source: EventId) -> Choice {
    let execution = open.execution();
    let source = if source.is_event() {
        Node::Operation(execution.operation(source))
    } else {
        Node::Init(open.whole(read).location)
    };
    Choice { read: operation(open, read), source }
}

/// The operation of an open read.
fn operation(open: &OpenExecution, read: usize) -> OperationId {
    open.execution().operation(open.reads()[read].event)
}
