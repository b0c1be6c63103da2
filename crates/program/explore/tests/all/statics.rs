//! Statics that are made once: safe code cannot reach a value that is gone, whatever it keeps from one execution to the
//! next, and whatever its destructors do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize as Real, Ordering::SeqCst};

use explore::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use explore::sync::{Arc, LazyLock, Mutex as Lock, Notify, OnceLock};
use explore::{Builder, thread};

/// Counts the values that are gone.
#[derive(Debug)]
struct Value(usize);

static GONE: Real = Real::new(0);

impl Drop for Value {
    fn drop(&mut self) {
        GONE.fetch_add(1, SeqCst);
    }
}

static ONCE: OnceLock<Value> = OnceLock::new();
static LAZY: LazyLock<Value> = LazyLock::new(|| Value(2));

explore::lazy_static! {
    static ref STATIC: Value = Value(3);
}

/// What code keeps of a static, it may use in a later execution.
#[test]
fn references_stay() {
    static KEPT: Mutex<Vec<&'static Value>> = Mutex::new(Vec::new());
    let verdict = Builder::new().check(|| {
        let word = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&word);
        thread::spawn(move || other.fetch_add(1, Relaxed));
        word.fetch_add(1, Relaxed);
        let new = [ONCE.get_or_init(|| Value(1)), LazyLock::force(&LAZY), &*STATIC];
        let mut kept = KEPT.lock().unwrap();
        kept.extend(new);
        assert!(kept.chunks(3).all(|kept| kept.iter().map(|value| value.0).eq([1, 2, 3])));
        assert_eq!(GONE.load(SeqCst), 0);
    });
    assert!(verdict.finding.is_none() && verdict.counts.executions == 2, "{verdict}");
    assert!(KEPT.lock().unwrap().len() >= 6);
    // Of those that are in no static, nothing stays.
    let verdict = Builder::new().check(|| assert!(OnceLock::new().set(Value(4)).is_ok()));
    assert!(verdict.finding.is_none() && GONE.load(SeqCst) == 1, "{verdict}");
}

/// A value that was given outside of all runs is the value in all of them.
#[test]
fn given_before() {
    static LOCK: OnceLock<usize> = OnceLock::new();
    assert_eq!((LOCK.get(), LOCK.set(5), LOCK.get()), (None, Ok(()), Some(&5)));
    let verdict = Builder::new().check(|| {
        assert_eq!((LOCK.get(), LOCK.get_or_init(|| 6), LOCK.set(7)), (Some(&5), &5, Err(7)));
    });
    assert!(verdict.finding.is_none(), "{verdict}");
    assert_eq!(LOCK.get_or_init(|| 8), &5);
}

/// The wait of a token that is in a static may end without a reason once in each execution, and not once in all.
#[test]
fn a_token_begins_anew() {
    static TOKEN: Notify = Notify::new();
    static EARLY: Real = Real::new(0);
    let verdict = Builder::new().check(|| {
        let done = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&done);
        thread::spawn(move || {
            other.store(1, Relaxed);
            TOKEN.notify();
        });
        TOKEN.wait();
        if done.load(Relaxed) == 0 {
            EARLY.fetch_add(1, SeqCst);
        }
    });
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    // The token is there or not yet, and was waited for or not; without it, the store was seen or not.
    assert_eq!((verdict.counts.executions, EARLY.load(SeqCst)), (3, 1), "{verdict}");
}

/// Three threads that add to what a lock in a static protects. It begins each execution at zero.
fn add_to(lock: &'static Lock<u64>) {
    let add = || {
        let mut value = lock.lock().unwrap();
        *value += 1;
    };
    let others: Vec<_> = (0..3).map(|_| thread::spawn(add)).collect();
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(*lock.lock().unwrap(), 3);
}

/// Explorations on threads of the operating system, such as tests are, may use one static: neither sees what the other
/// does with it.
#[test]
fn explorations_at_once_share_a_static() {
    static SHARED: Lock<u64> = Lock::new(0);
    let explore = || {
        (0..60).for_each(|round| {
            let workers = 1 + round % 2;
            let verdict = Builder::new().check_by(workers, || add_to(&SHARED));
            assert!(verdict.finding.is_none() && verdict.counts.executions == 6, "{verdict}");
        });
    };
    let others = [std::thread::spawn(explore), std::thread::spawn(explore)];
    explore();
    assert!(others.into_iter().all(|other| other.join().is_ok()));
}

/// If each has what the other waits for, one of them says so.
#[test]
fn explorations_that_wait_for_each_other() {
    static ONE: Lock<u64> = Lock::new(0);
    static OTHER: Lock<u64> = Lock::new(0);
    let explore = |[first, second]: [&'static Lock<u64>; 2]| {
        for _ in 0..100 {
            let verdict = Builder::new().check(move || {
                *first.lock().unwrap() += 1;
                std::thread::yield_now();
                *second.lock().unwrap() += 1;
                assert_eq!((*first.lock().unwrap(), *second.lock().unwrap()), (1, 1));
            });
            let told = verdict.to_string();
            assert!(verdict.finding.is_none() || told.contains("run one at a time"), "{told}");
        }
    };
    let other = std::thread::spawn(move || explore([&OTHER, &ONE]));
    explore([&ONE, &OTHER]);
    other.join().unwrap();
}

/// An exploration in the code of another one does not wait for it.
#[test]
fn an_exploration_in_another() {
    static SHARED: Lock<u64> = Lock::new(0);
    let verdict = Builder::new().check(|| {
        *SHARED.lock().unwrap() = 5;
        let inner = Builder::new().check(|| drop(SHARED.lock().unwrap()));
        assert!(inner.finding.is_none(), "{inner}");
    });
    assert!(verdict.finding.is_none(), "{verdict}");
}

/// A destructor that panics when a run is taken down leaves no run behind.
#[test]
fn a_destructor_that_panics() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let builder = Builder { max_threads: Some(1), ..Builder::new() };
    let end = catch_unwind(AssertUnwindSafe(|| {
        builder.check(|| {
            let bomb = Bomb;
            thread::spawn(move || drop(bomb));
        })
    }));
    assert_eq!(end.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
    let word = AtomicUsize::new(3);
    word.store(4, Relaxed);
    assert_eq!(word.load(Relaxed), 4);
}
