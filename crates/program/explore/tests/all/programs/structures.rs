//! Ten correct programs of the kind that people test: small clients of well-known structures.
//!
//! Whoever includes this file has a module `shim` with the names of a library, and `data.rs` beside it.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::ptr;

use super::data::Data;
use super::shim::hint;
use super::shim::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use super::shim::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, fence};
use super::shim::sync::{Arc, RwLock};
use super::shim::thread;

/// A name, and the program.
pub type Structure = (&'static str, fn());

pub const STRUCTURES: [Structure; 10] = [
    ("treiber stack", treiber),
    ("ms-queue", ms_queue),
    ("seqlock", seqlock),
    ("spinlock", spinlock),
    ("ticket lock", ticket_lock),
    ("mpmc", mpmc),
    ("spsc ring", spsc_ring),
    ("arc counter", arc_counter),
    ("rwlock", rwlock),
    ("barrier", barrier),
];

/// As many threads as told, the last of them this one, do the same, each with its number.
fn all<S: Send + Sync + 'static, T: Send + 'static>(
    shared: &Arc<S>,
    threads: usize,
    code: fn(&S, usize) -> T,
) -> Vec<T> {
    let others: Vec<_> = (1..threads)
        .map(|number| {
            let shared = Arc::clone(shared);
            thread::spawn(move || code(&shared, number))
        })
        .collect();
    let mine = code(shared, 0);
    let mut results: Vec<T> = others.into_iter().map(|other| other.join().unwrap()).collect();
    results.push(mine);
    results
}

struct Node {
    value: Data,
    next: AtomicPtr<Node>,
}

fn node(value: usize) -> *mut Node {
    Box::into_raw(Box::new(Node { value: Data::new(value), next: AtomicPtr::new(ptr::null_mut()) }))
}

/// Frees nodes, once nobody uses them any more.
fn free(nodes: impl IntoIterator<Item = *mut Node>) {
    for node in nodes {
        drop(unsafe { Box::from_raw(node) });
    }
}

/// A pointer to a node, which a thread gives back.
struct Sent(*mut Node);

unsafe impl Send for Sent {}

/// Treiber's stack: three threads, each pushes and then pops.
fn treiber() {
    struct Stack {
        head: AtomicPtr<Node>,
    }
    let stack = Arc::new(Stack { head: AtomicPtr::new(ptr::null_mut()) });
    let popped = all(&stack, 3, |stack, number| {
        let node = node(number + 1);
        let mut head = stack.head.load(Relaxed);
        loop {
            unsafe { (*node).next.store(head, Relaxed) };
            match stack.head.compare_exchange(head, node, Release, Relaxed) {
                Ok(_) => break,
                Err(other) => head = other,
            }
        }
        let mut head = stack.head.load(Acquire);
        while !head.is_null() {
            let next = unsafe { (*head).next.load(Relaxed) };
            match stack.head.compare_exchange(head, next, Acquire, Acquire) {
                Ok(_) => break,
                Err(other) => head = other,
            }
        }
        let value = if head.is_null() { 0 } else { unsafe { (*head).value.read() } };
        (value, Sent(head))
    });
    assert_eq!(popped.iter().map(|(value, _)| value).sum::<usize>(), 6);
    free(popped.into_iter().map(|(_, node)| node.0).filter(|node| !node.is_null()));
}

/// Michael and Scott's queue: two threads enqueue, one dequeues.
fn ms_queue() {
    struct Queue {
        head: AtomicPtr<Node>,
        tail: AtomicPtr<Node>,
    }
    unsafe fn enqueue(queue: &Queue, value: usize) {
        let node = node(value);
        loop {
            let tail = queue.tail.load(Acquire);
            let next = unsafe { (*tail).next.load(Acquire) };
            if !next.is_null() {
                let _ = queue.tail.compare_exchange(tail, next, AcqRel, Relaxed);
            } else if unsafe { &(*tail).next }.compare_exchange(next, node, AcqRel, Relaxed).is_ok() {
                let _ = queue.tail.compare_exchange(tail, node, AcqRel, Relaxed);
                return;
            }
        }
    }
    unsafe fn dequeue(queue: &Queue) -> Option<usize> {
        loop {
            let head = queue.head.load(Acquire);
            let next = unsafe { (*head).next.load(Acquire) };
            if next.is_null() {
                return None;
            }
            if queue.head.compare_exchange(head, next, AcqRel, Relaxed).is_ok() {
                return Some(unsafe { (*next).value.read() });
            }
        }
    }
    let first = node(0);
    let queue = Arc::new(Queue { head: AtomicPtr::new(first), tail: AtomicPtr::new(first) });
    let taken = all(&queue, 3, |queue, number| {
        if number == 0 {
            return unsafe { dequeue(queue) };
        }
        unsafe { enqueue(queue, number) };
        None
    });
    assert!(taken.iter().flatten().all(|value| [1, 2].contains(value)));
    let mut nodes = vec![first];
    while let Some(last) = nodes.last().map(|last| unsafe { (**last).next.load(Acquire) })
        && !last.is_null()
    {
        nodes.push(last);
    }
    assert_eq!(nodes.len(), 3);
    free(nodes);
}

/// A sequence lock: one writer, two readers.
fn seqlock() {
    struct Lock {
        sequence: AtomicUsize,
        pair: [AtomicUsize; 2],
    }
    let lock = Lock { sequence: AtomicUsize::new(0), pair: [AtomicUsize::new(0), AtomicUsize::new(0)] };
    all(&Arc::new(lock), 3, |lock, number| {
        if number == 0 {
            lock.sequence.store(1, Relaxed);
            fence(Release);
            lock.pair[0].store(1, Relaxed);
            lock.pair[1].store(1, Relaxed);
            lock.sequence.store(2, Release);
            return;
        }
        let before = lock.sequence.load(Acquire);
        let pair = (lock.pair[0].load(Relaxed), lock.pair[1].load(Relaxed));
        fence(Acquire);
        if before % 2 == 0 && lock.sequence.load(Relaxed) == before {
            assert_eq!(pair.0, pair.1);
        }
    });
}

/// Three threads add to a number under a spinlock.
fn spinlock() {
    struct Lock {
        is_taken: AtomicBool,
        sum: Data,
    }
    let lock = Arc::new(Lock { is_taken: AtomicBool::new(false), sum: Data::new(0) });
    all(&lock, 3, |lock, _| {
        while lock.is_taken.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            hint::spin_loop();
        }
        lock.sum.write(lock.sum.read() + 1);
        lock.is_taken.store(false, Release);
    });
    assert_eq!(lock.sum.read(), 3);
}

