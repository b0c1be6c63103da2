//! Tables with named columns: the traces of test benches, as CSV.
//!
//! ```text
//! thread,op,address,value,new,po
//! 0,store,x,1,,0
//! 1,load,"x",1,,0
//! 1,rmw,x,1,2,1            an rmw reads `value` and writes `new`
//! 1,fence,,,,2
//! ```
//!
//! This is a variant of the text format. It is read, not written, and it is about a memory. The first line names the
//! columns, in any order; other columns are left alone. A field may stand in quotes, with a quote written twice. Blank
//! lines, and lines that begin with `#`, are skipped.

use super::builder::{Builder, Preset};
use super::columns;
use super::error::{Fault, InputError, utf8};
use super::input::Input;
use super::numbers::whole;
use super::room::Room;
use history::builder::Call;
use history::history::{History, KeyId, MemoryOrder, Method, OperationId};
use history::value::{Value, Words, quote};

/// What a column has.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Column {
    Thread,
    Operation,
    Location,
    Value,
    New,
    Order,
    Index,
    Start,
    End,
    Size,
}

/// The names of the columns.
const NAMES: [(Column, &[&str], &[&str]); 10] = [
    (Column::Thread, columns::PROCESS, &[]),
    (Column::Operation, columns::METHOD, &["type"]),
    (Column::Location, columns::KEY, &[]),
    (Column::Value, columns::VALUE, &[]),
    (Column::New, &["new", "written", "new_value"], &[]),
    (Column::Order, columns::ORDER, &[]),
    (Column::Index, &["po", "index"], &[]),
    (Column::Start, &["time", "start", "begin", "issue"], &[]),
    (Column::End, &["end", "commit", "complete"], &[]),
    (Column::Size, columns::SIZE, &[]),
];

fn column(name: &[u8]) -> Option<Column> {
    let name = std::str::from_utf8(name).ok()?;
    let is_named = |names: &[&str]| columns::is_one_of(name, names);
    NAMES.iter().find(|(_, names, more)| is_named(names) || is_named(more)).map(|&(column, ..)| column)
}

/// Whether a line names the columns of such a table.
pub(super) fn is_header(line: &[u8]) -> bool {
    let Ok(fields) = fields(line) else { return false };
    let has = |wanted| fields.iter().any(|(_, name)| column(name) == Some(wanted));
    has(Column::Thread) && has(Column::Operation)
}

/// Reads the one history of a table.
pub(super) struct CsvReader {
    input: Input,
    preset: Preset,
    is_done: bool,
}

impl CsvReader {
    pub fn new(input: Input, preset: Preset) -> Self {
        Self { input, preset, is_done: false }
    }

    /// The one history.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        (!std::mem::replace(&mut self.is_done, true)).then(|| self.read())
    }

    fn read(&mut self) -> Result<History, InputError> {
        let mut builder = Builder::new(&self.preset);
        let mut room = Room::new();
        let mut columns: Option<Vec<Option<Column>>> = None;
        loop {
            let checked = room.check(&self.input, &builder, 0);
            checked.map_err(|fault| self.input.refuse(fault))?;
            let Some((number, line)) = self.input.next_line()? else { break };
            if matches!(line.trim_ascii(), [] | [b'#', ..]) {
                continue;
            }
            let read = match &columns {
                Some(columns) => read_row(&mut builder, columns, line, number),
                None => header(line).map(|named| columns = Some(named)),
            };
            read.map_err(|fault| fault.in_line(number, line))?;
        }
        builder.finish()
    }
}

/// A field, and where it begins.
type Field = (usize, Vec<u8>);

/// The fields of a line.
fn fields(line: &[u8]) -> Result<Vec<Field>, Fault> {
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        while line.get(at).is_some_and(|&byte| byte == b' ' || byte == b'\t') {
            at += 1;
        }
        let start = at;
        let mut field = Vec::new();
        if line.get(at) == Some(&b'"') {
            at += 1;
            loop {
                match line.get(at..) {
                    Some([b'"', b'"', ..]) => {
                        field.push(b'"');
                        at += 2;
                    }
                    Some([b'"', ..]) => break,
                    Some([byte, ..]) => {
                        field.push(*byte);
                        at += 1;
                    }
                    _ => return Err(Fault::new(start, "this quote is not closed").expected("`\"`")),
                }
            }
            at += 1;
            while line.get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            if line.get(at).is_some_and(|&byte| byte != b',') {
                return Err(Fault::new(at, "something follows a quoted field").expected("`,`"));
            }
        } else {
            let end = line[at..].iter().position(|&byte| byte == b',').map_or(line.len(), |length| at + length);
            field.extend_from_slice(line[at..end].trim_ascii());
            at = end;
        }
        fields.push((start, field));
        if at >= line.len() {
            return Ok(fields);
        }
        at += 1;
    }
}

