//! Reads the text format.

use super::super::budget::Budget;
use super::super::builder::{Builder, Preset, UnknownSource};
use super::super::error::{Fault, InputError, quote, utf8};
use super::super::input::Input;
use super::super::methods::Returns;
use super::super::string::{quoted_length, unquote};
use super::fast;
use super::line::{Cursor, Until, is_white};
use super::seen::Seen;
use super::transactions::TransactionLine;
use crate::builder::Call;
use crate::history::{History, KeyId, MemoryOrder, Method, Object, Operation, OperationId, Outcome, ProcessId};
use crate::value::Value;

/// After this many operations of a history, the reader guesses how many more will come, and reserves memory for them.
const RESERVE_THRESHOLD: usize = 1 << 15;

/// Reads histories of the text format.
pub(in super::super) struct TextReader {
    input: Input,
    preset: Preset,
    builder: Builder,
    seen: Seen,
    budget: Budget,
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
        Self { input, preset, builder, seen: Seen::new(), budget: Budget::new(), left_at_start, is_lost: false }
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
                return Some(builder.finish().map_err(UnknownSource::into_error));
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
            self.budget.check(&self.input, &self.builder, 0).map_err(|fault| self.input.refuse(fault))?;
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
        let History { operations, moments, .. } = &mut self.builder.history;
        let count = operations.len();
        if count < RESERVE_THRESHOLD || operations.capacity() - count >= RESERVE_THRESHOLD {
            return;
        }
        if let (Some(start), Some(left)) = (self.left_at_start, self.input.remaining()) {
            let expected = u128::from(left) * count as u128 / u128::from(start - left).max(1);
            let expected = usize::try_from(expected).unwrap_or(usize::MAX);
            let expected = expected.saturating_add(expected / 64 + RESERVE_THRESHOLD);
            let each = size_of::<Operation>() + if moments.is_empty() { 0 } else { size_of::<[u32; 2]>() };
            if !Budget::allows(expected.saturating_mul(each)) {
                return;
            }
            let _refused = operations.try_reserve_exact(expected);
            if !moments.is_empty() {
                let _refused = moments.try_reserve_exact(expected);
            }
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
        b"capacity" => builder.history.capacity = Some(cursor.number("a capacity")?),
        b"initial" => {
            let value = cursor.value(&mut builder.history.words, Until::White, "the initial value")?;
            builder.set_initial(value);
        }
        b"init" | b"final" => {
            let key = cursor.value(&mut builder.history.words, Until::White, "a key")?;
            let value = cursor.value(&mut builder.history.words, Until::White, "a value")?;
            let key = builder.key_of(key);
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
            builder.history.name = Some(name);
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
    let name = cursor.value(&mut builder.history.words, Until::Bracket, "a process")?;
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
    given = meant(builder, builder.history.operation(id).method.returns(), given);
    given = builder.announced(process, given, start)?;
    given = meant_set(builder, builder.history.operation(id).method.returns(), given);
    let mut result = Value::NONE;
    if outcome == Outcome::Ok {
        let operation = builder.history.operation(id);
        result = operation.method.returns().result(given).map_err(|expected| {
            let method = builder.history.method_name(id);
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

/// For a method that returns a whole set: the set that a text lists; none if the text lists none. For another method:
/// the given value.
fn meant_set(builder: &mut Builder, returns: Returns, given: Value) -> Value {
    if returns == Returns::Whole { builder.listed_set(given).unwrap_or(Value::NONE) } else { given }
}

/// The result that another tool's spelling stands for: `Empty`, `True`, 1 for true, `OK`.
fn meant(builder: &Builder, returns: Returns, given: Value) -> Value {
    let text = given.as_word().map_or("", |word| builder.history.words.text(word));
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

/// `5`; and if the line is a whole operation, also `5:9`, `5:` or `:9`.
pub(super) fn read_time(cursor: &mut Cursor, is_whole: bool) -> Result<(Option<i64>, Option<i64>), Fault> {
    let at = cursor.at;
    let token = cursor.run(|byte| !is_white(byte));
    let expected = if is_whole { "`5`, `5:9`, `5:` or `:9`" } else { "an integer of 64 bits" };
    let fault = || Fault::new(at, format!("{} is not a time", quote(token))).expected(expected);
    let text = utf8(token, at)?;
    let moment = |text: &str| match text {
        "" => Ok(None),
        _ => text.parse().map(Some).map_err(|_| fault()),
    };
    let (start, end) = text.split_once(':').unwrap_or((text, ""));
    let times = (moment(start)?, moment(end)?);
    if times == (None, None) || (!is_whole && text.contains(':')) { Err(fault()) } else { Ok(times) }
}

/// The beginning of a line that is a call or an instant.
struct EventLine {
    process: ProcessId,
    line: u32,
    at: usize,
    has_call: bool,
}

impl EventLine {
    fn read_operation(
        &self,
        builder: &mut Builder,
        seen: &mut Seen,
        cursor: &mut Cursor,
        name: &[u8],
        start: usize,
    ) -> Result<(), Fault> {
        if name.is_empty() {
            let expected = "`call method`, `return`, or an operation such as `w x 1`";
            return Err(Fault::new(start, "the operation is missing").expected(expected));
        }
        let text = name;
        let (name, order) = split_order(builder, name, start)?;
        let method = builder.method(name, self.has_call, start)?;
        if method == Method::Open {
            return self.read_open(builder, seen, cursor, name);
        }
        let is_memory = builder.history.object == Object::Memory;
        if order != MemoryOrder::Plain && !is_memory {
            let message = format!("a method of a {} has no memory order", builder.history.object.name());
            return Err(Fault::new(start, message));
        }

        cursor.skip_white();
        let mut arguments = Arguments::new(cursor);
        let is_parenthesized = arguments.is_parenthesized;
        let mut call = Call {
            process: self.process,
            key: KeyId::NONE,
            line: self.line,
            method,
            order,
            argument: Value::NONE,
            result: Value::NONE,
            expected: Value::NONE,
        };
        if is_memory && method != Method::Fence {
            arguments.cursor.skip_white();
            let start = arguments.cursor.at;
            let key = arguments.next(builder, "a key")?;
            call.key = builder.key_of(key);
            if !arguments.is_parenthesized && key.is_some() {
                seen.insert_key(arguments.cursor.since(start), call.key);
            }
            if !self.has_call && method.returns() == Returns::Value {
                call.result = arguments.next(builder, "the value read")?;
            }
        }
        if method == Method::Cas {
            call.expected = arguments.next(builder, "the value expected")?;
        }
        if method.takes_argument() {
            call.argument = arguments.next(builder, "a value")?;
        }
        // A call that announces its result: `read(5)`, with a return that has no value.
        let is_announced = self.has_call
            && !is_memory
            && matches!(method.returns(), Returns::Value | Returns::Removed)
            && arguments.has_more();
        if is_announced {
            let result = arguments.next(builder, "a result")?;
            builder.announce(self.process, result);
        }
        arguments.end()?;

        if !self.has_call && !is_memory {
            cursor.skip_white();
            let start = cursor.at;
            let mut given = Value::NONE;
            if cursor.rest().starts_with(b"=>") {
                cursor.at += 2;
                given = cursor.value(&mut builder.history.words, Until::White, "a result")?;
            }
            given = meant_set(builder, method.returns(), given);
            call.result = method.returns().result(given).map_err(|expected| {
                let name = builder.history.object.method_name(method);
                Fault::new(start, format!("this is not what {name} returns")).expected(format!("`=>` and {expected}"))
            })?;
        }
        self.read_attributes(builder, seen, cursor, call)?;
        if !is_parenthesized {
            seen.insert_verb(text, builder.history.object, method, order, self.has_call);
        }
        Ok(())
    }

    /// Reads a method of an open object: any number of arguments; for an instant also `=>` and a result.
    fn read_open(&self, builder: &mut Builder, seen: &mut Seen, cursor: &mut Cursor, name: &[u8]) -> Result<(), Fault> {
        cursor.skip_white();
        let mut arguments = Arguments::new(cursor);
        let mut values = Vec::new();
        while arguments.has_more() {
            values.push(arguments.next(builder, "a value")?);
        }
        arguments.end()?;
        let mut call = Call {
            process: self.process,
            key: KeyId::NONE,
            line: self.line,
            method: Method::Open,
            order: MemoryOrder::Plain,
            argument: Value::NONE,
            result: Value::NONE,
            expected: Value::NONE,
        };
        cursor.skip_white();
        if !self.has_call && cursor.rest().starts_with(b"=>") {
            cursor.at += 2;
            call.result = cursor.value(&mut builder.history.words, Until::White, "a result")?;
        }
        let id = self.read_attributes(builder, seen, cursor, call)?;
        builder.set_open(id, name, &values);
        Ok(())
    }

    /// Reads `key=`, `id=`, `from=`, `po=`, `time=`, in any order, and the end of the line.
    fn read_attributes(
        &self,
        builder: &mut Builder,
        seen: &mut Seen,
        cursor: &mut Cursor,
        mut call: Call,
    ) -> Result<OperationId, Fault> {
        if cursor.is_at_end() {
            return builder.call(&call, self.has_call, self.at);
        }
        let (mut label, mut source, mut index, mut times) = (None, None, None, None);
        while !cursor.is_at_end() {
            let at = cursor.at;
            let name = cursor.run(|byte| !is_white(byte) && byte != b'=');
            let is_repeated = match name {
                _ if cursor.peek() != Some(b'=') => {
                    cursor.at = at;
                    break;
                }
                b"key" if builder.history.object == Object::Memory => {
                    return Err(Fault::new(at, "the location of a memory operation is its first argument"));
                }
                b"key" => call.key != KeyId::NONE,
                b"id" => label.is_some(),
                b"from" => source.is_some(),
                b"po" => index.is_some(),
                b"time" => times.is_some(),
                _ => {
                    cursor.at = at;
                    break;
                }
            };
            if is_repeated {
                return Err(Fault::new(at, format!("a second {}", quote(name))));
            }
            cursor.take(b'=');
            let words = &mut builder.history.words;
            match name {
                b"key" => {
                    let start = cursor.at;
                    let key = cursor.value(words, Until::White, "a key")?;
                    call.key = builder.key_of(key);
                    seen.insert_key(cursor.since(start), call.key);
                }
                b"id" => label = Some((cursor.value(words, Until::White, "a label")?, at)),
                b"from" => source = Some((cursor.value(words, Until::White, "a label")?, at)),
                b"po" => index = Some(cursor.number("an index in program order")?),
                _ => times = Some(read_time(cursor, !self.has_call)?),
            }
        }
        cursor.end("one of `key=`, `id=`, `from=`, `po=`, `time=`, or the end of the line")?;
        let id = builder.call(&call, self.has_call, self.at)?;
        if let Some((label, at)) = label {
            builder.set_label(id, label, at)?;
        }
        if let Some((source, at)) = source {
            builder.set_source(id, source, at)?;
        }
        if let Some(index) = index {
            builder.put_program_index(id, index);
        }
        let (start, end) = times.unwrap_or((None, None));
        if let Some(start) = start {
            builder.put_time(id, 0, start);
        }
        if let Some(end) = end {
            builder.put_time(id, 1, end);
        }
        Ok(id)
    }
}

/// Splits `w.rel` into the method `w` and its memory order. Only a memory has such methods.
fn split_order<'a>(builder: &Builder, name: &'a [u8], at: usize) -> Result<(&'a [u8], MemoryOrder), Fault> {
    let dot = match builder.object() {
        None | Some(Object::Memory) => memchr::memchr(b'.', name),
        Some(_) => None,
    };
    let Some(dot) = dot else {
        return Ok((name, MemoryOrder::Plain));
    };
    let order = std::str::from_utf8(&name[dot + 1..]).ok().and_then(MemoryOrder::from_name).ok_or_else(|| {
        let message = format!("{} is not a memory order", quote(&name[dot + 1..]));
        Fault::new(at + dot + 1, message).expected("one of rlx, acq, rel, acqrel, sc")
    })?;
    Ok((&name[..dot], order))
}

/// The arguments of an operation: `1 2` or `(1, 2)`.
struct Arguments<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    is_parenthesized: bool,
    is_first: bool,
}

impl<'c, 'a> Arguments<'c, 'a> {
    /// The arguments that follow right after the name of the method.
    fn new(cursor: &'c mut Cursor<'a>) -> Self {
        let is_parenthesized = cursor.take(b'(');
        Self { cursor, is_parenthesized, is_first: true }
    }

    fn next(&mut self, builder: &mut Builder, what: &str) -> Result<Value, Fault> {
        let is_first = std::mem::take(&mut self.is_first);
        let words = &mut builder.history.words;
        if !self.is_parenthesized {
            return self.cursor.value(words, Until::White, what);
        }
        self.cursor.skip_white();
        if !is_first && !self.cursor.take(b',') {
            return Err(Fault::new(self.cursor.at, format!("{what} is missing")).expected(format!("`,` and {what}")));
        }
        self.cursor.value(words, Until::Parenthesis, what)
    }

    /// Whether another argument follows, not an attribute.
    fn has_more(&mut self) -> bool {
        if self.cursor.is_at_end() {
            return false;
        }
        let token = self.cursor.rest().split(|&byte| is_white(byte)).next().unwrap_or_default();
        if self.is_parenthesized {
            !token.starts_with(b")")
        } else {
            token.starts_with(b"\"") || !token.contains(&b'=')
        }
    }

    fn end(self) -> Result<(), Fault> {
        if self.is_parenthesized {
            self.cursor.skip_white();
            if !self.cursor.take(b')') {
                return Err(Fault::new(self.cursor.at, "the arguments do not end here").expected("`)`"));
            }
        }
        Ok(())
    }
}
