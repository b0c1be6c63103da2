//! Writes histories as rows.
//!
//! A history is written as JSON Lines first. A row is what the lines of an operation say: its call and its return, or
//! the one line of an operation without a call. So tables and JSON Lines say the same, transactions included.
//!
//! The types of columns are those of the first rows: integers, strings, or JSON where values of several types occur or
//! nothing is known yet. A later value that does not fit is refused.

use history::value::quote;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rustc_hash::FxHashMap;

use super::super::Format;
use super::super::json::{self, Json};
use super::super::record::{Field, Record, write_history};
use super::super::string::unquote;
use super::super::write::{Labels, WriteError};
use super::{Column, JSON};
use history::history::History;

/// How many rows are written at a time. The first so many decide the types of the columns.
const ROWS: usize = 1 << 16;
/// How many rows a row group has.
const GROUP: usize = 1 << 18;

/// The columns whose values may be of several types.
const VALUES: [(Column, Field); 6] = [
    (Column::Process, Field::Process),
    (Column::Key, Field::Key),
    (Column::Value, Field::Value),
    (Column::Result, Field::Value),
    (Column::Id, Field::Id),
    (Column::From, Field::From),
];
const RESULT: usize = 3;

/// The type of such a column.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Kind {
    Integers,
    Strings,
    Json,
}

/// A piece of JSON; none for null.
type Piece = Option<Box<str>>;

/// A row.
#[derive(Default)]
struct TableRow {
    history: i64,
    header: Piece,
    f: String,
    kind: Option<&'static str>,
    values: [Piece; VALUES.len()],
    call: Option<i64>,
    end: Option<i64>,
    times: [Option<i64>; 2],
    order: Option<String>,
    po: Option<u64>,
}

enum Sink {
    Parquet(Box<ArrowWriter<Vec<u8>>>),
    Arrow(Box<FileWriter<Vec<u8>>>),
}

/// Writes tables. The bytes are handed out as they come.
pub(in super::super) struct TableWriter {
    format: Format,
    rows: Vec<TableRow>,
    histories: i64,
    sink: Option<(Sink, Arc<Schema>, [Kind; VALUES.len()])>,
}

impl TableWriter {
    pub fn new(format: Format) -> Self {
        Self { format, rows: Vec::new(), histories: 0, sink: None }
    }

    /// Adds a history. What can be written is appended to `out`.
    pub fn write(
        &mut self,
        out: &mut Vec<u8>,
        history: &History,
        labels: &Labels,
        dropped: &mut Vec<&'static str>,
    ) -> Result<(), WriteError> {
        let mut lines = Vec::new();
        write_history(&mut lines, &Json, history, labels, true, dropped);
        let before = self.rows.len();
        let added = self.add(history, &lines);
        if let Err(what) = added {
            self.rows.truncate(before);
            return Err(WriteError::Inexpressible { operation: None, what });
        }
        self.histories += 1;
        if self.rows.len() >= ROWS { self.flush(out) } else { Ok(()) }
    }

    /// Adds the rows of a history.
    fn add(&mut self, history: &History, lines: &[u8]) -> Result<(), String> {
        let has_calls = history.has_calls() || history.is_of_transactions();
        let mut lines = lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let mut header = lines.next().map(text);
        let mut open: FxHashMap<Box<str>, usize> = FxHashMap::default();
        let before = self.rows.len();
        for (moment, line) in (0..).zip(lines) {
            let mut record = Record::default();
            json::read_object(line, &mut record).map_err(|fault| fault.message)?;
            let get = |field| record.get(field).map(|raw| raw.text);
            let process: Box<str> = get(Field::Process).map(text).ok_or("an operation without a process")?;
            let kind = match get(Field::Type) {
                None => "instant",
                Some(b"\"invoke\"") => "invoke",
                Some(b"\"ok\"") => "ok",
                Some(b"\"fail\"") => "fail",
                Some(_) => "info",
            };
            if matches!(kind, "ok" | "fail" | "info") {
                let at = open.remove(&process).ok_or("a return without a call")?;
                let row = &mut self.rows[at];
                row.kind = Some(kind);
                row.end = Some(moment);
                row.values[RESULT] = piece(get(Field::Value));
                row.times[1] = get(Field::Time).and_then(number);
                continue;
            }
            let mut row = TableRow { history: self.histories, header: header.take(), ..TableRow::default() };
            row.f = word(get(Field::F).unwrap_or_default());
            for (at, (_, field)) in VALUES.into_iter().enumerate().filter(|&(at, _)| at != RESULT) {
                row.values[at] = piece(get(field));
            }
            row.order = get(Field::Order).map(word);
            row.po = get(Field::Po).and_then(number);
            if let Some(time) = get(Field::Time) {
                row.times = times(time);
            }
            if kind == "invoke" {
                open.insert(process, self.rows.len());
                row.call = Some(moment);
            } else if has_calls {
                (row.call, row.end, row.kind) = (Some(moment), Some(moment), Some("instant"));
            }
            self.rows.push(row);
        }
        if self.rows.len() == before { Err("a history without operations".to_owned()) } else { Ok(()) }
    }

