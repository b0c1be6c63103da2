//! dbcop's JSON: sessions of transactions of events, bare or in the field `data` of an object.
//!
//! ```json
//! [[{"events":[{"Write":{"variable":0,"version":1}},["r",1,null]],"committed":true}]]
//! ```
//!
//! The version null, and 0 that nobody wrote, are initial. The file is read byte by byte: it may be a single line.

use super::super::builder::Preset;
use super::super::error::{Fault, InputError};
use super::super::input::Input;
use super::super::numbered::Numbering;
use super::super::untimed::{Initial, OwnTransaction, Untimed};
use super::super::write::WriteError;
use history::history::{History, Method, OperationId, ProcessId};
use history::transactions::Status;
use history::value::quote;

/// The deepest nesting of values that are skipped.
const MAX_DEPTH: usize = 200;
/// The longest text of a name or a number.
const LONGEST: usize = 1 << 16;

/// Reads the one history of a file.
pub(in super::super) struct DbcopReader {
    input: Input,
    preset: Preset,
    is_done: bool,
}

impl DbcopReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, preset, is_done: false }
    }

    /// The one history.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if std::mem::replace(&mut self.is_done, true) {
            return None;
        }
        let mut parser = Parser { input: &mut self.input, untimed: Untimed::new(&self.preset), refused: None };
        let read = parser.file();
        let Parser { untimed, refused, .. } = parser;
        Some(match (read, refused) {
            (_, Some(error)) => Err(error),
            (Ok(()), None) => untimed.finish(Initial::ZeroUnlessWritten),
            (Err(fault), None) => Err(self.input.error_at(self.input.place(), fault)),
        })
    }
}

struct Parser<'i> {
    input: &'i mut Input,
    untimed: Untimed,
    /// The error of a history that takes too much memory.
    refused: Option<InputError>,
}

