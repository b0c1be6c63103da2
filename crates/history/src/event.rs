//! Calls and returns one by one: what a recorder hands out while a program runs, and what monitors of objects are told.
//!
//! An event is smaller than what a [stream of text](crate::format::stream) gives: it knows no names and no line. Its
//! values are those of whoever made it.

use crate::history::{KeyId, Method};
use crate::value::Value;

/// An event of an execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Who calls, or whose call ends: processes are numbered from zero, without gaps.
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
        /// What is inserted, written, added; else [`Value::NONE`].
        argument: Value,
        /// What a compare-and-swap expects; else [`Value::NONE`].
        expected: Value,
    },
    /// The open call of the process returns this; [`Value::NONE`] if that is nothing, or not known.
    Return(Value),
    /// The open call of the process turns out not to have happened.
    Fail,
    /// Nobody will ever know about the open call of the process.
    Info,
}
