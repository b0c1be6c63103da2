//! How much memory the process has allocated: now, and at most.
//!
//! The resident memory of a process depends on what the allocator keeps, and on which pages it touches again. What the
//! program asked for does not: the same decision always has the same peak.
//!
//! Invariant: [`now`] is what [`Counted`] gave out and did not get back, in bytes; [`most`] is the largest such number
//! since the last [`forget`].

#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// An allocator that counts what it gives out.
#[derive(Debug)]
pub struct Counted<A>(pub A);

/// How many bytes are allocated.
pub fn now() -> usize {
    NOW.load(Ordering::Relaxed)
}

/// How many bytes were allocated at a time, at most.
pub fn most() -> usize {
    MOST.load(Ordering::Relaxed)
}

/// From now on, the most is counted anew.
pub fn forget() {
    MOST.store(now(), Ordering::Relaxed);
}

fn give(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(now, Ordering::Relaxed);
}

fn take(bytes: usize) {
    NOW.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: everything is passed on to the allocator inside.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        give(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        give(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while one is copied into the other.
        give(size);
        take(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.realloc(address, layout, size) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        take(layout.size());
        // SAFETY: the caller's promise.
        unsafe { self.0.dealloc(address, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_that_of_a_time() {
        let (counted, layout) = (Counted(std::alloc::System), Layout::from_size_align(1000, 8).expect("a layout"));
        forget();
        let before = now();
        for _ in 0..3 {
            // SAFETY: it is given back with its layout.
            unsafe {
                let address = counted.alloc(layout);
                let larger = counted.realloc(address, layout, 3000);
                counted.dealloc(larger, Layout::from_size_align(3000, 8).expect("a layout"));
            }
        }
        assert_eq!((now(), most()), (before, before + 4000));
    }
}
