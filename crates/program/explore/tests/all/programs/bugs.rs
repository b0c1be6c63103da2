//! Ten programs with bugs of weak memory that were found in the wild or in textbooks, each reduced to what the bug
//! needs, and each with its mended form. They are written from the public descriptions.
//!
//! Whoever includes this file has a module `shim` with the names of a library, and `data.rs` beside it.

use super::data::Data;
use super::shim::hint;
use super::shim::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use super::shim::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use super::shim::sync::{Arc, Mutex};
use super::shim::thread;

/// A name, and the program: broken, or mended.
pub type Bug = (&'static str, fn(bool));

pub const BUGS: [Bug; 10] = [
    ("arc-swap, a debt that is not seen", arc_swap),
    ("spin's RwLock, a relaxed unlock", spin_rwlock),
    ("try-lock with a chosen order", try_lock),
    ("oneshot, a waker without acquire", oneshot),
    ("spmc, a relaxed publication", spmc),
    ("Arc::get_mut, a relaxed count", arc_get_mut),
    ("seqlock without a fence", seqlock),
    ("Chase-Lev deque without fences", chase_lev),
    ("Dekker's lock, release-acquire", dekker),
    ("double-checked initialization", double_checked),
];

/// Runs one side in a thread of its own, and the other in this one.
fn both<S: Send + Sync + 'static>(shared: S, one: fn(&S), other: fn(&S)) -> Arc<S> {
    let shared = Arc::new(shared);
    let theirs = Arc::clone(&shared);
    let thread = thread::spawn(move || one(&theirs));
    other(&shared);
    thread.join().unwrap();
    shared
}

/// A reader writes down that it uses a value (a debt), and looks whether the value is still the current one. A writer
/// takes the value away, and looks for debts before it frees it. This is the pattern of store buffering, and needs
/// sequentially consistent accesses on both sides: arc-swap, issues 200 and 204.
pub fn arc_swap(mended: bool) {
    struct Shared {
        current: AtomicUsize,
        debt: AtomicUsize,
        values: [Data; 2],
        order: Ordering,
    }
    const NONE: usize = 9;
    let order = if mended { SeqCst } else { Acquire };
    let values = [Data::new(1), Data::new(2)];
    let shared = Shared { current: AtomicUsize::new(0), debt: AtomicUsize::new(NONE), values, order };
    both(
        shared,
        |it| {
            let value = it.current.load(Acquire);
            it.debt.swap(value, SeqCst);
            if it.current.load(it.order) == value {
                assert_ne!(it.values[value].read(), 0, "the value was freed");
            }
            // The debt is paid back, unless the writer has paid it.
            let _ = it.debt.compare_exchange(value, NONE, Release, Relaxed);
        },
        |it| {
            let old = it.current.swap(1, SeqCst);
            let is_paid = it.debt.compare_exchange(old, NONE, SeqCst, it.order).is_ok();
            if !is_paid {
                it.values[old].write(0);
            }
        },
    );
}

/// The writer of a lock gives it back with a relaxed write: RUSTSEC-2019-0013.
pub fn spin_rwlock(mended: bool) {
    struct Shared {
        /// The readers, twice, and one if there is a writer.
        lock: AtomicUsize,
        data: Data,
        release: Ordering,
    }
    let release = if mended { Release } else { Relaxed };
    both(
        Shared { lock: AtomicUsize::new(0), data: Data::new(0), release },
        |it| {
            while it.lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
                hint::spin_loop();
            }
            it.data.write(7);
            it.lock.fetch_and(!1, it.release);
        },
        |it| {
            while it.lock.fetch_add(2, Acquire) & 1 == 1 {
                it.lock.fetch_sub(2, Release);
                // The wait for the writer is a loop of its own, which only reads.
                while it.lock.load(Relaxed) & 1 == 1 {
                    hint::spin_loop();
                }
            }
            it.data.read();
            it.lock.fetch_sub(2, Release);
        },
    );
}

/// Who takes a lock may choose the orders, relaxed ones too: try-lock, issue 1.
pub fn try_lock(mended: bool) {
    struct Shared {
        is_taken: AtomicBool,
        data: Data,
        orders: [Ordering; 2],
    }
    fn side(it: &Shared) {
        if it.is_taken.compare_exchange(false, true, it.orders[0], Relaxed).is_ok() {
            it.data.write(it.data.read() + 1);
            it.is_taken.store(false, it.orders[1]);
        }
    }
    let orders = if mended { [Acquire, Release] } else { [Relaxed, Relaxed] };
    both(Shared { is_taken: AtomicBool::new(false), data: Data::new(0), orders }, side, side);
}

/// A receiver leaves its waker and says that it waits. The sender sees that, and takes the waker: it must acquire. Of
/// this kind were the data races of oneshot, issue 69.
pub fn oneshot(mended: bool) {
    struct Shared {
        state: AtomicUsize,
        message: Data,
        waker: Data,
        order: Ordering,
    }
    const WAITS: usize = 1;
    const SENT: usize = 2;
    let order = if mended { AcqRel } else { Release };
    let shared = Shared { state: AtomicUsize::new(0), message: Data::new(0), waker: Data::new(0), order };
    both(
        shared,
        |it| {
            it.message.write(5);
            if it.state.fetch_or(SENT, it.order) & WAITS != 0 {
                it.waker.read();
            }
        },
        |it| {
            it.waker.write(3);
            if it.state.fetch_or(WAITS, AcqRel) & SENT != 0 {
                assert_eq!(it.message.read(), 5);
            }
        },
    );
}

