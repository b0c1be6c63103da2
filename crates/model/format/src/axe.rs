//! Traces of the axe checker.
//!
//! ```text
//! # MP                       names the trace
//! 0: M[0] := 1               a store
//! 0: sync                    a fence
//! 1: v1 == 1 @ 5:9           a load; the times of its beginning and end, either may be missing
//! 1: { v1 == 1; v1 := 2 }    an atomic read-modify-write, also in angle brackets: `< v1 == 1; v1 := 2 >`
//! final M[0] == 1            the last value of a location
//! check                      ends the trace
//! ```
//!
//! Processes and values are integers; initial values are 0.
//!
//! axe knows locations by a number, `v3` or `M[3]`, and both of these are the same location, however the number is
//! spelled. The reader takes any other name, too. The writer keeps a name that axe reads, and gives every other
//! location a name that is free. Comments at the end of the trace say what the locations were called.

use rustc_hash::{FxHashMap, FxHashSet};

use super::builder::{Builder, Preset};
use super::error::{Fault, InputError, utf8};
use super::input::Input;
use super::room::Room;
use super::write::WriteError;
use history::builder::Call;
use history::history::{History, KeyId, MemoryOrder, Method, Object, OperationId, Outcome};
use history::literal::{self, Number};
use history::value::{Value, Words, canonical_integer, quote};
use history::visible::visible;

/// How many digits the number of a location has at most, so that axe reads it.
const MOST_DIGITS: usize = 9;

/// Reads traces.
pub(super) struct AxeReader {
    input: Input,
    builder: Builder,
    /// The last comment before the first operation. It is the name of the trace.
    name: Option<String>,
    locations: Locations,
    is_lost: bool,
    preset: Preset,
    room: Room,
}

impl AxeReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        let (builder, locations) = (Builder::new(&preset), Locations::default());
        Self { input, builder, name: None, locations, is_lost: false, preset, room: Room::new() }
    }

    /// The next trace; `None` at the end of the file.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        loop {
            if let Err(fault) = self.room.check(&self.input, &self.builder, 0) {
                self.finish().ok();
                return Some(Err(self.input.refuse(fault)));
            }
            let (number, line) = match self.input.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => {
                    let is_trace = self.builder.is_begun() && !self.is_lost;
                    let history = self.finish();
                    return is_trace.then_some(history);
                }
                Err(error) => {
                    self.finish().ok();
                    return Some(Err(error));
                }
            };
            let text = line.trim_ascii();
            if text == b"check" {
                let is_lost = self.is_lost;
                let history = self.finish();
                if is_lost {
                    continue;
                }
                return Some(history);
            }
            if self.is_lost || text.is_empty() {
                continue;
            }
            if let Err(fault) = read_line(&mut self.builder, &mut self.locations, &mut self.name, line, number) {
                let error = fault.in_line(number, line);
                self.is_lost = true;
                return Some(Err(error));
            }
        }
    }

    fn finish(&mut self) -> Result<History, InputError> {
        let mut builder = std::mem::replace(&mut self.builder, Builder::new(&self.preset));
        if let Some(name) = self.name.take() {
            builder.set_name(name);
        }
        self.locations.clear();
        self.is_lost = false;
        builder.finish()
    }
}

/// The locations that are known by a number.
type Locations = FxHashMap<Value, KeyId>;

