//! Memory that must be given back, with the names of `std::alloc` and `loom::alloc`.

#![allow(unsafe_code, reason = "the signatures of the standard library")]

use std::panic::Location;

pub use std::alloc::Layout;

pub use super::runtime::Quarantine;
use super::runtime::{self, Code};

/// Allocates memory. If it is not given back before the execution ends, that is a finding.
///
/// # Safety
///
/// As for `std::alloc::alloc`.
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    let address = unsafe { std::alloc::alloc(layout) };
    track(address, layout, Location::caller());
    address
}

/// Allocates memory that is zero.
///
/// # Safety
///
/// As for `std::alloc::alloc_zeroed`.
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    let address = unsafe { std::alloc::alloc_zeroed(layout) };
    track(address, layout, Location::caller());
    address
}

/// Gives memory back that [`alloc`] has allocated. To give it back twice, or to access a place in it afterwards, is a
/// finding.
///
/// # Safety
///
/// As for `std::alloc::dealloc`.
#[track_caller]
pub unsafe fn dealloc(address: *mut u8, layout: Layout) {
    if let Some(run) = runtime::get() {
        run.given_back(address as usize);
        if run.is_executing() {
            return run.keep(address, layout);
        }
        if run.was_freed(address as usize) {
            return;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { std::alloc::dealloc(address, layout) }
}

fn track(address: *mut u8, layout: Layout, code: Code) {
    if let Some(run) = runtime::get() {
        run.allocated(address as usize, layout.size());
        run.must_be_given_back(address as usize, code);
    }
}

/// A value that must be dropped, or taken out, before the execution ends.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    _live: Live,
}

#[derive(Debug)]
struct Live(Option<(u64, u32)>);

impl Drop for Live {
    fn drop(&mut self) {
        if let (Some(live), Some(run)) = (self.0, runtime::get()) {
            run.remove_live(live);
        }
    }
}

impl<T> Track<T> {
    /// Tracks a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let code = Location::caller();
        Self { value, _live: Live(runtime::get().map(|run| run.add_live(code, "a tracked value"))) }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value
    }
}
