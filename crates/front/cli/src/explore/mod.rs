//! `seriatim explore`: the executions of litmus tests, in herd's form or as JSON, and of programs in C and C++.

mod compare;
mod program;
mod watch;
mod witness;

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use explore::litmus::{Architecture, Limits, LitmusMisfit, Quantifier, Report, Test};
use explore::{Counts, Estimate, Model, RandomStrategy};
use history::visible;
use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::flags::{Explore, Mode, Sampling, Symmetry};
use crate::output::{self, Palette};
use crate::{BAD, json};
use watch::Watch;

/// The exit status if some condition does not hold.
const FALSE: u8 = 1;
/// The exit status if some verdict could change with more executions.
const INCOMPLETE: u8 = 3;

/// A test is a few lines. A file larger than this is none.
const MAX_SIZE: u64 = 1 << 24;

/// About how many executions there are is told from so many random walks, or as many as end within this time.
const WALKS: u64 = 4096;
const ESTIMATE: Duration = Duration::from_secs(2);
/// How long executions are visited to know how long one takes.
const TRIAL: Duration = Duration::from_secs(1);

/// How many steps a thread of a litmus test may have.
const MAX_STEPS: u32 = 100;

pub(crate) fn run(flags: &Explore) -> u8 {
    if flags.cflags || flags.libs {
        return program::print_flags(flags.cflags);
    }
    let (programs, tests): (Vec<PathBuf>, Vec<PathBuf>) =
        flags.files.iter().cloned().partition(|path| compiled::is_program(path));
    if programs.is_empty() {
        return run_tests(flags, &tests);
    }
    let of_program = program::run(flags, &programs);
    let of_tests = if tests.is_empty() { 0 } else { run_tests(flags, &tests) };
    // What is bad goes before what is false, and that before what is not complete.
    [BAD, FALSE, INCOMPLETE].into_iter().find(|status| [of_program, of_tests].contains(status)).unwrap_or(0)
}

