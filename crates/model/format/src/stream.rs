//! Reads a history event by event, for a program that cannot wait for its end.
//!
//! A [`Stream`] takes whole lines, as many as there are, and hands out each event as soon as its line is complete. It
//! does no input itself. It holds only the names and the last operation of each process. Its state can be saved and
//! restored with serde. The formats are text and JSON Lines. Events and errors are those of a file in the same format,
//! with two exceptions:
//! - The label in `from=` is not resolved, since the operation with that label may come later. The event carries the
//!   label.
//! - A directive must come before the first event of its history.
//!
//! ```
//! use format::{ReadOptions, stream::{Item, Stream}};
//!
//! let mut stream = Stream::new(&ReadOptions::default())?;
//! let mut lines = &b"[0] call write 1\n[0] return\n"[..];
//! let mut methods = Vec::new();
//! while let Some(item) = stream.next(&mut lines) {
//!     if let Item::Event(event) = item? {
//!         methods.push(event.operation.method);
//!     }
//! }
//! assert_eq!(methods, [history::Method::Write; 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use memchr::memchr;
use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use super::builder::{Builder, Preset};
use super::error::{Fault, InputError};
use super::record::{Assembler, Json, Record};
use super::text::{self, Line, Seen, read_line};
use super::{Format, ReadOptions, detect, json};
use history::history::{History, KeyId, Operation};
use history::value::Value;

/// The type of an event.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// The begin of a transaction. The operation has the session and the line, and nothing else.
    Begin,
    /// An operation without call and return; in a history of transactions, one operation of a transaction.
    Instant,
    /// A call.
    Call,
    /// A return, or Jepsen's `fail` or `info`. The outcome of the operation says which. At the end of a transaction, it
    /// is the outcome of all its operations.
    End,
}

/// The source that a read names.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceName {
    /// The read names no source.
    None,
    /// The initial write.
    Init,
    /// The operation with this label.
    Label(Value),
}

/// One event of a stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEvent {
    /// Whether it is an instant, a call or the end of a call.
    pub what: What,
    /// The operation as far as it is known. At its call it has no result.
    pub operation: Operation,
    /// The value that a compare-and-swap expects. Only its call has it.
    pub expected: Value,
    /// Its label; [`Value::NONE`] if it has none.
    pub label: Value,
    /// Its source.
    pub source: SourceName,
    /// Its index in program order.
    pub index: Option<u64>,
}

impl StreamEvent {
    #[inline]
    pub(super) fn new(what: What, operation: Operation) -> Self {
        let none = Value::NONE;
        Self { what, operation, expected: none, label: none, source: SourceName::None, index: None }
    }
}

/// The next item of a stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event.
    Event(StreamEvent),
    /// The history has ended, and another begins.
    End,
}

/// A stream of events. See the [module](self).
#[derive(Serialize, Deserialize)]
pub struct Stream {
    preset: Preset,
    state: State,
    /// The number of the next line, counted from 1.
    line: u64,
    /// Whether the current history had an error. The rest of that history is skipped.
    is_lost: bool,
    #[serde(skip)]
    seen: Seen,
}

#[derive(Serialize, Deserialize)]
enum State {
    /// No line so far shows the format.
    Unknown(Builder),
    Text(Builder),
    JsonLines(Assembler<Json>),
}

impl Stream {
    /// A stream without lines. If the options give no format, the first line that is neither blank nor a comment shows
    /// it.
    pub fn new(options: &ReadOptions) -> Result<Self, NotAStream> {
        let allowance = Allowance::new(options);
        let ReadOptions { format, object, initial, .. } = options.clone();
        let preset = Preset { format: format.unwrap_or(Format::Text), object, initial, reads_sets: false, allowance };
        let state = match format {
            None => State::Unknown(Builder::of_stream(&preset)),
            Some(_) => State::new(&preset)?,
        };
        Ok(Self { preset, state, line: 1, is_lost: false, seen: Seen::new() })
    }

    fn builder(&self) -> &Builder {
        match &self.state {
            State::Unknown(builder) | State::Text(builder) => builder,
            State::JsonLines(assembler) => assembler.builder(),
        }
    }

    fn take_event(&mut self) -> Option<StreamEvent> {
        match &mut self.state {
            State::Unknown(builder) | State::Text(builder) => builder.take_event(),
            State::JsonLines(assembler) => assembler.take_event(),
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

    /// The number of the next line, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Whether any line so far belongs to the current history.
    pub fn is_begun(&self) -> bool {
        self.is_lost || self.builder().is_begun()
    }

    /// The names, words and directives of the current history. Its operations are not the whole history: they are the
    /// last operation of each process.
    pub fn history(&self) -> &History {
        self.builder().so_far()
    }

    /// The initial value of a key.
    pub fn initial_value(&self, key: KeyId) -> Value {
        self.builder().initial_value(key)
    }

    /// Reads `lines` up to the next event or the end of a history, and moves `lines` forward. Each line must end with a
    /// newline. `None` if no lines are left. After an error, the rest of that history is skipped.
    #[inline]
    pub fn next(&mut self, lines: &mut &[u8]) -> Option<Result<Item, InputError>> {
        if self.builder().has_event()
            && let Some(event) = self.take_event()
        {
            return Some(Ok(Item::Event(event)));
        }
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
                Fault::new(0, "this is not an event in a known format")
                    .expected("text (`[0] w x 1`) or JSON Lines (`{\"process\":0,…}`)")
            })?;
            self.preset.format = format;
            self.state = State::new(&self.preset).map_err(|error| Fault::new(0, error.to_string()))?;
        }
        match &mut self.state {
            State::Text(builder) => {
                if self.is_lost && line.trim_ascii() != b"---" {
                    return Ok(Read::Nothing);
                }
                if let Line::Separator = read_line(builder, &mut self.seen, line, number)? {
                    let was_begun = std::mem::take(&mut self.is_lost) || builder.is_begun();
                    *builder = Builder::of_stream(&self.preset);
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

/// The content of a line.
enum Read {
    Nothing,
    Event(StreamEvent),
    /// The line ends the history.
    End,
    /// The line begins another history. It must be read again as the first line of that history.
    EndBefore,
}

impl State {
    fn new(preset: &Preset) -> Result<Self, NotAStream> {
        match preset.format {
            Format::Text => Ok(Self::Text(Builder::of_stream(preset))),
            Format::JsonLines => Ok(Self::JsonLines(Assembler::of_stream(Json, preset.clone()))),
            _ => Err(NotAStream(preset.format)),
        }
    }
}

/// The error for a format that cannot be read event by event.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stream is text or JSON Lines, and this is {}", .0.name())]
pub struct NotAStream(pub Format);

/// Whether a line is blank, or a comment that does not show the format.
fn is_idle(line: &[u8]) -> bool {
    match line.trim_ascii() {
        [] => true,
        [b'#', comment @ ..] => !comment.trim_ascii_start().starts_with(b"@"),
        _ => false,
    }
}

/// The number of a line in 32 bits, as operations and errors carry it. The largest number is not used: it means that an
/// operation is on no line.
fn line_number(line: u64) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX).min(u32::MAX - 1)
}
