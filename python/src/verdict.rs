//! Checks, their verdicts, and what can be asked about a verdict.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use seriatim::{Certificate, Decision, Misfit, Model, Options, ShrinkError};

use crate::errors::{self, NoViolationError, RefusedError};
use crate::history::History;
use crate::patience;

/// The answer to one question: whether a model allows a history.
#[pyclass(frozen, module = "seriatim")]
pub struct Verdict {
    pub(crate) history: Arc<seriatim::History>,
    pub(crate) number: u32,
    pub(crate) decision: Decision,
    pub(crate) limit: Option<Duration>,
}

impl Verdict {
    /// Why a violation is one.
    fn story(&self) -> Option<seriatim::report::Story> {
        let evidence = self.decision.evidence.as_ref()?;
        let Decision { model, verdict, .. } = self.decision;
        let is_violation = verdict == seriatim::Verdict::Violation;
        is_violation.then(|| seriatim::report::Story::new(&self.history, model, verdict, evidence))
    }
}

#[pymethods]
impl Verdict {
    /// `consistent`, `violation` or `unknown`.
    #[getter]
    pub(crate) fn verdict(&self) -> &'static str {
        self.decision.verdict.name()
    }

    /// The name of the model.
    #[getter]
    fn model(&self) -> &'static str {
        self.decision.model.name()
    }

    /// The name of the tactic or algorithm that decided.
    #[getter]
    fn strategy(&self) -> &'static str {
        self.decision.strategy
    }

    /// Why the verdict is `unknown`.
    #[getter]
    fn reason(&self) -> Option<&str> {
        self.decision.reason.as_deref()
    }

    /// The verdict in words. For a violation: which operations clash, and why.
    #[getter]
    fn explanation(&self) -> String {
        self.decision.explain(&self.history).to_string()
    }

    /// The certificate, as one line of JSON. A consistent history is checked again for its witness. There is none if
    /// the verdict is `unknown`.
    #[getter]
    fn certificate(&self, py: Python<'_>) -> PyResult<Option<String>> {
        if let Some(certificate) = self.decision.certificate(self.number, &self.history) {
            return Ok(Some(certificate.to_json(&self.history)));
        }
        if self.decision.verdict != seriatim::Verdict::Consistent {
            return Ok(None);
        }
        let decided = decide(py, &self.history, self.decision.model, self.limit, |options| options.witness(true))?;
        let decision = decided.map_err(|misfit| errors::of_misfit(py, &misfit))?;
        let certificate = decision.certificate(self.number, &self.history);
        Ok(certificate.map(|certificate| certificate.to_json(&self.history)))
    }

    /// A violation as lanes of text: a column for each thread, and the operations that clash. Empty otherwise.
    #[pyo3(signature = (width=80))]
    fn lanes(&self, width: usize) -> String {
        let Some(story) = self.story() else { return String::new() };
        let lines = seriatim::report::lanes::draw(&self.history, &story, width);
        lines.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n")
    }

    /// The operations of a violation and the edges between them, as SVG. None otherwise.
    fn svg(&self) -> Option<String> {
        let title = format!("{}: {}", self.model(), self.verdict());
        self.story().map(|story| seriatim::report::Graph::new(&story, &title).to_svg())
    }

    /// What a notebook shows: the drawing of a violation, and the verdict in words.
    fn _repr_html_(&self) -> String {
        let mut text = String::new();
        for character in self.explanation().chars() {
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
        let page = patience::run_at_length(py, self.limit, |options| {
            let options = options.witness(true);
            let mut page = Vec::new();
            let decision = if self.decision.verdict == seriatim::Verdict::Consistent {
                seriatim::check(&self.history, self.decision.model, &options).ok()
            } else {
                None
            };
            let decision = decision.as_ref().unwrap_or(&self.decision);
            let findings = seriatim::Findings::of(&self.history, decision, &options);
            let command = format!("seriatim check --model {} {name}", self.model());
            let written = seriatim::write_page(&self.history, decision, &findings, name, &command, &mut page);
            written.map(|()| page)
        })?;
        String::from_utf8(page?).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn __repr__(&self) -> String {
        format!("<Verdict {}: {}>", self.model(), self.verdict())
    }

    fn __str__(&self) -> String {
        self.explanation()
    }
}

/// Decides one model, with a look for signals now and then.
fn decide(
    py: Python<'_>,
    history: &seriatim::History,
    model: Model,
    limit: Option<Duration>,
    with: impl Fn(Options) -> Options + Sync + Send,
) -> PyResult<Result<Decision, Misfit>> {
    patience::run(py, limit, |options| {
        let decided = seriatim::check(history, model, &with(options));
        let gave_up = decided.as_ref().is_ok_and(|decision| decision.verdict == seriatim::Verdict::Unknown);
        (decided, gave_up)
    })
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
    let decided = decide(py, &history.inner, model, limit, |options| options.unique(unique))?;
    let decision = decided.map_err(|misfit| errors::of_misfit(py, &misfit))?;
    Ok(Verdict { history: Arc::clone(&history.inner), number: history.number, decision, limit })
}

/// Checks many histories against a model, on several threads. The verdicts are in the order of the histories. If a
/// model does not fit a history, the error of the first such history is raised.
#[pyfunction]
#[pyo3(signature = (histories, model=None, timeout=Some(60.0), unique=false, jobs=None))]
pub(crate) fn check_all(
    py: Python<'_>,
    histories: Vec<Py<History>>,
    model: Option<&str>,
    timeout: Option<f64>,
    unique: bool,
    jobs: Option<usize>,
) -> PyResult<Vec<Verdict>> {
    let limit = patience::limit(timeout)?;
    let inputs: Vec<(Arc<seriatim::History>, u32)> =
        histories.iter().map(|it| (Arc::clone(&it.get().inner), it.get().number)).collect();
    let models: Vec<Model> = inputs.iter().map(|(history, _)| model_of(model, history)).collect::<PyResult<_>>()?;
    let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).clamp(1, 256);
    let decided: Vec<Mutex<Option<Result<Decision, Misfit>>>> = inputs.iter().map(|_| Mutex::new(None)).collect();
    // What the first, short round left undecided is decided in the second.
    patience::run(py, limit, |options| {
        let options = options.unique(unique);
        let next = AtomicUsize::new(0);
        let gave_up = AtomicUsize::new(0);
        let work = || {
            while let Some(at) = Some(next.fetch_add(1, Relaxed)).filter(|&at| at < inputs.len()) {
                let mut place = decided[at].lock().expect("no check panics while it holds this");
                let is_open = |it: &Result<Decision, Misfit>| {
                    it.as_ref().is_ok_and(|decision| decision.verdict == seriatim::Verdict::Unknown)
                };
                if place.as_ref().is_some_and(|it| !is_open(it)) {
                    continue;
                }
                let answer = seriatim::check(&inputs[at].0, models[at], &options);
                gave_up.fetch_add(usize::from(is_open(&answer)), Relaxed);
                *place = Some(answer);
            }
        };
        thread::scope(|scope| {
            for _ in 1..jobs.min(inputs.len()) {
                scope.spawn(work);
            }
            work();
        });
        ((), gave_up.into_inner() > 0)
    })?;
    let verdict = |(place, (history, number)): (Mutex<Option<_>>, (Arc<seriatim::History>, u32))| {
        let answer: Result<Decision, Misfit> = place.into_inner().ok().flatten().expect("every history was looked at");
        let decision = answer.map_err(|misfit| errors::of_misfit(py, &misfit))?;
        Ok(Verdict { history, number, decision, limit })
    };
    decided.into_iter().zip(inputs).map(verdict).collect()
}

