//! Transactions in records: Jepsen's `txn`, with an array of small operations `[f key value]` as its value.
//!
//! - An `invoke` begins a transaction. An `ok` commits it, and has the values that it read. A `fail` aborts it, and an
//!   `info`, or no completion at all, leaves it indeterminate: then the writes are those of the `invoke`, and nothing
//!   is known of its reads. A completion without an `invoke` is a transaction at one point in time.
//! - A history with any `append` is one of lists, and its reads return arrays; null is the empty list. What comes
//!   before the first write or append is decided by it.
//! - The fields `f` and `process` may be missing; the process is then 0. A process that is no integer is not a client,
//!   unless a header says that this is a history of transactions.
//! - The long-fork workload writes `f` as `read` and `write`, with the same arrays.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::super::error::{Fault, quote};
use super::read::{Assembler, number};
use super::{Field, Notation, Raw, Record};
use crate::history::{KeyId, Method, Object, OperationId, ProcessId};
use crate::transactions::{Status, TransactionId};
use crate::value::Value;

/// What is known of a history of transactions while its records are read.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Transacting {
    kind: Kind,
    /// The writes and appends of each open transaction, and its line.
    invoked: FxHashMap<ProcessId, (Vec<Change>, u32)>,
    /// The reads before the first write or append.
    undecided: Vec<OperationId>,
}

impl Transacting {
    /// Whether the events so far may still change, because nobody knows yet what was read.
    pub fn is_undecided(&self) -> bool {
        self.kind == Kind::Unknown
    }
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Kind {
    #[default]
    Unknown,
    Registers,
    Lists,
}

/// A write or an append.
type Change = (Method, KeyId, Value);

impl<N: Notation> Assembler<N> {
    /// Whether a record is a transaction: the history is one of transactions, or the record shows it.
    pub(super) fn is_transaction(&self, record: &Record) -> bool {
        match self.builder.object() {
            Some(object) => object == Object::Transactions,
            None => match record.get(Field::F).map(|f| self.notation.name(f).unwrap_or(f.text)) {
                Some(b"txn") => true,
                None | Some(b"read" | b"write") => {
                    let operations = record.get(Field::Value).and_then(|value| self.notation.elements(value));
                    operations.is_some_and(|all| !all.is_empty() && all.iter().all(|&one| self.is_operation(one)))
                }
                Some(_) => false,
            },
        }
    }

    fn is_operation(&self, raw: Raw) -> bool {
        let parts = self.notation.elements(raw).unwrap_or_default();
        let is_name = |name: &[u8]| matches!(name, b"r" | b"w" | b"append");
        parts.len() == 3 && self.notation.name(parts[0]).is_some_and(is_name)
    }

    /// Takes in a transaction, or its end.
    pub(super) fn push_transaction(&mut self, record: &Record, line: u32) -> Result<(), Fault> {
        if self.builder.object().is_none() {
            self.builder.become_transactions();
        }
        let at = record.get(Field::Process).map_or(0, |process| process.at);
        let name = match record.get(Field::Process) {
            None => Value::ZERO,
            Some(process) => self.scalar(process)?,
        };
        if name.as_integer().is_none() && self.builder.is_object_inferred() {
            return Ok(());
        }
        if let Some(f) = record.get(Field::F) {
            let name = self.notation.name(f).unwrap_or(f.text);
            if !matches!(name, b"txn" | b"read" | b"write") {
                return Err(unknown_method(name, f.at));
            }
        }
        let session = self.builder.process_of(name);
        let status = match record.get(Field::Type).map(|kind| self.notation.name(kind).unwrap_or(kind.text)) {
            Some(b"invoke") => return self.invoke(record, session, line, at),
            None | Some(b"ok") => Status::Committed,
            Some(b"fail") => Status::Aborted,
            Some(b"info") => Status::Indeterminate,
            Some(kind) => {
                let message = format!("{} is not a type of event", quote(kind));
                return Err(Fault::new(at, message).expected("one of invoke, ok, fail, info"));
            }
        };
        let invoked = self.transacting.invoked.remove(&session);
        if status != Status::Committed {
            let (changes, line) = match invoked {
                Some(invoked) => invoked,
                None => (self.changes(record)?, line),
            };
            if self.builder.open_transaction(session).is_none() {
                self.builder.begin_transaction(session, line, at)?;
            }
            return self.close(session, &changes, status, line, record, at);
        }
        let operations = self.operations(record)?;
        let is_point = self.builder.open_transaction(session).is_none();
        if is_point && operations.len() != 1 {
            self.builder.begin_transaction(session, line, at)?;
        }
        for operation in &operations {
            self.operation(session, operation, line)?;
        }
        if is_point && operations.len() == 1 {
            self.builder.end_whole(session);
            let last = self.builder.last_transaction();
            self.put_time(record, last, 0);
            return Ok(());
        }
        self.close(session, &[], status, line, record, at)
    }

