//! The Python module `seriatim._native`: what the package `seriatim` does in Rust.
//!
//! A history is parsed or built once, and shared by all that is asked about it. Checks run without the lock of the
//! interpreter. A check that takes longer than a moment runs in a thread of its own, while the thread that asked looks
//! for signals, so that an interrupt from the keyboard ends it.

mod errors;
mod generate;
mod history;
mod litmus;
mod monitor;
mod patience;
mod probe;
mod specification;
mod table;
mod verdict;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The module.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::errors::{InputError, MisfitError, NoViolationError, RefusedError};
    #[pymodule_export]
    use super::generate::{generate_memory, generate_object};
    #[pymodule_export]
    use super::history::{History, Reader, Unread, column_named, restore_history};
    #[pymodule_export]
    use super::litmus::{Explored, explore};
    #[pymodule_export]
    use super::monitor::{Monitor, restore_monitor};
    #[pymodule_export]
    use super::probe::run_probe;
    #[pymodule_export]
    use super::specification::check_specification;
    #[pymodule_export]
    use super::verdict::{Verdict, check, check_many, classify, models, restore_verdict, shrink, verify};

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        use super::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
