//! `seriatim classify`: finds the place of histories in the lattice of models, prints it and draws it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use history::{MemoryOrder, visible};
use model::classification::{Basis, Classification};
use model::{Model, Verdict};
use report::drawing::{Drawing, DrawnNode, NodeMark};
use serde_json::{Map, Value, json};
use seriatim::Options;

use crate::check::{IN_FLIGHT, PLAIN_ORDERS, jobs, weight};
use crate::fault::Fault;
use crate::flags::Classify;
use crate::input::{Found, Input, Sources};
use crate::output::{self, Palette};
use crate::progress::Progress;
use crate::{BAD, json, lattice, panics, pipeline};

pub(crate) fn run(flags: &Classify) -> u8 {
    let jobs = jobs(flags.jobs);
    let job = ClassifyJob { flags, out: Palette::stdout(), err: Palette::stderr() };
    let mut stdout = BufWriter::with_capacity(1 << 16, io::stdout());
    let mut total = Tally::default();
    let mut written = Ok(());
    let mut noted = false;
    let options = flags.reading.options(flags.memory.budget(), Some(flags.timeout));
    let progress = Progress::on_terminal(&flags.files, &options);
    pipeline::run(
        jobs,
        jobs.saturating_mul(IN_FLIGHT),
        false,
        Sources::new(&flags.files, &options, &progress),
        weight,
        |found| job.tell(found),
        |_| {},
        |mut told: Printout, more| {
            if told.plain_orders && !std::mem::replace(&mut noted, true) {
                told.err.insert_str(0, &format!("seriatim classify: {PLAIN_ORDERS}"));
            }
            total.add(&told);
            progress.tell(total.histories, String::new);
            written = progress.suspend(|| told.write(&mut stdout, more));
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    );
    progress.finish();
    if let Err(error) = written.and_then(|()| stdout.flush()) {
        return output::write_error(&error);
    }
    total.bad |= output::tell_skipped("classify", total.skipped, total.histories, "");
    match lattice::write(flags.dot.as_deref(), flags.svg.as_deref(), || total.drawing()) {
        Ok(()) => total.status(),
        Err(status) => status,
    }
}

/// All that is to be printed about one history.
#[derive(Default)]
struct Printout {
    out: String,
    err: String,
    /// None if the history could not be classified.
    place: Option<LatticePlace>,
    /// Whether `rc20` was checked on operations without a memory order.
    plain_orders: bool,
    /// Whether the input could not be read and was skipped.
    is_skipped: bool,
}

/// The place of a history among the models, for the drawing.
struct LatticePlace {
    label: String,
    /// The verdict of each model.
    verdicts: Vec<(Model, Option<Verdict>)>,
    /// The strongest models that the history satisfies, and the weakest that it breaks.
    boundary: Vec<Model>,
}

impl Printout {
    fn write(self, stdout: &mut impl Write, more: bool) -> io::Result<()> {
        stdout.write_all(self.out.as_bytes())?;
        if !more || !self.err.is_empty() {
            stdout.flush()?;
        }
        if !self.err.is_empty() {
            // A run whose standard error is closed still has its verdicts and its exit status.
            let _ = io::stderr().write_all(self.err.as_bytes());
        }
        Ok(())
    }
}

/// The counts over all histories.
#[derive(Default)]
struct Tally {
    histories: u64,
    skipped: u64,
    bad: bool,
    unknown: bool,
    /// For each model: how many histories satisfy it, how many break it, and how many are unknown.
    counts: BTreeMap<Model, [u64; 3]>,
    label: String,
    boundary: Vec<Model>,
}

impl Tally {
    fn add(&mut self, told: &Printout) {
        let Some(place) = &told.place else {
            self.bad |= !told.is_skipped;
            self.skipped += u64::from(told.is_skipped);
            return;
        };
        self.histories += 1;
        for (model, verdict) in &place.verdicts {
            let counts = self.counts.entry(*model).or_default();
            match verdict {
                Some(Verdict::Consistent) => counts[0] += 1,
                Some(Verdict::Violation) => counts[1] += 1,
                Some(Verdict::Unknown) => counts[2] += 1,
                None => {}
            }
        }
        self.unknown |= place.verdicts.iter().any(|(_, verdict)| *verdict == Some(Verdict::Unknown));
        if self.histories == 1 {
            self.label.clone_from(&place.label);
            self.boundary.clone_from(&place.boundary);
        }
    }

    fn status(&self) -> u8 {
        match (self.bad, self.unknown) {
            (true, _) => BAD,
            (false, true) => 3,
            (false, false) => 0,
        }
    }

    /// The lattice, with the place of the only history, or with the number of histories that satisfy each model.
    fn drawing(&self) -> Drawing {
        let one = self.histories == 1;
        let node = |(&model, &[yes, no, unknown]): (&Model, &[u64; 3])| {
            let verdict = match (yes, no, unknown) {
                (0, 0, 0) => None,
                (_, 0, 0) => Some(Verdict::Consistent),
                (0, _, 0) => Some(Verdict::Violation),
                _ => Some(Verdict::Unknown),
            };
            let mut node = DrawnNode::of_verdict(model, verdict, one && self.boundary.contains(&model));
            if !one && verdict.is_some() {
                node.note = format!("{yes} of {}", yes + no + unknown);
                if yes + no > 0 && verdict == Some(Verdict::Unknown) {
                    node.mark = NodeMark::Mixed;
                }
            }
            node
        };
        let title = if one { self.label.clone() } else { format!("{} histories: how many satisfy", self.histories) };
        let models: Vec<Model> = self.counts.keys().copied().collect();
        Drawing::lattice(title, &models, self.counts.iter().map(node).collect())
    }
}

/// The work of a worker: it classifies a history, and returns the text about it.
struct ClassifyJob<'a> {
    flags: &'a Classify,
    out: Palette,
    err: Palette,
}

