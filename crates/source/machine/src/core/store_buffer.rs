//! A core with a store buffer. A store retires into the buffer, and is performed when it leaves it.
//!
//! Under `tso` the stores leave in their order, one at a time. Under `pso` those of one location keep their order. A
//! load takes the newest buffered store of its location, if there is one, else it asks the memory. A fence waits until
//! the buffer is empty. A read-modify-write waits for the whole buffer under `tso`, and for the stores of its location
//! under `pso`.

use std::collections::VecDeque;

use history::execution::Kind;

use super::{CoreBug, CoreKind, Cores, Log, NOT_YET, Thread};
use crate::client::Instruction;
use crate::system::MemorySystem;

pub(super) const BUGS: [CoreBug; 6] = [
    CoreBug::FenceIgnored,
    CoreBug::RmwOvertakes,
    CoreBug::WrongForwarding,
    CoreBug::NoForwarding,
    CoreBug::PartialAddress,
    CoreBug::BufferNotInOrder,
];

pub(super) const BUGS_OF_PSO: [CoreBug; 5] = [
    CoreBug::FenceIgnored,
    CoreBug::RmwOvertakes,
    CoreBug::WrongForwarding,
    CoreBug::NoForwarding,
    CoreBug::PartialAddress,
];

/// A store in the buffer.
struct BufferedStore {
    instruction: Instruction,
    /// The number of the operation in the log.
    number: u64,
    /// If it is on its way to the memory.
    tag: Option<u32>,
    /// The loads that took its value.
    forwarded: Vec<u64>,
}

pub(super) struct StoreBuffer {
    is_pso: bool,
    depth: usize,
    bug: Option<CoreBug>,
    buffer: VecDeque<BufferedStore>,
    /// The operation that is next, and its tag if it is under way.
    current: Option<(u32, Instruction, Option<u32>)>,
}

impl StoreBuffer {
    pub(super) fn new(cores: &Cores) -> Self {
        let is_pso = cores.kind == CoreKind::Pso;
        Self { is_pso, depth: cores.depth as usize, bug: cores.bug, buffer: VecDeque::new(), current: None }
    }

    fn has(&self, bug: CoreBug) -> bool {
        self.bug == Some(bug)
    }

    /// Whether two locations are the same to the buffer.
    fn is_same(&self, one: u32, other: u32) -> bool {
        if self.has(CoreBug::PartialAddress) { one % 4 == other % 4 } else { one == other }
    }

    /// Sends buffered stores to the memory.
    fn drain(&mut self, thread: &mut Thread, system: &mut impl MemorySystem) {
        let is_free = self.is_pso || self.has(CoreBug::BufferNotInOrder);
        let among = if is_free { self.buffer.len() } else { self.buffer.len().min(1) };
        // A store stays in the buffer for a while.
        if among == 0 || !thread.random.percent(30) {
            return;
        }
        let at = thread.random.below(among as u64) as usize;
        let location = self.buffer[at].instruction.location;
        let is_first = self.buffer.iter().take(at).all(|entry| entry.instruction.location != location);
        if is_first && self.buffer[at].tag.is_none() {
            let instruction = self.buffer[at].instruction;
            self.buffer[at].tag = thread.ask(system, instruction);
        }
    }

    pub(super) fn step(&mut self, thread: &mut Thread, system: &mut impl MemorySystem, log: &mut Log) {
        self.drain(thread, system);
        if self.current.is_none() {
            self.current = thread.next().map(|(index, instruction)| (index, instruction, None));
        }
        let Some((index, instruction, None)) = self.current else { return };
        let location = instruction.location;
        match instruction.kind {
            Kind::Write => {
                if self.buffer.len() < self.depth {
                    let number = log.retire(thread.operation(index, instruction, 0, NOT_YET));
                    self.buffer.push_back(BufferedStore { instruction, number, tag: None, forwarded: Vec::new() });
                    self.current = None;
                }
            }
            Kind::Fence => {
                if self.buffer.is_empty() || self.has(CoreBug::FenceIgnored) {
                    let now = log.place();
                    log.retire(thread.operation(index, instruction, 0, now));
                    self.current = None;
                }
            }
            Kind::Read => {
                let matching = |entry: &BufferedStore| self.is_same(entry.instruction.location, location);
                let found = match self.bug {
                    Some(CoreBug::NoForwarding) => None,
                    Some(CoreBug::WrongForwarding) => self.buffer.iter().position(matching),
                    _ => self.buffer.iter().rposition(matching),
                };
                if let Some(at) = found {
                    let value = self.buffer[at].instruction.value;
                    let number = log.retire(thread.operation(index, instruction, value, NOT_YET));
                    self.buffer[at].forwarded.push(number);
                    self.current = None;
                } else {
                    self.current = Some((index, instruction, thread.ask(system, instruction)));
                }
            }
            Kind::Rmw => {
                let waits_for = |entry: &BufferedStore| !self.is_pso || entry.instruction.location == location;
                if self.has(CoreBug::RmwOvertakes) || !self.buffer.iter().any(waits_for) {
                    self.current = Some((index, instruction, thread.ask(system, instruction)));
                }
            }
        }
    }

    pub(super) fn done(&mut self, thread: &Thread, tag: u32, value: u32, log: &mut Log) {
        let performed = log.next_place();
        if let Some(at) = self.buffer.iter().position(|entry| entry.tag == Some(tag)) {
            let entry = self.buffer.remove(at).expect("the position is in the buffer");
            log.perform(entry.number, performed);
            for number in entry.forwarded {
                log.perform(number, performed);
            }
        } else if let Some((index, instruction, Some(asked))) = self.current
            && asked == tag
        {
            log.retire(thread.operation(index, instruction, value, performed));
            self.current = None;
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.buffer.is_empty()
    }
}
