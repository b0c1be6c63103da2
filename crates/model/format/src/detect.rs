//! Detects the format of an input.
//!
//! The first line that is neither blank nor a comment decides, unless a comment before it does (`# @object`). An input
//! that might be a history of some format is read in that format, and its errors are those of that format. A file that
//! was found in a directory must meet a stricter test: its first line must have the form of a history.

use std::fs::File;
use std::io;
use std::path::Path;

use super::allowance::Allowance;
use super::error::{Fault, InputError};
use super::input::Input;
use super::intervals::{is_row, object_of};
use super::methods::infer_object;
use super::{Format, awdit, csv, dbcop, foreign, jepsen_log, plume};
use history::history::Object;

/// The extension in lower case. The extensions `.gz` and `.zst` are ignored.
pub(super) fn extension(path: &Path) -> Option<String> {
    let of = |path: &Path| path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    match of(path)?.as_str() {
        "gz" | "zst" => of(Path::new(path.file_stem()?)),
        extension => Some(extension.to_owned()),
    }
}

/// Whether a file that was found in a directory is a history, by its extension (also `.log`), else by its content.
pub fn looks_like_history(path: &Path) -> io::Result<bool> {
    if has_known_extension(path) {
        return Ok(true);
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Ok(super::is_history_folder(&super::entries(path)?));
    }
    let size = metadata.is_file().then_some(metadata.len());
    Ok(Input::new(Box::new(file), size, &Allowance::default()).is_ok_and(|mut input| is_certain(&mut input)))
}

/// Whether only histories have the extension of this file.
pub(super) fn has_known_extension(path: &Path) -> bool {
    let known =
        ["hist", "jsonl", "edn", "axe", "log", "jepsen", "bincode", "csv", "parquet", "arrow", "arrows", "feather"];
    extension(path).is_some_and(|extension| known.contains(&extension.as_str()))
}

/// Whether the content of an input is certainly a history.
pub(super) fn is_certain(input: &mut Input) -> bool {
    let judge = |bytes: &[u8], is_all| judge(bytes, is_all).map(|judgement| judgement.is(|guess| guess.is_certain));
    input.skip_byte_order_mark().is_ok() && matches!(input.look_ahead(judge), Ok(Some(true)))
}

/// The format of an input.
pub(super) fn detect(input: &mut Input) -> Result<Format, InputError> {
    if let Some(Judgement::Format(guess)) = input.look_ahead(judge)? {
        return Ok(guess.format);
    }
    let line = |bytes: &[u8], _| {
        let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
        let line = 1 + memchr::memchr_iter(b'\n', &bytes[..start]).count() as u32;
        let start = memchr::memrchr(b'\n', &bytes[..start]).map_or(0, |end| end + 1);
        let text = bytes[start..].split(|&byte| byte == b'\n').next().unwrap_or_default();
        Some((line, text.to_vec(), bytes.is_empty()))
    };
    let (line, text, is_empty) = input.look_ahead(line)?.unwrap_or((1, Vec::new(), true));
    let fault = if is_empty {
        Fault::new(0, "no history in this file").expected("at least one operation")
    } else {
        Fault::new(0, "this is not a history in a known format").expected(
            "text (`[0] w x 1`), JSON Lines (`{\"process\":0,…}`), EDN (`{:process 0 …}`), axe (`0: x := 1`), \
             operations of Porcupine or tipocket, or transactions of Plume, AWDIT, dbcop or Cobra",
        )
    };
    Err(fault.in_line(line, &text))
}

/// The format of the table that begins with these bytes, if it is one.
pub(super) fn table(bytes: &[u8]) -> Option<Format> {
    match bytes {
        [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, ..] => Some(Format::Arrow),
        _ => None,
    }
}

/// The format of a single line.
pub(super) fn of_line(line: &[u8]) -> Option<Format> {
    match judge(line, true)? {
        Judgement::Format(guess) => Some(guess.format),
        Judgement::Unknown => None,
    }
}

/// Whether the input is in the variant of its format: a log of Jepsen for EDN, operations with times for text, an array
/// for JSON Lines.
pub(super) fn is_variant(input: &mut Input) -> Result<bool, InputError> {
    let judge = |bytes: &[u8], is_all| judge(bytes, is_all).map(|judgement| judgement.is(|guess| guess.is_variant));
    Ok(input.look_ahead(judge)?.unwrap_or(false))
}

