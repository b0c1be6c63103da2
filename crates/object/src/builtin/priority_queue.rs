//! A priority queue: the largest first. `insert v`, `delete-max => v` or `empty`, `peek`. The values are integers.

use history::{Method, Object};
use rustc_hash::FxHashMap;

use super::{BuiltIn, Machine, agrees, sees_only};
use crate::view::{Call, Part, ValueId};
use crate::{fast, search};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    has_priorities: true,
    fast: fast::containers::check,
    search: search::priority_queue::check,
    ..BuiltIn::new(Object::PriorityQueue)
};

/// A priority queue: the largest first. Its values are numbered in the order of priority.
///
/// The contents are a binary tree over these numbers. Equal trees are the same node, so a step makes no more nodes than
/// a path has. A node is the pair of its halves. At the leaves, the number of a node is how many copies of the value
/// are inside. The empty tree is node 0 at every height.
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

    /// The tree with one copy of a value more, or one less.
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

impl Machine for PriorityQueue {
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