    /// Begins a transaction. Its writes are kept for the case that it has no other end.
    fn invoke(&mut self, record: &Record, session: ProcessId, line: u32, at: usize) -> Result<(), Fault> {
        let changes = self.changes(record)?;
        let id = self.builder.begin_transaction(session, line, at)?;
        self.put_time(record, id, 0);
        self.transacting.invoked.insert(session, (changes, line));
        Ok(())
    }

    /// Adds changes to the open transaction of a session, and ends it.
    fn close(
        &mut self,
        session: ProcessId,
        changes: &[Change],
        status: Status,
        line: u32,
        record: &Record,
        at: usize,
    ) -> Result<(), Fault> {
        for &(method, key, value) in changes {
            self.builder.transact(session, method, key, value, line, at)?;
        }
        let id = self.builder.end_transaction(session, status, at)?;
        self.put_time(record, id, 1);
        Ok(())
    }

    /// Adds the writes of transactions that are still open where the history ends.
    pub(super) fn close_transactions(&mut self) -> Result<(), Fault> {
        let mut open: Vec<_> = std::mem::take(&mut self.transacting.invoked).into_iter().collect();
        open.sort_unstable_by_key(|&(session, _)| session);
        for (session, (changes, line)) in open {
            for (method, key, value) in changes {
                self.builder.transact(session, method, key, value, line, 0)?;
            }
        }
        Ok(())
    }

    fn put_time(&mut self, record: &Record, id: Option<TransactionId>, end: usize) {
        let time = record.get(Field::Time).and_then(number);
        if let (Some(id), Some(time)) = (id, time) {
            self.builder.put_transaction_time(id, end, time);
        }
    }

