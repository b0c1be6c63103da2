//! Frames: what a model asks of the order of events before any store order is known.
//!
//! The search for a store order is the same for every model in which one order explains all reads: `ww` must be total
//! for each location, and `base u ww u rw[ww]` acyclic. Models differ in the base alone. A frame is that base: the
//! events in chains, each event before the next of its chain, and for each event its *base predecessors* in other
//! chains.
//!
//! - In `sc` a chain is a thread, and the base predecessor of a read is its source.
//! - In `tso` and `pso` ([`crate::tso`]) a thread is several chains, and a read of its own thread's write need not
//!   come after it.
//! - In `sra` ([`crate::c11`]) a chain is a thread, and only rmws must return the last write. The constraints of a pure
//!   read follow from `po u rf` alone. Its base predecessors are its source, and the writes that come before its source
//!   because the read knows of them.
//!
//! The events are those of an [`Execution`] whose threads are the chains. So code that walks the threads of this
//! execution walks the chains.

use std::borrow::Cow;

use history::execution::{Event, Kind};
use history::{Execution, MemoryOrder};
use order::lanes::Lane;
use order::saturation::NONE;
use order::{Hops, Rows, Saturation};

use super::explain::Hop;
use crate::writes::Readers;

/// Which pairs of a thread's operations may take effect in the other order.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relaxation {
    /// None: `sc`.
    Nothing,
    /// A write and a later read: `tso`.
    WriteRead,
    /// A write and a later read, or a later write or rmw of another location: `pso`.
    WriteAny,
}

impl Relaxation {
    /// What relaxes a few more pairs, if there are more to relax.
    #[must_use]
    pub fn more(self) -> Self {
        match self {
            Self::Nothing => Self::WriteRead,
            Self::WriteRead | Self::WriteAny => Self::WriteAny,
        }
    }

    /// Whether an event and a later event of the same thread keep their order, whatever is between them.
    pub fn keeps(self, first: &Event, second: &Event) -> bool {
        match (self, first.kind, second.kind) {
            (Self::Nothing, ..)
            | (_, Kind::Read | Kind::Rmw | Kind::Fence, _)
            | (Self::WriteRead, Kind::Write, Kind::Write | Kind::Rmw) => true,
            (Self::WriteAny, Kind::Write, Kind::Write | Kind::Rmw) => first.location == second.location,
            (_, Kind::Write, Kind::Read) => false,
            (_, Kind::Write, Kind::Fence) => is_full_fence(second),
        }
    }

    /// Whether an event waits until all writes of its thread before it are in memory: a full fence, and an rmw if all
    /// of them share a buffer. With a buffer for each location, an rmw waits only for the writes of its own location.
    pub fn drains(self, event: &Event) -> bool {
        is_full_fence(event) || event.kind == Kind::Rmw && self != Self::WriteAny
    }
}

/// Whether an event is a full fence. Other fences order nothing, and are like a read of nothing.
fn is_full_fence(event: &Event) -> bool {
    event.kind == Kind::Fence && matches!(event.order, MemoryOrder::Plain | MemoryOrder::SequentiallyConsistent)
}

/// The base. See the [module](self).
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    execution: Cow<'a, Execution>,
    relaxation: Relaxation,
    split: Option<Split>,
}

/// Further data of a frame whose chains are not the threads.
#[derive(Clone, Debug)]
struct Split {
    predecessors: Rows,
    readers: Readers,
    /// The thread of each chain.
    owners: Vec<u32>,
    /// In the frame of `sra`: for each base predecessor, the read that makes it one. [`NONE`] for a source.
    reads: Option<Rows>,
}

impl<'a> Frame<'a> {
    /// The frame of `sc`.
    pub fn sequential(execution: &'a Execution) -> Self {
        Self { execution: Cow::Borrowed(execution), relaxation: Relaxation::Nothing, split: None }
    }

