//! The C11 family at work, as ratios within one run. `cargo bench -p memory --bench c11 [-- EVENTS]`.
//!
//! - offline checks as multiples of the parse of the same events from text, with and without the way from the history to
//!   the execution;
//! - growth with the number of events and of threads;
//! - shapes that make weaker algorithms collapse;
//! - the baselines that RF compares with;
//! - small executions through the library, built and checked in the same memory;
//! - event by event, against one check of all events.
//!
//! The best of several runs counts.

use std::fmt::Write;
use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use certificate::Model;
use history::execution::{Execution, ExecutionBuilder, Kind};
use history::format::{Format, ReadOptions, read};
use history::{History, MemoryOrder};
use memory::c11::{Checker, Incremental, baseline};
use workload::memory::{self as machine, Config, Machine};

const RUNS: usize = 5;

fn best<T>(runs: usize, mut run: impl FnMut() -> T) -> (Duration, T) {
    let mut best: Option<(Duration, T)> = None;
    for _ in 0..runs {
        let start = Instant::now();
        let result = run();
        let time = start.elapsed();
        if best.as_ref().is_none_or(|(before, _)| time < *before) {
            best = Some((time, result));
        }
    }
    best.expect("at least one run")
}

fn check(checker: &mut Checker, model: Model, execution: &Execution, runs: usize) -> Duration {
    let (time, allowed) = best(runs, || checker.allows(model, execution));
    assert_eq!(allowed, Ok(true), "the machine yields what the model allows");
    time
}

fn nanoseconds(time: Duration, events: usize) -> f64 {
    time.as_nanos() as f64 / events as f64
}

fn text(config: &Config) -> Arc<[u8]> {
    let mut text = String::new();
    for step in machine::generate(config) {
        let order = if step.order == MemoryOrder::Plain { String::new() } else { format!(".{}", step.order.name()) };
        let (thread, location) = (step.thread, step.location);
        let _ = match step.kind {
            Kind::Read => writeln!(text, "[{thread}] r{order} x{location} {}", step.read),
            Kind::Write => writeln!(text, "[{thread}] w{order} x{location} {}", step.written),
            Kind::Rmw => writeln!(text, "[{thread}] u{order} x{location} {} {}", step.read, step.written),
            Kind::Fence => writeln!(text, "[{thread}] f{order}"),
        };
    }
    text.into_bytes().into()
}

fn parse(text: &Arc<[u8]>) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut reader = read(Box::new(Cursor::new(text.clone())), &options);
    reader.next().expect("one history").expect("the machine writes what the parser reads")
}

fn against_parse(events: u32) {
    println!("8 threads, 1000 locations, 30% writes, 20% rmws, {events} events; times parse of the same text:");
    for (machine, models) in [
        (Machine::ReleaseAcquire, &[Model::Ra, Model::Relaxed, Model::Wra][..]),
        (Machine::Rc20, &[Model::Rc20, Model::Relaxed]),
    ] {
        let config = Config {
            machine,
            threads: 8,
            operations: events,
            locations: 1000,
            writes: 30,
            rmws: 20,
            fences: if machine == Machine::Rc20 { 5 } else { 0 },
            ..Config::default()
        };
        let text = text(&config);
        let runs = if events > 2_000_000 { 2 } else { RUNS };
        let (parsing, history) = best(runs, || parse(&text));
        let (viewing, execution) = best(runs, || Execution::from_history(&history).expect("values are unique"));
        let count = execution.len();
        println!(
            "  {machine:?} machine: parse {:.1} ns an event, view {:.1}",
            nanoseconds(parsing, count),
            nanoseconds(viewing, count)
        );
        let mut first = None;
        for &model in models {
            // A command checks once, so what a first check allocates counts.
            let (cold, _) = best(runs, || check(&mut Checker::new(), model, &execution, 1));
            let warm = check(&mut Checker::new(), model, &execution, runs + 1);
            let first = *first.get_or_insert(cold);
            println!(
                "    {:8} {:6.1} ns an event = {:.2} x parse ({:.2} with the view); used again {:.1} ns; {:.2} x faster than {}",
                model.name(),
                nanoseconds(cold, count),
                cold.as_secs_f64() / parsing.as_secs_f64(),
                (cold + viewing).as_secs_f64() / parsing.as_secs_f64(),
                nanoseconds(warm, count),
                first.as_secs_f64() / cold.as_secs_f64(),
                models[0],
            );
        }
    }
}

