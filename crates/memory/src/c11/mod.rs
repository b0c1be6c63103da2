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
mod relaxed;
mod rows;
mod strong;
mod turns;

use std::time::Instant;

use history::execution::EventId;
use history::{Execution, MemoryOrder};

use acyclic::Acyclic;
use causal::Causal;
use certificate::Model;
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
    /// This read knows of a write that overwrote its source.
    Overwritten(EventId),
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

    /// x
    pub fn stats(&self) -> String { format!("edges {} chains {} back {}", self.coherence.edges.len(), self.coherence.chains.len(), self.coherence.edges.iter().filter(|e|e[0]>e[1]).count()) }

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
}
