//! Rust code under the models.

#![allow(unsafe_code, reason = "cells are accessed through pointers")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use explore::cell::{Cell, UnsafeCell};
use explore::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use explore::sync::atomic::{AtomicBool, AtomicI8, AtomicPtr, AtomicU8, AtomicU16, AtomicUsize, Ordering, fence};
use explore::sync::{Arc, Mutex, RwLock};
use explore::{Builder, Finding, Model, RandomStrategy, Verdict, hint, thread};

fn check(code: impl Fn() + 'static) -> Verdict {
    Builder::new().check(code)
}

/// What the code returns, in all executions.
fn outcomes<T: Ord + 'static>(model: Model, code: impl Fn() -> T + 'static) -> BTreeSet<T> {
    let all = Rc::new(RefCell::new(BTreeSet::new()));
    let of_run = Rc::clone(&all);
    let verdict = Builder { model, ..Builder::new() }.check(move || {
        let result = code();
        of_run.borrow_mut().insert(result);
    });
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    Rc::into_inner(all).unwrap().into_inner()
}

fn store_buffering(order: [Ordering; 2], with_fence: bool) -> (usize, usize) {
    let both = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let side = move |both: &[AtomicUsize; 2], mine: usize| {
        both[mine].store(1, order[0]);
        if with_fence {
            fence(SeqCst);
        }
        both[1 - mine].load(order[1])
    };
    let other = {
        let both = Arc::clone(&both);
        thread::spawn(move || side(&both, 1))
    };
    let mine = side(&both, 0);
    (mine, other.join().unwrap())
}

#[test]
fn weak_outcomes() {
    for model in [Model::C20, Model::Rc11] {
        assert_eq!(outcomes(model, || store_buffering([Relaxed, Relaxed], false)).len(), 4);
        assert_eq!(outcomes(model, || store_buffering([Release, Acquire], false)).len(), 4);
        assert_eq!(outcomes(model, || store_buffering([SeqCst, SeqCst], false)).len(), 3);
        assert_eq!(outcomes(model, || store_buffering([Relaxed, Relaxed], true)).len(), 3);
    }
    assert_eq!(outcomes(Model::Sc, || store_buffering([Relaxed, Relaxed], false)).len(), 3);
    assert_eq!(outcomes(Model::Tso, || store_buffering([Relaxed, Relaxed], false)).len(), 4);
}

/// The classes are those of the abstract program: `n!` for `n` threads that add.
#[test]
fn counters() {
    for (threads, expected) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
        let verdict = check(move || {
            let counter = Arc::new(AtomicUsize::new(0));
            let others: Vec<_> = (0..threads)
                .map(|_| {
                    let counter = Arc::clone(&counter);
                    thread::spawn(move || counter.fetch_add(1, Relaxed))
                })
                .collect();
            let sum: usize = others.into_iter().map(|other| other.join().unwrap()).sum();
            assert_eq!(sum, (0..threads).sum::<usize>());
            assert_eq!(counter.load(Relaxed), threads);
        });
        assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
        assert_eq!(verdict.counts.executions, expected);
    }
}

struct Shared {
    flag: AtomicBool,
    data: UnsafeCell<u32>,
}

unsafe impl Sync for Shared {}

fn message_passing(release: Ordering, acquire: Ordering) {
    let shared = Arc::new(Shared { flag: AtomicBool::new(false), data: UnsafeCell::new(0) });
    let writer = Arc::clone(&shared);
    thread::spawn(move || {
        writer.data.with_mut(|data| unsafe { *data = 7 });
        writer.flag.store(true, release);
    });
    if shared.flag.load(acquire) {
        assert_eq!(shared.data.with(|data| unsafe { *data }), 7);
    }
}

#[test]
fn races() {
    let verdict = check(|| message_passing(Release, Acquire));
    assert!(verdict.finding.is_none() && verdict.is_complete && verdict.counts.executions == 2, "{verdict}");
    for (release, acquire) in [(Relaxed, Acquire), (Release, Relaxed), (Relaxed, Relaxed)] {
        let verdict = check(move || message_passing(release, acquire));
        let Some(Finding::Race(places)) = &verdict.finding else { panic!("{verdict}") };
        assert!(places.iter().all(|place| place.contains("native.rs")), "{places:?}");
    }
}

