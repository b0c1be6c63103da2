//! A set: `add v`, `remove v`, `contains v`, each `=> true` or `false`; `read => {…}`. Its elements are independent,
//! unless some operation reads all of them at once. Then the whole set is one part ([`whole`]).

mod growing;
mod whole;

use history::{Method, Object, Value};

use self::whole::WholeSet;
use super::{BuiltIn, Machine, Specification, agrees, search_by, specified_by};
use crate::answer::Answer;
use crate::element;
use crate::online::{Contents, Effect};
use crate::view::{Call, Part, ValueId};

pub(super) const BUILT_IN: BuiltIn = BuiltIn {
    by_element: true,
    fast: check,
    online: Some(take_effect),
    search: |part, limits| {
        if part.is_whole { search_by::<WholeSet>(part, limits) } else { search_by::<Element>(part, limits) }
    },
    specification: |part| {
        Some(if part.is_whole { specified_by::<WholeSet>(part) } else { specified_by::<Element>(part) })
    },
    ..BuiltIn::new::<Element>(Object::Set)
};

fn check(part: &Part, witness: bool) -> Answer {
    if part.is_whole { growing::check(part, witness) } else { element::check(part, witness) }
}

/// One element of a set: whether it is in.
#[derive(Clone, Debug, Default)]
pub(super) struct Element;

impl Specification for Element {
    fn new(_: &Part) -> Self {
        Self
    }
}

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

/// What an operation does, for a monitor, which does not read whole sets.
fn take_effect(contents: &mut Contents, effect: &Effect, _: u64) -> Option<Value> {
    let found = contents.find(effect.argument);
    Some(match (effect.method, found) {
        (Method::Add, Err(at)) => {
            contents.items.insert(at, effect.argument);
            Value::TRUE
        }
        (Method::Add, Ok(_)) => Value::FALSE,
        (Method::Remove, Ok(at)) => {
            contents.items.remove(at);
            Value::TRUE
        }
        (Method::Remove | Method::Contains, _) => Value::boolean(found.is_ok()),
        _ => return None,
    })
}
