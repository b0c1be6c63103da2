//! Errors of Rust as exceptions of Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use seriatim::format::InputError as Bad;
use seriatim::{Misfit, ReadError};

use crate::history::Origin;

create_exception!(
    seriatim,
    InputError,
    PyValueError,
    "Bad input. `line` and `column` say where, counted from 1; in a table they are the row and the name of the column. \
     `text` is the line, `expected` what was expected, `file` and `id` say in which history."
);
create_exception!(
    seriatim,
    MisfitError,
    PyValueError,
    "The model does not fit the history. `fitting` lists those that do."
);
create_exception!(seriatim, RefusedError, PyValueError, "A certificate that does not prove its verdict.");
create_exception!(seriatim, NoViolationError, PyValueError, "There is no violation to shrink.");

/// The exception for bad input.
pub(crate) fn of_input(py: Python<'_>, error: &Bad) -> PyErr {
    of_input_in(py, error, None, &Origin::default())
}

/// The exception for bad input of this origin, perhaps in a table with these columns, as far as they are known.
pub(crate) fn of_input_in(py: Python<'_>, error: &Bad, columns: Option<&[String]>, origin: &Origin) -> PyErr {
    let expected = error.expected.as_ref().map_or_else(String::new, |expected| format!(" (expected {expected})"));
    // In a table, the message says where, or it is about the whole.
    let place = if columns.is_none() && error.line > 0 {
        format!("line {}, column {}: ", error.line, error.column)
    } else {
        String::new()
    };
    let raised = InputError::new_err(format!("{place}{}{expected}", error.message));
    let value = raised.value(py);
    let named = (error.column as usize).checked_sub(1).and_then(|at| columns?.get(at));
    let set = value
        .setattr("line", error.line)
        .and_then(|()| match named {
            Some(name) => value.setattr("column", name),
            None => value.setattr("column", error.column),
        })
        .and_then(|()| value.setattr("text", &error.text))
        .and_then(|()| value.setattr("expected", error.expected.as_deref()))
        .and_then(|()| value.setattr("file", origin.file.as_deref()))
        .and_then(|()| value.setattr("id", origin.id.as_deref()));
    set.map_or_else(|error| error, |()| raised)
}

/// The exception for a file or text that gave no history.
pub(crate) fn of_read(py: Python<'_>, error: ReadError) -> PyErr {
    match error {
        ReadError::Io(error) => error.into(),
        ReadError::Input(error) => of_input(py, &error),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The exception for a model that does not fit.
pub(crate) fn of_misfit(py: Python<'_>, misfit: &Misfit) -> PyErr {
    let raised = MisfitError::new_err(misfit.to_string());
    let fitting: Vec<&str> = misfit.fitting.iter().map(|model| model.name()).collect();
    let set = raised.value(py).setattr("fitting", fitting);
    set.map_or_else(|error| error, |()| raised)
}
