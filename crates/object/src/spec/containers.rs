//! Queue, stack and priority queue. Their states are numbers: equal contents have the same number, and a step costs no
//! more than a look into a table (a removal from a queue: the logarithm of its length; a priority queue: that of its values).
//!
//! A stack is a node of a tree of all stacks: its parent is what is below its top. A queue is the last `length` values
//! on the way to a node of such a tree, found by a hash that a step updates, and compared only where hashes agree.

use std::collections::hash_map::Entry;

use history::Method;
use rustc_hash::FxHashMap;

use super::{Sequential, agrees};
use crate::view::{Call, Part, ValueId};

/// A removal that found nothing, or a peek.
fn sees_only(call: &Call) -> bool {
    call.method == Method::Peek || call.result == ValueId::EMPTY
}

/// All sequences of values that came up, each the child of the one without its last value.
#[derive(Clone, Debug)]
struct Sequences {
    nodes: Vec<Node>,
    children: FxHashMap<(u32, ValueId), u32>,
}

#[derive(Copy, Clone, Debug)]
struct Node {
    parent: u32,
    /// An ancestor further up, such that any ancestor is a logarithmic number of steps away.
    jump: u32,
    depth: u32,
    last: ValueId,
}

impl Sequences {
    const EMPTY: u32 = 0;

    fn new() -> Self {
        let root = Node { parent: 0, jump: 0, depth: 0, last: ValueId::NONE };
        Self { nodes: vec![root], children: FxHashMap::default() }
    }

    fn with(&mut self, node: u32, value: ValueId) -> u32 {
        let next = self.nodes.len() as u32;
        match self.children.entry((node, value)) {
            Entry::Occupied(child) => *child.get(),
            Entry::Vacant(child) => {
                child.insert(next);
                let parent = self.nodes[node as usize];
                let jump = self.nodes[parent.jump as usize];
                // Jumps as the digits of a skew-binary number: two equal ones make the next larger.
                let is_double = parent.depth - jump.depth == jump.depth - self.nodes[jump.jump as usize].depth;
                let jump = if is_double { jump.jump } else { node };
                self.nodes.push(Node { parent: node, jump, depth: parent.depth + 1, last: value });
                next
            }
        }
    }

    /// The ancestor at that depth.
    fn ancestor(&self, mut node: u32, depth: u32) -> u32 {
        while self.nodes[node as usize].depth > depth {
            let Node { parent, jump, .. } = self.nodes[node as usize];
            node = if self.nodes[jump as usize].depth >= depth { jump } else { parent };
        }
        node
    }

    /// Whether the last `length` values of two sequences are the same.
    fn have_same_end(&self, mut a: u32, mut b: u32, length: u32) -> bool {
        for _ in 0..length {
            if a == b {
                return true;
            }
            let (one, other) = (self.nodes[a as usize], self.nodes[b as usize]);
            if one.last != other.last {
                return false;
            }
            (a, b) = (one.parent, other.parent);
        }
        true
    }
}

/// A stack: last in, first out.
#[derive(Clone, Debug)]
pub struct Stack {
    sequences: Sequences,
}

impl Default for Stack {
    fn default() -> Self {
        Self { sequences: Sequences::new() }
    }
}

impl Sequential for Stack {
    type State = u32;

    fn initial(&mut self) -> u32 {
        Sequences::EMPTY
    }

    fn steps(&mut self, &state: &u32, call: &Call, next: &mut Vec<(u32, ValueId)>) {
        if call.method == Method::Push {
            next.push((self.sequences.with(state, call.argument), ValueId::NONE));
            return;
        }
        let Node { parent, last, .. } = self.sequences.nodes[state as usize];
        let result = if state == Sequences::EMPTY { ValueId::EMPTY } else { last };
        if agrees(call, result) {
            next.push((if call.method == Method::Peek { state } else { parent }, result));
        }
    }

    fn observes(&self, call: &Call) -> bool {
        sees_only(call)
    }
}

/// The contents of a queue.
#[derive(Copy, Clone, Debug)]
struct Contents {
    node: u32,
    length: u32,
    hash: u64,
    /// [`BASE`] to the power of the length.
    power: u64,
}

/// An odd number, so that it can be divided by.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
/// `BASE * INVERSE == 1`.
const INVERSE: u64 = inverse(BASE);

const fn inverse(base: u64) -> u64 {
    // Newton's iteration doubles the number of right bits; the first three are right from the start.
    let mut inverse = base;
    let mut round = 0;
    while round < 5 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(base.wrapping_mul(inverse)));
        round += 1;
    }
    inverse
}

