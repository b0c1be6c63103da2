//! A counter: `add n`, `read => sum`. It begins at 0. The values are integers, and an addition may be negative.

mod fast;

use history::{Method, Object, Value};

use super::{BuiltIn, Machine, Specification};
use crate::online::{Contents, Effect};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn =
    BuiltIn { has_numbers: true, fast: fast::check, online: Some(take_effect), ..BuiltIn::new::<Sum>(Object::Counter) };

/// A counter. Its state is the sum.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    numbers: Vec<i128>,
    /// Whether some addition is negative.
    may_fall: bool,
}

impl Specification for Sum {
    fn new(part: &Part) -> Self {
        let numbers = part.numbers();
        let falls = |call: &Call| call.method == Method::Increase && numbers[call.argument.index()] < 0;
        Self { may_fall: part.calls.iter().any(falls), numbers }
    }
}

impl Machine for Sum {
    type State = i128;

    fn initial(&mut self) -> i128 {
        0
    }

    fn steps(&mut self, &sum: &i128, call: &Call, next: &mut Vec<(i128, ValueId)>) {
        if call.method == Method::Increase {
            next.push((sum + self.numbers[call.argument.index()], ValueId::NONE));
        } else if !call.result.is_index() || self.numbers[call.result.index()] == sum {
            next.push((sum, call.result));
        }
    }

    fn is_on_the_way(&mut self, &sum: &i128, goal: &Call) -> bool {
        self.may_fall || !goal.result.is_index() || sum <= self.numbers[goal.result.index()]
    }

    fn prepares(&self, _: &Call, _: &Call) -> bool {
        false
    }

    fn observes(&self, call: &Call) -> bool {
        call.method == Method::Get || self.numbers[call.argument.index()] == 0
    }
}

/// What an operation does, for a monitor.
fn take_effect(contents: &mut Contents, effect: &Effect, _: u64) -> Option<Value> {
    if effect.method == Method::Get {
        return i64::try_from(contents.number).ok().and_then(Value::integer);
    }
    contents.number += effect.amount();
    Some(Value::NONE)
}
