//! Histories of concurrent operations: the data model, every format in and out, and the view of a history as a
//! memory execution. This crate knows no consistency model.

pub mod builder;
pub mod event;
mod events;
pub mod execution;
mod finals;
pub mod format;
pub mod history;
pub mod object;
pub mod performed;
mod read;
pub mod value;
mod visible;
mod whole_set;

pub use builder::{BuildError, Call, End, HistoryBuilder, Replay};
pub use events::HistoryEvent;
pub use execution::{Execution, ExecutionBuilder, ViewError};
pub use history::{History, KeyId, MemoryOrder, Operation, OperationId, Outcome, ProcessId, Source};
pub use object::{Method, Object, Returns};
pub use read::ReadError;
pub use value::{Value, Words};
pub use visible::{is_visible, visible};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
