//! What a worker does: it checks an input against the models, and returns the text about it.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use history::{History, MemoryOrder, visible};
use model::{Evidence, Model};
use serde::{Deserialize, Serialize};
use seriatim::{Cause, Checker, Decision, Options, Verdict, default_model, fitting};

use super::Tally;
use crate::book::PageEntry;
use crate::ci::Cases;
use crate::fault::Fault;
use crate::flags::{Check, Choice};
use crate::input::{Found, Input};
use crate::output::Palette;
use crate::{json, panics};

/// A remark that is printed once, on standard error.
pub(crate) const PLAIN_ORDERS: &str =
    "rc20: an access without a memory order is taken as relaxed, a fence without one as acqrel\n";

/// Every model that fits. If none fits, all memory models, each of which then reports why it does not fit.
fn all_models(history: &History) -> Vec<Model> {
    let models = fitting(history);
    if models.is_empty() { Model::ALL.to_vec() } else { models }
}

/// All that is to be printed about one input. A [state](super::state) keeps it, but for the pages.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Printout {
    pub(super) out: String,
    /// What is wrong with the input: for standard error, and with `--json` for standard output.
    pub(super) err: String,
    pub(super) faults: String,
    pub(super) certificates: String,
    /// What CI servers read.
    pub(super) cases: Cases,
    pub(super) tally: Tally,
    /// How many operations the history has.
    pub(super) operations: usize,
    /// Whether `rc20` was checked on operations without a memory order.
    pub(super) plain_orders: bool,
    /// What the pages of the run say about the history.
    #[serde(skip)]
    pub(super) pages: Vec<PageEntry>,
}

impl Printout {
    pub(super) fn write(
        self,
        stdout: &mut impl Write,
        certificates: Option<&mut impl Write>,
        more: bool,
    ) -> io::Result<()> {
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
    explanation: Vec<json::ExplanationLine>,
}

/// Checks inputs as the flags say.
pub(super) struct CheckJob<'a> {
    pub(super) flags: &'a Check,
    pub(super) out: Palette,
    pub(super) err: Palette,
}

impl CheckJob<'_> {
    pub(super) fn tell(&self, found: Found) -> Printout {
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
            told.pages.push(PageEntry::Fault(fault.text(Palette::none())));
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
            .budget(self.flags.memory.budget())
            .strategy(research.strategy)
            .algorithm(research.algorithm)
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
                told.pages.push(PageEntry::of(input, &decision, &self.flags.reading, &options, self.flags.timeout));
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
        let names = self.flags.names;
        let form = decision.weaker_form.map(|form| format!(" ({} holds)", names.of(form))).unwrap_or_default();
        let verdict = self.out.verdict(decision.verdict);
        let _ = writeln!(out, "{}: {}: {verdict}{form}", input.label(), names.of(decision.model));
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
                let _ = writeln!(out, "  for the same reason as {}", names.of(*before));
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
            model: self.flags.names.of(decision.model),
            verdict: decision.verdict.name(),
            operations: input.history.operations().len(),
            threads: input.history.processes().len(),
            parse_micros: parsing.as_micros(),
            check_micros: checking.as_micros(),
            strategy: decision.strategy,
            reason: decision.reason.as_deref(),
            anomalies: match &decision.evidence {
                Some(Evidence::Transactions(evidence)) => report::anomalies(&input.history, evidence),
                _ => Vec::new(),
            },
            weaker_form: decision.weaker_form.map(|form| self.flags.names.of(form)),
            explanation,
        };
        json::line_with(&record, certificate)
    }
}
