//! A stack: last in, first out. `push v`, `pop => v` or `empty`, `peek`.
//!
//! A state is a node of a tree of stacks ([`Sequences`]). The parent of a node is the stack without its top.

use history::{Method, Object};

use super::sequences::{Node, Sequences};
use super::{BuiltIn, Machine, agrees, sees_only};
use crate::view::{Call, ValueId};
use crate::{fast, search};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    fast: fast::containers::check,
    search: search::stack::check,
    search_name: "levels",
    both_name: "fast+levels",
    ..BuiltIn::new(Object::Stack)
};

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
