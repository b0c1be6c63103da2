//! Errors of Rust as exceptions of Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use seriatim::format::InputError as Bad;
use seriatim::{Misfit, ReadError};

create_exception!(
    seriatim,
    InputError,
    PyValueError,
    "Bad input. `line` and `column` say where, counted from 1; `text` is the line, `expected` what was expected."
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
    let expected = error.expected.as_ref().map_or_else(String::new, |expected| format!(" (expected {expected})"));
    let raised =
        InputError::new_err(format!("line {}, column {}: {}{expected}", error.line, error.column, error.message));
    let value = raised.value(py);
    let set = value
        .setattr("line", error.line)
        .and_then(|()| value.setattr("column", error.column))
        .and_then(|()| value.setattr("text", &error.text))
        .and_then(|()| value.setattr("expected", error.expected.as_deref()));
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
