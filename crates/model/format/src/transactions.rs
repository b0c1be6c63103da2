//! What the readers of all formats share about transactions, on top of a [`Builder`].

use super::builder::{Builder, refusal};
use super::error::Fault;
use super::stream::{StreamEvent, What};
use history::history::{KeyId, MemoryOrder, Method, Object, Operation, OperationId, Outcome, ProcessId};
use history::transactions::{Status, TransactionId};
use history::value::Value;

impl Builder {
    /// Whether a line of the text format belongs to a history of transactions: the history is one, or the first word of
    /// the line (`begin`) makes it one.
    #[inline]
    pub fn is_of_transactions(&mut self, word: &[u8], at: usize) -> Result<bool, Fault> {
        match self.object() {
            Some(Object::Transactions) => Ok(true),
            None if word == b"begin" => {
                self.become_transactions();
                Ok(true)
            }
            Some(Object::Memory) if word == b"begin" => self.convert_accesses(at).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Makes a history of transactions of a memory's reads and writes: each becomes a transaction by itself.
    fn convert_accesses(&mut self, at: usize) -> Result<(), Fault> {
        let is_plain = |operation: &Operation| {
            let values = [operation.argument, operation.result];
            let is_list = |word| self.so_far().words().text(word).starts_with('[');
            matches!(operation.method, Method::Read | Method::Write)
                && operation.order == MemoryOrder::Plain
                && operation.outcome == Outcome::Instant
                && !values.iter().any(|value| value.as_word().is_some_and(is_list))
        };
        let is_convertible = self.is_object_inferred()
            && !self.is_stream()
            && self.so_far().program_indices().is_empty()
            && self.so_far().times().is_empty()
            && self.so_far().operations().iter().all(is_plain);
        if !is_convertible {
            let fault = Fault::new(at, "a transaction begins, and the operations above are of a memory");
            return Err(fault.expected("`# @object transactions` before the first operation"));
        }
        self.become_transactions();
        for Operation { process, key, line, method, argument, result, .. } in self.take_operations() {
            let value = if method == Method::Read { result } else { argument };
            self.transact(process, method, key, value, line, at)?;
        }
        Ok(())
    }

    /// Begins a transaction. `None` in a stream, where transactions have no numbers.
    pub fn begin_transaction(
        &mut self,
        session: ProcessId,
        line: u32,
        at: usize,
    ) -> Result<Option<TransactionId>, Fault> {
        let id = self.begin_transaction_at(session, line).map_err(|error| refusal(&error, at))?;
        self.begin();
        if self.is_stream() {
            self.push_event(What::Begin, session, line, Outcome::Pending);
        }
        Ok((!self.is_stream()).then_some(id))
    }

    /// Ends the open transaction of a session. `None` in a stream.
    pub fn end_transaction(
        &mut self,
        session: ProcessId,
        status: Status,
        at: usize,
    ) -> Result<Option<TransactionId>, Fault> {
        let inner: &mut history::HistoryBuilder = self;
        let id = inner.end_transaction(session, status).map_err(|error| refusal(&error, at))?;
        if self.is_stream() {
            self.push_event(What::End, session, 0, status.outcome());
        }
        Ok((!self.is_stream()).then_some(id))
    }

    /// Adds an operation to the open transaction of a session. Without one, it is a transaction by itself.
    pub fn transact(
        &mut self,
        session: ProcessId,
        method: Method,
        key: KeyId,
        value: Value,
        line: u32,
        at: usize,
    ) -> Result<OperationId, Fault> {
        let is_whole = self.open_transaction(session).is_none();
        if self.is_stream() && is_whole {
            self.push_event(What::Begin, session, line, Outcome::Pending);
        }
        let inner: &mut history::HistoryBuilder = self;
        let id = inner.transact(session, method, key, value, line).map_err(|error| refusal(&error, at))?;
        self.begin();
        if self.is_stream() {
            self.set_event(id, What::Instant);
        }
        Ok(id)
    }

    /// In a stream: ends a transaction that is one operation by itself, after all is known of that operation.
    pub fn end_whole(&mut self, session: ProcessId) {
        if self.is_stream() {
            self.push_event(What::End, session, 0, Status::Committed.outcome());
        }
    }

    /// The list of these elements, which begins at `at`.
    pub fn listed(&mut self, key: KeyId, elements: &[Value], at: usize) -> Result<Value, Fault> {
        self.list(key, elements).map_err(|error| refusal(&error, at))
    }

    /// In a stream: adds the begin or the end of a transaction.
    fn push_event(&mut self, what: What, session: ProcessId, line: u32, outcome: Outcome) {
        let none = Value::NONE;
        let (key, method, order) = (KeyId::NONE, Method::Read, MemoryOrder::Plain);
        let operation = Operation { process: session, key, line, method, order, outcome, argument: none, result: none };
        self.queue_event(StreamEvent::new(what, operation));
    }
}
