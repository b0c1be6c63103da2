//! The monitor that uses MR's SATURATE with removal of matches, [`crate::saturate`]. Values and operations get
//! numbers that are used again once the engine has forgotten them.
//!
//! The monitor is sound, not complete. An operation that does not say what it returned stays open. After a violation,
//! the monitor says nothing more about that object.

use history::{Method, Object, Value};
use object::ValueId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{NOT_UNIQUE, OpenOperation, Stopped};
use crate::saturate::{Invocation, Propagation, Removal, Step};

/// The monitor of one object. See the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Saturate {
    propagation: Propagation,
    values: Numbers,
    operations: Numbers,
    /// The expected values of the open compare-and-swaps, by the numbers of their calls.
    expected: FxHashMap<u64, u64>,
    has_ended: bool,
}

/// Numbers for keys. A number is used again after it was released.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Numbers {
    by_key: FxHashMap<u64, u32>,
    free: Vec<u32>,
    next: u32,
}

impl Numbers {
    fn number(&mut self, key: u64) -> u32 {
        *self.by_key.entry(key).or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                self.next += 1;
                self.next - 1
            })
        })
    }

    fn retain(&mut self, is_kept: impl Fn(u64, u32) -> bool) {
        let free = &mut self.free;
        self.by_key.retain(|&key, &mut number| {
            let is_kept = is_kept(key, number);
            if !is_kept {
                free.push(number);
            }
            is_kept
        });
    }

    fn release(&mut self, key: u64) {
        self.free.extend(self.by_key.remove(&key));
    }
}

impl Saturate {
    pub(super) fn new(object: Object, capacity: u64, initial: Value) -> Option<Self> {
        let mut values = Numbers::default();
        let initial = ValueId(values.number(initial.bits()));
        let propagation = Propagation::new(object, capacity, initial, Removal::WhenSettled)?;
        let (operations, expected) = Default::default();
        Some(Self { propagation, values, operations, expected, has_ended: false })
    }

    fn value(&mut self, value: Value) -> ValueId {
        if value.is_none() { ValueId::NONE } else { ValueId(self.values.number(value.bits())) }
    }

    fn result(&mut self, method: Method, result: Value) -> ValueId {
        match (method, result) {
            (_, Value::NONE) => ValueId::NONE,
            (Method::Dequeue | Method::Pop | Method::DeleteMax, Value::EMPTY) => ValueId::EMPTY,
            (Method::Exchange, Value::NULL) => ValueId::NULL,
            (Method::Cas | Method::Add | Method::Remove | Method::Contains, result) => {
                ValueId::boolean(result == Value::TRUE)
            }
            (_, result) => self.value(result),
        }
    }

    pub(super) fn call(&mut self, open: &OpenOperation) {
        if self.has_ended {
            return;
        }
        let (argument, expected) = (self.value(open.argument), self.value(open.expected));
        if open.expected.is_some() {
            self.expected.insert(open.number, open.expected.bits());
        }
        let priority = open.argument.as_integer().unwrap_or(0);
        let invocation = Invocation { method: open.method, argument, priority, expected };
        self.propagation.call(self.operations.number(open.number), invocation);
    }

    pub(super) fn return_(&mut self, open: &OpenOperation, result: Value) -> Result<(), Stopped> {
        if self.has_ended {
            return Ok(());
        }
        let result = self.result(open.method, result);
        let step = self.propagation.return_(self.operations.number(open.number), result);
        // An operation with an unknown result stays open if its result matters.
        let is_plain = matches!(open.method, Method::Write | Method::Enqueue | Method::Push | Method::Insert)
            || matches!(open.method, Method::Lock | Method::Unlock | Method::Acquire | Method::Release | Method::Rmw)
            || matches!(open.method, Method::Read | Method::Contains);
        if is_plain || result != ValueId::NONE {
            self.release(open);
        }
        self.conclude(step, || Stopped::stuck(open))
    }

    pub(super) fn fail(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
        if self.has_ended {
            return Ok(());
        }
        let step = self.propagation.fail(self.operations.number(open.number));
        self.release(open);
        self.conclude(step, Stopped::did_not_happen)
    }

    fn release(&mut self, open: &OpenOperation) {
        self.operations.release(open.number);
        self.expected.remove(&open.number);
    }

    fn conclude(&mut self, step: Step, violation: impl FnOnce() -> Stopped) -> Result<(), Stopped> {
        let remembered = self.propagation.size() + self.operations.by_key.len() + self.expected.len();
        if self.values.by_key.len() > 64 + 2 * remembered {
            let expected = &self.expected;
            let expects = |value: u64| expected.values().any(|&other| other == value);
            self.values.retain(|value, number| self.propagation.remembers(ValueId(number)) || expects(value));
        }
        match step {
            Step::Possible => Ok(()),
            Step::Violation => {
                self.has_ended = true;
                Err(violation())
            }
            Step::GaveUp(_) => Err(Stopped::gave_up(NOT_UNIQUE)),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.propagation.size() + self.values.by_key.len() + self.operations.by_key.len()
    }
}
