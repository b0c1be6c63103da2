//! `seriatim hunt`: executions of simulated memory systems, of varying shape, until one breaks the model.
//!
//! An execution that gets stuck, since the protocol has a deadlock, say, breaks no model. The hunt goes on, and tells
//! of the first such execution if it finds nothing else.
//!
//! Executions are looked at in portions. After each portion the number of the next one is noted, if the hunt is to be
//! resumed.

use std::io::{self, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use format::Format;
use machine::hunt::first;
use machine::{MachineEnding, MachineSetup};
use model::Verdict;
use serde_json::{Value, json};
use seriatim::Options;

use crate::flags::{Hunt, Reading};
use crate::input::Input;
use crate::output::{self, Output, Palette};
use crate::simulate::{Finding, STUCK, decide, history_for, merge, promised, refuse, setup};
use crate::{check, json, page};

/// How many executions there are between two notes.
const PORTION: u64 = 2048;
/// After so many executions that got stuck the hunt ends.
const STUCK_OFTEN: u64 = 1000;

/// What an execution has come to, if that is worth telling.
enum Bad {
    Violation(Box<Finding>),
    Stuck(String),
}

/// What was counted.
#[derive(Default)]
struct Totals {
    executions: u64,
    operations: u64,
    unknown: u64,
    stuck: u64,
    /// The first execution that got stuck.
    first_stuck: Option<(u64, (MachineSetup, Bad))>,
}

/// What a worker notes of an execution that breaks no model, or of the one that does.
struct Note {
    number: u64,
    operations: u64,
    is_unknown: bool,
    stuck: Option<(MachineSetup, String)>,
}

impl Totals {
    /// Counts the executions before `next`. Other workers may have simulated more, and these do not count.
    fn count(&mut self, mut notes: Vec<Note>, next: u64) {
        notes.sort_unstable_by_key(|note| note.number);
        for note in notes.into_iter().filter(|note| note.number < next) {
            self.operations += note.operations;
            self.unknown += u64::from(note.is_unknown);
            if let Some((setup, reason)) = note.stuck {
                self.stuck += 1;
                self.first_stuck.get_or_insert((note.number, (setup, Bad::Stuck(reason))));
            }
        }
    }
}

pub(crate) fn run(flags: &Hunt) -> u8 {
    let base = match setup(&flags.simulated) {
        Ok(setup) => setup,
        Err(message) => return refuse("hunt", &message),
    };
    if flags.minutes.is_some_and(|minutes| minutes.is_nan() || minutes < 0.0) {
        return refuse("hunt", "a hunt cannot take less than no time");
    }
    let from = match &flags.resume {
        Some(path) => match resumed(path) {
            Ok(from) => from,
            Err(message) => return refuse("hunt", &message),
        },
        None => flags.from,
    };
    let model = flags.model.unwrap_or_else(|| promised(flags.simulated.core));
    let start = Instant::now();
    let limit = flags.minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok());
    let deadline = limit.and_then(|limit| start.checked_add(limit));
    let executions = flags.executions.unwrap_or(if flags.minutes.is_some() { u64::MAX } else { 100_000 });
    let end = from.saturating_add(executions);
    let jobs = NonZero::new(check::jobs(flags.jobs)).unwrap_or(NonZero::<usize>::MIN);
    let options = Options::default().timeout(flags.timeout);
    let mut totals = Totals::default();
    let mut next = from;
    let mut found = None;
    while next < end && found.is_none() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        let notes = Mutex::new(Vec::new());
        let hunted = first(next..end.min(next.saturating_add(PORTION)), jobs, deadline, |number| {
            let setup = base.varied(flags.simulated.seed, number);
            let run = setup.run().ok()?;
            let operations = run.operations.len() as u64;
            let history = history_for(&run, model);
            let decision = decide(&history, model, &options);
            let mut note = Note { number, operations, is_unknown: false, stuck: None };
            let mut violation = None;
            match (decision.verdict, run.ending) {
                (Verdict::Violation, _) => {
                    let finding = Finding::of(&history, decision, &options);
                    violation = Some((setup, Bad::Violation(Box::new(finding))));
                }
                (_, MachineEnding::Stuck(reason)) => note.stuck = Some((setup, reason)),
                (Verdict::Unknown, _) => note.is_unknown = true,
                (Verdict::Consistent, _) => {}
            }
            notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
            violation
        });
        found = hunted.found;
        next = hunted.next;
        totals.count(notes.into_inner().unwrap_or_else(PoisonError::into_inner), next);
        let is_stuck_often = totals.stuck >= STUCK_OFTEN;
        if let Some(path) = &flags.resume
            && let Err(error) = output::write_file(path, format!("{next}\n"))
        {
            output::complain(path, error);
            return crate::BAD;
        }
        if is_stuck_often {
            break;
        }
    }
    totals.executions = next - from;
    let found = found.or_else(|| totals.first_stuck.take());
    if let (Some(path), Some((_, (_, Bad::Violation(finding))))) = (&flags.output, &found)
        && let Err(error) = output::write_file(path, finding.listing())
    {
        output::complain(path, error);
        return crate::BAD;
    }
    if let (Some(path), Some((number, (setup, Bad::Violation(finding))))) = (&flags.report, &found)
        && let Err(error) = report(flags, *number, setup, finding, path)
    {
        output::complain(path, error);
        return crate::BAD;
    }
    let text = told(flags, model.name(), found.as_ref(), &totals, next, start.elapsed());
    if let Err(error) = io::stdout().write_all(text.as_bytes()) {
        return output::write_error(&error);
    }
    match found {
        Some((_, (_, Bad::Violation(_)))) => 1,
        Some((_, (_, Bad::Stuck(_)))) => STUCK,
        None if totals.unknown > 0 => 3,
        None => 0,
    }
}