    /// Writes the rest. The table ends.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        self.flush(out)?;
        let Some((sink, ..)) = self.sink.take() else { return Ok(()) };
        match sink {
            Sink::Parquet(writer) => out.append(&mut writer.into_inner().map_err(failed)?),
            Sink::Arrow(mut writer) => {
                writer.finish().map_err(failed)?;
                out.append(writer.get_mut());
            }
        }
        Ok(())
    }

    /// Writes the rows so far.
    fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        if self.sink.is_none() {
            let kinds = kinds(&self.rows);
            let schema = Arc::new(schema(kinds));
            let sink = match self.format {
                Format::Parquet => {
                    let level = ZstdLevel::try_new(1).map_err(failed)?;
                    let properties = WriterProperties::builder()
                        .set_compression(Compression::ZSTD(level))
                        .set_max_row_group_row_count(Some(GROUP))
                        .build();
                    let writer = ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties));
                    Sink::Parquet(Box::new(writer.map_err(failed)?))
                }
                _ => Sink::Arrow(Box::new(FileWriter::try_new(Vec::new(), &schema).map_err(failed)?)),
            };
            self.sink = Some((sink, schema, kinds));
        }
        let Some((sink, schema, kinds)) = &mut self.sink else { return Ok(()) };
        if !self.rows.is_empty() {
            let batch = batch(&self.rows, schema, *kinds)?;
            self.rows.clear();
            match sink {
                Sink::Parquet(writer) => writer.write(&batch).map_err(failed)?,
                Sink::Arrow(writer) => writer.write(&batch).map_err(failed)?,
            }
        }
        match sink {
            Sink::Parquet(writer) => out.append(writer.inner_mut()),
            Sink::Arrow(writer) => out.append(writer.get_mut()),
        }
        Ok(())
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> WriteError {
    WriteError::Io(std::io::Error::other(error))
}

/// The types that the first rows show.
fn kinds(rows: &[TableRow]) -> [Kind; VALUES.len()] {
    let mut kinds = [None; VALUES.len()];
    for row in rows {
        for (kind, value) in kinds.iter_mut().zip(&row.values) {
            let Some(value) = value else { continue };
            let shown = match value.as_bytes() {
                text if number::<i64>(text).is_some() => Kind::Integers,
                [b'"', ..] => Kind::Strings,
                _ => Kind::Json,
            };
            *kind = Some(if kind.is_none_or(|kind| kind == shown) { shown } else { Kind::Json });
        }
    }
    kinds.map(|kind| kind.unwrap_or(Kind::Json))
}

/// The columns that are written: a history keeps no sizes, since all accesses have one.
fn written() -> impl Iterator<Item = Column> {
    Column::ALL.into_iter().filter(|&column| column != Column::Size)
}

