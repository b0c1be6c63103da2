//! Histories in tables: a row an event or an operation, a column a field.
//!
//! The table comes through Arrow's C stream interface, so its columns are read where they are. Two kinds of rows are
//! read:
//! - events, with the fields of JSON Lines: `process`, `type`, `f`, `key`, `value` and so on, in the order in which
//!   they happened;
//! - operations with the columns `call` and `return`: the moments at which an operation was called and returned. A row
//!   without a return is pending. `result` is what it returned. If no row of a history has a call, its rows are
//!   operations without calls, in their order; among operations with calls, such a row has the type `instant`.
//!
//! These are the columns of Parquet files (docs/formats.md), with `header`, and with columns of JSON. A column
//! `history` tells histories apart: its rows may be anywhere in the table. Rows become lines of JSON, which the reader
//! of that format reads, so both have the same meaning.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use seriatim::format::{self, Format, ReadOptions};

use crate::errors::{self, InputError};
use crate::history::{History, named_object};

/// The columns that become fields of a line.
const FIELDS: [&str; 11] = ["process", "type", "f", "key", "value", "time", "order", "id", "from", "po", "size"];

/// What is wrong with a cell.
struct BadCell {
    row: usize,
    column: String,
    message: String,
}

/// The histories of a table.
#[pyfunction]
#[pyo3(signature = (table, *, object=None, initial=None))]
pub(crate) fn histories_of_table(
    py: Python<'_>,
    table: &Bound<'_, PyAny>,
    object: Option<&str>,
    initial: Option<String>,
) -> PyResult<Vec<History>> {
    let batches = batches(table)?;
    let options = ReadOptions {
        format: Some(Format::JsonLines),
        object: object.map(named_object).transpose()?,
        initial,
        ..ReadOptions::default()
    };
    let texts = py.detach(|| texts(&batches)).map_err(|bad| {
        let raised = InputError::new_err(format!("row {}, column {}: {}", bad.row, bad.column, bad.message));
        let value = raised.value(py);
        let set = value.setattr("line", bad.row).and_then(|()| value.setattr("column", bad.column));
        set.map_or_else(|error| error, |()| raised)
    })?;
    let mut histories = Vec::with_capacity(texts.len());
    for (number, text) in (0..).zip(texts) {
        let mut read = format::read_bytes(text.into_bytes(), &options);
        match read.next() {
            Some(Ok(history)) => histories.push(History::new(history, number)),
            Some(Err(error)) => return Err(errors::of_input(py, &error)),
            None => {}
        }
    }
    Ok(histories)
}

/// The batches of anything that has Arrow's C stream interface.
fn batches(table: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let capsule = table
        .call_method0("__arrow_c_stream__")
        .map_err(|_| PyTypeError::new_err("this is no table: it has no method __arrow_c_stream__"))?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule has the name that the protocol reserves for such streams, and lives until the end of this
    // function. `from_raw` takes the stream out of it, as the protocol wants.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
    let bad = |error: arrow_schema::ArrowError| PyValueError::new_err(error.to_string());
    reader.map_err(bad)?.collect::<Result<_, _>>().map_err(bad)
}

/// A line with the moment at which it happened, and the number of its row, which puts equal moments in order.
struct Event {
    moment: (i64, bool, usize),
    /// Whether the row has a moment of its own.
    has_call: bool,
    line: String,
}

/// The lines of each history, in the order in which the histories begin.
fn texts(batches: &[RecordBatch]) -> Result<Vec<String>, BadCell> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut texts: Vec<String> = Vec::new();
    let mut events: Vec<Vec<Event>> = Vec::new();
    let mut row = 0;
    for batch in batches {
        let has_moments = batch.column_by_name("call").is_some();
        if batch.column_by_name("process").is_none() || batch.column_by_name("f").is_none() {
            let message = "every row needs a process and an f".to_owned();
            return Err(BadCell { row, column: "process or f".to_owned(), message });
        }
        for at in 0..batch.num_rows() {
            let cells = Cells { batch, at, row };
            let place = match places.entry(cells.get("history")?.unwrap_or_default()) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    texts.push(cells.get("header")?.map(|header| header + "\n").unwrap_or_default());
                    events.push(Vec::new());
                    *entry.insert(texts.len() - 1)
                }
            };
            if has_moments {
                cells.operation(&mut events[place])?;
            } else {
                texts[place].push_str(&line(&cells.fields(&FIELDS)?));
            }
            row += 1;
        }
    }
    for (text, mut events) in texts.iter_mut().zip(events) {
        events.sort_by_key(|event| event.moment);
        for event in events {
            text.push_str(&event.line);
        }
    }
    Ok(texts)
}

/// A line of JSON with these fields.
fn line(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}\n", fields.join(","))
}

/// A row of a table.
struct Cells<'a> {
    batch: &'a RecordBatch,
    /// Its number in the batch, and in the table.
    at: usize,
    row: usize,
}

