//! The memory models, and the engines that decide them.
//!
//! Most users want the crate `seriatim` instead: it reads histories, and it chooses the view of a history that a model
//! needs. Use this crate if you have executions, not files: a model checker or a tester that embeds the engines.
//!
//! | to do this | use |
//! | --- | --- |
//! | decide one model for one execution | [`check`] |
//! | decide several models for one execution, or choose the strategy | [`ExecutionChecker`] |
//! | find the strongest models that an execution satisfies | [`classify::classify`] |
//! | decide many small executions of the C11 family, without allocation | [`c11::C11Checker`] |
//! | decide several models where the sources of some reads are open | [`sources::OpenChecker`] |
//! | decide `ra` or `rc20` while the events arrive | [`c11::Incremental`] |
//! | decide operations whose order in memory is known | [`observed::check`] |
//!
//! Each family of models has a module. The module states the definition, and the argument why its algorithm decides it.
//! [`check`] tries the [tactics] of the model, one after the other, until one of them decides.
//!
//! The modules name the papers that they follow by short names: `docs/models.md` has the full references.
//!
//! - wSC: Zennou and others, *Boosting Sequential Consistency Checking using Saturation*;
//! - GCC: Zennou and others, *Gradual Consistency Checking*;
//! - VC: Cain and Lipasti, *Verifying Sequential Consistency Using Vector Clocks*;
//! - RF: Tunç and others, *Optimal Reads-From Consistency Checking for C11-Style Memory Models*.
//!
//! The modules write relations in the notation of these papers: `po` is program order, `rf` reads-from, `u` the union,
//! `;` the composition, `+` the transitive closure, and an rmw is a read-modify-write.

pub mod c11;
mod causal;
pub mod classify;
mod coherence;
mod components;
#[cfg(feature = "sat")]
pub mod kernel;
mod knobs;
mod limits;
pub mod observed;
#[cfg(feature = "research")]
pub mod research;
mod sc;
pub mod sources;
mod store;
mod tactics;
mod tso;
mod writes;

use std::cell::OnceCell;
use std::thread::{Scope, ScopedJoinHandle};

use causal::Causality;
use history::Execution;
use limits::Limits;
use model::{Decided, Evidence, GaveUp, Model, Verdict, View};
use store::Answer;
use tactics::verdicts::Verdicts;
use tactics::{Asked, Attempt};

pub use knobs::{Knob, Knobs, NotSet};
pub use model::Budget;
pub use tactics::strategy::Strategy;
pub use tactics::table::{Cost, Tactic, tactics};

/// How to check.
#[derive(Clone, Debug, Default)]
pub struct MemoryOptions {
    /// Whether to build the witness of a consistent execution. The evidence of a violation is always built.
    pub witness: bool,
    /// What may be used. What would need more is `unknown`.
    pub budget: Budget,
    /// The knobs of the engines.
    pub knobs: Knobs,
}

/// The name of the threads that help to decide one execution. The thread that decides the execution waits for its
/// helpers. If a helper panics, that thread panics, too.
pub const HELPER: &str = "helper";

/// The most events that an execution may have, so that clocks can number them: see [`order::lanes`].
const MAX_EVENTS: usize = i32::MAX as usize;

/// Decides whether a model allows an execution.
///
/// ```
/// use model::{Model, Verdict};
/// use history::ExecutionBuilder;
/// use history::execution::Kind::{Read, Write};
///
/// // Store buffering: each thread writes one location, and then reads the initial value of the other.
/// let mut builder = ExecutionBuilder::new();
/// for thread in 0..2 {
///     builder.push(thread, Write, thread);
///     let read = builder.push(thread, Read, 1 - thread);
///     builder.read_from(read, None);
/// }
/// let execution = builder.build();
/// let verdict = |model| memory::check(model, &execution, &memory::MemoryOptions::default()).verdict;
/// assert_eq!(verdict(Model::Sc), Verdict::Violation);
/// assert_eq!(verdict(Model::Tso), Verdict::Consistent);
/// ```
pub fn check(model: Model, execution: &Execution, options: &MemoryOptions) -> Decided {
    ExecutionChecker::new(execution, options).check(model)
}

