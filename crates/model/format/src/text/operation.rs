//! A line that is a call or an instant: `[process] method arguments attributes`.
//!
//! The method may have a memory order (`w.rel`). An instant of an object other than a memory has its result after `=>`.
//! The attributes `key=`, `id=`, `from=`, `po=` and `time=` follow in any order, each at most once.

use super::arguments::Arguments;
use super::line::{Cursor, Until, is_white};
use super::seen::Seen;
use crate::builder::Builder;
use crate::error::{Fault, utf8};
use history::Returns;
use history::builder::Call;
use history::history::{KeyId, MemoryOrder, Method, Object, OperationId, ProcessId};
use history::value::{Value, quote};

/// The beginning of a line that is a call or an instant.
pub(super) struct EventLine {
    pub(super) process: ProcessId,
    pub(super) line: u32,
    pub(super) at: usize,
    pub(super) has_call: bool,
}

impl EventLine {
    pub(super) fn read_operation(
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
        let is_memory = builder.so_far().object() == Object::Memory;
        if order != MemoryOrder::Plain && !is_memory {
            let message = format!("a method of a {} has no memory order", builder.so_far().object().name());
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
            let key = arguments.next_name(builder, "a key")?;
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
                given = cursor.value(builder.words_mut(), Until::White, "a result")?;
            }
            given = meant_set(builder, method.returns(), given);
            call.result = method.returns().result(given).map_err(|expected| {
                let name = builder.so_far().object().method_name(method);
                Fault::new(start, format!("this is not what {name} returns")).expected(format!("`=>` and {expected}"))
            })?;
        }
        self.read_attributes(builder, seen, cursor, call)?;
        if !is_parenthesized {
            seen.insert_verb(text, builder.so_far().object(), method, order, self.has_call);
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
            call.result = cursor.value(builder.words_mut(), Until::White, "a result")?;
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
                b"key" if builder.so_far().object() == Object::Memory => {
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
            let words = builder.words_mut();
            match name {
                b"key" => {
                    let start = cursor.at;
                    let key = words.naming(|words| cursor.value(words, Until::White, "a key"))?;
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

/// For a method that returns a whole set: the set that a text lists; none if the text lists none. For another method:
/// the given value.
pub(super) fn meant_set(builder: &mut Builder, returns: Returns, given: Value) -> Value {
    if returns == Returns::Whole { builder.listed_set(given).unwrap_or(Value::NONE) } else { given }
}
