//! Reads the common lines of the text format fast, such as `[3] w.rel x17 12345`, `[3] call enqueue 5`, `[3] return 5`.
//!
//! Each field is found and decoded in machine words, without a branch on its length. The meaning of names comes from
//! the general reader, which enters it into [`Seen`]. This reader leaves a line to the general reader in three cases:
//! the line has another shape, it has a name that is new in this history, or the [`Builder`] would refuse it. So this
//! reader never disagrees with the general one.

use std::hint::select_unpredictable;

use super::super::builder::Builder;
use super::super::stream::{StreamEvent, What};
use super::super::swar::{before, digit_count, number, repeat, zeros};
use super::seen::Seen;
use history::history::{KeyId, MemoryOrder, Method, Operation, OperationId, Outcome, ProcessId};
use history::value::Value;

/// The bytes of a line that the fast reader looks at. A longer line is left to the general reader.
type Window = [u8; 96];

/// Reads lines as long as they have a common shape. Returns how many bytes and lines it has read.
pub(super) fn read_lines(builder: &mut Builder, seen: &Seen, bytes: &[u8], first_line: u32) -> (usize, u32) {
    let mut at = 0;
    let mut line = first_line;
    let is_instant = builder.is_instant();
    while let Some(window) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let length = if is_instant {
            read_access(seen, window, line).and_then(|(access, length)| {
                builder.push_instant(access)?;
                Some(length)
            })
        } else {
            read_call_or_return(builder, seen, window, line).map(|event| event.length)
        };
        let Some(length) = length else { break };
        at += length;
        line += 1;
    }
    (at, line - first_line)
}

/// The event of the first line of `bytes` and the length of that line, if the line has a common shape. For a stream.
#[inline]
pub(in super::super) fn read_event(
    builder: &mut Builder,
    seen: &Seen,
    bytes: &[u8],
    line: u32,
) -> Option<(StreamEvent, usize)> {
    let window = bytes.first_chunk()?;
    if builder.is_instant() {
        let (access, length) = read_access(seen, window, line)?;
        return Some((StreamEvent::new(What::Instant, access), length));
    }
    let BuiltEvent { id, what, expected, length } = read_call_or_return(builder, seen, window, line)?;
    Some((StreamEvent { expected, ..StreamEvent::new(what, *builder.so_far().operation(id)) }, length))
}

#[inline]
fn load(window: &Window, at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*window.get(at..)?.first_chunk()?))
}

/// How many bytes come before the first white space or control character; eight if there is none.
#[inline]
const fn token_length(text: u64) -> u32 {
    before(text.wrapping_sub(repeat(b' ' + 1)) & !text & repeat(0x80))
}

/// The first `count` bytes, at most eight.
#[inline]
const fn first_bytes(text: u64, count: u32) -> u64 {
    const MASKS: [u64; 16] = {
        let mut masks = [u64::MAX; 16];
        let mut count = 0;
        while count < 8 {
            masks[count] = (1 << (8 * count)) - 1;
            count += 1;
        }
        masks
    };
    text & MASKS[count as usize & 15]
}

/// Whether a number of that many digits begins with a needless zero. Such a text is a word.
#[inline]
const fn has_leading_zero(digits: u64, count: u32) -> bool {
    (digits as u8 == b'0') & (count > 1)
}

/// The process in `[17]`, and the offset of its closing bracket.
#[inline]
fn read_process(seen: &Seen, window: &Window) -> Option<(ProcessId, usize)> {
    let start = load(window, 0)?;
    let length = before(zeros(start ^ repeat(b']')));
    let process = seen.process(first_bytes(start, length + 1) >> 8)?;
    ((start as u8 == b'[') & (length < 8)).then_some((process, length as usize))
}

/// The key that begins at `at`, and the offset of its end.
#[inline]
fn read_key(seen: &Seen, window: &Window, at: usize) -> Option<(KeyId, usize)> {
    let text = load(window, at)?;
    let length = token_length(text);
    Some((seen.key(first_bytes(text, length))?, at + length as usize))
}

