//! A call or a return as a recorder hands it out while a program runs, and as a monitor of an object takes it.
//!
//! This event is smaller than an event of a stream of text: it has no names and no line. Its
//! values are words of the table of the recorder or stream that made it.

use crate::history::{KeyId, Method};
use crate::value::Value;

/// An event of an execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ProcessEvent {
    /// The process that calls, or whose call ends. Processes are numbered from zero, without gaps.
    pub process: u32,
    /// What happens.
    pub action: Action,
}

/// What happens at an event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A method is called.
    Call {
        /// The object; [`KeyId::NONE`] if there is only one.
        key: KeyId,
        /// The method.
        method: Method,
        /// The value that is inserted, written or added; else [`Value::NONE`].
        argument: Value,
        /// The value that a compare-and-swap expects; else [`Value::NONE`].
        expected: Value,
    },
    /// The open call of the process returns this value; [`Value::NONE`] if it returns nothing, or the value is not
    /// known.
    Return(Value),
    /// The open call of the process did not happen.
    Fail,
    /// Nobody will ever know whether the open call of the process happened.
    Info,
}
