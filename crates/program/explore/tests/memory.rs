//! Memory that is freed: every use that does not happen before is found, and memory that is freed twice, in all
//! executions and in random ones. What is right, or is kept right by something that is not modelled, is no finding.

#![allow(unsafe_code, clippy::cast_ptr_alignment, reason = "memory is allocated and freed by hand")]

use std::ptr::null_mut;

use explore::alloc::{self, Layout};
use explore::cell::UnsafeCell;
use explore::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use explore::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use explore::sync::{Arc, Mutex};
use explore::{Builder, Finding, Model, RandomStrategy, Verdict, thread};

#[global_allocator]
static ALLOCATOR: alloc::Quarantine = alloc::Quarantine;

const MODELS: [Model; 5] = [Model::C20, Model::Rc11, Model::Ra, Model::Tso, Model::Sc];

/// The verdicts of all ways to run the code: they agree on whether there is a finding, and a finding can be repeated.
fn verdicts(code: impl Fn() + Clone + Send + Sync + 'static) -> Vec<Verdict> {
    let mut all = Vec::new();
    for model in MODELS {
        let builder = Builder { model, ..Builder::new() };
        let verdict = builder.check(code.clone());
        if let Some(trace) = &verdict.trace {
            let again = builder.replay(&trace.token, code.clone()).expect("the token is one of this code");
            assert_eq!(again.finding, verdict.finding, "{verdict}");
        }
        let by_two = builder.check_by(2, code.clone());
        assert_eq!((&by_two.finding, by_two.counts), (&verdict.finding, verdict.counts), "{model}");
        all.push(verdict);
        for strategy in
            [RandomStrategy::Uniform, RandomStrategy::Pct { depth: 3 }, RandomStrategy::Pctwm { depth: 2, history: 2 }]
        {
            all.push(builder.sample(strategy, 0..300, code.clone()));
        }
    }
    all
}

#[track_caller]
fn is_right(code: impl Fn() + Clone + Send + Sync + 'static) {
    for verdict in verdicts(code) {
        assert!(verdict.finding.is_none(), "{verdict}");
    }
}

#[track_caller]
fn is_used(code: impl Fn() + Clone + Send + Sync + 'static) -> Verdict {
    let all = verdicts(code);
    for verdict in &all {
        assert!(matches!(verdict.finding, Some(Finding::UseAfterFree(_))), "{verdict}");
        assert!(verdict.trace.is_some());
    }
    all.into_iter().next().unwrap()
}

#[track_caller]
fn is_freed_twice(code: impl Fn() + Clone + Send + Sync + 'static) {
    for verdict in verdicts(code) {
        assert!(matches!(verdict.finding, Some(Finding::DoubleFree(_))), "{verdict}");
    }
}

struct Node {
    word: AtomicUsize,
    data: UnsafeCell<usize>,
    lock: Mutex<usize>,
}

const MADE: u32 = line!() + 3;

fn node() -> *mut Node {
    Box::into_raw(Box::new(Node { word: AtomicUsize::new(1), data: UnsafeCell::new(2), lock: Mutex::new(3) }))
}

fn free(node: *mut Node) {
    drop(unsafe { Box::from_raw(node) });
}

/// Where the last step before the free is.
const TAKEN: u32 = line!() + 7;

/// One thread takes the node out and frees it, the other uses it if it sees it.
fn use_and_free(used: impl Fn(&Node) + Clone + 'static) {
    let shared = Arc::new(AtomicPtr::new(node()));
    let other = Arc::clone(&shared);
    thread::spawn(move || {
        let node = other.swap(null_mut(), AcqRel);
        free(node);
    });
    let node = shared.load(Acquire);
    if !node.is_null() {
        used(unsafe { &*node });
    }
}

#[test]
fn atomics_cells_and_locks_are_used_after_they_are_freed() {
    let verdict = is_used(|| {
        use_and_free(|node| {
            node.word.load(Relaxed);
        });
    });
    let Some(Finding::UseAfterFree([freed, used])) = &verdict.finding else { panic!() };
    assert!(freed.starts_with("thread 1 after ") && freed.contains(&format!("memory.rs:{TAKEN}:")), "{freed}");
    assert!(used.starts_with("thread 0 at ") && used.contains("memory.rs:"), "{used}");
    is_used(|| use_and_free(|node| node.word.store(1, Release)));
    is_used(|| use_and_free(|node| node.data.with(|data| assert_eq!(unsafe { *data }, 2))));
    is_used(|| use_and_free(|node| *node.lock.lock().unwrap() += 1));
}

