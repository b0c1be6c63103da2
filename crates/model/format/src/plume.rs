//! Histories of Plume, PolySI, IsoVista and AWDIT (`plume`): one operation a line.
//!
//! ```text
//! w(1,5,0,3)          key, value, session, transaction
//! r(1,5,1,4)
//! w(2,7,1,-1)         an operation of an aborted transaction
//! ```
//!
//! Transactions have numbers that are unique in the file. Those of a session stand in the order of their first lines;
//! lines of several may alternate. The value 0 is initial, unless the file writes 0 to that key.

use history::value::quote;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::builder::Preset;
use super::error::{Fault, InputError};
use super::input::Input;
use super::numbered::Numbering;
use super::untimed::{Initial, OwnTransaction, Untimed};
use super::write::WriteError;
use history::history::{History, KeyId, Method, OperationId};
use history::transactions::Status;

/// Reads the one history of a file.
pub(super) struct PlumeReader {
    input: Input,
    preset: Preset,
    is_done: bool,
}

impl PlumeReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, preset, is_done: false }
    }

    /// The one history; `None` if the file is empty.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if std::mem::replace(&mut self.is_done, true) { None } else { self.read().transpose() }
    }

    fn read(&mut self) -> Result<Option<History>, InputError> {
        let mut untimed = Untimed::new(&self.preset);
        let mut transactions = FxHashMap::default();
        loop {
            untimed.check_memory(&mut self.input, 32 * transactions.len())?;
            let Some((number, line)) = self.input.next_line()? else { break };
            if !line.trim_ascii().is_empty() {
                push(&mut untimed, &mut transactions, line, number).map_err(|fault| fault.in_line(number, line))?;
            }
        }
        if untimed.is_empty() { Ok(None) } else { untimed.finish(Initial::ZeroUnlessWritten).map(Some) }
    }
}

/// Takes in one line.
fn push(
    untimed: &mut Untimed,
    transactions: &mut FxHashMap<u64, OwnTransaction>,
    line: &[u8],
    number: u32,
) -> Result<(), Fault> {
    let PlumeFields { is_write, key, value, session, transaction } = PlumeFields::of(line)?;
    let session = untimed.number(session);
    let session = untimed.session(session);
    let place = match transaction.map(|transaction| transactions.entry(transaction)) {
        None => untimed.transaction(session, Status::Aborted, number)?,
        Some(Entry::Vacant(entry)) => *entry.insert(untimed.transaction(session, Status::Committed, number)?),
        Some(Entry::Occupied(entry)) => *entry.get(),
    };
    if place.session != session {
        return Err(Fault::new(0, "this transaction is one of another session above")
            .expected("numbers of transactions that are unique in the file"));
    }
    let (key, value) = (untimed.number(key), untimed.number(value));
    let key = untimed.key(key);
    if is_write { untimed.write(place, key, value, number) } else { untimed.read(place, key, value, number) }
}

/// The fields of a line.
struct PlumeFields {
    is_write: bool,
    key: u64,
    value: u64,
    session: u64,
    /// `None` for an aborted transaction.
    transaction: Option<u64>,
}

impl PlumeFields {
    fn of(line: &[u8]) -> Result<Self, Fault> {
        let start = line.len() - line.trim_ascii_start().len();
        let form = "`r(key,value,session,transaction)` or `w(…)`, with integers from 0";
        let fault = |at: usize| {
            let rest = line.get(at..).unwrap_or_default().trim_ascii_end();
            let message = if rest.is_empty() {
                "the line ends too early".to_owned()
            } else {
                format!("{} is not understood here", quote(rest))
            };
            Fault::new(at, message).expected(form)
        };
        let is_write = match line.get(start) {
            Some(b'w') => true,
            Some(b'r') => false,
            _ => return Err(fault(start)),
        };
        let mut at = start + 1;
        let take = |byte: u8, at: &mut usize| {
            let is_next = line.get(*at) == Some(&byte);
            *at += usize::from(is_next);
            is_next
        };
        let mut fields = [0; 4];
        let mut is_aborted = false;
        for (count, field) in fields.iter_mut().enumerate() {
            if !take(if count == 0 { b'(' } else { b',' }, &mut at) {
                return Err(fault(at));
            }
            is_aborted = count == 3 && take(b'-', &mut at);
            let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let text = std::str::from_utf8(&line[at..at + digits]).unwrap_or_default();
            *field = text.parse().map_err(|_| fault(at))?;
            at += digits;
        }
        if is_aborted && fields[3] != 1 {
            return Err(fault(at).expected("-1, or the number of a transaction"));
        }
        if !take(b')', &mut at) || !line[at..].trim_ascii().is_empty() {
            return Err(fault(at));
        }
        let [key, value, session, transaction] = fields;
        Ok(Self { is_write, key, value, session, transaction: (!is_aborted).then_some(transaction) })
    }
}

/// Whether a line has the form of an operation.
pub(super) fn is_operation(line: &[u8]) -> bool {
    PlumeFields::of(line).is_ok()
}

/// Appends a history. What is not written is noted in `dropped`.
pub(super) fn write_history(
    out: &mut Vec<u8>,
    history: &History,
    dropped: &mut Vec<&'static str>,
) -> Result<(), WriteError> {
    let numbering = Numbering::new(history, dropped)?;
    let mut next = 0_i64;
    for (id, transaction) in numbering.transactions().filter(|&(id, _)| !history.operation_range(id).is_empty()) {
        let number = if transaction.status == Status::Aborted { -1 } else { next };
        next += i64::from(number >= 0);
        for operation in history.operation_range(id).map(OperationId) {
            let method = history.operation(operation).method;
            let key: KeyId = history.operation(operation).key;
            let name = if method == Method::Read { 'r' } else { 'w' };
            let (key, value) = (numbering.key(key), numbering.value(operation).unwrap_or(0));
            let session = numbering.session(transaction.session);
            out.extend_from_slice(format!("{name}({key},{value},{session},{number})\n").as_bytes());
        }
    }
    if out.is_empty() {
        let what = "a history without operations".to_owned();
        return Err(WriteError::Inexpressible { operation: None, what });
    }
    Ok(())
}
