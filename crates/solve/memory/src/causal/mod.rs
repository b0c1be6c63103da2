//! The causal family: `cc`, `ccv`, `cm`, `ccm`. (Section 3 of GCC, *Gradual Consistency Checking*. The algorithms of
//! `cc` and `ccv` are from RF, *Optimal Reads-From Consistency Checking for C11-Style Memory Models*.)
//!
//! Causality is `co = (po u rf)+`. For a read r of w and another write w' on the same location:
//!
//! - `cc` holds iff `co` is acyclic and never w co w' co r: no read returns a value that its causal past has
//!   overwritten;
//! - `ccv` holds iff `cc` does and `po u rf u cf[co]` is acyclic, where w' co r puts (w', w) into `cf[co]`;
//! - `cm` holds iff for each thread the least order over its past that has `co`, and (w', w) whenever r is the thread's
//!   own and w' is before r in that order, is acyclic ([`cm`] has the argument why one sweep finds it);
//! - `ccm` holds iff `po u rf u pww u rw[pww]` is acyclic, `pww = (hb_WW u cf[hb])+`, with `hb` the closure of the
//!   union of all those orders ([`ccm`]).
//!
//! A read-modify-write is one event that reads and writes, and w' is never r itself. Fences order nothing that program
//! order does not. The initial write of a location is before everything.
//!
//! All four start from the vector clocks of `co`. Clocks are frontiers of event numbers: see [`order::clocks`]. The
//! engines of `cc` and `ccv` keep the clocks of recent writes only. Those of `cm` and `ccm` keep all clocks
//! ([`Causality`]). If there are many threads of few events each, clocks are lists ([`many`]).

mod bounds;
pub mod cc;
pub mod ccm;
pub mod ccv;
pub mod cm;
mod cuts;
pub(crate) mod derive;
mod lasts;
mod log;
mod many;
mod targets;

use std::cell::Cell;

use history::Execution;
use history::execution::{Event, EventId, Kind};
use model::{Derivation, Evidence, GaveUp, Model};
use order::lanes::{BLOCK, lanes};
use order::{Clocks, Entries, Failure, Width, prefetch};

use crate::writes::Writes;
use crate::{Budget, Limits, check_room};
use derive::Deriver;

/// Why an engine did not answer `consistent`.
#[derive(Debug)]
pub enum Halt {
    /// The model is violated; the derivation says why.
    Violation(Derivation),
    /// Nothing is known.
    GaveUp(GaveUp),
}

impl From<GaveUp> for Halt {
    fn from(why: GaveUp) -> Self {
        Self::GaveUp(why)
    }
}

/// Why a pass ended early.
#[derive(Debug)]
enum PassStop {
    Halt(Halt),
    /// The pass needed a clock that is not kept any more.
    Forgotten,
    /// A conflict was found too late: it crosses a [cut](cuts). The pass has to run again without cuts.
    Late,
}

impl From<Halt> for PassStop {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

/// The result of an engine. If the model holds and a witness was asked for, it has the evidence.
pub type Answer = Result<Option<Evidence>, Halt>;

/// Decides a model of the family. The clocks of `co` are kept in `causality`, for the next model that needs all of
/// them. The execution must have no thin-air reads.
pub(crate) fn decide<'a>(
    model: Model,
    execution: &'a Execution,
    witness: bool,
    limits: &Limits,
    causality: &mut Option<Causality<'a>>,
) -> Answer {
    match many::decide(model, execution, witness, limits) {
        Err(Halt::GaveUp(GaveUp::Memory { .. })) => {}
        answer => return answer,
    }
    let events = execution.len();
    // How many clocks there are: `ccv` has bounds as well, `ccm` the clocks of two orders and a row for each write.
    match model {
        // Mostly there is room for a clock of every event, and then the writes need not be counted.
        Model::Cc | Model::Ccv => {
            let each = if model == Model::Cc { 1 } else { 2 };
            check_room(&limits.budget, execution, each * events)
                .or_else(|_| check_room(&limits.budget, execution, each * write_count(execution)))?;
        }
        Model::Cm => check_room(&limits.budget, execution, events)?,
        _ => check_room(&limits.budget, execution, 2 * events + write_count(execution))?,
    }
    match model {
        Model::Cc => return cc::check(execution, limits),
        Model::Ccv => return ccv::check(execution, witness, limits),
        _ => {}
    }
    let causality = match causality {
        Some(causality) => causality,
        None => causality.insert(Causality::new(execution, &limits.budget)?),
    };
    match model {
        Model::Cm => cm::check(causality, witness, limits),
        Model::Ccm => ccm::check(causality, limits),
        _ => unreachable!("{model} has no engine in this family"),
    }
}

