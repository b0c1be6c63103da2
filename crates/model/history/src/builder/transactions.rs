//! Builds a history of transactions, and keeps the invariants of [`crate::transactions`].
//!
//! ```
//! use history::{HistoryBuilder, Object, Status, Value};
//!
//! let mut builder = HistoryBuilder::new(Object::Transactions);
//! let (a, b) = (builder.process("a"), builder.process("b"));
//! let (x, l) = (builder.key("x"), builder.key("l"));
//! builder.begin_transaction(a)?;
//! builder.write(a, x, Value::small(1))?;
//! builder.append(a, l, Value::small(7))?;
//! builder.end_transaction(a, Status::Committed)?;
//! // Outside of a transaction, an operation is a transaction by itself.
//! builder.read_list(b, l, &[Value::small(7)])?;
//! let history = builder.finish()?;
//! assert_eq!(history.transaction_count(), 2);
//! assert_eq!(history.list(history.operations()[2].result), [Value::small(7)]);
//! # Ok::<(), history::BuildError>(())
//! ```

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{BuildError, HistoryBuilder, MOST_EVENTS, Which};
use crate::history::{History, KeyId, MemoryOrder, Method, Object, Operation, OperationId, ProcessId, Source};
use crate::transactions::{Status, Transaction, TransactionId};
use crate::value::Value;

/// What a builder knows of the sessions, and of the keys, of a history of transactions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sessions {
    /// The open transaction of each session, and the line where it begins.
    open: Vec<Option<(TransactionId, u32)>>,
    /// The transaction of each operation, while operations still stand in the order of their lines.
    of: Vec<TransactionId>,
    /// By key: whether it is a list, and the first operation on it.
    kinds: Vec<Option<(bool, Which)>>,
    /// By key: the first chain of lists that were read there, and the last.
    chains: FxHashMap<KeyId, [usize; 2]>,
}

impl Sessions {
    /// The sessions of a finished history. No transaction is open.
    pub fn of(history: &History) -> Self {
        let mut sessions = Self::default();
        for (id, _) in history.transactions() {
            sessions.of.extend(history.operation_range(id).map(|_| id));
        }
        for (id, operation) in (0..).map(OperationId).zip(&history.operations) {
            if history.is_of_transactions() {
                sessions.set_kind(operation.key, is_list(operation), Which { id, line: operation.line });
            }
            if let Some((chain, 1..)) = operation.result.as_list() {
                let chains = sessions.chains.entry(operation.key).or_insert([chain as usize; 2]);
                chains[1] = chains[1].max(chain as usize);
            }
        }
        sessions
    }

    fn set_kind(&mut self, key: KeyId, is_list: bool, which: Which) {
        if self.kinds.len() <= key.index() {
            self.kinds.resize(key.index() + 1, None);
        }
        self.kinds[key.index()].get_or_insert((is_list, which));
    }
}

/// Whether an operation uses its key as a list.
fn is_list(operation: &Operation) -> bool {
    operation.method == Method::Append || operation.result.as_list().is_some()
}

impl HistoryBuilder {
    /// States that the order of events across sessions is not their order in time (`# @realtime none`).
    pub fn set_untimed(&mut self) {
        self.history.transactions.is_untimed = true;
    }

    /// Begins a transaction of a session.
    pub fn begin_transaction(&mut self, session: ProcessId) -> Result<TransactionId, BuildError> {
        self.begin_transaction_at(session, 0)
    }

    /// Begins a transaction on a line of a file.
    pub fn begin_transaction_at(&mut self, session: ProcessId, line: u32) -> Result<TransactionId, BuildError> {
        self.check_session(session)?;
        if let Some((_, line)) = self.sessions.open.get(session.index()).copied().flatten() {
            return Err(BuildError::BeginsAgain { session: self.history.process_name(session), line });
        }
        let id = self.push_transaction(session, line, Status::Indeterminate)?;
        if self.sessions.open.len() <= session.index() {
            self.sessions.open.resize(session.index() + 1, None);
        }
        self.sessions.open[session.index()] = Some((id, line));
        Ok(id)
    }