impl Parser<'_> {
    /// The next byte that is not white space, which stays.
    fn peek(&mut self) -> Result<Option<u8>, Fault> {
        while let Some(byte) = self.input.peek_byte()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.input.advance();
        }
        Ok(None)
    }

    fn take(&mut self, byte: u8) -> Result<bool, Fault> {
        let is_next = self.peek()? == Some(byte);
        if is_next {
            self.input.advance();
        }
        Ok(is_next)
    }

    fn unexpected(&mut self, expected: &str) -> Fault {
        let message = match self.peek() {
            Err(fault) => return fault,
            Ok(None) => "the file ends too early".to_owned(),
            Ok(Some(byte)) => format!("{} is not understood here", quote(&[byte])),
        };
        Fault::new(0, message).expected(expected)
    }

    fn expect(&mut self, byte: u8, expected: &str) -> Result<(), Fault> {
        if self.take(byte)? { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// The elements of an array.
    fn array(&mut self, what: &str, mut each: impl FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        self.expect(b'[', what)?;
        if self.take(b']')? {
            return Ok(());
        }
        loop {
            each(self)?;
            if self.take(b']')? {
                return Ok(());
            }
            self.expect(b',', "`,` or `]`")?;
        }
    }

    /// The members of an object, by name.
    fn object(&mut self, what: &str, mut each: impl FnMut(&mut Self, &[u8]) -> Result<(), Fault>) -> Result<(), Fault> {
        self.expect(b'{', what)?;
        if self.take(b'}')? {
            return Ok(());
        }
        loop {
            let name = self.string()?;
            self.expect(b':', "`:`")?;
            each(self, &name)?;
            if self.take(b'}')? {
                return Ok(());
            }
            self.expect(b',', "`,` or `}`")?;
        }
    }

    /// The inside of a string. Escapes are kept: none of our names has one.
    fn string(&mut self) -> Result<Vec<u8>, Fault> {
        self.expect(b'"', "a string")?;
        let mut text = Vec::new();
        let mut is_escaped = false;
        while let Some(byte) = self.input.peek_byte()? {
            self.input.advance();
            match byte {
                b'"' if !is_escaped => return Ok(text),
                _ => is_escaped = byte == b'\\' && !is_escaped,
            }
            if text.len() < LONGEST {
                text.push(byte);
            }
        }
        Err(Fault::new(0, "the file ends within a string").expected("a closing `\"`"))
    }

    /// A number or a literal.
    fn token(&mut self) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        self.peek()?;
        while let Some(byte) = self.input.peek_byte()? {
            if !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')) || text.len() > LONGEST {
                break;
            }
            self.input.advance();
            text.push(byte);
        }
        if text.is_empty() { Err(self.unexpected("a value")) } else { Ok(text) }
    }

    fn number(&mut self) -> Result<u64, Fault> {
        let text = self.token()?;
        std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| {
            Fault::new(0, format!("{} is not a number", quote(&text))).expected("an integer from 0, below 2^64")
        })
    }

    /// A version; `None` for null.
    fn version(&mut self) -> Result<Option<u64>, Fault> {
        if self.peek()? == Some(b'n') {
            let text = self.token()?;
            if text == b"null" {
                return Ok(None);
            }
            return Err(Fault::new(0, format!("{} is not a version", quote(&text))).expected("an integer, or null"));
        }
        self.number().map(Some)
    }

    /// Any value, which is not needed.
    fn skip(&mut self, depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::new(0, "values are nested too deep"));
        }
        match self.peek()? {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'[') => self.array("an array", |parser| parser.skip(depth + 1)),
            Some(b'{') => self.object("an object", |parser, _| parser.skip(depth + 1)),
            _ => self.token().map(|_| ()),
        }
    }

    fn file(&mut self) -> Result<(), Fault> {
        let mut has_data = false;
        if self.peek()? == Some(b'[') {
            self.sessions()?;
        } else {
            self.object("an array of sessions, or an object with `data`", |parser, name| match name {
                b"data" if has_data => Err(Fault::new(0, "a second field `data`")),
                b"data" => {
                    has_data = true;
                    parser.sessions()
                }
                _ => parser.skip(0),
            })?;
            if !has_data {
                return Err(Fault::new(0, "the sessions are missing").expected("the field `data`"));
            }
        }
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.unexpected("the end of the file")),
        }
    }

    fn sessions(&mut self) -> Result<(), Fault> {
        let mut number = 0;
        self.array("an array of sessions", |parser| {
            let name = parser.untimed.number(number);
            let session = parser.untimed.session(name);
            number += 1;
            parser.array("an array of transactions", |parser| parser.transaction(session))
        })
    }

    fn transaction(&mut self, session: ProcessId) -> Result<(), Fault> {
        if let Err(error) = self.untimed.check_memory(self.input, 0) {
            let fault = Fault::new(0, error.message.clone());
            self.refused = Some(error);
            return Err(fault);
        }
        self.peek()?;
        let line = self.input.line();
        let place = self.untimed.transaction(session, Status::Committed, line)?;
        let mut is_committed = None;
        let mut has_events = false;
        self.object("a transaction", |parser, name| match name {
            b"events" if has_events => Err(Fault::new(0, "a second field `events`")),
            b"events" => {
                has_events = true;
                parser.array("an array of events", |parser| parser.event(place))
            }
            b"committed" => {
                is_committed = match &parser.token()?[..] {
                    b"true" => Some(true),
                    b"false" => Some(false),
                    other => {
                        let message = format!("{} is not a boolean", quote(other));
                        return Err(Fault::new(0, message).expected("true or false"));
                    }
                };
                Ok(())
            }
            _ => parser.skip(0),
        })?;
        match is_committed {
            Some(true) => Ok(()),
            Some(false) => {
                self.untimed.set_status(place, Status::Aborted);
                Ok(())
            }
            None => Err(Fault::new(0, "this transaction does not say whether it is committed")
                .expected("the field `committed`")),
        }
    }

    fn event(&mut self, place: OwnTransaction) -> Result<(), Fault> {
        let expected = "`{\"Read\":{…}}`, `{\"Write\":{…}}` or `[\"r\", variable, version]`";
        let line = self.input.line();
        let (mut kind, mut variable, mut version) = (None, None, None);
        if self.peek()? == Some(b'[') {
            let mut at = 0;
            self.array(expected, |parser| {
                at += 1;
                match at {
                    1 => kind = Some(parser.string()?),
                    2 => variable = Some(parser.number()?),
                    3 => version = Some(parser.version()?),
                    _ => return Err(parser.unexpected("`]`")),
                }
                Ok(())
            })?;
        } else {
            self.object(expected, |parser, name| {
                if kind.replace(name.to_vec()).is_some() {
                    return Err(parser.unexpected("one event"));
                }
                parser.object("the variable and the version", |parser, name| {
                    match name {
                        b"variable" => variable = Some(parser.number()?),
                        b"version" => version = Some(parser.version()?),
                        _ => parser.skip(0)?,
                    }
                    Ok(())
                })
            })?;
        }
        let is_write = match kind.as_deref() {
            Some(b"w" | b"Write") => true,
            Some(b"r" | b"Read") => false,
            _ => return Err(Fault::new(0, "this is neither a read nor a write").expected(expected)),
        };
        let (Some(variable), Some(version)) = (variable, version) else {
            return Err(Fault::new(0, "the variable or the version is missing").expected(expected));
        };
        let key = self.untimed.number(variable);
        let key = self.untimed.key(key);
        match (is_write, version) {
            (true, None) => Err(Fault::new(0, "a write without a version").expected("an integer from 0")),
            (false, None) => self.untimed.read_initial(place, key, line),
            (_, Some(version)) => {
                let value = self.untimed.number(version);
                if is_write {
                    self.untimed.write(place, key, value, line)
                } else {
                    self.untimed.read(place, key, value, line)
                }
            }
        }
    }
}

