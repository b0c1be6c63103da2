//! Sequential specifications: what an object may do when nothing overlaps.
//!
//! A specification is a set of states, one of them initial, and the steps that a call can make from each: none (the
//! call cannot happen now), one (a deterministic object), or several. The result of a call that has returned is known,
//! and a step that would return something else is none; that of a pending call is free.
//!
//! | object | state | in this module |
//! | --- | --- | --- |
//! | register (write, read, cas, rmw) | the value | [`Register`] |
//! | one element of a set | in or out | [`Element`] |
//! | a set that is read as a whole | its elements | [`WholeSet`] |
//! | mutex, semaphore | how many are held | [`Counter`] |
//! | queue, stack, priority queue | the contents | [`containers`] |
//! | string (get, put, append) | the text | [`Text`] |

pub mod containers;
mod text;
mod whole;

use std::hash::Hash;

use history::Method;

pub use containers::{PriorityQueue, Queue, Stack};
pub use text::Text;
pub use whole::WholeSet;

use crate::view::{Call, Part, ValueId};

/// A sequential object. `&mut self` is for tables in which states can be shared; it must not change what a step is.
pub trait Sequential {
    /// A state. Cheap to clone and to hash: one that is not small is best an index into a table of the specification.
    type State: Clone + Eq + Hash;

    /// The state before any call.
    fn initial(&mut self) -> Self::State;

    /// Appends every state that `call` may lead to from `state`, with what it returns then. If the call has returned
    /// ([`Call::is_pending`] is false and its result is not [`ValueId::NONE`]), only steps with its result.
    fn steps(&mut self, state: &Self::State, call: &Call, next: &mut Vec<(Self::State, ValueId)>);

    /// Whether no step of the call, from no state, leads to one from which other calls could do less: it changes nothing.
    /// Such a call can be taken as soon as it is possible, and the search does so.
    fn observes(&self, call: &Call) -> bool {
        let _ = call;
        false
    }
}

/// Whether `call` may return `result`.
fn agrees(call: &Call, result: ValueId) -> bool {
    call.result == ValueId::NONE || call.result == result
}

/// A register with compare-and-swap and read-modify-write. Its state is its value.
#[derive(Clone, Debug)]
pub struct Register {
    initial: ValueId,
}

impl Register {
    /// The register of a part.
    pub fn new(part: &Part) -> Self {
        Self { initial: part.initial }
    }
}

impl Sequential for Register {
    type State = ValueId;

    fn initial(&mut self) -> ValueId {
        self.initial
    }

    fn steps(&mut self, &state: &ValueId, call: &Call, next: &mut Vec<(ValueId, ValueId)>) {
        match call.method {
            Method::Write => next.push((call.argument, ValueId::NONE)),
            Method::Cas => {
                let succeeds = state == call.expected;
                let result = ValueId::boolean(succeeds);
                if agrees(call, result) {
                    next.push((if succeeds { call.argument } else { state }, result));
                }
            }
            Method::Rmw if agrees(call, state) => next.push((call.argument, state)),
            Method::Read if agrees(call, state) => next.push((state, state)),
            _ => {}
        }
    }

    fn observes(&self, call: &Call) -> bool {
        call.method == Method::Read || (call.method == Method::Cas && call.result == ValueId::FALSE)
    }
}

/// One element of a set: whether it is in.
#[derive(Clone, Debug, Default)]
pub struct Element;

impl Sequential for Element {
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

/// A semaphore, or a mutex: one of capacity 1. Its state is how many are held.
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

impl Sequential for Counter {
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
