//! Programs in C and C++: compiled, explored, and told in words or as JSON.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use compiled::{COMPILE_FLAGS, CodePlace, Compiled, LINK_FLAGS, NotExplored, ProgramVerdict, Selection, Setup};
use explore::{Estimate, Model, Omitted};
use history::visible;
use serde_json::{Value, json};

use super::watch::Watch;
use super::{FALSE, INCOMPLETE, TRIAL, strategy, tell};
use crate::fault::Fault;
use crate::flags::{Explore, Mode, Symmetry};
use crate::{BAD, json, output};

/// It is estimated from so many random walks how many executions there are.
const WALKS: u64 = 1024;

/// How many steps a thread may have.
const MAX_STEPS: u32 = 1000;

/// Prints what a build system compiles or links with.
pub(super) fn print_flags(is_compiling: bool) -> u8 {
    let flags: &[&str] = if is_compiling { &COMPILE_FLAGS } else { &LINK_FLAGS };
    match writeln!(io::stdout(), "{}", flags.join(" ")) {
        Ok(()) => 0,
        Err(error) => output::write_error(&error),
    }
}

/// Explores a program under each model.
pub(super) fn run(flags: &Explore, files: &[PathBuf]) -> u8 {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let file: Arc<str> = names.join(" ").into();
    // The child must not print again what is not printed yet.
    let mut out = io::stdout();
    let program = match Compiled::new(files, &flags.compiler) {
        Ok(program) => program,
        Err(error) => {
            tell(&Fault::of_file(file, error.to_string()), flags.json, &mut out);
            return BAD;
        }
    };
    let (mut is_bad, mut is_false, mut is_incomplete) = (false, false, false);
    let models = if flags.models.is_empty() { &[Model::C20][..] } else { &flags.models };
    for &model in models {
        let start = Instant::now();
        let explored = if flags.estimate { estimated(&program, flags, model) } else { watched(&program, flags, model) };
        let verdict = match explored {
            Ok(verdict) => verdict,
            Err(error) => {
                is_bad = true;
                tell(&Fault::of_file(Arc::clone(&file), error.to_string()), flags.json, &mut out);
                continue;
            }
        };
        is_bad |= verdict.refused.is_some();
        is_false |= verdict.finding.is_some();
        let is_open = !verdict.is_complete && verdict.finding.is_none() && verdict.refused.is_none();
        is_incomplete |= is_open && !flags.estimate;
        let text = match (flags.json, verdict.estimate) {
            (true, _) => line(&file, model, &verdict, start.elapsed()),
            (false, Some(_)) if flags.estimate && is_open => {
                let told = estimate(&verdict).map(|it| it.expected(verdict.executions + verdict.blocked, TRIAL));
                format!("{}: {model}: {}\n", visible(&file), told.unwrap_or_default())
            }
            (false, _) => shown(&file, model, &verdict),
        };
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            return output::write_error(&error);
        }
    }
    match () {
        () if is_bad => BAD,
        () if is_false => FALSE,
        () if is_incomplete => INCOMPLETE,
        () => 0,
    }
}

/// Explores a program, and shows how far it is.
fn watched(program: &Compiled, flags: &Explore, model: Model) -> Result<ProgramVerdict, NotExplored> {
    let watch = Watch::on_terminal();
    compiled::explore_watched(program, &setup(flags, model), &mut |visited, all| {
        watch.tell(visited, all.map(|all| Estimate { all, ..Estimate::default() }));
    })
}

/// About how many executions there are.
fn estimate(verdict: &ProgramVerdict) -> Option<Estimate> {
    verdict.estimate.map(|(executions, all)| Estimate { executions, all, ..Estimate::default() })
}

/// Explores a program for a short time, which tells how long it takes. If that is not all, it is estimated how many
/// executions there are.
fn estimated(program: &Compiled, flags: &Explore, model: Model) -> Result<ProgramVerdict, NotExplored> {
    let setup = Setup { timeout: TRIAL, mode: Selection::Exhaustive, ..setup(flags, model) };
    let tried = compiled::explore(program, &setup)?;
    if tried.is_complete || tried.finding.is_some() || tried.refused.is_some() {
        return Ok(tried);
    }
    let setup = Setup { mode: Selection::Estimate(WALKS), timeout: flags.timeout, ..setup };
    let estimate = compiled::explore(program, &setup)?.estimate.or(tried.estimate);
    Ok(ProgramVerdict { estimate, ..tried })
}