/// The length of the line, newline included, if it ends at `at`.
#[inline]
fn line_length(window: &Window, at: usize) -> Option<usize> {
    match window.get(at..at + 2)? {
        [b'\n', _] => Some(at + 1),
        b"\r\n" => Some(at + 2),
        _ => None,
    }
}

/// The number of at most eight digits that begins at `at`, and the offset of its end.
#[inline]
fn read_number(window: &Window, at: usize) -> Option<(Value, usize)> {
    let text = load(window, at)?;
    let count = digit_count(text);
    if (count == 0) | has_leading_zero(text, count) {
        return None;
    }
    Some((Value::small(number(text, count) as u32), at + count as usize))
}

/// An instant of a memory, and the length of its line.
#[inline]
fn read_access(seen: &Seen, window: &Window, line: u32) -> Option<(Operation, usize)> {
    let (process, at) = read_process(seen, window)?;
    let text = load(window, at)?;
    // Reads and writes alternate at random, so no branch depends on which one it is. `r` and `w` differ in bits 0 and
    // 2.
    let letter = text >> 16;
    let is_plain = (text as u32 | 0x0005_0000) == u32::from_le_bytes(*b"] w ") && (letter ^ letter >> 2) & 1 == 0;
    if !(is_plain && seen.knows_accesses()) {
        return read_other_access(seen, window, line, process, at);
    }
    let is_write = letter & 1 == 1;
    let (key, at) = read_key(seen, window, at + 4)?;
    let (value, end) = read_number(window, at + 1)?;
    let operation = Operation {
        process,
        key,
        line,
        method: select_unpredictable(is_write, Method::Write, Method::Read),
        order: MemoryOrder::Plain,
        outcome: Outcome::Instant,
        argument: select_unpredictable(is_write, value, Value::NONE),
        result: select_unpredictable(is_write, Value::NONE, value),
    };
    let length = line_length(window, end)?;
    (window[at] == b' ').then_some((operation, length))
}

/// An access that is not a plain read or write: with a memory order, a read-modify-write, or a fence.
#[inline]
fn read_other_access(
    seen: &Seen,
    window: &Window,
    line: u32,
    process: ProcessId,
    at: usize,
) -> Option<(Operation, usize)> {
    let text = load(window, at + 2)?;
    let length = token_length(text);
    let verb = seen.access(first_bytes(text, length))?;
    if load(window, at)? as u16 != u16::from_le_bytes(*b"] ") {
        return None;
    }
    let mut at = at + 2 + length as usize;
    let (mut key, mut argument, mut result) = (KeyId::NONE, Value::NONE, Value::NONE);
    if verb.has_key {
        let first;
        (key, at) = read_key(seen, window, at + 1).filter(|_| window[at] == b' ')?;
        (first, at) = read_number(window, at + 1).filter(|_| window[at] == b' ')?;
        let is_write = verb.method == Method::Write;
        argument = select_unpredictable(is_write, first, Value::NONE);
        result = select_unpredictable(is_write, Value::NONE, first);
        if verb.values == 2 {
            (argument, at) = read_number(window, at + 1).filter(|_| window[at] == b' ')?;
        }
    }
    let (method, order, outcome) = (verb.method, verb.order, Outcome::Instant);
    Some((Operation { process, key, line, method, order, outcome, argument, result }, line_length(window, at)?))
}

/// The words that are the same value in every history, by the lower bits of their first byte.
const WORDS: [(u64, Value); 16] = {
    const fn packed(text: [u8; 5], value: Value) -> (u64, Value) {
        let [a, b, c, d, e] = text;
        (u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]), value)
    }
    let mut words = [(0, Value::NONE); 16];
    words[(b't' & 15) as usize] = packed(*b"true\0", Value::TRUE);
    words[(b'f' & 15) as usize] = packed(*b"false", Value::FALSE);
    words[(b'e' & 15) as usize] = packed(*b"empty", Value::EMPTY);
    words[(b'n' & 15) as usize] = packed(*b"null\0", Value::NULL);
    words
};