impl ClassifyJob<'_> {
    fn tell(&self, found: Found) -> Printout {
        let bad = |fault: &Fault| {
            let out = if self.flags.json { fault.json() } else { String::new() };
            Printout { out, err: fault.text(self.err), ..Printout::default() }
        };
        match found {
            Found::Unreadable { file, message } => {
                Printout { is_skipped: self.flags.skipping.skip_unreadable, ..bad(&Fault::of_file(file, message)) }
            }
            Found::Bad { file, number, error } => Printout {
                is_skipped: self.flags.skipping.skip_unreadable,
                ..bad(&Fault::of_line(file, number, error))
            },
            Found::History(input) => {
                let begin = Instant::now();
                let options = Options::default()
                    .timeout(self.flags.timeout)
                    .budget(self.flags.memory.budget())
                    .unique(self.flags.sources.unique);
                let told = panics::catch(|| match seriatim::classify(&input.history, &options) {
                    Ok(classification) => self.classified(&input, &classification, begin.elapsed()),
                    Err(misfit) => bad(&Fault::of_misfit(&input, &misfit)),
                });
                told.unwrap_or_else(|reason| self.undecided(&input, &reason))
            }
        }
    }

    /// The printout of a history of which nothing is known, for a reason that has nothing to do with the models.
    fn undecided(&self, input: &Input, reason: &str) -> Printout {
        let verdict = Verdict::Unknown;
        let out = if self.flags.json {
            let record = json!({
                "file": &*input.file, "history": input.number, "verdict": verdict.name(), "reason": reason
            });
            json::line(&record)
        } else {
            format!("{}: {}\n  {}\n", input.label(), self.out.verdict(verdict), visible(reason))
        };
        let models = if input.history.is_of_transactions() { lattice::levels() } else { Model::ALL.to_vec() };
        let verdicts = models.into_iter().map(|model| (model, Some(verdict))).collect();
        let place = LatticePlace { label: input.label(), verdicts, boundary: Vec::new() };
        Printout { out, place: Some(place), ..Printout::default() }
    }

    fn classified(&self, input: &Input, classification: &Classification, checking: Duration) -> Printout {
        let mut boundary = classification.strongest_satisfied();
        boundary.extend(classification.weakest_broken());
        let out = if self.flags.json {
            let mut record = record(input, classification, self.flags.quiet);
            record.insert("parse_micros".to_owned(), json!(input.parsing.as_micros()));
            record.insert("check_micros".to_owned(), json!(checking.as_micros()));
            json::line(&record)
        } else {
            self.text(input, classification)
        };
        let plain = input.history.operations().iter().any(|operation| operation.order == MemoryOrder::Plain);
        Printout {
            out,
            err: String::new(),
            is_skipped: false,
            plain_orders: plain && classification.runs.contains(&Model::Rc20),
            place: Some(LatticePlace {
                label: input.label(),
                verdicts: classification.standings.iter().map(|it| (it.model, it.verdict)).collect(),
                boundary,
            }),
        }
    }

    /// One line with the place of the history. Below it stands why the weakest broken models are broken, and why some
    /// models are unknown.
    fn text(&self, input: &Input, classification: &Classification) -> String {
        let names = |models: &[Model], verdict| {
            let names: Vec<&str> = models.iter().map(|model| model.name()).collect();
            let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            self.out.in_colour_of(verdict, names)
        };
        let broken = classification.weakest_broken();
        let unknown: Vec<Model> =
            classification.with_verdict(Verdict::Unknown).map(|standing| standing.model).collect();
        let mut text = format!(
            "{}: satisfies {}; breaks {}",
            input.label(),
            names(&classification.strongest_satisfied(), Verdict::Consistent),
            names(&broken, Verdict::Violation)
        );
        if !unknown.is_empty() {
            let _ = write!(text, "; unknown: {}", names(&unknown, Verdict::Unknown));
        }
        text.push('\n');
        if self.flags.quiet {
            return text;
        }
        if let Some(name) = input.name() {
            let _ = writeln!(text, "  name: {}", visible(name));
        }
        let mut explained: Vec<(Vec<report::Line>, Model)> = Vec::new();
        for model in broken {
            let evidence = classification.decision(model).and_then(|decision| decision.evidence.as_ref());
            let Some(evidence) = evidence else { continue };
            let lines = report::explain(&input.history, model, evidence);
            if let Some((_, before)) = explained.iter().find(|(told, _)| *told == lines) {
                let _ = writeln!(text, "  {model}: for the same reason as {before}");
                continue;
            }
            let _ = writeln!(text, "  {model}:");
            for line in &lines {
                let _ = writeln!(text, "    {}", self.out.line(line));
            }
            explained.push((lines, model));
        }
        for standing in classification.with_verdict(Verdict::Unknown) {
            if let Basis::Run(decision, _) = &standing.basis {
                let reason = visible(decision.reason.as_deref().unwrap_or("unknown"));
                let _ = writeln!(text, "  {}: {reason}", standing.model);
            }
        }
        text
    }
}

