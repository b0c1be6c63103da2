//! The causal family (GCC section 3): `cc`, `ccv`, `cm`, `ccm`.
//!
//! Causality is `co = (po u rf)+`. For a read r of w and another write w' on the same location:
//!
//! - `cc` holds iff `co` is acyclic and never w co w' co r: nobody reads what its causal past has overwritten;
//! - `ccv` holds iff `cc` does and `po u rf u cf[co]` is acyclic, where w' co r puts (w', w) into `cf[co]`;
//! - `cm` holds iff for each thread the least order over its past that has `co`, and (w', w) whenever r is the thread's
//!   own and w' is before r in that order, is acyclic ([`cm`] has the argument why one sweep finds it);
//! - `ccm` holds iff `po u rf u pww u rw[pww]` is acyclic, `pww = (hb_WW u cf[hb])+`, with `hb` the closure of the union of
//!   all those orders ([`ccm`]).
//!
//! A read-modify-write is one event that reads and writes, and w' is never r itself. Fences order nothing that program
//! order does not. The initial write of a location is before everything.
//!
//! All four start from the vector clocks of `co` ([`Causality`]); clocks are frontiers of event numbers, see
//! [`order::clocks`].

mod bounds;
pub mod cc;
pub mod ccm;
pub mod ccv;
pub mod cm;
mod derive;

use certificate::{Derivation, Evidence};
use history::Execution;
use history::execution::EventId;
use order::{Clocks, Failure};

use crate::Interrupt;
use crate::writes::Writes;
use derive::Deriver;

/// Why an engine did not answer `consistent`.
#[derive(Debug)]
pub enum Halt {
    /// The model is violated; the derivation says why.
    Violation(Derivation),
    /// There was no time left.
    Interrupted,
}

/// What an engine finds: evidence of consistency if a witness was asked for.
pub type Answer = Result<Option<Evidence>, Halt>;

/// Causality: the clock of every event under `co`, and the index of the writes.
#[derive(Debug)]
pub struct Causality<'a> {
    /// The execution.
    pub execution: &'a Execution,
    /// Its writes by location.
    pub writes: Writes,
    /// The clock of each event: what is `co`-before it, and itself.
    pub clocks: Clocks,
    /// All events in an order that extends `co`, and in which they may well have happened: a pass in this order finds
    /// what it needs in the cache.
    pub order: Vec<u32>,
}

impl<'a> Causality<'a> {
    /// Computes `co`; a violation if it is cyclic. The execution must have no thin-air reads.
    pub fn new(execution: &'a Execution, interrupt: Interrupt) -> Result<Self, Halt> {
        let starts = execution.starts();
        let threads = execution.threads();
        let events = execution.events();
        let mut clocks = Clocks::new(starts);
        let mut order = Vec::with_capacity(execution.len());
        let outcome = order::schedule(
            starts,
            |event| threads[event as usize].index(),
            || interrupt.is_due(),
            |cursors, id| {
                let thread = threads[id as usize].index();
                let source = events[id as usize].source;
                let of = if source.is_event() { threads[source.index()].index() } else { thread };
                if source.is_event() && source.0 >= cursors[of] {
                    return Some(source.0);
                }
                clocks.begin(id, thread, starts);
                if of != thread {
                    clocks.join(id, source.0);
                }
                order.push(id);
                None
            },
        );
        match outcome {
            Ok(()) => Ok(Self { execution, writes: Writes::new(execution), clocks, order }),
            Err(Failure::Interrupted) => Err(Halt::Interrupted),
            Err(Failure::Stuck(stuck)) => {
                let cycle = stuck.cycle(|event| threads[event as usize].index());
                Err(Halt::Violation(Deriver::new(execution).causal_cycle(&cycle)))
            }
        }
    }

    /// Whether `a` is `co`-before `b`, or the same.
    pub fn before(&self, a: u32, b: u32) -> bool {
        a < self.clocks.entry(b, self.thread(a))
    }

    fn thread(&self, event: u32) -> usize {
        self.execution.thread(EventId(event)).index()
    }
}