fn schema(kinds: [Kind; VALUES.len()]) -> Schema {
    let fields: Vec<ArrowField> = written()
        .map(|column| {
            let kind = VALUES.iter().position(|&(of, _)| of == column).map(|at| kinds[at]);
            let kind_of_column = match (column, kind) {
                (Column::History | Column::Call | Column::Return | Column::Time | Column::TimeEnd, _)
                | (_, Some(Kind::Integers)) => DataType::Int64,
                (Column::Po, _) => DataType::UInt64,
                _ => DataType::Utf8,
            };
            let is_needed = matches!(column, Column::History | Column::Process | Column::F);
            let field = ArrowField::new(column.name(), kind_of_column, !is_needed);
            let is_json = kind == Some(Kind::Json);
            if is_json { field.with_metadata([(JSON.to_owned(), "true".to_owned())]) } else { field }
        })
        .collect();
    Schema::new(fields)
}

fn batch(rows: &[TableRow], schema: &Arc<Schema>, kinds: [Kind; VALUES.len()]) -> Result<RecordBatch, WriteError> {
    let integers =
        |of: fn(&TableRow) -> Option<i64>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Int64Array>()) };
    let strings =
        |of: fn(&TableRow) -> Option<&str>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<StringArray>()) };
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(Column::ALL.len());
    for column in written() {
        if let Some(at) = VALUES.iter().position(|&(of, _)| of == column) {
            columns.push(values(rows, at, kinds[at])?);
            continue;
        }
        columns.push(match column {
            Column::History => integers(|row| Some(row.history)),
            Column::Call => integers(|row| row.call),
            Column::Return => integers(|row| row.end),
            Column::Time => integers(|row| row.times[0]),
            Column::TimeEnd => integers(|row| row.times[1]),
            Column::Header => strings(|row| row.header.as_deref()),
            Column::Type => strings(|row| row.kind),
            Column::F => strings(|row| Some(&row.f)),
            Column::Po => Arc::new(rows.iter().map(|row| row.po).collect::<UInt64Array>()),
            _ => strings(|row| row.order.as_deref()),
        });
    }
    let built: Result<RecordBatch, ArrowError> = RecordBatch::try_new(Arc::clone(schema), columns);
    built.map_err(failed)
}

/// A column whose values may be of several types.
fn values(rows: &[TableRow], at: usize, kind: Kind) -> Result<ArrayRef, WriteError> {
    let misfit = |value: &str| {
        let kind = if kind == Kind::Integers { "integers" } else { "strings" };
        let [name, value] = [VALUES[at].0.name(), &quote(value.trim_matches('"').as_bytes())];
        let what = format!("{value} in the column `{name}`, which has {kind} in the first {ROWS} rows");
        WriteError::Inexpressible { operation: None, what }
    };
    let cells = rows.iter().map(|row| row.values[at].as_deref());
    Ok(match kind {
        Kind::Json => Arc::new(cells.collect::<StringArray>()),
        Kind::Integers => {
            let integer = |value: &str| number::<i64>(value.as_bytes()).ok_or_else(|| misfit(value));
            let integers: Result<Int64Array, _> = cells.map(|cell| cell.map(integer).transpose()).collect();
            Arc::new(integers?)
        }
        Kind::Strings => {
            let string = |value: &str| match value.as_bytes() {
                text @ [b'"', ..] => unquote(text, 0).map_err(|_| misfit(value)),
                _ => Err(misfit(value)),
            };
            let strings: Result<StringArray, _> = cells.map(|cell| cell.map(string).transpose()).collect();
            Arc::new(strings?)
        }
    })
}

fn text(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).into()
}

/// A piece of JSON. Null is none.
fn piece(bytes: Option<&[u8]>) -> Piece {
    bytes.filter(|&bytes| bytes != b"null").map(text)
}

/// The text of a string.
fn word(bytes: &[u8]) -> String {
    unquote(bytes, 0).unwrap_or_default()
}

/// An integer as we write it: other texts of numbers are words.
fn number<T: std::str::FromStr + ToString>(bytes: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.parse().ok().filter(|number: &T| number.to_string() == text)
}

/// The times of a line: one, or two in an array.
fn times(bytes: &[u8]) -> [Option<i64>; 2] {
    match bytes {
        [b'[', inside @ .., b']'] => {
            let mut both = inside.split(|&byte| byte == b',').map(number);
            [both.next().flatten(), both.next().flatten()]
        }
        one => [number(one), None],
    }
}