/// The place of a history among the memory models.
#[pyclass(frozen, get_all, module = "seriatim")]
pub struct Place {
    /// The strongest models that it satisfies.
    satisfies: Vec<&'static str>,
    /// The weakest models that it breaks.
    breaks: Vec<&'static str>,
    /// For each model its verdict; None if the model does not apply.
    verdicts: Vec<(&'static str, Option<&'static str>)>,
}

/// Finds the place of a history among the memory models.
#[pyfunction]
#[pyo3(signature = (history, timeout=Some(60.0), unique=false))]
pub(crate) fn classify(py: Python<'_>, history: &History, timeout: Option<f64>, unique: bool) -> PyResult<Place> {
    let limit = patience::limit(timeout)?;
    let classified = patience::run(py, limit, |options| {
        let classified = seriatim::classify(&history.inner, &options.unique(unique));
        let gave_up = classified.as_ref().is_ok_and(|it| it.with_verdict(seriatim::Verdict::Unknown).next().is_some());
        (classified, gave_up)
    })?;
    let classification = classified.map_err(|misfit| errors::of_misfit(py, &misfit))?;
    let names = |models: Vec<Model>| models.into_iter().map(Model::name).collect();
    let standings = classification.standings.iter();
    Ok(Place {
        satisfies: names(classification.strongest_satisfied()),
        breaks: names(classification.weakest_broken()),
        verdicts: standings.map(|it| (it.model.name(), it.verdict.map(seriatim::Verdict::name))).collect(),
    })
}

/// A minimal counterexample.
#[pyclass(frozen, get_all, module = "seriatim")]
pub struct Shrunk {
    /// What is left of the history.
    history: Py<History>,
    /// Why it violates the model.
    verdict: Py<Verdict>,
    /// Whether no operation can be removed.
    is_minimal: bool,
}

/// Shrinks a history that violates a model to a minimal one.
#[pyfunction]
#[pyo3(signature = (history, model=None, timeout=Some(60.0)))]
pub(crate) fn shrink(py: Python<'_>, history: &History, model: Option<&str>, timeout: Option<f64>) -> PyResult<Shrunk> {
    let model = model_of(model, &history.inner)?;
    let limit = patience::limit(timeout)?;
    let shrunk = patience::run(py, limit, |options| {
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
            let left = History::new(shrunk.history, history.number);
            let verdict =
                Verdict { history: Arc::clone(&left.inner), number: left.number, decision: shrunk.decision, limit };
            let (history, verdict) = (Py::new(py, left)?, Py::new(py, verdict)?);
            Ok(Shrunk { history, verdict, is_minimal: shrunk.is_minimal })
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
