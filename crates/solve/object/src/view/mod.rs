//! A history seen as calls on sequential objects. Linearizability is defined on this view.
//!
//! A history becomes an object history as follows:
//! - It is split into independent parts: one for each key and, of a set, for each element, unless some operation reads
//!   the whole set. Linearizability is local: a history is linearizable exactly if each part is.
//! - An operation that failed did not happen, and is left out. An operation whose end is unknown (`info`, or no return)
//!   is pending: it may take effect at any moment after its call, or never, and it may return anything.
//! - A pending operation that could change nothing is left out, and so is a fence.
//! - The values of each part are numbered from zero; those of a priority queue in the order of priority.
//!
//! Invariants: the calls of a part are in the order of their call moments. The moments of a part are numbered from
//! zero, and all are different. A call comes before its return.

mod build;

use history::{History, KeyId, Method, Object, OperationId, Value};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::knobs::Knobs;
use crate::objects::{self, BuiltIn};

/// A value of a part: an index into [`Part::values`], or one of the constants.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ValueId(pub u32);

impl ValueId {
    /// No value: the operation returns nothing, or may return anything.
    pub const NONE: Self = Self(u32::MAX);
    /// What a removal from an empty container returns.
    pub const EMPTY: Self = Self(u32::MAX - 1);
    /// True, as the result of a method that returns a boolean.
    pub const TRUE: Self = Self(u32::MAX - 2);
    /// False, as the result of a method that returns a boolean.
    pub const FALSE: Self = Self(u32::MAX - 3);
    /// The exchanger's `null`: no partner came.
    pub const NULL: Self = Self(u32::MAX - 4);

    /// Whether this is an index, not one of the constants.
    pub const fn is_index(self) -> bool {
        self.0 < Self::NULL.0
    }

    /// The index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// A boolean result.
    pub const fn boolean(b: bool) -> Self {
        if b { Self::TRUE } else { Self::FALSE }
    }
}

/// One operation on an object.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which operation of the history it is.
    pub operation: OperationId,
    /// The moment of its call.
    pub call: u32,
    /// The moment of its return; [`Call::NEVER`] if it is pending.
    pub ret: u32,
    /// The value that is written, inserted or added.
    pub argument: ValueId,
    /// The value that a compare-and-swap expects.
    pub expected: ValueId,
    /// The result; [`ValueId::NONE`] if the operation returned nothing, or its result is not known.
    pub result: ValueId,
    /// What it does.
    pub method: Method,
}

impl Call {
    /// The return of a pending operation.
    pub const NEVER: u32 = u32::MAX;

    /// Whether the operation has not returned. Then it may have happened or not, and may have returned anything.
    pub const fn is_pending(&self) -> bool {
        self.ret == Self::NEVER
    }

    /// Whether this operation returned before the other was called.
    pub const fn precedes(&self, other: &Self) -> bool {
        self.ret < other.call
    }
}

/// Why a history cannot be seen as calls on an object.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// No operation has a call and a return.
    #[error("linearizability is about calls and returns, and this history has none")]
    NoCalls,
    /// The object is not built in.
    #[error(
        "no specification of `{0}` is built in: the built-in objects are {names}",
        names = Object::ALL.map(Object::name).join(", ")
    )]
    NotBuiltIn(String),
    /// A container holds the value `empty`, which is also the result of a removal from an empty container.
    #[error("the value `empty` cannot be told from the answer of an empty {}", .object.name())]
    EmptyValue {
        /// The container.
        object: Object,
        /// The insertion.
        operation: OperationId,
    },
    /// An exchange offers the value `null`, which is also the result of an exchange without a partner.
    #[error("the value `null` cannot be told from an exchange without a partner")]
    NullValue(OperationId),
    /// A priority that is not a number.
    #[error("the values of a priority queue are integers")]
    NotAPriority(OperationId),
    /// A counter or a max-register has a value that is not a number.
    #[error("the values of a {} are integers of at most 96 bits", .object.name())]
    NotANumber {
        /// The object.
        object: Object,
        /// The operation with the value.
        operation: OperationId,
    },
    /// An object that is not built in has no such operation, or it cannot return that.
    #[error("the object has no such operation, or it cannot return that")]
    NotOfObject(OperationId),
    /// Too many events to count in 32 bits.
    #[error("the history has too many events")]
    TooLong,
}

impl ObjectError {
    /// The operation that the error is about.
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::NoCalls | Self::NotBuiltIn(_) | Self::TooLong => None,
            Self::EmptyValue { operation, .. }
            | Self::NotANumber { operation, .. }
            | Self::NullValue(operation)
            | Self::NotOfObject(operation)
            | Self::NotAPriority(operation) => Some(*operation),
        }
    }
}

/// A part: where its calls and its values are, and the rest as in [`Part`].
#[derive(Copy, Clone, Debug)]
struct Header {
    key: KeyId,
    calls: [u32; 2],
    values: [u32; 2],
    initial: ValueId,
    moments: u32,
}

/// The values of a part by number: first a range of integers, which takes no memory, then the others.
#[derive(Copy, Clone, Debug)]
pub struct Values<'a> {
    least: i64,
    span: u32,
    others: &'a [Value],
}

