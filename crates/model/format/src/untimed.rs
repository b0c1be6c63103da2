//! What the readers of other tools' transactions share: files with one untimed history of registers, whose
//! transactions are known as a whole.
//!
//! Keys, values and sessions are numbers or words. [`Initial`] says what the initial values are.

use super::builder::{Builder, Preset, refusal};
use super::error::{Fault, InputError};
use super::input::Input;
use super::room::Room;
use history::history::{History, KeyId, Method, Object, OperationId, ProcessId};
use history::transactions::{Status, TransactionId};
use history::value::Value;

/// One untimed history that is being read.
pub(super) struct Untimed {
    builder: Builder,
    room: Room,
    /// By key: whether 0 is written there.
    writes_zero: Vec<bool>,
    /// The reads that say that they read the initial value.
    initial_reads: Vec<OperationId>,
}

/// A transaction and its session.
#[derive(Copy, Clone, Debug)]
pub(super) struct OwnTransaction {
    pub id: TransactionId,
    pub session: ProcessId,
}

impl Untimed {
    pub fn new(preset: &Preset) -> Self {
        let mut builder = Builder::new(&Preset { object: Some(Object::Transactions), ..preset.clone() });
        builder.set_untimed();
        builder.begin();
        Self { builder, room: Room::new(), writes_zero: Vec::new(), initial_reads: Vec::new() }
    }

    /// Refuses a history that does not fit into memory.
    pub fn check_memory(&mut self, input: &mut Input, besides: usize) -> Result<(), InputError> {
        self.room.check(input, &self.builder, besides).map_err(|fault| input.refuse(fault))
    }

    pub fn number(&mut self, number: u64) -> Value {
        match i64::try_from(number).ok().and_then(Value::integer) {
            Some(value) => value,
            None => self.builder.word(&number.to_string()),
        }
    }

    pub fn signed(&mut self, number: i64) -> Value {
        match Value::integer(number) {
            Some(value) => value,
            None => self.builder.word(&number.to_string()),
        }
    }

    pub fn word(&mut self, text: &str) -> Value {
        self.builder.value(text)
    }

    pub fn session(&mut self, name: Value) -> ProcessId {
        self.builder.process_of(name)
    }

    pub fn key(&mut self, name: Value) -> KeyId {
        self.builder.key_of(name)
    }

    /// Adds a transaction.
    pub fn transaction(&mut self, session: ProcessId, status: Status, line: u32) -> Result<OwnTransaction, Fault> {
        let id = self.builder.push_transaction(session, line, status).map_err(|error| refusal(&error, 0))?;
        Ok(OwnTransaction { id, session })
    }

    pub fn set_status(&mut self, place: OwnTransaction, status: Status) {
        self.builder.put_status(place.id, status);
    }

    pub fn set_times(&mut self, place: OwnTransaction, end: usize, time: i64) {
        self.builder.put_transaction_time(place.id, end, time);
    }

    pub fn read(&mut self, place: OwnTransaction, key: KeyId, value: Value, line: u32) -> Result<(), Fault> {
        self.push(place, Method::Read, key, value, line).map(|_| ())
    }

    /// Adds a read of the initial value.
    pub fn read_initial(&mut self, place: OwnTransaction, key: KeyId, line: u32) -> Result<(), Fault> {
        let id = self.push(place, Method::Read, key, Value::NULL, line)?;
        self.initial_reads.push(id);
        Ok(())
    }

    pub fn write(&mut self, place: OwnTransaction, key: KeyId, value: Value, line: u32) -> Result<(), Fault> {
        if value == Value::ZERO {
            if self.writes_zero.len() <= key.index() {
                self.writes_zero.resize(key.index() + 1, false);
            }
            self.writes_zero[key.index()] = true;
        }
        self.push(place, Method::Write, key, value, line).map(|_| ())
    }

    fn push(
        &mut self,
        place: OwnTransaction,
        method: Method,
        key: KeyId,
        value: Value,
        line: u32,
    ) -> Result<OperationId, Fault> {
        self.builder
            .transact_in(Some(place.id), place.session, method, key, value, line)
            .map_err(|error| refusal(&error, 0))
    }

    /// Whether there is no transaction so far.
    pub fn is_empty(&self) -> bool {
        self.builder.so_far().transaction_count() == 0
    }

    /// The history.
    pub fn finish(mut self, initial: Initial) -> Result<History, InputError> {
        self.builder.set_initial(if initial == Initial::Null { Value::NULL } else { Value::ZERO });
        if initial == Initial::ZeroUnlessWritten {
            for (key, _) in (0..).map(KeyId).zip(&self.writes_zero).filter(|&(_, &is_written)| is_written) {
                self.builder.state(key, Value::NULL, false, 0).map_err(|fault| fault.in_line(0, b""))?;
            }
        }
        for id in self.initial_reads {
            let key = self.builder.so_far().operations()[id.index()].key;
            let value = self.builder.initial_value(key);
            self.builder.put_result(id, value);
        }
        self.builder.finish()
    }
}

/// The initial value of the keys of a history.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Initial {
    Zero,
    /// 0, but null for a key to which 0 is written. No file can read null, so that the write is the only source.
    ZeroUnlessWritten,
    Null,
}
