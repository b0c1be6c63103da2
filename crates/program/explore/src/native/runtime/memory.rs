//! The memory of a run: who has allocated it and when, who has freed it, and what is still in it.
//!
//! Memory that the code frees stays as it is until the execution is over, and the places in it are marked. So an access
//! of what was freed is known as such, and never meets another object. This needs somebody who tells of what is
//! allocated and freed: the global allocator [`Quarantine`](super::Quarantine), or the functions of
//! [`alloc`](crate::alloc).

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Code, HAS_ALLOCATOR, Object, Run};
use crate::graph::NONE;
use crate::heap::{Death, Misuse, Moment};
use crate::native::place::{BITS, DEAD, Kind, Look};
use crate::program::Value;

/// What a thread does with memory that was freed, or that cannot be.
#[derive(Copy, Clone, Debug)]
pub(in crate::native) struct Offence {
    pub(in crate::native) kind: OffenceKind,
    /// When the thread does it.
    pub(in crate::native) moment: Moment,
    /// The death of the memory; none if that was in an earlier execution.
    pub(in crate::native) death: Option<Death>,
}

#[derive(Copy, Clone, Debug)]
pub(in crate::native) enum OffenceKind {
    /// It accesses a place in it, here.
    Use(Code),
    /// It frees it again.
    Free,
}

impl Run {
    /// The place at an address gets a number. Its memory may have been freed: then that is a finding, and the thread
    /// goes no further.
    pub(in crate::native) fn register(
        &self,
        address: usize,
        value: Value,
        kind: Kind,
        (code, look): (Code, Look),
        has_birth: bool,
        accessed: Code,
    ) -> u32 {
        let mut birth = None;
        if has_birth {
            let mut heap = self.heap.borrow_mut();
            if let Some(block) = heap.block_mut(address) {
                if let Some(death) = block.death {
                    drop(heap);
                    self.offend(OffenceKind::Use(accessed), Some(death));
                } else {
                    block.places += 1;
                    birth = block.birth.filter(|_| !self.is_flat());
                }
            }
        }
        let registered_by = self.now().thread;
        let mut objects = self.objects.borrow_mut();
        let (origin, location, is_dead, is_watched) = ((code, look), NONE, false, has_birth);
        objects.push(Object { address, kind, value, location, origin, birth, is_dead, is_watched, registered_by });
        objects.len() as u32 - 1
    }

    /// The thread that runs accesses or frees what was freed. It goes no further, unless the run is being taken down.
    pub(in crate::native) fn offend(&self, kind: OffenceKind, death: Option<Death>) {
        if self.is_ending.get() || std::thread::panicking() {
            return;
        }
        self.offence.set(Some(Offence { kind, moment: self.now(), death }));
        self.has_news.set(true);
        self.stop(match kind {
            OffenceKind::Use(code) => code,
            OffenceKind::Free => Location::caller(),
        });
    }

    /// The death of what is at an address.
    pub(in crate::native) fn death_at(&self, address: usize) -> Option<Death> {
        self.heap.borrow().death_at(address)
    }

    /// Whether something is allocated at this address, or was.
    pub(super) fn has_block(&self, address: usize) -> bool {
        self.heap.borrow().block(address).is_some()
    }

    /// Whether something is allocated at this address, or was: the address stands for an object.
    pub(in crate::native) fn is_allocated(&self, address: Value) -> bool {
        address > 1 << 20 && self.has_block(address as usize)
    }

    /// The thread that runs has allocated memory. Before there are others, nobody can access it too early.
    pub(in crate::native) fn allocated(&self, start: usize, size: usize) {
        if size == 0 || self.is_in_allocator.replace(true) {
            return;
        }
        let birth = if self.is_flat() { None } else { Some(self.now()) };
        self.heap.borrow_mut().allocate(start, size, birth);
        self.is_in_allocator.set(false);
    }

    /// The thread that runs frees memory. It stays until the execution is over. False if it must not be freed.
    pub(super) fn freed(&self, start: usize, size: usize) -> bool {
        if self.is_in_allocator.replace(true) {
            return true;
        }
        let mut freeing = self.freeing.borrow_mut();
        let before = freeing.len();
        freeing.push(self.now());
        // SAFETY: it is set while a thread is let run, and nobody changes the graph meanwhile.
        let events = unsafe { self.graph.get().as_ref() }.map_or(self.replayed.get(), |graph| graph.events.len());
        let mut heap = self.heap.borrow_mut();
        let has_places = heap.has_places(start, size);
        let end = heap.free(start, size, &freeing, events);
        freeing.truncate(before);
        drop((heap, freeing));
        if let (Ok(death), true) = (end, has_places) {
            self.mark(start, size, death);
        }
        self.is_in_allocator.set(false);
        if let Err(Misuse::DoubleFree(death)) = end {
            self.offend(OffenceKind::Free, Some(death));
        }
        end.is_ok()
    }

    /// Marks the places in memory that was freed. A place that was moved away has left its number behind; the mark does
    /// not reach it.
    fn mark(&self, start: usize, size: usize, death: Death) {
        let mut dead = self.dead.borrow_mut();
        for (number, object) in (0_u64..).zip(self.objects.borrow_mut().iter_mut()) {
            if object.is_watched && object.address.wrapping_sub(start) < size {
                // SAFETY: the place was in this memory, which is still there, and nobody else has it now.
                let word = unsafe { &*(object.address as *const AtomicU64) };
                if word.load(Ordering::Relaxed) == self.generation() << BITS | number {
                    word.store(DEAD, Ordering::Relaxed);
                    object.is_dead = true;
                    dead.push((number as u32, death));
                }
            }
        }
    }

