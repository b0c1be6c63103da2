//! What a reader of a format may do to a builder, and nobody else: a file says some things late, and a stream forgets.
//!
//! A reader learns the object, the default of initial values and the number of operations only as it reads. A stream
//! keeps only the last event, and takes the facts about it out of the tables. Such a builder never finishes.

use super::{HistoryBuilder, MOST_EVENTS};
use crate::history::{History, KeyId, Operation, OperationId, Outcome, ProcessId};
use crate::object::Object;
use crate::transactions::{Status, TransactionId};
use crate::value::{Value, Words};

/// What a stream says of its last event, beside the operation.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The value that a compare-and-swap expected.
    pub expected: Value,
    /// The label of the operation.
    pub label: Value,
    /// Whether the source of the read is the initial value.
    pub from_initial: bool,
    /// The label of the source of the read, if it was given by a label.
    pub from_label: Option<Value>,
    /// The place in program order.
    pub program_index: Option<u64>,
}

impl HistoryBuilder {
    /// What was built so far. Nothing of it is final before [`Self::finish`].
    #[inline]
    pub fn so_far(&self) -> &History {
        &self.history
    }

    /// The words, to add some.
    #[inline]
    pub fn words_mut(&mut self) -> &mut Words {
        &mut self.history.words
    }

    /// Whether all operations so far are instants.
    #[inline]
    pub fn is_instant(&self) -> bool {
        !self.has_calls
    }

    /// Adds an instant to a history of instants that is no stream. `None` if the history has calls, or is full.
    #[inline]
    pub fn push_instant(&mut self, operation: Operation) -> Option<()> {
        let operations = &mut self.history.operations;
        if self.has_calls || operations.len() >= MOST_EVENTS as usize {
            return None;
        }
        operations.push(operation);
        Some(())
    }

    /// Like [`Self::begin`], in a history that has calls. `None` if the call is refused, or the process has crashed.
    #[inline]
    pub fn called(&mut self, operation: Operation, expected: Value) -> Option<OperationId> {
        let last = self.last[operation.process.index()];
        let is_free = |id| !matches!(self.history.operation(id).outcome, Outcome::Pending | Outcome::Info);
        if !last.is_none_or(is_free) {
            return None;
        }
        let moment = self.next_moment()?;
        Some(self.store(operation, expected, moment))
    }

    /// Makes this the builder of a stream of events. It then keeps only the last operation of each process.
    pub fn serve_stream(&mut self) {
        self.is_stream = true;
    }

    /// Whether this builder serves a stream of events.
    #[inline]
    pub fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// Takes the facts about the last event of a stream out of the tables.
    pub fn take_facts(&mut self) -> Facts {
        let Self { history, unresolved, .. } = self;
        Facts {
            expected: history.expected.pop().map_or(Value::NONE, |(_, expected)| expected),
            label: history.labels.pop().map_or(Value::NONE, |(_, label)| label),
            from_initial: history.sources.pop().is_some(),
            from_label: unresolved.pop().map(|source| source.label),
            program_index: history.program_indices.pop().map(|(_, index)| index),
        }
    }

    /// Notes the value that a compare-and-swap expects.
    pub fn put_expected(&mut self, id: OperationId, expected: Value) {
        self.history.expected.push((id, expected));
    }

    /// Sets the object, as the reader has learned it; and the name of an open one.
    pub fn put_object(&mut self, object: Object, open_name: &str) {
        self.set_object(object);
        open_name.clone_into(&mut self.history.open.name);
    }

    /// Sets the initial value of all keys that have none of their own. Any value is one.
    pub fn put_initial(&mut self, value: Value) {
        self.history.initial = value;
    }

    /// Adds the final value of a key. It may be stated again.
    pub fn put_final(&mut self, key: KeyId, value: Value) {
        self.history.finals.push((key, value));
    }

    /// Sets the result of a read whose value the file does not name.
    pub fn put_result(&mut self, id: OperationId, result: Value) {
        self.history.operations[id.index()].result = result;
    }

    /// Sets the argument of an operation whose call did not name it.
    pub fn put_argument(&mut self, id: OperationId, argument: Value) {
        self.history.operations[id.index()].argument = argument;
    }

    /// Sets how a transaction ended.
    pub fn put_status(&mut self, id: TransactionId, status: Status) {
        self.history.transactions.all[id.index()].status = status;
    }

    /// Takes all operations out, to add them again as operations of transactions.
    pub fn take_operations(&mut self) -> Vec<Operation> {
        std::mem::take(&mut self.history.operations)
    }

    /// The process of that name, if it is known already.
    pub fn known_process(&self, name: Value) -> Option<ProcessId> {
        self.processes.get(&name.bits()).copied()
    }

    /// About how many bytes of memory the builder takes. Names are in several tables, which are about half empty.
    pub fn footprint(&self) -> usize {
        self.history.footprint()
            + 200 * (self.processes.len() + self.keys.len())
            + 80 * (self.labels.len() + self.stated.len() + self.unresolved.len())
    }

    /// How many more operations have room in the table of operations as it is.
    #[inline]
    pub fn room(&self) -> usize {
        self.history.operations.capacity() - self.history.operations.len()
    }

    /// Tries to make room for exactly so many more operations.
    pub fn try_reserve(&mut self, operations: usize) {
        let _refused = self.history.operations.try_reserve_exact(operations);
        if !self.history.moments.is_empty() {
            let _refused = self.history.moments.try_reserve_exact(operations);
        }
    }
}