fn growth(events: u32) {
    println!("twice the events ({} to {events}), 8 threads, 1000 locations:", events / 8);
    let mut checker = Checker::new();
    for (machine, models) in
        [(Machine::ReleaseAcquire, &[Model::Ra, Model::Wra, Model::Relaxed][..]), (Machine::Rc20, &[Model::Rc20])]
    {
        for &model in models {
            let time = |events| {
                let config = Config {
                    machine,
                    threads: 8,
                    operations: events,
                    locations: 1000,
                    rmws: 20,
                    writes: 30,
                    ..Config::default()
                };
                machine::execution(&config)
            };
            let times: Vec<f64> = [events / 8, events / 4, events / 2, events]
                .map(|events| check(&mut checker, model, &time(events), RUNS).as_secs_f64())
                .to_vec();
            let ratios: Vec<String> = times.windows(2).map(|pair| format!("{:.2}", pair[1] / pair[0])).collect();
            println!("  {:8} x {}", model.name(), ratios.join(" x "));
        }
    }
    println!("twice the threads (2 to 64), {events} events, 1000 locations; nanoseconds an event:");
    for (machine, model) in [
        (Machine::ReleaseAcquire, Model::Ra),
        (Machine::Rc20, Model::Rc20),
        (Machine::ReleaseAcquire, Model::Wra),
        (Machine::ReleaseAcquire, Model::Relaxed),
    ] {
        let times: Vec<String> = [2, 4, 8, 16, 32, 64]
            .iter()
            .map(|&threads| {
                let config = Config {
                    machine,
                    threads,
                    operations: events,
                    locations: 1000,
                    rmws: 20,
                    writes: 30,
                    ..Config::default()
                };
                let execution = machine::execution(&config);
                format!("{:.0}", nanoseconds(check(&mut checker, model, &execution, 3), execution.len()))
            })
            .collect();
        println!("  {:8} {}", model.name(), times.join(", "));
    }
}

/// Shapes of one or two locations on which a search, a walk or a closure gets long.
fn shapes(events: u32) -> Vec<(&'static str, Execution)> {
    let threads = 8;
    let mut shapes = Vec::new();
    let mut shape = |name, build: &dyn Fn(&mut ExecutionBuilder)| {
        let mut builder = ExecutionBuilder::new();
        build(&mut builder);
        shapes.push((name, builder.build()));
    };
    shape("a counter: one chain of rmws", &|builder| {
        let mut last = None;
        for at in 0..events {
            let rmw = builder.push(at % threads, Kind::Rmw, 0);
            builder.read_from(rmw, last);
            last = Some(rmw);
        }
    });
    shape("a counter and readers of old values", &|builder| {
        let mut chain = Vec::new();
        for at in 0..events {
            if at % 2 == 0 {
                let rmw = builder.push(0, Kind::Rmw, 0);
                builder.read_from(rmw, chain.last().copied());
                chain.push(rmw);
            } else {
                let reader = builder.push(1 + (at / 2) % (threads - 1), Kind::Read, 0);
                builder.read_from(reader, Some(chain[chain.len() / 2]));
            }
        }
    });
    shape("one writer, seven readers far behind", &|builder| {
        let writes: Vec<usize> = (0..events / 2).map(|_| builder.push(0, Kind::Write, 0)).collect();
        for at in 0..events / 2 {
            let reader = builder.push(1 + at % (threads - 1), Kind::Read, 0);
            builder.read_from(reader, Some(writes[(at / 2) as usize]));
        }
    });
    shape("writers that know nothing of each other", &|builder| {
        let mut own = vec![None; threads as usize];
        for at in 0..events {
            let thread = at % threads;
            if at % 3 == 0 {
                let read = builder.push(thread, Kind::Read, 0);
                builder.read_from(read, own[thread as usize]);
            } else {
                own[thread as usize] = Some(builder.push(thread, Kind::Write, 0));
            }
        }
    });
    shape("two threads that read each other's last write", &|builder| {
        let mut last = [None, None];
        for at in 0..events / 2 {
            let thread = at % 2;
            let read = builder.push(thread, Kind::Read, 1 - thread);
            builder.read_from(read, last[1 - thread as usize]);
            last[thread as usize] = Some(builder.push(thread, Kind::Write, thread));
        }
    });
    shape("many chains of two on one location", &|builder| {
        for at in 0..events / 3 {
            let write = builder.push(at % threads, Kind::Write, 0);
            let rmw = builder.push(at % threads, Kind::Rmw, 0);
            builder.read_from(rmw, Some(write));
            let read = builder.push((at + 1) % threads, Kind::Read, 0);
            builder.read_from(read, Some(rmw));
        }
    });
    shapes
}

fn collapse(events: u32) {
    println!("shapes, {} and {events} events; nanoseconds an event:", events / 2);
    let mut checker = Checker::new();
    let (small, large) = (shapes(events / 2), shapes(events));
    for ((name, small), (_, large)) in small.iter().zip(&large) {
        let times: Vec<String> = [Model::Ra, Model::Rc20, Model::Wra, Model::Relaxed]
            .iter()
            .map(|&model| {
                let of = |checker: &mut Checker, execution: &Execution| {
                    nanoseconds(best(2, || checker.allows(model, execution)).0, execution.len())
                };
                format!("{model} {:.0} {:.0}", of(&mut checker, small), of(&mut checker, large))
            })
            .collect();
        println!("  {name}: {} ({:?})", times.join(", "), checker.allows(Model::Ra, large));
    }
}

