//! JSON Lines: one JSON object in each line. [`super::record`] says what the objects mean.
//!
//! A file may also be one array of such objects ([`ArrayReader`]). A line is scanned once. The known fields are kept as
//! pieces of the line, and are read when they are needed.

use super::budget::Budget;
use super::builder::Preset;
use super::error::{Fault, InputError, quote, utf8};
use super::input::Input;
use super::record::{Assembler, Field, Notation, Raw, Record};
use super::string::{push_quoted, quoted_length, unquote};
use super::swar::{digit_count, load, plain_count};
use crate::history::History;
use crate::value::{Value, Words, canonical_integer};
use serde::{Deserialize, Serialize};

/// A longer object is refused, like a longer line.
const LONGEST_OBJECT: usize = 16 << 20;

/// Reads histories of JSON Lines.
pub(super) struct JsonReader {
    input: Input,
    assembler: Assembler<Json>,
    /// The error of a header. It was found while the history before it was still to be handed out.
    error: Option<InputError>,
    budget: Budget,
}

impl JsonReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, assembler: Assembler::new(Json, preset, false), error: None, budget: Budget::new() }
    }

    /// The next history; `None` at the end of the file.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        loop {
            if let Err(fault) = self.budget.check(&self.input, self.assembler.builder(), 0) {
                self.assembler.give_up();
                return Some(Err(self.input.refuse(fault)));
            }
            let (number, line) = match self.input.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return self.assembler.end(),
                Err(error) => {
                    self.assembler.give_up();
                    return Some(Err(error));
                }
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let mut record = Record::default();
            let read = read_object(line, &mut record);
            let mut finished = None;
            if read.is_ok() && record.is_header() {
                finished = self.assembler.end();
            }
            if self.assembler.is_lost() {
                continue;
            }
            if let Err(fault) = read.and_then(|()| self.assembler.push(&record, number)) {
                self.assembler.give_up();
                let error = fault.in_line(number, line);
                if finished.is_none() {
                    return Some(Err(error));
                }
                self.error = Some(error);
            }
            if finished.is_some() {
                return finished;
            }
        }
    }
}

/// Reads one array of the objects that JSON Lines would have in separate lines.
pub(super) struct ArrayReader {
    input: Input,
    assembler: Assembler<Json>,
    /// Whether the array has begun.
    is_inside: bool,
    is_done: bool,
    error: Option<InputError>,
    budget: Budget,
}

impl ArrayReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        let assembler = Assembler::new(Json, preset, false);
        Self { input, assembler, is_inside: false, is_done: false, error: None, budget: Budget::new() }
    }

    /// The next history; `None` at the end of the array.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        while !self.is_done {
            if let Err(fault) = self.budget.check(&self.input, self.assembler.builder(), 0) {
                self.is_done = true;
                return Some(Err(self.input.refuse(fault)));
            }
            match self.step() {
                Ok(None) => {}
                Ok(Some(result)) => return Some(result),
                Err(fault) => {
                    self.is_done = true;
                    return Some(Err(self.input.error_at(self.input.place(), fault)));
                }
            }
        }
        None
    }

    fn skip_white(&mut self) -> Result<Option<u8>, Fault> {
        while let Some(byte) = self.input.peek_byte()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.input.advance();
        }
        Ok(None)
    }

    /// Reads an object and the separator after it, or the beginning or the end of the array.
    fn step(&mut self) -> Result<Option<Result<History, InputError>>, Fault> {
        match (self.skip_white()?, self.is_inside) {
            (Some(b'['), false) => {
                self.input.advance();
                self.is_inside = true;
                Ok(None)
            }
            (Some(b'{'), true) => {
                let finished = self.object()?;
                match self.skip_white()? {
                    Some(b',') => self.input.advance(),
                    Some(b']') => {}
                    _ => return Err(Fault::new(0, "this does not continue the array").expected("`,` or `]`")),
                }
                Ok(finished)
            }
            (Some(b']'), true) => {
                self.input.advance();
                if self.skip_white()?.is_some() {
                    return Err(Fault::new(0, "there is something after the array").expected("the end of the file"));
                }
                self.is_done = true;
                self.assembler.begin();
                Ok(self.assembler.end())
            }
            (None, _) => Err(Fault::new(0, "the file ends within the array").expected("`]`")),
            (Some(byte), _) => {
                let message = format!("{} is not understood here", quote(&[byte]));
                Err(Fault::new(0, message).expected("a JSON object"))
            }
        }
    }

    fn object(&mut self) -> Result<Option<Result<History, InputError>>, Fault> {
        let (line, begin) = (self.input.line(), self.input.place());
        let text = object_text(&mut self.input)?;
        let mut record = Record::default();
        let read = read_object(&text, &mut record);
        let mut finished = None;
        if read.is_ok() && record.is_header() {
            finished = self.assembler.end();
        }
        if self.assembler.is_lost() {
            return Ok(finished);
        }
        if let Err(fault) = read.and_then(|()| self.assembler.push(&record, line)) {
            self.assembler.give_up();
            let error = self.input.error_at(begin.within(&text, fault.at), fault);
            if finished.is_none() {
                return Ok(Some(Err(error)));
            }
            self.error = Some(error);
        }
        Ok(finished)
    }
}

