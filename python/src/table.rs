//! Histories in tables: a row an event or an operation, a column a field.
//!
//! The table comes through Arrow's C stream interface, so its columns are read where they are. Two kinds of rows are
//! read:
//! - events, with the fields of JSON Lines: `process`, `type`, `f`, `key`, `value` and so on, in the order in which
//!   they happened;
//! - operations with the columns `call` and `return`: the moments at which an operation was called and returned. A row
//!   without a return is pending. `result` is what it returned.
//!
//! A column `history` tells histories apart: its rows may be anywhere in the table. Rows become lines of JSON, which
//! the reader of that format reads, so both have the same meaning.

use std::collections::HashMap;
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
use seriatim::history::format::{self, Format, ReadOptions};

use crate::errors::{self, InputError};
use crate::history::{History, named_object};

/// The columns that become fields of a line.
const FIELDS: [&str; 10] = ["process", "type", "f", "key", "value", "time", "order", "id", "from", "po"];

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
    let options =
        ReadOptions { format: Some(Format::JsonLines), object: object.map(named_object).transpose()?, initial };
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
            let history = match batch.column_by_name("history") {
                None => String::new(),
                Some(column) => cell(column.as_ref(), at, row, "history")?.unwrap_or_default(),
            };
            let place = *places.entry(history).or_insert_with(|| {
                texts.push(String::new());
                events.push(Vec::new());
                texts.len() - 1
            });
            if has_moments {
                operation(batch, at, row, &mut events[place])?;
            } else {
                texts[place].push_str(&line(batch, at, row, &FIELDS)?);
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

/// One row as a line of JSON.
fn line(batch: &RecordBatch, at: usize, row: usize, fields: &[&str]) -> Result<String, BadCell> {
    let mut line = String::from("{");
    for &field in fields {
        let Some(column) = batch.column_by_name(field) else { continue };
        match cell(column.as_ref(), at, row, field)? {
            Some(value) => _ = write!(line, "{}\"{field}\":{value}", if line.len() > 1 { "," } else { "" }),
            None if matches!(field, "process" | "f") => {
                let message = "this is null".to_owned();
                return Err(BadCell { row, column: field.to_owned(), message });
            }
            None => {}
        }
    }
    line.push_str("}\n");
    Ok(line)
}

/// The call and the end of an operation that is one row.
fn operation(batch: &RecordBatch, at: usize, row: usize, events: &mut Vec<Event>) -> Result<(), BadCell> {
    let moment = |field: &str| -> Result<Option<i64>, BadCell> {
        let Some(column) = batch.column_by_name(field) else { return Ok(None) };
        let Some(text) = cell(column.as_ref(), at, row, field)? else { return Ok(None) };
        let message = "a moment is an integer".to_owned();
        text.parse().map(Some).map_err(|_| BadCell { row, column: field.to_owned(), message })
    };
    let Some(call) = moment("call")? else {
        return Err(BadCell { row, column: "call".to_owned(), message: "this is null".to_owned() });
    };
    let ret = moment("return")?;
    if ret.is_some_and(|ret| ret < call) {
        let message = "the operation returns before it is called".to_owned();
        return Err(BadCell { row, column: "return".to_owned(), message });
    }
    let with = |line: &str, kind: &str| format!("{},\"type\":\"{kind}\"}}\n", line.trim_end_matches("}\n"));
    let called = line(batch, at, row, &["process", "f", "key", "value"])?;
    events.push(Event { moment: (call, false, row), line: with(&called, "invoke") });
    let kind = match batch.column_by_name("type") {
        None => None,
        Some(column) => cell(column.as_ref(), at, row, "type")?,
    };
    let kind = kind.as_deref().map_or("ok", |kind| kind.trim_matches('"'));
    if let Some(ret) = ret {
        let mut returned = line(batch, at, row, &["process", "f", "key"])?;
        let result = match batch.column_by_name("result") {
            None => None,
            Some(column) => cell(column.as_ref(), at, row, "result")?,
        };
        if let Some(result) = result {
            returned = format!("{},\"value\":{result}}}\n", returned.trim_end_matches("}\n"));
        }
        events.push(Event { moment: (ret, true, row), line: with(&returned, kind) });
    }
    Ok(())
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
            let key = dictionary.normalized_keys()[at];
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
