//! `seriatim run`: programs on this machine's own memory.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use explore::litmus::{Quantifier, Report, Test};
use history::visible;
use machine::Client;
use machine::hardware::{self, Clients, Layout, Orders, clients, run_litmus};
use model::{Model, Verdict};
use serde_json::json;
use seriatim::{Checker, Options};

use crate::explore::{read, tell};
use crate::fault::Fault;
use crate::flags::{self, Run};
use crate::output::{self, Palette};
use crate::simulate::{Finding, merge, refuse};
use crate::{BAD, json, panics};

pub(crate) fn run(flags: &Run) -> u8 {
    let layout = Layout { instances: flags.instances, stride: flags.stride, stagger: flags.stagger, seed: flags.seed };
    if let Some(path) = &flags.program {
        return program(flags, path, &layout);
    }
    let operations = flags.operations.saturating_mul(flags.threads);
    let Run { threads, locations, writes, rmws, fences, .. } = *flags;
    let client = Client { threads, operations, locations, writes, rmws, fences, hot: 0, seed: flags.seed };
    let orders = match flags.order {
        flags::Orders::Plain => Orders::Plain,
        flags::Orders::Relaxed => Orders::Relaxed,
        flags::Orders::ReleaseAcquire => Orders::ReleaseAcquire,
        flags::Orders::SeqCst => Orders::SeqCst,
        flags::Orders::Mixed => Orders::Mixed,
    };
    if threads as usize > hardware::processors() {
        let _ = writeln!(
            io::stderr(),
            "seriatim run: {threads} threads share {} processors, so little will show",
            hardware::processors()
        );
    }
    check(flags, &Clients { client, orders, layout })
}

/// What is known of a model.
struct Tally {
    model: Model,
    /// How many executions violate it, and how many of them are distinct.
    violations: u64,
    distinct: u64,
    unknown: u64,
}