    /// The small operations of a record, each with its three parts.
    fn operations<'a>(&self, record: &Record<'a>) -> Result<Vec<[Raw<'a>; 3]>, Fault> {
        let expected = "an array of operations such as `[\"w\", key, value]`";
        let Some(value) = record.get(Field::Value) else {
            return Err(Fault::new(0, "the operations of the transaction are missing").expected("the field `value`"));
        };
        let Some(operations) = self.notation.elements(value) else {
            return Err(Fault::new(value.at, "this is not a transaction").expected(expected));
        };
        let parts = |raw: Raw<'a>| {
            let parts = self.notation.elements(raw).unwrap_or_default();
            parts.try_into().map_err(|_| {
                let message = format!("{} is not an operation of a transaction", quote(raw.text));
                Fault::new(raw.at, message).expected("`[\"r\", key, value]`, with `w` or `append` for a write")
            })
        };
        operations.into_iter().map(parts).collect()
    }

    /// The writes and appends of a record.
    fn changes(&mut self, record: &Record) -> Result<Vec<Change>, Fault> {
        let mut changes = Vec::new();
        for [f, key, value] in self.operations(record)? {
            let method = self.small_method(f)?;
            if method != Method::Read {
                changes.push((method, self.key(key)?, self.scalar(value)?));
            }
        }
        Ok(changes)
    }

    fn key(&mut self, raw: Raw) -> Result<KeyId, Fault> {
        let name = self.scalar(raw)?;
        Ok(self.builder.key_of(name))
    }

    /// The method of a small operation. The first write or append decides what the reads mean.
    fn small_method(&mut self, f: Raw) -> Result<Method, Fault> {
        let (method, kind) = match self.notation.name(f).unwrap_or(f.text) {
            b"r" | b"read" => return Ok(Method::Read),
            b"w" | b"write" => (Method::Write, Kind::Registers),
            b"append" => (Method::Append, Kind::Lists),
            name => return Err(unknown_method(name, f.at)),
        };
        match self.transacting.kind {
            known if known == kind => {}
            Kind::Unknown => {
                self.transacting.kind = kind;
                if kind == Kind::Lists {
                    self.decide_lists(f.at)?;
                }
            }
            _ => {
                let message = "a history of transactions is one of registers or one of lists";
                let expected = if kind == Kind::Lists { "no `append` beside `w`" } else { "no `w` beside `append`" };
                return Err(Fault::new(f.at, message).expected(expected));
            }
        }
        Ok(method)
    }

    fn operation(&mut self, session: ProcessId, &[f, key, value]: &[Raw; 3], line: u32) -> Result<(), Fault> {
        let method = self.small_method(f)?;
        let key = self.key(key)?;
        let given = match (method, self.transacting.kind) {
            (Method::Read, Kind::Lists) => self.list(key, value)?,
            _ => self.scalar(value)?,
        };
        let id = self.builder.transact(session, method, key, given, line, f.at)?;
        if self.transacting.kind == Kind::Unknown {
            self.transacting.undecided.push(id);
        }
        Ok(())
    }

    /// The list that a read returned.
    fn list(&mut self, key: KeyId, raw: Raw) -> Result<Value, Fault> {
        let elements = match self.notation.elements(raw) {
            Some(elements) => elements,
            None if self.notation.is_null(raw) => Vec::new(),
            None => {
                let message = format!("{} is not a list, and this is a history of lists", quote(raw.text));
                return Err(Fault::new(raw.at, message).expected("an array, or null for the empty list"));
            }
        };
        let elements = elements.into_iter().map(|element| self.scalar(element)).collect::<Result<Vec<_>, _>>()?;
        self.builder.listed(key, &elements, raw.at)
    }

    /// Makes lists of all that was read so far. Its text is known, as a word.
    fn decide_lists(&mut self, at: usize) -> Result<(), Fault> {
        let undecided = std::mem::take(&mut self.transacting.undecided);
        self.builder.forget_kinds();
        if self.builder.is_stream {
            for mut event in self.builder.take_events() {
                let operation = &mut event.operation;
                if operation.key != KeyId::NONE {
                    operation.result = self.relisted(operation.key, operation.result, at)?;
                }
                self.builder.queue_event(event);
            }
            return Ok(());
        }
        for id in undecided {
            let operation = *self.builder.history.operation(id);
            let list = self.relisted(operation.key, operation.result, at)?;
            self.builder.reread_as_list(id, list);
        }
        Ok(())
    }

    fn relisted(&mut self, key: KeyId, read: Value, at: usize) -> Result<Value, Fault> {
        if read == Value::NULL {
            return Ok(Value::EMPTY_LIST);
        }
        let text = self.builder.history.show(read);
        self.list(key, Raw { text: text.as_bytes(), at })
    }
}

/// The error for an operation whose versions are not known.
fn unknown_method(name: &[u8], at: usize) -> Fault {
    let fault = match name {
        b"transfer" => Fault::new(at, "a transfer of the bank workload does not say which balances it read and wrote"),
        b"add" | b"inc" | b"increment" | b"dec" | b"remove" | b"delete" => {
            let message = format!("the versions that {} makes are not known: they cannot be told apart", quote(name));
            Fault::new(at, message)
        }
        _ => Fault::new(at, format!("{} is not an operation of a transaction", quote(name))),
    };
    fault.expected("a `txn` of reads `r`, writes `w` of distinct values, or `append`")
}
