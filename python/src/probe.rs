//! Workloads against real databases.

use std::time::Duration;

use probe::{DatabaseIsolation, ProbeConfig, Url, Workload};
use pyo3::exceptions::{PyConnectionError, PyValueError};
use pyo3::prelude::*;

use crate::history::History;
use crate::patience;

/// What a workload did: the history; how many committed, aborted, and ended nobody knows how; the seconds it took; how
/// many reads of all accounts found a wrong sum.
type Probed = (History, u64, u64, u64, f64, u64);

/// Runs a workload against a database.
#[pyfunction]
pub(crate) fn run_probe(
    py: Python<'_>,
    url: &str,
    workload: &str,
    isolation: &str,
    clients: u32,
    seconds: f64,
    keys: u32,
    length: u32,
    writes: u32,
    timeout: f64,
    seed: u64,
) -> PyResult<Probed> {
    let unknown = |what: &str, name: &str, known: Vec<&str>| {
        PyValueError::new_err(format!("there is no {what} {name}, only {}", known.join(", ")))
    };
    let url: Url = url.parse().map_err(|error: probe::ProbeError| PyValueError::new_err(error.to_string()))?;
    let workload = Workload::from_name(workload)
        .ok_or_else(|| unknown("workload", workload, Workload::ALL.map(Workload::name).to_vec()))?;
    let isolation = DatabaseIsolation::from_name(isolation).ok_or_else(|| {
        unknown("isolation level", isolation, DatabaseIsolation::ALL.map(DatabaseIsolation::name).to_vec())
    })?;
    let time = |seconds: f64| -> PyResult<Duration> {
        patience::limit(Some(seconds))?.ok_or_else(|| PyValueError::new_err("this time is too long"))
    };
    if !(1..=1000).contains(&clients) || keys == 0 || length == 0 || writes > 100 {
        return Err(PyValueError::new_err(
            "a probe has 1 to 1000 clients, at least one key, at least one operation, and at most 100 percent writes",
        ));
    }
    let config = ProbeConfig {
        workload,
        isolation,
        clients,
        duration: time(seconds)?,
        keys,
        length,
        writes,
        timeout: time(timeout)?,
        seed,
        ..ProbeConfig::new(url)
    };
    // The clients end when their time is over; they are not cancelled before.
    let report = py.detach(|| probe::run(&config)).map_err(|error| PyConnectionError::new_err(error.to_string()))?;
    py.check_signals()?;
    let counts = report.counts;
    let elapsed = report.elapsed.as_secs_f64();
    Ok((History::new(report.history), counts.committed, counts.aborted, counts.unknown, elapsed, report.wrong_sums))
}