/// Checks one execution against several models. What the models share is computed once.
///
/// ```
/// use model::{Model, Verdict};
/// use history::ExecutionBuilder;
/// use history::execution::Kind::{Read, Write};
/// use memory::{ExecutionChecker, MemoryOptions, Strategy};
///
/// // Thread 1 reads a write of thread 0.
/// let mut builder = ExecutionBuilder::new();
/// let write = builder.push(0, Write, 0);
/// let read = builder.push(1, Read, 0);
/// builder.read_from(read, Some(write));
/// let execution = builder.build();
///
/// let mut checker = ExecutionChecker::new(&execution, &MemoryOptions { witness: true, ..MemoryOptions::default() });
/// for model in [Model::Cc, Model::Ccv, Model::Sc] {
///     let decision = checker.check(model);
///     assert_eq!(decision.verdict, Verdict::Consistent);
///     assert!(decision.evidence.is_some());
/// }
/// // The strategy says how the next models are decided.
/// checker.set_strategy(Strategy::from_name("search").unwrap());
/// assert_eq!(checker.check(Model::Tso).verdict, Verdict::Consistent);
/// ```
pub struct ExecutionChecker<'a> {
    execution: &'a Execution,
    options: MemoryOptions,
    strategy: Strategy,
    causality: Option<Causality<'a>>,
    /// The models that were decided, and whether they hold.
    verdicts: Verdicts,
    /// Whether to ask for the recorded order first, whatever the model.
    asks_recorded: bool,
    /// All events in the order of the file, if every read returns the last write in that order. Computed at most once.
    recorded: OnceCell<Option<Vec<u32>>>,
    /// What a run in the frame of `sc` and its rest say. Computed at most once.
    ran: OnceCell<Answer>,
    /// Whether the execution has rmws. Computed at most once.
    rmws: OnceCell<bool>,
}

impl<'a> ExecutionChecker<'a> {
    /// A checker for one execution. It computes nothing before it is asked for a model.
    pub fn new(execution: &'a Execution, options: &MemoryOptions) -> Self {
        Self {
            execution,
            options: options.clone(),
            strategy: Strategy::Auto,
            causality: None,
            verdicts: Verdicts::default(),
            asks_recorded: false,
            recorded: OnceCell::new(),
            ran: OnceCell::new(),
            rmws: OnceCell::new(),
        }
    }

    /// From now on, the checker first asks whether the order of the file explains all reads. If so, `sc` holds, and
    /// every other model with it. Then no engine runs.
    pub fn ask_recorded(&mut self) {
        self.asks_recorded = true;
    }

    /// Sets what may be used from now on.
    pub fn set_budget(&mut self, budget: Budget) {
        self.options.budget = budget;
    }

    /// Sets the strategy. Models that the strategy does not speak of are still decided by [`Strategy::Auto`].
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Decides one model: tries its tactics, one after the other, until one of them decides.
    pub fn check(&mut self, model: Model) -> Decided {
        if model.row().view != View::Execution {
            return unknown(self.strategy.name(), format!("{model} does not speak of executions"));
        }
        match self.strategy.tactic().filter(|_| self.strategy.speaks_of(model)) {
            None => self.walk(model, tactics(model), Asked::InTurn),
            // Only the tactic `ReadsFrom` can handle a read from thin air, so it always comes first.
            Some(tactic) => self.walk(model, &[Tactic::ReadsFrom, tactic], Asked::ByName),
        }
    }
}

/// Whether a model gives a meaning to all events of an execution. The error names the first event without a meaning.
///
/// ```
/// use model::Model;
/// use history::execution::Kind::Write;
/// use history::{ExecutionBuilder, MemoryOrder};
///
/// let mut builder = ExecutionBuilder::new();
/// builder.push_ordered(0, Write, 0, MemoryOrder::SequentiallyConsistent);
/// let execution = builder.build();
/// assert!(memory::fits(Model::Ra, &execution).is_ok());
/// assert!(memory::fits(Model::Rc20, &execution).is_err());
/// ```
pub fn fits(model: Model, execution: &Execution) -> Result<(), c11::SequentialAccess> {
    if model.row().sequential_accesses { Ok(()) } else { c11::without_sequential_accesses(execution) }
}

/// Starts a thread that helps to decide an execution.
fn spawn_helper<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> ScopedJoinHandle<'scope, T> {
    let helper = std::thread::Builder::new().name(HELPER.to_owned());
    helper.spawn_scoped(scope, work).expect("the system can start another thread")
}

/// Waits for a helper, and returns its result.
fn join_helper<T>(helper: ScopedJoinHandle<'_, T>) -> T {
    helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Checks that there is room for so many clocks, each with an entry for every thread.
fn check_room(budget: &Budget, execution: &Execution, clocks: usize) -> Result<(), GaveUp> {
    check_room_for(budget, execution.thread_count(), clocks)
}

/// Checks that there is room for so many clocks of so many entries.
fn check_room_for(budget: &Budget, entries: usize, clocks: usize) -> Result<(), GaveUp> {
    budget.check_room_for_clocks(clocks, entries, order::Clocks::bytes(entries, clocks))
}

fn consistent(strategy: &'static str, evidence: Option<Evidence>) -> Decided {
    Decided { verdict: Verdict::Consistent, strategy, reason: None, evidence }
}

fn violation(strategy: &'static str, evidence: Evidence) -> Decided {
    Decided { verdict: Verdict::Violation, strategy, reason: None, evidence: Some(evidence) }
}

fn unknown(strategy: &'static str, reason: String) -> Decided {
    Decided { verdict: Verdict::Unknown, strategy, reason: Some(reason), evidence: None }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
