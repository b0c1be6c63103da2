//! Known bugs of weak memory are found, in every way of searching, and their mended forms and other structures pass.

#![allow(unsafe_code, reason = "cells are accessed through pointers")]

use explore::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use explore::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use explore::sync::{Arc, Mutex};
use explore::{Builder, Finding, RandomStrategy, hint, thread};

mod shim {
    pub use explore::{cell, hint, sync, thread};
}

#[path = "programs/bugs.rs"]
mod bugs;
#[path = "programs/data.rs"]
mod data;
#[path = "programs/structures.rs"]
mod structures;

#[test]
fn bugs_are_found_by_exploration() {
    for (name, program) in bugs::BUGS {
        let verdict = Builder::new().check(move || program(false));
        assert!(matches!(verdict.finding, Some(Finding::Race(_) | Finding::Panic(_))), "{name}: {verdict}");
        let verdict = Builder::new().check(move || program(true));
        assert!(verdict.finding.is_none() && verdict.is_complete, "{name}, mended: {verdict}");
    }
}

#[test]
fn bugs_are_found_at_random() {
    let strategies =
        [RandomStrategy::Uniform, RandomStrategy::Pct { depth: 3 }, RandomStrategy::Pctwm { depth: 2, history: 2 }];
    for (name, program) in bugs::BUGS {
        for strategy in strategies {
            let verdict = Builder::new().sample(strategy, 0..20_000, move || program(false));
            assert!(verdict.finding.is_some(), "{name}, {strategy:?}: {verdict}");
            let verdict = Builder::new().sample(strategy, 0..500, move || program(true));
            assert!(verdict.finding.is_none(), "{name}, mended, {strategy:?}: {verdict}");
        }
    }
}

#[test]
fn structures_are_right() {
    for (name, program) in structures::STRUCTURES {
        let verdict = Builder::new().check(program);
        assert!(verdict.finding.is_none() && verdict.is_complete, "{name}: {verdict}");
        println!("{name}: {verdict}, {} blocked", verdict.counts.blocked);
        let verdict = Builder::new().sample(RandomStrategy::Uniform, 0..500, program);
        assert!(verdict.finding.is_none(), "{name}: {verdict}");
        println!("{name}: {:?}", verdict.counts);
    }
}

/// Several workers visit the same executions, and find the same.
#[test]
fn workers() {
    for (name, program) in structures::STRUCTURES {
        let (alone, shared) = (Builder::new().check(program), Builder::new().check_by(3, program));
        assert!(shared.is_complete, "{name}: {shared}");
        assert_eq!(shared.counts, alone.counts, "{name}");
    }
    for (name, program) in bugs::BUGS {
        let alone = Builder::new().check(move || program(false));
        let shared = Builder::new().check_by(3, move || program(false));
        assert_eq!(shared.finding, alone.finding, "{name}");
        assert_eq!(shared.trace.map(|trace| trace.token), alone.trace.map(|trace| trace.token), "{name}");
    }
    // A larger one, with addresses, threads that are made by others, and loops that wait.
    let large = || {
        let lock = Arc::new((AtomicBool::new(false), AtomicPtr::new(std::ptr::null_mut::<AtomicUsize>())));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || {
                    while lock.0.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                        hint::spin_loop();
                    }
                    let inner = Arc::clone(&lock);
                    let made = thread::spawn(move || {
                        let old = inner.1.load(Acquire);
                        if !old.is_null() {
                            unsafe { &*old }.fetch_add(1, Relaxed);
                        }
                    });
                    let new = Box::into_raw(Box::new(AtomicUsize::new(0)));
                    let old = lock.1.swap(new, AcqRel);
                    made.join().unwrap();
                    lock.0.store(false, Release);
                    old as usize
                })
            })
            .collect();
        let mut nodes: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        nodes.push(lock.1.load(Relaxed) as usize);
        for node in nodes.into_iter().filter(|&node| node != 0) {
            drop(unsafe { Box::from_raw(node as *mut AtomicUsize) });
        }
    };
    let (alone, shared) = (Builder::new().check(large), Builder::new().check_by(4, large));
    assert!(alone.counts.executions > 40, "{alone}");
    assert_eq!(shared.counts, alone.counts, "{alone} {shared}");
}

/// Data in a static is never accessed by two workers at once.
#[test]
fn workers_and_statics() {
    static SUM: Mutex<usize> = Mutex::new(0);
    let code = || {
        let threads: Vec<_> = (0..5).map(|_| thread::spawn(|| *SUM.lock().unwrap() += 1)).collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(*SUM.lock().unwrap(), 5);
    };
    for _ in 0..3 {
        let verdict = Builder::new().check_by(4, code);
        assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
        assert_eq!(verdict.counts.executions, 120);
    }
}