/// The text of the next object of an input, up to its closing brace.
pub(super) fn object_text(input: &mut Input) -> Result<Vec<u8>, Fault> {
    let mut text = Vec::new();
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    while let Some(byte) = input.peek_byte()? {
        input.advance();
        text.push(byte);
        if text.len() > LONGEST_OBJECT {
            return Err(Fault::new(0, format!("an object longer than {} MiB", LONGEST_OBJECT >> 20)));
        }
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b'{' | b'[' if !is_string => depth += 1,
            b'}' | b']' if !is_string => {
                depth -= 1;
                if depth == 0 {
                    return Ok(text);
                }
            }
            _ => {}
        }
    }
    Err(Fault::new(0, "the file ends within an object").expected("`}`"))
}

/// Reads the known fields of the object in a line.
pub(super) fn read_object<'a>(line: &'a [u8], record: &mut Record<'a>) -> Result<(), Fault> {
    let mut scanner = Scanner { bytes: line, at: 0 };
    scanner.skip_white();
    scanner.members(|name, raw| {
        // A name with escapes is none of ours: nobody would write our names with escapes.
        if let Some(field) = Field::from_name(&name.text[1..name.text.len() - 1]) {
            record.set(field, raw);
        }
    })?;
    scanner.skip_white();
    if scanner.at < line.len() {
        let message = format!("{} after the object", quote(&line[scanner.at..]));
        return Err(Fault::new(scanner.at, message).expected("one JSON object a line"));
    }
    Ok(())
}

