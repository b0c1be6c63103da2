//! A multiset: `add v => true`, `remove v` and `contains v => true` or `false`, `count v => n`. Its elements are
//! independent.

use history::{Method, Object, Value};

use super::{BuiltIn, Machine, Specification, agrees};
use crate::online::{Contents, Effect};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn =
    BuiltIn { by_element: true, online: Some(take_effect), ..BuiltIn::new::<Copies>(Object::Multiset) };

/// One element of a multiset: how many of it are in.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    /// Each value as a number, if it is one.
    numbers: Vec<Option<i64>>,
}

impl Specification for Copies {
    fn new(part: &Part) -> Self {
        Self { numbers: part.values.iter().map(Value::as_integer).collect() }
    }
}

impl Machine for Copies {
    type State = i64;

    fn initial(&mut self) -> i64 {
        0
    }

    fn steps(&mut self, &copies: &i64, call: &Call, next: &mut Vec<(i64, ValueId)>) {
        if call.method == Method::Count {
            let is_right = !call.result.is_index() || self.numbers[call.result.index()] == Some(copies);
            next.extend(is_right.then_some((copies, call.result)));
            return;
        }
        let is_in = copies > 0;
        let (after, result) = match call.method {
            Method::Add => (copies + 1, true),
            Method::Remove => (copies - i64::from(is_in), is_in),
            _ => (copies, is_in),
        };
        if agrees(call, ValueId::boolean(result)) {
            next.push((after, ValueId::boolean(result)));
        }
    }

    fn observes(&self, call: &Call) -> bool {
        call.method.observes() || call.result == ValueId::FALSE
    }
}

/// What an operation does, for a monitor.
fn take_effect(contents: &mut Contents, effect: &Effect, _: u64) -> Option<Value> {
    let found = contents.find(effect.argument);
    Some(match (effect.method, found) {
        (Method::Add, Ok(at) | Err(at)) => {
            contents.items.insert(at, effect.argument);
            Value::TRUE
        }
        (Method::Remove, Ok(at)) => {
            contents.items.remove(at);
            Value::TRUE
        }
        (Method::Count, _) => {
            let copies = contents.items.iter().filter(|&&item| item == effect.argument).count();
            Value::integer(copies as i64)?
        }
        _ => Value::boolean(found.is_ok()),
    })
}
