//! Checks, their verdicts, and what can be asked about a verdict.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyBaseException, PyTypeError, PyValueError};
use pyo3::prelude::*;
use seriatim::report::drawing::{Drawing, DrawnNode};
use seriatim::{Certificate, Checker, Decision, Misfit, Model, ShrinkError};

use crate::errors::{self, NoViolationError, RefusedError};
use crate::history::{History, Origin, Parts, Unread, converted, is_same};
use crate::patience;

/// The answer to one question: whether a model allows a history.
#[pyclass(frozen, module = "seriatim")]
pub struct Verdict {
    pub(crate) origin: Origin,
    pub(crate) outcome: Outcome,
    pub(crate) limit: Option<Duration>,
}

/// What came of a check.
pub(crate) enum Outcome {
    Decided(Arc<seriatim::History>, Decision),
    /// The history cannot be read, or the model, if one was named, does not fit it.
    Failed(Option<Model>, Py<PyBaseException>),
}

impl Verdict {
    pub(crate) fn new(history: &History, decision: Decision, limit: Option<Duration>) -> Self {
        let outcome = Outcome::Decided(Arc::clone(&history.inner), decision);
        Self { origin: history.origin.clone(), outcome, limit }
    }

    fn decided(&self) -> Option<(&Arc<seriatim::History>, &Decision)> {
        match &self.outcome {
            Outcome::Decided(history, decision) => Some((history, decision)),
            Outcome::Failed(..) => None,
        }
    }

    /// Why a violation is one.
    fn story(&self) -> Option<seriatim::report::Story> {
        let (history, decision) = self.decided()?;
        let evidence = decision.evidence.as_ref()?;
        let is_violation = decision.verdict == seriatim::Verdict::Violation;
        is_violation.then(|| seriatim::report::Story::new(history, decision.model, decision.verdict, evidence))
    }

    /// The evidence as it is pickled: the certificate, if there is evidence.
    fn evidence(&self) -> Option<String> {
        let (history, decision) = self.decided()?;
        Some(decision.certificate(self.origin.number, history)?.to_json(history))
    }
}

/// A verdict as it is pickled: of whom, the names of model, verdict, strategy and weaker form, the reason, the
/// certificate, the time limit, the history and the error.
type Pickled = (
    Parts,
    Option<String>,
    (String, String, Option<String>),
    Option<String>,
    Option<String>,
    Option<f64>,
    Option<Py<History>>,
    Option<Py<PyBaseException>>,
);

