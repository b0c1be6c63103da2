//! What a program allocates and frees.

#![allow(unsafe_code, reason = "memory is copied, and the loader is asked whose code an address is")]

use crate::finding::DefectKind;
use crate::machine::{Flow, Machine};
use crate::space::{self, Doer, Region};
use crate::switch::{self, Called};
use crate::symbols::Memory;

const EINVAL: u64 = 22;
const ENOMEM: u64 = 12;

/// Nobody has so many bytes.
const IMPOSSIBLE: usize = 1 << 40;

impl Machine {
    pub(crate) fn memory(&mut self, thread: u32, call: Memory, called: Called) -> Flow {
        let [one, two, three, ..] = called.arguments.map(|argument| argument as usize);
        let function = self.real.functions[called.hook as usize];
        // What libraries allocate for themselves while they are loaded is theirs.
        if self.is_loading() && call != Memory::Free && function != 0 && !switch::is_of_program(called) {
            return Flow::Pass(function);
        }
        let is_ours = |machine: &Self, address| matches!(machine.space.region(address), Region::Heap(_));
        match call {
            Memory::Malloc => self.allocated(thread, Some(one), 16),
            Memory::Calloc => self.allocated(thread, one.checked_mul(two), 16),
            Memory::Aligned => self.allocated(thread, Some(two), one),
            Memory::AlignedNew => self.allocated(thread, Some(one), two),
            Memory::Valloc => self.allocated(thread, Some(one), 4096),
            Memory::PosixAligned => {
                if !two.is_power_of_two() {
                    return Flow::Answer(EINVAL);
                }
                let made = self.maker(thread);
                let Some(address) = self.space.allocate(three, two, made) else {
                    return self.has_no_memory(thread, three, ENOMEM);
                };
                self.access(thread, one, 8, true);
                space::put_number(one, 8, address as i64);
                Flow::Answer(0)
            }
            Memory::UsableSize => Flow::Answer(self.space.object(one).map_or(0, |object| object.size as u64)),
            Memory::Strdup => {
                let Some(count) = self.access_text(thread, one) else { return Flow::Wait };
                let flow = self.allocated(thread, Some(count), 16);
                if let Flow::Answer(address) = flow
                    && address != 0
                {
                    space::put(address as usize, &space::bytes(one, count));
                }
                flow
            }
            Memory::Free if one == 0 => Flow::Answer(0),
            Memory::Free if !is_ours(self, one) => {
                if self.space.region(one) == Region::Other {
                    let real = self.real.free;
                    return if real == 0 { Flow::Answer(0) } else { Flow::Pass(real) };
                }
                self.invalid_free(thread)
            }
            Memory::Free => self.freed(thread, one),
            Memory::Realloc | Memory::ReallocArray => {
                let size = if call == Memory::Realloc { Some(two) } else { two.checked_mul(three) };
                if one == 0 {
                    return self.allocated(thread, size, 16);
                }
                if !is_ours(self, one) {
                    return Flow::Pass(function);
                }
                let Some(old) = self.space.object(one) else { return self.invalid_free(thread) };
                let flow = self.allocated(thread, size, 16);
                let (Flow::Answer(address), Some(size)) = (flow, size) else { return flow };
                if address == 0 {
                    return flow;
                }
                let count = old.size.min(size);
                self.access(thread, one, count, false);
                space::put(address as usize, &space::bytes(one, count));
                self.freed(thread, one);
                Flow::Answer(address)
            }
        }
    }

    fn allocated(&mut self, thread: u32, size: Option<usize>, align: usize) -> Flow {
        self.threads[thread as usize].forget_looks();
        let made = self.maker(thread);
        let Some(size) = size else { return Flow::Answer(0) };
        match self.space.allocate(size, align.max(1).next_power_of_two(), made) {
            Some(address) => Flow::Answer(address as u64),
            None => self.has_no_memory(thread, size, 0),
        }
    }

    /// A thread allocates more than there is. What no machine has fails, as it would there, with this answer.
    fn has_no_memory(&mut self, thread: u32, size: usize, answer: u64) -> Flow {
        if size >= IMPOSSIBLE {
            return Flow::Answer(answer);
        }
        let most = self.space.arena_size >> 20;
        self.refused(thread, &format!("a thread that allocates more than {most} MiB is not supported (--heap)"))
    }

    /// Who allocates now: after all the steps that the thread has asked for.
    fn maker(&self, thread: u32) -> Doer {
        let me = self.doer(thread);
        Doer { steps: me.steps + self.threads[thread as usize].queue.len() as u32, ..me }
    }

    fn freed(&mut self, thread: u32, address: usize) -> Flow {
        self.threads[thread as usize].forget_looks();
        let me = self.doer(thread);
        let Some(object) = self.space.object(address) else { return self.invalid_free(thread) };
        if let Some(before) = object.freed {
            let message = format!("double free: an object of {} bytes", object.size);
            self.find(DefectKind::DoubleFree, message, vec![me, before, object.made]);
            return Flow::Wait;
        }
        self.threads[thread as usize].is_freeing = true;
        self.access_all(thread, address, object.size);
        self.space.free(address, me);
        Flow::Answer(0)
    }

    fn invalid_free(&mut self, thread: u32) -> Flow {
        let me = self.doer(thread);
        self.find(
            DefectKind::InvalidFree,
            "invalid free: the address is not the start of an object".to_owned(),
            vec![me],
        );
        Flow::Wait
    }
}
