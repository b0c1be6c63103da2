//! Objects under a memory model: correct ones are linearizable in all small clients, and of others the smallest client
//! that breaks them is found.

#![allow(unsafe_code, reason = "nodes are accessed through pointers")]

use std::ptr;

use seriatim::object::Sequential;
use seriatim::programs::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use seriatim::programs::sync::atomic::{AtomicPtr, AtomicUsize};
use seriatim::programs::{Builder, Finding, Object, clients, linearizable};

#[global_allocator]
static ALLOCATOR: seriatim::programs::alloc::Quarantine = seriatim::programs::alloc::Quarantine;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Request {
    Push(u32),
    Pop,
}
use Request::{Pop, Push};

struct Stack;

impl Sequential for Stack {
    type State = Vec<u32>;
    type Operation = Request;
    type Return = Option<u32>;

    fn initial(&self) -> Vec<u32> {
        Vec::new()
    }

    fn steps(&self, state: &Vec<u32>, request: &Request) -> impl IntoIterator<Item = (Vec<u32>, Option<u32>)> {
        let mut state = state.clone();
        let result = match *request {
            Push(value) => {
                state.push(value);
                None
            }
            Pop => state.pop(),
        };
        Some((state, result))
    }
}

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

/// Treiber's stack, whose nodes are never freed. With `CAREFUL` it takes a node only if it is still the first one.
struct Treiber<const CAREFUL: bool> {
    head: AtomicPtr<Node>,
}

impl<const CAREFUL: bool> Object for Treiber<CAREFUL> {
    type Operation = Request;
    type Return = Option<u32>;

    fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }

    fn operations() -> Vec<Request> {
        vec![Push(1), Push(2), Pop]
    }

    fn call(&self, request: &Request) -> Option<u32> {
        match *request {
            Push(value) => {
                let node = Box::into_raw(Box::new(Node { value, next: AtomicPtr::new(ptr::null_mut()) }));
                let mut head = self.head.load(Relaxed);
                loop {
                    unsafe { (*node).next.store(head, Relaxed) };
                    match self.head.compare_exchange(head, node, Release, Relaxed) {
                        Ok(_) => return None,
                        Err(other) => head = other,
                    }
                }
            }
            Pop => {
                let mut head = self.head.load(Acquire);
                loop {
                    if head.is_null() {
                        return None;
                    }
                    let next = unsafe { (*head).next.load(Relaxed) };
                    if !CAREFUL {
                        self.head.store(next, Release);
                        break;
                    }
                    match self.head.compare_exchange(head, next, Acquire, Acquire) {
                        Ok(_) => break,
                        Err(other) => head = other,
                    }
                }
                Some(unsafe { (*head).value })
            }
        }
    }
}

#[test]
fn stacks() {
    let verdict = linearizable::<Treiber<true>, _>(&Stack, &Builder::new(), clients(2..=2, 1..=2));
    assert!(verdict.broken.is_none() && verdict.is_complete && verdict.clients == 78, "{verdict}");
    let verdict = linearizable::<Treiber<false>, _>(&Stack, &Builder::new(), clients(2..=3, 1..=2));
    let text = verdict.to_string();
    let broken = verdict.broken.expect("a node is lost or taken twice");
    assert_eq!(broken.client.iter().map(Vec::len).sum::<usize>(), 3, "{text}");
    assert_eq!(broken.verdict.finding, Some(Finding::Refused));
    assert!(broken.client.concat().contains(&Pop), "{text}");
}

/// A register in two halves, written one after the other: an object whose calls do not take effect at once.
struct Halves([AtomicUsize; 2]);

impl Object for Halves {
    type Operation = Option<usize>;
    type Return = Option<usize>;

    fn new() -> Self {
        Self([AtomicUsize::new(0), AtomicUsize::new(0)])
    }

    fn operations() -> Vec<Option<usize>> {
        vec![None, Some(0x11)]
    }

    fn call(&self, written: &Option<usize>) -> Option<usize> {
        let Some(value) = written else {
            return Some(self.0[0].load(Acquire) | self.0[1].load(Acquire));
        };
        self.0[0].store(value & 0x0F, Release);
        self.0[1].store(value & 0xF0, Release);
        None
    }
}

struct Register;

impl Sequential for Register {
    type State = usize;
    type Operation = Option<usize>;
    type Return = Option<usize>;

    fn initial(&self) -> usize {
        0
    }

    fn steps(&self, &state: &usize, written: &Option<usize>) -> impl IntoIterator<Item = (usize, Option<usize>)> {
        Some(written.map_or((state, Some(state)), |value| (value, None)))
    }
}

#[test]
fn registers() {
    let verdict = linearizable::<Halves, _>(&Register, &Builder::new(), clients(2..=3, 1..=3));
    let text = verdict.to_string();
    let mut client = verdict.broken.expect("a reader sees one half").client.concat();
    client.sort_unstable();
    assert_eq!(client, [None, Some(0x11)], "{text}");
    assert!(text.contains("returns Some(1)") || text.contains("returns Some(16)"), "{text}");
}