fn read_line(
    builder: &mut Builder,
    locations: &mut Locations,
    name: &mut Option<String>,
    line: &[u8],
    number: u32,
) -> Result<(), Fault> {
    let mut tokens = Tokens { line, at: 0 };
    tokens.skip_white();
    if line[tokens.at] == b'#' {
        let start = tokens.at + 1;
        let text = line[start..].trim_ascii();
        if !builder.is_begun() && !text.is_empty() {
            *name = Some(utf8(text, start)?.to_owned());
        }
        return Ok(());
    }
    if tokens.take(b"final") {
        let key = tokens.location(builder, locations)?;
        tokens.expect("==")?;
        let value = tokens.value(builder.words_mut())?;
        builder.put_final(key, value);
        builder.begin();
        return tokens.end();
    }
    let at = tokens.at;
    let process = builder.words_mut().naming(|words| tokens.value(words));
    let process = process.map_err(|fault| fault.expected("`thread:`, `final`, `check` or `# name`"))?;
    tokens.expect(":")?;
    let process = builder.process_of(process);
    let mut call = Call {
        process,
        key: KeyId::NONE,
        line: number,
        method: Method::Fence,
        order: MemoryOrder::Plain,
        argument: Value::NONE,
        result: Value::NONE,
        expected: Value::NONE,
    };
    let closing = if tokens.take(b"<") { Some(">") } else { tokens.take(b"{").then_some("}") };
    if let Some(closing) = closing {
        call.method = Method::Rmw;
        call.key = tokens.location(builder, locations)?;
        tokens.expect("==")?;
        call.result = tokens.value(builder.words_mut())?;
        tokens.expect(";")?;
        tokens.skip_white();
        let at = tokens.at;
        if tokens.location(builder, locations)? != call.key {
            return Err(Fault::new(at, "a read-modify-write of two locations").expected("the location that it reads"));
        }
        tokens.expect(":=")?;
        call.argument = tokens.value(builder.words_mut())?;
        tokens.expect(closing)?;
    } else if !tokens.take_word(b"sync") {
        call.key = tokens.location(builder, locations)?;
        if tokens.take(b":=") {
            call.method = Method::Write;
            call.argument = tokens.value(builder.words_mut())?;
        } else {
            tokens.expect("==").map_err(|fault| fault.expected("`:=` or `==`"))?;
            call.method = Method::Read;
            call.result = tokens.value(builder.words_mut())?;
        }
    }
    let mut times = [None; 2];
    if tokens.take(b"@") {
        times = tokens.times()?;
    }
    tokens.end()?;
    let id = builder.call(&call, false, at)?;
    for (end, time) in times.into_iter().enumerate() {
        if let Some(time) = time {
            builder.put_time(id, end, time);
        }
    }
    Ok(())
}

struct Tokens<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Tokens<'a> {
    fn skip_white(&mut self) {
        while self.line.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn run(&mut self, belongs: impl Fn(&u8) -> bool) -> &'a [u8] {
        let rest = &self.line[self.at..];
        let length = rest.iter().take_while(|byte| belongs(byte)).count();
        self.at += length;
        &rest[..length]
    }

    fn take(&mut self, token: &[u8]) -> bool {
        self.skip_white();
        let is_next = self.line[self.at..].starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    /// Takes a word, if it is next and is not the beginning of a longer word.
    fn take_word(&mut self, word: &[u8]) -> bool {
        self.skip_white();
        let rest = &self.line[self.at..];
        rest.get(word.len()).is_none_or(|&byte| !is_identifier(byte)) && self.take(word)
    }

    fn unexpected(&mut self, expected: impl Into<String>) -> Fault {
        self.skip_white();
        let at = self.at;
        let token = self.run(|byte| !byte.is_ascii_whitespace());
        let message = if token.is_empty() {
            "the line ends too early".to_owned()
        } else {
            format!("{} is not understood here", quote(token))
        };
        Fault::new(at, message).expected(expected)
    }

    fn expect(&mut self, token: &str) -> Result<(), Fault> {
        if self.take(token.as_bytes()) { Ok(()) } else { Err(self.unexpected(format!("`{token}`"))) }
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.skip_white();
        if self.at == self.line.len() { Ok(()) } else { Err(self.unexpected("the end of the line")) }
    }

    /// A location: `v3`, `M[3]`. One that was there under another name keeps that.
    fn location(&mut self, builder: &mut Builder, locations: &mut Locations) -> Result<KeyId, Fault> {
        self.skip_white();
        let start = self.at;
        let length = location_length(&self.line[start..]);
        if length == 0 {
            return Err(self.unexpected("a location such as `v3` or `M[3]`"));
        }
        self.at += length;
        let name = utf8(&self.line[start..self.at], start)?;
        let mut new = || {
            let name = builder.words_mut().word(name);
            builder.key_of(name)
        };
        Ok(match index(name).and_then(|digits| literal::number(digits.as_bytes())) {
            Some(Number::Small(number)) => *locations.entry(number).or_insert_with(new),
            _ => new(),
        })
    }

    /// An integer, as in every format.
    fn value(&mut self, words: &mut Words) -> Result<Value, Fault> {
        self.skip_white();
        let start = self.at;
        let literal = self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-'));
        if literal::number(literal).is_none() {
            self.at = start;
            return Err(self.unexpected("an integer such as `5` or `0x5`"));
        }
        Ok(words.value(utf8(literal, start)?))
    }

    fn times(&mut self) -> Result<[Option<i64>; 2], Fault> {
        let start = self.time()?;
        self.expect(":")?;
        Ok([start, self.time()?])
    }

    fn time(&mut self) -> Result<Option<i64>, Fault> {
        self.skip_white();
        let start = self.at;
        let digits = self.run(|byte| byte.is_ascii_digit() || *byte == b'-');
        if digits.is_empty() {
            return Ok(None);
        }
        let time = utf8(digits, start)?.parse().map_err(|_| {
            let message = format!("{} is not a time", quote(digits));
            Fault::new(start, message).expected("an integer of 64 bits")
        })?;
        Ok(Some(time))
    }
}

const fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The length of the location at the beginning of `text`: an identifier, perhaps with an index in brackets.
fn location_length(text: &[u8]) -> usize {
    if !text.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'_') {
        return 0;
    }
    let name = text.iter().take_while(|&&byte| is_identifier(byte)).count();
    let index = match &text[name..] {
        [b'[', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            let is_number = literal::number(&rest[..digits]).is_some() && rest.get(digits) == Some(&b']');
            if is_number { digits + 2 } else { 0 }
        }
        _ => 0,
    };
    name + index
}

/// Appends a history as a trace, if the format can express it.
pub(super) fn write_history(out: &mut Vec<u8>, history: &History) -> Result<(), WriteError> {
    let general = |what: &str| Err(WriteError::Inexpressible { operation: None, what: what.to_owned() });
    if history.object() != Object::Memory {
        return general(&format!("operations of the object {}", history.object().name()));
    }
    if history.initial() != Value::ZERO || history.inits().iter().any(|&(_, value)| value != Value::ZERO) {
        return general("initial values other than 0");
    }
    if let Some(name) = &history.name() {
        if name.is_empty() || name.as_bytes().trim_ascii() != name.as_bytes() || name.contains('\n') {
            return general("a name that is empty, has several lines or begins or ends with white space");
        }
        out.extend_from_slice(format!("# {name}\n").as_bytes());
    }
    let names = Names::new(history);
    for at in 0..history.operations().len() as u32 {
        let id = OperationId(at);
        let inexpressible = |what: String| Err(WriteError::Inexpressible { operation: Some(id), what });
        match operation(history, &names, id) {
            Ok(line) => out.extend_from_slice(line.as_bytes()),
            Err(what) => return inexpressible(what),
        }
    }
    for &(key, value) in history.finals() {
        match integer(history, value) {
            Ok(value) => out.extend_from_slice(format!("final {} == {value}\n", names.of(key)).as_bytes()),
            Err(what) => return general(&what),
        }
    }
    // Not at the beginning, where a comment is the name of the trace.
    for (name, key) in names.renamed() {
        let before = history.key_name(key);
        let was = if before.is_empty() { "had no name".to_owned() } else { format!("was {}", visible(&before)) };
        out.extend_from_slice(format!("# {name} {was}\n").as_bytes());
    }
    out.extend_from_slice(b"check\n");
    Ok(())
}