/// Whether a text is one value of JSON.
#[cfg(feature = "arrow")]
pub(super) fn is_value(text: &[u8]) -> bool {
    let mut scanner = Scanner { bytes: text, at: 0 };
    scanner.value().is_ok() && scanner.at == text.len() && std::str::from_utf8(text).is_ok()
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    fn skip_white(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let message = match self.bytes.get(self.at..) {
            None | Some([]) => "the line ends too early".to_owned(),
            Some(rest) => {
                let end = rest.iter().position(|&byte| matches!(byte, b',' | b':' | b'}' | b']' | b' '));
                format!("{} is not understood here", quote(&rest[..end.unwrap_or(rest.len()).max(1)]))
            }
        };
        Fault::new(self.at, message).expected(expected)
    }

    /// The members of an object: names with their quotes, and values.
    fn members(&mut self, mut each: impl FnMut(Raw<'a>, Raw<'a>)) -> Result<(), Fault> {
        if !self.take(b'{') {
            return Err(self.unexpected("a JSON object"));
        }
        self.skip_white();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.skip_white();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("the name of a field in double quotes"));
            }
            let start = self.at;
            self.string()?;
            let name = Raw { text: &self.bytes[start..self.at], at: start };
            self.skip_white();
            if !self.take(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.skip_white();
            let value = self.value()?;
            each(name, value);
            self.skip_white();
            if self.take(b'}') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
    }

    /// The elements of an array.
    fn elements(&mut self, mut each: impl FnMut(Raw<'a>)) -> Result<(), Fault> {
        if !self.take(b'[') {
            return Err(self.unexpected("an array"));
        }
        self.skip_white();
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.skip_white();
            each(self.value()?);
            self.skip_white();
            if self.take(b']') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    /// Any value.
    #[inline]
    fn value(&mut self) -> Result<Raw<'a>, Fault> {
        let start = self.at;
        match self.peek() {
            Some(b'[' | b'{') => self.nested()?,
            _ => self.simple()?,
        }
        Ok(Raw { text: &self.bytes[start..self.at], at: start })
    }

    /// A string, a number, or a literal.
    #[inline]
    fn simple(&mut self) -> Result<(), Fault> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        match rest.first() {
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => match number_length(rest) {
                Some(length) => self.at += length,
                None => return Err(self.unexpected("a number")),
            },
            _ => self.literal()?,
        }
        Ok(())
    }

    fn literal(&mut self) -> Result<(), Fault> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        match [&b"null"[..], b"true", b"false"].into_iter().find(|literal| rest.starts_with(literal)) {
            Some(literal) => self.at += literal.len(),
            None => return Err(self.unexpected("a JSON value")),
        }
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<(), Fault> {
        let mut at = self.at + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let plain = plain_count(load(rest)) as usize;
            at += plain;
            match rest.get(plain) {
                _ if plain == 8 => {}
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(_) => return Err(Fault::new(at, "a control character in a string").expected("an escape")),
                None => return Err(Fault::new(self.at, "this string has no end").expected("a closing `\"`")),
            }
        }
        self.at = at + 1;
        Ok(())
    }

    /// An array or an object, of any depth. Open brackets are on a stack, without recursion.
    fn nested(&mut self) -> Result<(), Fault> {
        let mut open = Vec::new();
        loop {
            self.skip_white();
            // A value begins here, or the array or object that was just opened is empty.
            match self.peek() {
                Some(byte @ (b'[' | b'{')) => {
                    open.push(byte + 2);
                    self.at += 1;
                    self.skip_white();
                    if self.peek() != open.last().copied() {
                        if byte == b'{' {
                            self.member_name()?;
                        }
                        continue;
                    }
                }
                _ => self.simple()?,
            }
            // A value has ended here, or an empty array or object is about to end.
            loop {
                let Some(&close) = open.last() else {
                    return Ok(());
                };
                self.skip_white();
                if self.take(close) {
                    open.pop();
                    continue;
                }
                if !self.take(b',') {
                    return Err(self.unexpected(if close == b'}' { "`,` or `}`" } else { "`,` or `]`" }));
                }
                if close == b'}' {
                    self.skip_white();
                    self.member_name()?;
                }
                break;
            }
        }
    }

    fn member_name(&mut self) -> Result<(), Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("the name of a field in double quotes"));
        }
        self.simple()?;
        self.skip_white();
        if self.take(b':') { Ok(()) } else { Err(self.unexpected("`:`")) }
    }
}

/// The length of the number at the beginning of `bytes`, by JSON's grammar.
fn number_length(bytes: &[u8]) -> Option<usize> {
    let count = digit_count(load(bytes)) as usize;
    let is_short = (1..8).contains(&count) && !matches!(bytes.get(count), Some(b'.' | b'e' | b'E'));
    if is_short && (bytes[0] != b'0' || count == 1) {
        return Some(count);
    }
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && bytes[at] == b'0') {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at.min(bytes.len()));
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    Some(at)
}

/// The text of a value without white space between its tokens.
fn compact(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let length = match text[at] {
            b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            b'"' => quoted_length(&text[at..]).map_or(1, |(length, _)| length),
            _ => 1,
        };
        out.extend_from_slice(&text[at..at + length]);
        at += length;
    }
    out
}

/// JSON's notation of values.
#[derive(Serialize, Deserialize)]
pub(super) struct Json;