/// A flag says that the node is not used any more. It must release, and be acquired.
fn use_then_free(release: Ordering, acquire: Ordering) {
    let shared = Arc::new((AtomicPtr::new(node()), AtomicBool::new(false)));
    let other = Arc::clone(&shared);
    thread::spawn(move || {
        unsafe { &*other.0.load(Relaxed) }.word.load(Relaxed);
        other.1.store(true, release);
    });
    if shared.1.load(acquire) {
        free(shared.0.load(Relaxed));
    }
}

#[test]
fn the_use_happens_before() {
    is_right(|| use_then_free(Release, Acquire));
    for (release, acquire) in [(Relaxed, Acquire), (Release, Relaxed), (Relaxed, Relaxed)] {
        for model in [Model::C20, Model::Rc11, Model::Rc20] {
            let builder = Builder { model, ..Builder::new() };
            let verdict = builder.check(move || use_then_free(release, acquire));
            assert!(matches!(verdict.finding, Some(Finding::UseAfterFree(_))), "{verdict}");
        }
        // The other models do not know orders.
        let builder = Builder { model: Model::Sc, ..Builder::new() };
        let verdict = builder.check(move || use_then_free(release, acquire));
        assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    }
}

/// Two threads, no synchronization at all: one execution, and it is found there.
#[test]
fn nothing_is_between_use_and_free() {
    is_used(|| {
        let node = node();
        let address = node as usize;
        thread::spawn(move || {
            unsafe { &*(address as *const Node) }.word.load(Relaxed);
        });
        free(node);
    });
    is_used(|| {
        let node = node();
        let address = node as usize;
        thread::spawn(move || free(address as *mut Node));
        unsafe { &*node }.word.load(Relaxed);
    });
    // In one thread, before there are others.
    is_used(|| {
        let node = node();
        free(node);
        unsafe { &*node }.word.load(Relaxed);
    });
}

#[test]
fn memory_is_freed_twice() {
    is_freed_twice(|| {
        let shared = Arc::new(AtomicPtr::new(node()));
        let take = |shared: &AtomicPtr<Node>| {
            let node = shared.load(Acquire);
            if !node.is_null() {
                shared.store(null_mut(), Release);
                free(node);
            }
        };
        let other = Arc::clone(&shared);
        thread::spawn(move || take(&other));
        take(&shared);
    });
    is_freed_twice(|| {
        let number = std::hint::black_box(Box::into_raw(Box::new(5)));
        drop(unsafe { Box::from_raw(number) });
        drop(unsafe { Box::from_raw(number) });
    });
    is_right(|| {
        let shared = Arc::new(AtomicPtr::new(node()));
        let other = Arc::clone(&shared);
        let take = |shared: &AtomicPtr<Node>| {
            let node = shared.swap(null_mut(), AcqRel);
            if !node.is_null() {
                free(node);
            }
        };
        thread::spawn(move || take(&other));
        take(&shared);
    });
}

/// The functions of `explore::alloc` need no other allocator.
#[test]
fn memory_by_hand() {
    let layout = Layout::new::<Node>();
    is_used(move || {
        let memory = unsafe { alloc::alloc(layout) }.cast::<AtomicUsize>();
        unsafe { memory.write(AtomicUsize::new(1)) };
        let address = memory as usize;
        let other = thread::spawn(move || {
            unsafe { &*(address as *const AtomicUsize) }.load(Relaxed);
        });
        unsafe { alloc::dealloc(memory.cast(), layout) };
        other.join().unwrap();
    });
    is_freed_twice(move || {
        let memory = unsafe { alloc::alloc(layout) };
        unsafe { alloc::dealloc(memory, layout) };
        unsafe { alloc::dealloc(memory, layout) };
    });
}

