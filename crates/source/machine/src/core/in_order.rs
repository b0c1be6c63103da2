//! A core that does one access at a time, in program order.

use history::execution::Kind;

use super::{Log, Thread};
use crate::client::Instruction;
use crate::system::MemorySystem;

#[derive(Default)]
pub(super) struct InOrder {
    /// The access that is next, and its tag if it is under way.
    current: Option<(u32, Instruction, Option<u32>)>,
}

impl InOrder {
    pub(super) fn step(&mut self, thread: &mut Thread, system: &mut impl MemorySystem, log: &mut Log) {
        if self.current.is_none() {
            self.current = thread.next().map(|(index, instruction)| (index, instruction, None));
        }
        match &mut self.current {
            Some((index, instruction, None)) if instruction.kind == Kind::Fence => {
                let now = log.place();
                log.retire(thread.operation(*index, *instruction, 0, now));
                self.current = None;
            }
            Some((_, instruction, tag @ None)) => *tag = thread.ask(system, *instruction),
            _ => {}
        }
    }

    pub(super) fn done(&mut self, thread: &Thread, tag: u32, value: u32, log: &mut Log) {
        let performed = log.next_place();
        if let Some((index, instruction, Some(asked))) = self.current
            && asked == tag
        {
            log.retire(thread.operation(index, instruction, value, performed));
            self.current = None;
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none()
    }
}
