//! A whole set, for histories in which some operations read all elements. Such a read sees all elements at one moment,
//! so the set cannot be split by element.
//!
//! A state is a number; equal sets have the same number. A set is a binary tree over the numbers of its elements. Equal
//! trees are the same node. So a step makes no more nodes than a path has, and a read compares two numbers. A node is
//! the pair of its halves. At the leaves, an element that is in has node 1. The empty tree is node 0 at every height.

use history::Method;
use rustc_hash::FxHashMap;

use crate::objects::{Machine, Specification, agrees};
use crate::shards::Shards;
use crate::view::{Call, Part, ValueId};

/// The number of no set. It stands for the result of a read that saw an element which nobody adds.
const NEVER: u32 = u32::MAX;

/// A set with `add`, `remove`, `contains` and `read`.
#[derive(Clone, Debug)]
pub(super) struct WholeSet {
    height: u32,
    nodes: Vec<[u32; 2]>,
    numbers: Shards<[u32; 2], u32>,
    /// For each value: the set that it is as the result of a read; 0 for values that are no sets.
    sets: Vec<u32>,
    /// For each value: whether only pending additions name it, and no read has seen it. These additions need not
    /// happen.
    is_idle: Vec<bool>,
}

impl Specification for WholeSet {
    fn new(part: &Part) -> Self {
        let count = part.values.len();
        let mut set = Self {
            height: usize::BITS - count.leading_zeros(),
            nodes: vec![[0; 2]],
            numbers: Shards::default(),
            sets: vec![0; count],
            is_idle: vec![true; count],
        };
        set.numbers.get_or_insert([0; 2], 0);
        let mut elements = FxHashMap::default();
        for call in part.calls.iter().filter(|call| call.argument.is_index()) {
            elements.insert(part.value(call.argument).bits(), call.argument.0);
            if !(call.method == Method::Add && call.is_pending()) {
                set.is_idle[call.argument.index()] = false;
            }
        }
        for call in part.calls.iter().filter(|call| call.method == Method::ReadAll && call.result.is_index()) {
            let seen = part.history.elements(part.value(call.result));
            let seen: Option<Vec<u32>> = seen.iter().map(|element| elements.get(&element.bits()).copied()).collect();
            set.sets[call.result.index()] = seen.map_or(NEVER, |mut seen| {
                seen.sort_unstable();
                for &element in &seen {
                    set.is_idle[element as usize] = false;
                }
                set.tree(&seen, set.height)
            });
        }
        set
    }
}

impl WholeSet {
    /// The tree of sorted elements that agree in all bits from `height` on.
    fn tree(&mut self, elements: &[u32], height: u32) -> u32 {
        let Some(below) = height.checked_sub(1) else { return u32::from(!elements.is_empty()) };
        if elements.is_empty() {
            return 0;
        }
        let (small, large) = elements.split_at(elements.partition_point(|element| element >> below & 1 == 0));
        let halves = [self.tree(small, below), self.tree(large, below)];
        self.node(halves)
    }

    fn node(&mut self, halves: [u32; 2]) -> u32 {
        let next = self.nodes.len() as u32;
        let number = self.numbers.get_or_insert(halves, next);
        if number == next {
            self.nodes.push(halves);
        }
        number
    }

    fn contains(&self, mut node: u32, element: ValueId) -> bool {
        for below in (0..self.height).rev() {
            if node == 0 {
                return false;
            }
            node = self.nodes[node as usize][(element.0 >> below & 1) as usize];
        }
        node == 1
    }

    /// The tree with an element in it, or not.
    fn changed(&mut self, node: u32, height: u32, element: ValueId, is_in: bool) -> u32 {
        let Some(below) = height.checked_sub(1) else { return u32::from(is_in) };
        let mut halves = self.nodes[node as usize];
        let half = &mut halves[(element.0 >> below & 1) as usize];
        *half = self.changed(*half, below, element, is_in);
        self.node(halves)
    }
}

impl Machine for WholeSet {
    type State = u32;

    fn initial(&mut self) -> u32 {
        0
    }

    fn steps(&mut self, &state: &u32, call: &Call, next: &mut Vec<(u32, ValueId)>) {
        if call.method == Method::ReadAll {
            if call.result == ValueId::NONE || self.sets[call.result.index()] == state {
                next.push((state, call.result));
            }
            return;
        }
        if self.is_idle[call.argument.index()] {
            return;
        }
        let was_in = self.contains(state, call.argument);
        let (is_in, result) = match call.method {
            Method::Add => (true, !was_in),
            Method::Remove => (false, was_in),
            _ => (was_in, was_in),
        };
        if agrees(call, ValueId::boolean(result)) {
            let after = if is_in == was_in { state } else { self.changed(state, self.height, call.argument, is_in) };
            next.push((after, ValueId::boolean(result)));
        }
    }

    fn observes(&self, call: &Call) -> bool {
        matches!(call.method, Method::Contains | Method::ReadAll) || call.result == ValueId::FALSE
    }
}