/// What is behind a counted reference is freed when the last one is dropped, and that is in time: whether drops are
/// events or not, and also if the counter is the standard library's, which the model does not know.
#[test]
fn counted_references_are_in_time() {
    fn count<R: Clone + std::ops::Deref<Target = AtomicUsize> + 'static>(new: fn(AtomicUsize) -> R) {
        let word = new(AtomicUsize::new(0));
        let flag = Arc::new(AtomicBool::new(false));
        for _ in 0..2 {
            let (word, flag) = (word.clone(), Arc::clone(&flag));
            thread::spawn(move || {
                word.fetch_add(1, Relaxed);
                flag.store(true, Relaxed);
            });
        }
        if flag.load(Relaxed) {
            word.load(Relaxed);
        }
    }
    is_right(|| count(Arc::new));
    is_right(|| count(std::sync::Arc::new));
    is_right(|| {
        let both = Arc::new((vec![AtomicUsize::new(0)], AtomicUsize::new(0)));
        let other = Arc::clone(&both);
        thread::spawn(move || other.0[0].store(1, Relaxed));
        both.1.store(1, Relaxed);
    });
    // An address that is kept without a reference is not.
    is_used(|| {
        let word = Arc::new(AtomicUsize::new(0));
        let address = Arc::as_ptr(&word) as usize;
        thread::spawn(move || {
            unsafe { &*(address as *const AtomicUsize) }.load(Relaxed);
        });
        drop(word);
    });
}

/// A place may move, and other places may come where one was.
#[test]
fn places_move() {
    is_right(|| {
        let word = Box::new(AtomicUsize::new(1));
        word.store(2, Relaxed);
        let moved = Arc::new(*word);
        let other = Arc::clone(&moved);
        thread::spawn(move || other.fetch_add(1, Relaxed));
        assert!(moved.load(Relaxed) >= 2);
    });
    is_right(|| {
        let mut words = Vec::new();
        for number in 0..9 {
            words.push(AtomicUsize::new(number));
            assert_eq!(words[0].fetch_add(1, Relaxed), number);
            words.truncate(5);
        }
        let words = Arc::new(words);
        let other = Arc::clone(&words);
        thread::spawn(move || other[4].store(1, Relaxed)).join().unwrap();
        assert_eq!(words[4].load(Relaxed), 1);
    });
}

/// Memory that is left is a finding if that is asked for.
#[test]
fn leaks_where_asked() {
    let code = || {
        let shared = Arc::new(AtomicPtr::new(node()));
        let other = Arc::clone(&shared);
        thread::spawn(move || {
            unsafe { &*other.load(Acquire) }.word.load(Relaxed);
        })
        .join()
        .unwrap();
    };
    let verdict = Builder::new().check(code);
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
    let builder = Builder { leaks: true, ..Builder::new() };
    let verdict = builder.check(code);
    let Some(Finding::Leak(places)) = &verdict.finding else { panic!("{verdict}") };
    assert!(places.len() == 1 && places[0].contains(&format!("memory.rs:{MADE}:")), "{places:?}");
    let verdict = builder.check(|| {
        let shared = Arc::new(AtomicPtr::new(node()));
        let other = Arc::clone(&shared);
        thread::spawn(move || {
            unsafe { &*other.load(Acquire) }.word.load(Relaxed);
        })
        .join()
        .unwrap();
        free(shared.load(Acquire));
    });
    assert!(verdict.finding.is_none() && verdict.is_complete, "{verdict}");
}

/// What else may be in memory that is freed: a word that a vector moved away from, a lock for many, a value that is
/// given once, a channel, a word in a larger block, and what a destructor frees.
#[test]
fn everything_that_is_modelled_is_used_after_it_is_freed() {
    use explore::sync::{Condvar, OnceLock, RwLock};
    fn shared<T: 'static>(make: fn() -> T, used: fn(&T)) {
        let value = Box::into_raw(Box::new(make()));
        let address = value as usize;
        thread::spawn(move || used(unsafe { &*(address as *const T) }));
        drop(unsafe { Box::from_raw(value) });
    }
    is_used(|| shared(|| RwLock::new(1), |lock| assert_eq!(*lock.read().unwrap(), 1)));
    is_used(|| shared(OnceLock::<u32>::new, |once| assert!(once.get().is_none())));
    is_used(|| shared(|| (Mutex::new(0), Condvar::new()), |both| both.1.notify_all()));
    is_used(|| shared(|| [const { AtomicUsize::new(0) }; 40], |words| words[39].store(1, Relaxed)));
    is_used(|| shared(|| vec![Box::new(AtomicBool::new(false))], |words| words[0].store(true, Release)));
    is_used(|| {
        let mut words = vec![AtomicUsize::new(0)];
        let address = words.as_ptr() as usize;
        thread::spawn(move || {
            unsafe { &*(address as *const AtomicUsize) }.store(1, Relaxed);
        });
        words.reserve(1000);
    });
    is_freed_twice(|| {
        let node = node();
        let address = node as usize;
        thread::spawn(move || free(address as *mut Node));
        free(node);
    });
}
