//! The C11 family of RF: `ra`, `sra`, `wra`, `rc20` and `relaxed`.
//!
//! `fr = (rf^-1;mo) \ id`, `sw = [E>=REL];([F];po)?;rf+;(po;[F])?;[E>=ACQ]`, `hb = (po u sw)+`, where in `ra`, `sra`
//! and `wra` every access is release and acquire (so `hb = (po u rf)+`), in `relaxed` none is (`hb = po`), and in
//! `rc20` the orders are as written: an access without one is relaxed, a fence without one is acquire and release. All
//! want `po u rf` acyclic, and
//!
//! | model | further axioms, for some modification order `mo` |
//! | --- | --- |
//! | `ra`, `rc20`, `relaxed` | `mo;rf?;hb?` (write coherence), `fr;rf?;hb` (read coherence), `fr;mo` (atomicity) irreflexive |
//! | `sra` | `hb u mo` acyclic, read coherence, atomicity |
//! | `wra` | no w' with w hb w' hb r for a read r of w; no two rmws read one write |
//!
//! [`Checker`] decides them and keeps its memory from one execution to the next; [`Incremental`] decides `ra` and
//! `rc20` event by event.

mod acyclic;
mod causal;
mod clocks;
mod coherence;
mod downward;
mod explain;
mod happens;
mod incremental;
mod pool;
mod relaxed;
mod rows;
mod run;
mod small;
mod strong;
mod turns;

use std::time::Instant;

use history::execution::{Event, EventId, Kind};
use history::{Execution, MemoryOrder, OperationId};
use thiserror::Error;

pub use incremental::{Incremental, Refused, Violation, WriteId};

use crate::{Attempt, Options};

use acyclic::Acyclic;
use causal::Causal;
use certificate::{Evidence, GaveUp, Interrupt, Model};
use clocks::MOST;
use coherence::Coherence;
use relaxed::Relaxed;
use small::{Orders, Small};

/// Clocks or a search that take more than this are given up, in bytes.
const MEMORY_LIMIT: usize = 8 << 30;

/// That there is memory for so many words.
fn check_room(words: usize) -> Result<(), Stop> {
    if words > MEMORY_LIMIT / 4 { Err(GaveUp::Memory { limit: MEMORY_LIMIT }.into()) } else { Ok(()) }
}

/// That clocks can count the events.
fn check_count(execution: &Execution) -> Result<(), Stop> {
    if execution.len() < MOST as usize { Ok(()) } else { Err(GaveUp::Events { most: MOST as usize }.into()) }
}

/// What a pass ran into.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Found {
    /// `po u rf` has a cycle.
    ThinAirCycle,
    /// This rmw reads a write that another rmw has read.
    SharedSource(EventId),
    /// Something that happens before this access must be both before and after its target.
    Incoherent(EventId),
    /// The chains of some location cannot be ordered.
    ChainCycle,
    /// This read knows of this write, which overwrote its source.
    Overwritten { read: EventId, write: EventId },
    /// `hb` and what `mo` must be have a cycle.
    StoreCycle,
    /// A search found no order.
    NoOrder,
}

/// Why a pass stopped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stop {
    Found(Found),
    Undecided(Undecided),
}

impl From<GaveUp> for Stop {
    fn from(why: GaveUp) -> Self {
        Self::Undecided(why.into())
    }
}

/// `rc20` has no sequentially consistent accesses or fences, and this event is one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[error("rc20 has no sequentially consistent accesses or fences")]
pub struct SequentialAccess(pub EventId);

/// Whether `rc20` speaks of all events of an execution; if not, the first that it does not speak of.
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
    /// The model is `rc20`, and does not speak of this event.
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
/// For those who ask often, such as a model checker: after the first few executions nothing is allocated any more for
/// one that is no larger than those before (but by `sra` for an execution with rmws, which may need a search).
///
/// ```
/// use certificate::Model;
/// use history::MemoryOrder::{Acquire, Relaxed, Release};
/// use history::execution::{Execution, ExecutionBuilder, Kind};
/// use memory::c11::Checker;
///
/// let mut builder = ExecutionBuilder::new();
/// let mut execution = Execution::default();
/// let mut checker = Checker::new();
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
pub struct Checker {
    coherence: Coherence,
    relaxed: Relaxed,
    causal: Causal,
    acyclic: Acyclic,
    small: Small,
    /// The order that a search has found, of all events; or how it refuted that there is one.
    order: Option<Vec<u32>>,
    refutation: Option<Evidence>,
    interrupt: Interrupt,
}

impl Checker {
    /// A checker without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes when to give up; never, at first.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.interrupt = Interrupt::at(deadline);
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

    /// The verdict with its evidence, by a tactic of that name. The execution must have no thin-air reads.
    pub(crate) fn check(
        &mut self,
        model: Model,
        strategy: &'static str,
        execution: &Execution,
        options: &Options,
    ) -> Attempt {
        self.interrupt = Interrupt::at(options.deadline);
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
            Err(Stop::Found(found)) => Ok(Some(found)),
            Err(Stop::Undecided(undecided)) => Err(undecided),
        }
    }

    fn decide(&mut self, model: Model, execution: &Execution) -> Result<(), Stop> {
        let interrupt = self.interrupt;
        match model {
            Model::Ra | Model::Rc20 => {
                if model == Model::Ra {
                    self.coherence.pass::<false>(execution, interrupt)?;
                } else {
                    self.coherence.pass::<true>(execution, interrupt)?;
                }
                let acyclic = self.acyclic.holds(self.coherence.chains, &mut self.coherence.edges);
                if acyclic { Ok(()) } else { Err(Stop::Found(Found::ChainCycle)) }
            }
            Model::Relaxed => {
                self.relaxed.pass(execution, interrupt)?;
                let acyclic = self.acyclic.holds(self.relaxed.chains.len(), &mut self.relaxed.edges);
                if acyclic { Ok(()) } else { Err(Stop::Found(Found::ChainCycle)) }
            }
            Model::Wra => self.causal.pass::<false>(execution, interrupt),
            Model::Sra => {
                self.causal.pass::<true>(execution, interrupt)?;
                if !self.causal.rmws {
                    return self.causal.order(execution, interrupt);
                }
                if !execution.thin_air().is_empty() {
                    return Ok(());
                }
                match strong::search(execution, &self.causal, interrupt)? {
                    Ok(order) => self.order = Some(order),
                    Err(refutation) => {
                        self.refutation = Some(refutation);
                        return Err(Stop::Found(Found::NoOrder));
                    }
                }
                Ok(())
            }
            _ => Err(Stop::Undecided(Undecided::OtherFamily(model))),
        }
    }

    /// The witness of an execution that was just found to be allowed.
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
        // The chains of initial writes come first: they have the least numbers, and nothing precedes them.
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
