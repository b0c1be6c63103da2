//! What a user says of an event: a call, and how it ends. Names are numbers already; the [builder](super) checks that
//! the rest fits together.

use crate::history::{KeyId, MemoryOrder, Operation, Outcome, ProcessId};
use crate::object::Method;
use crate::value::Value;

/// A call, or a whole instant. Only the process and the method are required.
#[derive(Copy, Clone, Debug)]
#[must_use]
pub struct Call {
    /// Who calls.
    pub process: ProcessId,
    /// The key, if the object has keys.
    pub key: KeyId,
    /// The line of the file; 0 if there is none.
    pub line: u32,
    /// What is called.
    pub method: Method,
    /// The memory order of an access.
    pub order: MemoryOrder,
    /// The argument, if there is one.
    pub argument: Value,
    /// The result of an instant.
    pub result: Value,
    /// The value that a compare-and-swap expects.
    pub expected: Value,
}

impl Call {
    /// A call of a method without an argument, on the only object of the history.
    #[inline]
    pub const fn new(process: ProcessId, method: Method) -> Self {
        let none = Value::NONE;
        let order = MemoryOrder::Plain;
        Self { process, key: KeyId::NONE, line: 0, method, order, argument: none, result: none, expected: none }
    }

    /// On this key: a memory location, or one of several objects.
    #[inline]
    pub const fn key(self, key: KeyId) -> Self {
        Self { key, ..self }
    }

    /// With this argument: the value that is written, inserted or added.
    #[inline]
    pub const fn argument(self, argument: Value) -> Self {
        Self { argument, ..self }
    }

    /// With this result. Only an instant has its result here.
    #[inline]
    pub const fn result(self, result: Value) -> Self {
        Self { result, ..self }
    }

    /// With this expected value. Only a compare-and-swap has one.
    #[inline]
    pub const fn expected(self, expected: Value) -> Self {
        Self { expected, ..self }
    }

    /// With this memory order.
    #[inline]
    pub const fn order(self, order: MemoryOrder) -> Self {
        Self { order, ..self }
    }

    /// On this line of its file, counted from 1.
    #[inline]
    pub const fn line(self, line: u32) -> Self {
        Self { line, ..self }
    }

    pub(super) const fn operation(&self, outcome: Outcome) -> Operation {
        let &Self { process, key, line, method, order, argument, result, .. } = self;
        Operation { process, key, line, method, order, outcome, argument, result }
    }
}

/// How a called operation ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It returns this value; [`Value::NONE`] if it returns nothing, or the value is not known.
    Ok(Value),
    /// It did not happen.
    Fail,
    /// Nobody will ever know whether it happened.
    Info,
}
