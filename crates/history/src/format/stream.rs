//! Events one by one, for those who cannot wait for the end of a history.
//!
//! A [`Stream`] is given whole lines, as many as there are, and hands out each event as soon as its line is there. It does no
//! input itself, holds no more than the last operation of each process and the names, and can be saved and restored
//! (with serde). The formats are text and JSON Lines; what is an event, and what an error, is the same as in a file, but:
//! - `from=` names its source by a label that may not have come yet; who is told the event knows what to do;
//! - a directive comes before the first event of its history.

use memchr::memchr;
use serde::{Deserialize, Serialize};

use super::builder::{Builder, Given};
use super::error::{Fault, InputError};
use super::record::{Assembler, Json, Record};
use super::text::{self, Line, Seen, read_line};
use super::{Format, ReadOptions, detect, json};
use crate::history::{History, KeyId, Operation};
use crate::value::Value;

/// What an event is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// An operation without call and return.
    Instant,
    /// A call.
    Call,
    /// A return, or Jepsen's `fail` or `info`: the outcome of the operation says which.
    End,
}

/// Where a read says that it reads from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceName {
    /// It does not say.
    None,
    /// The initial write.
    Init,
    /// The operation with this label.
    Label(Value),
}

/// One event of a stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it is.
    pub what: What,
    /// The operation, as far as it is known: without result at its call.
    pub operation: Operation,
    /// At its call: what a compare-and-swap expects.
    pub expected: Value,
    /// Its label.
    pub label: Value,
    /// Its source.
    pub source: SourceName,
    /// Its index in program order.
    pub index: Option<u64>,
}

impl Event {
    #[inline]
    pub(super) fn new(what: What, operation: Operation) -> Self {
        let none = Value::NONE;
        Self { what, operation, expected: none, label: none, source: SourceName::None, index: None }
    }
}

/// What comes next in a stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event.
    Event(Event),
    /// The history has ended, and another begins.
    End,
}

/// A stream of events. See the [module](self).
#[derive(Serialize, Deserialize)]
pub struct Stream {
    given: Given,
    state: State,
    /// The number of the next line, from 1.
    line: u64,
    /// Whether the current history had an error: the rest of it is not looked at.
    is_lost: bool,
    #[serde(skip)]
    seen: Seen,
}

#[derive(Serialize, Deserialize)]
enum State {
    /// No line yet that tells the format.
    Unknown(Builder),
    Text(Builder),
    JsonLines(Assembler<Json>),
}

impl Stream {
    /// Nothing read yet. The format, unless given, is told by the first line that is not blank or a comment.
    pub fn new(options: &ReadOptions) -> Result<Self, NotAStream> {
        let ReadOptions { format, object, initial } = options.clone();
        let given = Given { format: format.unwrap_or(Format::Text), object, initial, reads_sets: false };
        let state = match format {
            None => State::Unknown(Builder::of_stream(&given)),
            Some(_) => State::new(&given)?,
        };
        Ok(Self { given, state, line: 1, is_lost: false, seen: Seen::new() })
    }

    fn builder(&self) -> &Builder {
        match &self.state {
            State::Unknown(builder) | State::Text(builder) => builder,
            State::JsonLines(assembler) => assembler.builder(),
        }
    }

    /// The format, once it is known.
    pub fn format(&self) -> Option<Format> {
        match self.state {
            State::Unknown(_) => None,
            State::Text(_) => Some(Format::Text),
            State::JsonLines(_) => Some(Format::JsonLines),
        }
    }

    /// The number of the next line, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Whether anything has been said of the current history.
    pub fn is_begun(&self) -> bool {
        self.is_lost || self.builder().is_begun()
    }

    /// The names, the words and the head of the current history. Its operations are the last of each process.
    pub fn history(&self) -> &History {
        &self.builder().history
    }

    /// The initial value of a key.
    pub fn initial_value(&self, key: KeyId) -> Value {
        self.builder().initial_value(key)
    }

