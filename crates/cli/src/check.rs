//! `seriatim check`.
//!
//! One thread reads the histories, several workers check them (`--jobs`), and the main thread prints the verdicts in
//! the order of the input. [`pipeline`] says how memory stays bounded.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use certificate::{Evidence, Model};
use history::{History, MemoryOrder, visible};
use memory::Strategy;
use serde::{Deserialize, Serialize};
use seriatim::{Cause, Checker, Decision, Options, Verdict, default_model, fitting};

use crate::book::{Book, Leaf};
use crate::ci::{Cases, Junit};
use crate::fault::Fault;
use crate::flags::{Check, Choice};
use crate::input::{Found, Input, Sources, is_small};
use crate::output::{self, Palette};
use crate::progress::Progress;
use crate::{BAD, json, panics, pipeline};

/// How many operations may be on their way between parser and printer, for each worker.
pub(crate) const IN_FLIGHT: usize = 1 << 20;
/// How many bytes an operation takes, with its moments.
const BYTES_OF_OPERATION: usize = 40;
/// The fixed weight of a history, in operations; the weight of its own operations is added.
const OVERHEAD: usize = 16;

pub(crate) fn run(flags: &Check) -> u8 {
    flags.memory.set_limit();
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
    let mut book = match flags.report.as_deref().map(Book::open).transpose() {
        Ok(book) => book,
        Err(complaint) => {
            output::complain(flags.report.as_deref().unwrap_or(&flags.files[0]), complaint);
            return BAD;
        }
    };
    let began = Instant::now();
    let mut junit = match flags.ci.junit.as_deref().map(Junit::create).transpose() {
        Ok(junit) => junit,
        Err(error) => {
            output::complain(flags.ci.junit.as_deref().unwrap_or(&flags.files[0]), error);
            return BAD;
        }
    };
    let jobs = if is_small(&flags.files) { 1 } else { jobs(flags.jobs) };
    let teller = Teller { flags, out: Palette::stdout(), err: Palette::stderr() };
    let progress = if flags.quiet { Progress::none() } else { Progress::on_terminal() };
    let mut stdout = BufWriter::with_capacity(1 << 16, io::stdout());
    let mut total = Tally::default();
    let mut smallest = Smallest::default();
    let mut written = Ok(());
    let mut noted = false;
    let options = flags.reading.options();
    pipeline::run(
        jobs,
        jobs.saturating_mul(IN_FLIGHT),
        // A certificate or a page has the number of its history in the run, which only reading in series tells.
        flags.certificate.is_some() || flags.report.is_some(),
        Sources::new(&flags.files, &options, &progress),
        weight,
        |found| teller.tell(found),
        |mut told, more| {
            total.add(told.tally);
            if told.plain_orders && !std::mem::replace(&mut noted, true) {
                told.err.insert_str(0, &format!("seriatim check: {PLAIN_ORDERS}"));
            }
            progress.tell(|| format!("{} histories, {} violations", total.histories, total.violations));
            let is_over = flags.only.first && told.tally.violations > 0;
            written = junit.as_mut().map_or(Ok(()), |junit| junit.add(&told.cases));
            if flags.only.smallest {
                told = smallest.offer(told);
            }
            let leaves = std::mem::take(&mut told.leaves);
            let write = || {
                book.as_mut().map_or(Ok(()), |book| book.add(leaves))?;
                progress.suspend(|| told.write(&mut stdout, certificates.as_mut(), more))
            };
            written = std::mem::replace(&mut written, Ok(())).and_then(|()| write());
            if is_over && written.is_ok() {
                progress.finish();
                let bound = book.take().map_or(Ok(()), Book::bind);
                let junit = junit.take().map_or(Ok(()), |junit| junit.finish(began.elapsed()));
                // Other workers may be busy with a hard history that no longer matters. We do not wait for them.
                std::process::exit(i32::from(finish(
                    bound.and(junit).and_then(|()| stdout.flush()),
                    certificates.as_mut(),
                    total,
                )));
            }
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    progress.finish();
    let violations = match total.violations {
        1 => "; 1 violation".to_owned(),
        count => format!("; {count} violations"),
    };
    if output::tell_skipped("check", total.skipped, total.histories, &violations) {
        total.bad += 1;
    }
    if let (true, Ok(())) = (flags.only.smallest, &written) {
        match smallest.told.take() {
            Some(mut told) => {
                written = book.as_mut().map_or(Ok(()), |book| book.add(std::mem::take(&mut told.leaves)));
                written = written.and_then(|()| told.write(&mut stdout, certificates.as_mut(), false));
            }
            None if flags.quiet => {}
            None => {
                let Tally { histories, unknown, .. } = total;
                let what = format!("no violation found in {histories} histories; {unknown} verdicts are unknown");
                // If standard error is closed, there is nobody to tell.
                let _ = writeln!(io::stderr(), "seriatim check: {what}");
            }
        }
    }
    if let (Ok(()), Some(book)) = (&written, book) {
        written = book.bind();
    }
    let written = written.and_then(|()| junit.map_or(Ok(()), |junit| junit.finish(began.elapsed())));
    finish(written.and_then(|()| stdout.flush()), certificates.as_mut(), total)
}

/// The exit status, once everything is written.
fn finish(written: io::Result<()>, certificates: Option<&mut BufWriter<File>>, total: Tally) -> u8 {
    match written.and_then(|()| certificates.map_or(Ok(()), Write::flush)) {
        Ok(()) => total.status(),
        Err(error) => output::write_error(&error),
    }
}

/// The violating history with the fewest operations so far, of several the first.
#[derive(Default)]
struct Smallest {
    told: Option<Printout>,
}

impl Smallest {
    /// Keeps the printout of a history if it is the smallest violating one so far. Returns the part that is to be
    /// printed at once: what is wrong with the input.
    fn offer(&mut self, mut told: Printout) -> Printout {
        let err = std::mem::take(&mut told.err);
        let faults = std::mem::take(&mut told.faults);
        let is_smaller = self.told.as_ref().is_none_or(|smallest| told.operations < smallest.operations);
        let passed = if told.tally.violations > 0 && is_smaller { self.told.replace(told) } else { Some(told) };
        // The index of the run counts what is passed over, too, but there is no page of it.
        let leaves = passed.map(|told| told.leaves).unwrap_or_default().into_iter().map(Leaf::without_page);
        Printout { err, faults, leaves: leaves.collect(), ..Printout::default() }
    }
}

/// The complaint about a strategy that is for none of the models that are to be checked.
fn misfit(flags: &Check) -> Option<String> {
    let strategy = flags.research.strategy;
    let fits = |choice: &Choice| match choice {
        Choice::One(model) | Choice::OfElle(model) => strategy.speaks_of(*model),
        Choice::All => true,
    };
    let default = flags.models.is_empty() && strategy.speaks_of(Model::Sc);
    if strategy == Strategy::Auto || default || flags.models.iter().any(fits) {
        return None;
    }
    let models: Vec<&str> = Model::every().filter(|&model| strategy.speaks_of(model)).map(Model::name).collect();
    Some(format!(
        "the strategy {} decides only {}, and --model names none of these",
        strategy.name(),
        models.join(", ")
    ))
}

/// A remark that is printed once, on standard error.
pub(crate) const PLAIN_ORDERS: &str =
    "rc20: an access without a memory order is taken as relaxed, a fence without one as acqrel\n";

/// How many workers there are: the number of `--jobs`, or of processor cores.
pub(crate) fn jobs(wanted: Option<u16>) -> usize {
    wanted.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
}

/// The weight of an input on its way through the pipeline, in operations.
pub(crate) fn weight(found: &Found) -> usize {
    match found {
        Found::History(input) => input.history.footprint() / BYTES_OF_OPERATION + OVERHEAD,
        Found::Bad { .. } | Found::Unreadable { .. } => OVERHEAD,
    }
}

/// Every model that fits. If none fits, all memory models, each of which then reports why it does not fit.
fn all_models(history: &History) -> Vec<Model> {
    let models = fitting(history);
    if models.is_empty() { Model::ALL.to_vec() } else { models }
}

/// How many histories there were, and with which verdicts.
#[derive(Copy, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) histories: u64,
    pub(crate) violations: u64,
    pub(crate) unknown: u64,
    pub(crate) bad: u64,
    /// How many inputs could not be read and were skipped.
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

/// All that is to be printed about one history.
#[derive(Default)]
struct Printout {
    out: String,
    /// What is wrong with the input: for standard error, and with `--json` for standard output.
    err: String,
    faults: String,
    certificates: String,
    /// What CI servers read.
    cases: Cases,
    tally: Tally,
    /// How many operations the history has.
    operations: usize,
    /// Whether `rc20` was checked on operations without a memory order.
    plain_orders: bool,
    /// What the pages of the run say about the history.
    leaves: Vec<Leaf>,
}

impl Printout {
    fn write(self, stdout: &mut impl Write, certificates: Option<&mut impl Write>, more: bool) -> io::Result<()> {
        stdout.write_all(self.out.as_bytes())?;
        stdout.write_all(self.faults.as_bytes())?;
        stdout.write_all(self.cases.github.as_bytes())?;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    model: &'a str,
    verdict: &'a str,
    operations: usize,
    threads: usize,
    parse_micros: u128,
    check_micros: u128,
    strategy: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// The names of the violation of an isolation level.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    anomalies: Vec<String>,
    /// The strongest form of the isolation level that holds, without real time or without sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    weaker_form: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    explanation: Vec<json::Line>,
}

/// The work of a worker: it checks a history, and returns the text about it.
struct Teller<'a> {
    flags: &'a Check,
    out: Palette,
    err: Palette,
}

impl Teller<'_> {
    fn tell(&self, found: Found) -> Printout {
        match found {
            Found::Unreadable { file, message } => self.unreadable(&Fault::of_file(file, message)),
            Found::Bad { file, number, error } => self.unreadable(&Fault::of_line(file, number, error)),
            Found::History(input) => self.check(&input, &self.models(&input.history)),
        }
    }

    /// Whether something is to be written for CI servers.
    fn tells_ci(&self) -> bool {
        self.flags.ci.github || self.flags.ci.junit.is_some()
    }

    /// Adds to the printout what is wrong with the input.
    fn fault(&self, told: &mut Printout, fault: &Fault) {
        told.err.push_str(&fault.text(self.err));
        if self.flags.report.is_some() {
            told.leaves.push(Leaf::Fault(fault.text(Palette::none())));
        }
        if self.tells_ci() {
            told.cases.add_fault(fault, self.flags.ci.github);
        }
        if self.flags.json {
            told.faults.push_str(&fault.json());
        }
        told.tally.bad += 1;
    }

    /// The printout about an input that cannot be read.
    fn unreadable(&self, fault: &Fault) -> Printout {
        let mut told = Printout::default();
        self.fault(&mut told, fault);
        if self.flags.skipping.skip_unreadable {
            told.tally = Tally { skipped: 1, ..Tally::default() };
        }
        told
    }

    /// The models to check, each once, in the order in which the command line names them.
    fn models(&self, history: &History) -> Vec<Model> {
        let mut models = Vec::new();
        for choice in &self.flags.models {
            let named = match choice {
                Choice::One(model) => vec![self.flags.names.meaning(*model)],
                Choice::OfElle(model) => vec![*model],
                Choice::All => all_models(history),
            };
            for model in named {
                if !models.contains(&model) {
                    models.push(model);
                }
            }
        }
        if models.is_empty() { vec![default_model(history)] } else { models }
    }

    /// Checks the models. The time for work that several models share is counted for the first of them.
    fn check(&self, input: &Input, models: &[Model]) -> Printout {
        let history = &input.history;
        let tally = Tally { histories: 1, ..Tally::default() };
        let mut told = Printout { tally, operations: history.operations().len(), ..Printout::default() };
        let research = &self.flags.research;
        let options = Options::default()
            .witness(self.flags.certificate.is_some())
            .timeout(self.flags.timeout)
            .strategy(research.strategy)
            .algorithm(research.algorithm)
            .remove_matches(research.remove_matches)
            .unique(self.flags.sources.unique);
        let mut checker = Checker::new(history, &options);
        let mut explained = Vec::new();
        let mut misfits = Vec::new();
        for &model in models {
            let begin = Instant::now();
            let decision = match panics::catch(|| checker.check(model)) {
                Ok(Ok(decision)) => decision,
                Ok(Err(misfit)) => {
                    // `all` means all models that fit, so it is no error that `rc20` does not.
                    let is_expected = matches!(misfit.cause, Cause::SequentialAccess { .. })
                        && !self.flags.models.contains(&Choice::One(model));
                    // Several models may not fit for one reason, which is reported once.
                    if !is_expected && !misfits.contains(&misfit.cause) {
                        self.fault(&mut told, &Fault::of_misfit(input, &misfit));
                        misfits.push(misfit.cause);
                    }
                    continue;
                }
                Err(reason) => {
                    // The panic may have left the old checker in an inconsistent state.
                    checker = Checker::new(history, &options);
                    Decision::unknown(model, reason)
                }
            };
            let is_plain = || history.operations().iter().any(|it| it.order == MemoryOrder::Plain);
            told.plain_orders |= model == Model::Rc20 && is_plain();
            let times = [input.parsing, begin.elapsed()];
            match decision.verdict {
                Verdict::Consistent => {}
                Verdict::Violation => told.tally.violations += 1,
                Verdict::Unknown => told.tally.unknown += 1,
            }
            let certificate = self.flags.certificate.as_ref().and_then(|_| {
                let number = u32::try_from(input.in_run).ok()?;
                Some(decision.certificate(number, history)?.to_json(history))
            });
            if let Some(line) = &certificate {
                told.certificates.push_str(line);
                told.certificates.push('\n');
            }
            if self.flags.report.is_some() {
                told.leaves.push(Leaf::of(input, &decision, &self.flags.reading, &options, self.flags.timeout));
            }
            if self.tells_ci() {
                told.cases.add(input, &decision, times[1], self.flags.ci.github);
            }
            if self.flags.json {
                told.out.push_str(&self.record(input, &decision, times, certificate.as_deref()));
            } else {
                self.verdict(&mut told.out, input, &decision, &mut explained);
            }
            if self.flags.only.first && decision.verdict == Verdict::Violation {
                break;
            }
        }
        told
    }

    /// Prints the line of a verdict, and its explanation below. If the violation of another model had the same
    /// explanation, the name of that model stands instead.
    fn verdict(
        &self,
        out: &mut String,
        input: &Input,
        decision: &Decision,
        explained: &mut Vec<(Vec<report::Line>, Model)>,
    ) {
        if self.flags.quiet && decision.verdict == Verdict::Consistent {
            return;
        }
        let form = decision.weaker_form.map(|form| format!(" ({form} holds)")).unwrap_or_default();
        let verdict = self.out.verdict(decision.verdict);
        let _ = writeln!(out, "{}: {}: {verdict}{form}", input.label(), decision.model);
        if self.flags.quiet {
            return;
        }
        if let (Some(name), false) = (input.name(), decision.verdict == Verdict::Consistent) {
            let _ = writeln!(out, "  name: {}", visible(name));
        }
        if let Some(reason) = &decision.reason {
            let _ = writeln!(out, "  {}", visible(reason));
        }
        let lines = decision.explain(&input.history).lines;
        if !lines.is_empty() {
            if let Some((_, before)) = explained.iter().find(|(told, _)| *told == lines) {
                let _ = writeln!(out, "  for the same reason as {before}");
                return;
            }
            for line in &lines {
                let _ = writeln!(out, "  {}", self.out.line(line));
            }
            explained.push((lines, decision.model));
        }
    }

    fn record(
        &self,
        input: &Input,
        decision: &Decision,
        [parsing, checking]: [Duration; 2],
        certificate: Option<&str>,
    ) -> String {
        let explanation = match (decision.verdict, &decision.evidence) {
            (Verdict::Violation, Some(evidence)) if !self.flags.quiet => {
                json::explanation(&input.history, decision.model, evidence)
            }
            _ => Vec::new(),
        };
        let record = Record {
            file: &input.file,
            history: input.number,
            name: input.name(),
            model: decision.model.name(),
            verdict: decision.verdict.name(),
            operations: input.history.operations().len(),
            threads: input.history.processes().len(),
            parse_micros: parsing.as_micros(),
            check_micros: checking.as_micros(),
            strategy: decision.strategy,
            reason: decision.reason.as_deref(),
            anomalies: match &decision.evidence {
                Some(Evidence::Transactions(evidence)) => report::anomalies(evidence),
                _ => Vec::new(),
            },
            weaker_form: decision.weaker_form.map(Model::name),
            explanation,
        };
        json::line_with(&record, certificate)
    }
}
