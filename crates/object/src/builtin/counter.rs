//! A counter: `add n`, `read => sum`. It begins at 0. The values are integers, and an addition may be negative.

use history::{Method, Object};

use super::{BuiltIn, Machine};
use crate::fast;
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn =
    BuiltIn { has_numbers: true, fast: fast::sum::check, ..BuiltIn::new(Object::Counter) };

/// A counter. Its state is the sum.
#[derive(Clone, Debug)]
pub struct Sum {
    numbers: Vec<i128>,
    /// Whether some addition is negative.
    may_fall: bool,
}

impl Sum {
    /// The counter of a part.
    pub fn new(part: &Part) -> Self {
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