    /// Frees memory of the system's allocator.
    pub(super) fn quarantine(&self, address: *mut u8, layout: Layout) {
        if self.freed(address as usize, layout.size()) {
            self.is_in_allocator.set(true);
            self.quarantine.borrow_mut().push((address as usize, layout));
            self.is_in_allocator.set(false);
        }
    }

    /// Frees memory of the global allocator.
    pub(in crate::native) fn keep(&self, address: *mut u8, layout: Layout) {
        if self.freed(address as usize, layout.size()) {
            self.kept.borrow_mut().push((address as usize, layout));
        }
    }

    /// Whether code of the execution allocates and frees, and not the run itself.
    pub(in crate::native) fn is_executing(&self) -> bool {
        !self.current.get().is_null() && !self.is_ending.get() && !self.is_in_allocator.get()
    }

    /// Whether memory was freed in this execution.
    pub(in crate::native) fn was_freed(&self, address: usize) -> bool {
        self.heap.try_borrow().is_ok_and(|heap| heap.death_at(address).is_some())
    }

    /// A counted reference is dropped, which is no event.
    pub(in crate::native) fn drop_silently(&self, counter: usize) {
        if HAS_ALLOCATOR.load(Ordering::Relaxed) {
            self.silent_drops.borrow_mut().push((counter, self.now()));
        }
    }

    /// Drops what a counted reference refers to: the last one is gone, and all drops before happen before this.
    pub(in crate::native) fn free_counted(&self, counter: usize, action: impl FnOnce()) {
        let mut freeing = self.freeing.take();
        let outer = freeing.len();
        self.silent_drops.borrow_mut().retain(|&(other, moment)| {
            if other == counter {
                freeing.push(moment);
            }
            other != counter
        });
        self.freeing.replace(freeing);
        action();
        self.freeing.borrow_mut().truncate(outer);
    }

    /// Another execution begins: nothing is left that could use memory which the code has freed.
    pub(super) fn forget_memory(&self) {
        self.tracked.borrow_mut().clear();
        self.heap.borrow_mut().clear();
        self.dead.borrow_mut().clear();
        self.silent_drops.borrow_mut().clear();
        self.freeing.borrow_mut().clear();
        self.offence.set(None);
        self.published.iter().for_each(|address| address.set(0));
        for (address, layout) in self.quarantine.borrow_mut().drain(..) {
            // SAFETY: the code has given this memory back, once.
            unsafe { System.dealloc(address as *mut u8, layout) }
        }
        for (address, layout) in self.kept.take() {
            // SAFETY: the same.
            unsafe { std::alloc::dealloc(address as *mut u8, layout) }
        }
    }

    /// The thread that runs makes an address known to others. If nobody has told of an allocation there, it is the
    /// thread's own, and what is in it was made by the thread.
    pub(in crate::native) fn publish(&self, start: usize, size: usize) {
        if HAS_ALLOCATOR.load(Ordering::Relaxed) || size == 0 || start == 0 {
            return;
        }
        self.is_unwatched.set(true);
        if self.is_flat() || self.published[start >> 4 & 7].replace(start) == start || self.has_block(start) {
            return;
        }
        let mut objects = self.objects.borrow_mut();
        let now = self.now();
        let within = |object: &&mut Object| object.address.wrapping_sub(start) < size;
        // If others have accessed what is there, they have got it in some other way.
        if objects.iter_mut().filter(within).any(|object| object.registered_by != now.thread) {
            return;
        }
        for object in objects.iter_mut().filter(within) {
            object.birth = Some(now);
        }
        drop(objects);
        self.allocated(start, size);
    }

    /// Memory was allocated that must be given back before the execution ends.
    pub(in crate::native) fn must_be_given_back(&self, address: usize, code: Code) {
        let live = self.add_live(code, "memory");
        self.tracked.borrow_mut().push((address, live));
    }

    pub(in crate::native) fn given_back(&self, address: usize) {
        let mut tracked = self.tracked.borrow_mut();
        if let Some(at) = tracked.iter().rposition(|(other, _)| *other == address) {
            self.remove_live(tracked.swap_remove(at).1);
        }
    }

    /// If asked for: the places in memory of this execution that was not freed, by where they were made.
    pub(in crate::native) fn leaks(&self) -> Vec<String> {
        if !self.watches_leaks {
            return Vec::new();
        }
        let (heap, objects) = (self.heap.borrow(), self.objects.borrow());
        let is_left = |(number, object): &(u64, &Object)| {
            let is_there = heap.block(object.address).is_some_and(|(_, block)| block.death.is_none());
            // SAFETY: the memory was allocated in this execution, and was not freed.
            is_there
                && unsafe { &*(object.address as *const AtomicU64) }.load(Ordering::Relaxed)
                    == self.generation() << BITS | number
        };
        let left = (0_u64..).zip(objects.iter()).filter(is_left);
        left.map(|(_, object)| format!("memory with what was made at {}", object.origin.0)).collect()
    }
}
