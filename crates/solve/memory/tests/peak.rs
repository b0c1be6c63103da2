//! How much memory the checkers of all models take at their peak, for each operation of a long execution.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use memory::{MemoryOptions, check};
use model::{Model, Verdict, View};
use workload::memory::{MemoryConfig, MemoryMachine, history, thread_by_thread};

/// Counts the bytes that are allocated now, and the most that ever were.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that an operation may take, on top of the execution itself.
const MOST: usize = 300;

// One test: others in this process would be counted too.
#[test]
fn no_model_takes_much_memory_for_an_operation() {
    let operations = 125_000;
    let models = Model::every().filter(|model| model.row().view == View::Execution).collect();
    for (machine, models) in [
        (MemoryMachine::Sc, models),
        (MemoryMachine::Tso, vec![Model::Wpso, Model::Pso, Model::Wtso, Model::Tso]),
        (MemoryMachine::Pso, vec![Model::Wpso, Model::Pso]),
    ] {
        let config =
            MemoryConfig { machine, threads: 16, locations: 64, operations, seed: 1, ..MemoryConfig::default() };
        let history = history(&config, thread_by_thread(&config));
        let execution = history::Execution::from_history(&history).expect("an execution");
        for model in models {
            let before = NOW.load(Ordering::Relaxed);
            PEAK.store(before, Ordering::Relaxed);
            let verdict = check(model, &execution, &MemoryOptions::default()).verdict;
            assert_eq!(verdict, Verdict::Consistent, "{machine:?}, {model}");
            let bytes = (PEAK.load(Ordering::Relaxed) - before) / operations as usize;
            println!("{machine:?}, {model}: {bytes} bytes an operation");
            assert!(bytes <= MOST, "{machine:?}, {model}: {bytes} bytes an operation");
        }
    }
}