/// Three threads add to a number under a ticket lock.
fn ticket_lock() {
    struct Lock {
        next: AtomicUsize,
        serving: AtomicUsize,
        sum: Data,
    }
    let lock = Arc::new(Lock { next: AtomicUsize::new(0), serving: AtomicUsize::new(0), sum: Data::new(0) });
    all(&lock, 3, |lock, _| {
        let ticket = lock.next.fetch_add(1, Relaxed);
        while lock.serving.load(Acquire) != ticket {
            hint::spin_loop();
        }
        lock.sum.write(lock.sum.read() + 1);
        lock.serving.store(ticket + 1, Release);
    });
    assert_eq!(lock.sum.read(), 3);
}

/// Vyukov's bounded queue for many producers and consumers: two push, one pops.
fn mpmc() {
    struct Slot {
        sequence: AtomicUsize,
        value: Data,
    }
    struct Queue {
        slots: [Slot; 2],
        head: AtomicUsize,
        tail: AtomicUsize,
    }
    impl Queue {
        fn push(&self, value: usize) -> bool {
            let mut tail = self.tail.load(Relaxed);
            loop {
                let slot = &self.slots[tail % 2];
                let sequence = slot.sequence.load(Acquire);
                match sequence.cmp(&tail) {
                    Equal => match self.tail.compare_exchange(tail, tail + 1, Relaxed, Relaxed) {
                        Ok(_) => {
                            slot.value.write(value);
                            slot.sequence.store(tail + 1, Release);
                            return true;
                        }
                        Err(other) => tail = other,
                    },
                    Less => return false,
                    Greater => tail = self.tail.load(Relaxed),
                }
            }
        }

        fn pop(&self) -> Option<usize> {
            let mut head = self.head.load(Relaxed);
            loop {
                let slot = &self.slots[head % 2];
                let sequence = slot.sequence.load(Acquire);
                match sequence.cmp(&(head + 1)) {
                    Equal => match self.head.compare_exchange(head, head + 1, Relaxed, Relaxed) {
                        Ok(_) => {
                            let value = slot.value.read();
                            slot.sequence.store(head + 2, Release);
                            return Some(value);
                        }
                        Err(other) => head = other,
                    },
                    Less => return None,
                    Greater => head = self.head.load(Relaxed),
                }
            }
        }
    }
    let slot = |sequence| Slot { sequence: AtomicUsize::new(sequence), value: Data::new(0) };
    let queue = Queue { slots: [slot(0), slot(1)], head: AtomicUsize::new(0), tail: AtomicUsize::new(0) };
    let results = all(&Arc::new(queue), 3, |queue, number| match number {
        0 => queue.pop().unwrap_or(0),
        number => usize::from(!queue.push(number)),
    });
    assert!(results[2] <= 2 && results[..2] == [0, 0]);
}

