//! Why a builder refuses an event.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::MOST_EVENTS;
use crate::history::{KeyId, OperationId, ProcessId};
use crate::value::Value;

/// The operation that an error is about, shown by its line. An operation on no line is shown by its number.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Which {
    /// The operation.
    pub id: OperationId,
    /// Its line, counted from 1; zero if it is on no line.
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

const fn kind(is_list: bool) -> &'static str {
    if is_list { "list" } else { "register" }
}

/// Why a builder refuses an event or a fact: it would break an invariant of the history.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The builder has no such process.
    #[error("this history has no process number {}", .0.0)]
    UnknownProcess(ProcessId),
    /// The builder has no such key.
    #[error("this history has no key number {}", .0.0)]
    UnknownKey(KeyId),
    /// The builder has no such operation.
    #[error("this history has no operation number {}", .0.0)]
    UnknownOperation(OperationId),
    /// The value is a word that the builder does not have.
    #[error("{0:?} is a word of another history")]
    UnknownWord(Value),
    /// A process calls while another operation of it is open.
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
    /// The text cannot be the name of an open object or of its method, or it is the name of a built-in object.
    #[error("{} cannot be the name of an open object or of its method", crate::value::quote(.0.as_bytes()))]
    OpenName(String),
    /// An operation of an open object has no method name.
    #[error("a method of an open object needs a name: use `call_method` or `instant_method`")]
    NoMethodName,
    /// A call has a result already.
    #[error("a call has no result: the operation gets its result when it ends")]
    ResultOfCall,
    /// A process returns, but has no open operation.
    #[error("process {process} has no operation open")]
    NotOpen {
        /// The name of the process.
        process: String,
    },
    /// A process returns after its operation ended in `info`.
    #[error("the last operation of process {process} ({operation}) has already ended as `info`")]
    EndedUnknown {
        /// The name of the process.
        process: String,
        /// Its last operation.
        operation: Which,
    },
    /// An operation with a call and a return, or an instant, was given to a history of transactions.
    #[error("a history of transactions takes `read`, `write` and `append`, and no calls")]
    CallInTransactions,
    /// A transaction was given to a history that is not one of transactions.
    #[error("this is not a history of transactions")]
    NotTransactions,
    /// A session begins a transaction while another one of it is open.
    #[error("session {session} begins again before its transaction {} ended", match .line {
        0 => String::from("before"),
        line => format!("of line {line}"),
    })]
    BeginsAgain {
        /// The name of the session.
        session: String,
        /// The line where its open transaction begins; zero if it is on no line.
        line: u32,
    },
    /// A session ends a transaction, but has none open.
    #[error("session {session} has no transaction open")]
    NoTransaction {
        /// The name of the session.
        session: String,
    },
    /// A key is used both as a register and as a list.
    #[error("the key {key} is a {} here, and a {} in {other}", kind(*.is_list), kind(!*.is_list))]
    RegisterAndList {
        /// The name of the key.
        key: String,
        /// Whether it is a list here.
        is_list: bool,
        /// The first operation that uses it the other way.
        other: Which,
    },
    /// A read, a write or an append has no value.
    #[error("an operation of a transaction has a value")]
    NoValue,
    /// The history has more events than an index can count.
    #[error("the history has more than {MOST_EVENTS} events")]
    TooManyEvents,
    /// A key has two different initial values, or two different final values.
    #[error("the {} value of {key} is already {known}", if *.is_final { "final" } else { "initial" })]
    StatedTwice {
        /// The name of the key.
        key: String,
        /// The value that was given first.
        known: String,
        /// Whether it is the final value.
        is_final: bool,
    },
    /// An operation has the label `init`, which names the initial write.
    #[error("`init` is the name of the initial write")]
    LabelInit,
    /// Two operations have the same label.
    #[error("{first} and {second} have the same label {}", crate::value::quote(.label.as_bytes()))]
    LabelTwice {
        /// The label.
        label: String,
        /// The operation that has it.
        first: Which,
        /// The operation that was to have it.
        second: Which,
    },
    /// An operation has a source, but does not read.
    #[error("an operation that does not read has no source")]
    SourceOfNoRead,
    /// A source has a label that no operation has.
    #[error("no operation of this history has the label {}", crate::value::quote(.label.as_bytes()))]
    UnknownLabel {
        /// The operation that reads.
        operation: Which,
        /// The label.
        label: String,
    },
    /// The source of a read was not [replayed](super::Replay).
    #[error("the source of {0} was not replayed")]
    SourceNotReplayed(Which),
    /// An operation that has not returned is given a result, or is marked as failed.
    #[error("{0} has not returned")]
    NotReturned(Which),
}