fn record(input: &Input, classification: &Classification, is_quiet: bool) -> Map<String, Value> {
    let broken = classification.weakest_broken();
    let is_explained = |model: Model| !is_quiet && broken.contains(&model);
    let names = |models: &[Model]| models.iter().map(|model| model.name()).collect::<Vec<_>>();
    let mut models = Map::new();
    for standing in &classification.standings {
        let mut entry = Map::new();
        if let Some(verdict) = standing.verdict {
            entry.insert("verdict".to_owned(), json!(verdict.name()));
        }
        let evidence = classification.decision(standing.model).and_then(|decision| decision.evidence.as_ref());
        if let (Some(Verdict::Violation), Some(evidence)) = (standing.verdict, evidence)
            && is_explained(standing.model)
        {
            let explanation = json::explanation(&input.history, standing.model, evidence);
            entry.insert("explanation".to_owned(), json!(explanation));
        }
        match &standing.basis {
            Basis::Run(decision, time) => {
                entry.insert("strategy".to_owned(), json!(decision.strategy));
                entry.insert("check_micros".to_owned(), json!(time.as_micros()));
                if let Some(reason) = &decision.reason {
                    entry.insert("reason".to_owned(), json!(reason));
                }
            }
            Basis::Implied(by) => {
                entry.insert("implied_by".to_owned(), json!(by.name()));
            }
            Basis::Inapplicable => {
                entry.insert("applies".to_owned(), json!(false));
            }
        }
        models.insert(standing.model.name().to_owned(), Value::Object(entry));
    }
    let mut record = Map::new();
    record.insert("file".to_owned(), json!(&*input.file));
    record.insert("history".to_owned(), json!(input.number));
    if let Some(name) = input.name() {
        record.insert("name".to_owned(), json!(name));
    }
    record.insert("strongest_satisfied".to_owned(), json!(names(&classification.strongest_satisfied())));
    record.insert("weakest_broken".to_owned(), json!(names(&broken)));
    record.insert("runs".to_owned(), json!(names(&classification.runs)));
    record.insert("models".to_owned(), Value::Object(models));
    record.insert("operations".to_owned(), json!(input.history.operations().len()));
    record.insert("threads".to_owned(), json!(input.history.processes().len()));
    record
}
