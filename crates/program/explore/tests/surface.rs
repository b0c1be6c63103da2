//! The names of the standard library and of loom: each in correct code, and in code that it shows to be broken.

#![allow(unsafe_code, reason = "cells are accessed through pointers")]

#[path = "surface/waiting.rs"]
mod waiting;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use explore::alloc::{Layout, Track, alloc, dealloc};
use explore::cell::{Cell, UnsafeCell};
use explore::future::{AtomicWaker, block_on};
use explore::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use explore::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize};
use explore::sync::{Arc, LazyLock, Mutex, Once, OnceLock, RwLock};
use explore::{Builder, Finding, Model, RandomStrategy, Verdict, hint, thread};

#[global_allocator]
static ALLOCATOR: explore::alloc::Quarantine = explore::alloc::Quarantine;

/// No wait ends without a reason: that is for `tests/all/waits.rs`.
fn builder() -> Builder {
    Builder { spurious_wakes: 0, ..Builder::new() }
}

fn check(code: impl Fn() + 'static) -> Verdict {
    builder().check(code)
}

#[track_caller]
fn passes(code: impl Fn() + Copy + 'static) -> u64 {
    let verdict = check(code);
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    let random = builder().sample(RandomStrategy::Uniform, 0..50, code);
    assert!(random.finding.is_none() && random.counts.executions == 50, "{random}");
    verdict.counts.executions
}

#[track_caller]
fn outcomes<T: Ord + 'static>(code: impl Fn() -> T + 'static) -> BTreeSet<T> {
    let all = Rc::new(RefCell::new(BTreeSet::new()));
    let of_run = Rc::clone(&all);
    let verdict = check(move || {
        let result = code();
        of_run.borrow_mut().insert(result);
    });
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    Rc::into_inner(all).unwrap().into_inner()
}