impl Notation for Json {
    fn scalar(&self, words: &mut Words, raw: Raw) -> Result<Value, Fault> {
        match raw.text {
            [b'"', inside @ .., b'"'] => {
                if memchr::memchr(b'\\', inside).is_some() {
                    Ok(words.word(&unquote(raw.text, raw.at)?))
                } else {
                    Ok(words.word(utf8(inside, raw.at + 1)?))
                }
            }
            b"null" => Ok(Value::NULL),
            b"true" => Ok(Value::TRUE),
            b"false" => Ok(Value::FALSE),
            [b'[' | b'{', ..] => {
                utf8(raw.text, raw.at)?;
                Ok(words.word(&String::from_utf8_lossy(&compact(raw.text))))
            }
            text => match canonical_integer(text) {
                Some(value) => Ok(value),
                None => Ok(words.word(utf8(text, raw.at)?)),
            },
        }
    }

    fn name<'a>(&self, raw: Raw<'a>) -> Option<&'a [u8]> {
        match raw.text {
            [b'"', inside @ .., b'"'] => Some(inside),
            _ => None,
        }
    }

    fn pair<'a>(&self, raw: Raw<'a>) -> Option<[Raw<'a>; 2]> {
        if raw.text.first() != Some(&b'[') {
            return None;
        }
        let mut found = [None; 2];
        let mut count = 0;
        let shift = |element: Raw<'a>| Raw { at: element.at + raw.at, ..element };
        let mut scanner = Scanner { bytes: raw.text, at: 0 };
        let each = |element| {
            if let Some(slot) = found.get_mut(count) {
                *slot = Some(shift(element));
            }
            count += 1;
        };
        scanner.elements(each).ok()?;
        if count == 2 { Some([found[0]?, found[1]?]) } else { None }
    }

    fn elements<'a>(&self, raw: Raw<'a>) -> Option<Vec<Raw<'a>>> {
        let mut found = Vec::new();
        let mut scanner = Scanner { bytes: raw.text, at: 0 };
        scanner.elements(|element| found.push(Raw { at: element.at + raw.at, ..element })).ok()?;
        Some(found)
    }

    fn entries<'a>(&self, words: &mut Words, raw: Raw<'a>) -> Result<Option<Vec<(Value, Raw<'a>)>>, Fault> {
        let mut scanner = Scanner { bytes: raw.text, at: 0 };
        let mut found = Vec::new();
        let shift = |inner: Raw<'a>| Raw { at: inner.at + raw.at, ..inner };
        match raw.text.first() {
            Some(b'{') => {
                scanner.members(|name, value| found.push((shift(name), shift(value))))?;
                let entry = |(name, value): (Raw<'a>, Raw<'a>)| {
                    let name = unquote(name.text, name.at)?;
                    Ok((words.value(&name), value))
                };
                found.into_iter().map(entry).collect::<Result<_, _>>().map(Some)
            }
            Some(b'[') => {
                let mut pairs = Vec::new();
                scanner.elements(|element| pairs.push(self.pair(shift(element))))?;
                let Some(pairs) = pairs.into_iter().collect::<Option<Vec<_>>>() else {
                    return Ok(None);
                };
                let entry = |[name, value]: [Raw<'a>; 2]| Ok((self.scalar(words, name)?, value));
                pairs.into_iter().map(entry).collect::<Result<_, _>>().map(Some)
            }
            _ => Ok(None),
        }
    }

    fn is_null(&self, raw: Raw) -> bool {
        raw.text == b"null"
    }

    fn is_tester(&self, _: Raw) -> bool {
        false
    }

    const HAS_TYPED_KEYS: bool = false;
    const SEPARATOR: &'static str = ",";
    const SET: [&'static str; 2] = ["[", "]"];
    const ASSIGNMENT: &'static str = ":";
    const NULL: &'static str = "null";

    fn push_field(&self, out: &mut Vec<u8>, is_first: bool, name: &str) {
        out.push(if is_first { b'{' } else { b',' });
        push_quoted(out, name);
        out.push(b':');
    }

    fn push_name(&self, out: &mut Vec<u8>, name: &str) {
        push_quoted(out, name);
    }
}
