//! A multiset: `add v => true`, `remove v` and `contains v => true` or `false`, `count v => n`. Its elements are
//! independent.

use history::{Method, Object};

use super::{BuiltIn, Machine, agrees};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn = BuiltIn { by_element: true, ..BuiltIn::new(Object::Multiset) };

/// One element of a multiset: how many of it are in.
#[derive(Clone, Debug)]
pub struct Copies {
    /// Each value as a number, if it is one.
    numbers: Vec<Option<i64>>,
}

impl Copies {
    /// The element of a part.
    pub fn new(part: &Part) -> Self {
        Self { numbers: part.values.iter().map(history::Value::as_integer).collect() }
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
