//! Statics that are made once: safe code cannot reach a value that is gone, whatever it keeps from one execution to the
//! next, and whatever its destructors do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize as Real, Ordering::SeqCst};

use explore::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use explore::sync::{LazyLock, OnceLock};
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
        let word = explore::sync::Arc::new(AtomicUsize::new(0));
        let other = explore::sync::Arc::clone(&word);
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

/// Outside of runs it is the standard library's. (This part Miri can run.)
#[test]
fn outside_of_runs() {
    let mut lock = OnceLock::new();
    assert_eq!(lock.get_mut(), None);
    assert_eq!(lock.get_or_init(|| 1), &1);
    *lock.get_mut().unwrap() += 1;
    assert_eq!(lock.into_inner(), Some(2));
    assert_eq!(OnceLock::<usize>::new().into_inner(), None);
    let shared = std::sync::Arc::new(OnceLock::new());
    let others = [1, 2].map(|value| {
        let shared = std::sync::Arc::clone(&shared);
        std::thread::spawn(move || *shared.get_or_init(|| vec![value]).first().unwrap())
    });
    let first = shared.get_or_init(|| vec![0])[0];
    assert!(others.into_iter().all(|other| other.join().unwrap() == first));
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