/// Writes the page about what was found. If the shrunk history is in no file, the page has the command that simulates
/// the execution again.
fn report(flags: &Hunt, number: u64, setup: &MachineSetup, finding: &Finding, path: &Path) -> io::Result<()> {
    let file = match &flags.output {
        Some(output) => output.display().to_string(),
        None => format!("execution {number} of seed {}", flags.simulated.seed),
    };
    let file = file.into();
    let input = Input {
        history: finding.history().clone(),
        file,
        format: Some(Format::Text),
        number: 0,
        several: false,
        in_run: 0,
        parsing: Duration::ZERO,
    };
    let model = finding.decision().model;
    let command = match &flags.output {
        Some(_) => page::command(&input, model, &Reading { object: None, format: None, initial: None }),
        None => again(setup, model.name()),
    };
    let options = Options::default().timeout(flags.timeout);
    let mut out = Output::open(Some(path))?;
    page::write(&input, finding.decision(), &command, &options, flags.timeout, &mut out)?;
    out.commit()
}

/// The number that a file of `--resume` holds.
fn resumed(path: &Path) -> Result<u64, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => text.trim().parse().map_err(|_| {
            format!("{} holds no number of an execution, so it is not a file of --resume", output::shown(path))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(format!("{}: {error}", output::shown(path))),
    }
}

fn told(
    flags: &Hunt,
    model: &str,
    found: Option<&(u64, (MachineSetup, Bad))>,
    totals: &Totals,
    next: u64,
    elapsed: Duration,
) -> String {
    let &Totals { executions, operations, unknown, stuck, .. } = totals;
    let seed = flags.simulated.seed;
    if flags.json {
        let finding = found.map(|(number, (setup, bad))| {
            let mut object = json!({
                "kind": "finding", "execution": number, "seed": seed, "model": model, "shape": shape(setup),
                "command": again(setup, model),
            });
            match bad {
                Bad::Violation(finding) => merge(&mut object, &finding.json()),
                Bad::Stuck(reason) => merge(&mut object, &json!({ "verdict": "stuck", "reason": reason })),
            }
            json::line(&object)
        });
        let totals = json!({
            "kind": "totals", "executions": executions, "operations": operations, "unknown": unknown, "stuck": stuck,
            "next": next, "found": found.is_some(), "micros": u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
        });
        return finding.unwrap_or_default() + &json::line(&totals);
    }
    let got_stuck = if stuck > 0 { format!(" ({stuck} of them stuck)") } else { String::new() };
    let undecided = if unknown > 0 { format!(", {unknown} unknown") } else { String::new() };
    let counts = format!("{executions} executions{got_stuck}, {operations} operations{undecided}");
    match found {
        None => format!("{model}: no violation in {counts}; the next execution is number {next}\n"),
        Some((number, (setup, bad))) => {
            let what = match bad {
                Bad::Violation(finding) => format!("violation\n{}", finding.text(Palette::stdout())),
                Bad::Stuck(reason) => format!("the memory system does not go on\n  {reason}\n"),
            };
            format!("execution {number} of seed {seed}, after {counts}\n  {}\n{model}: {what}", again(setup, model))
        }
    }
}

/// The shape of an execution, by the flags of `simulate` that give it again.
fn shape(setup: &MachineSetup) -> Value {
    let MachineSetup { client, caches, cores, .. } = setup;
    json!({
        "threads": client.threads, "operations": client.operations, "locations": client.locations,
        "writes": client.writes, "rmws": client.rmws, "fences": client.fences, "hot": client.hot,
        "sharing": caches.sharing, "block": caches.block, "cache": caches.frames,
        "second-level": caches.second, "evictions": caches.evictions,
        "network": if caches.network.is_ordered { "ordered" } else { "unordered" },
        "delay": caches.network.delay, "capacity": caches.network.capacity, "buffers": caches.network.buffers,
        "victims": if caches.is_lru { "lru" } else { "random" },
        "core": cores.kind.name(), "depth": cores.depth, "idle": cores.idle, "seed": client.seed,
    })
}

/// The command that simulates an execution again, and checks it.
fn again(setup: &MachineSetup, model: &str) -> String {
    let mut words = vec![format!("seriatim simulate --check --model {model} --protocol {}", setup.protocol)];
    words.extend(setup.caches.has_filter.then(|| "--probe-filter".to_owned()));
    words.extend(setup.mistake.map(|mistake| format!("--bug {}", mistake.name())));
    for (flag, value) in shape(setup).as_object().into_iter().flatten() {
        words.push(format!("--{flag} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    }
    words.join(" ")
}
