//! The C11 family: `ra`, `sra`, `wra`, `rc20` and `relaxed`.
//!
//! RF in this module is the paper *Optimal Reads-From Consistency Checking for C11-Style Memory Models*: see
//! `docs/models.md`.
//!
//! The models share these relations: `fr = (rf^-1;mo) \ id`, `sw = [E>=REL];([F];po)?;rf+;(po;[F])?;[E>=ACQ]`, `hb =
//! (po u sw)+`. In `ra`, `sra` and `wra` every access is release and acquire, so `hb = (po u rf)+`. In `relaxed` no
//! access is, so `hb = po`. In `rc20` the memory orders are as written: an access without one is relaxed, and a fence
//! without one is acquire and release. All five models ask for `po u rf` to be acyclic, and for these axioms:
//!
//! | model | further axioms, for some modification order `mo` |
//! | --- | --- |
//! | `ra`, `rc20`, `relaxed` | write coherence, read coherence, atomicity |
//! | `sra` | `hb u mo` is acyclic, read coherence, atomicity |
//! | `wra` | no w' with w hb w' hb r for a read r of w; no two rmws read one write |
//!
//! Write coherence: `mo;rf?;hb?` is irreflexive. Read coherence: `fr;rf?;hb` is irreflexive. Atomicity: `fr;mo` is
//! irreflexive.
//!
//! `c20` is `rc20` with sequentially consistent accesses and fences, and `rc11` has longer release sequences besides:
//! see [`sequential`].
//!
//! [`C11Checker`] decides these models, and keeps its memory from one execution to the next. [`Incremental`] decides
//! `ra` and `rc20` event by event.

mod acyclic;
pub(crate) mod causal;
mod clocks;
mod coherence;
mod downward;
mod explain;
mod happens;
mod incremental;
mod po_rf_pass;
mod pool;
mod relaxed;
mod rows;
pub(crate) mod sequential;
mod small;
mod strong;

use history::execution::{Event, EventId, Kind};
use history::{Execution, MemoryOrder, OperationId};
use thiserror::Error;

pub use incremental::{C11Violation, Incremental, Mark, Refused, WriteId};

use crate::{Attempt, Knobs, MemoryOptions};

use acyclic::Acyclic;
use causal::Causal;
use clocks::MAX_COUNT;
use coherence::Coherence;
use model::{Budget, Evidence, GaveUp, Model};
use relaxed::Relaxed;
use small::{Orders, Small};

/// Checks that there is room for so many words more.
fn check_room(budget: &Budget, words: usize) -> Result<(), Ended> {
    Ok(budget.check_room(words.saturating_mul(4))?)
}

/// Checks that clocks can count the events.
fn check_count(execution: &Execution) -> Result<(), Ended> {
    if execution.len() < MAX_COUNT as usize { Ok(()) } else { Err(GaveUp::Events { most: MAX_COUNT as usize }.into()) }
}

/// Why a pass refuses an execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Found {
    /// `po u rf` has a cycle.
    ThinAirCycle,
    /// This rmw reads a write that another rmw has read.
    SharedSource(EventId),
    /// The value of some access that happens before this one must be both before and after its target.
    Incoherent(EventId),
    /// The chains of some location cannot be ordered.
    ChainCycle,
    /// This read knows of this write, which overwrote its source.
    Overwritten { read: EventId, write: EventId },
    /// `hb` and the edges that every `mo` must have, have a cycle.
    StoreCycle,
    /// A search found no order.
    NoOrder,
}

/// Why a pass stopped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Ended {
    Found(Found),
    Undecided(Undecided),
}

impl From<GaveUp> for Ended {
    fn from(why: GaveUp) -> Self {
        Self::Undecided(why.into())
    }
}

/// `rc20` has no sequentially consistent accesses or fences, and this event is one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("rc20 has no sequentially consistent accesses or fences")]
pub struct SequentialAccess(pub EventId);

/// Whether an execution has no sequentially consistent accesses or fences, of which `rc20` says nothing. The error
/// names the first one.
pub fn without_sequential_accesses(execution: &Execution) -> Result<(), SequentialAccess> {
    let sequential = |event: &Event| event.order == MemoryOrder::SequentiallyConsistent;
    match execution.events().iter().position(sequential) {
        None => Ok(()),
        Some(at) => Err(SequentialAccess(EventId(at as u32))),
    }
}

