//! The memory models, and the engines that decide them.
//!
//! One module a family; each states its definition and the argument why its algorithm decides it. [`check`] is the one
//! way in: it tries the [tactics](certificate::Tactic) that the model's [row](certificate::model::Row) lists, one after
//! the other, until one decides. [`lattice`] says which model implies which.

pub mod c11;
pub mod causal;
pub mod classify;
pub mod coherence;
pub mod lattice;
pub mod limits;
pub mod observed;
pub mod sc;
pub mod store;
pub mod strategy;
mod tactics;
pub mod tso;
pub mod writes;

use std::cell::OnceCell;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use causal::Causality;
use certificate::{Decision, Evidence, GaveUp, Model, Tactic, Verdict, View};
use history::Execution;
use store::windows;
use tactics::{Asked, Attempt};

pub use certificate::Interrupt;
pub use lattice::implications;
pub use limits::Limits;
pub use strategy::{Baseline, Line, Strategy};

/// How to check.
#[derive(Copy, Clone, Debug, Default)]
pub struct Options {
    /// Whether to build the witness of a consistent execution. The evidence of a violation is always built.
    pub witness: bool,
    /// When to give up and answer `unknown`.
    pub deadline: Option<Instant>,
}

/// The name of the threads that help to decide one execution. The thread that decides it waits for them, and panics
/// if one does.
pub const HELPER: &str = "helper";

/// So many events can be numbered in clocks: see [`order::lanes`].
const MOST_EVENTS: usize = i32::MAX as usize;
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
    causality: Option<Causality<'a>>,
    /// Whether `sc` was found to hold.
    is_sequential: bool,
    /// Whether to ask for the recorded order first, whatever the model.
    asks_recorded: bool,
    /// All events in the order of the file, if that is one in which every read returns the last write. Found out once.
    recorded: OnceCell<Option<Vec<u32>>>,
    /// What was found when an interleaving was looked for in windows. Found out once, if there was time.
    windows: Option<windows::Answer>,
    /// Whether there are rmws. Found out once.
    rmws: OnceCell<bool>,
}

impl<'a> Checker<'a> {
    /// Nothing is computed yet.
    pub fn new(execution: &'a Execution, options: &Options) -> Self {
        Self {
            execution,
            options: *options,
            strategy: Strategy::Auto,
            causality: None,
            is_sequential: false,
            asks_recorded: false,
            recorded: OnceCell::new(),
            windows: None,
            rmws: OnceCell::new(),
        }
    }

    /// From now on, asks first whether the order of the file explains all reads. If it does, `sc` holds, and with it
    /// every model: no engine need run.
    pub fn ask_recorded(&mut self) {
        self.asks_recorded = true;
    }

    /// Changes when to give up.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.options.deadline = deadline;
    }

    /// Changes how the models that the strategy speaks of are decided.
    pub fn set_strategy(&mut self, strategy: Strategy) {
        self.strategy = strategy;
    }

    /// Decides one model: tries its tactics, one after the other, until one decides.
    pub fn check(&mut self, model: Model) -> Decision {
        let row = model.row();
        if row.view != View::Execution {
            return unknown(self.strategy.name(), format!("{model} does not speak of executions"));
        }
        match self.strategy.tactic().filter(|&tactic| row.speaks(tactic)) {
            None => self.walk(model, row.tactics, Asked::InTurn),
            // No other tactic knows what to do with a read from thin air.
            Some(tactic) => self.walk(model, &[Tactic::ReadsFrom, tactic], Asked::ByName),
        }
    }
}

/// Whether a model gives a meaning to all events of an execution; if not, the first that it gives none.
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

/// What a helper has found.
fn join_helper<T>(helper: ScopedJoinHandle<'_, T>) -> T {
    helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// That there is memory for so many clocks, with an entry for each thread.
fn check_room(execution: &Execution, clocks: usize) -> Result<(), GaveUp> {
    check_room_for(execution.thread_count(), clocks)
}

/// That there is memory for so many clocks of so many entries.
fn check_room_for(entries: usize, clocks: usize) -> Result<(), GaveUp> {
    let bytes = order::Clocks::bytes(entries, clocks);
    if bytes <= CLOCK_LIMIT { Ok(()) } else { Err(GaveUp::Clocks { clocks, entries, bytes, limit: CLOCK_LIMIT }) }
}

fn consistent(strategy: &'static str, evidence: Option<Evidence>) -> Decision {
    Decision { verdict: Verdict::Consistent, strategy, reason: None, evidence }
}

fn violation(strategy: &'static str, evidence: Evidence) -> Decision {
    Decision { verdict: Verdict::Violation, strategy, reason: None, evidence: Some(evidence) }
}

fn unknown(strategy: &'static str, reason: String) -> Decision {
    Decision { verdict: Verdict::Unknown, strategy, reason: Some(reason), evidence: None }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