#[pymethods]
impl Verdict {
    /// `consistent`, `violation`, `unknown`, or `error` if there is no answer.
    #[getter]
    pub(crate) fn verdict(&self) -> &'static str {
        self.decided().map_or("error", |(_, decision)| decision.verdict.name())
    }

    /// True for a consistent history, False for a violation, None if that is not known.
    #[getter]
    fn consistent(&self) -> Option<bool> {
        match self.decided()?.1.verdict {
            seriatim::Verdict::Consistent => Some(true),
            seriatim::Verdict::Violation => Some(false),
            seriatim::Verdict::Unknown => None,
        }
    }

    fn __bool__(&self) -> PyResult<bool> {
        let message = "a verdict is neither true nor false: ask for its `.consistent`, which is True, False or None";
        Err(PyTypeError::new_err(message))
    }

    /// The name of the model. None if no model was named, and the history cannot be read.
    #[getter]
    fn model(&self) -> Option<&'static str> {
        match &self.outcome {
            Outcome::Decided(_, decision) => Some(decision.model.name()),
            Outcome::Failed(model, _) => model.map(Model::name),
        }
    }

    /// The name of the tactic or algorithm that decided.
    #[getter]
    fn strategy(&self) -> &'static str {
        self.decided().map_or("none", |(_, decision)| decision.strategy)
    }

    /// Why the verdict is `unknown`, or what the error is.
    #[getter]
    fn reason(&self, py: Python<'_>) -> Option<String> {
        match &self.outcome {
            Outcome::Decided(_, decision) => decision.reason.clone(),
            Outcome::Failed(_, error) => Some(error.bind(py).to_string()),
        }
    }

    /// The exception that says why there is no answer.
    #[getter]
    fn error(&self, py: Python<'_>) -> Option<Py<PyBaseException>> {
        match &self.outcome {
            Outcome::Decided(..) => None,
            Outcome::Failed(_, error) => Some(error.clone_ref(py)),
        }
    }

    /// What a column `history`, a key or the file itself calls the history.
    #[getter]
    fn id(&self) -> Option<&str> {
        self.origin.id.as_deref()
    }

    /// The file of the history.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.origin.file.as_deref()
    }

    /// The line where the history begins, or where it is bad, from 1. In a table it is the row.
    #[getter]
    fn line(&self) -> Option<u32> {
        self.origin.line
    }

    /// The place of the history in its file, from 0.
    #[getter]
    fn number(&self) -> u32 {
        self.origin.number
    }

    /// The history. None if it cannot be read, or the model does not fit it.
    #[getter]
    fn history(&self) -> Option<History> {
        let (history, _) = self.decided()?;
        Some(History { inner: Arc::clone(history), origin: self.origin.clone() })
    }

    /// The verdict in words. For a violation: which operations clash, and why.
    #[getter]
    fn explanation(&self, py: Python<'_>) -> String {
        match &self.outcome {
            Outcome::Decided(history, decision) => decision.explain(history).to_string(),
            Outcome::Failed(model, error) => {
                let model = model.map_or_else(String::new, |model| format!("{model}: "));
                format!("{model}error\n  {}", error.bind(py))
            }
        }
    }

    /// The certificate, as one line of JSON. A consistent history is checked again for its witness. There is none if
    /// the verdict is `unknown` or `error`.
    #[getter]
    fn certificate(&self, py: Python<'_>) -> PyResult<Option<String>> {
        if let Some(certificate) = self.evidence() {
            return Ok(Some(certificate));
        }
        let Some((history, decision)) = self.decided() else { return Ok(None) };
        if decision.verdict != seriatim::Verdict::Consistent {
            return Ok(None);
        }
        let model = decision.model;
        let decided = patience::run(py, self.limit, |options| seriatim::check(history, model, &options.witness(true)))?;
        let decision = decided.map_err(|misfit| errors::of_misfit(py, &misfit))?;
        let certificate = decision.certificate(self.origin.number, history);
        Ok(certificate.map(|certificate| certificate.to_json(history)))
    }

    /// A violation as lanes of text: a column for each thread, and the operations that clash. Empty otherwise.
    #[pyo3(signature = (width=80))]
    fn lanes(&self, width: usize) -> String {
        let (Some(story), Some((history, _))) = (self.story(), self.decided()) else { return String::new() };
        let lines = seriatim::report::lanes::draw(history, &story, width);
        lines.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n")
    }

    /// The operations of a violation and the edges between them, as SVG. None otherwise.
    fn svg(&self) -> Option<String> {
        let title = format!("{}: {}", self.model()?, self.verdict());
        self.story().map(|story| seriatim::report::StoryGraph::new(&story, &title).to_svg())
    }

    /// What a notebook shows: the drawing of a violation, and the verdict in words.
    fn _repr_html_(&self, py: Python<'_>) -> String {
        let mut text = String::new();
        for character in self.explanation(py).chars() {
            match character {
                '&' => text.push_str("&amp;"),
                '<' => text.push_str("&lt;"),
                '>' => text.push_str("&gt;"),
                other => text.push(other),
            }
        }
        format!("<div>{}<pre>{text}</pre></div>", self.svg().unwrap_or_default())
    }

    /// The page of the verdict, as `seriatim report` writes it: one file, for any browser.
    #[pyo3(signature = (name="history"))]
    fn page(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let (history, own) = match &self.outcome {
            Outcome::Decided(history, decision) => (history, decision),
            Outcome::Failed(_, error) => return Err(PyErr::from_value(error.bind(py).clone().into_any())),
        };
        let page = patience::run(py, self.limit, |options| {
            let options = options.witness(true);
            let mut page = Vec::new();
            let decision = if own.verdict == seriatim::Verdict::Consistent {
                seriatim::check(history, own.model, &options).ok()
            } else {
                None
            };
            let decision = decision.as_ref().unwrap_or(own);
            let findings = seriatim::Findings::of(history, decision, &options);
            let command = format!("seriatim check --model {} {name}", own.model);
            let written = seriatim::write_page(history, decision, &findings, name, &command, &mut page);
            written.map(|()| page)
        })?;
        String::from_utf8(page?).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The verdict as a dict of plain values.
    fn to_dict(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        converted(slf.as_any(), "verdict_to_dict")
    }

    /// The verdict as a table of pyarrow with one row.
    fn to_arrow(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        converted(slf.as_any(), "verdict_to_arrow")
    }

    /// The verdict as a data frame of pandas with one row.
    fn to_pandas(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        converted(slf.as_any(), "verdict_to_pandas")
    }

    fn __repr__(&self) -> String {
        let id = self.origin.id.as_ref().map_or_else(String::new, |id| format!("of {id} "));
        match self.model() {
            Some(model) => format!("<Verdict {id}{model}: {}>", self.verdict()),
            None => format!("<Verdict {id}{}>", self.verdict()),
        }
    }

    fn __str__(&self, py: Python<'_>) -> String {
        self.explanation(py)
    }

    /// Two verdicts are equal if they say the same, for the same reason, of the same history of the same file.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<Self>() else { return Ok(false) };
        let py = other.py();
        let other = other.get();
        if self.origin != other.origin {
            return Ok(false);
        }
        match (&self.outcome, &other.outcome) {
            (Outcome::Decided(history, decision), Outcome::Decided(its_history, its_decision)) => {
                Ok(decision == its_decision && is_same(history, its_history))
            }
            (Outcome::Failed(model, error), Outcome::Failed(its_model, its_error)) => {
                let (error, its_error) = (error.bind(py), its_error.bind(py));
                Ok(model == its_model
                    && error.get_type().is(its_error.get_type())
                    && error.getattr("args")?.eq(its_error.getattr("args")?)?)
            }
            _ => Ok(false),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        let size = self.decided().map_or(0, |(history, _)| history.operations().len());
        (self.id(), self.origin.number, self.model(), self.verdict(), size).into_pyobject(py)?.hash()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Pickled,))> {
        let history = self.history().map(|history| Py::new(py, history)).transpose()?;
        let weaker = self.decided().and_then(|(_, decision)| Some(decision.weaker_form?.name().to_owned()));
        let names = (self.verdict().to_owned(), self.strategy().to_owned(), weaker);
        let reason = self.decided().and_then(|(_, decision)| decision.reason.clone());
        let (model, limit) = (self.model().map(str::to_owned), self.limit.map(|limit| limit.as_secs_f64()));
        let pickled = (self.origin.parts(), model, names, reason, self.evidence(), limit, history, self.error(py));
        Ok((py.import("seriatim._native")?.getattr("restore_verdict")?, (pickled,)))
    }
}

