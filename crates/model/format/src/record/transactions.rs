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
//! - A history with any `add` is one of sets, and its reads return all elements. Each element of a set becomes a
//!   register: it holds true once the element was added. A read of the set reads them all ([`super::sets`]). If the
//!   history is said to be one of transactions, `add` and `read` of the set-full workload are transactions on one set.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::super::error::Fault;
use super::read::{Assembler, number};
use super::sets::Sets;
use super::{Field, Notation, Raw, Record};
use history::history::{KeyId, Method, Object, OperationId, ProcessId};
use history::transactions::{Status, TransactionId};
use history::value::{Value, quote};

/// What is known of a history of transactions while its records are read.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Transacting {
    kind: Kind,
    /// The writes and appends of each open transaction, and its line.
    invoked: FxHashMap<ProcessId, (Vec<Change>, u32)>,
    /// The reads before the first write or append.
    undecided: Vec<OperationId>,
    /// What was done to sets.
    pub(super) sets: Sets,
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
    Sets,
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
        let is_name = |name: &[u8]| matches!(name, b"r" | b"w" | b"append" | b"add");
        match parts[..] {
            [f, _, _] => self.notation.name(f).is_some_and(is_name),
            // A read that has not returned.
            [f, _] => self.notation.name(f) == Some(b"r"),
            _ => false,
        }
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
            if !matches!(name, b"txn" | b"read" | b"write" | b"add") {
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
        if self.transacting.kind == Kind::Unknown && self.is_whole_set(record) {
            self.transacting.kind = Kind::Sets;
            self.decide_sets(at)?;
        }
        let operations = self.operations(record)?;
        if let Some([f, ..]) = operations.iter().find(|[.., value]| value.text.is_empty()) {
            return Err(Fault::new(f.at, "this read has returned no value").expected("`[r key value]`"));
        }
        let is_point = self.builder.open_transaction(session).is_none();
        let is_add = |operation: &[Raw; 3]| self.notation.name(operation[0]).unwrap_or(operation[0].text) == b"add";
        let is_set = self.transacting.kind == Kind::Sets || operations.iter().any(is_add);
        let is_whole = is_point && operations.len() == 1 && !is_set;
        if is_point && !is_whole {
            self.builder.begin_transaction(session, line, at)?;
        }
        for operation in &operations {
            self.operation(session, operation, line)?;
        }
        if is_whole {
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
            self.change(session, method, key, value, line, at)?;
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
                self.change(session, method, key, value, line, 0)?;
            }
        }
        self.spread_sets()
    }

    /// Adds a write, an append, or an addition to a set.
    fn change(
        &mut self,
        session: ProcessId,
        method: Method,
        key: KeyId,
        value: Value,
        line: u32,
        at: usize,
    ) -> Result<(), Fault> {
        if method == Method::Add {
            return self.defer(session, key, value, None, line);
        }
        self.builder.transact(session, method, key, value, line, at).map(|_| ())
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
        if let Some(operations) = self.set_operation(record, value) {
            return Ok(operations);
        }
        if value.text.starts_with(b"{") {
            return Err(bank(value.at));
        }
        let Some(operations) = self.notation.elements(value) else {
            return Err(Fault::new(value.at, "this is not a transaction").expected(expected));
        };
        let parts = |raw: Raw<'a>| {
            let mut parts = self.notation.elements(raw).unwrap_or_default();
            // A read that has not returned has no value, not even null.
            if parts.len() == 2 && self.is_operation(raw) {
                parts.push(Raw { text: b"", at: raw.at });
            }
            parts.try_into().map_err(|_| {
                let message = format!("{} is not an operation of a transaction", quote(raw.text));
                Fault::new(raw.at, message).expected("`[\"r\", key, value]`, with `w` or `append` for a write")
            })
        };
        operations.into_iter().map(parts).collect()
    }

    /// The one operation of the set-full workload, which has one set: `f` is `add` or `read`, and the value is not an
    /// array of small operations. A read that has not returned is no operation.
    fn set_operation<'a>(&self, record: &Record<'a>, value: Raw<'a>) -> Option<Vec<[Raw<'a>; 3]>> {
        let f = record.get(Field::F)?;
        let name = self.notation.name(f).unwrap_or(f.text);
        let is_collection = |raw: Raw<'a>| self.notation.elements(raw).is_some();
        // With independent keys, a value is `[key value]`.
        let (key, value) = match self.notation.pair(value) {
            Some([key, value])
                if !is_collection(key) && (name == b"add" || self.notation.is_null(value) || is_collection(value)) =>
            {
                (key, value)
            }
            _ => (Raw { text: b"\"set\"", at: value.at }, value),
        };
        let whole = vec![[f, key, value]];
        match name {
            b"add" => Some(whole),
            b"read" if self.notation.is_null(value) => Some(Vec::new()),
            b"read" => {
                let elements = self.notation.elements(value)?;
                let is_set = elements.is_empty() || !elements.iter().all(|&one| self.is_operation(one));
                is_set.then_some(whole)
            }
            _ => None,
        }
    }

    /// Whether a record reads a whole set, as the set-full workload does.
    fn is_whole_set(&self, record: &Record) -> bool {
        let value = record.get(Field::Value);
        value.and_then(|value| self.set_operation(record, value)).is_some_and(|operations| !operations.is_empty())
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

    /// The method of a small operation. The first write or append decides what the reads mean.
    fn small_method(&mut self, f: Raw) -> Result<Method, Fault> {
        let (method, kind) = match self.notation.name(f).unwrap_or(f.text) {
            b"r" | b"read" => return Ok(Method::Read),
            b"w" | b"write" => (Method::Write, Kind::Registers),
            b"append" => (Method::Append, Kind::Lists),
            b"add" => (Method::Add, Kind::Sets),
            name => return Err(unknown_method(name, f.at)),
        };
        match self.transacting.kind {
            known if known == kind => {}
            Kind::Unknown => {
                self.transacting.kind = kind;
                match kind {
                    Kind::Lists => self.decide_lists(f.at)?,
                    Kind::Sets => self.decide_sets(f.at)?,
                    _ => {}
                }
            }
            _ => {
                let message = "a history of transactions is one of registers, one of lists, or one of sets";
                return Err(Fault::new(f.at, message).expected("only one of `w`, `append` and `add`"));
            }
        }
        Ok(method)
    }

    fn operation(&mut self, session: ProcessId, &[f, key, value]: &[Raw; 3], line: u32) -> Result<(), Fault> {
        let method = self.small_method(f)?;
        let key = self.key(key)?;
        let given = match (method, self.transacting.kind) {
            (Method::Read, Kind::Sets) => {
                let elements = self.set(value)?;
                return self.defer(session, key, Value::NONE, Some(elements), line);
            }
            (Method::Add, _) => {
                let element = self.scalar(value)?;
                return self.defer(session, key, element, None, line);
            }
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
        if self.builder.is_stream() {
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
            let operation = *self.builder.so_far().operation(id);
            let list = self.relisted(operation.key, operation.result, at)?;
            self.builder.reread_as_list(id, list);
        }
        Ok(())
    }

    /// Makes sets of all that was read so far. Its text is known, as a word.
    fn decide_sets(&mut self, at: usize) -> Result<(), Fault> {
        if self.builder.is_stream() {
            let message = "sets are not followed as a stream: a read also says which elements were not added yet";
            return Err(Fault::new(at, message).expected("a file"));
        }
        self.transacting.undecided.clear();
        for (transaction, read) in self.builder.withdraw_reads() {
            let text = self.builder.so_far().show(read.result);
            let elements =
                if read.result == Value::NULL { Box::default() } else { self.set(Raw { text: text.as_bytes(), at })? };
            self.transacting.sets.push(transaction, read.process, read.key, Value::NONE, Some(elements), read.line);
        }
        Ok(())
    }

    /// The elements of a set that a read returned.
    fn set(&mut self, raw: Raw) -> Result<Box<[Value]>, Fault> {
        if self.notation.is_null(raw) {
            return Ok(Box::default());
        }
        let Some(elements) = self.notation.elements(raw) else {
            let message = format!("{} is not a set; the versions of a counter are not known", quote(raw.text));
            return Err(Fault::new(raw.at, message).expected("an array of all elements"));
        };
        elements.into_iter().map(|element| self.scalar(element)).collect()
    }

    /// Keeps an operation on a set for the end: what it says of each element is known only then.
    fn defer(
        &mut self,
        session: ProcessId,
        key: KeyId,
        element: Value,
        read: Option<Box<[Value]>>,
        line: u32,
    ) -> Result<(), Fault> {
        let Some(transaction) = self.builder.open_transaction(session) else {
            return Err(Fault::new(0, "an operation on a set is outside of a transaction"));
        };
        self.transacting.sets.push(transaction, session, key, element, read, line);
        Ok(())
    }

    fn relisted(&mut self, key: KeyId, read: Value, at: usize) -> Result<Value, Fault> {
        if read == Value::NULL {
            return Ok(Value::EMPTY_LIST);
        }
        let text = self.builder.so_far().show(read);
        self.list(key, Raw { text: text.as_bytes(), at })
    }
}

/// The error for an operation of Jepsen's bank: its reads are balances by account, and no record says who wrote them.
pub(super) fn bank(at: usize) -> Fault {
    let message = "the bank workload does not say which balances a transfer read and wrote, so nobody knows where the \
                   balances of a read come from";
    let expected = "each transfer and each read as a `txn` of all that it read and wrote, such as `[[r 1 50] [r 2 50] \
                    [w 1 45] [w 2 55]]` (`seriatim probe --workload bank` records it so); or --object register, if \
                    the maps are values that somebody wrote";
    Fault::new(at, message).expected(expected)
}

/// The error for an operation whose versions are not known.
fn unknown_method(name: &[u8], at: usize) -> Fault {
    let fault = match name {
        b"transfer" => return bank(at),
        b"inc" | b"increment" | b"dec" | b"decrement" | b"remove" | b"delete" => {
            let message = format!("the versions that {} makes are not known: they cannot be told apart", quote(name));
            Fault::new(at, message)
        }
        _ => Fault::new(at, format!("{} is not an operation of a transaction", quote(name))),
    };
    fault.expected("a `txn` of reads `r`, writes `w` of distinct values, `append` to lists, or `add` to sets")
}