fn scatter(value: ValueId) -> u64 {
    let z = (u64::from(value.0) + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ z >> 29).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// A queue: first in, first out.
#[derive(Clone, Debug)]
pub struct Queue {
    sequences: Sequences,
    states: Vec<Contents>,
    /// The states of a hash: the first here, the others behind it.
    by_hash: FxHashMap<u64, Vec<u32>>,
}

impl Default for Queue {
    fn default() -> Self {
        let mut queue = Self { sequences: Sequences::new(), states: Vec::new(), by_hash: FxHashMap::default() };
        queue.state(Contents { node: Sequences::EMPTY, length: 0, hash: 0, power: 1 });
        queue
    }
}

impl Queue {
    fn state(&mut self, contents: Contents) -> u32 {
        let candidates = self.by_hash.entry(contents.hash).or_default();
        let same = candidates.iter().find(|&&state| {
            let known = self.states[state as usize];
            known.length == contents.length && self.sequences.have_same_end(known.node, contents.node, contents.length)
        });
        if let Some(&state) = same {
            return state;
        }
        let state = self.states.len() as u32;
        candidates.push(state);
        self.states.push(contents);
        state
    }
}

impl Sequential for Queue {
    type State = u32;

    fn initial(&mut self) -> u32 {
        0
    }

    fn steps(&mut self, &state: &u32, call: &Call, next: &mut Vec<(u32, ValueId)>) {
        let Contents { node, length, hash, power } = self.states[state as usize];
        if call.method == Method::Enqueue {
            let hash = hash.wrapping_add(power.wrapping_mul(scatter(call.argument)));
            let node = self.sequences.with(node, call.argument);
            let power = power.wrapping_mul(BASE);
            next.push((self.state(Contents { node, length: length + 1, hash, power }), ValueId::NONE));
        } else if length == 0 {
            if agrees(call, ValueId::EMPTY) {
                next.push((state, ValueId::EMPTY));
            }
        } else {
            let depth = self.sequences.nodes[node as usize].depth;
            let front = self.sequences.ancestor(node, depth - length + 1);
            let front = self.sequences.nodes[front as usize].last;
            if call.method == Method::Peek {
                next.extend(agrees(call, front).then_some((state, front)));
            } else if agrees(call, front) {
                let hash = hash.wrapping_sub(scatter(front)).wrapping_mul(INVERSE);
                let power = power.wrapping_mul(INVERSE);
                next.push((self.state(Contents { node, length: length - 1, hash, power }), front));
            }
        }
    }

    fn observes(&self, call: &Call) -> bool {
        sees_only(call)
    }
}

/// A priority queue: the largest first. Its values are numbered in the order of priority.
///
/// Its contents are a binary tree over these numbers; equal trees are the same node, so that a step makes no more than a
/// path. A node is the pair of its halves, and at the leaves the number of a node is how many of the value are inside:
/// nothing at all is node 0 at every height.
#[derive(Clone, Debug)]
pub struct PriorityQueue {
    height: u32,
    nodes: Vec<[u32; 2]>,
    numbers: FxHashMap<[u32; 2], u32>,
}

impl PriorityQueue {
    /// The priority queue of a part.
    pub fn new(part: &Part) -> Self {
        let height = usize::BITS - part.values.len().leading_zeros();
        Self { height, nodes: vec![[0; 2]], numbers: FxHashMap::from_iter([([0; 2], 0)]) }
    }

    /// The tree with one more of a value, or one less.
    fn changed(&mut self, node: u32, height: u32, value: ValueId, more: bool) -> u32 {
        let Some(below) = height.checked_sub(1) else {
            return if more { node + 1 } else { node - 1 };
        };
        let mut halves = self.nodes[node as usize];
        let half = &mut halves[(value.0 >> below & 1) as usize];
        *half = self.changed(*half, below, value, more);
        let next = self.nodes.len() as u32;
        let number = *self.numbers.entry(halves).or_insert(next);
        if number == next {
            self.nodes.push(halves);
        }
        number
    }

    fn largest(&self, mut node: u32) -> Option<ValueId> {
        if node == 0 {
            return None;
        }
        let mut value = 0;
        for _ in 0..self.height {
            let [small, large] = self.nodes[node as usize];
            value = 2 * value + u32::from(large != 0);
            node = if large == 0 { small } else { large };
        }
        Some(ValueId(value))
    }
}

impl Sequential for PriorityQueue {
    type State = u32;

    fn initial(&mut self) -> u32 {
        0
    }

    fn steps(&mut self, &state: &u32, call: &Call, next: &mut Vec<(u32, ValueId)>) {
        if call.method == Method::Insert {
            next.push((self.changed(state, self.height, call.argument, true), ValueId::NONE));
            return;
        }
        match self.largest(state) {
            None if agrees(call, ValueId::EMPTY) => next.push((state, ValueId::EMPTY)),
            Some(largest) if agrees(call, largest) => {
                let is_peek = call.method == Method::Peek;
                let after = if is_peek { state } else { self.changed(state, self.height, largest, false) };
                next.push((after, largest));
            }
            _ => {}
        }
    }

    fn observes(&self, call: &Call) -> bool {
        sees_only(call)
    }
}
