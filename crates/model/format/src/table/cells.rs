//! Cells as JSON. A table has its numbers and strings in typed columns; the records of histories are read from text. So
//! a cell is written as the JSON that a line of [JSON Lines](crate::json) would have for it.

use std::io::Write as _;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_schema::{DataType, TimeUnit};

use super::super::string::push_quoted;

/// Whether columns of this type are read.
pub(super) fn is_read(kind: &DataType) -> bool {
    match kind {
        DataType::Null
        | DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal128(_, 0)
        | DataType::Timestamp(_, _)
        | DataType::Duration(_)
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => true,
        DataType::List(element) | DataType::LargeList(element) => is_read(element.data_type()),
        DataType::Dictionary(_, value) => is_read(value),
        _ => false,
    }
}

/// Whether columns of this type have strings.
pub(super) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => is_text(value),
        _ => false,
    }
}

/// Appends a cell as JSON; `is_json` if its text is JSON already. Returns whether it is there: null is not.
pub(super) fn push(out: &mut Vec<u8>, column: &dyn Array, at: usize, is_json: bool) -> Result<bool, String> {
    if column.is_null(at) {
        return Ok(false);
    }
    let text = |out: &mut Vec<u8>, text: &str| {
        if is_json {
            out.extend_from_slice(text.as_bytes());
        } else {
            push_quoted(out, text);
        }
    };
    macro_rules! integer {
        ($kind:ty) => {{
            let _ = write!(out, "{}", column.as_primitive::<$kind>().value(at));
        }};
    }
    match column.data_type() {
        DataType::Null => return Ok(false),
        DataType::Boolean => {
            let value = column.as_boolean().value(at);
            out.extend_from_slice(if value { b"true" } else { b"false" });
        }
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => integer!(Int64Type),
        DataType::UInt8 => integer!(UInt8Type),
        DataType::UInt16 => integer!(UInt16Type),
        DataType::UInt32 => integer!(UInt32Type),
        DataType::UInt64 => integer!(UInt64Type),
        DataType::Float32 => return float(out, column.as_primitive::<Float32Type>().value(at).into()),
        DataType::Float64 => return float(out, column.as_primitive::<Float64Type>().value(at)),
        // DuckDB's sums of integers.
        DataType::Decimal128(_, 0) => integer!(Decimal128Type),
        // A moment is as many of its units.
        DataType::Timestamp(TimeUnit::Second, _) => integer!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => integer!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => integer!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => integer!(TimestampNanosecondType),
        DataType::Duration(TimeUnit::Second) => integer!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => integer!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => integer!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => integer!(DurationNanosecondType),
        DataType::Utf8 => text(out, column.as_string::<i32>().value(at)),
        DataType::LargeUtf8 => text(out, column.as_string::<i64>().value(at)),
        DataType::Utf8View => text(out, column.as_string_view().value(at)),
        DataType::List(_) => list(out, column.as_list::<i32>().value(at).as_ref())?,
        DataType::LargeList(_) => list(out, column.as_list::<i64>().value(at).as_ref())?,
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            let entry = integer(dictionary.keys(), at).and_then(|key| usize::try_from(key).ok());
            return match entry.filter(|&entry| entry < dictionary.values().len()) {
                Some(entry) => push(out, dictionary.values().as_ref(), entry, is_json),
                None => Err("this is not in the dictionary of its column".to_owned()),
            };
        }
        other => return Err(format!("a column of type {other} is not read")),
    }
    Ok(true)
}

/// A whole number. Pandas writes a missing integer as NaN.
fn float(out: &mut Vec<u8>, number: f64) -> Result<bool, String> {
    if number.is_nan() {
        return Ok(false);
    }
    if number.fract() != 0.0 || number.abs() >= 9_007_199_254_740_992.0 {
        return Err(format!("{number} is not an integer"));
    }
    let _ = write!(out, "{number:.0}");
    Ok(true)
}

fn list(out: &mut Vec<u8>, elements: &dyn Array) -> Result<(), String> {
    out.push(b'[');
    for at in 0..elements.len() {
        if at > 0 {
            out.push(b',');
        }
        if !push(out, elements, at, false)? {
            out.extend_from_slice(b"null");
        }
    }
    out.push(b']');
    Ok(())
}

/// An integer of a dictionary's keys.
fn integer(column: &dyn Array, at: usize) -> Option<i64> {
    match column.data_type() {
        DataType::Int8 => Some(column.as_primitive::<Int8Type>().value(at).into()),
        DataType::Int16 => Some(column.as_primitive::<Int16Type>().value(at).into()),
        DataType::Int32 => Some(column.as_primitive::<Int32Type>().value(at).into()),
        DataType::Int64 => Some(column.as_primitive::<Int64Type>().value(at)),
        DataType::UInt8 => Some(column.as_primitive::<UInt8Type>().value(at).into()),
        DataType::UInt16 => Some(column.as_primitive::<UInt16Type>().value(at).into()),
        DataType::UInt32 => Some(column.as_primitive::<UInt32Type>().value(at).into()),
        DataType::UInt64 => i64::try_from(column.as_primitive::<UInt64Type>().value(at)).ok(),
        _ => None,
    }
}