/// A verdict that was pickled.
#[pyfunction]
pub(crate) fn restore_verdict(py: Python<'_>, pickled: Pickled) -> PyResult<Verdict> {
    let (origin, model, (verdict, strategy, weaker), reason, certificate, limit, history, error) = pickled;
    let model = model.as_deref().map(named).transpose()?;
    let origin = Origin::of_parts(origin);
    let limit = patience::limit(limit)?;
    if let Some(error) = error {
        return Ok(Verdict { origin, outcome: Outcome::Failed(model, error), limit });
    }
    let wrong = || PyValueError::new_err("this is no verdict that was pickled");
    let (history, model) = (history.ok_or_else(wrong)?, model.ok_or_else(wrong)?);
    let history = Arc::clone(&history.bind(py).get().inner);
    let evidence = match certificate {
        None => None,
        Some(json) => {
            let read = Certificate::from_json(&json, &history);
            Some(read.map_err(|error| PyValueError::new_err(error.to_string()))?.evidence)
        }
    };
    let all = [seriatim::Verdict::Consistent, seriatim::Verdict::Violation, seriatim::Verdict::Unknown];
    let verdict = all.into_iter().find(|known| known.name() == verdict).ok_or_else(wrong)?;
    let decided = seriatim::model::Decided { verdict, strategy: kept(&strategy), reason, evidence };
    let mut decision = Decision::new(model, decided);
    decision.weaker_form = weaker.as_deref().map(named).transpose()?;
    Ok(Verdict { origin, outcome: Outcome::Decided(history, decision), limit })
}

/// The name of a strategy, for ever. There are few.
fn kept(name: &str) -> &'static str {
    static NAMES: OnceLock<Mutex<BTreeSet<&'static str>>> = OnceLock::new();
    let mut names = NAMES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    if names.len() >= 256 {
        return "unknown";
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}

/// The model of this name.
pub(crate) fn named(name: &str) -> PyResult<Model> {
    Model::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Model::every().map(Model::name).collect();
        PyValueError::new_err(format!("there is no model {name}, only {}", names.join(", ")))
    })
}

fn model_of(name: Option<&str>, history: &seriatim::History) -> PyResult<Model> {
    name.map_or_else(|| Ok(seriatim::default_model(history)), named)
}

