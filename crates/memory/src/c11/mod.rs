//! The C11 family of RF: `ra`, `sra`, `wra`, `rc20` and `relaxed`.
//!
//! `fr = (rf^-1;mo) \ id`, `sw = [E>=REL];([F];po)?;rf+;(po;[F])?;[E>=ACQ]`, `hb = (po u sw)+`, where in `ra`, `sra` and
//! `wra` every access is release and acquire (so `hb = (po u rf)+`), in `relaxed` none is (`hb = po`), and in `rc20` the
//! orders are as written: an access without one is relaxed, a fence without one is acquire and release. All want
//! `po u rf` acyclic, and
//!
//! | model | further axioms, for some modification order `mo` |
//! | --- | --- |
//! | `ra`, `rc20`, `relaxed` | `mo;rf?;hb?` (write coherence), `fr;rf?;hb` (read coherence), `fr;mo` (atomicity) irreflexive |
//! | `sra` | `hb u mo` acyclic, read coherence, atomicity |
//! | `wra` | no w' with w hb w' hb r for a read r of w; no two rmws read one write |
//!
//! [`Checker`] decides them and keeps its memory from one execution to the next.

mod acyclic;
mod causal;
mod clocks;
mod coherence;
mod explain;
mod happens;
mod relaxed;
mod rows;
mod strong;
mod turns;

use std::time::Instant;

use history::execution::{EventId, Kind};
use history::{Execution, MemoryOrder, OperationId};

use crate::Options;

use acyclic::Acyclic;
use causal::Causal;
use certificate::{Decision, Evidence, Model, Verdict};
use coherence::Coherence;
use relaxed::Relaxed;
use strong::Strong;
use turns::OutOfTime;

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
    /// This write must come before the rmw, which reads the initial write.
    UpdateOfInit { write: EventId, rmw: EventId },
    /// A search found no order.
    NoOrder,
}

/// Why a pass stopped.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stop {
    Found(Found),
    OutOfTime,
    OutOfMemory,
}

impl From<OutOfTime> for Stop {
    fn from(_: OutOfTime) -> Self {
        Self::OutOfTime
    }
}

/// Whether a model is of the C11 family.
pub const fn speaks_of(model: Model) -> bool {
    matches!(model, Model::Wra | Model::Ra | Model::Sra | Model::Rc20 | Model::Relaxed)
}

/// `rc20` has no `sc` accesses: the first event that is one.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rc20 has no sequentially consistent accesses or fences")]
pub struct SequentialAccess(pub EventId);

/// The first event that `rc20` does not speak of.
pub fn sequential_access(execution: &Execution) -> Result<(), SequentialAccess> {
    let sequential = |id: &EventId| execution.event(*id).order == MemoryOrder::SequentiallyConsistent;
    execution.ids().find(sequential).map_or(Ok(()), |id| Err(SequentialAccess(id)))
}

/// Decides executions, one after the other, in the same memory.
#[derive(Debug, Default)]
pub struct Checker {
    coherence: Coherence,
    relaxed: Relaxed,
    causal: Causal,
    acyclic: Acyclic,
    order: Option<Vec<u32>>,
    deadline: Option<Instant>,
}

impl Checker {
    /// A checker without memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn decide(&mut self, model: Model, execution: &Execution) -> Result<(), Stop> {
        let deadline = self.deadline;
        match model {
            Model::Ra | Model::Rc20 => {
                if model == Model::Ra {
                    self.coherence.pass::<false>(execution, deadline)?;
                } else {
                    self.coherence.pass::<true>(execution, deadline)?;
                }
                let Coherence { chains, edges, backward, .. } = &self.coherence;
                let acyclic = !backward || self.acyclic.sort(chains.len(), edges, |_| ());
                if acyclic { Ok(()) } else { Err(Stop::Found(Found::ChainCycle)) }
            }
            Model::Relaxed => {
                self.relaxed.pass(execution, deadline)?;
                let Relaxed { chains, edges, backward, .. } = &self.relaxed;
                let acyclic = !backward || self.acyclic.sort(chains.len(), edges, |_| ());
                if acyclic { Ok(()) } else { Err(Stop::Found(Found::ChainCycle)) }
            }
            Model::Wra => self.causal.pass::<false>(execution, deadline),
            _ => {
                self.causal.pass::<true>(execution, deadline)?;
                if !self.causal.rmws {
                    return self.causal.order(execution, deadline);
                }
                let mut strong = Strong::new(execution, &self.causal, deadline);
                strong.saturate()?;
                self.order = strong.search()?;
                if self.order.is_some() { Ok(()) } else { Err(Stop::Found(Found::NoOrder)) }
            }
        }
    }

    /// Whether the model allows the execution.
    pub fn allows(&mut self, model: Model, execution: &Execution) -> Option<bool> {
        if !execution.thin_air().is_empty() {
            return Some(false);
        }
        match self.decide(model, execution) {
            Ok(()) => Some(true),
            Err(Stop::Found(_)) => Some(false),
            Err(Stop::OutOfTime | Stop::OutOfMemory) => None,
        }
    }

    /// The verdict with its evidence.
    pub fn check(&mut self, model: Model, execution: &Execution, options: &Options) -> Decision {
        self.deadline = options.deadline;
        let outcome = self.decide(model, execution);
        self.deadline = None;
        let strategy = match model {
            Model::Relaxed => "chains",
            Model::Wra => "clocks",
            Model::Sra if self.causal.rmws => "saturation and search",
            Model::Sra => "clocks",
            _ => "clocks and chains",
        };
        match outcome {
            Ok(()) => Decision {
                verdict: Verdict::Consistent,
                strategy,
                reason: None,
                evidence: options.witness.then(|| self.witness(model, execution)),
            },
            Err(Stop::Found(found)) => crate::violation(strategy, self.explain(model, execution, found)),
            Err(Stop::OutOfTime) => crate::unknown("the time limit was reached".to_owned()),
            Err(Stop::OutOfMemory) => crate::unknown("the search for an order of the writes ran out of memory".to_owned()),
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
                order.unwrap_or_default().iter().copied().for_each(place);
                return Evidence::ModificationOrders(orders);
            }
            Model::Relaxed => (&self.relaxed.chains, &self.relaxed.tops, &self.relaxed.edges),
            _ => (&self.coherence.chains, &self.coherence.tops, &self.coherence.edges),
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
        self.acyclic.sort(chains.len(), edges, |chain| {
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