/// Why there is no answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Undecided {
    /// The model is `rc20`, which says nothing of this event.
    #[error(transparent)]
    Sequential(#[from] SequentialAccess),
    /// The model is of another family.
    #[error("{0} is not a model of the C11 family")]
    OtherFamily(Model),
    /// There was no time left; or the clocks, or the search that `sra` needs for rmws, would take too much memory.
    #[error(transparent)]
    GaveUp(#[from] GaveUp),
}

/// Decides executions, one after the other, in the same memory.
///
/// It is for programs that ask often, such as a model checker. After the first few executions, it allocates nothing for
/// an execution that is no larger than those before. (The exception is `sra` with rmws, which may need a search.)
///
/// ```
/// use model::Model;
/// use history::MemoryOrder::{Acquire, Relaxed, Release};
/// use history::execution::{Execution, ExecutionBuilder, Kind};
/// use memory::c11::C11Checker;
///
/// let mut builder = ExecutionBuilder::new();
/// let mut execution = Execution::default();
/// let mut checker = C11Checker::new();
/// // Message passing: thread 1 sees the flag, but not the data.
/// for (order, allowed) in [(Release, false), (Relaxed, true)] {
///     builder.clear();
///     let (data, flag) = (0, 1);
///     builder.push_ordered(0, Kind::Write, data, Relaxed);
///     let raised = builder.push_ordered(0, Kind::Write, flag, order);
///     let seen = builder.push_ordered(1, Kind::Read, flag, Acquire);
///     builder.read_from(seen, Some(raised));
///     let stale = builder.push_ordered(1, Kind::Read, data, Relaxed);
///     builder.read_from(stale, None); // the initial value
///     builder.build_into(&mut execution);
///     assert_eq!(checker.allows(Model::Rc20, &execution), Ok(allowed));
/// }
/// // Under `ra` every access synchronises, whatever its order.
/// assert_eq!(checker.allows(Model::Ra, &execution), Ok(false));
/// ```
#[derive(Debug, Default)]
pub struct C11Checker {
    coherence: Coherence,
    relaxed: Relaxed,
    causal: Causal,
    acyclic: Acyclic,
    small: Small,
    /// What a search has found: an order of all events, or the refutation of one.
    order: Option<Vec<u32>>,
    refutation: Option<Evidence>,
    budget: Budget,
    knobs: Knobs,
    /// How many steps a search may take, if there is a limit.
    steps: Option<u64>,
}

impl C11Checker {
    /// A checker without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what may be used from now on. A new checker has no limit.
    pub fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// Whether the model allows the execution.
    pub fn allows(&mut self, model: Model, execution: &Execution) -> Result<bool, Undecided> {
        let orders = match model {
            Model::Ra => Some(Orders::Strong),
            Model::Rc20 => Some(Orders::Written),
            Model::Relaxed => Some(Orders::Weak),
            _ => None,
        };
        if let Some(orders) = orders
            && Small::fits(execution)
        {
            if model == Model::Rc20 {
                without_sequential_accesses(execution)?;
            }
            return Ok(self.small.allows(orders, execution));
        }
        match self.find(model, execution)? {
            None => Ok(execution.thin_air().is_empty()),
            Some(_) => Ok(false),
        }
    }

    /// The verdict with its evidence. `strategy` is the name of the tactic, and `steps` says how many steps a search
    /// may take. The execution must have no thin-air reads.
    pub(crate) fn check(
        &mut self,
        model: Model,
        strategy: &'static str,
        execution: &Execution,
        options: &MemoryOptions,
        steps: u64,
    ) -> Attempt {
        self.budget = options.budget.clone();
        self.knobs = options.knobs;
        self.steps = Some(steps);
        Ok(Some(match self.find(model, execution) {
            Ok(None) => crate::consistent(strategy, options.witness.then(|| self.witness(model, execution))),
            Ok(Some(found)) => crate::violation(strategy, self.explain(model, execution, found)),
            Err(Undecided::GaveUp(why)) => return Err(why),
            Err(undecided) => crate::unknown(strategy, undecided.to_string()),
        }))
    }

    /// What contradicts the model, if anything does.
    fn find(&mut self, model: Model, execution: &Execution) -> Result<Option<Found>, Undecided> {
        if model == Model::Rc20 {
            without_sequential_accesses(execution)?;
        }
        match self.decide(model, execution) {
            Ok(()) => Ok(None),
            Err(Ended::Found(found)) => Ok(Some(found)),
            Err(Ended::Undecided(undecided)) => Err(undecided),
        }
    }

    fn decide(&mut self, model: Model, execution: &Execution) -> Result<(), Ended> {
        let budget = &self.budget;
        match model {
            Model::Ra | Model::Rc20 => {
                if model == Model::Ra {
                    self.coherence.pass::<false>(execution, budget)?;
                } else {
                    self.coherence.pass::<true>(execution, budget)?;
                }
                self.coherence.edges.check_room_to_sort(budget)?;
                let acyclic = self.acyclic.holds(self.coherence.chains, &mut self.coherence.edges);
                if acyclic { Ok(()) } else { Err(Ended::Found(Found::ChainCycle)) }
            }
            Model::Relaxed => {
                self.relaxed.pass(execution, budget)?;
                let acyclic = self.acyclic.holds(self.relaxed.chains.len(), &mut self.relaxed.edges);
                if acyclic { Ok(()) } else { Err(Ended::Found(Found::ChainCycle)) }
            }
            Model::Wra => self.causal.pass::<false>(execution, budget),
            Model::Sra => {
                self.causal.pass::<true>(execution, budget)?;
                if !self.causal.rmws {
                    return self.causal.order(execution, budget);
                }
                if !execution.thin_air().is_empty() {
                    return Ok(());
                }
                match strong::search(execution, &self.causal, &self.knobs, self.steps.unwrap_or(u64::MAX), budget)? {
                    Ok(order) => self.order = Some(order),
                    Err(refutation) => {
                        self.refutation = Some(refutation);
                        return Err(Ended::Found(Found::NoOrder));
                    }
                }
                Ok(())
            }
            _ => Err(Ended::Undecided(Undecided::OtherFamily(model))),
        }
    }

    /// The witness for the last execution, which was found to be allowed.
    fn witness(&mut self, model: Model, execution: &Execution) -> Evidence {
        let mut orders: Vec<Vec<OperationId>> = vec![Vec::new(); execution.location_count()];
        let mut place = |write: u32| {
            let location = execution.events()[write as usize].location;
            orders[location.index()].push(execution.operation(EventId(write)));
        };
        let (chains, tops, edges) = match model {
            Model::Wra => return Evidence::DecideAgain,
            Model::Sra => {
                let order = if self.causal.rmws { self.order.as_deref() } else { self.causal.writes.get(1..) };
                let is_write = |&write: &u32| execution.events()[write as usize].kind.writes();
                order.unwrap_or_default().iter().copied().filter(is_write).for_each(place);
                return Evidence::ModificationOrders(orders);
            }
            Model::Relaxed => (self.relaxed.chains.len(), &self.relaxed.tops[..], self.relaxed.edges.all()),
            _ => (self.coherence.chains, self.coherence.tops(execution), self.coherence.edges.all()),
        };
        let locations = execution.location_count();
        let mut updaters = vec![u32::MAX; execution.len()];
        let mut initial_updaters = vec![u32::MAX; locations];
        for (at, event) in (0..).zip(execution.events()).filter(|(_, event)| event.kind == Kind::Rmw) {
            match event.source {
                EventId::INIT => initial_updaters[event.location.index()] = at,
                source => updaters[source.index()] = at,
            }
        }
        // The chains of initial writes come first, because they have the least numbers and nothing precedes them.
        self.acyclic.sort(chains, edges, |chain| {
            let mut write = match (chain as usize).checked_sub(locations) {
                None => initial_updaters[chain as usize],
                Some(top) => tops[top],
            };
            while write != u32::MAX {
                place(write);
                write = updaters[write as usize];
            }
        });
        Evidence::ModificationOrders(orders)
    }
}
