//! A max-register: `write-max n`, `read => n`, the largest number written so far. It begins at 0. The values are
//! integers.

use history::{Method, Object};

use super::{BuiltIn, Machine};
use crate::fast;
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn =
    BuiltIn { has_numbers: true, fast: fast::largest::check, ..BuiltIn::new(Object::MaxRegister) };

/// A max-register. Its state is the largest number.
#[derive(Clone, Debug)]
pub struct Largest {
    numbers: Vec<i128>,
}

impl Largest {
    /// The max-register of a part.
    pub fn new(part: &Part) -> Self {
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