fn run_tests(flags: &Explore, files: &[PathBuf]) -> u8 {
    let (mut is_bad, mut is_false, mut is_incomplete) = (false, false, false);
    let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
    let workers = flags.jobs.map_or_else(cores, usize::from);
    let mut out = io::stdout().lock();
    let log = match flags.compare.as_deref().map(compare::Log::read).transpose() {
        Ok(log) => log,
        Err(fault) => {
            tell(&fault, flags.json, &mut out);
            return BAD;
        }
    };
    for path in &listed(files) {
        let file: Arc<str> = path.display().to_string().into();
        let test = read(path)
            .map_err(|error| Fault::of_file(Arc::clone(&file), error.to_string()))
            .and_then(|bytes| Test::parse(&bytes).map_err(|error| Fault::of_text(Arc::clone(&file), error)));
        let told = test.map_err(Some).and_then(|test| {
            let default = match test.architecture() {
                Architecture::C => Model::C20,
                Architecture::X86 | Architecture::X86_64 => Model::Tso,
            };
            let models = if flags.models.is_empty() { &[default][..] } else { &flags.models };
            for &model in models {
                let start = Instant::now();
                let deadline = start.checked_add(flags.timeout);
                let witnesses = flags.witness.is_some();
                let limits = Limits {
                    steps: flags.max_steps.unwrap_or(MAX_STEPS),
                    deadline,
                    workers,
                    witnesses,
                    spurious_failures: flags.spurious,
                    liveness: flags.liveness,
                    symmetry: flags.symmetry != Symmetry::Never,
                };
                if flags.estimate {
                    let told = estimated(&file, &test, model, limits);
                    let told = told.map_err(|misfit| Some(Fault::of_file(Arc::clone(&file), misfit.to_string())))?;
                    print(&mut out, &if flags.json { json::line(&told.1) } else { told.0 })?;
                    continue;
                }
                // The time for this is its own: that of the exploration may be up.
                let own = || Limits { deadline: Instant::now().checked_add(ESTIMATE), ..limits };
                let all = || test.estimate(model, own(), WALKS).ok();
                let report = match flags.mode {
                    Mode::Exhaustive => Watch::on_terminal().during(all, |it| test.explore_watched(model, limits, it)),
                    Mode::Random => {
                        let seeds = flags.seed..flags.seed.saturating_add(flags.runs);
                        test.sample(model, limits, strategy(flags), seeds)
                    }
                };
                let report = match report {
                    Ok(report) => report,
                    Err(misfit) => {
                        is_bad = true;
                        tell(&Fault::of_file(Arc::clone(&file), misfit.to_string()), flags.json, &mut out);
                        continue;
                    }
                };
                if let Some(log) = &log {
                    let comparison = log.compare(&test, &report).map_err(Some)?;
                    is_false |= comparison.is_violation();
                    is_incomplete |= comparison.is_unknown();
                    let text = if flags.json {
                        comparison.line(&file, log, &test, model)
                    } else {
                        comparison.shown(&test, model)
                    };
                    print(&mut out, &text)?;
                    continue;
                }
                let never_ends = flags.liveness && report.endless.as_ref().is_some_and(|endless| endless.is_certain);
                is_false |= report.is_certain() && !report.is_ok() || never_ends;
                is_incomplete |= !report.is_certain() && !never_ends;
                let micros = start.elapsed().as_micros();
                // What is not complete for other reasons than time was visited all the same.
                let is_cut = flags.mode == Mode::Exhaustive && !report.is_complete && report.counts.bounded == 0;
                let estimate = if is_cut { all() } else { None };
                let written = flags.witness.as_deref().map(|folder| written(folder, &test, model, &report)).transpose();
                let written = written.map_err(|error| {
                    let folder = flags.witness.as_deref().unwrap_or(Path::new("")).display().to_string();
                    Some(Fault::of_file(folder.into(), format!("a witness cannot be written: {error}")))
                })?;
                let text = if flags.json {
                    line(flags, &file, &test, model, &report, micros, estimate, written.as_deref())
                } else {
                    shown(flags, &test, model, &report, estimate)
                };
                print(&mut out, &text)?;
            }
            Ok(())
        });
        match told {
            Ok(()) => {}
            Err(Some(fault)) => {
                is_bad = true;
                tell(&fault, flags.json, &mut out);
            }
            Err(None) => return BAD,
        }
    }
    if let Err(error) = out.flush() {
        return output::write_error(&error);
    }
    match () {
        () if is_bad => BAD,
        () if is_false => FALSE,
        () if is_incomplete => INCOMPLETE,
        () => 0,
    }
}

/// The files, with those named `*.litmus` in place of a directory, in it and below it, by name.
fn listed(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        let Some(mut inside) = path.is_dir().then(|| std::fs::read_dir(path).ok()).flatten().map(|entries| {
            // A link to a directory is not followed: it may lead in a circle.
            let is_wanted = |path: &PathBuf| match path.symlink_metadata() {
                Ok(kind) if kind.is_dir() => true,
                _ => path.extension().is_some_and(|extension| extension == "litmus") && path.is_file(),
            };
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_wanted).collect::<Vec<_>>()
        }) else {
            // A directory that cannot be listed is told like a file that cannot be read.
            files.push(path.clone());
            continue;
        };
        inside.sort();
        files.extend(listed(&inside));
    }
    files
}

/// Prints an answer. The error has been told.
fn print(out: &mut impl io::Write, text: &str) -> Result<(), Option<Fault>> {
    out.write_all(text.as_bytes()).map_err(|error| {
        output::write_error(&error);
        None
    })
}

/// Writes the witnesses of all outcomes, and tells where.
fn written(folder: &Path, test: &Test, model: Model, report: &Report) -> io::Result<Vec<Option<PathBuf>>> {
    let outcomes = report.outcomes.iter().enumerate();
    outcomes.map(|(number, outcome)| witness::write(folder, test, model, number, outcome)).collect()
}