    /// Ends the open transaction of a session.
    pub fn end_transaction(&mut self, session: ProcessId, status: Status) -> Result<TransactionId, BuildError> {
        self.check_session(session)?;
        let Some(id) = self.open_transaction(session) else {
            return Err(BuildError::NoTransaction { session: self.history.process_name(session) });
        };
        if !self.is_stream {
            if status != Status::Indeterminate {
                let moment = self.next_event()?;
                self.history.transactions.moments[id.index()][1] = moment;
            }
            self.history.transactions.all[id.index()].status = status;
        }
        self.sessions.open[session.index()] = None;
        Ok(id)
    }

    /// Adds a read of a register to the open transaction of a session. If the session has none open, the read is a
    /// transaction by itself, and committed.
    pub fn read(&mut self, session: ProcessId, key: KeyId, value: Value) -> Result<OperationId, BuildError> {
        self.transact(session, Method::Read, key, value, 0)
    }

    /// Like [`Self::read`], for a list.
    pub fn read_list(&mut self, session: ProcessId, key: KeyId, elements: &[Value]) -> Result<OperationId, BuildError> {
        let list = self.list(key, elements)?;
        self.transact(session, Method::Read, key, list, 0)
    }

    /// Adds a write of a register, as [`Self::read`] does.
    pub fn write(&mut self, session: ProcessId, key: KeyId, value: Value) -> Result<OperationId, BuildError> {
        self.transact(session, Method::Write, key, value, 0)
    }

    /// Adds an append to a list, as [`Self::read`] does.
    pub fn append(&mut self, session: ProcessId, key: KeyId, value: Value) -> Result<OperationId, BuildError> {
        self.transact(session, Method::Append, key, value, 0)
    }

    /// The list of these elements, as a value that a read of this key can have.
    pub fn list(&mut self, key: KeyId, elements: &[Value]) -> Result<Value, BuildError> {
        elements.iter().try_for_each(|&element| self.check_value(element))?;
        if elements.iter().any(|element| element.is_none() || element.as_list().is_some()) {
            return Err(BuildError::NoValue);
        }
        if elements.is_empty() {
            return Ok(Value::EMPTY_LIST);
        }
        let words = &mut self.history.words;
        let known = self.sessions.chains.get(&key).copied();
        if let Some(list) = known.into_iter().flatten().find_map(|chain| words.list_in(chain, elements)) {
            return Ok(list);
        }
        let chain = words.new_chain();
        self.sessions.chains.entry(key).or_insert([chain; 2])[1] = chain;
        words.list_in(chain, elements).ok_or(BuildError::TooManyEvents)
    }

    /// Adds an operation, as [`Self::read`] does, on a line of a file.
    pub fn transact(
        &mut self,
        session: ProcessId,
        method: Method,
        key: KeyId,
        value: Value,
        line: u32,
    ) -> Result<OperationId, BuildError> {
        self.transact_in(self.open_transaction(session), session, method, key, value, line)
    }

    /// Adds an operation to a transaction of this session. `None` is a transaction by itself.
    pub fn transact_in(
        &mut self,
        transaction: Option<TransactionId>,
        session: ProcessId,
        method: Method,
        key: KeyId,
        value: Value,
        line: u32,
    ) -> Result<OperationId, BuildError> {
        self.check_session(session)?;
        if key.index() >= self.history.keys.len() {
            return Err(BuildError::UnknownKey(key));
        }
        self.check_value(value)?;
        let (argument, result) = if method == Method::Read { (Value::NONE, value) } else { (value, Value::NONE) };
        if value.is_none() || argument.as_list().is_some() {
            return Err(BuildError::NoValue);
        }
        let id = OperationId(self.history.operations.len() as u32);
        if id.0 >= MOST_EVENTS {
            return Err(BuildError::TooManyEvents);
        }
        let outcome = Status::Committed.outcome();
        let order = MemoryOrder::Plain;
        let operation = Operation { process: session, key, line, method, order, outcome, argument, result };
        let is_list = is_list(&operation);
        match self.sessions.kinds.get(key.index()).copied().flatten() {
            Some((known, _)) if known == is_list => {}
            Some((_, other)) => {
                let key = self.history.key_name(key);
                return Err(BuildError::RegisterAndList { key, is_list, other });
            }
            None => self.sessions.set_kind(key, is_list, Which { id, line }),
        }
        if self.is_stream {
            return Ok(self.place(operation));
        }
        let transaction = match transaction {
            Some(transaction) => transaction,
            None => self.push_transaction(session, line, Status::Committed)?,
        };
        self.history.operations.push(operation);
        self.sessions.of.push(transaction);
        Ok(id)
    }