struct SpinLock {
    is_taken: AtomicBool,
    value: UnsafeCell<usize>,
}

unsafe impl Sync for SpinLock {}

impl SpinLock {
    fn add(&self, acquire: Ordering, release: Ordering) {
        while self.is_taken.compare_exchange_weak(false, true, acquire, Relaxed).is_err() {
            hint::spin_loop();
        }
        self.value.with_mut(|value| unsafe { *value += 1 });
        self.is_taken.store(false, release);
    }
}

fn spinlock(threads: usize, acquire: Ordering, release: Ordering) {
    let lock = Arc::new(SpinLock { is_taken: AtomicBool::new(false), value: UnsafeCell::new(0) });
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || lock.add(acquire, release))
        })
        .collect();
    lock.add(acquire, release);
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(lock.value.with(|value| unsafe { *value }), threads);
}

#[test]
fn spinlocks() {
    for threads in [2, 3] {
        let verdict = check(move || spinlock(threads, Acquire, Release));
        assert!(verdict.finding.is_none() && verdict.is_complete && verdict.counts.executions >= 2, "{verdict}");
    }
    for (acquire, release) in [(Relaxed, Release), (Acquire, Relaxed)] {
        let verdict = check(move || spinlock(2, acquire, release));
        assert!(matches!(verdict.finding, Some(Finding::Race(_))), "{verdict}");
    }
}

#[test]
fn mutexes() {
    let verdict = check(|| {
        let counter = Arc::new(Mutex::new(0));
        let others: Vec<_> = (0..3)
            .map(|_| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || *counter.lock().unwrap() += 1)
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(*counter.lock().unwrap(), 3);
    });
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    assert_eq!(verdict.counts.executions, 6);

    let verdict = check(|| {
        let locks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let others = Arc::clone(&locks);
        thread::spawn(move || {
            let _one = others[1].lock().unwrap();
            let _two = others[0].lock().unwrap();
        });
        let _one = locks[0].lock().unwrap();
        let _two = locks[1].lock().unwrap();
    });
    let Some(Finding::Deadlock(places)) = &verdict.finding else { panic!("{verdict}") };
    assert_eq!(places.len(), 2, "{places:?}");
}

#[test]
fn failed_assertions() {
    let verdict = check(|| {
        let both = store_buffering([Release, Acquire], false);
        assert_ne!(both, (0, 0), "both threads read the old value");
    });
    let Some(Finding::Panic(message)) = &verdict.finding else { panic!("{verdict}") };
    assert!(message.contains("both threads read the old value"), "{message}");
    let panic = std::panic::catch_unwind(|| explore::model(|| panic!("on purpose"))).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("on purpose"));
}

/// Who drops the last reference drops the value, in every execution.
#[test]
fn counted_references() {
    struct Last(Rc<RefCell<usize>>);
    impl Drop for Last {
        fn drop(&mut self) {
            *self.0.borrow_mut() += 1;
        }
    }
    let drops = Rc::new(RefCell::new(0));
    let of_run = Rc::clone(&drops);
    let verdict = check(move || {
        let value = Arc::new(Last(Rc::clone(&of_run)));
        let other = Arc::clone(&value);
        thread::spawn(move || drop(other));
        drop(value);
    });
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    assert_eq!(verdict.counts.executions, 2);
    assert!(*drops.borrow() >= 2);
}