/// Decides a model of the family as [`decide`] does, if there are many threads of few events each. Otherwise it gives
/// up.
pub(crate) fn by_lists(model: Model, execution: &Execution, witness: bool, limits: &Limits) -> Answer {
    many::decide(model, execution, witness, limits)
}

/// Visits all events in an order that extends `co`. The order is close to one in which they may have happened, so that
/// the clocks that a pass needs are still in the cache. `visit(number, event, thread, known, clocks)` is called when
/// the running clock of the thread has everything before the event, and not yet the event itself. `known` tells whether
/// the thread knew of the source of a read before the read. The clocks of the kinds of events that `keep` names are
/// kept. These must include all writes that another thread reads from.
///
/// It is a violation if `co` is cyclic, or if `visit` finds a violation. The execution must have no thin-air reads.
fn pass<W: Width>(
    execution: &Execution,
    clocks: &mut Clocks<W>,
    budget: &Budget,
    keep: impl Fn(Kind) -> bool,
    mut visit: impl FnMut(u32, Event, usize, bool, &Clocks<W>) -> Result<(), PassStop>,
) -> Result<(), PassStop> {
    let threads = execution.threads();
    let events = execution.events();
    let chain_of = |event: u32| threads[event as usize].index();
    let found: Cell<Option<PassStop>> = Cell::new(None);
    let stop = Cell::new(false);
    let outcome = order::schedule(
        execution.starts(),
        chain_of,
        || stop.get() || budget.is_due(),
        |_, thread, id| {
            if let Some(later) = events.get(id as usize + PREFETCH_DISTANCE) {
                clocks.prefetch(later.source.0);
                prefetch(threads, later.source.index());
            }
            let event @ Event { source, kind, .. } = events[id as usize];
            let mut known = true;
            if source.is_event() {
                if !clocks.is_kept(source.0) {
                    return Some(source.0);
                }
                if let Some(changed) = clocks.join(thread, source.0) {
                    known = !changed;
                } else {
                    found.set(Some(PassStop::Forgotten));
                    stop.set(true);
                }
            }
            if !stop.get()
                && let Err(why) = visit(id, event, thread, known, clocks)
            {
                found.set(Some(why));
                stop.set(true);
            }
            if keep(kind) {
                clocks.keep(id, thread);
            }
            None
        },
    );
    if let Some(why) = found.into_inner() {
        return Err(why);
    }
    match outcome {
        Ok(()) => Ok(()),
        Err(Failure::Interrupted) => Err(Halt::GaveUp(budget.why()).into()),
        Err(Failure::Stuck(stuck)) => {
            Err(Halt::Violation(Deriver::new(execution).causal_cycle(&stuck.cycle(chain_of))).into())
        }
    }
}

/// How many events ahead the source of an event is prefetched.
const PREFETCH_DISTANCE: usize = 6;

/// Runs an algorithm that needs the clocks of writes. The first run keeps only the clocks of recent writes. If a run
/// needs a clock that was forgotten, the next run keeps more of them. If a run was [late](PassStop::Late), it is
/// repeated. `run` is told how many clocks are kept: `usize::MAX` if all are.
fn with_write_clocks<T, W: Width>(
    width: W,
    execution: &Execution,
    limits: &Limits,
    mut run: impl FnMut(&mut Clocks<W>, usize) -> Result<T, PassStop>,
) -> Result<T, Halt> {
    let mut most = execution.len();
    let knobs = &limits.knobs.causal;
    let mut keep = knobs.recent_clocks.min(knobs.recent_entries / width.entries()).max(1);
    loop {
        let recent = if keep < most { keep } else { usize::MAX };
        match run(&mut Clocks::of_width(width, execution.starts(), most.min(keep)), recent) {
            Err(PassStop::Late) => {}
            Err(PassStop::Forgotten) if keep < most => {
                most = write_count(execution);
                keep *= 16;
            }
            answer => return answer.map_err(PassStop::with_all_kept),
        }
    }
}

/// How many writes there are.
pub fn write_count(execution: &Execution) -> usize {
    execution.events().iter().filter(|event| event.kind.writes()).count()
}

/// The entries of the clocks of an execution, in whole blocks of lanes.
fn in_blocks(execution: &Execution) -> Entries {
    Entries(lanes(execution.thread_count()))
}

/// Whether one block of lanes is enough for the clocks of an execution.
fn in_one_block(execution: &Execution) -> bool {
    execution.thread_count() <= BLOCK
}

