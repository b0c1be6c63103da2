//! A mutex (`lock`, `try-lock`, `unlock`) and a semaphore with a capacity (`acquire`, `release`). They have no owners:
//! any process may unlock or release.

mod fast;

use history::{Method, Object, Value};

use super::{BuiltIn, Machine, Specification, agrees};
use crate::answer::Answer;
use crate::element;
use crate::online::{Contents, Effect};
use crate::view::{Call, Part, ValueId};

pub(super) const MUTEX: BuiltIn =
    BuiltIn { fast: check_mutex, online: Some(take_effect), ..BuiltIn::new::<Permits>(Object::Mutex) };

pub(super) const SEMAPHORE: BuiltIn = BuiltIn {
    has_capacity: true,
    fast: fast::check,
    online: Some(take_effect),
    ..BuiltIn::new::<Permits>(Object::Semaphore)
};

/// Decides a mutex. If some operations only try to lock it, both of its states can be seen, as of an element of a set.
fn check_mutex(part: &Part, witness: bool) -> Answer {
    if part.calls.iter().any(|call| call.method == Method::TryLock) {
        element::check(part, witness)
    } else {
        fast::check(part, witness)
    }
}

/// A semaphore, or a mutex, which is a semaphore of capacity 1. Its state is how many are held.
#[derive(Clone, Debug)]
pub(super) struct Permits {
    capacity: u64,
}

impl Specification for Permits {
    fn new(part: &Part) -> Self {
        Self { capacity: part.capacity }
    }
}

impl Machine for Permits {
    type State = u64;

    fn initial(&mut self) -> u64 {
        0
    }

    fn steps(&mut self, &held: &u64, call: &Call, next: &mut Vec<(u64, ValueId)>) {
        match call.method {
            Method::Lock | Method::Acquire if held < self.capacity => next.push((held + 1, ValueId::NONE)),
            Method::Unlock | Method::Release if held > 0 => next.push((held - 1, ValueId::NONE)),
            Method::TryLock => {
                let is_free = held < self.capacity;
                if agrees(call, ValueId::boolean(is_free)) {
                    next.push((held + u64::from(is_free), ValueId::boolean(is_free)));
                }
            }
            _ => {}
        }
    }

    fn observes(&self, call: &Call) -> bool {
        call.method == Method::TryLock && call.result == ValueId::FALSE
    }
}

/// What an operation does, for a monitor. Each holder is an item.
fn take_effect(contents: &mut Contents, effect: &Effect, capacity: u64) -> Option<Value> {
    let items = &mut contents.items;
    let is_full = items.len() as u64 >= capacity;
    match effect.method {
        Method::Unlock | Method::Release => return items.pop().map(|_| Value::NONE),
        Method::Lock | Method::Acquire if is_full => return None,
        _ if !is_full => items.push(Value::NULL),
        _ => {}
    }
    Some(if effect.method == Method::TryLock { Value::boolean(!is_full) } else { Value::NONE })
}
