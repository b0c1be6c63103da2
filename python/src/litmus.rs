//! Litmus tests, explored in every way that a model allows.

use std::collections::BTreeMap;
use std::time::Instant;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seriatim::programs::Model;
use seriatim::programs::litmus::{Architecture, Limits, Test};

use crate::errors;
use crate::history::History;
use crate::patience;

/// A final state: the values of its variables, in how many executions, whether it satisfies the proposition, and an
/// execution that ends with it.
type State = (BTreeMap<String, i128>, u64, bool, Option<History>);

/// What an exploration found.
#[pyclass(frozen, get_all, module = "seriatim._native")]
pub struct Explored {
    test: String,
    model: &'static str,
    condition: String,
    /// `ok`, `no`, or `unknown` if executions that were not seen could change it.
    verdict: &'static str,
    reachable: bool,
    complete: bool,
    executions: u64,
    blocked: u64,
    deadlocks: u64,
    races: u64,
    never_ends: bool,
}

/// Explores a litmus test.
#[pyfunction]
#[pyo3(signature = (text, model=None, timeout=Some(60.0), steps=100, jobs=1, witnesses=true, spurious=1))]
pub(crate) fn explore(
    py: Python<'_>,
    text: &[u8],
    model: Option<&str>,
    timeout: Option<f64>,
    steps: u32,
    jobs: usize,
    witnesses: bool,
    spurious: u32,
) -> PyResult<(Explored, Vec<State>)> {
    let test = Test::parse(text).map_err(|error| errors::of_input(py, &error))?;
    let model = match (model, test.architecture()) {
        (Some(name), _) => Model::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = Model::ALL.iter().map(|model| model.name()).collect();
            PyValueError::new_err(format!("there is no model {name} of programs, only {}", names.join(", ")))
        })?,
        (None, Architecture::C) => Model::C20,
        (None, _) => Model::Tso,
    };
    let limit = patience::limit(timeout)?;
    let limits = Limits {
        steps,
        workers: jobs.clamp(1, 256),
        witnesses,
        spurious_failures: spurious,
        deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
        ..Limits::default()
    };
    // An exploration cannot be cancelled: its deadline ends it.
    let report =
        py.detach(|| test.explore(model, limits)).map_err(|misfit| PyValueError::new_err(misfit.to_string()))?;
    py.check_signals()?;
    let explored = Explored {
        test: test.name().to_owned(),
        model: model.name(),
        condition: format!("{} ({})", test.quantifier().name(), test.proposition()),
        verdict: match (report.is_certain(), report.is_ok()) {
            (false, _) => "unknown",
            (true, true) => "ok",
            (true, false) => "no",
        },
        reachable: report.is_reachable(),
        complete: report.is_complete,
        executions: report.counts.executions,
        blocked: report.counts.blocked,
        deadlocks: report.counts.deadlocks,
        races: report.counts.races,
        never_ends: report.endless.as_ref().is_some_and(|endless| endless.is_certain),
    };
    let outcomes = report.outcomes.into_iter();
    let states = outcomes.map(|outcome| {
        let variables = test.observed().iter().zip(&outcome.state);
        let values = variables.map(|(variable, &value)| (variable.name(), variable.number(value))).collect();
        (values, outcome.count, outcome.is_positive, outcome.witness.map(History::new))
    });
    Ok((explored, states.collect()))
}