/// Arithmetic wraps around where the type does.
#[test]
fn narrow_types() {
    explore::model(|| {
        let byte = AtomicU8::new(250);
        assert_eq!(byte.fetch_add(10, Relaxed), 250);
        assert_eq!(byte.load(Relaxed), 4);
        assert_eq!(byte.fetch_sub(5, AcqRel), 4);
        assert_eq!(byte.fetch_max(3, Relaxed), 255);
        assert_eq!(byte.fetch_min(3, Relaxed), 255);
        assert_eq!(byte.fetch_nand(1, Relaxed), 3);
        assert_eq!(byte.swap(9, Relaxed), 254);
        assert_eq!(byte.compare_exchange(8, 1, Relaxed, Relaxed), Err(9));
        assert_eq!(byte.compare_exchange(9, 1, Relaxed, Relaxed), Ok(9));
        assert_eq!(byte.fetch_update(Relaxed, Relaxed, |value| value.checked_mul(2)), Ok(1));
        let signed = AtomicI8::new(-100);
        assert_eq!(signed.fetch_sub(100, Relaxed), -100);
        assert_eq!(signed.fetch_max(-3, Relaxed), 56);
        assert_eq!(signed.fetch_min(-3, Relaxed), 56);
        let mut signed = signed;
        signed.with_mut(|value| *value += 1);
        assert_eq!(signed.into_inner(), -2);
        let flag = AtomicBool::new(false);
        assert!(!flag.fetch_or(true, SeqCst) && flag.fetch_xor(true, SeqCst) && !flag.fetch_and(true, SeqCst));
    });
}

/// An exploration that may not go on says so.
#[test]
fn bounds() {
    let builder = Builder { max_executions: Some(2), ..Builder::new() };
    let verdict = builder.check(|| {
        store_buffering([Relaxed, Relaxed], false);
    });
    assert!(verdict.finding.is_none() && !verdict.is_complete && verdict.counts.executions == 2, "{verdict}");
    let builder = Builder { max_steps: 10, ..Builder::new() };
    let verdict = builder.check(|| {
        let counter = AtomicUsize::new(0);
        loop {
            counter.fetch_add(1, Relaxed);
        }
    });
    assert!(!verdict.is_complete && verdict.counts.bounded == 1, "{verdict}");
    assert_eq!(verdict.to_string(), "no finding in 0 executions; 1 more are bounded, and not at their end");
    let counters = || {
        let counter = Arc::new(AtomicUsize::new(0));
        for _ in 0..3 {
            let counter = Arc::clone(&counter);
            thread::spawn(move || counter.fetch_add(1, Relaxed));
        }
    };
    for (builder, is_complete) in [
        (Builder { max_threads: Some(3), ..Builder::new() }, false),
        (Builder { max_threads: Some(4), ..Builder::new() }, true),
        (Builder { max_events: Some(8), ..Builder::new() }, false),
        (Builder { max_events: Some(9), ..Builder::new() }, true),
    ] {
        let verdict = builder.check(counters);
        assert!(verdict.finding.is_none() && verdict.is_complete == is_complete, "{builder:?} {verdict}");
        assert_eq!(verdict.counts.executions == 6, is_complete, "{builder:?} {verdict}");
    }
}

/// A loop that gives up is explored to its end if that is asked for.
#[test]
fn loops_that_give_up() {
    let code = || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        thread::spawn(move || other.store(true, Release));
        for _ in 0..3 {
            if flag.load(Acquire) {
                return true;
            }
            hint::spin_loop();
        }
        false
    };
    let all = Rc::new(RefCell::new(BTreeSet::new()));
    for (max_spins, expected) in [(0, 1), (3, 2)] {
        all.borrow_mut().clear();
        let of_run = Rc::clone(&all);
        let verdict = Builder { max_spins, ..Builder::new() }.check(move || {
            let result = code();
            of_run.borrow_mut().insert(result);
        });
        assert!(verdict.is_complete && verdict.finding.is_none(), "{verdict}");
        assert_eq!(all.borrow().len(), expected, "{max_spins}");
    }
}

