//! Histories of dbcop: JSON and text of version 0.2, and the bincode of 2019, which PolySI and VeriStrong read, too.
//!
//! All of them are sessions of transactions of events on registers. A transaction that is not committed is aborted.

mod bincode;
mod json;
mod text;

pub(super) use bincode::{BincodeReader, is_bincode};
pub(super) use json::{DbcopReader, write_history};
pub(super) use text::{DbcopTextReader, is_transaction};
