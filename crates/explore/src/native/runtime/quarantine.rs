//! An allocator under which no address stands for two objects in one execution.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::Ordering;

use super::{HAS_ALLOCATOR, Run, get};

/// A global allocator for tests with this crate. It passes everything on to the system's. What a thread of a program
/// under test gives back stays out of use until the execution ends, so no address stands for two objects in one
/// execution. And it tells who has allocated what, so that an access that does not happen after that is a finding.
///
/// Code that keeps addresses in atomics should be tested with it:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: explore::alloc::Quarantine = explore::alloc::Quarantine;
/// # fn main() {}
/// ```
#[derive(Copy, Clone, Debug, Default)]
pub struct Quarantine;

/// The run whose code allocates, unless the run itself does.
fn allocating<'a>() -> Option<&'a Run> {
    let run = get()?;
    (!run.current.get().is_null() && !run.is_ending.get() && !run.is_in_allocator.get()).then_some(run)
}

// SAFETY: all memory is the system's, and is given back to it once.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        let address = unsafe { System.alloc(layout) };
        if let Some(run) = allocating() {
            HAS_ALLOCATOR.store(true, Ordering::Relaxed);
            run.allocated(address as usize, layout.size());
        }
        address
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        if let Some(run) = allocating()
            && let Ok(mut quarantine) = run.quarantine.try_borrow_mut()
        {
            run.is_in_allocator.set(true);
            quarantine.push((address as usize, layout));
            run.is_in_allocator.set(false);
            return;
        }
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.dealloc(address, layout) }
    }
}
