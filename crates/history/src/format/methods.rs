//! What a method takes and what it returns: the same in every format.

use crate::history::{Method, Object};
use crate::value::Value;

/// What an operation of a method returns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Returns {
    /// Nothing.
    Nothing,
    /// The value read.
    Value,
    /// The value removed or seen; nothing said means empty.
    Removed,
    /// Whether it succeeded.
    Boolean,
    /// Whether it changed or found something; nothing said leaves it open.
    OptionalBoolean,
    /// The partner's value; nothing said means that there was none.
    Partner,
}

impl Returns {
    pub const fn of(method: Method) -> Self {
        match method {
            Method::Read | Method::Rmw | Method::Get => Self::Value,
            Method::Dequeue | Method::Pop | Method::DeleteMax | Method::Peek => Self::Removed,
            Method::Cas | Method::TryLock => Self::Boolean,
            Method::Add | Method::Remove | Method::Contains => Self::OptionalBoolean,
            Method::Exchange => Self::Partner,
            Method::Write
            | Method::Fence
            | Method::Enqueue
            | Method::Push
            | Method::Insert
            | Method::Lock
            | Method::Unlock
            | Method::Acquire
            | Method::Release
            | Method::Put
            | Method::Append => Self::Nothing,
        }
    }

    /// The result that `given` (none: nothing was said) stands for; an error says what was expected.
    pub fn result(self, given: Value) -> Result<Value, &'static str> {
        let is_boolean = given == Value::TRUE || given == Value::FALSE;
        match self {
            Self::Nothing if given.is_none() || given == Value::TRUE || given == Value::NULL => Ok(Value::NONE),
            Self::Nothing => Err("nothing: the method returns no value"),
            Self::Value if given.is_none() => Err("the value that was read"),
            Self::Removed if given.is_none() => Ok(Value::EMPTY),
            Self::Partner if given.is_none() => Ok(Value::NULL),
            Self::Value | Self::Removed | Self::Partner => Ok(given),
            Self::OptionalBoolean if given.is_none() => Ok(given),
            Self::Boolean | Self::OptionalBoolean if is_boolean => Ok(given),
            Self::Boolean | Self::OptionalBoolean => Err("`true` or `false`"),
        }
    }
}

/// Whether the initial value of a key means anything for an object.
pub(super) const fn has_initial_value(object: Object) -> bool {
    matches!(object, Object::Memory | Object::Register | Object::KeyValue)
}

/// The object that a history is about, told by the name of a method: for a file that does not say. An operation
/// without call and return is one of a memory, if it can be. A method that several objects share tells nothing.
pub(super) fn infer_object(method: &str, has_call: bool) -> Option<Object> {
    Some(match method {
        "r" | "w" | "u" | "rmw" | "f" | "fence" => Object::Memory,
        "read" | "write" if !has_call => Object::Memory,
        "read" | "write" | "cas" => Object::Register,
        "enqueue" | "enq" | "dequeue" | "deq" => Object::Queue,
        "push" | "pop" => Object::Stack,
        "insert" | "delete-max" => Object::PriorityQueue,
        "contains" => Object::Set,
        "lock" | "try-lock" | "tryLock" | "trylock" | "try_lock" | "unlock" => Object::Mutex,
        "exchange" => Object::Exchanger,
        "get" | "put" | "append" => Object::KeyValue,
        _ => return None,
    })
}
