//! Histories: read one after the other from a file, from bytes or from a table.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use seriatim::ReadError;
use seriatim::format::{self, Format, ReadOptions, RowOrder, Writer};
use seriatim::history::{Object, OperationId};

use crate::errors;
use crate::table;

/// Where a history comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// What a column, a key or the file itself calls it.
    pub(crate) id: Option<Arc<str>>,
    pub(crate) file: Option<Arc<str>>,
    /// Its place in its file, from 0.
    pub(crate) number: u32,
    /// The line of its first operation, or of its error, from 1. It has none if it comes from no file.
    pub(crate) line: Option<u32>,
}

/// The parts of an origin, as they are pickled.
pub(crate) type Parts = (Option<String>, Option<String>, u32, Option<u32>);

impl Origin {
    pub(crate) fn parts(&self) -> Parts {
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
        (text(&self.id), text(&self.file), self.number, self.line)
    }

    pub(crate) fn of_parts((id, file, number, line): Parts) -> Self {
        Self { id: id.map(Arc::from), file: file.map(Arc::from), number, line }
    }
}

/// A recorded history. It does not change.
#[pyclass(frozen, module = "seriatim")]
pub struct History {
    pub(crate) inner: Arc<seriatim::History>,
    pub(crate) origin: Origin,
}

/// A history that could not be read, and why.
#[pyclass(frozen, module = "seriatim._native")]
pub struct Unread {
    pub(crate) origin: Origin,
    pub(crate) error: Py<PyBaseException>,
}

impl History {
    /// A history from nowhere.
    pub(crate) fn new(history: seriatim::History) -> Self {
        Self { inner: Arc::new(history), origin: Origin::default() }
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
        let name = self.origin.id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
        let (count, processes) = (self.__len__(), inner.processes().len());
        format!("<History{name} of {count} operations by {processes} processes on a {object}>")
    }

