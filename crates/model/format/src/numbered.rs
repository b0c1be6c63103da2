//! Numbers for the names and values of a history of transactions, for formats that have nothing but numbers.
//!
//! Where all names, or all values, are integers from 0, they stay. Else they are numbered in the order of their first
//! use, values key by key from 1. The initial value of a key has no number: a format writes 0 or null for it.

use rustc_hash::FxHashMap;

use super::write::WriteError;
use history::history::{History, KeyId, Method, OperationId, ProcessId, Source};
use history::transactions::{Status, Transaction, TransactionId};
use history::value::Value;

/// The numbers of one history.
pub(super) struct Numbering<'h> {
    history: &'h History,
    keys: Vec<u64>,
    sessions: Vec<u64>,
    /// The number of each operation's value; `None` is the initial value.
    values: Vec<Option<u64>>,
    /// The transactions to write: all but those of unknown end from which nobody reads.
    written: Vec<bool>,
}

impl<'h> Numbering<'h> {
    /// The numbers of a history. What they do not say is noted in `dropped`.
    pub fn new(history: &'h History, dropped: &mut Vec<&'static str>) -> Result<Self, WriteError> {
        let refuse = |operation, what: &str| Err(WriteError::Inexpressible { operation, what: what.to_owned() });
        if !history.is_of_transactions() {
            return refuse(None, "anything but transactions");
        }
        let is_of_list = |id: &OperationId| {
            let operation = history.operation(*id);
            operation.method == Method::Append || operation.result.as_list().is_some()
        };
        let mut ids = (0..history.operations().len() as u32).map(OperationId);
        if let Some(id) = ids.find(is_of_list) {
            return refuse(Some(id), "lists");
        }
        let (keys, are_keys_kept) = numbers(history.keys());
        let (sessions, are_sessions_kept) = numbers(history.processes());
        let (values, are_values_kept) = value_numbers(history);
        let written = counted(history);
        let is_indeterminate = |(_, transaction): &(_, &Transaction)| transaction.status == Status::Indeterminate;
        let losses = [
            (history.name().is_some(), "the name of the history"),
            (!history.is_untimed(), "the order in time of transactions of different sessions"),
            (!are_keys_kept, "the names of keys, which are numbered"),
            (!are_sessions_kept, "the names of sessions, which are numbered"),
            (!are_values_kept, "the values, which are numbered"),
            (!history.sources().is_empty(), "the sources of reads (`from=`)"),
            (history.transactions().any(|entry| is_indeterminate(&entry)), UNKNOWN),
            (
                history.transactions().any(|(id, transaction)| {
                    transaction.status == Status::Aborted && !history.operation_range(id).is_empty()
                }),
                "which operations of aborted transactions belong together",
            ),
        ];
        dropped.extend(losses.into_iter().filter(|&(is_lost, _)| is_lost).map(|(_, what)| what));
        Ok(Self { history, keys, sessions, values, written })
    }

    /// The transactions to write, in their order. One of unknown end counts as committed here.
    pub fn transactions(&self) -> impl Iterator<Item = (TransactionId, &'h Transaction)> {
        let history = self.history;
        history.transactions().filter(|(id, _)| self.written[id.index()])
    }

    pub fn key(&self, key: KeyId) -> u64 {
        self.keys[key.index()]
    }

    pub fn session(&self, session: ProcessId) -> u64 {
        self.sessions[session.index()]
    }

    /// The number of the value of an operation; `None` is the initial value.
    pub fn value(&self, id: OperationId) -> Option<u64> {
        self.values[id.index()]
    }
}

const UNKNOWN: &str = "transactions of unknown end: those that are read from are written as committed, and no others";

/// The names as numbers, and whether they are these numbers already.
fn numbers(names: &[Value]) -> (Vec<u64>, bool) {
    let kept: Option<Vec<u64>> = names.iter().map(|&name| natural(name)).collect();
    match kept {
        Some(kept) => (kept, true),
        None => ((0..names.len() as u64).collect(), false),
    }
}

fn natural(value: Value) -> Option<u64> {
    value.as_integer().and_then(|number| u64::try_from(number).ok())
}

fn value_of(history: &History, id: OperationId) -> Value {
    let operation = history.operation(id);
    if operation.method == Method::Read { operation.result } else { operation.argument }
}

/// The number of each operation's value, and whether the values are these numbers already.
fn value_numbers(history: &History) -> (Vec<Option<u64>>, bool) {
    let ids = || (0..history.operations().len() as u32).map(OperationId);
    let is_initial = |id: OperationId| {
        let is_init = value_of(history, id) == history.initial_value(history.operation(id).key);
        history.operation(id).method == Method::Read && is_init
    };
    // 0 must stay free for the initial value, unless 0 is written, which makes it a value like the others.
    let plain = |id: OperationId| match natural(value_of(history, id)) {
        _ if is_initial(id) => Some(None),
        Some(0) if history.operation(id).method == Method::Read => None,
        Some(0) => None,
        number => number.map(Some),
    };
    if let Some(values) = ids().map(plain).collect() {
        return (values, true);
    }
    let mut next: Vec<u64> = vec![0; history.keys().len()];
    let mut known = FxHashMap::default();
    let number = |id: OperationId| {
        if is_initial(id) {
            return None;
        }
        let key = history.operation(id).key;
        let next = &mut next[key.index()];
        Some(*known.entry((key, value_of(history, id).bits())).or_insert_with(|| {
            *next += 1;
            *next
        }))
    };
    (ids().map(number).collect(), false)
}

/// Which transactions count, or are aborted: those of unknown end only if one that counts reads from them.
fn counted(history: &History) -> Vec<bool> {
    let mut is_counted: Vec<bool> =
        history.transactions().map(|(_, transaction)| transaction.status != Status::Indeterminate).collect();
    if is_counted.iter().all(|&is_counted| is_counted) {
        return is_counted;
    }
    let mut writers: FxHashMap<(KeyId, u64), Vec<TransactionId>> = FxHashMap::default();
    for (id, _) in history.transactions().filter(|(_, transaction)| transaction.status == Status::Indeterminate) {
        for operation in history.operations_of(id).iter().filter(|operation| operation.method == Method::Write) {
            writers.entry((operation.key, operation.argument.bits())).or_default().push(id);
        }
    }
    let committed = history.transactions().filter(|(_, transaction)| transaction.status == Status::Committed);
    let mut open: Vec<TransactionId> = committed.map(|(id, _)| id).collect();
    while let Some(id) = open.pop() {
        for operation in history.operation_range(id).map(OperationId) {
            let named = match history.source(operation) {
                Some(Source::Operation(write)) => vec![history.transaction_of(write)],
                Some(Source::Init) => Vec::new(),
                None => {
                    let read = history.operation(operation);
                    writers.get(&(read.key, read.result.bits())).cloned().unwrap_or_default()
                }
            };
            for writer in named {
                if !std::mem::replace(&mut is_counted[writer.index()], true) {
                    open.push(writer);
                }
            }
        }
    }
    is_counted
}
