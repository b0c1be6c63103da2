//! Objects that are specified in Python: the same search as for objects that are specified in Rust.
//!
//! The specification is an object with `init()`, which returns the initial state, and `step(state, method,
//! *arguments)`. A step returns the next state and the result. It returns `None` if the operation would wait, and a
//! list of such pairs if the object may choose. States, arguments and results are compared with `==`, and must be
//! hashable. The first exception that the specification raises ends the search.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use seriatim::model::Budget;
use seriatim::object::{ObjectOptions, Recorded, Sequential, check_calls, recorded};
use seriatim::{Decision, Model};

use crate::history::History;
use crate::patience;
use crate::verdict::Verdict;

thread_local! {
    /// The first exception of the search on this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

fn raise(error: PyErr) {
    RAISED.with_borrow_mut(|raised| _ = raised.get_or_insert(error));
}

fn is_raised() -> bool {
    RAISED.with_borrow(Option::is_some)
}

/// A value of Python as a key: compared with `==`, and hashed once.
#[derive(Clone)]
struct Key<'py> {
    value: Bound<'py, PyAny>,
    hash: isize,
}

impl<'py> Key<'py> {
    fn new(value: Bound<'py, PyAny>) -> PyResult<Self> {
        let hash = value.hash()?;
        Ok(Self { value, hash })
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        let is_equal = || {
            self.value.eq(&other.value).unwrap_or_else(|error| {
                raise(error);
                false
            })
        };
        self.hash == other.hash && (self.value.is(&other.value) || is_equal())
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

struct Specification<'py> {
    py: Python<'py>,
    step: Bound<'py, PyAny>,
    initial: Key<'py>,
}

impl<'py> Specification<'py> {
    fn pair(pair: &Bound<'py, PyAny>) -> PyResult<(Key<'py>, Key<'py>)> {
        let wrong =
            || PyTypeError::new_err("a step is a pair: the next state and the result; or None, or a list of pairs");
        let pair = pair.cast::<PyTuple>().map_err(|_| wrong())?;
        if pair.len() != 2 {
            return Err(wrong());
        }
        Ok((Key::new(pair.get_item(0)?)?, Key::new(pair.get_item(1)?)?))
    }

    fn step(&self, state: &Key<'py>, operation: &(String, Key<'py>)) -> PyResult<Vec<(Key<'py>, Key<'py>)>> {
        self.py.check_signals()?;
        let mut arguments = vec![state.value.clone(), operation.0.as_str().into_pyobject(self.py)?.into_any()];
        arguments.extend(operation.1.value.try_iter()?.collect::<PyResult<Vec<_>>>()?);
        let steps = self.step.call1(PyTuple::new(self.py, arguments)?)?;
        if steps.is_none() {
            return Ok(Vec::new());
        }
        match steps.cast::<PyList>() {
            Ok(steps) => steps.iter().map(|step| Self::pair(&step)).collect(),
            Err(_) => Ok(vec![Self::pair(&steps)?]),
        }
    }
}

impl<'py> Sequential for Specification<'py> {
    type State = Key<'py>;
    type Operation = (String, Key<'py>);
    type Return = Key<'py>;

    fn initial(&self) -> Key<'py> {
        self.initial.clone()
    }

    fn steps(&self, state: &Key<'py>, operation: &Self::Operation) -> impl IntoIterator<Item = (Key<'py>, Key<'py>)> {
        if is_raised() {
            return Vec::new();
        }
        self.step(state, operation).unwrap_or_else(|error| {
            raise(error);
            Vec::new()
        })
    }
}

/// Checks the calls of a history against an object that is specified in Python. `decode` turns the text of a value into
/// a value of Python.
#[pyfunction]
#[pyo3(signature = (history, specification, decode, timeout=Some(60.0)))]
pub(crate) fn check_specification(
    py: Python<'_>,
    history: &History,
    specification: &Bound<'_, PyAny>,
    decode: &Bound<'_, PyAny>,
    timeout: Option<f64>,
) -> PyResult<Verdict> {
    let initial = Key::new(specification.call_method0("init")?)?;
    let specification = Specification { py, step: specification.getattr("step")?, initial };
    let limit = patience::limit(timeout)?;
    let budget = limit.map_or(Budget::UNLIMITED, |limit| Budget::default().timeout(limit));
    RAISED.set(None);
    let value = |text: &str| decode.call1((text,));
    let read = |call: &Recorded| {
        let read = || -> PyResult<_> {
            let key = call.key.map(value).transpose()?;
            let arguments = key.into_iter().map(Ok).chain(call.arguments.iter().map(|text| value(text)));
            let arguments = PyTuple::new(py, arguments.collect::<PyResult<Vec<_>>>()?)?;
            let result = match call.result {
                Some(text) => value(text)?,
                None => py.None().into_bound(py),
            };
            Ok(((call.method.to_owned(), Key::new(arguments.into_any())?), Some(Key::new(result)?)))
        };
        read().map_err(raise).ok()
    };
    let calls = recorded(&history.inner, read);
    if let Some(error) = RAISED.take() {
        return Err(error);
    }
    let calls = calls.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let options = ObjectOptions { witness: true, budget, ..ObjectOptions::default() };
    let decided = check_calls(&specification, &calls, &options);
    if let Some(error) = RAISED.take() {
        return Err(error);
    }
    let decision = Decision::new(Model::Linearizable, decided);
    Ok(Verdict::new(history, decision, limit))
}
