//! Once an exploration is warm, an access allocates nothing: a run with many accesses allocates as often as one with
//! few.

#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering as Real};

use explore::cell::Cell;
use explore::sync::Arc;
use explore::sync::atomic::{AtomicUsize, Ordering, fence};
use explore::{Builder, RandomStrategy, thread};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Real::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two threads that access memory as often as told in all ways: loads, stores, rmws, fences, cells.
fn program(rounds: usize) -> impl Fn() + 'static {
    move || {
        let words = Arc::new([const { AtomicUsize::new(0) }; 3]);
        let others = Arc::clone(&words);
        let work = move |words: &[AtomicUsize; 3]| {
            let own = Cell::new(0);
            for round in 0..rounds {
                words[0].store(round, Ordering::Release);
                words[1].fetch_add(1, Ordering::AcqRel);
                fence(Ordering::SeqCst);
                own.set(own.get() + words[2].load(Ordering::Acquire));
                let _ = words[2].compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed);
            }
        };
        let other = thread::spawn(move || work(&others));
        work(&words);
        other.join().unwrap();
    }
}

/// How often a later run allocates.
fn allocations_of_a_run(strategy: RandomStrategy, rounds: usize) -> f64 {
    const RUNS: u64 = 100;
    let count = std::rc::Rc::new(std::cell::Cell::new((0, 0)));
    let (of_runs, code) = (count.clone(), program(rounds));
    let verdict = Builder::new().sample(strategy, 0..2 * RUNS, move || {
        let (runs, first) = of_runs.get();
        of_runs.set((runs + 1, if runs == RUNS { ALLOCATIONS.load(Real::Relaxed) } else { first }));
        code();
    });
    let last = ALLOCATIONS.load(Real::Relaxed);
    assert!(verdict.finding.is_none(), "{verdict}");
    let (runs, first) = count.get();
    (last - first) as f64 / (runs - RUNS) as f64
}

#[test]
fn an_access_allocates_nothing_once_warm() {
    for strategy in
        [RandomStrategy::Uniform, RandomStrategy::Pct { depth: 3 }, RandomStrategy::Pctwm { depth: 2, history: 2 }]
    {
        let (few, many) = (allocations_of_a_run(strategy, 2), allocations_of_a_run(strategy, 12));
        // A run makes its threads, and what they share. Ten more rounds are 160 more accesses.
        println!("{strategy:?}: {few} allocations a run, {many} with more accesses");
        assert!(many < few + 3.0, "{strategy:?}: {few} and {many}");
    }
}
