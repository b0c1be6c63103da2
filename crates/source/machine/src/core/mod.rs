//! Cores: what stands between a thread and the memory system, and decides in which order its accesses are performed.
//!
//! | core | model of its histories, on a right memory system |
//! | --- | --- |
//! | [`in_order`] | `sc`: one access at a time |
//! | [`store_buffer`], first in, first out | `tso` |
//! | [`store_buffer`], one queue for each location | `pso` |
//! | [`out_of_order`] | `sc`: loads are done ahead, and again if their block was lost before their turn |

mod in_order;
mod out_of_order;
mod store_buffer;

use std::collections::VecDeque;

use history::execution::Kind;
use workload::random::SplitMix64;

use crate::client::{ClientOperation, ClientProgram, Instruction};
use crate::system::{MemoryRequest, MemorySystem};
use in_order::InOrder;
use out_of_order::OutOfOrder;
use store_buffer::StoreBuffer;

/// The kind of core.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum CoreKind {
    InOrder,
    Tso,
    Pso,
    OutOfOrder,
}

impl CoreKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::InOrder, Self::Tso, Self::Pso, Self::OutOfOrder];

    /// The name as the command takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InOrder => "in-order",
            Self::Tso => "tso",
            Self::Pso => "pso",
            Self::OutOfOrder => "out-of-order",
        }
    }

    /// What it is, in a few words.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::InOrder => "One access at a time: sc",
            Self::Tso => "A store buffer, first in, first out: tso",
            Self::Pso => "A store buffer that keeps only the order of each location: pso",
            Self::OutOfOrder => "Loads ahead of their turn, done again if their block is lost: sc",
        }
    }

    /// The mistakes that can be made in it.
    pub const fn bugs(self) -> &'static [CoreBug] {
        match self {
            Self::InOrder => &[],
            Self::Tso => &store_buffer::BUGS,
            Self::Pso => &store_buffer::BUGS_OF_PSO,
            Self::OutOfOrder => &out_of_order::BUGS,
        }
    }
}

/// A mistake in a core.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CoreBug {
    /// A fence does not wait for the store buffer.
    FenceIgnored,
    /// A read-modify-write does not wait for the store buffer.
    RmwOvertakes,
    /// A load is forwarded the oldest buffered store of its location, not the newest.
    WrongForwarding,
    /// A load does not look into the store buffer.
    NoForwarding,
    /// The store buffer compares only the last two bits of a location.
    PartialAddress,
    /// The store buffer of tso does not keep the order of stores.
    BufferNotInOrder,
    /// A load that was done ahead is kept although its block was lost.
    LoadNotSquashed,
    /// A load is done ahead of an earlier store to its location.
    LoadPassesStore,
    /// A store is done before earlier loads have their values.
    StoreAhead,
    /// A load that was done ahead is kept although its block was lost, if it is the second in the window.
    SquashOffByOne,
}

impl CoreBug {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FenceIgnored => "fence-ignored",
            Self::RmwOvertakes => "rmw-overtakes",
            Self::WrongForwarding => "wrong-forwarding",
            Self::NoForwarding => "no-forwarding",
            Self::PartialAddress => "partial-address",
            Self::BufferNotInOrder => "buffer-not-in-order",
            Self::LoadNotSquashed => "load-not-squashed",
            Self::LoadPassesStore => "load-passes-store",
            Self::StoreAhead => "store-ahead",
            Self::SquashOffByOne => "squash-off-by-one",
        }
    }

    /// What goes wrong.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::FenceIgnored => "a fence does not wait for the store buffer",
            Self::RmwOvertakes => "a read-modify-write does not wait for the store buffer",
            Self::WrongForwarding => "a load is forwarded the oldest store of its location, not the newest",
            Self::NoForwarding => "a load does not look into the store buffer",
            Self::PartialAddress => "the store buffer compares only the last two bits of a location",
            Self::BufferNotInOrder => "the store buffer does not keep the order of stores",
            Self::LoadNotSquashed => "a load that was done ahead is kept although its block was lost",
            Self::LoadPassesStore => "a load is done ahead of an earlier store to its location",
            Self::StoreAhead => "a store is done before earlier loads have their values",
            Self::SquashOffByOne => "the second load of the window is kept although its block was lost",
        }
    }
}

/// How the cores of a run are made.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The kind.
    pub kind: CoreKind,
    /// How many stores a buffer holds, or how many operations a window has; at least one.
    pub depth: u32,
    /// How many of a hundred ticks a core does nothing, below a hundred.
    pub idle: u32,
    /// A mistake.
    pub bug: Option<CoreBug>,
}

impl Default for Cores {
    fn default() -> Self {
        Self { kind: CoreKind::InOrder, depth: 8, idle: 20, bug: None }
    }
}

/// The operations of all threads, as they retire, and in which order they are performed.
#[derive(Default)]
pub(crate) struct Log {
    /// Those that were not handed on yet.
    waiting: VecDeque<ClientOperation>,
    /// How many were handed on.
    handed: u64,
    /// How many accesses were performed.
    clock: u64,
}

/// An operation that has retired but is not yet performed.
const NOT_YET: u64 = u64::MAX;