fn setup(flags: &Explore, model: Model) -> Setup {
    let selection = match (&flags.replay, flags.mode) {
        (Some(token), _) => Selection::Replay(token.clone()),
        (None, Mode::Exhaustive) => Selection::Exhaustive,
        (None, Mode::Random) => {
            let seeds = flags.seed..flags.seed.saturating_add(flags.runs);
            Selection::Random { strategy: strategy(flags), seeds }
        }
    };
    Setup {
        mode: selection,
        max_steps: flags.max_steps.unwrap_or(MAX_STEPS),
        max_threads: flags.max_threads,
        max_executions: flags.max_executions,
        timeout: flags.timeout,
        stack: flags.stack as usize * 1024,
        heap: (flags.heap as usize) << 20,
        leaks: flags.leaks,
        spurious: flags.spurious,
        timeouts: flags.timeouts,
        symmetry: flags.symmetry == Symmetry::Always,
        arguments: flags.args.split_whitespace().map(str::to_owned).collect(),
        ..Setup::new(model)
    }
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The verdict in words.
fn shown(file: &str, model: Model, verdict: &ProgramVerdict) -> String {
    let executions = count(verdict.executions, "execution");
    let mut text = format!("{}: {model}: ", visible(file));
    if let Some(refused) = &verdict.refused {
        let _ = writeln!(text, "refused: {}", visible(refused));
        return text;
    }
    if let Some(finding) = &verdict.finding {
        let _ = writeln!(text, "{}", visible(&finding.message));
        for place in &finding.places {
            let _ = writeln!(text, "  {}", visible(&place.to_string()));
        }
        let _ = write!(text, "after {executions} without a finding");
        if let Some(seed) = verdict.seed {
            let _ = write!(text, "; seed {seed}");
        }
        text.push('\n');
        for line in verdict.lanes.lines() {
            let _ = writeln!(text, "{}", visible(line));
        }
        if let Some(token) = &verdict.token {
            let _ = writeln!(text, "replay: {token}");
        }
        return text;
    }
    if verdict.is_complete {
        let _ = write!(text, "no finding in all {executions}");
    } else {
        let _ = write!(text, "no finding in {executions}, which are not all");
        if verdict.bounded > 0 {
            let _ = write!(text, "; {} more reached --max-steps", verdict.bounded);
        }
        if let Some(reason) = &verdict.reason {
            let _ = write!(text, "; {}", visible(reason));
        }
        if let Some(estimate) = estimate(verdict) {
            let _ = write!(text, "; {}", estimate.covered(verdict.executions + verdict.blocked));
        }
    }
    let _ = writeln!(text, "{}", omitted(verdict));
    text
}

/// What was left out, and could have led to a finding.
fn omitted(verdict: &ProgramVerdict) -> Omitted {
    let &ProgramVerdict { spurious_failures, spurious_wakes, timeouts, .. } = verdict;
    Omitted { spurious_failures, spurious_wakes, timeouts, ..Omitted::default() }
}

/// The verdict as a line of `--json`.
fn line(file: &str, model: Model, verdict: &ProgramVerdict, time: Duration) -> String {
    let place = |place: &CodePlace| -> Value {
        let calls: Vec<Value> = place
            .stack
            .iter()
            .map(|call| json!({"file": call.file, "line": call.line, "function": call.function}))
            .collect();
        json!({
            "thread": place.thread,
            "file": place.call.file,
            "line": place.call.line,
            "function": place.call.function,
            "stack": calls,
        })
    };
    let word = match verdict {
        ProgramVerdict { refused: Some(_), .. } => "refused",
        ProgramVerdict { finding: Some(_), .. } => "finding",
        ProgramVerdict { is_complete: true, .. } => "ok",
        _ => "unknown",
    };
    let finding = verdict.finding.as_ref().map(|finding| {
        json!({
            "kind": finding.kind.name(),
            "message": finding.message,
            "places": finding.places.iter().map(place).collect::<Vec<_>>(),
        })
    });
    json::line(&json!({
        "file": file,
        "model": model.name(),
        "verdict": word,
        "executions": verdict.executions,
        "blocked": verdict.blocked,
        "bounded": verdict.bounded,
        "complete": verdict.is_complete,
        "threads": verdict.threads,
        "finding": finding,
        "token": verdict.token,
        "seed": verdict.seed,
        "refused": verdict.refused,
        "reason": verdict.reason,
        "estimate": verdict.estimate.map(|(executions, all)| json!({"executions": executions, "all": all})),
        "omitted": {
            "spurious_failures": verdict.spurious_failures,
            "spurious_wakes": verdict.spurious_wakes,
            "timeouts": verdict.timeouts,
        },
        "micros": u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
    }))
}