/// The value after a space at `at`, and the offset of its end; [`Value::NONE`] if the line ends at `at`.
#[allow(clippy::inline_always)] // a call would be a good part of what reading a line costs
#[inline(always)]
fn read_value(window: &Window, at: usize) -> Option<(Value, usize)> {
    let is_more = *window.get(at)? == b' ';
    let at = at + usize::from(is_more);
    let text = load(window, at)?;
    // Without a space the length is zero, and the line must end here.
    let length = token_length(text) * u32::from(is_more);
    if length == 8 {
        return read_long_number(window, at);
    }
    // Numbers, words and missing values alternate at random, so no branch depends on which one it is.
    let (word, meaning) = WORDS[(text & 15) as usize];
    let is_word = word == first_bytes(text, length);
    let is_number = (digit_count(text) >= length) & !has_leading_zero(text, length);
    if !is_word & !is_number {
        return None;
    }
    let number = Value::small(number(text, length.max(1)) as u32);
    let value = select_unpredictable(is_word, meaning, number);
    Some((select_unpredictable(length == 0, Value::NONE, value), at + length as usize))
}

/// A number of eight to fifteen digits.
fn read_long_number(window: &Window, at: usize) -> Option<(Value, usize)> {
    const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let (text, rest) = (load(window, at)?, load(window, at + 8)?);
    let length = token_length(rest);
    let power = POWERS.get(length as usize)?;
    if digit_count(text) < 8 || digit_count(rest) < length || has_leading_zero(text, 8) {
        return None;
    }
    let low = if length == 0 { 0 } else { number(rest, length) };
    Some((Value::integer((number(text, 8) * power + low) as i64)?, at + 8 + length as usize))
}

/// A call or a return that the builder has taken.
struct BuiltEvent {
    id: OperationId,
    what: What,
    expected: Value,
    /// The length of the line.
    length: usize,
}

/// Reads a call or a return, and adds it to the builder.
#[allow(clippy::inline_always)]
#[inline(always)]
fn read_call_or_return(builder: &mut Builder, seen: &Seen, window: &Window, line: u32) -> Option<BuiltEvent> {
    let (process, at) = read_process(seen, window)?;
    let text = load(window, at)?;
    if text == u64::from_le_bytes(*b"] return") {
        let (given, end) = read_value(window, at + 8)?;
        let length = line_length(window, end)?;
        let id = builder.open(process).filter(|_| !builder.has_announced())?;
        let result = builder.so_far().operation(id).method.returns().plain(given)?;
        builder.close(id, Outcome::Ok, result)?;
        return Some(BuiltEvent { id, what: What::End, expected: Value::NONE, length });
    }
    if text << 8 != u64::from_le_bytes(*b"\0] call ") {
        return None;
    }
    let at = at + 7;
    let text = load(window, at)?;
    let verb = seen.called(first_bytes(text, token_length(text)))?;
    if load(window, at + 8)? & verb.mask != verb.rest {
        return None;
    }
    let mut at = at + usize::from(verb.length);
    let mut key = KeyId::NONE;
    if verb.has_key {
        (key, at) = read_key(seen, window, at + 1).filter(|_| window[at] == b' ')?;
    }
    let (mut argument, mut expected) = (Value::NONE, Value::NONE);
    if !seen.has_keys() || verb.values > 0 {
        (argument, at) = read_value(window, at)?;
        if verb.values == 2 {
            expected = argument;
            (argument, at) = read_value(window, at)?;
        }
    }
    if argument.is_some() != (verb.values > 0) {
        return None;
    }
    if seen.has_keys() && !verb.has_key && load(window, at)? << 24 == u64::from_le_bytes(*b"\0\0\0 key=") {
        (key, at) = read_key(seen, window, at + 5)?;
    }
    let length = line_length(window, at)?;
    let (method, order, outcome, result) = (verb.method, verb.order, Outcome::Pending, Value::NONE);
    let operation = Operation { process, key, line, method, order, outcome, argument, result };
    let id = builder.called(operation, expected)?;
    Some(BuiltEvent { id, what: What::Call, expected, length })
}
