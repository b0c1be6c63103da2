//! Names for threads that wait for each other: condition variables, channels, notifications, barriers.

use std::collections::BTreeSet;

use explore::cell::UnsafeCell;
use explore::sync::atomic::Ordering::Relaxed;
use explore::sync::atomic::{AtomicBool, AtomicUsize};
use explore::sync::{Arc, Barrier, Condvar, Mutex, Notify, mpsc};
use explore::thread;

use super::{Data, deadlocks, outcomes, passes};

#[test]
fn condition_variables() {
    let code = |check_again: bool| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut is_set = pair.0.lock().unwrap();
        if check_again {
            while !*is_set {
                is_set = pair.1.wait(is_set).unwrap();
            }
        } else {
            is_set = pair.1.wait(is_set).unwrap();
        }
        assert!(*is_set);
    };
    // Who has the lock first, and who drops the last reference.
    assert_eq!(passes(move || code(true)), 4);
    // The notification can come before the wait.
    assert_eq!(deadlocks(move || code(false)).len(), 1);
    // One notification wakes one of two.
    let two = |all: bool| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let waiting = [(); 2].map(|()| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                let guard = pair.0.lock().unwrap();
                drop(pair.1.wait_while(guard, |count| *count == 0).unwrap());
            })
        });
        *pair.0.lock().unwrap() = 1;
        if all {
            pair.1.notify_all();
        } else {
            pair.1.notify_one();
        }
        for thread in waiting {
            thread.join().unwrap();
        }
    };
    passes(move || two(true));
    deadlocks(move || two(false));
}

/// What a thread waits for keeps its name when the code is run again, also if other places become known meanwhile.
#[test]
fn two_producers() {
    let code = |others: [bool; 3]| {
        let shared = Arc::new((Mutex::new(0), Condvar::new(), [AtomicUsize::new(7), AtomicUsize::new(0)]));
        for producer in 0..2 {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let other = |is_accessed: bool| {
                    if is_accessed {
                        shared.2[producer].fetch_add(1, Relaxed);
                    }
                };
                other(others[0]);
                *shared.0.lock().unwrap() += 1;
                other(others[1]);
                shared.1.notify_one();
                other(others[2]);
            });
        }
        let mut count = shared.0.lock().unwrap();
        while *count < 2 {
            count = shared.1.wait(count).unwrap();
        }
    };
    for bits in 0..8 {
        let others = [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0];
        assert_eq!(passes(move || code(others)), 108, "{others:?}");
    }
}

#[test]
fn channels() {
    let sums = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        for value in [1, 2] {
            let sender = sender.clone();
            thread::spawn(move || sender.send(value).unwrap());
        }
        drop(sender);
        receiver.iter().collect::<Vec<u32>>()
    });
    assert_eq!(sums, BTreeSet::from([vec![1, 2], vec![2, 1]]));
    // The last sender stays.
    deadlocks(|| {
        let (sender, receiver) = mpsc::channel::<u32>();
        let one = sender.clone();
        thread::spawn(move || one.send(1).unwrap());
        assert_eq!(receiver.recv(), Ok(1));
        let _ = receiver.recv();
        drop(sender);
    });
    let results = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || sender.send(1).is_ok());
        let early = receiver.try_recv();
        drop(receiver);
        (early.is_ok(), other.join().unwrap())
    });
    assert_eq!(results, BTreeSet::from([(true, true), (false, true), (false, false)]));
    // A message carries what happened before it was sent.
    passes(|| {
        let data = Arc::new(Data(UnsafeCell::new(0)));
        let (sender, receiver) = mpsc::channel();
        let other = Arc::clone(&data);
        thread::spawn(move || {
            other.write(1);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        assert_eq!(data.read(), 1);
    });
}

#[test]
fn notifications() {
    let waits = outcomes(|| {
        let both = Arc::new((Notify::new(), AtomicBool::new(false)));
        let other = Arc::clone(&both);
        thread::spawn(move || {
            other.1.store(true, Relaxed);
            other.0.notify();
        });
        both.0.wait();
        both.1.load(Relaxed)
    });
    // A wait may end without a reason, once.
    assert_eq!(waits, BTreeSet::from([false, true]));
    deadlocks(|| Notify::new().wait());
}

#[test]
fn barriers() {
    let leaders = outcomes(|| {
        let both = Arc::new((Barrier::new(2), Data(UnsafeCell::new(0))));
        let other = Arc::clone(&both);
        let thread = thread::spawn(move || {
            other.1.write(1);
            let first = other.0.wait().is_leader();
            (first, other.0.wait().is_leader())
        });
        let first = both.0.wait().is_leader();
        assert_eq!(both.1.read(), 1);
        let mine = (first, both.0.wait().is_leader());
        let theirs = thread.join().unwrap();
        assert!(mine.0 != theirs.0 && mine.1 != theirs.1);
        mine
    });
    assert_eq!(leaders.len(), 4);
    deadlocks(|| assert!(Barrier::new(2).wait().is_leader()));
}
