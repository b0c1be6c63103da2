//! A stack: last in, first out. `push v`, `pop => v` or `empty`, `peek`.
//!
//! A state is a node of a tree of stacks ([`Sequences`]). The parent of a node is the stack without its top.

pub(super) mod copies;
pub(super) mod counts;
mod depths;
mod fast;
mod levels;
mod maxima;
mod partners;
mod peel;
mod pending;
mod waiting;

use history::{Method, Object, Value};

use super::{BuiltIn, Machine, Specification, agrees, sees_only};
use crate::answer::Answer;
use crate::containers::{self, Container, Stays};
use crate::online::{Contents, Effect};
use crate::sequences::{Node, Sequences};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    fast: containers::check::<Stack>,
    online: Some(take_effect),
    search: levels::check,
    search_name: "levels",
    both_name: "fast+levels",
    ..BuiltIn::new::<Stack>(Object::Stack)
};

/// A stack: last in, first out.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    sequences: Sequences,
}

impl Container for Stack {
    fn decide(stays: &Stays, witness: bool) -> Answer {
        fast::check(stays, witness)
    }

    fn decide_pending(stays: &mut Stays, witness: bool) -> Option<Answer> {
        pending::decide(stays, witness)
    }
}

impl Specification for Stack {
    fn new(_: &Part) -> Self {
        Self { sequences: Sequences::new() }
    }
}

impl Machine for Stack {
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

/// What an operation does, for a monitor.
fn take_effect(contents: &mut Contents, effect: &Effect, _: u64) -> Option<Value> {
    let items = &mut contents.items;
    Some(match effect.method {
        Method::Push => {
            items.push(effect.argument);
            Value::NONE
        }
        Method::Peek => items.last().copied().unwrap_or(Value::EMPTY),
        Method::Pop => items.pop().unwrap_or(Value::EMPTY),
        _ => return None,
    })
}