/// The columns that the first line names.
fn header(line: &[u8]) -> Result<Vec<Option<Column>>, Fault> {
    let fields = fields(line)?;
    let columns: Vec<Option<Column>> = fields.iter().map(|(_, name)| column(name)).collect();
    for (at, named) in columns.iter().enumerate().filter(|(_, named)| named.is_some()) {
        if columns[..at].contains(named) {
            let message = format!("{} names a column that there is already", quote(&fields[at].1));
            return Err(Fault::new(fields[at].0, message).expected("each column once"));
        }
    }
    for (wanted, name) in
        [(Column::Thread, "thread"), (Column::Operation, "op"), (Column::Location, "address"), (Column::Value, "value")]
    {
        if !columns.contains(&Some(wanted)) {
            let fault = Fault::new(0, format!("there is no column `{name}`"));
            return Err(fault.expected("a first line such as `thread,op,address,value`"));
        }
    }
    Ok(columns)
}

fn method((at, name): &Field) -> Result<Method, Fault> {
    match std::str::from_utf8(name).ok().and_then(columns::access) {
        Some("r") => Ok(Method::Read),
        Some("w") => Ok(Method::Write),
        Some("u") => Ok(Method::Rmw),
        Some(_) => Ok(Method::Fence),
        None => Err(Fault::new(*at, format!("{} is no operation", quote(name))).expected("load, store, rmw or fence")),
    }
}

fn read_row(builder: &mut Builder, columns: &[Option<Column>], line: &[u8], number: u32) -> Result<(), Fault> {
    let mut fields = fields(line)?;
    for (_, field) in &mut fields {
        if let Some(digits) = whole(field) {
            *field = digits.into_bytes();
        }
    }
    if fields.len() > columns.len() {
        let at = fields[columns.len()].0;
        return Err(Fault::new(at, "this line has more fields than the first line has columns"));
    }
    let get = |wanted: Column| {
        let at = columns.iter().position(|&column| column == Some(wanted))?;
        fields.get(at).filter(|(_, field)| !field.is_empty())
    };
    let need = |wanted: Column, name: &str| {
        get(wanted).ok_or_else(|| Fault::new(line.len(), format!("the field `{name}` is missing here")))
    };
    let method = method(need(Column::Operation, "op")?)?;
    let value = |words: &mut Words, (at, text): &Field| -> Result<Value, Fault> { Ok(words.value(utf8(text, *at)?)) };
    let thread = need(Column::Thread, "thread")?;
    let process = builder.words_mut().naming(|words| value(words, thread))?;
    let process = builder.process_of(process);
    let (mut key, mut argument, mut result) = (KeyId::NONE, Value::NONE, Value::NONE);
    if method != Method::Fence {
        let address = need(Column::Location, "address")?;
        let name = builder.words_mut().naming(|words| value(words, address))?;
        key = builder.key_of(name);
        if let Some((at, size)) = get(Column::Size) {
            builder.set_size(key, size, number, *at)?;
        }
        let first = value(builder.words_mut(), need(Column::Value, "value")?)?;
        match method {
            Method::Write => argument = first,
            Method::Rmw => (result, argument) = (first, value(builder.words_mut(), need(Column::New, "new")?)?),
            _ => result = first,
        }
    }
    let order = match get(Column::Order) {
        None => MemoryOrder::Plain,
        Some((at, name)) => {
            let known = std::str::from_utf8(name).ok().and_then(MemoryOrder::from_name);
            known.ok_or_else(|| {
                Fault::new(*at, format!("{} is no memory order", quote(name))).expected("rlx, acq, rel, acqrel or sc")
            })?
        }
    };
    let call = Call { process, key, line: number, method, order, argument, result, expected: Value::NONE };
    let id: OperationId = builder.call(&call, false, fields[0].0)?;
    if let Some((at, field)) = get(Column::Index) {
        builder.put_program_index(id, parsed(*at, field, "an index in program order")?);
    }
    for (end, wanted) in [Column::Start, Column::End].into_iter().enumerate() {
        if let Some((at, field)) = get(wanted) {
            builder.put_time(id, end, parsed(*at, field, "a time")?);
        }
    }
    Ok(())
}

fn parsed<T: std::str::FromStr>(at: usize, field: &[u8], what: &str) -> Result<T, Fault> {
    let number = std::str::from_utf8(field).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Fault::new(at, format!("{} is not {what}", quote(field))).expected("an integer of 64 bits"))
}