fn operation(history: &History, names: &Names, id: OperationId) -> Result<String, String> {
    let operation = history.operation(id);
    if operation.outcome != Outcome::Instant {
        return Err("calls and returns".to_owned());
    }
    if operation.order != MemoryOrder::Plain {
        return Err(format!("the memory order {}", operation.order.name()));
    }
    if history.label(id).is_some() || history.source(id).is_some() {
        return Err("labels and sources".to_owned());
    }
    if history.program_index(id).is_some() {
        return Err("an index in program order".to_owned());
    }
    let process = integer(history, history.processes()[operation.process.index()])?;
    let argument = || integer(history, operation.argument);
    let result = || integer(history, operation.result);
    let key = || names.of(operation.key);
    let body = match operation.method {
        Method::Read => format!("{} == {}", key(), result()?),
        Method::Write => format!("{} := {}", key(), argument()?),
        Method::Rmw => format!("{{ {0} == {1}; {0} := {2} }}", key(), result()?, argument()?),
        Method::Fence => "sync".to_owned(),
        _ => return Err("a method that is not of a memory".to_owned()),
    };
    let show = |time: Option<i64>| time.map_or_else(String::new, |time| time.to_string());
    let times = match history.times().get(id.index()) {
        None | Some([None, None]) => String::new(),
        Some(&[start, end]) => format!(" @ {}:{}", show(start), show(end)),
    };
    Ok(format!("{process}: {body}{times}\n"))
}

/// An integer in canonical form. The tool axe itself reads only those from 0.
fn integer(history: &History, value: Value) -> Result<String, String> {
    let text = history.words().canonical(value);
    match literal::number(text.as_bytes()) {
        Some(_) => Ok(text),
        None => Err(format!("{} (only integers)", quote(history.show(value).as_bytes()))),
    }
}

/// The names of the locations in the trace.
struct Names {
    /// The name of each key, and whether it is not the name that the history has for it.
    keys: Vec<(String, bool)>,
    /// The name of the location that has none in the history.
    other: String,
    is_other_used: bool,
}

impl Names {
    fn new(history: &History) -> Self {
        let mut used = FxHashSet::default();
        let kept: Vec<Option<String>> = history
            .keys()
            .iter()
            .map(|key| {
                let name = history.words().text(key.as_word()?);
                used.insert(number(name)?).then(|| name.to_owned())
            })
            .collect();
        let mut free = (0u32..).filter(|number| !used.contains(number)).map(|number| format!("v{number}"));
        let mut fresh = || free.next().expect("there are more numbers than locations");
        let keys = kept.into_iter().map(|kept| kept.map_or_else(|| (fresh(), true), |name| (name, false))).collect();
        let is_other_used = history.operations().iter().any(|it| it.key == KeyId::NONE && it.method != Method::Fence);
        Self { keys, other: fresh(), is_other_used }
    }

    fn of(&self, key: KeyId) -> &str {
        self.keys.get(key.index()).map_or(&self.other, |(name, _)| name)
    }

    /// The locations that have another name than in the history.
    fn renamed(&self) -> impl Iterator<Item = (&str, KeyId)> {
        let keys = (0..).map(KeyId).zip(&self.keys);
        let renamed = keys.filter(|(_, (_, is_new))| *is_new).map(|(key, (name, _))| (name.as_str(), key));
        renamed.chain(self.is_other_used.then_some((&*self.other, KeyId::NONE)))
    }
}

/// The number by which axe knows a location of this name: `v3`, `M[3]`. `None` if axe does not read the name.
fn number(name: &str) -> Option<u32> {
    let digits = index(name)?;
    let is_number = canonical_integer(digits.as_bytes()).is_some() && digits.len() <= MOST_DIGITS;
    digits.parse().ok().filter(|_| is_number)
}

/// The number in the name of a location, as it is spelled.
fn index(name: &str) -> Option<&str> {
    name.strip_prefix('v').or_else(|| name.strip_prefix("M[")?.strip_suffix(']'))
}