/// Checks a history against a model.
#[pyfunction]
#[pyo3(signature = (history, model=None, timeout=Some(60.0), unique=false))]
pub(crate) fn check(
    py: Python<'_>,
    history: &History,
    model: Option<&str>,
    timeout: Option<f64>,
    unique: bool,
) -> PyResult<Verdict> {
    let model = model_of(model, &history.inner)?;
    let limit = patience::limit(timeout)?;
    let decided = patience::run_briefly(py, limit, |options| {
        let decided = seriatim::check(&history.inner, model, &options.unique(unique));
        let gave_up = decided.as_ref().is_ok_and(|decision| decision.verdict == seriatim::Verdict::Unknown);
        (decided, gave_up)
    })?;
    let decision = decided.map_err(|misfit| errors::of_misfit(py, &misfit))?;
    Ok(Verdict::new(history, decision, limit))
}

/// A history that is to be checked, or the one that cannot be.
enum Task {
    Read(Origin, Arc<seriatim::History>),
    Unread(Origin, Py<PyBaseException>),
}

/// What was decided of a history, by model.
type Decided = Vec<(Model, Result<Decision, Misfit>)>;

/// Checks histories against models, on several threads. The verdicts are in the order of the histories, and for each
/// in the order of the models; without models, each is checked against its default. What goes wrong with one is its
/// verdict `error`.
#[pyfunction]
#[pyo3(signature = (histories, models=None, timeout=Some(60.0), unique=false, jobs=None))]
pub(crate) fn check_many(
    py: Python<'_>,
    histories: Vec<Bound<'_, PyAny>>,
    models: Option<Vec<String>>,
    timeout: Option<f64>,
    unique: bool,
    jobs: Option<usize>,
) -> PyResult<Vec<Verdict>> {
    let limit = patience::limit(timeout)?;
    let models: Option<Vec<Model>> = models.map(|names| names.iter().map(|name| named(name)).collect()).transpose()?;
    let task = |item: &Bound<'_, PyAny>| {
        if let Ok(history) = item.cast::<History>() {
            let history = history.get();
            return Ok(Task::Read(history.origin.clone(), Arc::clone(&history.inner)));
        }
        let unread = item.cast::<Unread>().map_err(|_| PyTypeError::new_err("this is no history"))?.get();
        Ok(Task::Unread(unread.origin.clone(), unread.error.clone_ref(py)))
    };
    let tasks: Vec<Task> = histories.iter().map(task).collect::<PyResult<_>>()?;
    let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).clamp(1, 256);
    let inputs: Vec<&Arc<seriatim::History>> = tasks
        .iter()
        .filter_map(|task| match task {
            Task::Read(_, history) => Some(history),
            Task::Unread(..) => None,
        })
        .collect();
    let decided: Vec<Mutex<Decided>> = inputs.iter().map(|_| Mutex::default()).collect();
    patience::run(py, limit, |options| {
        let options = options.unique(unique);
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(at) = Some(next.fetch_add(1, Relaxed)).filter(|&at| at < inputs.len()) {
                let history = inputs[at];
                let default = [seriatim::default_model(history)];
                let asked = models.as_deref().unwrap_or(&default);
                let mut checker = Checker::new(history, &options);
                let answers = asked.iter().map(|&model| (model, checker.check(model))).collect();
                *decided[at].lock().unwrap_or_else(PoisonError::into_inner) = answers;
            }
        };
        thread::scope(|scope| {
            for _ in 1..jobs.min(inputs.len()) {
                scope.spawn(work);
            }
            work();
        });
    })?;
    let mut verdicts = Vec::with_capacity(tasks.len() * models.as_ref().map_or(1, Vec::len));
    let mut answers = decided.into_iter();
    for task in tasks {
        match task {
            Task::Unread(origin, error) => {
                let asked =
                    models.as_ref().map_or_else(|| vec![None], |models| models.iter().copied().map(Some).collect());
                verdicts.extend(asked.into_iter().map(|model| {
                    let outcome = Outcome::Failed(model, error.clone_ref(py));
                    Verdict { origin: origin.clone(), outcome, limit }
                }));
            }
            Task::Read(origin, history) => {
                let answers =
                    answers.next().map(|answers| answers.into_inner().unwrap_or_else(PoisonError::into_inner));
                for (model, answer) in answers.unwrap_or_default() {
                    let outcome = match answer {
                        Ok(decision) => Outcome::Decided(Arc::clone(&history), decision),
                        Err(misfit) => Outcome::Failed(Some(model), errors::of_misfit(py, &misfit).into_value(py)),
                    };
                    verdicts.push(Verdict { origin: origin.clone(), outcome, limit });
                }
            }
        }
    }
    Ok(verdicts)
}

