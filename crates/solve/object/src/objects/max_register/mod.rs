//! A max-register: `write-max n`, `read => n`, the largest number written so far. It begins at 0. The values are
//! integers.

mod fast;

use history::{Method, Object, Value};

use super::{BuiltIn, Machine, Specification};
use crate::online::{Contents, Effect};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    has_numbers: true,
    fast: fast::check,
    online: Some(take_effect),
    ..BuiltIn::new::<Largest>(Object::MaxRegister)
};

/// A max-register. Its state is the largest number.
#[derive(Clone, Debug)]
pub(super) struct Largest {
    numbers: Vec<i128>,
}

impl Specification for Largest {
    fn new(part: &Part) -> Self {
        Self { numbers: part.numbers() }
    }
}

impl Machine for Largest {
    type State = i128;

    fn initial(&mut self) -> i128 {
        0
    }

    fn steps(&mut self, &largest: &i128, call: &Call, next: &mut Vec<(i128, ValueId)>) {
        if call.method == Method::WriteMax {
            next.push((largest.max(self.numbers[call.argument.index()]), ValueId::NONE));
        } else if !call.result.is_index() || self.numbers[call.result.index()] == largest {
            next.push((largest, call.result));
        }
    }

    fn observes(&self, call: &Call) -> bool {
        call.method == Method::Get
    }
}

/// What an operation does, for a monitor.
fn take_effect(contents: &mut Contents, effect: &Effect, _: u64) -> Option<Value> {
    if effect.method == Method::Get {
        return i64::try_from(contents.number).ok().and_then(Value::integer);
    }
    contents.number = effect.amount().max(contents.number);
    Some(Value::NONE)
}
