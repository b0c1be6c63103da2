//! Jepsen's EDN: maps, one after the other or in a vector. [`super::record`] says what the maps mean.
//!
//! A vector (or a list) is one history. Maps outside a vector are one history up to the next header. The file is read
//! byte by byte, since it may be a single line. Each form is kept as compact text, with single spaces between its
//! tokens, until its record is complete.

use std::ops::Range;

use super::builder::Preset;
use super::error::{Fault, InputError, utf8};
use super::input::{BytePosition, Input};
use super::numbers::{Inside, in_canonical_form};
use super::record::{Assembler, Field, Notation, Raw, Record};
use super::room::Room;
use super::string::{push_quoted, quoted_length, unquote};
use history::history::History;
use history::literal;
use history::value::{Value, Words, canonical_integer, quote};

/// The deepest nesting of forms that is read. No history needs a deeper one.
const MAX_DEPTH: usize = 200;
/// A longer form is refused, like a longer line.
const LONGEST_FORM: usize = 16 << 20;

/// Reads histories of EDN.
pub(super) struct EdnReader {
    scanner: Scanner,
    assembler: Assembler<Edn>,
    /// The bracket that ends the current vector.
    vector: Option<u8>,
    error: Option<InputError>,
    is_done: bool,
    room: Room,
}

struct Scanner {
    input: Input,
    depth: usize,
}

impl EdnReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self {
            scanner: Scanner { input, depth: 0 },
            assembler: Assembler::new(Edn, preset, false),
            vector: None,
            error: None,
            is_done: false,
            room: Room::new(),
        }
    }

    /// The next history; `None` at the end of the file.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        while !self.is_done {
            if let Err(fault) = self.room.check(&self.scanner.input, self.assembler.builder(), 0) {
                self.is_done = true;
                return Some(Err(self.scanner.input.refuse(fault)));
            }
            match self.step() {
                Ok(None) => {}
                Ok(Some(result)) => return Some(result),
                // After a syntax error, nobody knows where the next form begins.
                Err(fault) => {
                    self.is_done = true;
                    return Some(Err(self.scanner.input.error_at(self.scanner.input.place(), fault)));
                }
            }
        }
        None
    }

    /// Reads a map, a tag, or the beginning or the end of a vector.
    fn step(&mut self) -> Result<Option<Result<History, InputError>>, Fault> {
        let first = self.scanner.start()?;
        match first {
            Start::End if self.vector.is_some() => Err(Fault::new(0, "the file ends within a vector").expected("`]`")),
            Start::End => {
                self.is_done = true;
                Ok(self.assembler.end())
            }
            Start::Byte(byte @ (b'[' | b'(')) if self.vector.is_none() => {
                self.scanner.input.advance();
                self.vector = Some(if byte == b'[' { b']' } else { b')' });
                Ok(if self.assembler.has_operations() { self.assembler.end() } else { None })
            }
            Start::Byte(byte) if Some(byte) == self.vector => {
                self.scanner.input.advance();
                self.vector = None;
                self.assembler.begin();
                Ok(self.assembler.end())
            }
            Start::Byte(b'{') => self.map(),
            Start::Tag => self.scanner.token(&mut Vec::new()).map(|()| None),
            Start::Byte(byte) => {
                let message = format!("{} is not understood here", quote(&[byte]));
                Err(Fault::new(0, message).expected("a map `{:process 0, :f :read, …}`"))
            }
        }
    }

    fn map(&mut self) -> Result<Option<Result<History, InputError>>, Fault> {
        let line = self.scanner.input.line();
        let begin = self.scanner.input.place();
        let mut text = Vec::new();
        let mut fields = Vec::new();
        self.scanner.map(&mut text, &mut fields)?;
        let mut record = Record::default();
        for (field, range, place) in &fields {
            record.set(*field, Raw { text: &text[range.clone()], at: (place.offset - begin.offset) as usize });
        }
        let mut finished = None;
        if record.is_header() {
            finished = self.assembler.end();
        }
        if self.assembler.is_lost() {
            return Ok(None);
        }
        if let Err(fault) = self.assembler.push(&record, line) {
            self.assembler.give_up();
            // Faults count from the beginning of the map. The line is the line of the field.
            let offset = begin.offset + fault.at as u64;
            let places = fields.iter().map(|&(_, _, place)| place);
            let nearest = places.rev().find(|place| place.offset <= offset).unwrap_or(begin);
            let error = self.scanner.input.error_at(nearest.at(offset), fault);
            if finished.is_none() {
                return Ok(Some(Err(error)));
            }
            self.error = Some(error);
        }
        Ok(finished)
    }
}

const fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b',' || byte == 0x0b
}

const fn is_delimiter(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"' | b';')
}

/// The next token, after white space, comments and discarded forms.
#[derive(Copy, Clone)]
enum Start {
    End,
    /// This byte, which has not been taken.
    Byte(u8),
    /// A tag or a set. Its `#` has been taken.
    Tag,
}