impl PassStop {
    /// Why a pass ended early, if it keeps all clocks.
    fn with_all_kept(self) -> Halt {
        match self {
            Self::Halt(halt) => halt,
            Self::Forgotten | Self::Late => unreachable!("all clocks are kept"),
        }
    }
}

/// Causality: the clock of every event under `co`, and the index of the writes.
#[derive(Debug)]
pub struct Causality<'a> {
    /// The execution.
    pub execution: &'a Execution,
    /// Its writes by location.
    pub writes: Writes,
    /// The clock of each event: the events that are `co`-before it, and the event itself.
    pub clocks: Clocks,
}

impl<'a> Causality<'a> {
    /// Computes `co`. It is a violation if `co` is cyclic. The execution must have no thin-air reads.
    pub fn new(execution: &'a Execution, budget: &Budget) -> Result<Self, Halt> {
        let mut clocks = Clocks::new(execution.starts(), execution.len());
        let all = |_| true;
        pass(execution, &mut clocks, budget, all, |_, _, _, _, _| Ok(())).map_err(PassStop::with_all_kept)?;
        Ok(Self { execution, writes: Writes::new(execution), clocks })
    }

    fn thread(&self, event: u32) -> usize {
        self.execution.thread(EventId(event)).index()
    }
}

#[cfg(test)]
mod tests {
    use workload::memory::{MemoryConfig, execution};
    use workload::{cases, small};

    use super::{Causality, Halt, cc, ccv, cm};
    use crate::knobs::CausalKnobs;
    use crate::{Knobs, Limits};

    fn of_causal(causal: CausalKnobs) -> Limits {
        Limits { knobs: Knobs { causal, ..Knobs::DEFAULT }, ..Limits::default() }
    }

    /// The limits are very small, and all processors share the views. So the methods for large executions run.
    #[test]
    fn what_is_far_and_large() {
        let limits = of_causal(CausalKnobs {
            recent_clocks: 4,
            look_back: 1,
            look_back_per_thread: 0,
            conflicts: 16,
            worth_sharing: 1,
            ..CausalKnobs::DEFAULT
        });
        let mut violations = 0;
        for (case, execution) in small::executions(3).take(cases(3_000) as usize).enumerate() {
            if !execution.thin_air().is_empty() {
                continue;
            }
            let expect = |model, answer: &super::Answer| {
                let allowed = oracle::allowed(model, &execution);
                assert_eq!(allowed, answer.is_ok(), "case {case}, {model:?}");
                assert!(allowed || matches!(answer, Err(Halt::Violation(_))));
                u32::from(!allowed)
            };
            violations += expect(oracle::Model::Cc, &cc::check(&execution, &limits));
            violations += expect(oracle::Model::Ccv, &ccv::check(&execution, false, &limits));
            violations += expect(oracle::Model::Ccv, &ccv::check(&execution, true, &limits));
            let causality = Causality::new(&execution, &limits.budget);
            let views = causality.and_then(|causality| cm::check(&causality, false, &limits));
            violations += expect(oracle::Model::Cm, &views);
        }
        assert!(violations > 100);
    }

    /// More threads than one block of lanes has.
    #[test]
    fn many_threads() {
        let (mut allowed, mut violations) = (0, 0);
        for seed in 0..cases(1_000) {
            let threads = 17 + seed as u32 % 20;
            let config = MemoryConfig {
                threads,
                operations: 60,
                locations: 2,
                seed,
                rmws: 10,
                perturb: 2,
                ..MemoryConfig::default()
            };
            let execution = execution(&config);
            if !execution.thin_air().is_empty() {
                continue;
            }
            // Every other execution is decided with the default limits.
            let mut limits = Limits::default();
            if seed % 2 == 0 {
                limits = of_causal(CausalKnobs {
                    recent_clocks: 4,
                    look_back: 2,
                    look_back_per_thread: 0,
                    conflicts: 16,
                    ..CausalKnobs::DEFAULT
                });
            }
            for (model, answer) in [
                (oracle::Model::Cc, cc::check(&execution, &limits)),
                (oracle::Model::Ccv, ccv::check(&execution, false, &limits)),
                (oracle::Model::Ccv, ccv::check(&execution, true, &limits)),
            ] {
                assert_eq!(oracle::allowed(model, &execution), answer.is_ok(), "seed {seed}, {model:?}");
                *if answer.is_ok() { &mut allowed } else { &mut violations } += 1;
            }
        }
        assert!(allowed > 100 && violations > 100, "{allowed} {violations}");
    }
}
