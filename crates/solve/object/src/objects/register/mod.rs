//! A register: `write v`, `read => v`, `cas old new => true` or `false`; and the locations of a memory.

mod fast;
mod swaps;

use history::{Method, Object, Value};

use super::{BuiltIn, Machine, Specification, agrees};
use crate::online::{Contents, Effect};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    has_initial: true,
    fast: fast::check,
    online: Some(take_effect),
    ..BuiltIn::new::<Register>(Object::Register)
};

/// A register with compare-and-swap and read-modify-write. Its state is its value.
#[derive(Clone, Debug)]
pub(super) struct Register {
    initial: ValueId,
}

impl Specification for Register {
    fn new(part: &Part) -> Self {
        Self { initial: part.initial }
    }
}

/// The value that a call must have found, given what it returned; none if it may have found several.
fn found(call: &Call) -> Option<ValueId> {
    match call.method {
        Method::Read | Method::Rmw if call.result != ValueId::NONE => Some(call.result),
        Method::Cas if call.result == ValueId::TRUE => Some(call.expected),
        _ => None,
    }
}

impl Machine for Register {
    type State = ValueId;

    fn initial(&mut self) -> ValueId {
        self.initial
    }

    fn steps(&mut self, &state: &ValueId, call: &Call, next: &mut Vec<(ValueId, ValueId)>) {
        match call.method {
            Method::Write => next.push((call.argument, ValueId::NONE)),
            Method::Cas => {
                let succeeds = state == call.expected;
                let result = ValueId::boolean(succeeds);
                if agrees(call, result) {
                    next.push((if succeeds { call.argument } else { state }, result));
                }
            }
            Method::Rmw if agrees(call, state) => next.push((call.argument, state)),
            Method::Read if agrees(call, state) => next.push((state, state)),
            _ => {}
        }
    }

    fn is_on_the_way(&mut self, &state: &ValueId, goal: &Call) -> bool {
        found(goal).is_none_or(|value| value == state)
    }

    fn prepares(&self, call: &Call, goal: &Call) -> bool {
        found(goal) == Some(call.argument)
    }

    fn observes(&self, call: &Call) -> bool {
        call.method == Method::Read || (call.method == Method::Cas && call.result == ValueId::FALSE)
    }
}

/// What an operation does, for a monitor.
fn take_effect(contents: &mut Contents, effect: &Effect, _: u64) -> Option<Value> {
    let held = &mut contents.items[0];
    Some(match effect.method {
        Method::Write => {
            *held = effect.argument;
            Value::NONE
        }
        Method::Read => *held,
        Method::Rmw => std::mem::replace(held, effect.argument),
        Method::Cas => {
            let succeeds = *held == effect.expected;
            if succeeds {
                *held = effect.argument;
            }
            Value::boolean(succeeds)
        }
        _ => return None,
    })
}
