//! dbcop's bincode of 2019 (`history.bincode`), the lowest byte first.
//!
//! Five numbers (id, nodes, variables, transactions, events), three strings (info, start, end), then the sessions:
//! their number, and for each the number of its transactions; for each of these the number of its events, the events,
//! and whether it was committed. An event is {is a write, variable, value, success}. The value 0 is initial. An event
//! without success in a committed transaction: a read is dropped, and a write is one of an aborted transaction.

use super::super::binary::Bytes;
use super::super::builder::Preset;
use super::super::error::InputError;
use super::super::input::Input;
use super::super::untimed::{Initial, OwnTransaction, Untimed};
use history::history::{History, ProcessId};
use history::transactions::Status;

/// Reads the one history of a file.
pub(in super::super) struct BincodeReader {
    bytes: Bytes,
    preset: Preset,
    is_done: bool,
}

/// Whether these bytes begin like such a file: the upper halves of small numbers are zero.
pub(in super::super) fn is_bincode(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        bytes.get(8 * at..8 * at + 8).map(|bytes| bytes.iter().rev().fold(0_u64, |n, &b| n << 8 | u64::from(b)))
    };
    let is_small = |at: usize, most: u64| number(at).is_some_and(|number| number < most);
    (1..5).all(|at| is_small(at, 1 << 40)) && is_small(5, 1 << 20)
}

impl BincodeReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { bytes: Bytes::new(input, String::new()), preset, is_done: false }
    }

    /// The one history.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        (!std::mem::replace(&mut self.is_done, true)).then(|| self.read())
    }

    fn read(&mut self) -> Result<History, InputError> {
        let mut untimed = Untimed::new(&self.preset);
        self.bytes.array::<40>("the numbers of nodes, variables, transactions and events")?;
        for what in ["the information", "the start", "the end"] {
            for _ in 0..self.bytes.little(what)? {
                self.bytes.array::<1>(what)?;
            }
        }
        let sessions = self.bytes.little("the number of sessions")?;
        for number in 0..sessions {
            let name = untimed.number(number);
            let transactions = self.bytes.little("the number of transactions")?;
            let session = untimed.session(name);
            for _ in 0..transactions {
                self.transaction(&mut untimed, session)?;
            }
        }
        let end = self.bytes.position();
        if self.bytes.next()?.is_some() {
            return Err(self.bytes.error("there is something after the history", end));
        }
        untimed.finish(Initial::Zero)
    }

    fn transaction(&mut self, untimed: &mut Untimed, session: ProcessId) -> Result<(), InputError> {
        untimed.check_memory(&mut self.bytes.input, 0)?;
        let add = |untimed: &mut Untimed, bytes: &Bytes, status| -> Result<OwnTransaction, InputError> {
            untimed.transaction(session, status, 0).map_err(|fault| bytes.fault(&fault))
        };
        let place = add(untimed, &self.bytes, Status::Committed)?;
        let mut failed = Vec::new();
        for _ in 0..self.bytes.little("the number of events")? {
            untimed.check_memory(&mut self.bytes.input, 0)?;
            let is_write = self.bytes.boolean("the kind of an event")?;
            let (variable, value) = (self.bytes.little("a variable")?, self.bytes.little("a value")?);
            let is_done = self.bytes.boolean("the success of an event")?;
            let (key, value) = (untimed.number(variable), untimed.number(value));
            let key = untimed.key(key);
            let added = match (is_write, is_done) {
                (true, true) => untimed.write(place, key, value, 0),
                (false, true) => untimed.read(place, key, value, 0),
                (true, false) => {
                    failed.push((key, value));
                    Ok(())
                }
                (false, false) => Ok(()),
            };
            added.map_err(|fault| self.bytes.fault(&fault))?;
        }
        if !self.bytes.boolean("the success of a transaction")? {
            untimed.set_status(place, Status::Aborted);
        }
        for (key, value) in failed {
            let place = add(untimed, &self.bytes, Status::Aborted)?;
            untimed.write(place, key, value, 0).map_err(|fault| self.bytes.fault(&fault))?;
        }
        Ok(())
    }
}
