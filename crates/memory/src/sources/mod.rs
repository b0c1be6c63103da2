//! Decides histories that leave sources open: a value was written twice, and a read of it does not say which write it
//! is from.
//!
//! Such a history satisfies a model exactly if the execution of some choice of sources does ([`OpenExecution`] says
//! what may be chosen, and why a partial choice is an execution, too). So reads-from becomes a choice, and the engine
//! of the model is a theory that judges choices:
//!
//! 1. [`guess`] chooses sources that an interleaving of the values explains as far as possible. A history that a
//!    correct memory made is mostly decided by this choice alone.
//! 2. If the model, or a weaker one, refuses a choice, its evidence names few reads. [`conflict`] finds choices of few
//!    sources which the model refuses whatever the other sources are: a *no-good*.
//! 3. [`search`] looks for the next choice that contains no no-good. Where a read has no candidate left, the no-goods
//!    that took its candidates away give a no-good without that read. If that is empty, no choice is left, and the
//!    history is a violation. The no-goods are the evidence.
//!
//! The search is complete: a no-good refuses at least the choice that it was found with, and there are finitely many
//! choices. Like the problem, it may take exponential time. If no read is open, the engine of the model decides alone.

mod conflict;
mod guess;
mod search;

use std::time::Instant;

use certificate::{Choice, Decision, Evidence, GaveUp, Interrupt, Model, Node, Verdict, View};
use history::execution::EventId;
use history::{Execution, OpenExecution, OperationId};

use crate::c11::SequentialAccess;
use crate::lattice::implies;
use crate::{Options, Strategy, consistent, fits, unknown, violation};
use conflict::Conflict;
use guess::Guess;
use search::{Next, Search};

/// The source that is chosen for each open read, if one is.
type Sources = Vec<Option<EventId>>;

/// Checks one history that leaves sources open against several models.
///
/// ```
/// use certificate::{Model, Verdict};
/// use history::{History, OpenExecution};
/// use memory::{Options, sources};
///
/// // The first read is from the first write, or from the third; only the third explains the second read.
/// let history = History::parse("[0] w x 1\n[0] w x 2\n[0] w x 1\n[1] r x 2\n[1] r x 1\n")?;
/// let open = OpenExecution::from_history(&history)?;
/// let mut checker = sources::Checker::new(&open, &Options::default());
/// assert_eq!(checker.check(Model::Sc).verdict, Verdict::Consistent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Checker<'a> {
    open: &'a OpenExecution,
    options: Options,
    strategy: Strategy,
    /// The execution with the chosen sources.
    execution: Execution,
    /// Made when the first model asks for it. A choice that satisfies a model is the guess for the next.
    guess: Option<Guess>,
}

impl<'a> Checker<'a> {
    /// A checker for one open execution. It computes nothing before it is asked for a model.
    pub fn new(open: &'a OpenExecution, options: &Options) -> Self {
        let execution = open.execution().clone();
        Self { open, options: *options, strategy: Strategy::Auto, execution, guess: None }
    }

    /// Sets when to give up.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.options.deadline = deadline;
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
    pub fn check(&mut self, model: Model) -> Decision {
        if model.row().view != View::Execution {
            return unknown(self.strategy.name(), format!("{model} does not speak of executions"));
        }
        let open = self.open;
        // What no choice can change comes first: most violations of real histories are found here or by the first
        // choice.
        if open.reads().is_empty() || !open.execution().thin_air().is_empty() {
            return self.judge(model, self.strategy);
        }
        let interrupt = Interrupt::at(self.options.deadline);
        let guess = match self.guess.take().map_or_else(|| Guess::new(open, interrupt), Ok) {
            Ok(guess) => guess,
            Err(why) => return unknown(self.strategy.name(), why.to_string()),
        };
        let mut search = Search::new(open, &guess);
        let decision = self.walk(model, &mut search, interrupt);
        let chosen = search.into_chosen();
        self.guess = Some(if decision.verdict == Verdict::Consistent { Guess { chosen, ..guess } } else { guess });
        decision
    }

    /// Judges choices until one satisfies the model, or none is left.
    fn walk(&mut self, model: Model, search: &mut Search<'_>, interrupt: Interrupt) -> Decision {
        let mut strategy = self.strategy.name();
        let weaker =
            [Model::Coherence, Model::Cc].into_iter().find(|&weaker| weaker != model && implies(model, weaker));
        let mut is_first = true;
        let gave_up = |strategy, why: GaveUp| unknown(strategy, why.to_string());
        loop {
            match search.next(interrupt) {
                Ok(Next::Chosen) => {}
                Ok(Next::NoneLeft) => return violation(strategy, Evidence::Cases(search.cases())),
                Err(why) => return gave_up(strategy, why),
            }
            if let Err(why) = interrupt.check() {
                return gave_up(strategy, why);
            }
            self.set(search.chosen());
            // What a weaker model refuses is refused for the sake of fewer reads, and sooner.
            if let Some(weaker) = weaker.filter(|_| !std::mem::take(&mut is_first)) {
                let evidence = self.judge(weaker, Strategy::Auto).evidence;
                let find = |evidence| conflict::find(model, self.open, &self.execution, search.chosen(), evidence);
                if let Some(found) = evidence.as_ref().and_then(find) {
                    search.learn(found);
                    continue;
                }
            }
            let decision = self.judge(model, self.strategy);
            strategy = decision.strategy;
            match (decision.verdict, decision.evidence) {
                (Verdict::Consistent, evidence) => {
                    let chosen = || sources(self.open, search.chosen());
                    return consistent(strategy, evidence.map(|evidence| Evidence::Sources(chosen(), evidence.into())));
                }
                (Verdict::Violation, Some(evidence)) => {
                    let found = conflict::find(model, self.open, &self.execution, search.chosen(), &evidence);
                    let found = found.unwrap_or_else(|| Conflict::whole(search.chosen(), evidence));
                    if found.reads.is_empty() {
                        return violation(strategy, found.evidence);
                    }
                    search.learn(found);
                }
                (_, evidence) => {
                    return Decision { verdict: Verdict::Unknown, strategy, reason: decision.reason, evidence };
                }
            }
        }
    }

    /// Makes the choices in the execution.
    fn set(&mut self, chosen: &[Option<EventId>]) {
        for (read, &source) in chosen.iter().enumerate() {
            self.open.set_source(&mut self.execution, read, source);
        }
    }

    /// What the engine of the model says of the execution.
    fn judge(&self, model: Model, strategy: Strategy) -> Decision {
        let mut checker = crate::Checker::new(&self.execution, &self.options);
        checker.set_strategy(strategy);
        if strategy == Strategy::Auto {
            checker.ask_recorded();
        }
        checker.check(model)
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