/// Whether an input that may be text is dbcop's: its first line is a transaction `[x:=1 y==2]`, or a comment `//`.
pub(super) fn is_dbcop_text(input: &mut Input) -> Result<bool, InputError> {
    let judge = |bytes: &[u8], is_all| {
        judge(bytes, is_all).map(|judgement| judgement.is(|guess| guess.format == Format::Dbcop))
    };
    Ok(input.look_ahead(judge)?.unwrap_or(false))
}

/// Whether the first byte is that of an array or an object in JSON, and not of dbcop's text.
pub(super) fn is_json(input: &mut Input) -> Result<bool, InputError> {
    let judge = |bytes: &[u8], is_all: bool| {
        let bytes = bytes.trim_ascii_start();
        match bytes {
            [b'{', ..] => Some(true),
            [b'[', inside @ ..] if is_all || !inside.trim_ascii_start().is_empty() => Some(
                matches!(inside.trim_ascii_start(), [b'[' | b']' | b'{' | b'"', ..]) && !dbcop::is_transaction(bytes),
            ),
            [] | [b'[', ..] if !is_all => None,
            _ => Some(false),
        }
    };
    Ok(input.look_ahead(judge)?.unwrap_or(false))
}

/// Whether the input is a table with named columns, which is a variant of text: its first line names them.
pub(super) fn is_table(input: &mut Input) -> Result<bool, InputError> {
    let is_header = |bytes: &[u8], is_all: bool| {
        let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
        let line = lines.find(|line| !matches!(line.trim_ascii(), [] | [b'#', ..]))?;
        (is_all || line.ends_with(b"\n")).then(|| csv::is_header(line.trim_ascii()))
    };
    Ok(input.look_ahead(is_header)?.unwrap_or(false))
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Guess {
    format: Format,
    is_certain: bool,
    /// Whether it is the variant of the format; see [`is_variant`].
    is_variant: bool,
}

enum Judgement {
    Format(Guess),
    /// No known format.
    Unknown,
}

impl Judgement {
    fn is(&self, test: impl Fn(Guess) -> bool) -> bool {
        matches!(self, Self::Format(guess) if test(*guess))
    }
}

/// The format that the beginning of an input shows. `None` if more of the input is needed.
fn judge(bytes: &[u8], is_all: bool) -> Option<Judgement> {
    let guess = |format, is_certain| Some(Judgement::Format(Guess { format, is_certain, is_variant: false }));
    let intervals = Judgement::Format(Guess { format: Format::Text, is_certain: true, is_variant: true });
    let (mut has_comment, mut has_object) = (false, false);
    if let Some(format) = table(bytes) {
        return guess(format, true);
    }
    // No text has zero bytes.
    if bytes.get(7) == Some(&0) {
        return match bytes.len() < 48 && !is_all {
            true => None,
            false if dbcop::is_bincode(bytes) => guess(Format::Bincode, true),
            false => Some(Judgement::Unknown),
        };
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let (line, after) = match memchr::memchr(b'\n', rest) {
            Some(end) => (&rest[..end], &rest[end + 1..]),
            None if is_all => (rest, &rest[rest.len()..]),
            None => return None,
        };
        let line = line.trim_ascii();
        match line {
            [] => {}
            [b';', ..] | [b'#', b'_', ..] => return guess(Format::Edn, is_edn_operation(rest)),
            [b'#', name, ..] if name.is_ascii_alphabetic() && memchr::memchr(b'{', line).is_some() => {
                return guess(Format::Edn, is_edn_operation(line));
            }
            [b'#', comment @ ..] if comment.trim_ascii_start().starts_with(b"@") => return guess(Format::Text, true),
            [b'#', comment @ ..] => {
                has_comment = true;
                has_object |= object_of(comment).is_some();
            }
            _ if has_object && is_row(line) => return Some(intervals),
            _ if csv::is_header(line) => return guess(Format::Text, true),
            b"---" => return guess(Format::Text, false),
            [b'/', b'/', ..] => return guess(Format::Dbcop, false),
            [b'[', ..] if dbcop::is_transaction(line) => return guess(Format::Dbcop, true),
            [b'r' | b'w', b'(', ..] => return guess(Format::Plume, plume::is_operation(line)),
            [b'r' | b'w', b' ' | b'\t', ..] if awdit::is_operation(line) => return guess(Format::Awdit, true),
            // An object may go on over several lines, and so may an array of them.
            [b'{', ..] if foreign::is_operation(beginning(rest)) => return guess(Format::Porcupine, true),
            [b'[', ..] if begins_array(rest) == Some(true) && !is_all && rest.len() < BEGINNING => return None,
            [b'[', ..] if begins_array(rest) == Some(true) && foreign::is_operation(beginning(rest)) => {
                return guess(Format::Porcupine, true);
            }
            [b'{', ..] if foreign::is_record(line) => return guess(Format::Tipocket, true),
            [b'{', ..] if is_dbcop_object(rest) == Some(true) => return guess(Format::Dbcop, true),
            [b'{'] if is_dbcop_object(rest).is_none() && !is_all && rest.len() < 4096 => return None,
            [b'[', ..] if begins_nested(rest) == Some(true) => return guess(Format::Dbcop, true),
            [b'['] if begins_nested(rest).is_none() && !is_all => return None,
            [b'{', inside @ ..] => match inside.trim_ascii_start() {
                [b':' | b',' | b';', ..] => return guess(Format::Edn, is_edn_operation(line)),
                [] if !is_all && rest.len() < 4096 => return None,
                [] if is_edn_operation(rest) => return guess(Format::Edn, true),
                _ => return guess(Format::JsonLines, is_json_operation(line)),
            },
            [b'[', ..] if begins_array(rest) == Some(true) => {
                let is_certain = is_json_operation(rest);
                return Some(Judgement::Format(Guess { format: Format::JsonLines, is_certain, is_variant: true }));
            }
            [b'['] if begins_array(rest).is_none() && !is_all => return None,
            [b'[', inside @ ..] => match inside.trim_ascii_start() {
                [b'{' | b'#' | b';' | b'(', ..] => return guess(Format::Edn, is_edn_operation(line)),
                [b']'] => return guess(Format::Edn, false),
                [] => return guess(Format::Edn, is_edn_operation(rest)),
                _ => return guess(Format::Text, is_text_event(line)),
            },
            [b'(', ..] => return guess(Format::Edn, is_edn_operation(rest)),
            _ if jepsen_log::is_row(line) || memchr::memmem::find(line, b"jepsen.util").is_some() => {
                return Some(Judgement::Format(Guess { format: Format::Edn, is_certain: true, is_variant: true }));
            }
            b"check" => return guess(Format::Axe, has_comment),
            [b'0'..=b'9', ..] if is_axe_event(line) => return guess(Format::Axe, true),
            _ if line.starts_with(b"final ") => return guess(Format::Axe, memchr::memmem::find(line, b"==").is_some()),
            // Jepsen's logs have other lines, too.
            _ if memchr::memmem::find(after, b"jepsen.util").is_some() => {
                return Some(Judgement::Format(Guess { format: Format::Edn, is_certain: false, is_variant: true }));
            }
            _ => return Some(Judgement::Unknown),
        }
        rest = after;
    }
    if !is_all {
        return None;
    }
    if has_comment { guess(Format::Text, false) } else { Some(Judgement::Unknown) }
}

/// Whether this is the beginning of a JSON array of objects: `[{"…`. `None` if more of it is needed.
fn begins_array(bytes: &[u8]) -> Option<bool> {
    let inside = bytes.trim_ascii_start().strip_prefix(b"[")?.trim_ascii_start();
    match inside.split_first()? {
        (b'{', inside) => inside.trim_ascii_start().first().map(|&byte| byte == b'"'),
        _ => Some(false),
    }
}

/// Whether this is the beginning of an array of arrays, as dbcop's bare sessions are: `[[{` or `[[]`. `None` if more of
/// it is needed.
fn begins_nested(bytes: &[u8]) -> Option<bool> {
    let inside = bytes.trim_ascii_start().strip_prefix(b"[")?.trim_ascii_start();
    match inside.split_first()? {
        (b'[', inside) => inside.trim_ascii_start().first().map(|byte| matches!(byte, b'{' | b']')),
        _ => Some(false),
    }
}

/// Whether this is the beginning of an object with the fields of dbcop's JSON. `None` if more of it is needed.
fn is_dbcop_object(bytes: &[u8]) -> Option<bool> {
    let inside = bytes.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
    let name = match inside.split_first()? {
        (b'"', name) => &name[..memchr::memchr(b'"', name)?],
        _ => return Some(false),
    };
    Some(matches!(name, b"params" | b"info" | b"start" | b"end" | b"data"))
}

/// Whether a `read` at the beginning of a file reads a whole set, as in Jepsen's set workload. The other methods of the
/// file decide, and if it has none, what the reads return.
pub(super) fn reads_sets(input: &mut Input, format: Format) -> Result<bool, InputError> {
    let [field, value]: [&[u8]; 2] = match format {
        Format::JsonLines => [b"\"f\"", b"\"value\""],
        Format::Edn => [b":f ", b":value "],
        _ => return Ok(false),
    };
    let judge = |bytes: &[u8], is_all: bool| {
        let mut is_set = false;
        for at in memchr::memmem::find_iter(bytes, field) {
            let rest = bytes[at + field.len()..].trim_ascii_start();
            let rest = rest.strip_prefix(b":").unwrap_or(rest).trim_ascii_start();
            let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
            let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-').count();
            let name = std::str::from_utf8(&rest[..length]).unwrap_or_default();
            if name == "read" {
                let record = &rest[..memchr::memmem::find(rest, field).unwrap_or(rest.len())];
                let returned = memchr::memmem::find(record, value).map(|at| &record[at + value.len()..]);
                is_set |= returned.is_some_and(begins_set);
            } else if length < rest.len()
                && let Some(object) = infer_object(name, true, format)
            {
                return Some(object == Object::Set);
            }
        }
        is_all.then_some(is_set)
    };
    Ok(input.look_ahead(judge)?.unwrap_or(false))
}

/// Whether a value is a set, or an empty array, perhaps in a pair with a key. (An array with elements may be such a
/// pair; if nobody adds anything, it is a violation of both a set and a register.)
fn begins_set(value: &[u8]) -> bool {
    let value = value.trim_ascii_start();
    let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii_start();
    let is_set = |value: &[u8]| match value {
        [b'#', b'{', ..] => true,
        [b'[', inside @ ..] => inside.trim_ascii_start().starts_with(b"]"),
        _ => false,
    };
    let keyed = |pair: &[u8]| {
        let key = pair.iter().take_while(|byte| !byte.is_ascii_whitespace() && !b",[]#{}".contains(byte)).count();
        let separators = pair[key..].iter().take_while(|&&byte| byte.is_ascii_whitespace() || byte == b',').count();
        key > 0 && is_set(&pair[key + separators..])
    };
    is_set(value) || value.strip_prefix(b"[").is_some_and(|pair| keyed(pair.trim_ascii_start()))
}

/// How many bytes are looked at of a record that may have several lines.
const BEGINNING: usize = 4096;

fn beginning(text: &[u8]) -> &[u8] {
    &text[..text.len().min(BEGINNING)]
}

fn contains_any(text: &[u8], needles: &[&str]) -> bool {
    needles.iter().any(|needle| memchr::memmem::find(text, needle.as_bytes()).is_some())
}

fn is_edn_operation(text: &[u8]) -> bool {
    contains_any(text, &[":process", ":object"])
}

fn is_json_operation(line: &[u8]) -> bool {
    contains_any(line, &["\"process\"", "\"object\""])
}

/// Whether a line begins like `[p] call …` or `[p] w …`.
fn is_text_event(line: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b']', line) else {
        return false;
    };
    let rest = line[end + 1..].trim_ascii_start();
    let word = rest.split(|&byte| byte.is_ascii_whitespace() || byte == b'.').next().unwrap_or_default();
    matches!(word, b"call" | b"begin" | b"r" | b"w" | b"u" | b"f" | b"read" | b"write" | b"rmw" | b"fence")
}

/// Whether a line begins like `0: …`.
fn is_axe_event(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = line[digits..].trim_ascii_start();
    rest.starts_with(b":") && contains_any(rest, &[":=", "==", "sync"])
}