#[track_caller]
fn races(code: impl Fn() + 'static) -> [String; 2] {
    match check(code).finding {
        Some(Finding::Race(places)) => places,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn deadlocks(code: impl Fn() + 'static) -> Vec<String> {
    match check(code).finding {
        Some(Finding::Deadlock(places)) => places,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn leaks(code: impl Fn() + 'static) {
    let finding = check(code).finding;
    assert!(matches!(&finding, Some(Finding::Leak(places)) if places[0].contains("surface.rs")), "{finding:?}");
}

struct Data(UnsafeCell<u32>);
unsafe impl Sync for Data {}
unsafe impl Send for Data {}

impl Data {
    fn read(&self) -> u32 {
        self.0.with(|value| unsafe { *value })
    }
    fn write(&self, new: u32) {
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

static COUNTER: AtomicUsize = AtomicUsize::new(5);
static LOCK: OnceLock<Vec<u32>> = OnceLock::new();
static LAZY: LazyLock<u32> = LazyLock::new(|| COUNTER.fetch_add(1, Relaxed) as u32);
static ONCE: Once = Once::new();
static HEAD: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());

/// A static has its initial value at the start of each execution.
#[test]
fn statics() {
    let counts = outcomes(|| {
        let other = thread::spawn(|| COUNTER.fetch_add(1, Relaxed));
        let mine = COUNTER.fetch_add(10, Relaxed);
        (mine, other.join().unwrap(), COUNTER.load(Relaxed))
    });
    assert_eq!(counts, BTreeSet::from([(5, 15, 16), (6, 5, 16)]));
    assert!(
        passes(|| {
            let other = thread::spawn(|| LOCK.get_or_init(|| vec![1]).len());
            assert_eq!(LOCK.get_or_init(|| vec![2, 2]).len(), other.join().unwrap());
            assert!(LOCK.set(vec![]).is_err());
        }) >= 2
    );
    passes(|| {
        let other = thread::spawn(|| *LAZY);
        assert_eq!((*LAZY, other.join().unwrap(), COUNTER.load(Relaxed)), (5, 5, 6));
    });
    passes(|| {
        let other = thread::spawn(|| ONCE.call_once(|| COUNTER.store(1, Relaxed)));
        ONCE.call_once(|| COUNTER.store(2, Relaxed));
        assert!(ONCE.is_completed() && COUNTER.load(Relaxed) < 3);
        other.join().unwrap();
    });
    passes(|| assert!(HEAD.load(Relaxed).is_null()));
    // On several threads of the operating system at once.
    let explorations: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                for _ in 0..50 {
                    let verdict = check(|| {
                        let other = thread::spawn(|| COUNTER.fetch_add(1, Relaxed));
                        COUNTER.fetch_add(1, Relaxed);
                        other.join().unwrap();
                        assert_eq!(COUNTER.load(Relaxed), 7);
                    });
                    assert!(verdict.finding.is_none() && verdict.counts.executions == 2, "{verdict}");
                }
            })
        })
        .collect();
    for exploration in explorations {
        exploration.join().unwrap();
    }
}

/// An initialization that several threads may do, and one that races.
#[test]
fn initialization() {
    races(|| {
        let both = Arc::new((AtomicBool::new(false), Data(UnsafeCell::new(0))));
        let other = Arc::clone(&both);
        let init = |both: &(AtomicBool, Data)| {
            if !both.0.load(Acquire) {
                both.1.write(1);
                both.0.store(true, Release);
            }
        };
        thread::spawn(move || init(&other));
        init(&both);
    });
}

#[test]
fn scoped_threads() {
    let sums = outcomes(|| {
        let (sum, word) = (AtomicU32::new(0), String::from("abc"));
        let lengths = thread::scope(|scope| {
            let one = scope.spawn(|| {
                sum.fetch_add(1, Relaxed);
                word.len()
            });
            let named = thread::Builder::new().name("second".to_owned());
            let two = named.spawn_scoped(scope, || {
                assert_eq!(thread::current().name(), Some("second"));
                sum.load(Relaxed)
            });
            scope.spawn(|| sum.fetch_add(4, Relaxed));
            (one.join().unwrap(), two.unwrap().join().unwrap())
        });
        assert_eq!((lengths.0, sum.load(Relaxed)), (3, 5));
        lengths.1
    });
    assert_eq!(sums, BTreeSet::from([0, 1, 4, 5]));
    races(|| {
        let data = Data(UnsafeCell::new(0));
        thread::scope(|scope| {
            scope.spawn(|| data.write(1));
            data.read();
        });
    });
}

explore::thread_local! {
    static NUMBER: Cell<u32> = Cell::new(1);
    static OTHER: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

explore::lazy_static! {
    static ref SHARED: Mutex<Vec<u32>> = Mutex::new(vec![7]);
    pub static ref MADE: usize = COUNTER.fetch_add(1, SeqCst);
}

/// A value that is dropped at the end of its thread, and accesses then what is modelled.
struct Farewell(Arc<AtomicU32>);
impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}
explore::thread_local! {
    static LAST: RefCell<Option<Farewell>> = RefCell::new(None);
}

#[test]
fn thread_locals_and_lazy_statics() {
    assert_eq!(
        passes(|| {
            NUMBER.with(|number| number.set(2));
            OTHER.with(|other| other.borrow_mut().push(3));
            let other = thread::spawn(|| (NUMBER.with(Cell::get), OTHER.with(|other| other.borrow().len())));
            assert_eq!(other.join().unwrap(), (1, 0));
            assert_eq!((NUMBER.with(Cell::get), OTHER.with(|other| other.borrow().len())), (2, 1));
        }),
        1
    );
    let orders = outcomes(|| {
        let other = thread::spawn(|| SHARED.lock().unwrap().push(1));
        SHARED.lock().unwrap().push(2);
        other.join().unwrap();
        assert_eq!((*MADE, *MADE, COUNTER.load(Relaxed)), (5, 5, 6));
        SHARED.lock().unwrap().clone()
    });
    assert_eq!(orders, BTreeSet::from([vec![7, 1, 2], vec![7, 2, 1]]));
    passes(|| {
        let count = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&count);
        thread::spawn(move || LAST.with(|last| *last.borrow_mut() = Some(Farewell(other)))).join().unwrap();
        assert_eq!(count.load(Relaxed), 1);
    });
}