/// Finds the place of a history among the memory models: the strongest models that it satisfies, the weakest that it
/// breaks, for each model its verdict (None if the model does not apply), and the lattice as SVG.
#[pyfunction]
#[pyo3(signature = (history, timeout=Some(60.0), unique=false))]
#[allow(clippy::type_complexity)] // It is taken apart at once, in Python.
pub(crate) fn classify(
    py: Python<'_>,
    history: &History,
    timeout: Option<f64>,
    unique: bool,
) -> PyResult<(Vec<&'static str>, Vec<&'static str>, Vec<(&'static str, Option<&'static str>)>, String)> {
    let limit = patience::limit(timeout)?;
    let classified = patience::run_briefly(py, limit, |options| {
        let classified = seriatim::classify(&history.inner, &options.unique(unique));
        let gave_up = classified.as_ref().is_ok_and(|it| it.with_verdict(seriatim::Verdict::Unknown).next().is_some());
        (classified, gave_up)
    })?;
    let classification = classified.map_err(|misfit| errors::of_misfit(py, &misfit))?;
    let (satisfied, broken) = (classification.strongest_satisfied(), classification.weakest_broken());
    let mut standings: Vec<_> = classification.standings.iter().collect();
    standings.sort_by_key(|standing| standing.model);
    let models: Vec<Model> = standings.iter().map(|standing| standing.model).collect();
    let is_edge = |model: &Model| satisfied.contains(model) || broken.contains(model);
    let nodes = standings.iter().map(|it| DrawnNode::of_verdict(it.model, it.verdict, is_edge(&it.model)));
    let title = history.origin.id.as_deref().unwrap_or("the place among the models");
    let drawing = Drawing::lattice(title.to_owned(), &models, nodes.collect());
    let verdicts = classification.standings.iter();
    let verdicts = verdicts.map(|it| (it.model.name(), it.verdict.map(seriatim::Verdict::name))).collect();
    let names = |models: Vec<Model>| models.into_iter().map(Model::name).collect();
    Ok((names(satisfied), names(broken), verdicts, drawing.to_svg()))
}

/// Shrinks a history that violates a model to a minimal one: what is left, why it violates the model, and whether no
/// operation can be removed.
#[pyfunction]
#[pyo3(signature = (history, model=None, timeout=Some(60.0)))]
pub(crate) fn shrink(
    py: Python<'_>,
    history: &History,
    model: Option<&str>,
    timeout: Option<f64>,
) -> PyResult<(History, Verdict, bool)> {
    let model = model_of(model, &history.inner)?;
    let limit = patience::limit(timeout)?;
    let shrunk = patience::run_briefly(py, limit, |options| {
        let shrunk = seriatim::shrink(&history.inner, model, &options);
        let gave_up = match &shrunk {
            Ok(shrunk) => !shrunk.is_minimal,
            Err(ShrinkError::NoViolation(decision)) => decision.verdict == seriatim::Verdict::Unknown,
            Err(_) => false,
        };
        (shrunk, gave_up)
    })?;
    match shrunk {
        Ok(shrunk) => {
            let left = History { inner: Arc::new(shrunk.history), origin: history.origin.clone() };
            let verdict = Verdict::new(&left, shrunk.decision, limit);
            Ok((left, verdict, shrunk.is_minimal))
        }
        Err(ShrinkError::Misfit(misfit)) => Err(errors::of_misfit(py, &misfit)),
        Err(error) => Err(NoViolationError::new_err(error.to_string())),
    }
}

/// Verifies a certificate, with code that shares only the parser with the checkers. Returns the verdict that it proves.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, certificate: &str, history: &History) -> PyResult<(&'static str, &'static str)> {
    let verified = py.detach(|| {
        let certificate =
            Certificate::from_json(certificate.trim(), &history.inner).map_err(|error| error.to_string())?;
        seriatim::verify(&certificate, &history.inner).map_err(|error| error.to_string())?;
        Ok((certificate.model.name(), certificate.verdict.name()))
    });
    verified.map_err(|why: String| RefusedError::new_err(why))
}

/// The models, each with its definition in one line.
#[pyfunction]
pub(crate) fn models() -> Vec<(&'static str, String)> {
    Model::every().map(|model| (model.name(), model.summary())).collect()
}