/// A ring for one producer and one consumer: three items through two slots.
fn spsc_ring() {
    struct Ring {
        slots: [Data; 2],
        head: AtomicUsize,
        tail: AtomicUsize,
    }
    let ring = Ring { slots: [Data::new(0), Data::new(0)], head: AtomicUsize::new(0), tail: AtomicUsize::new(0) };
    all(&Arc::new(ring), 2, |ring, number| {
        if number == 0 {
            for item in 0..3 {
                while item - ring.head.load(Acquire) == 2 {
                    hint::spin_loop();
                }
                ring.slots[item % 2].write(item + 1);
                ring.tail.store(item + 1, Release);
            }
        } else {
            for item in 0..3 {
                while ring.tail.load(Acquire) == item {
                    hint::spin_loop();
                }
                assert_eq!(ring.slots[item % 2].read(), item + 1);
                ring.head.store(item + 1, Release);
            }
        }
    });
}

/// A count of references: three threads drop theirs, and the last one frees the value.
fn arc_counter() {
    struct Value {
        count: AtomicUsize,
        value: Data,
    }
    let value = Arc::new(Value { count: AtomicUsize::new(3), value: Data::new(1) });
    let freed = all(&value, 3, |it, _| {
        assert_eq!(it.value.read(), 1);
        if it.count.fetch_sub(1, Release) != 1 {
            return false;
        }
        fence(Acquire);
        it.value.write(0);
        true
    });
    assert_eq!(freed.into_iter().filter(|&freed| freed).count(), 1);
}

/// The library's own lock: one writer, two readers.
fn rwlock() {
    let lock = Arc::new(RwLock::new((0, 0)));
    all(&lock, 3, |lock, number| {
        if number == 0 {
            *lock.write().unwrap() = (1, 1);
        } else {
            let pair = lock.read().unwrap();
            assert_eq!(pair.0, pair.1);
        }
    });
}

/// A barrier that counts: three threads write, meet, and read what the others wrote.
fn barrier() {
    struct Meeting {
        count: AtomicUsize,
        data: [Data; 3],
    }
    let meeting = Meeting { count: AtomicUsize::new(0), data: [Data::new(0), Data::new(0), Data::new(0)] };
    all(&Arc::new(meeting), 3, |meeting, number| {
        meeting.data[number].write(1);
        meeting.count.fetch_add(1, AcqRel);
        while meeting.count.load(Acquire) != 3 {
            hint::spin_loop();
        }
        assert!(meeting.data.iter().all(|data| data.read() == 1));
    });
}