/// Random runs find the bugs, and the seed repeats the run.
#[test]
fn random_runs() {
    let strategies =
        [RandomStrategy::Uniform, RandomStrategy::Pct { depth: 3 }, RandomStrategy::Pctwm { depth: 2, history: 1 }];
    for strategy in strategies {
        let broken = || spinlock(2, Acquire, Relaxed);
        let verdict = Builder::new().sample(strategy, 0..1000, broken);
        let Some(Finding::Race(_)) = &verdict.finding else { panic!("{strategy:?}: {verdict}") };
        let again = Builder::new().sample(strategy, verdict.seed, broken);
        assert_eq!(again.finding, verdict.finding, "{strategy:?}");
        let verdict = Builder::new().sample(strategy, 0..200, || spinlock(3, Acquire, Release));
        assert!(verdict.finding.is_none() && !verdict.is_complete, "{strategy:?}: {verdict}");
    }
}

/// Whether a thread is started may depend on what was read.
#[test]
fn threads_that_may_not_start() {
    let code = || {
        let both = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let other = Arc::clone(&both);
        thread::spawn(move || other.0.store(true, Release));
        if both.0.load(Acquire) {
            let other = Arc::clone(&both);
            thread::spawn(move || other.1.fetch_add(1, Relaxed)).join().unwrap();
        } else {
            both.1.store(5, Relaxed);
        }
        both.1.load(Relaxed)
    };
    assert_eq!(outcomes(Model::C20, code), BTreeSet::from([1, 5]));
    let verdict = Builder::new().sample(RandomStrategy::Uniform, 0..50, move || {
        code();
    });
    assert!(verdict.finding.is_none() && verdict.counts.executions == 50, "{verdict}");
}

/// Readers share the lock, a writer does not.
#[test]
fn readers_and_writers() {
    let code = || {
        let lock = Arc::new(RwLock::new((0, 0)));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || {
                    let pair = lock.read().unwrap();
                    assert_eq!(pair.0, pair.1);
                    pair.0
                })
            })
            .collect();
        {
            let mut pair = lock.write().unwrap();
            assert!(lock.try_read().is_err() && lock.try_write().is_err());
            *pair = (1, 1);
        }
        let mut seen: Vec<i32> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        assert!(lock.try_read().is_ok());
        seen.sort_unstable();
        seen
    };
    assert_eq!(outcomes(Model::C20, code), BTreeSet::from([vec![0, 0], vec![0, 1], vec![1, 1]]));
    // Two readers that both become writers wait for each other.
    let verdict = check(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let upgrade = |lock: &RwLock<i32>| {
            let _value = lock.read().unwrap();
            *lock.write().unwrap() += 1;
        };
        thread::spawn(move || upgrade(&other));
        upgrade(&lock);
    });
    assert!(matches!(verdict.finding, Some(Finding::Deadlock(_))), "{verdict}");
}

#[test]
fn cells() {
    struct Shared(Cell<u32>);
    unsafe impl Sync for Shared {}
    explore::model(|| {
        let cell = Cell::new(1);
        cell.set(cell.get() + 1);
        assert_eq!((cell.replace(5), cell.take(), cell.into_inner()), (2, 5, 0));
    });
    let verdict = check(|| {
        let shared = Arc::new(Shared(Cell::new(0)));
        let other = Arc::clone(&shared);
        thread::spawn(move || other.0.set(1));
        shared.0.get();
    });
    assert!(matches!(verdict.finding, Some(Finding::Race(_))), "{verdict}");
}

