//! Plain accesses.
//!
//! A hook comes before its access. So what is read must be in memory when the hook returns, and what is written is
//! known at the next hook of the thread only (it is *pending*).

use explore::{Order, Step};

use crate::finding::DefectKind;
use crate::machine::Machine;
use crate::places::Part;
use crate::space::{self, Region, Wrong};
use crate::switch::Called;
use crate::symbols::Hook;
use crate::thread::Then;

impl Machine {
    /// What was written since the last hook becomes known.
    pub(crate) fn flush(&mut self, thread: u32, hook: Hook, called: Called) {
        if self.threads[thread as usize].pending.is_empty() {
            return;
        }
        // gcc announces the copy of a struct as a write and then a read, and copies after both.
        if let Hook::Plain { size, writes: false, .. } = hook {
            let start = called.arguments[0] as usize;
            let end = start + usize::from(size);
            let is_other = |&location: &u32| {
                let of = self.places.locations[location as usize];
                end <= of.address || of.address + usize::from(of.size) <= start
            };
            if self.threads[thread as usize].pending.iter().all(is_other) {
                return;
            }
        }
        for location in std::mem::take(&mut self.threads[thread as usize].pending) {
            let of = self.places.locations[location as usize];
            let value = space::number(of.address, of.size);
            self.ask(thread, Step::Write { location, order: Order::NonAtomic, value }, Then::Nothing);
        }
    }

    /// Tells what is wrong with an access, if something is.
    #[inline]
    pub(crate) fn wrong(&mut self, thread: u32, address: usize, size: usize) -> bool {
        match self.space.region(address) {
            Region::Stack(other) if other != thread => self.is_of_ended(thread, other),
            Region::Low | Region::Heap(_) => self.is_wrong(thread, address, size),
            _ => false,
        }
    }

    /// Whether a stack is that of a thread that has ended.
    fn is_of_ended(&mut self, thread: u32, other: u32) -> bool {
        let has_ended = self.threads.get(other as usize).is_none_or(crate::thread::Thread::has_ended);
        if has_ended {
            let me = self.doer(thread);
            let message = format!("use after free: the stack of thread {other}, which has ended");
            self.find(DefectKind::UseAfterFree, message, vec![me]);
        }
        has_ended
    }

    fn is_wrong(&mut self, thread: u32, address: usize, size: usize) -> bool {
        let me = self.doer(thread);
        let Some(wrong) = self.space.wrong(address, size) else { return false };
        match wrong {
            Wrong::Null => self.find(DefectKind::Null, format!("null pointer: the address is {address:#x}"), vec![me]),
            Wrong::OutOfBounds => {
                self.find(DefectKind::OutOfBounds, "out of bounds: the address is in no object".to_owned(), vec![me]);
            }
            Wrong::Freed(object) => {
                let places = std::iter::once(me).chain(object.freed).chain([object.made]).collect();
                let message = format!("use after free: an object of {} bytes", object.size);
                self.find(DefectKind::UseAfterFree, message, places);
            }
        }
        true
    }

    /// Whether memory is a thread's own, as long as it is not known to be shared. None if it is of no interest.
    fn is_own(&mut self, thread: u32, address: usize, size: usize) -> Option<bool> {
        match self.space.region(address) {
            Region::Stack(owner) | Region::Heap(owner) => {
                if owner != thread && !self.is_flat {
                    self.knows_stack(address);
                    if self.places.share(address, size) {
                        return None;
                    }
                }
                Some(true)
            }
            Region::Static => Some(false),
            Region::Low | Region::Local | Region::Other => None,
        }
    }

    /// If memory is on a stack, others know of it, or will.
    pub(crate) fn knows_stack(&mut self, address: usize) {
        if let Region::Stack(owner) = self.space.region(address)
            && let Some(of) = self.threads.get_mut(owner as usize)
        {
            of.is_stack_known = true;
        }
    }

    /// A plain access.
    pub(crate) fn access(&mut self, thread: u32, address: usize, size: usize, writes: bool) {
        if size == 0 || self.is_loading() || self.wrong(thread, address, size) {
            return;
        }
        let is_own_stack = self.space.region(address) == Region::Stack(thread);
        if writes && (!is_own_stack || self.places.knows(address, size)) {
            self.threads[thread as usize].forget_looks();
        }
        if self.is_flat {
            return;
        }
        let Some(is_own) = self.is_own(thread, address, size) else { return };
        if is_own && !self.places.knows(address, size) {
            return;
        }
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        self.places.parts(address, size, is_own, &mut parts);
        for &part in &parts {
            match part {
                Part::Cell(location) => {
                    if !self.threads[thread as usize].is_known(location, writes) {
                        self.ask(thread, Step::Access { location, writes }, Then::Nothing);
                    }
                }
                Part::Marked(location) if writes => self.threads[thread as usize].pending.push(location),
                Part::Marked(location) => {
                    self.ask(thread, Step::Read { location, order: Order::NonAtomic, until: None }, Then::Nothing);
                }
                // The stack may have held an atomic before.
                Part::Cuts(..) if is_own_stack => {}
                Part::Cuts(mark, bytes) => {
                    let first = self.first_sites.get(&mark).copied().unwrap_or_default();
                    let site = self.threads[thread as usize].site;
                    let message = format!("mixed-size access: {size} bytes here, an atomic of {bytes} bytes");
                    self.refuse_beside(message, site, first);
                }
            }
        }
        self.parts = parts;
    }

    /// A function of libc reads a text. The answer is how many bytes it has.
    pub(crate) fn access_text(&mut self, thread: u32, address: usize) -> Option<usize> {
        if self.wrong(thread, address, 1) {
            return None;
        }
        let count = space::text_length(address) + 1;
        self.access(thread, address, count, false);
        Some(count)
    }

    /// An object is freed: that is a write of all of it that others know of.
    pub(crate) fn access_all(&mut self, thread: u32, address: usize, size: usize) {
        if self.is_flat {
            return;
        }
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        self.places.parts(address, size, true, &mut parts);
        for &part in &parts {
            match part {
                Part::Cell(location) => self.ask(thread, Step::Access { location, writes: true }, Then::Nothing),
                Part::Marked(location) => {
                    self.ask(thread, Step::Write { location, order: Order::NonAtomic, value: 0 }, Then::Nothing);
                }
                Part::Cuts(..) => {}
            }
        }
        self.parts = parts;
    }
}
