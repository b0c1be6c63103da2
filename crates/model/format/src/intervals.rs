//! Operations with their times, one a line, in any order: the histories of fastlin, `PolyLin` and fptlin.
//!
//! ```text
//! # stack
//! push 1 1 2          method, value, times of call and return
//! peek 1 3 4
//! 0 pop 1 5 6         with the process in front
//! 1 7 9 POP -1        or process, times, method, value
//! ```
//!
//! This is a variant of the text format. It is read, not written. A comment in the first line names the object. All
//! operations returned. `-1` is what an empty container returns. If an operation returns at the same time at which
//! another is called, the return comes first. The methods of a set are `insert`, `remove`, `contains_true` and
//! `contains_false`; or a last column 1 or 0 has the result. The object `rmw` is a register with the method
//! `read_modify_write`, of the value read and the value written. It is read as a compare-and-swap that succeeds. An
//! operation without a process gets the first free process.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::builder::{Builder, Preset};
use super::error::{Fault, InputError, utf8};
use super::input::Input;
use super::room::Room;
use history::Returns;
use history::builder::Call;
use history::history::{History, KeyId, MemoryOrder, Method, Object, Operation, Outcome};
use history::value::{Value, quote};

/// Reads the one history of a file.
pub(super) struct IntervalReader {
    input: Input,
    preset: Preset,
    is_done: bool,
}

struct IntervalRow {
    line: u32,
    process: Option<Value>,
    method: Method,
    expected: Value,
    argument: Value,
    result: Value,
    times: [u64; 2],
}

impl IntervalReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, preset, is_done: false }
    }

    /// The one history.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        (!std::mem::replace(&mut self.is_done, true)).then(|| self.read())
    }

    fn read(&mut self) -> Result<History, InputError> {
        let mut builder = Builder::new(&self.preset);
        let mut rows = Vec::new();
        let mut room = Room::new();
        loop {
            // The memory for a row: the row, its two events, and the operation that it becomes.
            let each = size_of::<IntervalRow>() + 2 * size_of::<(u64, u8, u32)>() + size_of::<Operation>() + 40;
            let checked = room.check(&self.input, &builder, rows.capacity() * each);
            checked.map_err(|fault| self.input.refuse(fault))?;
            let Some((number, line)) = self.input.next_line()? else { break };
            match line.trim_ascii() {
                [] => {}
                [b'#', comment @ ..] => {
                    if let Some(object) = object_of(comment) {
                        let at = line.len() - line.trim_ascii_start().len();
                        builder.set_object(object.name(), at).map_err(|fault| fault.in_line(number, line))?;
                    }
                }
                _ => rows.push(read_row(&mut builder, line, number).map_err(|fault| fault.in_line(number, line))?),
            }
        }
        replay(&mut builder, &rows)?;
        builder.finish()
    }
}

/// The object that a comment names, if the comment has nothing else.
pub(super) fn object_of(comment: &[u8]) -> Option<Object> {
    match comment.trim_ascii() {
        b"rmw" => Some(Object::Register),
        name => std::str::from_utf8(name).ok().and_then(Object::from_name),
    }
}

fn tokens(line: &[u8]) -> Vec<(usize, &[u8])> {
    let start = |token: &[u8]| token.as_ptr() as usize - line.as_ptr() as usize;
    line.split(u8::is_ascii_whitespace).filter(|token| !token.is_empty()).map(|token| (start(token), token)).collect()
}

/// The columns of the process, the method, the first time and the value.
struct Columns {
    process: Option<usize>,
    method: usize,
    start: usize,
    value: usize,
}

impl Columns {
    fn of(tokens: &[(usize, &[u8])]) -> Option<Self> {
        let is_number = |at: usize| tokens.get(at).is_some_and(|(_, token)| time(token).is_some());
        let is_word = |at: usize| tokens.get(at).is_some_and(|(_, token)| token[0].is_ascii_alphabetic());
        let columns = match tokens.len() {
            4 if is_word(0) => Self { process: None, method: 0, start: 2, value: 1 },
            5 if is_word(1) => Self { process: Some(0), method: 1, start: 3, value: 2 },
            5 | 6 if is_word(3) => Self { process: Some(0), method: 3, start: 1, value: 4 },
            _ => return None,
        };
        (is_number(columns.start) && is_number(columns.start + 1)).then_some(columns)
    }
}

fn time(token: &[u8]) -> Option<u64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

/// Whether a line has the form of an operation with its times.
pub(super) fn is_row(line: &[u8]) -> bool {
    Columns::of(&tokens(line)).is_some()
}