/// A thread that panics drops what it has, and another may panic, too.
#[test]
fn panics_with_locks() {
    let verdict = check(|| {
        let shared = Arc::new((Mutex::new(vec![1]), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let fail = |shared: &(Mutex<Vec<i32>>, AtomicUsize)| {
            let _guard = shared.0.lock().unwrap();
            assert_eq!(shared.1.fetch_add(1, Relaxed), 7, "on purpose");
        };
        thread::spawn(move || fail(&other));
        fail(&shared);
    });
    let Some(Finding::Panic(message)) = &verdict.finding else { panic!("{verdict}") };
    assert!(message.contains("on purpose"), "{message}");
}

/// A thread that is parked goes on when it gets a token, also if it gets it before; and sees what was done before.
#[test]
fn parked_threads() {
    let waits = Builder { spurious_wakes: 0, ..Builder::new() };
    let verdict = waits.check(|| {
        let data = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&data);
        let waiting = thread::spawn(move || {
            thread::park();
            assert_eq!(other.load(Relaxed), 1);
            thread::current().id()
        });
        data.store(1, Relaxed);
        waiting.thread().unpark();
        let id = waiting.thread().id();
        assert_eq!(waiting.join().unwrap(), id);
        assert_ne!(thread::current().id(), id);
    });
    assert!(verdict.finding.is_none() && verdict.is_complete && verdict.counts.executions == 1, "{verdict}");
    // Two tokens at once are one, so the second wait may be for ever.
    let verdict = waits.check(|| {
        let waiting = thread::spawn(|| {
            thread::park();
            thread::park();
        });
        waiting.thread().unpark();
        waiting.thread().unpark();
    });
    assert!(matches!(verdict.finding, Some(Finding::Deadlock(_))), "{verdict}");
}

/// Data in a static begins each execution as it is written there, also in another exploration.
#[test]
fn data_in_statics_begins_anew() {
    struct Own(UnsafeCell<u64>);
    // SAFETY: its accesses are checked.
    unsafe impl Sync for Own {}
    static SUM: Mutex<usize> = Mutex::new(3);
    static PAIR: RwLock<(i8, Option<&str>)> = RwLock::new((-1, None));
    static CELL: Own = Own(UnsafeCell::new(9));
    for _ in 0..2 {
        let verdict = Builder::new().check(|| {
            let other = thread::spawn(|| {
                *SUM.lock().unwrap() += 1;
                let mut pair = PAIR.write().unwrap();
                assert_eq!(*pair, (-1, None));
                *pair = (2, Some("two"));
            });
            *SUM.lock().unwrap() += 1;
            CELL.0.with_mut(|value| {
                // SAFETY: no other thread accesses it.
                let value = unsafe { &mut *value };
                assert_eq!(*value, 9);
                *value = 10;
            });
            other.join().unwrap();
            assert_eq!(*SUM.lock().unwrap(), 5);
            assert_eq!(*PAIR.read().unwrap(), (2, Some("two")));
        });
        assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
        assert_eq!(verdict.counts.executions, 2);
    }
}

/// A finding calls places as the code does, and shows values as their types do. So does its history.
#[test]
fn names_and_values_in_findings() {
    struct Shared {
        is_ready: AtomicBool,
        level: AtomicI8,
        pair: [AtomicU16; 2],
        node: AtomicPtr<u64>,
    }
    let verdict = Builder::new().check(|| {
        let shared = Arc::new(Shared {
            is_ready: AtomicBool::new(false),
            level: AtomicI8::new(-1),
            pair: [const { AtomicU16::new(65_535) }; 2],
            node: AtomicPtr::new(std::ptr::null_mut()),
        });
        let others = Arc::clone(&shared);
        thread::spawn(move || {
            others.level.store(-3, Relaxed);
            others.pair[1].store(7, Relaxed);
            others.node.swap(Box::leak(Box::new(1)), Relaxed);
            others.is_ready.store(true, Release);
        });
        if shared.is_ready.load(Acquire) {
            assert_eq!(shared.pair[0].load(Relaxed), 65_535);
            assert_eq!(shared.pair[1].load(Relaxed), 7);
            assert_eq!(shared.level.load(Relaxed), -1);
        }
    });
    let text = verdict.to_string();
    for part in ["w.rlx level -3", "w.rlx pair 7", "r.rlx pair.2 65535", "u.rlx node null -> object-1", "is_ready true"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let history = verdict.trace.unwrap().history.unwrap();
    let lines: Vec<String> = (0..history.operations().len() as u32)
        .map(|at| format::render_operation(&history, history::OperationId(at)))
        .collect();
    for line in ["[1] w level -3", "[0] r.acq is_ready true"] {
        let line = line.replace("w level", "w.rlx level");
        assert!(lines.contains(&line), "{line}\n{lines:?}");
    }
}
