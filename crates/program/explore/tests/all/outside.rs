//! Outside of runs, the types are those of the standard library, on threads of the operating system. No coroutine is
//! made here, so Miri can run these tests: `cargo +nightly miri test -p seriatim-explore --test all outside`.

#![allow(unsafe_code, clippy::cast_ptr_alignment, reason = "cells and memory are accessed by hand")]

use std::ptr::null_mut;
use std::thread;

use explore::alloc::{self, Layout};
use explore::cell::{Cell, UnsafeCell};
use explore::sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use explore::sync::atomic::{AtomicPtr, AtomicUsize};
use explore::sync::{Arc, LazyLock, Mutex, Once, OnceLock, RwLock, mpsc};

#[test]
fn values_that_are_given_once() {
    let mut lock = OnceLock::new();
    assert_eq!(lock.get_mut(), None);
    assert_eq!(lock.get_or_init(|| 1), &1);
    *lock.get_mut().unwrap() += 1;
    assert_eq!(lock.into_inner(), Some(2));
    assert_eq!(OnceLock::<usize>::new().into_inner(), None);
    let shared = std::sync::Arc::new(OnceLock::new());
    let others = [1, 2].map(|value| {
        let shared = std::sync::Arc::clone(&shared);
        thread::spawn(move || *shared.get_or_init(|| vec![value]).first().unwrap())
    });
    let first = shared.get_or_init(|| vec![0])[0];
    assert!(others.into_iter().all(|other| other.join().unwrap() == first));
    let lazy = LazyLock::new(|| vec![1, 2]);
    assert_eq!((lazy.len(), lazy[1]), (2, 2));
    let (once, made) = (Once::new(), Cell::new(0));
    (0..2).for_each(|_| once.call_once(|| made.set(made.get() + 1)));
    assert!(once.is_completed() && made.get() == 1);
}

#[test]
fn locks_protect_what_threads_share() {
    let (lock, either) = (Mutex::new(Vec::new()), RwLock::new((0, 0)));
    thread::scope(|scope| {
        for number in 0..3 {
            let (lock, either) = (&lock, &either);
            scope.spawn(move || {
                lock.lock().unwrap().push(number);
                let mut both = either.write().unwrap();
                both.0 += 1;
                both.1 += 1;
                drop(both);
                let both = either.read().unwrap();
                assert_eq!(both.0, both.1);
            });
        }
    });
    assert_eq!((lock.lock().unwrap().len(), *either.read().unwrap()), (3, (3, 3)));
    let guard = lock.try_lock().unwrap();
    assert!(lock.try_lock().is_err());
    drop(guard);
    assert_eq!(lock.into_inner().unwrap().len(), 3);
}

#[test]
fn references_are_counted() {
    let shared: Arc<dyn Fn() -> usize + Send + Sync> = Arc::from_std(std::sync::Arc::new(|| 7));
    let others = [Arc::clone(&shared), Arc::clone(&shared)].map(|other| thread::spawn(move || (*other)()));
    assert!(others.into_iter().all(|other| other.join().unwrap() == 7));
    let mut one = Arc::new(vec![1]);
    Arc::get_mut(&mut one).unwrap().push(2);
    let other = Arc::clone(&one);
    let one = Arc::try_unwrap(one).unwrap_err();
    assert!(Arc::ptr_eq(&one, &other) && Arc::strong_count(&one) == 2);
    drop(other);
    assert_eq!(Arc::try_unwrap(one).unwrap(), [1, 2]);
    assert_eq!(Arc::into_inner(Arc::new(String::from("x"))).unwrap(), "x");
    assert_eq!(*Arc::pin(5).as_ref().get_ref(), 5);
}

#[test]
fn cells_and_words() {
    let (one, other) = (Cell::new(vec![1]), Cell::new(vec![2]));
    one.swap(&other);
    one.swap(&one);
    assert_eq!((one.take(), other.replace(Vec::new()), other.into_inner()), (vec![2], vec![1], vec![]));
    let cell = UnsafeCell::new([1, 2]);
    cell.with_mut(|both| unsafe { (*both)[1] = 3 });
    unsafe { cell.get_mut().deref()[0] = 2 };
    assert_eq!(cell.with(|both| unsafe { *both }), unsafe { *cell.get().deref() });
    assert_eq!(cell.into_inner(), [2, 3]);
    let (count, top) = (AtomicUsize::new(0), AtomicPtr::new(null_mut::<usize>()));
    thread::scope(|scope| {
        for number in 0..3 {
            let (count, top) = (&count, &top);
            scope.spawn(move || {
                count.fetch_add(1, Relaxed);
                let old = top.swap(Box::into_raw(Box::new(number)), AcqRel);
                if !old.is_null() {
                    drop(unsafe { Box::from_raw(old) });
                }
            });
        }
    });
    assert_eq!(count.load(SeqCst), 3);
    drop(unsafe { Box::from_raw(top.into_inner()) });
}

#[test]
fn channels_and_memory() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let thread = thread::spawn(move || other.send(vec![1]).unwrap());
    sender.send(vec![2]).unwrap();
    thread.join().unwrap();
    drop(sender);
    let mut all: Vec<i32> = std::iter::from_fn(|| receiver.recv().ok()).flatten().collect();
    all.sort_unstable();
    assert_eq!(all, [1, 2]);
    let layout = Layout::new::<[u64; 2]>();
    unsafe {
        let memory = alloc::alloc_zeroed(layout).cast::<[u64; 2]>();
        (*memory)[1] = 5;
        assert_eq!(*memory, [0, 5]);
        alloc::dealloc(memory.cast(), layout);
    }
}
