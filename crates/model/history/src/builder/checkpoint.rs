//! The layout of a half-read history in a checkpoint of a stream of events.
//!
//! [`History`] and [`HistoryBuilder`] cannot be deserialized, since a file could then break their invariants. The state
//! of a stream can, for two reasons: it comes from a checkpoint that this program made and protected with a checksum,
//! and the history of a stream never finishes, so that only the stream uses it.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::builder::{HistoryBuilder, Sessions, Unresolved};
use crate::history::{History, KeyId, Open, Operation, OperationId, ProcessId, Source};
use crate::object::Object;
use crate::transactions::Transactions;
use crate::value::{Value, Words};

/// The layout of a builder, for `#[serde(with = "BuilderLayout")]`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "HistoryBuilder")]
pub struct BuilderLayout {
    #[serde(with = "HistoryLayout")]
    history: History,
    processes: FxHashMap<u64, ProcessId>,
    successors: FxHashMap<ProcessId, ProcessId>,
    called: FxHashMap<ProcessId, u64>,
    keys: FxHashMap<u64, KeyId>,
    stated: FxHashMap<(KeyId, bool), Value>,
    last: Vec<Option<OperationId>>,
    labels: FxHashMap<u64, OperationId>,
    unresolved: Vec<Unresolved>,
    events: u32,
    has_calls: bool,
    is_stream: bool,
    sessions: Sessions,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "History")]
struct HistoryLayout {
    name: Option<String>,
    object: Object,
    capacity: Option<u64>,
    initial: Value,
    inits: Vec<(KeyId, Value)>,
    finals: Vec<(KeyId, Value)>,
    operations: Vec<Operation>,
    moments: Vec<[u32; 2]>,
    times: Vec<[Option<i64>; 2]>,
    expected: Vec<(OperationId, Value)>,
    labels: Vec<(OperationId, Value)>,
    sources: Vec<(OperationId, Source)>,
    program_indices: Vec<(OperationId, u64)>,
    open: Open,
    // A stream does not keep them.
    #[serde(skip)]
    remarks: Vec<(u32, String)>,
    transactions: Transactions,
    processes: Vec<Value>,
    keys: Vec<Value>,
    words: Words,
}