/// Appends a history. What is not written is noted in `dropped`.
pub(in super::super) fn write_history(
    out: &mut Vec<u8>,
    history: &History,
    dropped: &mut Vec<&'static str>,
) -> Result<(), WriteError> {
    let numbering = Numbering::new(history, dropped)?;
    // dbcop keeps aborted transactions whole, with their reads.
    dropped.retain(|&what| !what.starts_with("which operations of aborted"));
    let mut sessions: Vec<Vec<_>> = vec![Vec::new(); history.processes().len()];
    for (id, transaction) in numbering.transactions() {
        sessions[transaction.session.index()].push(id);
    }
    let mut counts = [0; 2];
    let mut used = vec![false; history.keys().len()];
    let mut data = Vec::new();
    for (at, transactions) in sessions.iter().enumerate() {
        data.extend_from_slice(if at > 0 { b",\n[" } else { b"[" });
        for (at, &id) in transactions.iter().enumerate() {
            data.extend_from_slice(if at > 0 { b",\n{\"events\":[" } else { b"{\"events\":[" });
            counts[0] = counts[0].max(transactions.len());
            counts[1] = counts[1].max(history.operations_of(id).len());
            for (at, operation) in history.operation_range(id).map(OperationId).enumerate() {
                used[history.operation(operation).key.index()] = true;
                let key = numbering.key(history.operation(operation).key);
                let version = numbering.value(operation).map_or_else(|| "null".to_owned(), |value| value.to_string());
                let is_read = history.operation(operation).method == Method::Read;
                let kind = if is_read { "Read" } else { "Write" };
                let comma = if at > 0 { "," } else { "" };
                let event = format!("{comma}{{\"{kind}\":{{\"variable\":{key},\"version\":{version}}}}}");
                data.extend_from_slice(event.as_bytes());
            }
            let is_committed = history.transaction(id).status != Status::Aborted;
            data.extend_from_slice(format!("],\"committed\":{is_committed}}}").as_bytes());
        }
        data.push(b']');
    }
    let params = format!(
        "{{\"params\":{{\"id\":0,\"n_node\":{},\"n_variable\":{},\"n_transaction\":{},\"n_event\":{}}},\
         \"info\":\"\",\"start\":\"1970-01-01T00:00:00Z\",\"end\":\"1970-01-01T00:00:00Z\",\"data\":[\n",
        sessions.len(),
        used.iter().filter(|&&is_used| is_used).count(),
        counts[0],
        counts[1],
    );
    out.extend_from_slice(params.as_bytes());
    out.append(&mut data);
    out.extend_from_slice(b"]}\n");
    Ok(())
}
