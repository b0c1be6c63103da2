//! Histories: read from a file, from text or from bytes.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seriatim::format::{self, Format, ReadOptions, Writer};
use seriatim::history::{Object, OperationId};

use crate::errors;

/// A recorded history. It does not change.
#[pyclass(frozen, module = "seriatim")]
pub struct History {
    pub(crate) inner: Arc<seriatim::History>,
    /// Its place in its file, from 0.
    pub(crate) number: u32,
}

impl History {
    pub(crate) fn new(history: seriatim::History, number: u32) -> Self {
        Self { inner: Arc::new(history), number }
    }

    pub(crate) fn write(&self, format: Format) -> PyResult<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), format);
        let written = writer.write(&self.inner).and_then(|()| writer.finish());
        written.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

#[pymethods]
impl History {
    /// How many operations there are.
    fn __len__(&self) -> usize {
        self.inner.operations().len()
    }

    fn __str__(&self) -> PyResult<String> {
        self.to("text")
    }

    fn __repr__(&self) -> String {
        let inner = &self.inner;
        let object = inner.object().name();
        format!("<History of {} operations by {} processes on a {object}>", self.__len__(), inner.processes().len())
    }

    /// The name that the file gives to the history.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.inner.name()
    }

    /// The kind of object.
    #[getter]
    fn object(&self) -> &str {
        self.inner.object().name()
    }

    /// The names of the processes.
    #[getter]
    fn processes(&self) -> Vec<String> {
        self.inner.processes().iter().map(|&name| self.inner.words().show_process(name)).collect()
    }

    /// The operations, each in one line as the text format shows it.
    fn operations(&self) -> Vec<String> {
        let count = self.inner.operations().len() as u32;
        (0..count).map(|id| format::render_operation(&self.inner, OperationId(id))).collect()
    }

    /// The history in a format: `text`, `jsonl`, `edn` or `axe`.
    fn to(&self, format: &str) -> PyResult<String> {
        let bytes = self.write(named_format(format)?)?;
        String::from_utf8(bytes).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

pub(crate) fn named_format(name: &str) -> PyResult<Format> {
    let names = || Format::ALL.map(Format::name).join(", ");
    Format::from_name(name).ok_or_else(|| PyValueError::new_err(format!("there is no format {name}, only {}", names())))
}

pub(crate) fn named_object(name: &str) -> PyResult<Object> {
    let names = || Object::ALL.map(Object::name).join(", ");
    Object::from_name(name).ok_or_else(|| PyValueError::new_err(format!("there is no object {name}, only {}", names())))
}

/// How to read: the names of format and object, and the initial value.
pub(crate) fn read_options(
    format: Option<&str>,
    object: Option<&str>,
    initial: Option<String>,
) -> PyResult<ReadOptions> {
    let format = format.map(named_format).transpose()?;
    Ok(ReadOptions { format, object: object.map(named_object).transpose()?, initial, ..ReadOptions::default() })
}

/// All histories of a file or of bytes. Exactly one of `path` and `content` is given.
#[pyfunction]
#[pyo3(signature = (*, path=None, content=None, format=None, object=None, initial=None))]
pub(crate) fn histories(
    py: Python<'_>,
    path: Option<PathBuf>,
    content: Option<&[u8]>,
    format: Option<&str>,
    object: Option<&str>,
    initial: Option<String>,
) -> PyResult<Vec<History>> {
    let options = read_options(format, object, initial)?;
    let content = content.map(<[u8]>::to_vec);
    let read = py.detach(|| {
        let reader = match (path, content) {
            (Some(path), _) => format::open(&path, &options).map_err(seriatim::ReadError::Io)?,
            (None, content) => format::read_bytes(content.unwrap_or_default(), &options),
        };
        let numbered = reader.zip(0..).map(|(history, number)| Ok(History::new(history?, number)));
        numbered.collect::<Result<Vec<History>, seriatim::ReadError>>()
    });
    read.map_err(|error| errors::of_read(py, error))
}
