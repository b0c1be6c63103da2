//! Tables that come through Arrow's C stream interface: of pyarrow, pandas, Polars, DuckDB and others. The rows are
//! read by the reader of Parquet and Arrow files ([`seriatim::format`]), where they are.

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

/// The batches of anything that has Arrow's C stream interface.
pub(crate) fn batches(table: &Bound<'_, PyAny>) -> PyResult<Box<dyn RecordBatchReader + Send>> {
    let capsule = table.call_method0("__arrow_c_stream__").map_err(|error| {
        let raised = PyTypeError::new_err("this is no table: it gives no stream of Arrow's");
        raised.set_cause(table.py(), Some(error));
        raised
    })?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule has the name that the protocol reserves for such streams, and lives until the end of this
    // function. `from_raw` takes the stream out of it, as the protocol wants.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
    Ok(Box::new(reader.map_err(|error| PyValueError::new_err(error.to_string()))?))
}
