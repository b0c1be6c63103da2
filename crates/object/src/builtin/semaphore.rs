//! A mutex (`lock`, `try-lock`, `unlock`) and a semaphore with a capacity (`acquire`, `release`). They have no owners:
//! any process may unlock or release.

use history::{Method, Object};

use super::{BuiltIn, Machine, agrees};
use crate::fast::{self, Answer};
use crate::view::{Call, Part, ValueId};

pub(super) const MUTEX: BuiltIn = BuiltIn { fast: check_mutex, ..BuiltIn::new(Object::Mutex) };

pub(super) const SEMAPHORE: BuiltIn =
    BuiltIn { has_capacity: true, fast: fast::counter::check, ..BuiltIn::new(Object::Semaphore) };

/// Decides a mutex. If some operations only try to lock it, both of its states can be seen, as of an element of a set.
fn check_mutex(part: &Part, witness: bool) -> Answer {
    if part.calls.iter().any(|call| call.method == Method::TryLock) {
        fast::element::check(part, witness)
    } else {
        fast::counter::check(part, witness)
    }
}

/// A semaphore, or a mutex, which is a semaphore of capacity 1. Its state is how many are held.
#[derive(Clone, Debug)]
pub struct Counter {
    capacity: u64,
}

impl Counter {
    /// The semaphore or mutex of a part.
    pub fn new(part: &Part) -> Self {
        Self { capacity: part.capacity }
    }
}

impl Machine for Counter {
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