#[test]
fn references() {
    // Who is the only one, and who sees what the other did.
    let only = outcomes(|| {
        let mut value = Arc::new(Data(UnsafeCell::new(0)));
        let other = Arc::clone(&value);
        thread::spawn(move || other.write(1));
        match Arc::get_mut(&mut value) {
            Some(data) => 1 + data.read(),
            None => 0,
        }
    });
    assert_eq!(only, BTreeSet::from([0, 2]));
    let unwrapped = outcomes(|| {
        let value = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || {
            other.store(1, Relaxed);
            Arc::try_unwrap(other).is_ok()
        });
        let mine = Arc::try_unwrap(value).map(AtomicU32::into_inner).ok();
        (mine, thread.join().unwrap())
    });
    assert_eq!(unwrapped, BTreeSet::from([(None, false), (None, true), (Some(1), false)]));
    let counts = outcomes(|| {
        let value = Arc::new(0);
        let other = Arc::clone(&value);
        let thread = thread::spawn(move || drop((Arc::clone(&other), other)));
        let count = Arc::strong_count(&value);
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&value), 1);
        count
    });
    assert_eq!(counts, BTreeSet::from([1, 2, 3]));
    passes(|| {
        let value: Arc<[u32]> = Arc::from_std(std::sync::Arc::from([1, 2, 3]));
        let address = Arc::into_raw(Arc::clone(&value));
        unsafe {
            Arc::increment_strong_count(address);
            Arc::decrement_strong_count(address);
            let other = Arc::from_raw(address);
            assert!(Arc::ptr_eq(&value, &other) && other.len() == 3);
        }
        let pinned = Arc::pin(5);
        assert_eq!(*pinned, 5);
        assert_eq!(Arc::into_inner(Arc::new(3)), Some(3));
    });
    leaks(|| std::mem::forget(Arc::new(1)));
    leaks(|| {
        struct Loop(Mutex<Option<Arc<Loop>>>);
        let one = Arc::new(Loop(Mutex::new(None)));
        let other = Arc::clone(&one);
        thread::spawn(move || *other.0.lock().unwrap() = Some(Arc::clone(&other)));
    });
}

/// What is put into a pointer without release must not be accessed by others, though nothing was written after it was
/// made.
#[test]
fn publication() {
    let publish = |order| {
        move || {
            let shared = Arc::new(AtomicPtr::<Data>::new(std::ptr::null_mut()));
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                other.store(Box::into_raw(Box::new(Data(UnsafeCell::new(1)))), order);
            });
            let data = shared.load(Acquire);
            if !data.is_null() {
                assert_eq!(unsafe { &*data }.read(), 1);
            }
            thread.join().unwrap();
            drop(unsafe { Box::from_raw(shared.load(Relaxed)) });
        }
    };
    passes(publish(Release));
    races(publish(Relaxed));
    // Addresses in numbers, with a tag.
    passes(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.store(Box::into_raw(Box::new(7_u64)) as usize, Release);
            other.fetch_or(1, AcqRel);
        });
        let word = shared.load(Acquire);
        if word != 0 {
            assert_eq!(unsafe { *((word & !1) as *const u64) }, 7);
        }
        thread.join().unwrap();
        let word = shared.fetch_and(!7, Relaxed);
        assert_eq!(word & 7, 1);
        drop(unsafe { Box::from_raw((word & !7) as *mut u64) });
    });
}

#[test]
fn memory() {
    let layout = Layout::new::<u64>();
    passes(move || unsafe { dealloc(alloc(layout), layout) });
    leaks(move || assert!(!unsafe { alloc(layout) }.is_null()));
    passes(|| assert_eq!((Track::new(3).into_inner(), *Track::new(4).get_mut()), (3, 4)));
    leaks(|| std::mem::forget(Track::new(5)));
}

/// A pointer that is kept is an access up to its end.
#[test]
fn pointers() {
    let code = |early: bool| {
        move || {
            let both = Arc::new((Data(UnsafeCell::new(0)), AtomicBool::new(false)));
            let other = Arc::clone(&both);
            thread::spawn(move || {
                let pointer = other.0.0.get_mut();
                unsafe { *pointer.deref() = 1 };
                if early {
                    drop(pointer);
                    other.1.store(true, Release);
                } else {
                    other.1.store(true, Release);
                    pointer.with(|pointer| unsafe { *pointer = 2 });
                }
            });
            if both.1.load(Acquire) {
                assert_eq!(unsafe { *both.0.0.get().deref() }, 1);
            }
        }
    };
    passes(code(true));
    races(code(false));
}

#[test]
fn futures() {
    let code = |register_first: bool| {
        move || {
            let both = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
            let other = Arc::clone(&both);
            thread::spawn(move || {
                other.1.store(true, Release);
                other.0.wake();
            });
            block_on(poll_fn(|context| {
                if !register_first && both.1.load(Acquire) {
                    return Poll::Ready(());
                }
                both.0.register_by_ref(context.waker());
                if register_first && both.1.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
            }));
        }
    };
    passes(code(true));
    deadlocks(code(false));
    passes(|| {
        let value = block_on(async { std::future::ready(3).await });
        assert_eq!(value, 3);
        let _: &dyn Future<Output = ()> = &std::future::ready(());
    });
}

