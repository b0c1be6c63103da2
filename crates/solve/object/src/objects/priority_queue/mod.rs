//! A priority queue: the largest first. `insert v`, `delete-max => v` or `empty`, `peek`. The values are integers.

#[cfg(feature = "sat")]
mod absence;
mod copies;
pub(super) mod counts;
mod fast;
mod instants;
mod search;
mod taken;

use history::{Method, Object, Value};
use rustc_hash::FxHashMap;

use super::{BuiltIn, Machine, Specification, agrees, sees_only};
use crate::answer::Answer;
use crate::containers::{self, Container, Stays};
use crate::online::{Contents, Effect};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    has_priorities: true,
    fast: containers::check::<PriorityQueue>,
    online: Some(take_effect),
    search: search::check,
    ..BuiltIn::new::<PriorityQueue>(Object::PriorityQueue)
};

/// A priority queue: the largest first. Its values are numbered in the order of priority.
///
/// The contents are a binary tree over these numbers. Equal trees are the same node, so a step makes no more nodes than
/// a path has. A node is the pair of its halves. At the leaves, the number of a node is how many copies of the value
/// are inside. The empty tree is node 0 at every height.
#[derive(Clone, Debug)]
pub(super) struct PriorityQueue {
    height: u32,
    nodes: Vec<[u32; 2]>,
    numbers: FxHashMap<[u32; 2], u32>,
}

/// Values may repeat: then it is guessed which removal takes which copy. Only a linearization proves anything.
impl Container for PriorityQueue {
    fn decide(stays: &Stays, witness: bool) -> Answer {
        fast::check(stays, witness)
    }

    fn decide_pending(stays: &mut Stays, witness: bool) -> Option<Answer> {
        taken::guess(stays).map(|taken| stays.decide_with::<Self>(&taken, witness))
    }

    fn decide_copies(part: &Part, witness: bool) -> Option<Answer> {
        let is_seen = |call: &Call| call.method == Method::Peek && call.result.is_index();
        if part.calls.iter().any(is_seen) {
            return None;
        }
        let stays = Stays::with_copies(part, &copies::guess(part)?).ok()?;
        Some(fast::check(&stays, witness)).filter(|answer| matches!(answer, Answer::Linearizable(_)))
    }
}

impl Specification for PriorityQueue {
    fn new(part: &Part) -> Self {
        let height = usize::BITS - part.values.len().leading_zeros();
        Self { height, nodes: vec![[0; 2]], numbers: FxHashMap::from_iter([([0; 2], 0)]) }
    }
}

impl PriorityQueue {
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

/// What an operation does, for a monitor.
fn take_effect(contents: &mut Contents, effect: &Effect, _: u64) -> Option<Value> {
    let items = &mut contents.items;
    Some(match effect.method {
        Method::Insert => {
            let at = items.partition_point(|item| item.as_integer() < effect.argument.as_integer());
            items.insert(at, effect.argument);
            Value::NONE
        }
        Method::Peek => items.last().copied().unwrap_or(Value::EMPTY),
        Method::DeleteMax => items.pop().unwrap_or(Value::EMPTY),
        _ => return None,
    })
}
