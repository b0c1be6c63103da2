//! A queue: first in, first out. `enqueue v`, `dequeue => v` or `empty`, `peek`.
//!
//! A state is a number. The contents are the last `length` values on the path to a node of a tree ([`Sequences`]). They
//! are found by their hash, which each step updates. Contents are compared only if their hashes agree.

mod fast;
mod lockstep;

use history::{Method, Object, Value};
use rustc_hash::FxHashMap;

use super::{BuiltIn, Machine, Specification, agrees, sees_only};
use crate::answer::Answer;
use crate::containers::{self, Container, Stays};
use crate::online::{Contents, Effect};
use crate::sequences::Sequences;
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    fast: containers::check::<Queue>,
    online: Some(take_effect),
    search: lockstep::check,
    search_name: "lockstep",
    both_name: "fast+lockstep",
    ..BuiltIn::new::<Queue>(Object::Queue)
};

/// The contents of a queue.
#[derive(Copy, Clone, Debug)]
struct HashedContents {
    node: u32,
    length: u32,
    hash: u64,
    /// [`BASE`] to the power of the length.
    power: u64,
}

/// The base of the hash. It is odd, so that it has an inverse.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
/// `BASE * INVERSE == 1`.
const INVERSE: u64 = inverse(BASE);

const fn inverse(base: u64) -> u64 {
    // Newton's iteration doubles the number of correct bits. The first three are correct at the start.
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
pub(super) struct Queue {
    sequences: Sequences,
    states: Vec<HashedContents>,
    /// The states with each hash.
    by_hash: FxHashMap<u64, Vec<u32>>,
}

impl Container for Queue {
    fn decide(stays: &Stays, witness: bool) -> Answer {
        fast::check(stays, witness)
    }
}

impl Specification for Queue {
    fn new(_: &Part) -> Self {
        let mut queue = Self { sequences: Sequences::new(), states: Vec::new(), by_hash: FxHashMap::default() };
        queue.state(HashedContents { node: Sequences::EMPTY, length: 0, hash: 0, power: 1 });
        queue
    }
}

impl Queue {
    fn state(&mut self, contents: HashedContents) -> u32 {
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

impl Machine for Queue {
    type State = u32;

    fn initial(&mut self) -> u32 {
        0
    }

    fn steps(&mut self, &state: &u32, call: &Call, next: &mut Vec<(u32, ValueId)>) {
        let HashedContents { node, length, hash, power } = self.states[state as usize];
        if call.method == Method::Enqueue {
            let hash = hash.wrapping_add(power.wrapping_mul(scatter(call.argument)));
            let node = self.sequences.with(node, call.argument);
            let power = power.wrapping_mul(BASE);
            next.push((self.state(HashedContents { node, length: length + 1, hash, power }), ValueId::NONE));
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
                next.push((self.state(HashedContents { node, length: length - 1, hash, power }), front));
            }
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
        Method::Enqueue => {
            items.push(effect.argument);
            Value::NONE
        }
        Method::Peek => items.first().copied().unwrap_or(Value::EMPTY),
        Method::Dequeue if items.is_empty() => Value::EMPTY,
        Method::Dequeue => items.remove(0),
        _ => return None,
    })
}
