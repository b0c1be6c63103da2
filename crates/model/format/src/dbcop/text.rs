//! dbcop's text: `[x:=1 y==2 z==?]` is a transaction, `!` after it says that it was not committed.
//!
//! `x:=1` writes, `y==2` reads, `z==?` reads the initial value. A line of `-` ends a session, `//` begins a comment.
//! Transactions stand on one line or on several.

use super::super::awdit::is_rule;
use super::super::builder::Preset;
use super::super::error::{Fault, InputError};
use super::super::input::Input;
use super::super::untimed::{Initial, OwnTransaction, Untimed};
use history::history::History;
use history::transactions::Status;
use history::value::quote;

/// Reads the one history of a file.
pub(in super::super) struct DbcopTextReader {
    input: Input,
    preset: Preset,
    is_done: bool,
}

/// Where the reader stands.
struct DbcopState {
    untimed: Untimed,
    session: u64,
    /// The transaction whose `]` has not come.
    open: Option<OwnTransaction>,
    /// The transaction that ended last, to which a `!` belongs.
    ended: Option<OwnTransaction>,
}

/// Whether a line begins a transaction: `[x:=` or `[x==`.
pub(in super::super) fn is_transaction(line: &[u8]) -> bool {
    let Some(inside) = line.strip_prefix(b"[") else { return false };
    let inside = inside.trim_ascii_start();
    let length = inside.iter().take_while(|&&byte| is_name(byte)).count();
    length > 0 && (inside[length..].starts_with(b":=") || inside[length..].starts_with(b"=="))
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl DbcopTextReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, preset, is_done: false }
    }

    /// The one history; `None` if the file is empty.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if std::mem::replace(&mut self.is_done, true) { None } else { self.read().transpose() }
    }

    fn read(&mut self) -> Result<Option<History>, InputError> {
        let mut state = DbcopState { untimed: Untimed::new(&self.preset), session: 0, open: None, ended: None };
        loop {
            state.untimed.check_memory(&mut self.input, 0)?;
            let Some((number, line)) = self.input.next_line()? else { break };
            state.line(line, number).map_err(|fault| fault.in_line(number, line))?;
        }
        if state.open.is_some() {
            let fault = Fault::new(0, "the file ends within a transaction").expected("`]`");
            return Err(fault.in_line(self.input.line(), b""));
        }
        if state.untimed.is_empty() { Ok(None) } else { state.untimed.finish(Initial::ZeroUnlessWritten).map(Some) }
    }
}

impl DbcopState {
    fn line(&mut self, line: &[u8], number: u32) -> Result<(), Fault> {
        if self.open.is_none() && is_rule(line.trim_ascii(), b'-') {
            self.session += 1;
            self.ended = None;
            return Ok(());
        }
        let mut at = 0;
        while at < line.len() {
            let rest = &line[at..];
            match (rest[0], self.open) {
                (byte, _) if byte.is_ascii_whitespace() => at += 1,
                _ if rest.starts_with(b"//") => return Ok(()),
                (b'[', None) => {
                    let session = self.untimed.number(self.session);
                    let session = self.untimed.session(session);
                    self.open = Some(self.untimed.transaction(session, Status::Committed, number)?);
                    self.ended = None;
                    at += 1;
                }
                (b']', Some(_)) => {
                    self.ended = self.open.take();
                    at += 1;
                }
                (b'!', None) if self.ended.is_some() => {
                    if let Some(place) = self.ended.take() {
                        self.untimed.set_status(place, Status::Aborted);
                    }
                    at += 1;
                }
                (byte, Some(place)) if is_name(byte) => {
                    at += self.event(place, rest, number).map_err(|fault| {
                        let at = at + fault.at;
                        Fault { at, ..fault }
                    })?;
                }
                (_, open) => {
                    let token = rest.split(u8::is_ascii_whitespace).next().unwrap_or_default();
                    let expected = if open.is_some() { "`x:=1`, `x==1`, `x==?` or `]`" } else { "`[x:=1 y==2]`" };
                    let message = format!("{} is not understood here", quote(token));
                    return Err(Fault::new(at, message).expected(expected));
                }
            }
        }
        Ok(())
    }

    /// Reads an event at the beginning of `text`. Returns its length.
    fn event(&mut self, place: OwnTransaction, text: &[u8], line: u32) -> Result<usize, Fault> {
        let length = text.iter().take_while(|&&byte| is_name(byte)).count();
        let is_write = match text.get(length..length + 2) {
            Some(b":=") => true,
            Some(b"==") => false,
            _ => return Err(Fault::new(length, "this is neither a read nor a write").expected("`:=` or `==`")),
        };
        let start = length + 2;
        let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let key = self.untimed.word(&String::from_utf8_lossy(&text[..length]));
        let key = self.untimed.key(key);
        if !is_write && text.get(start) == Some(&b'?') {
            self.untimed.read_initial(place, key, line)?;
            return Ok(start + 1);
        }
        let number = String::from_utf8_lossy(&text[start..start + digits]).parse();
        let number = number.map_err(|_| {
            let expected = if is_write { "an integer from 0" } else { "an integer from 0, or `?`" };
            Fault::new(start, "the version is missing").expected(expected)
        })?;
        let value = self.untimed.number(number);
        if is_write {
            self.untimed.write(place, key, value, line)?;
        } else {
            self.untimed.read(place, key, value, line)?;
        }
        Ok(start + digits)
    }
}
