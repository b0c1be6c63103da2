//! Reads the text format: line by line, with the same lines as [`super::fast`] reads, and all others.
//!
//! A line is blank, a comment or directive, a separator, or an event. An event is the line of an operation
//! ([`super::operation`]), the end of a call, or a line of a transaction ([`super::transactions`]).

use super::arguments::Arguments;
use super::fast;
use super::line::{Cursor, Until, is_white};
use super::operation::{EventLine, meant_set, read_time};
use super::seen::Seen;
use super::transactions::TransactionLine;
use crate::builder::{Builder, Preset};
use crate::error::{Fault, InputError, utf8};
use crate::input::Input;
use crate::room::Room;
use crate::string::{quoted_length, unquote};
use history::Returns;
use history::history::{History, Object, Operation, Outcome, ProcessId};
use history::value::{Value, quote};

/// After this many operations of a history, the reader guesses how many more will come, and reserves memory for them.
const RESERVE_THRESHOLD: usize = 1 << 15;

/// Reads histories of the text format.
pub(in super::super) struct TextReader {
    input: Input,
    preset: Preset,
    builder: Builder,
    seen: Seen,
    room: Room,
    /// How many bytes of the file were left where the current history begins.
    left_at_start: Option<u64>,
    /// Whether the last history had an error, so that its remaining lines must be skipped.
    is_lost: bool,
}

/// The content of a line.
pub(in super::super) enum Line {
    Inside,
    Separator,
}

