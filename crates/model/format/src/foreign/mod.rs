//! Records of other tools in JSON, which are translated one by one into records of JSON Lines.
//!
//! What a tool says of an operation is in fields of its own, so each tool has a translator: [`porcupine`] and
//! [`tipocket`]. A translator answers three things of a record: what it means, that it says nothing about consistency
//! and is left out (which is counted, and told by [`super::Reader::dropped`]), or why it cannot be judged. A record
//! that cannot be left out without changing the verdict is an error, so a translation never makes a violation.

mod porcupine;
mod tipocket;

use history::value::quote;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{fs, io};

use serde::de::DeserializeOwned;

use super::builder::Preset;
use super::error::{Fault, InputError};
use super::input::{BytePosition, Input};
use super::json::{Json, object_text, read_object};
use super::record::{Assembler, Record};
use super::room::Room;
use history::history::History;

pub(super) use porcupine::{client_files, is_operation};
pub(super) use tipocket::is_record;

/// Which tool wrote the records.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Porcupine,
    Tipocket,
}

/// Reads the one history of a file, or of several files that belong together.
pub(super) struct ForeignReader {
    /// The files, each with its name if there are several.
    inputs: Vec<(Option<String>, Input)>,
    preset: Preset,
    tool: Tool,
    is_done: bool,
    dropped: Dropped,
}

/// What was left out, and how many times.
#[derive(Default)]
struct Dropped(BTreeMap<&'static str, u64>);

impl Dropped {
    fn note(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

/// An event of a history, as a record of JSON Lines, and where it stands.
struct ForeignEvent {
    text: String,
    line: u32,
}

/// What a tool says of one record, and where.
struct Source<'a> {
    text: &'a [u8],
    line: u32,
}

impl Source<'_> {
    /// The record as a type of its own.
    fn parse<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        serde_json::from_slice(self.text).map_err(|error| {
            let lines = self.text.split_inclusive(|&byte| byte == b'\n');
            let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            Fault::new(before + error.column().saturating_sub(1), message)
        })
    }

    /// A fault of the whole record.
    fn fault(message: impl Into<String>) -> Fault {
        Fault::new(0, message)
    }
}

impl ForeignReader {
    pub fn new(inputs: Vec<(Option<String>, Input)>, preset: Preset, tool: Tool) -> Self {
        Self { inputs, preset, tool, is_done: false, dropped: Dropped::default() }
    }

    /// What was left out, in words.
    pub fn dropped(&self) -> Vec<String> {
        self.dropped.0.iter().map(|(what, count)| format!("{what}: {count}")).collect()
    }

    /// The one history.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        (!std::mem::replace(&mut self.is_done, true)).then(|| self.read())
    }

    fn read(&mut self) -> Result<History, InputError> {
        let mut porcupine = porcupine::Rows::default();
        let mut tipocket = tipocket::Events::default();
        let empty = Assembler::new(Json, self.preset.clone(), false);
        for (name, mut input) in std::mem::take(&mut self.inputs) {
            let named = |error: InputError| match &name {
                Some(name) => InputError { message: format!("{}: {}", history::visible(name), error.message), ..error },
                None => error,
            };
            let mut room = Room::new();
            loop {
                let taken = porcupine.footprint() + tipocket.footprint();
                room.check(&input, empty.builder(), taken).map_err(|fault| named(input.refuse(fault)))?;
                let Some((place, line, text)) = next_object(&mut input).map_err(named)? else { break };
                let source = Source { text: &text, line };
                let translated = match self.tool {
                    Tool::Porcupine => porcupine.add(&source, &mut self.dropped),
                    Tool::Tipocket => tipocket.add(&source, &mut self.dropped),
                };
                translated.map_err(|fault| named(input.error_at(place.within(&text, fault.at), fault)))?;
            }
        }
        let events = match self.tool {
            Tool::Porcupine => porcupine.events(),
            Tool::Tipocket => tipocket.events(),
        };
        self.assemble(&events)
    }

    /// The history of these records. The translators know what they write, so a fault here is one of the history: a
    /// process that calls twice, a value that does not fit.
    fn assemble(&self, events: &[ForeignEvent]) -> Result<History, InputError> {
        let mut assembler = Assembler::new(Json, self.preset.clone(), false);
        for ForeignEvent { text, line } in events {
            let mut record = Record::default();
            let pushed = read_object(text.as_bytes(), &mut record).and_then(|()| assembler.push(&record, *line));
            pushed.map_err(|fault| fault.in_line(*line, text.as_bytes()))?;
        }
        let none = || Fault::new(0, "no history in this file").expected("at least one operation").in_line(1, b"");
        assembler.end().unwrap_or_else(|| Err(none()))
    }
}

/// The next object of a file, its place and its line. Objects stand one after the other, or in an array.
fn next_object(input: &mut Input) -> Result<Option<(BytePosition, u32, Vec<u8>)>, InputError> {
    let found = (|| {
        while let Some(byte) = input.peek_byte()? {
            match byte {
                b'{' => {
                    let (place, line) = (input.place(), input.line());
                    return Ok(Some((place, line, object_text(input)?)));
                }
                b'[' | b']' | b',' => input.advance(),
                _ if byte.is_ascii_whitespace() => input.advance(),
                _ => {
                    let message = format!("{} is not understood here", quote(&[byte]));
                    return Err(Fault::new(0, message).expected("a JSON object"));
                }
            }
        }
        Ok(None)
    })();
    found.map_err(|fault| input.error_at(input.place(), fault))
}

/// A reader of the one history of a folder with a file for each client.
pub(super) fn read_clients(entries: &[PathBuf], preset: Preset) -> io::Result<Result<ForeignReader, InputError>> {
    let mut inputs = Vec::new();
    for (name, path) in client_files(entries) {
        let file = fs::File::open(path)?;
        let size = file.metadata()?.len();
        match Input::new(Box::new(file), Some(size), &preset.allowance) {
            Ok(input) => inputs.push((Some(name), input)),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(ForeignReader::new(inputs, preset, Tool::Porcupine)))
}