impl Log {
    /// The place of an access that is performed just now.
    fn next_place(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The place of what accesses nothing: after all that was performed so far.
    fn place(&self) -> u64 {
        self.clock
    }

    /// An operation retires. The answer is its number.
    fn retire(&mut self, operation: ClientOperation) -> u64 {
        self.waiting.push_back(operation);
        self.handed + self.waiting.len() as u64 - 1
    }

    /// An operation that has retired is performed.
    fn perform(&mut self, number: u64, performed: u64) {
        if let Some(at) = number.checked_sub(self.handed)
            && let Some(operation) = self.waiting.get_mut(at as usize)
        {
            operation.performed = performed;
        }
    }

    /// Hands on what is complete, in the order of retirement; in the end, everything.
    pub(crate) fn hand_on(&mut self, is_end: bool, sink: &mut impl FnMut(ClientOperation)) {
        while self.waiting.front().is_some_and(|operation| is_end || operation.performed != NOT_YET) {
            self.handed += 1;
            let mut operation = self.waiting.pop_front().expect("there is a first one");
            if operation.performed == NOT_YET {
                operation.performed = self.next_place();
            }
            sink(operation);
        }
    }

    /// How many operations have retired.
    pub(crate) fn retired(&self) -> u64 {
        self.handed + self.waiting.len() as u64
    }

    /// How many wait to be handed on.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

/// What the cores of all kinds have: the thread, its program, and the counters.
struct Thread {
    number: u32,
    program: ClientProgram,
    random: SplitMix64,
    /// The index of the next instruction.
    index: u32,
    next_tag: u32,
}

impl Thread {
    fn next(&mut self) -> Option<(u32, Instruction)> {
        let instruction = self.program.next()?;
        self.index += 1;
        Some((self.index - 1, instruction))
    }

    fn operation(&self, index: u32, instruction: Instruction, read: u32, performed: u64) -> ClientOperation {
        let read = if instruction.kind.reads() { read } else { 0 };
        ClientOperation { thread: self.number, index, instruction, read, performed }
    }

    /// Asks the memory system. The answer is the tag, if the system takes the access.
    fn ask(&mut self, system: &mut impl MemorySystem, instruction: Instruction) -> Option<u32> {
        debug_assert!(instruction.kind != Kind::Fence);
        let Instruction { kind, location, value, .. } = instruction;
        let tag = self.next_tag;
        if !system.issue(self.number, MemoryRequest { tag, kind, location, value }) {
            return None;
        }
        self.next_tag = self.next_tag.wrapping_add(1);
        Some(tag)
    }
}

/// A core of any kind.
pub(crate) struct Core {
    thread: Thread,
    idle: u32,
    kind: Inner,
}

enum Inner {
    InOrder(InOrder),
    StoreBuffer(StoreBuffer),
    OutOfOrder(OutOfOrder),
}

impl Core {
    pub(crate) fn new(cores: &Cores, number: u32, program: ClientProgram, seed: u64) -> Self {
        let thread = Thread { number, program, random: SplitMix64::new(seed), index: 0, next_tag: 0 };
        let kind = match cores.kind {
            CoreKind::InOrder => Inner::InOrder(InOrder::default()),
            CoreKind::Tso | CoreKind::Pso => Inner::StoreBuffer(StoreBuffer::new(cores)),
            CoreKind::OutOfOrder => Inner::OutOfOrder(OutOfOrder::new(cores)),
        };
        Self { thread, idle: cores.idle, kind }
    }

    /// Does what can be done in this tick.
    pub(crate) fn step(&mut self, system: &mut impl MemorySystem, log: &mut Log) {
        if self.idle > 0 && self.thread.random.below(100) < self.idle.into() {
            return;
        }
        match &mut self.kind {
            Inner::InOrder(core) => core.step(&mut self.thread, system, log),
            Inner::StoreBuffer(core) => core.step(&mut self.thread, system, log),
            Inner::OutOfOrder(core) => core.step(&mut self.thread, system, log),
        }
    }

    /// An access was performed.
    pub(crate) fn done(&mut self, tag: u32, value: u32, log: &mut Log) {
        match &mut self.kind {
            Inner::InOrder(core) => core.done(&self.thread, tag, value, log),
            Inner::StoreBuffer(core) => core.done(&self.thread, tag, value, log),
            Inner::OutOfOrder(core) => core.done(tag, value, log),
        }
    }

    /// Locations were lost.
    pub(crate) fn lost(&mut self, first: u32, count: u32) {
        if let Inner::OutOfOrder(core) = &mut self.kind {
            core.lost(first, count);
        }
    }

    /// Retires what is performed, at the end of a run that does not go on.
    pub(crate) fn flush(&mut self, log: &mut Log) {
        if let Inner::OutOfOrder(core) = &mut self.kind {
            core.retire(&self.thread, log);
        }
    }

    /// Whether all is done.
    pub(crate) fn is_finished(&self) -> bool {
        let is_idle = match &self.kind {
            Inner::InOrder(core) => core.is_idle(),
            Inner::StoreBuffer(core) => core.is_idle(),
            Inner::OutOfOrder(core) => core.is_idle(),
        };
        is_idle && self.thread.program.is_over()
    }
}
