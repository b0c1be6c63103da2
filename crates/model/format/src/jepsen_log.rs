//! The logs that Jepsen printed before it stored histories, `INFO  jepsen.util - 3<tab>:invoke<tab>:cas<tab>[1 2]`, and
//! the logs that it prints today, `INFO [jepsen worker 3] jepsen.util: 3<tab>:invoke<tab>:cas<tab>[1 2]`; also the file
//! `history.txt` of a store, whose lines have no such beginning.
//!
//! Logs are read, not written. Other lines of a log are skipped. In a copied log, blanks may stand for the tabs. Events
//! mean the same as in EDN, with one exception: in the old logs, a compare-and-swap that failed has observed a
//! mismatch.

use super::builder::Preset;
use super::edn::Edn;
use super::error::InputError;
use super::input::Input;
use super::record::{Assembler, Field, Raw, Record};
use super::room::Room;
use super::string::quoted_length;
use history::history::History;

/// Reads the history of a log.
pub(super) struct LogReader {
    input: Input,
    assembler: Assembler<Edn>,
    is_done: bool,
    room: Room,
}

impl LogReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, assembler: Assembler::new(Edn, preset, true), is_done: false, room: Room::new() }
    }

    /// The one history of a log.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        while !self.is_done {
            if let Err(fault) = self.room.check(&self.input, self.assembler.builder(), 0) {
                self.is_done = true;
                return Some(Err(self.input.refuse(fault)));
            }
            match self.input.next_line() {
                Ok(None) => break,
                Ok(Some((number, line))) => {
                    let Some((record, is_old)) = read_line(line) else {
                        continue;
                    };
                    self.assembler.observes_mismatches = is_old;
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

/// The event of a line, if the line has one, and whether it is in the old form.
fn read_line(line: &[u8]) -> Option<(Record<'_>, bool)> {
    let after = |marker: &[u8]| memchr::memmem::find(line, marker).map(|at| at + marker.len());
    let old = after(b"jepsen.util - ");
    let begins_row = line.first().is_some_and(|&byte| byte.is_ascii_digit() || byte == b':');
    let mut at = old.or_else(|| after(b"jepsen.util: ")).or(begins_row.then_some(0))?;
    let has_tabs = memchr::memchr(b'\t', &line[at..]).is_some();
    let mut record = Record::default();
    for field in [Field::Process, Field::Type, Field::F, Field::Value] {
        let rest = &line[at..];
        let start = rest.len() - rest.trim_ascii_start().len();
        let rest = &rest[start..];
        let length = if has_tabs { memchr::memchr(b'\t', rest).unwrap_or(rest.len()) } else { form_length(rest) };
        let text = rest[..length].trim_ascii_end();
        if text.is_empty() {
            return None;
        }
        record.set(field, Raw { text, at: at + start });
        at += start + length;
    }
    let is_event = matches!(record.get(Field::Type)?.text, b":invoke" | b":ok" | b":fail" | b":info");
    is_event.then_some((record, old.is_some()))
}

/// Whether a line is one of `history.txt`: `0<tab>:invoke<tab>:read<tab>nil`.
pub(super) fn is_row(line: &[u8]) -> bool {
    let is_event = || read_line(line).is_some_and(|(_, is_old)| !is_old);
    line.first().is_some_and(|&byte| byte.is_ascii_digit() || byte == b':') && is_event()
}

/// The length of the form at the beginning of a text. It ends at white space outside of brackets and strings.
fn form_length(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < text.len() {
        match text[at] {
            b'"' => at += quoted_length(&text[at..]).map_or(0, |(length, _)| length - 1),
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => depth = depth.saturating_sub(1),
            byte if depth == 0 && byte.is_ascii_whitespace() => break,
            _ => {}
        }
        at += 1;
    }
    at
}