fn strategy(flags: &Explore) -> RandomStrategy {
    match flags.strategy {
        Sampling::Uniform => RandomStrategy::Uniform,
        Sampling::Pct => RandomStrategy::Pct { depth: flags.depth },
        Sampling::Pctwm => RandomStrategy::Pctwm { depth: flags.depth, history: flags.history },
    }
}

pub(crate) fn tell(fault: &Fault, json: bool, out: &mut impl io::Write) {
    // If standard output is gone, the next write of an answer says so.
    if json {
        let _ = out.write_all(fault.json().as_bytes());
    }
    let _ = io::stderr().write_all(fault.text(Palette::stderr()).as_bytes());
}

pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?.take(MAX_SIZE + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > MAX_SIZE {
        return Err(io::Error::other("this file is too large for a litmus test"));
    }
    Ok(bytes)
}

/// The report in herd's form.
fn shown(flags: &Explore, test: &Test, model: Model, report: &Report, estimate: Option<Estimate>) -> String {
    let (name, quantifier) = (visible(test.name()), test.quantifier());
    let mut text = format!("Test {name} {}\nStates {}\n", quantifier.kind(), report.outcomes.len());
    for outcome in &report.outcomes {
        let _ = writeln!(text, "{}", test.title(&outcome.state));
    }
    let (positive, negative) = (report.positive(), report.negative());
    // Herd's witnesses are those of the condition, its observation is that of the proposition.
    let witnesses = match quantifier {
        Quantifier::NotExists => [negative, positive],
        Quantifier::Exists | Quantifier::ForAll => [positive, negative],
    };
    let observation = match (positive, negative) {
        (0, _) => "Never",
        (_, 0) => "Always",
        _ => "Sometimes",
    };
    let counts = report.counts;
    let _ = write!(
        text,
        "{}{}\nWitnesses\nPositive: {} Negative: {}\nCondition {} ({})\nObservation {name} {observation} {positive} \
         {negative}\nExecutions {name} {model} {} blocked {} deadlocks {} races {}\n",
        if report.is_complete { "" } else { "Loop " },
        if report.is_ok() { "Ok" } else { "No" },
        witnesses[0],
        witnesses[1],
        quantifier.name(),
        test.proposition(),
        counts.executions,
        counts.blocked,
        counts.deadlocks,
        counts.races,
    );
    if counts.failed > 0 {
        let plural = if counts.failed == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "Failed {name} {} execution{plural}: a thread divided by zero or left an array",
            counts.failed
        );
    }
    if let Some(endless) = &report.endless {
        let within = match (endless.is_certain, flags.mode) {
            (true, _) => String::new(),
            (false, Mode::Exhaustive) => format!(" within {} steps of a thread", flags.max_steps.unwrap_or(MAX_STEPS)),
            (false, Mode::Random) => " among those that were run".to_owned(),
        };
        let _ = match counts.executions + counts.failed {
            0 => writeln!(text, "Endless {name} no execution ends{within}, for one:"),
            _ => writeln!(text, "Endless {name} some execution never ends, for one:"),
        };
        for thread in &endless.threads {
            let _ = writeln!(text, "  {}", visible(thread));
        }
    }
    if report.could_fail_more {
        let _ = match flags.spurious {
            0 => writeln!(text, "Weak {name} compare-exchanges are taken as strong"),
            most => writeln!(text, "Weak {name} compare-exchanges fail without a reason at most {most} at each place"),
        };
    }
    for threads in &report.alike {
        let threads: Vec<String> = threads.iter().map(|thread| format!("P{thread}")).collect();
        let _ = writeln!(text, "Symmetry {name} {} have the same code, and change their names", threads.join(" "));
    }
    if let Some(estimate) = estimate {
        let _ = writeln!(text, "Covered {name} {}", estimate.covered(visited(counts)));
    }
    text.push('\n');
    text
}