    /// Two histories are equal if they record the same, wherever they come from.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| is_same(&self.inner, &other.get().inner))
    }

    fn __hash__(&self) -> u64 {
        // Python wants a number, and the digest is one.
        u64::from_str_radix(&seriatim::model::digest(&self.inner)[..16], 16).unwrap_or_default()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Vec<u8>, Vec<u32>, Parts))> {
        let restore = py.import("seriatim._native")?.getattr("restore_history")?;
        Ok((restore, (self.write(Format::Text)?, self.inner.marks(), self.origin.parts())))
    }

    /// The name that the file gives to the history.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.inner.name()
    }

    /// What a column `history`, a key or the file itself calls it.
    #[getter]
    fn id(&self) -> Option<&str> {
        self.origin.id.as_deref()
    }

    /// The file that it was read from.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.origin.file.as_deref()
    }

    /// The line of its first operation, from 1.
    #[getter]
    fn line(&self) -> Option<u32> {
        self.origin.line
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

    /// The history in a format of text: `text`, `jsonl`, `edn` or `axe`.
    fn to(&self, format: &str) -> PyResult<String> {
        let bytes = self.write(named_format(format)?)?;
        String::from_utf8(bytes).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The history in any format that is written, such as `parquet`.
    fn to_bytes(&self, format: &str) -> PyResult<Vec<u8>> {
        self.write(named_format(format)?)
    }

    /// The operations as dicts, with the fields of JSON Lines.
    fn to_dict(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        converted(slf.as_any(), "history_to_dict")
    }

    /// The operations as a table of pyarrow, with the columns of Parquet files.
    fn to_arrow(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        converted(slf.as_any(), "history_to_arrow")
    }

    /// The operations as a data frame of pandas, with the columns of Parquet files.
    fn to_pandas(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        converted(slf.as_any(), "history_to_pandas")
    }

    /// The same history with this name of its own.
    fn with_id(&self, id: String) -> Self {
        let origin = Origin { id: Some(id.into()), ..self.origin.clone() };
        Self { inner: Arc::clone(&self.inner), origin }
    }
}

#[pymethods]
impl Unread {
    /// What is wrong with it.
    #[getter]
    fn error(&self, py: Python<'_>) -> Py<PyBaseException> {
        self.error.clone_ref(py)
    }

    /// What cannot be read, and why.
    #[new]
    #[pyo3(signature = (error, file=None))]
    fn new(error: Py<PyBaseException>, file: Option<String>) -> Self {
        Self { origin: Origin { file: file.map(Arc::from), ..Origin::default() }, error }
    }

    /// The same with this name of its own.
    fn with_id(&self, py: Python<'_>, id: String) -> Self {
        let origin = Origin { id: Some(id.into()), ..self.origin.clone() };
        Self { origin, error: self.error.clone_ref(py) }
    }
}

/// Calls a function of `seriatim._convert`.
pub(crate) fn converted(it: &Bound<'_, PyAny>, function: &str) -> PyResult<Py<PyAny>> {
    let module = it.py().import("seriatim._convert")?;
    Ok(module.call_method1(function, (it,))?.unbind())
}

/// Whether two histories record the same.
pub(crate) fn is_same(one: &Arc<seriatim::History>, other: &Arc<seriatim::History>) -> bool {
    Arc::ptr_eq(one, other)
        || (one.operations().len() == other.operations().len()
            && seriatim::model::digest(one) == seriatim::model::digest(other))
}

/// A history that was pickled.
#[pyfunction]
pub(crate) fn restore_history(py: Python<'_>, text: Vec<u8>, marks: Vec<u32>, origin: Parts) -> PyResult<History> {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let read = format::read_bytes(text, &options).next();
    let read = read.ok_or_else(|| PyValueError::new_err("this is no history that was pickled"))?;
    let mut history = read.map_err(|error| errors::of_input(py, &error))?;
    history.set_marks(marks);
    Ok(History { inner: Arc::new(history), origin: Origin::of_parts(origin) })
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

/// The histories of a file, of bytes or of a table, one after the other.
#[pyclass(frozen, module = "seriatim._native")]
pub struct Reader {
    open: Mutex<Open>,
    /// The columns of a table.
    columns: Vec<String>,
    file: Option<Arc<str>>,
}

struct Open {
    reader: format::Reader,
    number: u32,
}

/// A lot ends with the history that makes it longer than this many operations.
const LONG: usize = 1 << 18;

#[pymethods]
impl Reader {
    /// Exactly one of `path`, `content` and `table` is given. `rows` says where the rows of a history are in a table:
    /// `scattered`, `together`, or `apart`, which is together and counted by themselves.
    #[new]
    #[pyo3(signature = (
        *, path=None, content=None, table=None, rows="scattered", format=None, object=None, initial=None
    ))]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        content: Option<&[u8]>,
        table: Option<&Bound<'_, PyAny>>,
        rows: &str,
        format: Option<&str>,
        object: Option<&str>,
        initial: Option<String>,
    ) -> PyResult<Self> {
        let options = read_options(format, object, initial)?;
        let rows = match rows {
            "scattered" => RowOrder::Scattered,
            "together" => RowOrder::Together,
            "apart" => RowOrder::Apart,
            other => return Err(PyValueError::new_err(format!("rows are scattered, together or apart, not {other}"))),
        };
        let file = path.as_ref().map(|path| Arc::from(path.to_string_lossy()));
        let mut columns = Vec::new();
        let reader = if let Some(path) = path {
            py.detach(|| format::open(&path, &options)).map_err(|error| errors::of_read(py, ReadError::Io(error)))?
        } else if let Some(table) = table {
            let batches = table::batches(table)?;
            columns.extend(batches.schema().fields().iter().map(|field| field.name().clone()));
            py.detach(|| format::read_batches(batches, rows, &options))
        } else {
            format::read_bytes(content.unwrap_or_default().to_vec(), &options)
        };
        Ok(Self { open: Mutex::new(Open { reader, number: 0 }), columns, file })
    }

    /// The next histories, at most so many; fewer if they are long, and none at the end. One that cannot be read is
    /// there as [`Unread`].
    fn take(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Py<PyAny>>> {
        py.check_signals()?;
        let (lot, is_table) = py.detach(|| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let Open { reader, number } = &mut *open;
            let mut lot = Vec::new();
            let mut length = 0;
            while lot.len() < count && length < LONG {
                let Some(read) = reader.next() else { break };
                let named = read.as_ref().ok().and_then(|history| history.name()).map(Arc::from);
                let line = match &read {
                    Ok(history) => history.operations().first().map(|operation| operation.line),
                    Err(error) => Some(error.line),
                };
                let id = reader.id().map(Arc::from).or(named);
                let line = line.filter(|&line| line > 0);
                let origin = Origin { id, file: self.file.clone(), number: *number, line };
                *number = number.saturating_add(1);
                length += read.as_ref().map_or(0, |history| history.operations().len());
                lot.push((origin, read.map(Arc::new)));
            }
            (lot, matches!(reader.format(), Some(Format::Parquet | Format::Arrow)))
        });
        let columns = is_table.then_some(&self.columns[..]);
        let made = lot.into_iter().map(|(origin, read)| match read {
            Ok(inner) => Ok(Py::new(py, History { inner, origin })?.into_any()),
            Err(error) => {
                let raised = errors::of_input_in(py, &error, columns, &origin);
                Ok(Py::new(py, Unread { origin, error: raised.into_value(py) })?.into_any())
            }
        });
        made.collect()
    }
}

/// The column that a table means by this name. None if the column is left alone.
#[pyfunction]
pub(crate) fn column_named(name: &str) -> Option<&'static str> {
    format::column_named(name)
}
