//! An execution as a list of accesses, as checkers of reads-from consistency take it.

use history::MemoryOrder;
use history::execution::{Execution, ExecutionBuilder, Kind};

use crate::graph::{Graph, NONE};
use crate::program::Step;
use crate::recording::memory_order;

/// An access or a fence of an execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct DataAccess {
    /// The thread.
    pub thread: u32,
    /// What it is. An rmw that failed is a read.
    pub kind: Kind,
    /// The location; zero for a fence.
    pub location: u32,
    /// Its memory order.
    pub order: MemoryOrder,
    /// The number in the list of the write that it reads; `None` is the initial one.
    pub source: Option<u32>,
}

impl Graph {
    /// The accesses and fences, in an order in which they may have happened. The start and the end of a thread are a
    /// release write and an acquire read of a location of their own, as in [`Graph::history`]. What a thread only waits
    /// for or chooses is left out.
    pub fn accesses(&self) -> Vec<DataAccess> {
        let mut accesses: Vec<DataAccess> = Vec::with_capacity(self.events.len());
        let mut numbers = vec![None; self.events.len()];
        let spawned = |child: u32| self.location_count() + 2 * child;
        let joined = |child: u32| self.location_count() + 2 * child + 1;
        let mut is_joined = vec![false; self.thread_count() as usize];
        for event in &self.events {
            if let Step::Join(child) = event.step {
                is_joined[child as usize] = true;
            }
        }
        // By thread: the writes that tell of its start and of its end.
        let mut starts = vec![None; is_joined.len()];
        let mut ends = vec![None; is_joined.len()];
        for (slot, event) in self.events.iter().enumerate().filter(|(_, event)| !event.waits()) {
            let (thread, number) = (event.thread, accesses.len() as u32);
            let sent = |location| DataAccess {
                thread,
                kind: Kind::Write,
                location,
                order: MemoryOrder::Release,
                source: None,
            };
            let received = |location, source| DataAccess {
                thread,
                kind: Kind::Read,
                location,
                order: MemoryOrder::Acquire,
                source,
            };
            let order = memory_order(event.order());
            match event.step {
                Step::Choice(_) | Step::Access { .. } => {}
                Step::Fence(_) => {
                    accesses.push(DataAccess { thread, kind: Kind::Fence, location: 0, order, source: None });
                }
                Step::Spawn(child) => {
                    starts[child as usize] = Some(number);
                    accesses.push(sent(spawned(child)));
                }
                Step::Begin if self.spawned[thread as usize] == NONE => {}
                Step::Begin => accesses.push(received(spawned(thread), starts[thread as usize])),
                Step::Join(child) => accesses.push(received(joined(child), ends[child as usize])),
                Step::Read { location, .. } | Step::Write { location, .. } | Step::Rmw { location, .. } => {
                    let kind = match (event.step, event.writes) {
                        (Step::Write { .. }, _) => Kind::Write,
                        (_, true) => Kind::Rmw,
                        (_, false) => Kind::Read,
                    };
                    let source =
                        if kind.reads() { numbers.get(event.source as usize).copied().flatten() } else { None };
                    numbers[slot] = Some(number);
                    accesses.push(DataAccess { thread, kind, location, order, source });
                }
            }
            if self.len(thread) == event.index && is_joined[thread as usize] {
                ends[thread as usize] = Some(accesses.len() as u32);
                accesses.push(sent(joined(thread)));
            }
        }
        accesses
    }
}

impl DataAccess {
    /// The execution of a list of accesses.
    pub fn execution(accesses: &[Self]) -> Execution {
        let mut builder = ExecutionBuilder::new();
        for access in accesses {
            let event = builder.push_ordered(access.thread, access.kind, access.location, access.order);
            if access.kind.reads() {
                builder.read_from(event, access.source.map(|source| source as usize));
            }
        }
        builder.build()
    }
}