    /// Forgets which keys are lists. All operations so far are reads, and will be read again.
    pub fn forget_kinds(&mut self) {
        self.sessions.kinds.clear();
    }

    /// Takes back all operations, each with its transaction. All of them are reads, and will be read again.
    pub fn withdraw_reads(&mut self) -> Vec<(TransactionId, Operation)> {
        self.forget_kinds();
        let of = std::mem::take(&mut self.sessions.of);
        of.into_iter().zip(std::mem::take(&mut self.history.operations)).collect()
    }

    /// Replaces the result of a read by a list.
    pub fn reread_as_list(&mut self, id: OperationId, list: Value) {
        let operation = &mut self.history.operations[id.index()];
        operation.result = list;
        let (key, line) = (operation.key, operation.line);
        self.sessions.set_kind(key, true, Which { id, line });
    }

    /// Sets the recorded time of the begin of a transaction.
    pub fn set_begin_time(&mut self, id: TransactionId, time: i64) {
        self.put_transaction_time(id, 0, time);
    }

    /// Sets the recorded time of the end of a transaction.
    pub fn set_end_time(&mut self, id: TransactionId, time: i64) {
        self.put_transaction_time(id, 1, time);
    }

    /// Sets the recorded time of the begin (0) or the end (1) of a transaction.
    pub fn put_transaction_time(&mut self, id: TransactionId, end: usize, time: i64) {
        let times = &mut self.history.transactions.times;
        if times.len() <= id.index() {
            times.resize(id.index() + 1, [None; 2]);
        }
        times[id.index()][end] = Some(time);
    }

    /// The open transaction of a session.
    #[inline]
    pub fn open_transaction(&self, session: ProcessId) -> Option<TransactionId> {
        self.sessions.open.get(session.index()).copied().flatten().map(|(id, _)| id)
    }

    /// The transaction of the last operation.
    pub fn last_transaction(&self) -> Option<TransactionId> {
        self.sessions.of.last().copied()
    }

    fn check_session(&self, session: ProcessId) -> Result<(), BuildError> {
        if self.history.object != Object::Transactions {
            return Err(BuildError::NotTransactions);
        }
        if session.index() < self.last.len() { Ok(()) } else { Err(BuildError::UnknownProcess(session)) }
    }

    /// Adds a transaction that is known as a whole, before its operations. It is not open.
    pub fn push_transaction(
        &mut self,
        session: ProcessId,
        line: u32,
        status: Status,
    ) -> Result<TransactionId, BuildError> {
        if self.is_stream {
            return Ok(TransactionId(0));
        }
        let moment = self.next_event()?;
        let id = TransactionId(self.history.transactions.all.len() as u32);
        let end = if status == Status::Indeterminate { History::NEVER } else { moment };
        self.history.transactions.all.push(Transaction { session, number: id.0, line, status, first: 0 });
        self.history.transactions.moments.push([moment, end]);
        Ok(id)
    }

    /// The moment of the next begin or end.
    fn next_event(&mut self) -> Result<u32, BuildError> {
        if self.events >= MOST_EVENTS {
            return Err(BuildError::TooManyEvents);
        }
        self.events += 1;
        Ok(self.events - 1)
    }