impl Scanner {
    fn start(&mut self) -> Result<Start, Fault> {
        while let Some(byte) = self.input.peek_byte()? {
            match byte {
                _ if is_blank(byte) => self.input.advance(),
                b';' => {
                    while self.input.peek_byte()?.is_some_and(|byte| byte != b'\n') {
                        self.input.advance();
                    }
                }
                b'#' => {
                    self.input.advance();
                    if self.input.peek_byte()? != Some(b'_') {
                        return Ok(Start::Tag);
                    }
                    self.input.advance();
                    self.discard()?;
                }
                _ => return Ok(Start::Byte(byte)),
            }
        }
        Ok(Start::End)
    }

    fn discard(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        self.check_depth(0)?;
        let first = self.start()?;
        self.form(first, &mut Vec::new())?;
        self.depth -= 1;
        Ok(())
    }

    fn check_depth(&self, open: usize) -> Result<(), Fault> {
        if self.depth + open > MAX_DEPTH { Err(Fault::new(0, "forms are nested too deep")) } else { Ok(()) }
    }

    /// The known fields of a map, as ranges of `text`, and the positions of their values. The opening brace is next.
    fn map(&mut self, text: &mut Vec<u8>, fields: &mut Vec<(Field, Range<usize>, BytePosition)>) -> Result<(), Fault> {
        self.input.advance();
        let mut key = Vec::new();
        loop {
            let first = self.start()?;
            if let Start::Byte(b'}') = first {
                self.input.advance();
                return Ok(());
            }
            key.clear();
            self.form(first, &mut key)?;
            let first = self.start()?;
            if let Start::Byte(b'}') = first {
                return Err(Fault::new(0, format!("the key {} has no value", quote(&key))).expected("a value"));
            }
            let start = text.len();
            let place = self.input.place();
            self.form(first, text)?;
            match key.strip_prefix(b":").and_then(Field::from_name) {
                Some(field) => fields.push((field, start..text.len(), place)),
                None => text.truncate(start),
            }
        }
    }

    /// Appends the compact text of a form. Open brackets are on a stack. Only discarded forms recurse.
    fn form(&mut self, first: Start, out: &mut Vec<u8>) -> Result<(), Fault> {
        let base = out.len();
        let mut open = Vec::new();
        let mut next = first;
        loop {
            let is_separate = out.len() > base && !matches!(out.last(), Some(b'[' | b'(' | b'{'));
            let is_closing = matches!(next, Start::Byte(b']' | b')' | b'}'));
            if is_separate && !is_closing {
                out.push(b' ');
            }
            let mut is_complete = true;
            match next {
                Start::End => return Err(Fault::new(0, "the file ends within a form").expected("the rest of the form")),
                Start::Byte(byte @ (b'[' | b'(' | b'{')) => {
                    self.input.advance();
                    out.push(byte);
                    open.push(if byte == b'(' { b')' } else { byte + 2 });
                    self.check_depth(open.len())?;
                }
                Start::Byte(byte) if is_closing => {
                    if open.pop() != Some(byte) {
                        return Err(Fault::new(0, format!("{} closes nothing", quote(&[byte]))));
                    }
                    self.input.advance();
                    out.push(byte);
                }
                Start::Byte(b'"') => self.string(out)?,
                Start::Byte(_) => self.token(out)?,
                Start::Tag if self.input.peek_byte()? == Some(b'{') => {
                    self.input.advance();
                    out.extend_from_slice(b"#{");
                    open.push(b'}');
                    self.check_depth(open.len())?;
                }
                Start::Tag => {
                    out.push(b'#');
                    self.token(out)?;
                    is_complete = false;
                }
            }
            if is_complete && open.is_empty() {
                return Ok(());
            }
            check_length(out)?;
            next = self.start()?;
        }
    }

    fn string(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut is_escaped = true;
        loop {
            let Some(byte) = self.input.peek_byte()? else {
                return Err(Fault::new(0, "the file ends within a string").expected("a closing `\"`"));
            };
            self.input.advance();
            out.push(byte);
            check_length(out)?;
            if byte == b'"' && !is_escaped {
                return Ok(());
            }
            is_escaped = byte == b'\\' && !is_escaped;
        }
    }

    /// A number, keyword, symbol or character.
    fn token(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let base = out.len();
        while let Some(byte) = self.input.peek_byte()? {
            let is_character = out.len() == base + 1 && out[base] == b'\\';
            if is_delimiter(byte) && !is_character {
                break;
            }
            self.input.advance();
            out.push(byte);
            check_length(out)?;
        }
        if out.len() == base {
            Err(Fault::new(0, "a name is missing").expected("a name right after `#`"))
        } else {
            Ok(())
        }
    }
}

fn check_length(form: &[u8]) -> Result<(), Fault> {
    if form.len() > LONGEST_FORM {
        return Err(Fault::new(0, format!("a form longer than {} MiB", LONGEST_FORM >> 20)));
    }
    Ok(())
}