impl Values<'_> {
    /// No values.
    pub(crate) const EMPTY: Self = Self { least: 0, span: 0, others: &[] };

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.span as usize + self.others.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a number below [`Self::len`].
    pub fn get(&self, number: u32) -> Value {
        match number.checked_sub(self.span) {
            Some(other) => self.others[other as usize],
            None => Value::integer(self.least + i64::from(number)).unwrap_or(Value::NONE),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Value> {
        (0..self.len() as u32).map(|number| self.get(number))
    }
}

/// A history of one or several independent objects. See the module.
#[derive(Clone, Debug)]
pub struct ObjectHistory<'h> {
    history: &'h History,
    built_in: &'static BuiltIn,
    calls: Vec<Call>,
    /// The range of integers that comes before the other values of the only part: the first integer, and how many.
    /// Empty if there are several parts.
    small: (i64, u32),
    values: Vec<Value>,
    headers: Vec<Header>,
    is_whole: bool,
}

/// One object, and all calls on it.
#[derive(Copy, Clone, Debug)]
pub struct Part<'a> {
    /// The history that it is a part of, for names and texts.
    pub history: &'a History,
    /// What kind of object it is. A memory's location is a register.
    pub object: Object,
    /// The row of the object.
    pub(crate) built_in: &'static BuiltIn,
    /// The knobs of those who decide it.
    pub(crate) knobs: &'a Knobs,
    /// Its key; [`KeyId::NONE`] if the history has a single object.
    pub key: KeyId,
    /// The capacity of a semaphore (1 if the history does not say); 1 for a mutex.
    pub capacity: u64,
    /// The operations, in the order of their calls.
    pub calls: &'a [Call],
    /// The values by number.
    pub values: Values<'a>,
    /// The initial value of a register or a string.
    pub initial: ValueId,
    /// How many moments there are. The moment of each call and return is less than this.
    pub moments: u32,
    /// Whether the part is a set with all its elements, because some operation reads them all at once. Otherwise, a
    /// part of a set is one element.
    pub is_whole: bool,
}

impl Part<'_> {
    /// The value of that number as the history has it.
    pub fn value(&self, id: ValueId) -> Value {
        match id {
            ValueId::NONE => Value::NONE,
            ValueId::EMPTY => Value::EMPTY,
            ValueId::TRUE => Value::TRUE,
            ValueId::FALSE => Value::FALSE,
            ValueId::NULL => Value::NULL,
            ValueId(index) => self.values.get(index),
        }
    }

    /// The values as numbers, if they are integers.
    pub fn numbers(&self) -> Vec<i128> {
        let number = |value: Value| match value.as_integer() {
            Some(number) => i128::from(number),
            None => self.history.show(value).parse().unwrap_or(0),
        };
        self.values.iter().map(number).collect()
    }

    /// What happens at each moment; [`Endpoint::Nothing`] where an operation was left out.
    pub fn events(&self) -> Vec<Endpoint> {
        let mut events = vec![Endpoint::Nothing; self.moments as usize];
        for (at, call) in self.calls.iter().enumerate() {
            events[call.call as usize] = Endpoint::Call(at as u32);
            if !call.is_pending() {
                events[call.ret as usize] = Endpoint::Return(at as u32);
            }
        }
        events
    }

    /// The part up to a moment. `calls` is a buffer for its operations.
    pub fn before<'b>(&'b self, end: u32, calls: &'b mut Vec<Call>) -> Part<'b> {
        calls.clear();
        for &call in self.calls.iter().take_while(|call| call.call < end) {
            if call.ret < end {
                calls.push(call);
            } else if !call.method.observes() {
                calls.push(Call { ret: Call::NEVER, result: ValueId::NONE, ..call });
            }
        }
        Part { calls, moments: end, ..*self }
    }
}

/// What happens at a moment; the number is the place in [`Part::calls`].
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Endpoint {
    Nothing,
    Call(u32),
    Return(u32),
}

impl<'h> ObjectHistory<'h> {
    /// The view of a history as calls on objects.
    pub fn new(history: &'h History) -> Result<Self, ObjectError> {
        let Some(built_in) = objects::of(history.object()) else {
            return Err(ObjectError::NotBuiltIn(history.object_name().to_owned()));
        };
        if !history.has_calls() && !history.operations().is_empty() {
            return Err(ObjectError::NoCalls);
        }
        build::build(history, built_in)
    }

    /// The history that this is a view of.
    pub fn history(&self) -> &'h History {
        self.history
    }

    /// What kind of object it is.
    pub fn object(&self) -> Object {
        self.built_in.object
    }

    /// The row of the object.
    pub(crate) fn built_in(&self) -> &'static BuiltIn {
        self.built_in
    }

    /// How many calls there are, all parts together.
    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// How many parts there are.
    pub fn part_count(&self) -> usize {
        self.headers.len()
    }

    /// The independent parts.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = Part<'_>> {
        let range = |[start, end]: [u32; 2]| start as usize..end as usize;
        self.headers.iter().map(move |header| Part {
            history: self.history,
            object: self.object(),
            key: header.key,
            built_in: self.built_in,
            knobs: &Knobs::DEFAULT,
            capacity: if self.built_in.has_capacity { self.history.capacity().unwrap_or(1) } else { 1 },
            calls: &self.calls[range(header.calls)],
            values: Values { least: self.small.0, span: self.small.1, others: &self.values[range(header.values)] },
            initial: header.initial,
            moments: header.moments,
            is_whole: self.is_whole,
        })
    }
}