impl Cells<'_> {
    fn bad(&self, column: &str, message: &str) -> BadCell {
        BadCell { row: self.row, column: column.to_owned(), message: message.to_owned() }
    }

    /// The cell of a column as JSON; none if it is null, or if there is no such column.
    fn get(&self, name: &str) -> Result<Option<String>, BadCell> {
        let schema = self.batch.schema_ref();
        let Some((place, field)) = schema.column_with_name(name) else { return Ok(None) };
        let column = self.batch.column(place).as_ref();
        let is_json = name == "header" || field.metadata().get("json").is_some_and(|value| value == "true");
        if !is_json {
            return cell(column, self.at, self.row, name);
        }
        if column.is_null(self.at) {
            return Ok(None);
        }
        let text = match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().value(self.at),
            DataType::LargeUtf8 => column.as_string::<i64>().value(self.at),
            DataType::Utf8View => column.as_string_view().value(self.at),
            _ => return Err(self.bad(name, "a column of JSON has strings")),
        };
        // In JSON, a newline is white space.
        Ok(Some(text.replace('\n', " ")))
    }

    /// The fields of a line. A null is left out, but for a value.
    fn fields<'n>(&self, names: &[&'n str]) -> Result<Vec<(&'n str, String)>, BadCell> {
        let mut fields = Vec::with_capacity(names.len());
        for &name in names {
            match self.get(name)? {
                Some(value) => fields.push((name, value)),
                None if matches!(name, "process" | "f") => return Err(self.bad(name, "this is null")),
                None if name == "value" && self.batch.column_by_name(name).is_some() => {
                    fields.push((name, "null".to_owned()));
                }
                None => {}
            }
        }
        Ok(fields)
    }

    fn moment(&self, name: &str) -> Result<Option<i64>, BadCell> {
        let Some(text) = self.get(name)? else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.bad(name, "a moment is an integer"))
    }

    /// The call and the end of an operation that is one row, or the one moment of an operation without a call.
    fn operation(&self, events: &mut Vec<Event>) -> Result<(), BadCell> {
        let (call, end) = (self.moment("call")?, self.moment("return")?);
        let kind = self.get("type")?;
        let kind = kind.as_deref().map_or("ok", |kind| kind.trim_matches('"'));
        let mut called = self.fields(&["process", "f", "key", "value", "time", "order", "id", "from", "po", "size"])?;
        let is_mixed = events.last().is_some_and(|event| event.has_call != call.is_some());
        if is_mixed || (call.is_none() && end.is_some()) {
            return Err(self.bad("call", "this is null, and is not in other rows of the history"));
        }
        let Some(moment) = call.filter(|_| kind != "instant") else {
            let moment = (call.unwrap_or_default(), false, self.row);
            events.push(Event { moment, has_call: call.is_some(), line: line(&called) });
            return Ok(());
        };
        if end.is_some_and(|end| end < moment) {
            return Err(self.bad("return", "the operation returns before it is called"));
        }
        called.push(("type", "\"invoke\"".to_owned()));
        events.push(Event { moment: (moment, false, self.row), has_call: true, line: line(&called) });
        if let Some(end) = end {
            let mut returned = self.fields(&["process", "f", "key"])?;
            if self.batch.column_by_name("result").is_some() {
                returned.push(("value", self.get("result")?.unwrap_or_else(|| "null".to_owned())));
            }
            returned.extend(self.get("time_end")?.map(|time| ("time", time)));
            returned.push(("type", format!("\"{kind}\"")));
            events.push(Event { moment: (end, true, self.row), has_call: true, line: line(&returned) });
        }
        Ok(())
    }
}

/// A cell as JSON; none if it is null.
fn cell(column: &dyn Array, at: usize, row: usize, name: &str) -> Result<Option<String>, BadCell> {
    if column.is_null(at) {
        return Ok(None);
    }
    let bad = |message: String| BadCell { row, column: name.to_owned(), message };
    let float = |number: f64| {
        let is_whole = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
        if is_whole { Ok(format!("{number:.0}")) } else { Err(bad(format!("{number} is not an integer"))) }
    };
    Ok(Some(match column.data_type() {
        DataType::Null => return Ok(None),
        DataType::Boolean => column.as_boolean().value(at).to_string(),
        DataType::Int8 => column.as_primitive::<Int8Type>().value(at).to_string(),
        DataType::Int16 => column.as_primitive::<Int16Type>().value(at).to_string(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(at).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(at).to_string(),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(at).to_string(),
        DataType::UInt16 => column.as_primitive::<UInt16Type>().value(at).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(at).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(at).to_string(),
        DataType::Float32 => float(column.as_primitive::<Float32Type>().value(at).into())?,
        DataType::Float64 => {
            let number = column.as_primitive::<Float64Type>().value(at);
            // Pandas writes a missing integer as NaN.
            if number.is_nan() {
                return Ok(None);
            }
            float(number)?
        }
        DataType::Utf8 => quoted(column.as_string::<i32>().value(at)),
        DataType::LargeUtf8 => quoted(column.as_string::<i64>().value(at)),
        DataType::Utf8View => quoted(column.as_string_view().value(at)),
        DataType::List(_) => list(column.as_list::<i32>().value(at).as_ref(), row, name)?,
        DataType::LargeList(_) => list(column.as_list::<i64>().value(at).as_ref(), row, name)?,
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            let key = cell(dictionary.keys(), at, row, name)?.and_then(|key| key.parse().ok());
            let key = key.filter(|&key| key < dictionary.values().len());
            let key = key.ok_or_else(|| bad("this is not in the dictionary of its column".to_owned()))?;
            return cell(dictionary.values().as_ref(), key, row, name);
        }
        other => return Err(bad(format!("a column of type {other} is not read"))),
    }))
}

fn list(elements: &dyn Array, row: usize, name: &str) -> Result<String, BadCell> {
    let mut text = String::from("[");
    for at in 0..elements.len() {
        let element = cell(elements, at, row, name)?;
        let _ = write!(text, "{}{}", if at > 0 { "," } else { "" }, element.as_deref().unwrap_or("null"));
    }
    text.push(']');
    Ok(text)
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            control if control < ' ' => _ = write!(quoted, "\\u{:04x}", control as u32),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
