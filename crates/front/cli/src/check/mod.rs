//! `seriatim check`.
//!
//! Several workers read and check histories (`--jobs`), and the verdicts are printed in the order of the input.
//! [`pipeline`] says how memory stays bounded, [`state`] how a run can be stopped and resumed, [`corpus`] how it is
//! split.

pub(crate) mod corpus;
mod job;
pub(crate) mod printer;
pub(crate) mod state;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use memory::Strategy;
use model::Model;
use serde::{Deserialize, Serialize};

use self::corpus::{Corpus, CorpusPlace, Shards, Task};
pub(crate) use self::job::PLAIN_ORDERS;
use self::job::{CheckJob, Printout};
use self::printer::Printer;
use self::state::{End, Header, RunState};
use crate::book::Book;
use crate::ci::Junit;
use crate::flags::{Check, Choice};
use crate::input::{Found, Sources, is_small};
use crate::output::{self, Palette};
use crate::progress::Progress;
use crate::{BAD, pipeline};

/// How many operations may be on their way between parser and printer, for each worker.
pub(crate) const IN_FLIGHT: usize = 1 << 20;
/// How many bytes an operation takes, with its moments.
const BYTES_OF_OPERATION: usize = 40;
/// The fixed weight of a history, in operations; the weight of its own operations is added.
const OVERHEAD: usize = 16;

/// What a worker hands on: an input's place, what is printed about it, and whether a state has that already.
struct Checked {
    place: CorpusPlace,
    printout: Printout,
    is_recorded: bool,
}

pub(crate) fn run(flags: &Check) -> u8 {
    if let Some(complaint) = misfit(flags) {
        eprintln!("seriatim check: {complaint}");
        return BAD;
    }
    let only = &flags.only;
    let options = flags.reading.options(flags.memory.budget(), Some(flags.timeout));
    let progress = if flags.quiet { Progress::none() } else { Progress::on_terminal(&flags.files, &options) };
    let sources = || Sources::new(&flags.files, &options, &progress);
    let mut printer = Printer::new("check", &progress, [flags.quiet, only.first, only.smallest]);
    if let Err(status) = open_outputs(flags, &mut printer) {
        return status;
    }
    let (corpus, state) = match &flags.state.state {
        None => (None, None),
        Some(path) => match Corpus::of(sources()).map_err(io::Error::other).and_then(|corpus| {
            let state = RunState::open(path, &header(flags, &corpus))?;
            Ok((corpus, state))
        }) {
            Ok((corpus, state)) => (Some(corpus), Some(state)),
            Err(error) => {
                output::complain(path, error);
                return BAD;
            }
        },
    };
    if let (Some(state), false) = (&state, flags.quiet) {
        tell_recorded(state);
    }
    let jobs = if is_small(&flags.files) { 1 } else { jobs(flags.jobs) };
    // What a state keeps may be printed elsewhere.
    let [out, err] = match state {
        None => [Palette::stdout(), Palette::stderr()],
        Some(_) => [Palette::none(); 2],
    };
    let job = CheckJob { flags, out, err };
    let mut printer = Some(printer);
    let mut told_inputs = 0;
    pipeline::run(
        jobs,
        jobs.saturating_mul(IN_FLIGHT),
        // A certificate or a page has the number of its history in the run, which only reading in series tells.
        flags.certificate.is_some() || flags.report.is_some(),
        Shards::new(sources(), flags.state.shard(), corpus.as_ref(), state.as_ref()),
        |input| match &input.task {
            Task::Check(found) => weight(found),
            Task::Recall(..) => OVERHEAD,
        },
        |input| {
            let (printout, is_recorded) = match input.task {
                Task::Check(found) => (job.tell(found), false),
                Task::Recall(state, offset) => (or_exit(state, state.recorded.read(offset)), true),
            };
            Checked { place: input.place, printout, is_recorded }
        },
        |decided| {
            if let Some(state) = &state {
                let new = decided.iter().filter(|told| !told.is_recorded);
                or_exit(state, state.append(new.map(|told| (told.place, &told.printout))));
            }
        },
        |told, more| {
            told_inputs += 1;
            let is_over = only.first && told.printout.tally.violations > 0;
            let flow = printer.as_mut().map_or(ControlFlow::Break(()), |printer| printer.print(told.printout, more));
            if flow.is_break()
                && let Some(printer) = printer.take()
            {
                if let (Some(state), true) = (&state, is_over) {
                    or_exit(state, state.finish(End { told: told_inputs, stopped: Some(told.place) }));
                }
                // Other workers may be busy with a hard history that no longer matters. We do not wait for them.
                std::process::exit(i32::from(printer.finish()));
            }
            flow
        },
    );
    if let Some(state) = &state {
        or_exit(state, state.finish(End { told: told_inputs, stopped: None }));
    }
    printer.map_or(BAD, Printer::finish)
}

/// Opens what is written besides the verdicts.
fn open_outputs(flags: &Check, printer: &mut Printer<'_>) -> Result<(), u8> {
    if let Some(path) = &flags.certificate {
        let file = File::create(path).map_err(|error| {
            output::complain(path, format_args!("the certificates cannot be written here: {error}"));
            BAD
        })?;
        printer.certificates = Some(BufWriter::new(file));
    }
    if let Some(path) = &flags.report {
        printer.book = Some(Book::open(path).map_err(|complaint| {
            output::complain(path, complaint);
            BAD
        })?);
    }
    if let Some(path) = &flags.ci.junit {
        printer.junit = Some(Junit::create(path).map_err(|error| {
            output::complain(path, error);
            BAD
        })?);
    }
    Ok(())
}

/// What this run is, for its state.
fn header(flags: &Check, corpus: &Corpus) -> Header {
    Header {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        flags: flags.significant(),
        corpus: corpus.clone(),
        shard: flags.state.shard(),
    }
}

/// Says how much of the run is in its state already.
fn tell_recorded(state: &RunState) {
    let count = state.recorded.places().len();
    if count > 0 {
        let of_run = if state.recorded.end.is_some() { "the run is finished" } else { "the run goes on" };
        let inputs = if count == 1 { "input is" } else { "inputs are" };
        let _ = writeln!(
            io::stderr(),
            "seriatim check: {count} {inputs} decided in {}; {of_run}",
            output::shown(state.path())
        );
    }
}

/// Without its state, a run must not go on.
fn or_exit<T>(state: &RunState, result: io::Result<T>) -> T {
    result.unwrap_or_else(|error| {
        output::complain(state.path(), format_args!("the state of the run cannot be kept: {error}"));
        std::process::exit(i32::from(BAD))
    })
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

    /// What came since an older tally of the same run.
    pub(crate) fn since(self, older: Self) -> Self {
        Self {
            histories: self.histories - older.histories,
            violations: self.violations - older.violations,
            unknown: self.unknown - older.unknown,
            bad: self.bad - older.bad,
            skipped: self.skipped - older.skipped,
        }
    }

    /// The verdicts besides the consistent ones, in words.
    fn text(self) -> String {
        let mut text = match self.violations {
            1 => "1 violation".to_owned(),
            count => format!("{count} violations"),
        };
        for (count, what) in [(self.unknown, "unknown"), (self.bad, "bad"), (self.skipped, "skipped")] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text
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