fn read_row(builder: &mut Builder, line: &[u8], number: u32) -> Result<IntervalRow, Fault> {
    let tokens = tokens(line);
    let Some(columns) = Columns::of(&tokens) else {
        let fault = Fault::new(tokens[0].0, "this is not an operation with its times");
        return Err(fault.expected("`method value call return`, or `process method value call return`"));
    };
    let value = |builder: &mut Builder, (at, token): (usize, &[u8])| -> Result<Value, Fault> {
        Ok(builder.words_mut().value(utf8(token, at)?))
    };
    let process = columns.process.map(|at| utf8(tokens[at].1, tokens[at].0)).transpose()?;
    let process = process.map(|name| builder.words_mut().naming(|words| words.value(name)));
    let mut given = value(builder, tokens[columns.value])?;
    let (at, name) = tokens[columns.method];
    let name = name.to_ascii_lowercase();
    let (name, said) = match &name[..] {
        b"contains_true" => (&b"contains"[..], Some(true)),
        b"contains_false" => (&b"contains"[..], Some(false)),
        b"read_modify_write" => (&b"cas"[..], Some(true)),
        name => (name, None),
    };
    let method = builder.method(name, true, at)?;
    let last = tokens.get(columns.value + 1).filter(|_| tokens.len() == 6);
    let mut expected = Value::NONE;
    let said = match last {
        Some(&token) if method == Method::Cas => {
            let written = value(builder, token)?;
            expected = std::mem::replace(&mut given, written);
            said
        }
        None if method == Method::Cas => {
            let fault = Fault::new(at, "a value is missing");
            return Err(fault.expected("the value read and the value written"));
        }
        None => said,
        Some((_, b"0")) => Some(false),
        Some((_, b"1")) => Some(true),
        Some(&(at, token)) => {
            return Err(Fault::new(at, format!("{} is not a boolean", quote(token))).expected("0 or 1"));
        }
    };
    let minus_one = Value::integer(-1);
    let result = match method.returns() {
        Returns::Nothing => Value::NONE,
        Returns::Boolean | Returns::OptionalBoolean => Value::boolean(said.unwrap_or(true)),
        Returns::Whole => {
            let fault = || Fault::new(tokens[columns.value].0, "this is not a whole set");
            builder.listed_set(given).ok_or_else(|| fault().expected("its elements: `{1,2,3}`"))?
        }
        Returns::Removed if Some(given) == minus_one => Value::EMPTY,
        Returns::Value | Returns::Removed | Returns::Partner | Returns::Any => given,
    };
    if !method.takes_argument() {
        given = Value::NONE;
    }
    let times = [columns.start, columns.start + 1].map(|at| time(tokens[at].1).unwrap_or(0));
    if times[1] < times[0] {
        let fault = Fault::new(tokens[columns.start].0, "the operation returns before it is called");
        return Err(fault.expected("the time of the call, and then that of the return"));
    }
    Ok(IntervalRow { line: number, process, method, expected, argument: given, result, times })
}

/// Tells the builder the events in the order of time. At equal times, returns come before calls; but an operation that
/// takes no time returns after its own call.
fn replay(builder: &mut Builder, rows: &[IntervalRow]) -> Result<(), InputError> {
    let mut events: Vec<(u64, u8, u32)> = Vec::with_capacity(2 * rows.len());
    for (at, row) in (0..).zip(rows) {
        let [call, ret] = row.times;
        events.push((call, 1, at));
        events.push((ret, if call == ret { 2 } else { 0 }, at));
    }
    events.sort_unstable();
    let mut free: BinaryHeap<Reverse<i64>> = BinaryHeap::new();
    let mut processes = 0;
    let mut open = vec![None; rows.len()];
    for (_, kind, at) in events {
        let row = &rows[at as usize];
        if kind == 1 {
            let name = row.process.or_else(|| {
                let number = free.pop().map_or_else(
                    || {
                        processes += 1;
                        processes - 1
                    },
                    |Reverse(number)| number,
                );
                Value::integer(number)
            });
            let process = builder.process_of(name.unwrap_or(Value::ZERO));
            let call = Call {
                process,
                key: KeyId::NONE,
                line: row.line,
                method: row.method,
                order: MemoryOrder::Plain,
                argument: row.argument,
                result: Value::NONE,
                expected: row.expected,
            };
            let id = builder.call(&call, true, 0).map_err(|fault| fault.in_line(row.line, b""))?;
            open[at as usize] = Some((id, name));
        } else if let Some((id, name)) = open[at as usize] {
            builder.end(id, Outcome::Ok, row.result, 0).map_err(|fault| fault.in_line(row.line, b""))?;
            if row.process.is_none() {
                free.extend(name.and_then(Value::as_integer).map(Reverse));
            }
        }
    }
    Ok(())
}