impl TextReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        let left_at_start = input.remaining();
        let builder = Builder::new(&preset);
        Self { input, preset, builder, seen: Seen::new(), room: Room::new(), left_at_start, is_lost: false }
    }

    /// The next history; `None` at the end of the file.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        loop {
            let is_separated = match self.read_history() {
                Ok(is_separated) => is_separated,
                Err(error) => {
                    self.start_over();
                    return Some(Err(error));
                }
            };
            let builder = self.start_over();
            if builder.is_begun() {
                return Some(builder.finish());
            }
            if !is_separated {
                return None;
            }
        }
    }

    fn start_over(&mut self) -> Builder {
        self.seen.clear();
        self.left_at_start = self.input.remaining();
        std::mem::replace(&mut self.builder, Builder::new(&self.preset))
    }

    /// Reads up to the next separator (`true`) or the end of the file (`false`).
    fn read_history(&mut self) -> Result<bool, InputError> {
        while std::mem::take(&mut self.is_lost) {
            self.is_lost = self.input.next_line()?.is_some_and(|(_, line)| line.trim_ascii() != b"---");
        }
        while self.input.fill()? {
            self.room.check(&self.input, &self.builder, 0).map_err(|fault| self.input.refuse(fault))?;
            self.reserve();
            let bytes = self.input.lines();
            let mut line = self.input.line();
            let mut at = 0;
            let is_separated = loop {
                let (length, lines) = fast::read_lines(&mut self.builder, &self.seen, &bytes[at..], line);
                at += length;
                line += lines;
                if at == bytes.len() {
                    break false;
                }
                let rest = &bytes[at..];
                let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len() - 1);
                at += length + 1;
                line += 1;
                match read_line(&mut self.builder, &mut self.seen, &rest[..length], line - 1) {
                    Ok(Line::Inside) => {}
                    Ok(Line::Separator) => break true,
                    Err(fault) => {
                        let error = fault.in_line(line - 1, &rest[..length]);
                        let lines = line - self.input.line();
                        self.input.consume(at, lines);
                        self.is_lost = true;
                        return Err(error);
                    }
                }
            };
            let lines = line - self.input.line();
            self.input.consume(at, lines);
            if is_separated {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reserves memory for the operations in the rest of a plain file, if the rest is like the beginning. A large
    /// vector that grows step by step would touch its memory several times. Nothing is reserved if the guess is too
    /// large for the memory.
    fn reserve(&mut self) {
        let count = self.builder.so_far().operations().len();
        if count < RESERVE_THRESHOLD || self.builder.room() >= RESERVE_THRESHOLD {
            return;
        }
        if let (Some(start), Some(left)) = (self.left_at_start, self.input.remaining()) {
            let expected = u128::from(left) * count as u128 / u128::from(start - left).max(1);
            let expected = usize::try_from(expected).unwrap_or(usize::MAX);
            let expected = expected.saturating_add(expected / 64 + RESERVE_THRESHOLD);
            let each = size_of::<Operation>()
                + if self.builder.so_far().moments().is_empty() { 0 } else { size_of::<[u32; 2]>() };
            if !Room::allows(self.input.allowance().budget(), expected.saturating_mul(each)) {
                return;
            }
            self.builder.try_reserve(expected);
        }
    }
}

pub(in super::super) fn read_line(
    builder: &mut Builder,
    seen: &mut Seen,
    line: &[u8],
    number: u32,
) -> Result<Line, Fault> {
    let mut cursor = Cursor::new(line);
    cursor.skip_white();
    match cursor.peek() {
        None => Ok(Line::Inside),
        Some(b'[') => read_event(builder, seen, &mut cursor, number).map(|()| Line::Inside),
        Some(b'#') => read_comment(builder, &mut cursor).map(|()| Line::Inside),
        Some(_) if cursor.rest().trim_ascii_end() == b"---" => Ok(Line::Separator),
        Some(_) => {
            let start = cursor.at;
            let token = cursor.run(|byte| !is_white(byte));
            let message = format!("{} does not begin a line of the text format", quote(token));
            Err(Fault::new(start, message).expected("`[process] operation`, `# comment` or `---`"))
        }
    }
}

/// Reads a comment or a directive. An unknown directive is a comment.
fn read_comment(builder: &mut Builder, cursor: &mut Cursor) -> Result<(), Fault> {
    cursor.take(b'#');
    cursor.skip_white();
    if !cursor.take(b'@') {
        return Ok(());
    }
    let at = cursor.at;
    let name = cursor.run(|byte| !is_white(byte));
    if matches!(name, b"object" | b"capacity" | b"initial" | b"init" | b"realtime") {
        builder.check_directive(at)?;
    }
    match name {
        b"object" => {
            cursor.skip_white();
            let at = cursor.at;
            let name = utf8(cursor.run(|byte| !is_white(byte)), at)?;
            builder.set_object(name, at)?;
        }
        b"realtime" => {
            cursor.skip_white();
            let at = cursor.at;
            let word = cursor.run(|byte| !is_white(byte));
            if word != b"none" {
                let message = format!("{} is not understood here", quote(word));
                return Err(Fault::new(at, message).expected("`none`"));
            }
            builder.set_untimed();
        }
        b"capacity" => builder.set_capacity(cursor.number("a capacity")?),
        b"initial" => {
            let value = cursor.value(builder.words_mut(), Until::White, "the initial value")?;
            builder.set_initial(value);
        }
        b"init" | b"final" => {
            let key = builder.words_mut().naming(|words| cursor.value(words, Until::White, "a key"))?;
            let key = builder.key_of(key);
            let value = cursor.value(builder.words_mut(), Until::White, "a value")?;
            builder.state(key, value, name == b"final", at)?;
        }
        b"name" => {
            cursor.skip_white();
            let at = cursor.at;
            let text = cursor.rest().trim_ascii_end();
            let name = match quoted_length(text) {
                Some((length, _)) if text[0] == b'"' && length == text.len() => unquote(text, at)?,
                _ => utf8(text, at)?.to_owned(),
            };
            builder.set_name(name);
            builder.begin();
            return Ok(());
        }
        _ => return Ok(()),
    }
    builder.begin();
    cursor.end("the end of the directive")
}

fn read_event(builder: &mut Builder, seen: &mut Seen, cursor: &mut Cursor, line: u32) -> Result<(), Fault> {
    let at = cursor.at;
    cursor.take(b'[');
    let start = cursor.at;
    let name = builder.words_mut().naming(|words| cursor.value(words, Until::Bracket, "a process"))?;
    if !cursor.take(b']') {
        return Err(Fault::new(cursor.at, "the name of the process has no end").expected("`]`"));
    }
    let process = builder.process_of(name);
    seen.insert_process(cursor.since(start), process);
    cursor.skip_white();
    let start = cursor.at;
    let word = cursor.run(is_name);
    let was_memory = builder.object() == Some(Object::Memory);
    if builder.is_of_transactions(word, start)? {
        if was_memory {
            seen.clear();
        }
        let line = TransactionLine { session: process, number: line, at, start };
        return line.read(builder, seen, cursor, word);
    }
    // The spellings of other tools.
    let is_one_of = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
    match word {
        _ if is_one_of(&["call", "invoke"]) => {
            cursor.skip_white();
            let start = cursor.at;
            let name = cursor.run(is_name);
            let event = EventLine { process, line, at, has_call: true };
            event.read_operation(builder, seen, cursor, name, start)
        }
        _ if is_one_of(&["return", "ret", "ok"]) => read_end(builder, cursor, process, Outcome::Ok, at),
        b"fail" => read_end(builder, cursor, process, Outcome::Fail, at),
        b"info" => read_end(builder, cursor, process, Outcome::Info, at),
        _ => {
            let event = EventLine { process, line, at, has_call: false };
            event.read_operation(builder, seen, cursor, word, start)
        }
    }
}

/// Whether a byte can be in the name of a method.
const fn is_name(byte: u8) -> bool {
    !is_white(byte) && byte != b'('
}

fn read_end(
    builder: &mut Builder,
    cursor: &mut Cursor,
    process: ProcessId,
    outcome: Outcome,
    at: usize,
) -> Result<(), Fault> {
    let id = builder.ending(process, at)?;
    cursor.skip_white();
    let mut results = Arguments::new(cursor);
    results.cursor.skip_white();
    let start = results.cursor.at;
    let mut given = Value::NONE;
    let is_nothing = results.cursor.is_at_end()
        || results.cursor.rest().starts_with(b"time=")
        || (results.is_parenthesized && results.cursor.peek() == Some(b')'));
    if outcome == Outcome::Ok && !is_nothing {
        given = results.next(builder, "a result")?;
    }
    results.end()?;
    given = meant(builder, builder.so_far().operation(id).method.returns(), given);
    given = builder.announced(process, given, start)?;
    given = meant_set(builder, builder.so_far().operation(id).method.returns(), given);
    let mut result = Value::NONE;
    if outcome == Outcome::Ok {
        let operation = builder.so_far().operation(id);
        result = operation.method.returns().result(given).map_err(|expected| {
            let method = builder.so_far().method_name(id);
            Fault::new(start, format!("this is not what {method} returns")).expected(expected)
        })?;
    }
    builder.end(id, outcome, result, at)?;
    cursor.skip_white();
    if cursor.rest().starts_with(b"time=") {
        cursor.at += b"time=".len();
        let (time, _) = read_time(cursor, false)?;
        if let Some(time) = time {
            builder.put_time(id, 1, time);
        }
    }
    cursor.end("the end of the line")
}

/// The result that another tool's spelling stands for: `Empty`, `True`, 1 for true, `OK`.
fn meant(builder: &Builder, returns: Returns, given: Value) -> Value {
    let text = given.as_word().map_or("", |word| builder.so_far().words().text(word));
    let is_word = |name: &str| text.eq_ignore_ascii_case(name);
    match (returns, given.as_integer()) {
        (Returns::Nothing, _) if is_word("ok") || is_word("void") => Value::NONE,
        (Returns::Removed, _) if is_word("empty") => Value::EMPTY,
        (Returns::Boolean | Returns::OptionalBoolean, Some(1)) => Value::TRUE,
        (Returns::Boolean | Returns::OptionalBoolean, Some(0)) => Value::FALSE,
        (Returns::Boolean | Returns::OptionalBoolean, _) if is_word("true") => Value::TRUE,
        (Returns::Boolean | Returns::OptionalBoolean, _) if is_word("false") => Value::FALSE,
        _ => given,
    }
}