    /// Puts the operations in the order of their transactions, when no more will come.
    pub(super) fn group_by_transaction(&mut self) {
        if self.history.object != Object::Transactions {
            return;
        }
        let Sessions { of, .. } = std::mem::take(&mut self.sessions);
        let history = &mut self.history;
        if history.transactions.is_untimed {
            history.transactions.moments = Vec::new();
        }
        if !history.transactions.times.is_empty() {
            history.transactions.times.resize(history.transactions.all.len(), [None; 2]);
        }
        let mut counts = vec![0_u32; history.transactions.all.len()];
        for transaction in &of {
            counts[transaction.index()] += 1;
        }
        let mut first = 0;
        for (transaction, count) in history.transactions.all.iter_mut().zip(&mut counts) {
            transaction.first = first;
            first += std::mem::replace(count, first);
        }
        for (operation, transaction) in history.operations.iter_mut().zip(&of) {
            operation.outcome = history.transactions.all[transaction.index()].status.outcome();
        }
        if of.is_sorted() {
            return;
        }
        let mut next = counts;
        let places: Vec<OperationId> = of
            .iter()
            .map(|transaction| {
                let place = &mut next[transaction.index()];
                *place += 1;
                OperationId(*place - 1)
            })
            .collect();
        let mut grouped = history.operations.clone();
        for (operation, place) in history.operations.iter().zip(&places) {
            grouped[place.index()] = *operation;
        }
        history.operations = grouped;
        for (id, _) in &mut history.labels {
            *id = places[id.index()];
        }
        for (id, source) in &mut history.sources {
            *id = places[id.index()];
            if let Source::Operation(write) = source {
                *write = places[write.index()];
            }
        }
    }
}

impl History {
    /// The history of some transactions and some of their operations, in the same order. `keeps` says which
    /// transactions stay, and `keeps_operation` which operations of these. Names, initial values and lines stay. If a
    /// read stays that [names its source](History::source), its source must stay.
    ///
    /// ```
    /// use history::{History, Method};
    ///
    /// let history = format::parse("[a] begin\n[a] w x 1\n[a] r y 0\n[a] commit\n[b] r x 1\n")?;
    /// let writes = history.restricted(|_| true, |id| history.operation(id).method == Method::Write)?;
    /// assert_eq!((writes.transaction_count(), writes.operations().len()), (2, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restricted(
        &self,
        keeps: impl Fn(TransactionId) -> bool,
        keeps_operation: impl Fn(OperationId) -> bool,
    ) -> Result<Self, BuildError> {
        let mut kept = super::Replay::new(self).into_head();
        kept.transactions.is_untimed = self.transactions.is_untimed;
        let mut places = vec![None; self.operations.len()];
        let mut used = vec![false; 2 * self.transactions.moments.len()];
        for (id, transaction) in self.transactions().filter(|&(id, _)| keeps(id)) {
            kept.transactions.all.push(Transaction { first: kept.operations.len() as u32, ..*transaction });
            kept.transactions.moments.extend(self.transactions.moments.get(id.index()));
            kept.transactions.times.extend(self.transactions.times.get(id.index()));
            for operation in self.operation_range(id).map(OperationId).filter(|&operation| keeps_operation(operation)) {
                places[operation.index()] = Some(OperationId(kept.operations.len() as u32));
                kept.operations.push(*self.operation(operation));
            }
        }
        let known = |moment: &&mut u32| **moment != Self::NEVER;
        for moment in kept.transactions.moments.iter_mut().flatten().filter(known) {
            used[*moment as usize] = true;
        }
        let mut used_so_far = 0;
        let rank = |&is_used: &bool| {
            used_so_far += u32::from(is_used);
            used_so_far - u32::from(is_used)
        };
        let ranks: Vec<u32> = used.iter().map(rank).collect();
        for moment in kept.transactions.moments.iter_mut().flatten().filter(known) {
            *moment = ranks[*moment as usize];
        }
        kept.labels.extend(self.labels.iter().filter_map(|&(id, label)| Some((places[id.index()]?, label))));
        for &(id, source) in &self.sources {
            let Some(new) = places[id.index()] else { continue };
            let source = match source {
                Source::Init => Source::Init,
                Source::Operation(write) => Source::Operation(
                    places[write.index()]
                        .ok_or_else(|| BuildError::SourceNotReplayed(Which { id, line: self.operation(id).line }))?,
                ),
            };
            kept.sources.push((new, source));
        }
        Ok(kept)
    }
}