/// A producer publishes an item by a relaxed write, and two consumers compete for it: spmc, pull request 11.
pub fn spmc(mended: bool) {
    struct Shared {
        head: AtomicUsize,
        tail: AtomicUsize,
        item: Data,
        release: Ordering,
    }
    fn take(it: &Shared) {
        if it.tail.load(Acquire) == 1 && it.head.compare_exchange(0, 1, AcqRel, Relaxed).is_ok() {
            assert_eq!(it.item.read(), 8);
        }
    }
    let release = if mended { Release } else { Relaxed };
    let (head, tail) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let shared = Arc::new(Shared { head, tail, item: Data::new(0), release });
    let consumers = [Arc::clone(&shared), Arc::clone(&shared)].map(|it| thread::spawn(move || take(&it)));
    shared.item.write(8);
    shared.tail.store(1, shared.release);
    for consumer in consumers {
        consumer.join().unwrap();
    }
}

/// The only reference to a value may change it. Whether it is the only one is asked by a relaxed read: rust-lang/rust,
/// issue 51780.
pub fn arc_get_mut(mended: bool) {
    struct Shared {
        count: AtomicUsize,
        value: Data,
        acquire: Ordering,
    }
    let acquire = if mended { Acquire } else { Relaxed };
    both(
        Shared { count: AtomicUsize::new(2), value: Data::new(1), acquire },
        |it| {
            it.value.read();
            it.count.fetch_sub(1, Release);
        },
        |it| {
            if it.count.load(it.acquire) == 1 {
                it.value.write(2);
            }
        },
    );
}

/// A reader checks that nobody has written meanwhile, but nothing keeps its reads before the check.
pub fn seqlock(mended: bool) {
    struct Shared {
        sequence: AtomicUsize,
        pair: [AtomicUsize; 2],
        mended: bool,
    }
    let pair = [AtomicUsize::new(0), AtomicUsize::new(0)];
    both(
        Shared { sequence: AtomicUsize::new(0), pair, mended },
        |it| {
            it.sequence.store(1, Relaxed);
            fence(Release);
            for half in &it.pair {
                half.store(1, Relaxed);
            }
            it.sequence.store(2, Release);
        },
        |it| {
            let before = it.sequence.load(Acquire);
            let [one, other] = [&it.pair[0], &it.pair[1]].map(|half| half.load(Relaxed));
            if it.mended {
                fence(Acquire);
            }
            if before % 2 == 0 && it.sequence.load(Relaxed) == before {
                assert_eq!(one, other, "half of a pair is new");
            }
        },
    );
}

/// The owner of a deque and a thief take the same item: nothing orders what each writes with what it reads of the
/// other (Lê, Pop, Cohen, Zappa Nardelli, *Correct and efficient work-stealing for weak memory models*).
pub fn chase_lev(mended: bool) {
    struct Deque {
        top: AtomicUsize,
        bottom: AtomicUsize,
        mended: bool,
    }
    impl Deque {
        fn fence(&self) {
            if self.mended {
                fence(SeqCst);
            }
        }

        /// The number of the item.
        fn pop(&self) -> Option<usize> {
            let bottom = self.bottom.load(Relaxed) - 1;
            self.bottom.store(bottom, Relaxed);
            self.fence();
            let top = self.top.load(Relaxed);
            if top < bottom {
                return Some(bottom);
            }
            let is_mine = top == bottom && self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
            self.bottom.store(bottom + 1, Relaxed);
            is_mine.then_some(bottom)
        }

        fn steal(&self) -> Option<usize> {
            let top = self.top.load(Acquire);
            self.fence();
            let bottom = self.bottom.load(Acquire);
            let is_mine = top < bottom && self.top.compare_exchange(top, top + 1, SeqCst, Relaxed).is_ok();
            is_mine.then_some(top)
        }
    }
    let deque = Arc::new(Deque { top: AtomicUsize::new(0), bottom: AtomicUsize::new(2), mended });
    let theirs = Arc::clone(&deque);
    let thief = thread::spawn(move || [theirs.steal(), theirs.steal()]);
    let mine = deque.pop();
    let stolen = thief.join().unwrap();
    assert!(mine.is_none() || !stolen.contains(&mine), "an item was taken twice");
}

/// Two threads say that they want the lock, and then look whether the other does. Release and acquire do not order a
/// write before a later read.
pub fn dekker(mended: bool) {
    struct Shared {
        wants: [AtomicBool; 2],
        data: Data,
        orders: [Ordering; 2],
    }
    fn side(it: &Shared, mine: usize) {
        it.wants[mine].store(true, it.orders[0]);
        if !it.wants[1 - mine].load(it.orders[1]) {
            it.data.write(mine);
        }
    }
    let orders = if mended { [SeqCst, SeqCst] } else { [Release, Acquire] };
    let wants = [AtomicBool::new(false), AtomicBool::new(false)];
    both(Shared { wants, data: Data::new(0), orders }, |it| side(it, 0), |it| side(it, 1));
}

/// A value is made under a lock, once, and a flag says that it is there. Who reads the flag must acquire.
pub fn double_checked(mended: bool) {
    struct Shared {
        lock: Mutex<()>,
        is_there: AtomicBool,
        value: Data,
        acquire: Ordering,
    }
    fn side(it: &Shared) {
        if !it.is_there.load(it.acquire) {
            let _guard = it.lock.lock().unwrap();
            if !it.is_there.load(Relaxed) {
                it.value.write(4);
                it.is_there.store(true, Release);
            }
        }
        assert_eq!(it.value.read(), 4);
    }
    let acquire = if mended { Acquire } else { Relaxed };
    both(Shared { lock: Mutex::new(()), is_there: AtomicBool::new(false), value: Data::new(0), acquire }, side, side);
}