fn check(flags: &Run, wanted: &Clients) -> u8 {
    let deadline = Instant::now().checked_add(flags.seconds);
    let options = Options::default();
    let tally = |&model: &Model| Tally { model, violations: 0, distinct: 0, unknown: 0 };
    let mut tallies: Vec<Tally> = flags.models.iter().map(tally).collect();
    let (mut executions, mut distinct, mut programs) = (0u64, 0u64, 0u64);
    let mut written = Ok(());
    let mut misfit = None;
    let ran = clients(wanted, |round| {
        programs += 1;
        for outcome in &round.outcomes {
            executions += outcome.count;
            distinct += 1;
            let history = round.history(outcome);
            let mut checker = Checker::new(&history, &options);
            for tally in &mut tallies {
                let decision = match panics::catch(|| checker.check(tally.model)) {
                    Ok(Ok(decision)) => decision,
                    Ok(Err(error)) => {
                        misfit = Some(error.to_string());
                        return ControlFlow::Break(());
                    }
                    Err(_) => {
                        tally.unknown += 1;
                        continue;
                    }
                };
                match decision.verdict {
                    Verdict::Consistent => {}
                    Verdict::Unknown => tally.unknown += 1,
                    Verdict::Violation => {
                        tally.distinct += 1;
                        tally.violations += outcome.count;
                        if tally.distinct == 1 {
                            let finding = Finding::of(&history, decision, &options);
                            let text = told(flags.json, tally.model, round.number, outcome.count, &finding);
                            written = io::stdout().write_all(text.as_bytes());
                        }
                    }
                }
            }
        }
        let is_over = written.is_err() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Err(fault) = ran {
        return refuse("run", &fault.to_string());
    }
    if let Some(misfit) = misfit {
        return refuse("run", &misfit);
    }
    let text = if flags.json {
        let models: serde_json::Map<String, serde_json::Value> = tallies
            .iter()
            .map(|it| {
                let counts = json!({ "violations": it.violations, "distinct": it.distinct, "unknown": it.unknown });
                (it.model.name().to_owned(), counts)
            })
            .collect();
        json::line(&json!({
            "kind": "totals", "programs": programs, "executions": executions, "outcomes": distinct, "models": models,
        }))
    } else {
        let mut text = format!("{executions} executions of {programs} programs, {distinct} distinct outcomes\n");
        for Tally { model, violations, distinct, unknown } in &tallies {
            let unknown = if *unknown > 0 { format!(", {unknown} unknown") } else { String::new() };
            let _ = writeln!(text, "{model}: {violations} executions in violation, {distinct} distinct{unknown}");
        }
        text
    };
    if let Err(error) = written.and_then(|()| io::stdout().write_all(text.as_bytes())) {
        return output::write_error(&error);
    }
    match () {
        () if tallies.iter().any(|it| it.violations > 0) => 1,
        () if tallies.iter().any(|it| it.unknown > 0) => 3,
        () => 0,
    }
}

/// The first violation of a model.
fn told(is_json: bool, model: Model, program: u64, count: u64, finding: &Finding) -> String {
    if is_json {
        let mut object = json!({ "kind": "finding", "program": program, "model": model.name(), "count": count });
        merge(&mut object, &finding.json());
        return json::line(&object);
    }
    format!("program {program}: {model}: violation, seen {count} times\n{}\n", finding.text(Palette::stdout()))
}

/// Runs a litmus test.
fn program(flags: &Run, path: &std::path::Path, layout: &Layout) -> u8 {
    let file: Arc<str> = path.display().to_string().into();
    let test = read(path)
        .map_err(|error| Fault::of_file(Arc::clone(&file), error.to_string()))
        .and_then(|bytes| Test::parse(&bytes).map_err(|error| Fault::of_text(Arc::clone(&file), error)));
    let test = match test {
        Ok(test) => test,
        Err(fault) => {
            tell(&fault, flags.json, &mut io::stdout().lock());
            return BAD;
        }
    };
    let start = Instant::now();
    let report = match run_litmus(&test, layout, start.checked_add(flags.seconds), u64::MAX) {
        Ok(report) => report,
        Err(fault) => return refuse("run", &fault.to_string()),
    };
    let text = if flags.json { line(&file, &test, &report) } else { histogram(&test, &report, start.elapsed()) };
    match io::stdout().write_all(text.as_bytes()) {
        // Only an outcome that the condition forbids is a violation; one that was not seen may come yet.
        Ok(()) => u8::from(report.is_certain() && !report.is_ok()),
        Err(error) => output::write_error(&error),
    }
}

/// The outcomes in the form of herd's tools.
fn histogram(test: &Test, report: &Report, elapsed: Duration) -> String {
    let (name, quantifier) = (visible(test.name()), test.quantifier());
    let mut text = format!("Test {name} {}\nHistogram ({} states)\n", quantifier.kind(), report.outcomes.len());
    for outcome in &report.outcomes {
        let mark = if outcome.is_positive { '*' } else { ':' };
        let _ = writeln!(text, "{:<8}{mark}>{}", outcome.count, test.title(&outcome.state));
    }
    let (positive, negative) = (report.positive(), report.negative());
    let observation = match (positive, negative) {
        (0, _) => "Never",
        (_, 0) => "Always",
        _ => "Sometimes",
    };
    let witnesses = match quantifier {
        Quantifier::NotExists => [negative, positive],
        Quantifier::Exists | Quantifier::ForAll => [positive, negative],
    };
    let _ = write!(
        text,
        "{}\n\nWitnesses\nPositive: {}, Negative: {}\nCondition {} ({}) is {}validated\nObservation {name} \
         {observation} {positive} {negative}\nTime {name} {:.2}\n",
        if report.is_ok() { "Ok" } else { "No" },
        witnesses[0],
        witnesses[1],
        quantifier.name(),
        test.proposition(),
        if report.is_ok() { "" } else { "NOT " },
        elapsed.as_secs_f64(),
    );
    text
}

/// The outcomes as a line of JSON.
fn line(file: &str, test: &Test, report: &Report) -> String {
    let outcomes: Vec<serde_json::Value> = report
        .outcomes
        .iter()
        .map(|it| json!({ "state": test.title(&it.state), "count": it.count, "positive": it.is_positive }))
        .collect();
    json::line(&json!({
        "kind": "totals", "file": file, "test": test.name(), "executions": report.counts.executions,
        "outcomes": outcomes, "condition": test.quantifier().name(),
        "verdict": if report.is_ok() { "ok" } else { "no" },
    }))
}
