//! What a builder refuses.

use std::fmt;

use thiserror::Error;

use super::MOST_EVENTS;
use crate::history::{KeyId, OperationId, ProcessId};
use crate::value::Value;

/// Which operation an error is about: its line, or its number if it stands on none.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Which {
    /// The operation.
    pub id: OperationId,
    /// Its line, counted from 1; zero if it stands on none.
    pub line: u32,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "operation {}", u64::from(self.id.0) + 1),
            line => write!(f, "line {line}"),
        }
    }
}

/// An event or a fact that would break an invariant of the history.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The process is none of this builder.
    #[error("this history has no process number {}", .0.0)]
    UnknownProcess(ProcessId),
    /// The key is none of this builder.
    #[error("this history has no key number {}", .0.0)]
    UnknownKey(KeyId),
    /// The operation is none of this builder.
    #[error("this history has no operation number {}", .0.0)]
    UnknownOperation(OperationId),
    /// The value is a word, and none of this builder.
    #[error("{0:?} is a word of another history")]
    UnknownWord(Value),
    /// A process has an operation open and calls another.
    #[error("process {process} calls again before its operation {} returned", match .operation {
        Which { line: 0, id } => (u64::from(id.0) + 1).to_string(),
        which => format!("of {which}"),
    })]
    CallsAgain {
        /// The name of the process.
        process: String,
        /// The operation that is open.
        operation: Which,
    },
    /// The name of an object that is not built in, or of its method, is none, or it is one of a built-in object.
    #[error("{} is no name of an object that is not built in, or of a method of one", crate::format::quote(.0.as_bytes()))]
    OpenName(String),
    /// A method of an object that is not built in has a name.
    #[error("a method of an object that is not built in has a name: `call_method` takes it")]
    NoMethodName,
    /// A call says what it returns.
    #[error("an operation that is called has a result when it ends, and not before")]
    ResultOfCall,
    /// A return without a call.
    #[error("process {process} has no operation open")]
    NotOpen {
        /// The name of the process.
        process: String,
    },
    /// A return after an `info`.
    #[error("the operation of process {process} on {operation} has already ended, with nobody knowing how")]
    EndedUnknown {
        /// The name of the process.
        process: String,
        /// Its last operation.
        operation: Which,
    },
    /// More events than indices.
    #[error("a history of more than {MOST_EVENTS} events")]
    TooManyEvents,
    /// A key has two initial values, or two final ones.
    #[error("the {} value of {key} was said to be {known}", if *.is_final { "final" } else { "initial" })]
    StatedTwice {
        /// The name of the key.
        key: String,
        /// The value that was given first.
        known: String,
        /// Whether it is the final value.
        is_final: bool,
    },
    /// An operation is labelled as the initial write.
    #[error("`init` is the name of the initial write")]
    LabelInit,
    /// Two operations have the same label.
    #[error("{first} and {second} have the same label {}", crate::format::quote(.label.as_bytes()))]
    LabelTwice {
        /// The label.
        label: String,
        /// The operation that has it.
        first: Which,
        /// The operation that was to have it.
        second: Which,
    },
    /// A source of an operation that does not read.
    #[error("an operation that does not read has no source")]
    SourceOfNoRead,
    /// A source that is named by a label which no operation has.
    #[error("no operation of this history has the label {}", crate::format::quote(.label.as_bytes()))]
    UnknownLabel {
        /// The operation that reads.
        operation: Which,
        /// The label.
        label: String,
    },
    /// A source that is no part of what was [replayed](super::Replay).
    #[error("the source of {0} was not replayed")]
    SourceNotReplayed(Which),
    /// A result, or a failure, of an operation that has not returned.
    #[error("{0} has not returned")]
    NotReturned(Which),
}
