//! JSON Lines: one JSON object in each line. [`super::record`] says what the objects mean.
//!
//! A file may also be one array of such objects ([`ArrayReader`]). A line is scanned once. The known fields are kept as
//! pieces of the line, and are read when they are needed.

mod notation;
mod scan;

use super::builder::Preset;
use super::error::{Fault, InputError};
use super::input::Input;
use super::record::{Assembler, Field, Record};
use super::room::Room;
use history::history::History;
use history::value::quote;

pub(super) use notation::Json;
use scan::Scanner;

/// A longer object is refused, like a longer line.
const LONGEST_OBJECT: usize = 16 << 20;

/// Reads histories of JSON Lines.
pub(super) struct JsonReader {
    input: Input,
    assembler: Assembler<Json>,
    /// The error of a header. It was found while the history before it was still to be handed out.
    error: Option<InputError>,
    room: Room,
}

impl JsonReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, assembler: Assembler::new(Json, preset, false), error: None, room: Room::new() }
    }

    /// The next history; `None` at the end of the file.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        loop {
            if let Err(fault) = self.room.check(&self.input, self.assembler.builder(), 0) {
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
    room: Room,
}

impl ArrayReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        let assembler = Assembler::new(Json, preset, false);
        Self { input, assembler, is_inside: false, is_done: false, error: None, room: Room::new() }
    }

    /// The next history; `None` at the end of the array.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        while !self.is_done {
            if let Err(fault) = self.room.check(&self.input, self.assembler.builder(), 0) {
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
    let mut scanner = Scanner::new(line);
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
    let mut scanner = Scanner::new(text);
    scanner.value().is_ok() && scanner.at == text.len() && std::str::from_utf8(text).is_ok()
}
