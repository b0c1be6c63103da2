//! The logs that Jepsen printed before it stored histories: `INFO  jepsen.util - 3<tab>:invoke<tab>:cas<tab>[1 2]`.
//!
//! Read only. Lines that are not of this form are other things that the tester logged. As in EDN, but for one thing: a
//! compare-and-swap that failed is one that observed a mismatch.

use super::edn::Edn;
use super::error::InputError;
use super::input::Input;
use super::record::{Assembler, Field, Raw, Record};
use crate::history::{History, Object};

/// Reads the history of a log.
pub(super) struct LogReader {
    input: Input,
    assembler: Assembler<Edn>,
    is_done: bool,
}

impl LogReader {
    pub fn new(input: Input, object: Option<Object>) -> Self {
        Self { input, assembler: Assembler::new(Edn, object, true), is_done: false }
    }

    /// The one history of a log.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        while !self.is_done {
            match self.input.next_line() {
                Ok(None) => break,
                Ok(Some((number, line))) => {
                    let Some(record) = read_line(line) else {
                        continue;
                    };
                    if let Err(fault) = self.assembler.push(&record, number) {
                        self.is_done = true;
                        return Some(Err(fault.in_line(number, line)));
                    }
                }
                Err(error) => {
                    self.is_done = true;
                    return Some(Err(error));
                }
            }
        }
        if std::mem::replace(&mut self.is_done, true) { None } else { self.assembler.end() }
    }
}

/// The event of a line, if it has one.
fn read_line(line: &[u8]) -> Option<Record<'_>> {
    let dash = memchr::memmem::find(line, b"jepsen.util - ")? + b"jepsen.util - ".len();
    let mut at = dash;
    let mut columns = line[dash..].split(|&byte| byte == b'\t').map(|text| {
        let raw = Raw { text: text.trim_ascii(), at };
        at += text.len() + 1;
        raw
    });
    let mut record = Record::default();
    for field in [Field::Process, Field::Type, Field::F, Field::Value] {
        record.set(field, columns.next()?);
    }
    let is_event = matches!(record.get(Field::Type)?.text, b":invoke" | b":ok" | b":fail" | b":info");
    is_event.then_some(record)
}
