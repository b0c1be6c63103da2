//! Histories of concurrent operations: the data model, every format in and out, and the view of a history as a
//! memory execution. This crate knows no consistency model.

pub mod event;
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

pub use execution::{Execution, ExecutionBuilder, ViewError};
pub use history::{History, KeyId, MemoryOrder, Open, Operation, OperationId, Outcome, ProcessId, Source};
pub use object::{Method, Object, Returns};
pub use read::ReadError;
pub use value::{Value, Words};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
pub use visible::{is_visible, visible};
