//! Treiber's stack as in Figure 1 of Emmi, Enea, Hamza (PLDI 2015). A popped node is used again at once. So a
//! compare-and-swap can succeed on a top that was popped and pushed again (ABA), and put a freed node back on the
//! stack.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

const NIL: u32 = u32::MAX;

struct Node {
    data: AtomicU32,
    next: AtomicU32,
}

pub struct Stack {
    nodes: Vec<Node>,
    top: AtomicU32,
}

/// The nodes that a thread has freed or may allocate: the `malloc` and `free` of that thread.
pub struct Memory(VecDeque<u32>);

impl Stack {
    /// A stack for that many threads, each with that many nodes.
    pub fn new(threads: u32, nodes: u32) -> (Self, Vec<Memory>) {
        let node = |_| Node { data: AtomicU32::new(0), next: AtomicU32::new(NIL) };
        let stack = Self { nodes: (0..threads * nodes).map(node).collect(), top: AtomicU32::new(NIL) };
        let memory = |thread| Memory((thread * nodes..(thread + 1) * nodes).collect());
        (stack, (0..threads).map(memory).collect())
    }

    /// Pushes a value. Fails if the thread has no node left.
    pub fn push(&self, memory: &mut Memory, value: u32) -> Result<(), ()> {
        let node = memory.0.pop_front().ok_or(())?;
        self.nodes[node as usize].data.store(value, Ordering::Relaxed);
        loop {
            let top = self.top.load(Ordering::Acquire);
            self.nodes[node as usize].next.store(top, Ordering::Relaxed);
            if self.top.compare_exchange(top, node, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Ok(());
            }
        }
    }

    pub fn pop(&self, memory: &mut Memory) -> Option<u32> {
        loop {
            let top = self.top.load(Ordering::Acquire);
            if top == NIL {
                return None;
            }
            let next = self.nodes[top as usize].next.load(Ordering::Relaxed);
            // Here another thread may pop this node and push it again.
            std::thread::yield_now();
            if self.top.compare_exchange(top, next, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                let value = self.nodes[top as usize].data.load(Ordering::Relaxed);
                memory.0.push_back(top);
                return Some(value);
            }
        }
    }
}
