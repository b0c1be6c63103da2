//! Histories of concurrent operations: the data model, and the views of a history.
//!
//! Use this crate to build histories and to look at them. The crate `format` reads and writes them. To *check* a
//! history, use the crate `seriatim`, which offers the types of this crate again. This crate knows no consistency
//! model.
//!
//! | you have | start from |
//! | --- | --- |
//! | a program that makes its own history | [`HistoryBuilder`] |
//! | a history to cut, reorder or change | [`Replay`], [`HistoryBuilder::from`] |
//! | an engine that looks at reads, writes and reads-from | [`Execution::from_history`] |
//! | transactions of a database | [`transactions`] |
//!
//! ```
//! use history::Execution;
//!
//! let history = format::parse("[0] w x 1\n[1] r x 1\n")?;
//! let execution = Execution::from_history(&history)?;
//! let read = execution.events()[1];
//! assert_eq!(execution.operation(read.source), history::OperationId(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The words of this crate:
//! - a *history* is a list of operations; each operation belongs to a process;
//! - an operation is *called* and *returns*; a *moment* is the place of a call or a return in the order of all events;
//! - an *instant* is an operation that was recorded as one event, without a call and a return;
//! - an *open* operation has been called and has not ended; an operation that is still open at the end is *pending*;
//! - an *open object* is an object that is not built in: its methods are plain data.

pub mod builder;
pub mod etcd;
pub mod event;
pub mod events;
pub mod execution;
mod finals;
pub mod history;
pub mod literal;
pub mod object;
pub mod performed;
pub mod transactions;
pub mod value;
pub mod visible;
pub mod whole_set;

pub use builder::{BuildError, Call, CallEnd, HistoryBuilder, Replay};
pub use events::HistoryEvent;
pub use execution::{EventId, Execution, ExecutionBuilder, OpenExecution, ViewError};
pub use history::{History, KeyId, MemoryOrder, Operation, OperationId, Outcome, ProcessId, Source};
pub use object::{Method, Object, Returns};
pub use transactions::{Status, Transaction, TransactionId};
pub use value::{Value, Words};
pub use visible::{is_visible, visible};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
