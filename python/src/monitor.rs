//! Monitors: events come line by line.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seriatim::format::stream::{Item, Stream};
use seriatim::monitor::Progress;
use seriatim::{Wanted, Watch};

use crate::errors;
use crate::history::read_options;
use crate::verdict::named;

/// A monitor of one history.
#[pyclass(module = "seriatim._native")]
pub struct Monitor {
    stream: Stream,
    wanted: Wanted,
    watch: Option<Watch>,
    events: u64,
    gave_up: Option<String>,
    is_violated: bool,
}

#[pymethods]
impl Monitor {
    #[new]
    #[pyo3(signature = (model=None, object=None, format=None, initial=None, threads=None))]
    fn new(
        model: Option<&str>,
        object: Option<&str>,
        format: Option<&str>,
        initial: Option<String>,
        threads: Option<u32>,
    ) -> PyResult<Self> {
        let options = read_options(format, object, initial)?;
        let stream = Stream::new(&options).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let wanted = Wanted { model: model.map(named).transpose()?, threads, ..Wanted::default() };
        Ok(Self { stream, wanted, watch: None, events: 0, gave_up: None, is_violated: false })
    }

    /// Takes in whole lines. Returns the first violation among their events, if there is one; events after it are not
    /// looked at.
    fn push_lines(&mut self, py: Python<'_>, lines: &[u8]) -> PyResult<Option<Py<PyAny>>> {
        let mut rest = lines;
        while let Some(item) = self.stream.next(&mut rest) {
            let event = match item.map_err(|error| errors::of_input(py, &error))? {
                Item::Event(event) => event,
                Item::End => return Err(PyValueError::new_err("a monitor watches one history, and here it ends")),
            };
            self.events += 1;
            if self.gave_up.is_some() {
                continue;
            }
            let watch = match &mut self.watch {
                Some(watch) => watch,
                none => none.insert(Watch::new(self.wanted, &self.stream, &event).map_err(PyValueError::new_err)?),
            };
            match watch.push(&event, &self.stream) {
                Ok(Progress::Possible) => {}
                Ok(Progress::Refused(reason)) => return Err(PyValueError::new_err(reason)),
                Ok(Progress::GaveUp(reason)) => self.gave_up = Some(reason),
                Err(violation) => {
                    self.is_violated = true;
                    let kind = py.import("seriatim._results")?.getattr("Violation")?;
                    return Ok(Some(kind.call1((self.events - 1, violation.reason))?.unbind()));
                }
            }
        }
        Ok(None)
    }

    /// How many events there were.
    #[getter]
    fn events(&self) -> u64 {
        self.events
    }

    /// The model that is monitored; none before the first event if none was named.
    #[getter]
    fn model(&self) -> Option<&'static str> {
        self.watch.as_ref().map(Watch::model).or(self.wanted.model).map(seriatim::Model::name)
    }

    /// The verdict on the events so far.
    #[getter]
    fn verdict(&self) -> &'static str {
        let is_unknown = || self.gave_up.is_some() || self.watch.as_ref().is_some_and(|it| it.doubt().is_some());
        match self {
            _ if self.is_violated => "violation",
            _ if is_unknown() => "unknown",
            _ => "consistent",
        }
    }

    /// Why the verdict is `unknown`.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.gave_up.as_deref().or_else(|| self.watch.as_ref().and_then(Watch::doubt))
    }

    /// The whole state, for [`restore_monitor`].
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, State)> {
        let parts = (&self.stream, &self.watch, self.events, &self.gave_up, self.is_violated);
        let bytes = postcard::to_allocvec(&parts).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let restore = py.import("seriatim._native")?.getattr("restore_monitor")?;
        Ok((restore, (bytes, self.wanted.model.map(|model| model.name().to_owned()), self.wanted.threads)))
    }
}

/// A monitor as it is pickled: its state, and the model and the number of threads that were wanted.
type State = (Vec<u8>, Option<String>, Option<u32>);

/// A monitor that was pickled, by this version.
#[pyfunction]
#[pyo3(signature = (bytes, model, threads))]
pub(crate) fn restore_monitor(bytes: Vec<u8>, model: Option<&str>, threads: Option<u32>) -> PyResult<Monitor> {
    let parts = postcard::from_bytes::<(Stream, Option<Watch>, u64, Option<String>, bool)>(&bytes);
    let (stream, watch, events, gave_up, is_violated) =
        parts.map_err(|error| PyValueError::new_err(format!("this is no monitor that was pickled: {error}")))?;
    let wanted = Wanted { model: model.map(named).transpose()?, threads, ..Wanted::default() };
    Ok(Monitor { stream, wanted, watch, events, gave_up, is_violated })
}