/// How many executions were visited, of whatever kind.
fn visited(counts: Counts) -> u64 {
    counts.executions + counts.blocked + counts.failed + counts.bounded
}

/// The same limits, with no more than this time from now on.
fn soon(limits: Limits, time: Duration) -> Limits {
    let soon = Instant::now().checked_add(time);
    Limits { deadline: limits.deadline.map_or(soon, |deadline| soon.map(|soon| soon.min(deadline))), ..limits }
}

/// About how many executions a test has, and how long it takes to visit them, in words and as JSON.
fn estimated(file: &str, test: &Test, model: Model, limits: Limits) -> Result<(String, Value), LitmusMisfit> {
    let estimate = test.estimate(model, soon(limits, ESTIMATE), WALKS)?;
    let start = Instant::now();
    let tried = test.explore(model, soon(limits, TRIAL))?;
    let (elapsed, seen) = (start.elapsed(), visited(tried.counts));
    // What was visited within the time is known.
    let is_known = tried.is_complete || tried.counts.bounded > 0 && elapsed < TRIAL;
    let name = visible(test.name());
    let (executions, all) =
        if is_known { (tried.counts.executions, seen) } else { (estimate.executions, estimate.all) };
    let told = if is_known {
        format!("Estimate {name} {model} {seen} in all, visited within a second\n\n")
    } else {
        format!("Estimate {name} {model} {}\n\n", estimate.expected(seen, elapsed))
    };
    let seconds = elapsed.as_secs_f64() * all as f64 / seen.max(1) as f64;
    let object = json!({
        "file": file,
        "test": test.name(),
        "model": model.name(),
        "estimate": {"executions": executions, "all": all, "seconds": seconds, "exact": is_known},
    });
    Ok((told, object))
}

/// The report as a line of `--json`.
#[allow(clippy::too_many_arguments, reason = "each is a part of the line")]
fn line(
    flags: &Explore,
    file: &str,
    test: &Test,
    model: Model,
    report: &Report,
    micros: u128,
    estimate: Option<Estimate>,
    witnesses: Option<&[Option<PathBuf>]>,
) -> String {
    let counts = report.counts;
    let outcomes: Vec<Value> = report
        .outcomes
        .iter()
        .map(|outcome| {
            let values = test.observed().iter().zip(&outcome.state);
            let key = |name: String| if name == "count" { "[count]".to_owned() } else { name };
            let mut map: Map<String, Value> =
                values.map(|(variable, &value)| (key(variable.name()), json!(variable.number(value)))).collect();
            map.insert("count".to_owned(), json!(outcome.count));
            Value::Object(map)
        })
        .collect();
    let mut object = json!({
        "file": file,
        "test": test.name(),
        "model": model.name(),
        "executions": counts.executions,
        "blocked": counts.blocked,
        "deadlocks": counts.deadlocks,
        "failed": counts.failed,
        "races": counts.races,
        "outcomes": outcomes,
        "condition": test.quantifier().name(),
        "reachable": report.is_reachable(),
        "verdict": if report.is_ok() { "ok" } else { "no" },
        "complete": report.is_complete,
        "micros": u64::try_from(micros).unwrap_or(u64::MAX),
    });
    if let Some(endless) = &report.endless {
        object["endless"] = json!({"certain": endless.is_certain, "threads": endless.threads});
    }
    if !report.alike.is_empty() {
        object["alike"] = json!(report.alike);
    }
    if let Some(estimate) = estimate {
        object["estimate"] = json!({"executions": estimate.executions, "all": estimate.all});
    }
    if report.could_fail_more {
        object["spurious"] = json!(flags.spurious);
    }
    if report.outcomes.iter().any(|outcome| outcome.seed.is_some()) {
        object["seeds"] = report.outcomes.iter().map(|outcome| json!(outcome.seed)).collect();
    }
    if let Some(witnesses) = witnesses {
        object["witnesses"] = witnesses.iter().map(|path| json!(path)).collect();
    }
    json::line(&object)
}