/// A thread that spins for ever is found; one that waits for a value is not unrolled.
#[test]
fn loops_that_wait() {
    let places = deadlocks(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        thread::spawn(move || {
            while !other.load(Acquire) {
                hint::spin_loop();
            }
        });
        flag.store(false, Release);
    });
    assert!(places.len() == 1 && places[0].contains("surface.rs"), "{places:?}");
    // Three threads in a row.
    assert_eq!(
        passes(|| {
            let turn = Arc::new(AtomicU32::new(0));
            let others: Vec<_> = (0..3)
                .map(|mine| {
                    let turn = Arc::clone(&turn);
                    thread::spawn(move || {
                        while turn.load(Acquire) != mine {
                            thread::yield_now();
                        }
                        turn.store(mine + 1, Release);
                    })
                })
                .collect();
            for other in others {
                other.join().unwrap();
            }
        }),
        1
    );
    // A wait for either of two, with a hint in a function, and a loop that takes what it read last.
    let first = outcomes(|| {
        let both = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let others = [0, 1].map(|mine| {
            let both = Arc::clone(&both);
            thread::spawn(move || both[mine].fetch_add(1, Release))
        });
        let first = loop {
            if let Some(first) = both.iter().position(|one| one.load(Acquire) == 1) {
                break first;
            }
            hint::spin_loop();
        };
        for other in others {
            other.join().unwrap();
        }
        let mut old = both[0].load(Relaxed);
        while let Err(other) = both[0].compare_exchange(old, old + 1, AcqRel, Relaxed) {
            old = other;
            hint::spin_loop();
        }
        first
    });
    assert_eq!(first, BTreeSet::from([0, 1]));
    // A hint that is in no loop.
    let values = outcomes(|| {
        let word = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&word);
        thread::spawn(move || other.store(1, Relaxed));
        let first = word.load(Relaxed);
        hint::spin_loop();
        (first, word.load(Relaxed))
    });
    assert_eq!(values, BTreeSet::from([(0, 0), (0, 1), (1, 1)]));
}

#[test]
fn names_of_loom() {
    explore::model::model(|| assert!(explore::choose(2) < 2));
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let of_run = std::sync::Arc::clone(&seen);
    let mut builder = explore::model::Builder::new();
    builder.max_permutations = Some(100);
    builder.preemption_bound = Some(2);
    builder.check(move || {
        if explore::choose(3) == 1 {
            explore::model::skip_branch();
        }
        of_run.fetch_add(1, Relaxed);
    });
    assert_eq!(seen.load(Relaxed), 2);
    builder.max_branches = 20;
    let bounded = std::panic::catch_unwind(move || {
        builder.check(|| {
            thread::spawn(|| {});
            let word = AtomicU32::new(0);
            for _ in 0..50 {
                word.store(1, Relaxed);
            }
        });
    });
    assert!(bounded.unwrap_err().downcast_ref::<String>().unwrap().contains("more than 20 steps"));
    let reached = check(|| unsafe { hint::unreachable_unchecked() });
    assert!(matches!(reached.finding, Some(Finding::Panic(_))));
}

/// Outside of a run the types are what they stand for.
#[test]
fn outside_of_a_run() {
    let counter = Arc::new(AtomicU32::new(1));
    assert_eq!((counter.fetch_add(2, Relaxed), counter.load(SeqCst), Arc::strong_count(&counter)), (1, 3, 1));
    let lock = Mutex::new(1);
    *lock.lock().unwrap() += 1;
    assert!(lock.try_lock().is_ok() && *RwLock::new(2).read().unwrap() == lock.into_inner().unwrap());
    assert_eq!(OnceLock::new().get_or_init(|| 3), &3);
    Cell::new(1).set(2);
}

/// Cells are checked under models without happens-before, too: their accesses need an order.
#[test]
fn cells_under_all_models() {
    for model in Model::ALL.into_iter().filter(|&model| model != Model::Wra) {
        let builder = Builder { model, ..Builder::new() };
        let verdict = builder.check(|| {
            let both = Arc::new(Mutex::new(0));
            let other = Arc::clone(&both);
            thread::spawn(move || *other.lock().unwrap() += 1);
            *both.lock().unwrap() += 1;
        });
        assert!(verdict.finding.is_none() && verdict.is_complete, "{model}: {verdict}");
        let verdict = builder.check(|| {
            let data = Arc::new(Data(UnsafeCell::new(0)));
            let other = Arc::clone(&data);
            thread::spawn(move || other.write(1));
            data.read();
        });
        assert!(matches!(verdict.finding, Some(Finding::Race(_))), "{model}: {verdict}");
    }
}
