//! A tree of sequences of values. The states of stacks and queues are numbers of its nodes.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::view::ValueId;

/// The tree. Each sequence is the child of the sequence without its last value.
#[derive(Clone, Debug)]
pub struct Sequences {
    pub nodes: Vec<Node>,
    children: FxHashMap<(u32, ValueId), u32>,
}

#[derive(Copy, Clone, Debug)]
pub struct Node {
    pub parent: u32,
    /// An ancestor further up. With these jumps, any ancestor is a logarithmic number of steps away.
    jump: u32,
    pub depth: u32,
    pub last: ValueId,
}

impl Sequences {
    pub const EMPTY: u32 = 0;

    pub fn new() -> Self {
        let root = Node { parent: 0, jump: 0, depth: 0, last: ValueId::NONE };
        Self { nodes: vec![root], children: FxHashMap::default() }
    }

    pub fn with(&mut self, node: u32, value: ValueId) -> u32 {
        let next = self.nodes.len() as u32;
        match self.children.entry((node, value)) {
            Entry::Occupied(child) => *child.get(),
            Entry::Vacant(child) => {
                child.insert(next);
                let parent = self.nodes[node as usize];
                let jump = self.nodes[parent.jump as usize];
                // The lengths of jumps are like the digits of a skew-binary number: two equal jumps make the next
                // larger one.
                let is_double = parent.depth - jump.depth == jump.depth - self.nodes[jump.jump as usize].depth;
                let jump = if is_double { jump.jump } else { node };
                self.nodes.push(Node { parent: node, jump, depth: parent.depth + 1, last: value });
                next
            }
        }
    }

    /// The ancestor at that depth.
    pub fn ancestor(&self, mut node: u32, depth: u32) -> u32 {
        while self.nodes[node as usize].depth > depth {
            let Node { parent, jump, .. } = self.nodes[node as usize];
            node = if self.nodes[jump as usize].depth >= depth { jump } else { parent };
        }
        node
    }

    /// Whether the last `length` values of two sequences are the same.
    pub fn have_same_end(&self, mut a: u32, mut b: u32, length: u32) -> bool {
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
