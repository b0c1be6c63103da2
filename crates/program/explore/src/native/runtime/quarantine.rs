//! An allocator that knows what was freed: no address stands for two objects in one execution.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::Ordering;

use super::{HAS_ALLOCATOR, Run, get};

/// A global allocator for tests with this crate. It passes everything on to the system's. What a thread of a program
/// under test gives back stays out of use until the execution ends, so no address stands for two objects in one
/// execution. And it tells who has allocated and freed what. So an access of an atomic or cell that does not happen
/// after its memory was allocated, or not before it was freed, is a finding, and so is memory that is freed twice.
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
fn executing<'a>() -> Option<&'a Run> {
    get().filter(|run| run.is_executing())
}

// SAFETY: all memory is the system's, and is given back to it once.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        let address = unsafe { System.alloc(layout) };
        if let Some(run) = executing() {
            HAS_ALLOCATOR.store(true, Ordering::Relaxed);
            run.allocated(address as usize, layout.size());
        }
        address
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        match executing() {
            Some(run) => run.quarantine(address, layout),
            // What an execution has freed is given back when it is over, whatever its destructors do.
            None if get().is_some_and(|run| run.was_freed(address as usize)) => {}
            // SAFETY: the caller's promises are those of the system's allocator.
            None => unsafe { System.dealloc(address, layout) },
        }
    }
}
