//! Histories of simulated memories and objects.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seriatim::workload::{memory, object};

use crate::history::{History, named_object};

/// A history of a simulated memory.
#[pyfunction]
pub(crate) fn generate_memory(
    py: Python<'_>,
    model: &str,
    threads: u32,
    operations: u32,
    locations: u32,
    writes: u32,
    rmws: u32,
    fences: u32,
    perturb: u32,
    seed: u64,
) -> PyResult<History> {
    let machine = match model {
        "sc" => memory::MemoryMachine::Sc,
        "tso" => memory::MemoryMachine::Tso,
        "pso" => memory::MemoryMachine::Pso,
        "ra" => memory::MemoryMachine::ReleaseAcquire,
        "rc20" => memory::MemoryMachine::Rc20,
        "relaxed" => memory::MemoryMachine::Relaxed,
        other => {
            let known = "sc, tso, pso, ra, rc20, relaxed";
            return Err(PyValueError::new_err(format!("there is no machine {other}, only {known}")));
        }
    };
    let config = memory::MemoryConfig {
        machine,
        threads,
        operations,
        locations,
        writes,
        rmws,
        fences,
        perturb,
        seed,
        ..memory::MemoryConfig::default()
    };
    if let Some(fault) = config.fault() {
        return Err(PyValueError::new_err(fault));
    }
    Ok(History::new(py.detach(|| memory::history(&config, memory::generate(&config)))))
}

/// A history of a simulated object.
#[pyfunction]
pub(crate) fn generate_object(
    py: Python<'_>,
    object: &str,
    threads: u32,
    operations: u32,
    values: u32,
    keys: u32,
    pending: u32,
    wrong: Option<&str>,
    seed: u64,
) -> PyResult<History> {
    let fault = match wrong {
        None => None,
        Some("k-fifo") => Some(object::Fault::OutOfOrder(4)),
        Some("lost") => Some(object::Fault::Lost),
        Some("duplicated") => Some(object::Fault::Duplicated),
        Some("late-empty") => Some(object::Fault::LateEmpty),
        Some(other) => {
            let known = "k-fifo, lost, duplicated, late-empty";
            return Err(PyValueError::new_err(format!("there is no fault {other}, only {known}")));
        }
    };
    let config = object::ObjectConfig {
        threads,
        operations,
        values,
        keys,
        pending,
        fault,
        shows: fault.is_some(),
        seed,
        ..object::ObjectConfig::new(named_object(object)?)
    };
    if let Some(misfit) = config.misfit() {
        return Err(PyValueError::new_err(misfit));
    }
    Ok(History::new(py.detach(|| object::history(&config))))
}
