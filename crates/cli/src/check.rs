//! `seriatim check`.
//!
//! One thread reads the histories, as many as wanted check them, and this one prints the verdicts in the order of the
//! input; see [`pipeline`] for how memory stays bounded.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use certificate::{Certificate, Decision, Model, Verdict};
use history::execution::ViewError;
use history::performed::Performed;
use history::{Execution, History, MemoryOrder, Object};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memory::{Checker, Options, Strategy, c11, observed};
use object::{Interrupt, ObjectHistory};
use serde::{Deserialize, Serialize};

use crate::flags::{Check, Choice};
use crate::input::{self, Found, Input};
use crate::output::{self, Palette};
use crate::{BAD, diagnostic, panics, pipeline};

/// How many operations may be on their way between parser and printer, for each worker.
pub(crate) const IN_FLIGHT: usize = 1 << 20;
/// How many bytes an operation takes, with its moments.
const OPERATION: usize = 40;
/// What a history weighs in operations, besides its own.
const OVERHEAD: usize = 16;

pub(crate) fn run(flags: &Check) -> u8 {
    if let Some(complaint) = misfit(flags) {
        eprintln!("seriatim check: {complaint}");
        return BAD;
    }
    let mut certificates = match &flags.certificate {
        None => None,
        Some(path) => match File::create(path) {
            Ok(file) => Some(BufWriter::new(file)),
            Err(error) => {
                output::complain(path, format_args!("the certificates cannot be written here: {error}"));
                return BAD;
            }
        },
    };
    let jobs = jobs(flags.jobs);
    let teller = Teller { flags, out: Palette::stdout(), err: Palette::stderr() };
    let progress = progress(flags.quiet);
    let mut stdout = BufWriter::with_capacity(1 << 16, io::stdout());
    let mut total = Tally::default();
    let mut written = Ok(());
    let mut noted = false;
    let options = flags.reading.options();
    pipeline::run(
        jobs,
        jobs.saturating_mul(IN_FLIGHT),
        |feed| {
            let _ = input::visit(&flags.files, &options, &progress, &mut |found| {
                let weight = weight(&found);
                feed.push(found, weight)
            });
        },
        |found| teller.tell(found),
        |mut told, more| {
            total.add(told.tally);
            if told.plain_orders && !std::mem::replace(&mut noted, true) {
                told.err.insert_str(0, &format!("seriatim check: {PLAIN_ORDERS}"));
            }
            if progress.is_hidden() {
                written = told.write(&mut stdout, certificates.as_mut(), more);
            } else {
                progress.suspend(|| written = told.write(&mut stdout, certificates.as_mut(), more));
                progress.set_message(format!("{} histories, {} violations", total.histories, total.violations));
            }
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    progress.finish_and_clear();
    let flushed =
        written.and_then(|()| stdout.flush()).and_then(|()| certificates.map_or(Ok(()), |mut file| file.flush()));
    let violations = match total.violations {
        1 => "; 1 violation".to_owned(),
        count => format!("; {count} violations"),
    };
    if output::tell_skipped("check", total.skipped, total.histories, &violations) {
        total.bad += 1;
    }
    match flushed {
        Ok(()) => total.status(),
        Err(error) => output::write_error(&error),
    }
}

/// What is wrong with a strategy that speaks of none of the models.
fn misfit(flags: &Check) -> Option<String> {
    let strategy = flags.strategy;
    let fits = |choice: &Choice| match choice {
        Choice::One(model) => strategy.speaks_of(*model),
        Choice::All => true,
    };
    let default = flags.models.is_empty() && strategy.speaks_of(Model::Sc);
    if strategy == Strategy::Auto || default || flags.models.iter().any(fits) {
        return None;
    }
    let models: Vec<&str> = Model::every().filter(|&model| strategy.speaks_of(model)).map(Model::name).collect();
    Some(format!("the strategy {} is for {}, which is not to be checked", strategy.name(), models.join(", ")))
}

/// Said once, on standard error.
pub(crate) const PLAIN_ORDERS: &str =
    "rc20: an access without a memory order is taken as relaxed, a fence without one as acqrel\n";

/// How many workers there are: as many as wanted, or as there are processor cores.
pub(crate) fn jobs(wanted: Option<u16>) -> usize {
    wanted.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// What something that was read weighs on its way through the pipeline, in operations.
pub(crate) fn weight(found: &Found) -> usize {
    match found {
        Found::History(input) => input.history.footprint() / OPERATION + OVERHEAD,
        Found::Bad { .. } | Found::Unreadable { .. } => OVERHEAD,
    }
}

/// How much has been read of the files known so far, on a terminal.
pub(crate) fn progress(quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let progress = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{elapsed} [{bar:30}] {bytes}/{total_bytes} {msg}") {
        progress.set_style(style);
    }
    progress.enable_steady_tick(Duration::from_millis(200));
    progress
}

/// The models to check when none is named: `linearizable` for histories with calls and returns, else `sc`.
fn default_models(history: &History) -> Vec<Model> {
    if history.has_calls() || !fits(history.object()) { vec![Model::Linearizable] } else { vec![Model::Sc] }
}

/// Whether the memory models speak of such an object.
fn fits(object: Object) -> bool {
    matches!(object, Object::Memory | Object::Register)
}

/// Every model that fits; if none does, all memory models, which then say so.
fn all_models(history: &History) -> Vec<Model> {
    let mut models = Vec::new();
    if fits(history.object()) || !history.has_calls() {
        models.extend(Model::ALL);
    }
    if history.has_calls() {
        models.push(Model::Linearizable);
    }
    models
}

/// A history as the models that are to be checked see it.
struct Views<'a> {
    execution: Option<Execution>,
    objects: Option<ObjectHistory<'a>>,
    performed: Option<Vec<Performed>>,
}

fn memory_models() -> String {
    Model::ALL.map(Model::name).join(", ")
}

fn unknown(reason: String) -> Decision {
    Decision { verdict: Verdict::Unknown, strategy: "none", reason: Some(reason), evidence: None }
}

/// How many histories there were, and what was said of them.
#[derive(Copy, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) histories: u64,
    pub(crate) violations: u64,
    pub(crate) unknown: u64,
    pub(crate) bad: u64,
    /// What could not be read and was to be passed over.
    pub(crate) skipped: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.violations += other.violations;
        self.unknown += other.unknown;
        self.bad += other.bad;
        self.skipped += other.skipped;
    }

    pub(crate) fn status(self) -> u8 {
        match self {
            Self { bad: 1.., .. } => BAD,
            Self { violations: 1.., .. } => 1,
            Self { unknown: 1.., .. } => 3,
            _ => 0,
        }
    }
}