/// The elements between the brackets of a compact text; `None` if the text is not one collection.
fn elements<'a>(text: &'a [u8], brackets: [u8; 2]) -> Option<Vec<&'a [u8]>> {
    let inside = text.strip_prefix(&brackets[..1])?.strip_suffix(&brackets[1..])?;
    let mut elements: Vec<&'a [u8]> = Vec::new();
    let (mut at, mut start, mut depth) = (0, 0, 0usize);
    let mut is_tagged = false;
    while at < inside.len() {
        match inside[at] {
            b'"' => at += quoted_length(&inside[at..])?.0 - 1,
            b'\\' => at += 1,
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => depth = depth.checked_sub(1)?,
            b'#' if depth == 0 && at == start && inside.get(at + 1) != Some(&b'{') => is_tagged = true,
            b' ' if depth == 0 && !std::mem::take(&mut is_tagged) => {
                elements.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    if depth > 0 || at > inside.len() {
        return None;
    }
    elements.push(&inside[start..]);
    elements.retain(|element| !element.is_empty());
    Some(elements)
}

/// EDN's notation of values, in compact text.
pub(super) struct Edn;

impl Notation for Edn {
    fn scalar(&self, words: &mut Words, raw: Raw) -> Result<Value, Fault> {
        match raw.text {
            [b'"', .., b'"'] => Ok(words.word(&unquote(raw.text, raw.at)?)),
            b"nil" => Ok(Value::NULL),
            [b':', name @ ..] => Ok(words.word(utf8(name, raw.at)?)),
            text @ [b'[' | b'(' | b'{' | b'#', ..] => {
                utf8(text, raw.at)?;
                Ok(words.word(&String::from_utf8_lossy(&in_canonical_form(text, Inside::Edn))))
            }
            text => {
                let number = text.strip_suffix(b"N").unwrap_or(text);
                match canonical_integer(number) {
                    Some(value) => Ok(value),
                    None if literal::number(number).is_some() => Ok(words.string(utf8(number, raw.at)?)),
                    None => Ok(words.word(utf8(text, raw.at)?)),
                }
            }
        }
    }

    fn name<'a>(&self, raw: Raw<'a>) -> Option<&'a [u8]> {
        match raw.text {
            [b'"', inside @ .., b'"'] => Some(inside),
            [b':', name @ ..] => Some(name),
            text => Some(text),
        }
    }

    fn pair<'a>(&self, raw: Raw<'a>) -> Option<[Raw<'a>; 2]> {
        match elements(raw.text, *b"[]")?.as_slice() {
            &[first, second] => Some([first, second].map(|text| Raw { text, at: raw.at })),
            _ => None,
        }
    }

    fn elements<'a>(&self, raw: Raw<'a>) -> Option<Vec<Raw<'a>>> {
        let text = raw.text.strip_prefix(b"#").unwrap_or(raw.text);
        let brackets = match text.first()? {
            b'[' => *b"[]",
            b'(' => *b"()",
            b'{' if text.len() < raw.text.len() => *b"{}",
            _ => return None,
        };
        Some(elements(text, brackets)?.into_iter().map(|text| Raw { text, at: raw.at }).collect())
    }

    fn entries<'a>(&self, words: &mut Words, raw: Raw<'a>) -> Result<Option<Vec<(Value, Raw<'a>)>>, Fault> {
        let raws = |texts: Vec<&'a [u8]>| texts.into_iter().map(|text| Raw { text, at: raw.at }).collect::<Vec<_>>();
        let pairs: Option<Vec<[Raw<'a>; 2]>> = match (elements(raw.text, *b"{}"), elements(raw.text, *b"[]")) {
            (Some(flat), _) if flat.len() % 2 == 0 => {
                Some(raws(flat).chunks(2).map(|pair| [pair[0], pair[1]]).collect())
            }
            (_, Some(pairs)) => raws(pairs).into_iter().map(|pair| self.pair(pair)).collect(),
            _ => None,
        };
        let Some(pairs) = pairs else {
            return Ok(None);
        };
        let entry = |[name, value]: [Raw<'a>; 2]| Ok((self.scalar(words, name)?, value));
        pairs.into_iter().map(entry).collect::<Result<_, _>>().map(Some)
    }

    fn is_null(&self, raw: Raw) -> bool {
        raw.text == b"nil"
    }

    fn is_tester(&self, process: Raw) -> bool {
        process.text.starts_with(b":")
    }

    const HAS_TYPED_KEYS: bool = true;
    const SEPARATOR: &'static str = " ";
    const SET: [&'static str; 2] = ["#{", "}"];
    const ASSIGNMENT: &'static str = " ";
    const NULL: &'static str = "nil";

    fn push_field(&self, out: &mut Vec<u8>, is_first: bool, name: &str) {
        out.extend_from_slice(if is_first { b"{:" } else { b", :" });
        out.extend_from_slice(name.as_bytes());
        out.push(b' ');
    }

    fn push_name(&self, out: &mut Vec<u8>, name: &str) {
        out.push(b':');
        out.extend_from_slice(name.as_bytes());
    }

    fn push_word(&self, out: &mut Vec<u8>, word: &str) {
        push_quoted(out, word);
    }

    fn push_spelling(&self, out: &mut Vec<u8>, spelling: &str, canonical: &str) {
        // To Clojure, `010` is octal.
        let is_hexadecimal = spelling.contains(['x', 'X']);
        out.extend_from_slice(if is_hexadecimal { spelling } else { canonical }.as_bytes());
    }
}
