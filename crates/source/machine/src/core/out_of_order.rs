//! A core that loads ahead, and keeps `sc` by watching its cache.
//!
//! A window holds the next instructions. Loads in it are performed in any order. A store is performed when it is the
//! first of the window, and instructions leave the window in program order. If the cache loses the block of a load that
//! was performed ahead, the value of the load may have changed before its turn: the load, and all that was performed
//! ahead behind it, is done again. So a load that leaves the window still has the value that memory has.
//!
//! The order of performance is not program order; yet by the above the constraint graph of VC has no cycle.

use std::collections::VecDeque;

use history::execution::Kind;

use super::{CoreBug, Cores, Log, Thread};
use crate::client::Instruction;
use crate::system::MemorySystem;

pub(super) const BUGS: [CoreBug; 4] =
    [CoreBug::LoadNotSquashed, CoreBug::LoadPassesStore, CoreBug::StoreAhead, CoreBug::SquashOffByOne];

#[derive(Copy, Clone, PartialEq, Eq)]
enum State {
    Waiting,
    /// Under way, with this tag.
    Asked(u32),
    /// Performed: the value, and the place in the order of performance.
    Done(u32, u64),
}

struct Slot {
    index: u32,
    instruction: Instruction,
    state: State,
}

pub(super) struct OutOfOrder {
    depth: usize,
    bug: Option<CoreBug>,
    window: VecDeque<Slot>,
}

impl OutOfOrder {
    pub(super) fn new(cores: &Cores) -> Self {
        Self { depth: cores.depth as usize, bug: cores.bug, window: VecDeque::new() }
    }

    /// Lets what is performed leave the window, in program order.
    pub(super) fn retire(&mut self, thread: &Thread, log: &mut Log) {
        while let Some(slot) = self.window.front() {
            let (value, performed) = match slot.state {
                State::Done(value, performed) => (value, performed),
                _ if slot.instruction.kind == Kind::Fence => (0, log.place()),
                _ => break,
            };
            log.retire(thread.operation(slot.index, slot.instruction, value, performed));
            self.window.pop_front();
        }
    }

    /// Whether the instruction at this place may be performed now.
    fn is_ready(&self, at: usize) -> bool {
        let slot = &self.window[at];
        let location = slot.instruction.location;
        let mut before = self.window.iter().take(at);
        match slot.instruction.kind {
            _ if slot.state != State::Waiting => false,
            Kind::Fence => false,
            Kind::Read => before.all(|other| match other.instruction.kind {
                Kind::Fence => false,
                Kind::Read => true,
                Kind::Write | Kind::Rmw => {
                    matches!(other.state, State::Done(..))
                        || other.instruction.location != location
                        || self.bug == Some(CoreBug::LoadPassesStore)
                }
            }),
            Kind::Write if self.bug == Some(CoreBug::StoreAhead) => {
                before.all(|other| other.instruction.kind == Kind::Read && other.instruction.location != location)
            }
            Kind::Write | Kind::Rmw => at == 0,
        }
    }

    pub(super) fn step(&mut self, thread: &mut Thread, system: &mut impl MemorySystem, log: &mut Log) {
        self.retire(thread, log);
        while self.window.len() < self.depth
            && let Some((index, instruction)) = thread.next()
        {
            self.window.push_back(Slot { index, instruction, state: State::Waiting });
        }
        if self.window.is_empty() {
            return;
        }
        // The first of the window is asked for now and then, so that the core goes on; else any other.
        let at = if thread.random.percent(30) { 0 } else { thread.random.below(self.window.len() as u64) as usize };
        if self.is_ready(at)
            && let Some(tag) = thread.ask(system, self.window[at].instruction)
        {
            self.window[at].state = State::Asked(tag);
        }
    }

    pub(super) fn done(&mut self, tag: u32, value: u32, log: &mut Log) {
        let performed = log.next_place();
        // If there is none, it was asked for before what it belongs to was done again.
        if let Some(slot) = self.window.iter_mut().find(|slot| slot.state == State::Asked(tag)) {
            slot.state = State::Done(value, performed);
        }
    }

    pub(super) fn lost(&mut self, first: u32, count: u32) {
        if self.bug == Some(CoreBug::LoadNotSquashed) {
            return;
        }
        // The first of the window needs no later moment: all before it has retired.
        let from = if self.bug == Some(CoreBug::SquashOffByOne) { 2 } else { 1 };
        let is_hit = |slot: &Slot| {
            let is_there = (first..first + count).contains(&slot.instruction.location);
            is_there && slot.instruction.kind == Kind::Read && matches!(slot.state, State::Done(..))
        };
        if let Some(at) = (from..self.window.len()).find(|&at| is_hit(&self.window[at])) {
            for slot in self.window.range_mut(at..).filter(|slot| slot.instruction.kind == Kind::Read) {
                slot.state = State::Waiting;
            }
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.window.is_empty()
    }
}