    /// A frame of chains: `predecessors` are the base predecessors of each event, `owners` the thread of each chain.
    pub fn split(execution: Execution, relaxation: Relaxation, predecessors: Rows, owners: Vec<u32>) -> Frame<'static> {
        let readers = Readers::new(&execution);
        let split = Split { predecessors, readers, owners, reads: None };
        Frame { execution: Cow::Owned(execution), relaxation, split: Some(split) }
    }

    /// The frame of `sra`, from the base predecessors of each event. `reads` has, for each base predecessor, the read
    /// that makes it one, or [`NONE`] for a source. Only rmws read in `execution`.
    pub fn of_rmws(execution: Execution, predecessors: Rows, reads: Rows) -> Frame<'static> {
        let owners = (0..execution.thread_count() as u32).collect();
        let readers = Readers::new(&execution);
        let split = Split { predecessors, readers, owners, reads: Some(reads) };
        Frame { execution: Cow::Owned(execution), relaxation: Relaxation::Nothing, split: Some(split) }
    }

    /// The frame of some of the events, with the same chains. `predecessors` makes the base predecessors of each.
    pub fn with(&self, execution: Execution, predecessors: impl FnOnce() -> Rows) -> Frame<'static> {
        match &self.split {
            None => Frame { execution: Cow::Owned(execution), relaxation: self.relaxation, split: None },
            Some(split) => Frame::split(execution, self.relaxation, predecessors(), split.owners.clone()),
        }
    }

    /// The events, by chain.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Which pairs of operations may be reordered.
    pub fn relaxation(&self) -> Relaxation {
        self.relaxation
    }

    /// The source of an event, if the source is an event. It need not be a base predecessor.
    #[inline]
    pub fn source(&self, event: u32) -> u32 {
        let source = self.execution.events()[event as usize].source;
        if source.is_event() { source.0 } else { NONE }
    }

    /// The base predecessors of an event.
    #[inline]
    pub fn predecessors(&self, event: u32) -> impl Iterator<Item = u32> + '_ {
        let predecessors = match &self.split {
            None => match &self.execution.events()[event as usize].source {
                source if source.is_event() => std::slice::from_ref(&source.0),
                _ => &[],
            },
            Some(split) => split.predecessors.of(event as usize),
        };
        predecessors.iter().copied()
    }

    /// The events that read from a write, by chain. `order` is of this frame.
    #[inline]
    pub fn readers<'b, L: Lane>(&'b self, order: &'b Saturation<L>, write: u32) -> &'b [u32] {
        match &self.split {
            // The source is the only base predecessor of an event.
            None => order.base_successors(write),
            Some(split) => split.readers.of(write),
        }
    }

    /// The thread of an event.
    pub fn owner(&self, event: u32) -> u32 {
        let chain = self.execution.threads()[event as usize];
        self.split.as_ref().map_or(chain.0, |split| split.owners[chain.index()])
    }

    /// Whether an event is before another in program order.
    pub fn in_program_order(&self, first: u32, second: u32) -> bool {
        // The operations of a thread are numbered in program order. Those of an execution without a history are
        // numbered by chain.
        let operation = |event: u32| self.execution.operations()[event as usize];
        self.owner(first) == self.owner(second) && operation(first) < operation(second)
    }

    /// Whether the base orders two events of one thread because of their kinds and locations alone. The first must be
    /// before the second in program order.
    pub fn keeps(&self, first: u32, second: u32) -> bool {
        let events = self.execution.events();
        self.relaxation.keeps(&events[first as usize], &events[second as usize])
    }

    /// The hop from a base predecessor to its event.
    pub fn hop(&self, predecessor: u32, event: u32) -> Hop {
        let read = self.because_of(predecessor, event);
        if read != NONE {
            Hop::Known(predecessor, event, read)
        } else if self.split.is_none() || self.owner(predecessor) != self.owner(event) {
            Hop::Rf(predecessor, event)
        } else if self.keeps(predecessor, event) {
            Hop::Po(predecessor, event)
        } else {
            Hop::Own(predecessor, event)
        }
    }

    /// In the frame of `sra`: the read that makes `predecessor` a base predecessor of `event`. [`NONE`] if
    /// `predecessor` is the source.
    fn because_of(&self, predecessor: u32, event: u32) -> u32 {
        let Some(Split { predecessors, reads: Some(reads), .. }) = &self.split else { return NONE };
        let at = predecessors.of(event as usize).iter().position(|&other| other == predecessor);
        at.map_or(NONE, |at| reads.of(event as usize)[at])
    }

    /// A path of the base alone, if there is one.
    pub fn base_path(&self, from: u32, to: u32) -> Option<Vec<Hop>> {
        self.path(from, to, |_, _| true)
    }

    /// A path of program order and reads-from alone. There must be one.
    pub fn causal_path(&self, from: u32, to: u32) -> Vec<Hop> {
        if self.in_program_order(from, to) {
            return vec![Hop::Po(from, to)];
        }
        let path = self.path(from, to, |source, event| self.because_of(source, event) == NONE);
        debug_assert!(path.is_some(), "what a read knows of has a path");
        path.unwrap_or_default()
    }

    /// A path of the chains and of those base predecessors that may be used.
    fn path(&self, from: u32, to: u32, may_be_used: impl Fn(u32, u32) -> bool) -> Option<Vec<Hop>> {
        let execution = self.execution();
        let chain_of = |event: u32| execution.threads()[event as usize].index();
        let hops = order::path(execution.starts(), chain_of, from, to, |event, edges| {
            let used = self.predecessors(event).filter(|&predecessor| may_be_used(predecessor, event));
            edges.extend(used.map(|predecessor| (predecessor, ())));
        });
        let mut path = Vec::new();
        for hop in hops? {
            let hop = match hop {
                order::Hop::Chain(from, to) => Hop::Po(from, to),
                order::Hop::Edge(from, to, ()) => self.hop(from, to),
            };
            self.append(&mut path, hop);
        }
        Some(path)
    }
}