    /// Reads on in `lines`, each of which ends with a newline, up to the next event or the end of a history, and moves `lines`
    /// behind it. `None` when the lines are used up. After an error, the rest of that history is passed over.
    #[inline]
    pub fn next(&mut self, lines: &mut &[u8]) -> Option<Result<Item, InputError>> {
        if let State::Text(builder) = &mut self.state
            && !self.is_lost
            && let Some((event, length)) = text::read_event(builder, &self.seen, lines, line_number(self.line))
        {
            *lines = &lines[length..];
            self.line += 1;
            return Some(Ok(Item::Event(event)));
        }
        self.next_slowly(lines)
    }

    fn next_slowly(&mut self, lines: &mut &[u8]) -> Option<Result<Item, InputError>> {
        while let Some(length) = memchr(b'\n', lines) {
            let line = &lines[..length];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let number = line_number(self.line);
            let read = self.read(line, number);
            if !matches!(read, Ok(Read::EndBefore)) {
                *lines = &lines[length + 1..];
                self.line += 1;
            }
            match read {
                Ok(Read::Nothing) => {}
                Ok(Read::Event(event)) => return Some(Ok(Item::Event(event))),
                Ok(Read::End | Read::EndBefore) => return Some(Ok(Item::End)),
                Err(fault) => {
                    self.is_lost = true;
                    return Some(Err(fault.in_line(number, line)));
                }
            }
        }
        None
    }

    fn read(&mut self, line: &[u8], number: u32) -> Result<Read, Fault> {
        if let State::Unknown(_) = self.state
            && !is_idle(line)
        {
            let format = detect::of_line(line).ok_or_else(|| {
                Fault::new(0, "this is not an event in a format that is known")
                    .expected("text (`[0] w x 1`) or JSON Lines (`{\"process\":0,…}`)")
            })?;
            self.given.format = format;
            self.state = State::new(&self.given).map_err(|error| Fault::new(0, error.to_string()))?;
        }
        match &mut self.state {
            State::Text(builder) => {
                if self.is_lost && line.trim_ascii() != b"---" {
                    return Ok(Read::Nothing);
                }
                if let Line::Separator = read_line(builder, &mut self.seen, line, number)? {
                    let was_begun = std::mem::take(&mut self.is_lost) || builder.is_begun();
                    *builder = Builder::of_stream(&self.given);
                    self.seen.clear();
                    return Ok(if was_begun { Read::End } else { Read::Nothing });
                }
                Ok(builder.take_event().map_or(Read::Nothing, Read::Event))
            }
            State::JsonLines(assembler) if !line.trim_ascii().is_empty() => {
                let mut record = Record::default();
                let read = json::read_object(line, &mut record);
                let is_header = read.is_ok() && record.is_header();
                if is_header && (self.is_lost || assembler.builder().is_begun()) {
                    self.is_lost = false;
                    assembler.start_over();
                    return Ok(Read::EndBefore);
                }
                if self.is_lost {
                    return Ok(Read::Nothing);
                }
                read?;
                assembler.push(&record, number)?;
                Ok(assembler.take_event().map_or(Read::Nothing, Read::Event))
            }
            State::Unknown(_) | State::JsonLines(_) => Ok(Read::Nothing),
        }
    }
}

/// What a line turned out to be.
enum Read {
    Nothing,
    Event(Event),
    /// It ends the history.
    End,
    /// It begins another history, and is to be read again as its first line.
    EndBefore,
}

impl State {
    fn new(given: &Given) -> Result<Self, NotAStream> {
        match given.format {
            Format::Text => Ok(Self::Text(Builder::of_stream(given))),
            Format::JsonLines => Ok(Self::JsonLines(Assembler::of_stream(Json, given.clone()))),
            Format::Edn | Format::Axe => Err(NotAStream(given.format)),
        }
    }
}

/// A format that is not read event by event.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stream is text or JSON Lines, and this is {}", .0.name())]
pub struct NotAStream(pub Format);

/// Blank, or a comment that tells nothing of the format.
fn is_idle(line: &[u8]) -> bool {
    match line.trim_ascii() {
        [] => true,
        [b'#', comment @ ..] => !comment.trim_ascii_start().starts_with(b"@"),
        _ => false,
    }
}

/// Operations and errors carry their line in 32 bits. (The last number means that an operation stands on no line.)
fn line_number(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX).min(u32::MAX - 1)
}
