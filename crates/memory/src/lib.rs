//! The memory models, and the engines that decide them.
//!
//! One module a family; each states its definition and the argument why its algorithm decides it. [`check`] is the one
//! way in. [`lattice`] says which model implies which.

pub mod c11;
pub mod causal;
pub mod classify;
pub mod coherence;
pub mod lattice;
pub mod observed;
pub mod sc;
pub mod store;
pub mod tso;
pub mod writes;

use std::cell::OnceCell;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use causal::{Causality, Halt};
use certificate::{Decision, Evidence, Model, Verdict};
use history::Execution;

pub use lattice::implications;
pub use store::strategy::Strategy;
use store::windows::{self, Limits};

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

/// The name of the threads that help to decide one execution. The thread that decides it waits for them, and panics
/// if one does.
pub const HELPER: &str = "helper";

/// So many events can be numbered in clocks: see [`order::lanes`].
const MOST_EVENTS: usize = i32::MAX as usize;
/// Clocks that would take more than this are not computed: the verdict is `unknown`.
const CLOCK_LIMIT: usize = 8 << 30;

/// In a window of so many events threads may wait for each other once until an interleaving is no longer looked for,
/// if the model does not need one.
const EVENTS_A_DEADLOCK: usize = 1 << 5;

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

    fn strategy_for(&self, model: Model) -> Strategy {
        if self.strategy.speaks_of(model) { self.strategy } else { Strategy::Auto }
    }

    /// Decides one model.
    pub fn check(&mut self, model: Model) -> Decision {
        if let Some(&read) = self.execution.thin_air().first() {
            return violation("reads-from", Evidence::ThinAir(self.execution.operation(read)));
        }
        if let Some(decision) = self.as_recorded(model) {
            self.is_sequential |= model == Model::Sc && decision.verdict == Verdict::Consistent;
            return decision;
        }
        if self.execution.len() > MOST_EVENTS {
            return unknown(format!("clocks count {MOST_EVENTS} events at most"));
        }
        if let Some(decision) = self.in_windows(model) {
            return decision;
        }
        let interrupt = Interrupt { deadline: self.options.deadline };
        let (execution, witness) = (self.execution, self.options.witness);
        let (strategy, answer) = match model {
            Model::Wsc => return sc::weak(execution, witness, interrupt),
            Model::Sc => {
                let decision = sc::check(execution, self.strategy_for(model), witness, interrupt);
                self.is_sequential = decision.verdict == Verdict::Consistent;
                return decision;
            }
            Model::Wtso | Model::Tso | Model::Wpso | Model::Pso if self.sequential_suffices() => {
                return store::consistent("sc", None);
            }
            Model::Wccm => return tso::weak_causal(execution, witness, interrupt),
            Model::Wtso | Model::Wpso => return tso::weak(model, execution, witness, interrupt),
            Model::Tso | Model::Pso => {
                return tso::check(model, execution, self.strategy_for(model), witness, interrupt);
            }
            Model::Cc | Model::Ccv => {
                // The bounds of `ccv` are as large again. Mostly there is room for all events, and writes need not be
                // counted.
                let each = if model == Model::Cc { 1 } else { 2 };
                if check_room(execution, each * execution.len()).is_err()
                    && let Err(decision) = check_room(execution, each * causal::write_count(execution))
                {
                    return decision;
                }
                let answer = match model {
                    Model::Cc => causal::cc::check(execution, interrupt),
                    _ => causal::ccv::check(execution, witness, interrupt),
                };
                ("clocks", answer)
            }
            Model::Cm | Model::Ccm => {
                // `ccm` has the clocks of two orders and a row for each write.
                let events = execution.len();
                let room = if model == Model::Cm { events } else { 2 * events + causal::write_count(execution) };
                if let Err(decision) = check_room(execution, room) {
                    return decision;
                }
                let causality = match self.causality(interrupt) {
                    Ok(causality) => causality,
                    Err(decision) => return decision,
                };
                let answer = match model {
                    Model::Cm => causal::cm::check(causality, witness, interrupt),
                    _ => causal::ccm::check(causality, interrupt),
                };
                ("views", answer)
            }
            Model::Coherence => return coherence::check(execution, &self.options),
            Model::Linearizable | Model::ScObserved => {
                return unknown(format!("{model} does not speak of executions"));
            }
            Model::Relaxed | Model::Rc20 | Model::Wra | Model::Ra | Model::Sra => {
                return c11::Checker::new().check(model, execution, &self.options);
            }
        };
        conclude(strategy, answer, witness)
    }

    /// That a model holds because the recorded order explains all reads. A witness that the model has of its own is
    /// left to its engine.
    fn as_recorded(&self, model: Model) -> Option<Decision> {
        let (execution, witness) = (self.execution, self.options.witness);
        let is_due = Interrupt::at(self.options.deadline).is_due();
        let speaks = match model {
            Model::Linearizable | Model::ScObserved => false,
            Model::Sc | Model::Tso | Model::Pso if is_due => return Some(unknown(store::OUT_OF_TIME.to_owned())),
            Model::Tso | Model::Pso if self.sequential_suffices() => false,
            // As their strategy wants it.
            Model::Sc | Model::Tso | Model::Pso => {
                matches!(self.strategy_for(model), Strategy::Auto | Strategy::Recorded)
            }
            _ if !self.asks_recorded || is_due => false,
            Model::Cc | Model::Ccm | Model::Wccm | Model::Wsc | Model::Wtso | Model::Wpso | Model::Wra => true,
            Model::Rc20 => !witness && c11::without_sequential_accesses(execution).is_ok(),
            Model::Ccv | Model::Cm | Model::Ra | Model::Sra | Model::Relaxed | Model::Coherence => !witness,
        };
        if !speaks {
            return None;
        }
        let Some(line) = self.recorded.get_or_init(|| store::recorded_interleaving(execution)) else {
            let reason = "the order of the file is not an interleaving that explains the reads; another may be";
            return (self.strategy_for(model) == Strategy::Recorded).then(|| unknown(reason.to_owned()));
        };
        let operations = || store::operations(execution, line);
        // What an atomic memory does, a store buffer does that is emptied at once.
        let evidence = || match model {
            Model::Tso | Model::Pso => Evidence::MemoryOrder(operations()),
            _ => Evidence::Interleaving(operations()),
        };
        Some(store::consistent("recorded", witness.then(evidence)))
    }

    /// What an interleaving tells, or that saturation leads to a cycle, where the model has an engine that takes
    /// longer than to look for that in windows. Most executions of a memory that is right have an interleaving.
    fn in_windows(&mut self, model: Model) -> Option<Decision> {
        if !matches!(model, Model::Ccm | Model::Wccm | Model::Wsc | Model::Wtso | Model::Wpso) {
            return None;
        }
        let (execution, witness) = (self.execution, self.options.witness);
        let size = windows::size(execution)?;
        if self.sequential_suffices() {
            return Some(store::consistent("sc", None));
        }
        // Of many threads windows are large, and so are their clocks.
        if order::Clocks::bytes(execution.thread_count(), size) > CLOCK_LIMIT / 64 {
            return None;
        }
        let deadlocks = (size / EVENTS_A_DEADLOCK) as u64;
        let limits = Limits { deadlocks, interrupt: Interrupt::at(self.options.deadline) };
        let answer = self.windows.take().unwrap_or_else(|| windows::decide(execution, size, limits));
        let decision = match &answer {
            windows::Answer::Found(line) => {
                let evidence = || Evidence::Interleaving(store::operations(execution, line));
                Some(store::consistent("windows", witness.then(evidence)))
            }
            windows::Answer::Refuted(cycle) if model == Model::Wsc => {
                Some(violation("windows", Evidence::Cycle(cycle.clone())))
            }
            windows::Answer::Interrupted => return Some(unknown(store::OUT_OF_TIME.to_owned())),
            windows::Answer::Refuted(_) | windows::Answer::Nothing => None,
        };
        self.windows = Some(answer);
        decision
    }

    /// Whether what only relaxes `sc` holds because that does, and nobody wants to know more.
    fn sequential_suffices(&self) -> bool {
        self.is_sequential && !self.options.witness && self.strategy == Strategy::Auto
    }

    /// The clocks of causality, computed once.
    fn causality(&mut self, interrupt: Interrupt) -> Result<&Causality<'a>, Decision> {
        if self.causality.is_none() {
            let causality = Causality::new(self.execution, interrupt);
            self.causality = Some(causality.map_err(|halt| conclude("clocks", Err(halt), false))?);
        }
        Ok(self.causality.as_ref().expect("it was just computed"))
    }
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
fn check_room(execution: &Execution, clocks: usize) -> Result<(), Decision> {
    check_room_for(execution.thread_count(), clocks)
}

/// That there is memory for so many clocks of so many entries.
fn check_room_for(entries: usize, clocks: usize) -> Result<(), Decision> {
    let bytes = order::Clocks::bytes(entries, clocks);
    if bytes <= CLOCK_LIMIT {
        return Ok(());
    }
    Err(unknown(format!(
        "{clocks} vector clocks of {entries} entries would take {} GiB, and the limit is {} GiB",
        bytes >> 30,
        CLOCK_LIMIT >> 30
    )))
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
