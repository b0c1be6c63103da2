//! Objects whose threads have roles.

use std::collections::BTreeSet;

use explore::cell::Cell;
use explore::sync::atomic::AtomicUsize;
use explore::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use explore::{Builder, Calls, Object, clients};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operation {
    Push(u32),
    Pop,
}
use Operation::{Pop, Push};

/// A ring of two slots, for one thread that pushes and one that pops.
struct Ring<const ROLES: bool> {
    slots: [Cell<u32>; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl<const ROLES: bool> Object for Ring<ROLES> {
    type Operation = Operation;
    type Return = Option<u32>;

    fn new() -> Self {
        Self { slots: [Cell::new(0), Cell::new(0)], head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }

    fn operations() -> Vec<Operation> {
        vec![Push(1), Push(2), Pop]
    }

    fn roles() -> Vec<Vec<Operation>> {
        if ROLES { vec![vec![Push(1), Push(2)], vec![Pop]] } else { vec![Self::operations()] }
    }

    fn call(&self, operation: &Operation) -> Option<u32> {
        match *operation {
            Push(value) => {
                let tail = self.tail.load(Relaxed);
                if tail - self.head.load(Acquire) == self.slots.len() {
                    return None;
                }
                self.slots[tail % self.slots.len()].set(value);
                self.tail.store(tail + 1, Release);
                Some(value)
            }
            Pop => {
                let head = self.head.load(Relaxed);
                if head == self.tail.load(Acquire) {
                    return None;
                }
                let value = self.slots[head % self.slots.len()].get();
                self.head.store(head + 1, Release);
                Some(value)
            }
        }
    }
}

/// With its roles the ring has no fault, up to three calls of each; without them two threads push at once.
#[test]
fn one_producer_and_one_consumer() {
    let mut tried = BTreeSet::new();
    let note = |calls: &Calls<Ring<true>>| {
        let of = |thread| calls.calls.iter().filter(move |call| call.thread == thread).map(|call| call.operation);
        tried.insert((of(0).collect::<Vec<_>>(), of(1).collect::<Vec<_>>()));
        true
    };
    let verdict = explore::object::<Ring<true>>(&Builder::new(), clients(1..=2, 1..=2), note);
    assert!(verdict.broken.is_none() && verdict.is_complete, "{verdict}");
    // Of one thread: 2 + 4 that push, 1 + 1 that pop. Of two: each of the first with each of the second.
    assert_eq!(verdict.clients, 6 + 2 + 6 * 2);
    assert_eq!(tried.len(), verdict.clients);
    let mixes = |operations: &[Operation]| operations.contains(&Pop) && operations.iter().any(|it| *it != Pop);
    assert!(tried.iter().all(|(one, other)| !mixes(one) && !mixes(other)));
    assert!(tried.contains(&(vec![Push(2), Push(1)], vec![Pop])));

    let verdict = explore::object::<Ring<false>>(&Builder::new(), clients(2..=2, 1..=1), |_| true);
    let broken = verdict.broken.expect("two producers race");
    assert!(matches!(broken.verdict.finding, Some(explore::Finding::Race(_))), "{}", broken.verdict);
}

/// There are no clients with more threads than roles, and without roles as many as ever.
#[test]
fn how_many_clients_there_are() {
    let count = |threads: usize| {
        explore::object::<Ring<true>>(&Builder::new(), clients(threads..=threads, 1..=1), |_| true).clients
    };
    assert_eq!([count(1), count(2), count(3)], [3, 2, 0]);
    // Three operations, two alike threads: six pairs. The first that breaks the ring ends it.
    let verdict = explore::object::<Ring<false>>(&Builder::new(), clients(1..=1, 1..=2), |_| true);
    assert_eq!((verdict.clients, verdict.broken.is_none()), (3 + 9, true));
}