/// What there is to print about one history.
#[derive(Default)]
struct Told {
    out: String,
    err: String,
    certificates: String,
    tally: Tally,
    /// Whether `rc20` was asked about operations without a memory order.
    plain_orders: bool,
}

impl Told {
    fn write(self, stdout: &mut impl Write, certificates: Option<&mut impl Write>, more: bool) -> io::Result<()> {
        stdout.write_all(self.out.as_bytes())?;
        if !more || !self.err.is_empty() {
            stdout.flush()?;
        }
        if !self.err.is_empty() {
            // A run whose standard error is closed still has its verdicts and its exit status.
            let _ = io::stderr().write_all(self.err.as_bytes());
        }
        if let Some(file) = certificates {
            file.write_all(self.certificates.as_bytes())?;
        }
        Ok(())
    }
}

/// One line of `--json`.
#[derive(Serialize)]
struct Record<'a> {
    file: &'a str,
    history: u32,
    model: &'a str,
    verdict: &'a str,
    operations: usize,
    threads: usize,
    parse_micros: u128,
    check_micros: u128,
    strategy: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// What the workers do: a history in, the text about it out.
struct Teller<'a> {
    flags: &'a Check,
    out: Palette,
    err: Palette,
}

impl Teller<'_> {
    fn tell(&self, found: Found) -> Told {
        let bad = |err| Told { err, tally: Tally { bad: 1, ..Tally::default() }, ..Told::default() };
        match found {
            Found::Unreadable { .. } | Found::Bad { .. } => {
                let err = found.complaint(self.err).unwrap_or_default();
                if self.flags.skipping.skip_unreadable {
                    return Told { err, tally: Tally { skipped: 1, ..Tally::default() }, ..Told::default() };
                }
                bad(err)
            }
            Found::History(input) => {
                let begin = Instant::now();
                let models = self.models(&input.history);
                let told = panics::catch(|| match self.views(&input, &models) {
                    Ok(views) => self.check(&input, &models, &views, begin.elapsed()),
                    Err(message) => bad(message),
                });
                told.unwrap_or_else(|reason| self.undecided(&input, &models, &reason))
            }
        }
    }

    /// What there is to print if nothing is known, for a reason that is not one of the models'.
    fn undecided(&self, input: &Input, models: &[Model], reason: &str) -> Told {
        let tally = Tally { histories: 1, unknown: models.len() as u64, ..Tally::default() };
        let mut told = Told { tally, ..Told::default() };
        for &model in models {
            let decision = unknown(reason.to_owned());
            if self.flags.json {
                Self::record(&mut told.out, input, model, &decision, [input.parsing, Duration::ZERO], None);
            } else {
                self.verdict(&mut told.out, input, model, &decision, &mut Vec::new());
            }
        }
        told
    }

    /// What the models need; or why one of them does not fit.
    fn views<'a>(&self, input: &'a Input, models: &[Model]) -> Result<Views<'a>, String> {
        let (mut execution, mut objects, mut performed) = (None, None, None);
        if models.iter().any(|model| !Model::OTHERS.contains(model)) {
            let view = Execution::from_history(&input.history);
            execution = Some(view.map_err(|error| self.misfit(input, &error))?);
        }
        if models.contains(&Model::Linearizable) {
            let view = ObjectHistory::new(&input.history);
            objects = Some(view.map_err(|error| match diagnostic::of_object(&input.history, &error) {
                Some(error) => diagnostic::render(&input.file, &error, self.err),
                None => Self::no_calls(input, &error),
            })?);
        }
        if models.contains(&Model::ScObserved) {
            let view = Performed::from_history(&input.history);
            performed = Some(view.map_err(|error| match diagnostic::of_performed(&input.history, error) {
                Some(error) => diagnostic::render(&input.file, &error, self.err),
                None => format!("{}: {error}\n", input.label()),
            })?);
        }
        Ok(Views { execution, objects, performed })
    }

    /// The models that were asked for, each once, in the order in which they were named.
    fn models(&self, history: &History) -> Vec<Model> {
        let mut models = Vec::new();
        for choice in &self.flags.models {
            let named = match choice {
                Choice::One(model) => vec![*model],
                Choice::All => all_models(history),
            };
            for model in named {
                if !models.contains(&model) {
                    models.push(model);
                }
            }
        }
        if models.is_empty() { default_models(history) } else { models }
    }

    fn misfit(&self, input: &Input, error: &ViewError) -> String {
        if let Some(error) = diagnostic::of_view(&input.history, input.format, error) {
            return diagnostic::render(&input.file, &error, self.err);
        }
        let mut fitting = "nothing that this version decides fits".to_owned();
        if input.history.has_calls() {
            fitting = format!("{} fits", Model::Linearizable);
        }
        format!(
            "{}: {error}\n  {} fit a memory or a register; {fitting} a {}\n",
            input.label(),
            memory_models(),
            input.history.object().name()
        )
    }

    fn no_calls(input: &Input, error: &object::ObjectError) -> String {
        let object = input.history.object().name();
        let fitting = if fits(input.history.object()) {
            format!("{} fit a {object} without them", memory_models())
        } else {
            format!("nothing that this version decides fits a {object} without them")
        };
        format!("{}: {error}\n  {fitting}\n", input.label())
    }

    /// `viewing` is the time it took to view the history as what the models speak of. Work that models share counts for the first
    /// of them.
    fn check(&self, input: &Input, models: &[Model], views: &Views, viewing: Duration) -> Told {
        let mut told = Told { tally: Tally { histories: 1, ..Tally::default() }, ..Told::default() };
        let witness = self.flags.certificate.is_some();
        let new_checker = || {
            let mut checker = Checker::new(views.execution.as_ref()?, &Options { witness, deadline: None });
            checker.set_strategy(self.flags.strategy);
            if self.flags.strategy == Strategy::Auto {
                checker.ask_recorded();
            }
            Some(checker)
        };
        let mut checker = new_checker();
        let mut explained = Vec::new();
        let mut shared = viewing;
        for &model in models {
            if let (Model::Rc20, Some(execution)) = (model, &views.execution) {
                if let Err(error) = c11::without_sequential_accesses(execution) {
                    // `all` means all that fit.
                    if self.flags.models.contains(&Choice::One(model)) {
                        let error = diagnostic::of_operation(
                            &input.history,
                            execution.operation(error.0),
                            error.to_string(),
                            "another memory order, or a model that has these, such as sc",
                        );
                        told.err.push_str(&diagnostic::render(&input.file, &error, self.err));
                        told.tally.bad += 1;
                    }
                    continue;
                }
                told.plain_orders |= input.history.operations().iter().any(|it| it.order == MemoryOrder::Plain);
            }
            let begin = Instant::now();
            // A limit too far away for the clock is none.
            let deadline = begin.checked_add(self.flags.timeout);
            let decided = panics::catch(|| match (&mut checker, &views.objects) {
                (_, Some(objects)) if model == Model::Linearizable => {
                    let options = object::Options {
                        witness,
                        interrupt: Interrupt { deadline },
                        algorithm: self.flags.algorithm,
                        remove_matches: self.flags.remove_matches,
                    };
                    object::check(objects, &options)
                }
                _ if model == Model::ScObserved => {
                    observed::check(views.performed.as_deref().unwrap_or_default(), witness)
                }
                (Some(checker), _) => {
                    checker.set_deadline(deadline);
                    checker.check(model)
                }
                (None, _) => unreachable!("every model has its view"),
            });
            let decision = decided.unwrap_or_else(|reason| {
                // What the old one knows may be half of it.
                checker = new_checker();
                unknown(reason)
            });
            let times = [input.parsing, begin.elapsed() + std::mem::take(&mut shared)];
            match decision.verdict {
                Verdict::Consistent => {}
                Verdict::Violation => told.tally.violations += 1,
                Verdict::Unknown => told.tally.unknown += 1,
            }
            let certificate = self.flags.certificate.as_ref().and_then(|_| {
                let number = u32::try_from(input.in_run).ok()?;
                Some(Certificate::new(number, &input.history, model, &decision)?.to_json(&input.history))
            });
            if let Some(line) = &certificate {
                told.certificates.push_str(line);
                told.certificates.push('\n');
            }
            if self.flags.json {
                Self::record(&mut told.out, input, model, &decision, times, certificate.as_deref());
            } else {
                self.verdict(&mut told.out, input, model, &decision, &mut explained);
            }
        }
        told
    }

    /// One line, and below it what explains it. What explained a violation of another model already is not told again.
    fn verdict(
        &self,
        out: &mut String,
        input: &Input,
        model: Model,
        decision: &Decision,
        explained: &mut Vec<(Vec<report::Line>, Model)>,
    ) {
        if self.flags.quiet && decision.verdict == Verdict::Consistent {
            return;
        }
        let _ = writeln!(out, "{}: {model}: {}", input.label(), self.out.verdict(decision.verdict));
        if self.flags.quiet {
            return;
        }
        if let Some(reason) = &decision.reason {
            let _ = writeln!(out, "  {reason}");
        }
        if let (Verdict::Violation, Some(evidence)) = (decision.verdict, &decision.evidence) {
            let lines = report::explain(&input.history, model, evidence);
            if let Some((_, before)) = explained.iter().find(|(told, _)| *told == lines) {
                let _ = writeln!(out, "  for the same reason as {before}");
                return;
            }
            for line in &lines {
                let _ = writeln!(out, "  {}", self.out.line(line));
            }
            explained.push((lines, model));
        }
    }

    fn record(
        out: &mut String,
        input: &Input,
        model: Model,
        decision: &Decision,
        [parsing, checking]: [Duration; 2],
        certificate: Option<&str>,
    ) {
        let record = Record {
            file: &input.file,
            history: input.number,
            model: model.name(),
            verdict: decision.verdict.name(),
            operations: input.history.operations().len(),
            threads: input.history.processes().len(),
            parse_micros: parsing.as_micros(),
            check_micros: checking.as_micros(),
            strategy: decision.strategy,
            reason: decision.reason.as_deref(),
        };
        let mut line = serde_json::to_string(&record).expect("strings and numbers are JSON");
        if let Some(certificate) = certificate {
            line.pop();
            let _ = write!(line, ",\"certificate\":{certificate}}}");
        }
        out.push_str(&line);
        out.push('\n');
    }
}