fn baselines() {
    println!("baselines for ra, 8 threads, 20 locations; times this engine:");
    let mut checker = Checker::new();
    for events in [500, 1000, 2000, 4000] {
        let config = Config {
            machine: Machine::ReleaseAcquire,
            threads: 8,
            operations: events,
            locations: 20,
            rmws: 20,
            writes: 30,
            ..Config::default()
        };
        let execution = machine::execution(&config);
        let ours = check(&mut checker, Model::Ra, &execution, 50).as_secs_f64();
        let (cubic, allowed) = best(2, || baseline::writes_before(&execution));
        let (closed, allowed_too) = best(2, || baseline::closed_order(&execution));
        assert!(allowed && allowed_too);
        println!(
            "  {events} events: {:.0} us; cubic writes-before x {:.0}, transitively closed mo x {:.0}",
            ours * 1e6,
            cubic.as_secs_f64() / ours,
            closed.as_secs_f64() / ours
        );
    }
}

fn embedded() {
    let config = Config {
        machine: Machine::Rc20,
        threads: 4,
        operations: 20,
        locations: 4,
        fences: 5,
        writes: 40,
        rmws: 15,
        ..Config::default()
    };
    let runs: Vec<Vec<machine::Step>> = (0..1000)
        .map(|seed| machine::generate(&Config { seed, perturb: seed as u32 % 2, ..config }).collect())
        .collect();
    println!("1,000,000 executions of 20 events through the library, millions a second:");
    let (mut builder, mut execution, mut checker) = <(ExecutionBuilder, Execution, Checker)>::default();
    let mut writes = [0usize; 32];
    let mut build = |steps: &[machine::Step], execution: &mut Execution| {
        builder.clear();
        for step in steps {
            let event = builder.push_ordered(step.thread, step.kind, step.location, step.order);
            if step.kind.reads() {
                builder.read_from(event, step.read.checked_sub(1).map(|value| writes[value as usize]));
            }
            if step.kind.writes() {
                writes[step.written as usize - 1] = event;
            }
        }
        builder.build_into(execution);
    };
    let built: Vec<Execution> = runs
        .iter()
        .map(|steps| {
            build(steps, &mut execution);
            execution.clone()
        })
        .collect();
    for model in [Model::Ra, Model::Rc20, Model::Relaxed, Model::Wra] {
        let (check_only, _) = best(2, || {
            (0..1000).flat_map(|_| &built).filter(|execution| checker.allows(model, execution) == Ok(true)).count()
        });
        let (with_build, _) = best(2, || {
            (0..1000)
                .flat_map(|_| &runs)
                .filter(|steps| {
                    build(steps, &mut execution);
                    checker.allows(model, &execution) == Ok(true)
                })
                .count()
        });
        println!(
            "  {:8} {:.2} checked, {:.2} built and checked",
            model.name(),
            1.0 / check_only.as_secs_f64(),
            1.0 / with_build.as_secs_f64()
        );
    }
}

/// One event after the other, as the machine did them.
fn push_all(mut incremental: Incremental, steps: &[machine::Step]) -> usize {
    let mut writes = Vec::new();
    for step in steps {
        let source = step.read.checked_sub(1).filter(|_| step.kind.reads()).map(|value| writes[value as usize]);
        let event = incremental.push(step.thread, step.kind, step.location, step.order, source);
        let event = event.expect("the machine yields what the model allows");
        if step.kind.writes() {
            // The machine numbers what it writes.
            assert_eq!(step.written as usize, writes.len() + 1);
            writes.push(event);
        }
    }
    incremental.len()
}

fn incremental(events: u32) {
    println!(
        "event by event ({} to {events}), 8 threads; nanoseconds an event, and times one check of all:",
        events / 8
    );
    let mut checker = Checker::new();
    for (machine, model, new) in [
        (Machine::ReleaseAcquire, Model::Ra, Incremental::ra as fn() -> Incremental),
        (Machine::Rc20, Model::Rc20, Incremental::rc20),
    ] {
        for locations in [1, 1000] {
            let figures = [events / 8, events / 4, events / 2, events].map(|operations| {
                let config =
                    Config { machine, threads: 8, operations, locations, rmws: 20, writes: 30, ..Config::default() };
                let steps: Vec<_> = machine::generate(&config).collect();
                let (time, count) = best(2, || push_all(new(), &steps));
                let offline = check(&mut checker, model, &machine::execution(&config), 2);
                format!("{:.0} (x {:.1})", nanoseconds(time, count), time.as_secs_f64() / offline.as_secs_f64())
            });
            println!("  {:8} {locations} locations: {}", model.name(), figures.join(", "));
        }
    }
}

fn main() {
    let argument = |at| std::env::args().filter(|argument| !argument.starts_with('-')).nth(at);
    let events: u32 = argument(1).and_then(|events| events.parse().ok()).unwrap_or(1_000_000);
    let part = argument(2);
    let wanted = |name: &str| part.as_deref().is_none_or(|part| part == name);
    if wanted("embedded") {
        embedded();
    }
    if wanted("incremental") {
        incremental(events.min(1_000_000));
    }
    if wanted("baselines") {
        baselines();
    }
    if wanted("shapes") {
        collapse(1_000_000);
    }
    if wanted("growth") {
        growth(events.min(1_000_000));
    }
    if wanted("parse") {
        against_parse(events);
    }
}
