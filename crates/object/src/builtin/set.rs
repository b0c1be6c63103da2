//! A set: `add v`, `remove v`, `contains v`, each `=> true` or `false`; `read => {…}`. Its elements are independent,
//! unless some operation reads all of them at once. Then the whole set is one part ([`super::whole`]).

use history::{Method, Object};

use super::{BuiltIn, Machine, agrees};
use crate::fast::{self, Answer};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn = BuiltIn { by_element: true, fast: check, ..BuiltIn::new(Object::Set) };

fn check(part: &Part, witness: bool) -> Answer {
    if part.is_whole { fast::whole::check(part, witness) } else { fast::element::check(part, witness) }
}

/// One element of a set: whether it is in.
#[derive(Clone, Debug, Default)]
pub struct Element;

impl Machine for Element {
    type State = bool;

    fn initial(&mut self) -> bool {
        false
    }

    fn steps(&mut self, &is_in: &bool, call: &Call, next: &mut Vec<(bool, ValueId)>) {
        let (after, result) = match call.method {
            Method::Add => (true, !is_in),
            Method::Remove => (false, is_in),
            _ => (is_in, is_in),
        };
        if agrees(call, ValueId::boolean(result)) {
            next.push((after, ValueId::boolean(result)));
        }
    }

    fn observes(&self, call: &Call) -> bool {
        call.method == Method::Contains || call.result == ValueId::FALSE
    }
}
