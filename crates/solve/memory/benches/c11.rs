//! The C11 family at work, as ratios within one run. `cargo bench -p seriatim-memory --bench c11 [-- EVENTS [PART]]`.
//!
//! - offline checks, as multiples of the time to parse the same events from text, with and without the step from the
//!   history to the execution;
//! - growth with the number of events and of threads;
//! - shapes that make weaker algorithms collapse;
//! - executions on which `sra` needs a search;
//! - small executions through the library, built and checked in the same memory;
//! - event by event, against one check of all events.
//!
//! The best of several runs counts.

use std::fmt::Write;
use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, Instant};

use format::{Format, ReadOptions, read};
use history::execution::{Execution, ExecutionBuilder, Kind};
use history::{History, MemoryOrder};
use memory::MemoryOptions;
use memory::c11::{C11Checker, Incremental};
use model::{Certificate, Evidence, Model};
use verify::verify;
use workload::memory::{self as machine, MemoryConfig, MemoryMachine};
use workload::rings;

const RUNS: usize = 5;
/// How many turns there are, where executions take turns.
const TURNS: usize = 15;

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

fn check(checker: &mut C11Checker, model: Model, execution: &Execution, runs: usize) -> Duration {
    let (time, allowed) = best(runs, || checker.allows(model, execution));
    assert_eq!(allowed, Ok(true), "the machine yields what the model allows");
    time
}

fn nanoseconds(time: Duration, events: usize) -> f64 {
    time.as_nanos() as f64 / events as f64
}

fn text(config: &MemoryConfig) -> Arc<[u8]> {
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

fn against_parse(events: u32, machines: &[MemoryMachine]) {
    println!("8 threads, 1000 locations, 30% writes, 20% rmws, {events} events; times parse of the same text:");
    for (machine, models) in [
        (MemoryMachine::ReleaseAcquire, &[Model::Ra, Model::Relaxed, Model::Wra][..]),
        (MemoryMachine::Rc20, &[Model::Rc20, Model::Relaxed]),
    ]
    .into_iter()
    .filter(|(machine, _)| machines.contains(machine))
    {
        let config = MemoryConfig {
            machine,
            threads: 8,
            operations: events,
            locations: 1000,
            writes: 30,
            rmws: 20,
            fences: if machine == MemoryMachine::Rc20 { 5 } else { 0 },
            ..MemoryConfig::default()
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
            // A command checks once, so the allocations of a first check count.
            let (cold, _) = best(runs, || check(&mut C11Checker::new(), model, &execution, 1));
            let warm = check(&mut C11Checker::new(), model, &execution, runs + 1);
            let first = *first.get_or_insert(cold);
            println!(
                "    {:8} {:6.1} ns an event = {:.2} x parse ({:.2} with the view); used again {:.1} ns; \
                 {:.2} x faster than {}",
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

/// The times of checks of several executions: for each turn, the times of all executions. The executions take turns, so
/// that a disturbance of the machine affects all of them.
fn turns(model: Model, executions: &[Execution], turns: usize) -> Vec<Vec<Duration>> {
    let mut checker = C11Checker::new();
    let mut time = |execution| best(1, || checker.allows(model, execution)).0;
    // The first turn warms up.
    (0..=turns).map(|_| executions.iter().map(&mut time).collect()).skip(1).collect()
}

/// The least time of each execution, in nanoseconds an event.
fn least(turns: &[Vec<Duration>], executions: &[Execution]) -> String {
    let least = |at: usize| turns.iter().map(|times| times[at]).min().unwrap_or_default();
    let cost = |(at, execution): (usize, &Execution)| format!("{:.1}", nanoseconds(least(at), execution.len()));
    executions.iter().enumerate().map(cost).collect::<Vec<_>>().join(", ")
}

/// Machine, model, and how many percent are rmws.
const GROWING: [(MemoryMachine, Model, u32); 6] = [
    (MemoryMachine::ReleaseAcquire, Model::Ra, 20),
    (MemoryMachine::Rc20, Model::Rc20, 20),
    (MemoryMachine::ReleaseAcquire, Model::Wra, 20),
    (MemoryMachine::ReleaseAcquire, Model::Relaxed, 20),
    (MemoryMachine::Sc, Model::Sra, 0),
    (MemoryMachine::Sc, Model::Sra, 20),
];

fn growing(machine: MemoryMachine, rmws: u32, operations: u32, threads: u32) -> Execution {
    machine::execution(&MemoryConfig {
        machine,
        threads,
        operations,
        locations: 1000,
        rmws,
        writes: 30,
        ..MemoryConfig::default()
    })
}

fn growth(events: u32) {
    println!(
        "twice the events ({} to {events}), 8 threads, 1000 locations; \
         the middle, least and largest ratio of {TURNS} turns:",
        events / 8
    );
    for (machine, model, rmws) in GROWING {
        let executions = [8, 4, 2, 1].map(|part| growing(machine, rmws, events / part, 8));
        let turns = turns(model, &executions, TURNS);
        let ratio = |at: usize| {
            let mut ratios: Vec<f64> =
                turns.iter().map(|times| times[at + 1].as_secs_f64() / times[at].as_secs_f64()).collect();
            ratios.sort_by(f64::total_cmp);
            format!("x {:.2} ({:.2} to {:.2})", ratios[TURNS / 2], ratios[0], ratios[TURNS - 1])
        };
        let ratios: Vec<String> = (0..executions.len() - 1).map(ratio).collect();
        let costs = least(&turns, &executions);
        println!("  {:8} {rmws:2}% rmws: {}; at least {costs} ns an event", model.name(), ratios.join(", "));
    }
}

fn threads(events: u32) {
    println!("twice the threads (2 to 64), {events} events, 1000 locations; nanoseconds an event, the least of 3:");
    for (machine, model, rmws) in GROWING {
        let executions = [2, 4, 8, 16, 32, 64].map(|threads| growing(machine, rmws, events, threads));
        let turns = turns(model, &executions, 3);
        println!("  {:8} {rmws:2}% rmws: {}", model.name(), least(&turns, &executions));
    }
}

/// Repeats one kind of check of `GROWING`, for a tool that counts instructions.
fn count(events: u32, kind: usize, checks: u32) {
    let (machine, model, rmws) = GROWING[kind];
    let execution = growing(machine, rmws, events, 8);
    let mut checker = C11Checker::new();
    let allowed = (0..checks).filter(|_| checker.allows(model, &execution) == Ok(true)).count();
    println!("{model}, {rmws}% rmws, {events} events: {allowed} of {checks}");
}

/// An operation, and the operation that it reads from.
struct Access {
    thread: u32,
    kind: Kind,
    location: u32,
    source: Option<usize>,
}

/// Accesses in an order in which they may have happened.
#[derive(Default)]
struct Shape(Vec<Access>);

impl Shape {
    fn push(&mut self, thread: u32, kind: Kind, location: u32, source: Option<usize>) -> usize {
        self.0.push(Access { thread, kind, location, source });
        self.0.len() - 1
    }

    fn execution(&self) -> Execution {
        let mut builder = ExecutionBuilder::new();
        for access in &self.0 {
            let event = builder.push(access.thread, access.kind, access.location);
            if access.kind.reads() {
                builder.read_from(event, access.source);
            }
        }
        builder.build()
    }

    fn push_all(&self) -> usize {
        let mut incremental = Incremental::ra();
        let mut events = Vec::with_capacity(self.0.len());
        for &Access { thread, kind, location, source } in &self.0 {
            let source = source.and_then(|source| events[source]);
            let write = incremental.push(thread, kind, location, MemoryOrder::Plain, source);
            events.push(write.expect("the shapes are allowed"));
        }
        events.len()
    }
}

/// Shapes after the five patterns of RF (*Optimal Reads-From Consistency Checking for C11-Style Memory Models*, Figure
/// 11). RF describes them as partial executions that exploit contrasting aspects of its incremental algorithm and of
/// C11Tester's, with an increasing number of threads and events. There is one shape for each aspect that it names. Then
/// come shapes on which a search, a walk or a closure gets long.
fn shapes(events: u32, threads: u32) -> Vec<(&'static str, Shape)> {
    let mut shapes = Vec::new();
    let mut shape = |name, build: &dyn Fn(&mut Shape)| {
        let mut shape = Shape::default();
        build(&mut shape);
        shapes.push((name, shape));
    };
    shape("rmws of one chain have one clock: a counter", &|shape| {
        let mut last = None;
        for at in 0..events {
            last = Some(shape.push(at % threads, Kind::Rmw, 0, last));
        }
    });
    shape("an order that need not be: writers that know nothing of each other", &|shape| {
        let mut own = vec![None; threads as usize];
        for at in 0..events {
            let thread = at / 3 % threads;
            if at % 3 == 2 {
                shape.push(thread, Kind::Read, 0, own[thread as usize]);
            } else {
                own[thread as usize] = Some(shape.push(thread, Kind::Write, 0, None));
            }
        }
    });
    shape(
        "an order that is long, and longer when closed: each reads what the one before wrote, and writes",
        &|shape| {
            let mut last = None;
            for at in 0..events / 2 {
                shape.push(at % threads, Kind::Read, 0, last);
                last = Some(shape.push(at % threads, Kind::Write, 0, None));
            }
        },
    );
    shape("an order that only reads imply: each writes, and then reads what its neighbour wrote", &|shape| {
        let neighbours = threads.min(events);
        for _ in 0..events / (2 * neighbours) {
            let writes: Vec<usize> = (0..neighbours).map(|thread| shape.push(thread, Kind::Write, 0, None)).collect();
            for thread in 0..neighbours - 1 {
                shape.push(thread, Kind::Read, 0, Some(writes[thread as usize + 1]));
            }
        }
    });
    shape("no rmws and few writes", &|shape| {
        let mut last = None;
        for at in 0..events {
            if at % 64 == 0 {
                last = Some(shape.push(at / 64 % threads, Kind::Write, 0, None));
            } else {
                shape.push(at % threads, Kind::Read, 0, last);
            }
        }
    });
    shape("a counter and readers of old values", &|shape| {
        let mut chain = Vec::new();
        for at in 0..events {
            if at % 2 == 0 {
                chain.push(shape.push(0, Kind::Rmw, 0, chain.last().copied()));
            } else {
                shape.push(1 + (at / 2) % (threads - 1), Kind::Read, 0, Some(chain[chain.len() / 2]));
            }
        }
    });
    shape("one writer, readers far behind", &|shape| {
        let writes: Vec<usize> = (0..events / 2).map(|_| shape.push(0, Kind::Write, 0, None)).collect();
        for at in 0..events / 2 {
            shape.push(1 + at % (threads - 1), Kind::Read, 0, Some(writes[(at / 2) as usize]));
        }
    });
    shape("many chains of two on one location", &|shape| {
        for at in 0..events / 3 {
            let write = shape.push(at % threads, Kind::Write, 0, None);
            let rmw = shape.push(at % threads, Kind::Rmw, 0, Some(write));
            shape.push((at + 1) % threads, Kind::Read, 0, Some(rmw));
        }
    });
    shapes
}

fn collapse(events: u32) {
    println!(
        "shapes: {} events, {events}, and {events} of twice the threads (8 and 16); nanoseconds an event:",
        events / 2
    );
    let mut checker = C11Checker::new();
    let sizes = [(events / 2, 8), (events, 8), (events, 16)].map(|(events, threads)| shapes(events, threads));
    for at in 0..sizes[0].len() {
        let (name, shapes) = (sizes[0][at].0, sizes.each_ref().map(|shapes| &shapes[at].1));
        let executions = shapes.map(Shape::execution);
        let mut columns: Vec<String> = [Model::Ra, Model::Rc20, Model::Wra, Model::Relaxed]
            .iter()
            .map(|&model| {
                let costs = executions.each_ref().map(|execution| {
                    let (time, allowed) = best(3, || checker.allows(model, execution));
                    assert_eq!(allowed, Ok(true), "{name}");
                    format!("{:.0}", nanoseconds(time, execution.len()))
                });
                format!("{model} {}", costs.join(" "))
            })
            .collect();
        let pushed = shapes.map(|shape| format!("{:.0}", nanoseconds(best(2, || shape.push_all()).0, shape.0.len())));
        columns.push(format!("ra event by event {}", pushed.join(" ")));
        println!("  {name}:\n    {}", columns.join(", "));
    }
}

/// Executions that only a search decides under `sra`: the time to decide with evidence, the kind of evidence, and the
/// time to verify it.
fn strong() {
    let report = |name: &str, execution: &Execution| {
        let history = workload::to_history(execution);
        let options = MemoryOptions {
            witness: true,
            budget: memory::Budget::default().timeout(Duration::from_secs(20)),
            ..MemoryOptions::default()
        };
        let (time, decision) = best(2, || memory::check(Model::Sra, execution, &options));
        let evidence = match &decision.evidence {
            Some(Evidence::Refutation(lemmas)) => {
                let steps: usize = lemmas.iter().map(|lemma| lemma.steps.len()).sum();
                format!("{} lemmas of {steps} steps", lemmas.len())
            }
            Some(Evidence::DecideAgain) => "no short proof".to_owned(),
            Some(Evidence::Cycle(_)) => "a cycle".to_owned(),
            _ => decision.reason.clone().unwrap_or_default(),
        };
        let verified = Certificate::new(0, &history, Model::Sra, &decision).map(|certificate| {
            let (time, verified) = best(2, || verify(&certificate, &history));
            assert_eq!(verified, Ok(()));
            format!("verified in {:.2} ms", time.as_secs_f64() * 1e3)
        });
        println!(
            "  {name}, {} events, {} threads: {:.2} ms, {:.0} ns an event, {} {evidence}, {}",
            execution.len(),
            execution.thread_count(),
            time.as_secs_f64() * 1e3,
            nanoseconds(time, execution.len()),
            decision.verdict.name(),
            verified.unwrap_or_default()
        );
    };
    println!("sra, where saturation does not decide:");
    for violating in [false, true] {
        for copies in [500, 1000, 2000, 4000] {
            let mut rings = vec![rings::crossed(false); copies];
            rings[copies - 1] = rings::crossed(violating);
            report("copies in sequence", &rings::execution(&rings::steps(2, &rings, false)));
        }
    }
    for copies in [25, 50, 100, 200, 400, 800] {
        let mut rings = vec![Vec::new(); copies];
        rings[copies - 1] = rings::crossed(true);
        report("free pairs, then one copy", &rings::execution(&rings::steps(2, &rings, false)));
    }
    for copies in [10, 20, 40] {
        let mut rings = vec![rings::crossed(false); copies];
        rings[copies - 1] = rings::crossed(true);
        report("copies side by side", &rings::execution(&rings::steps(2, &rings, true)));
    }
    for variables in [10, 20, 40, 80] {
        for seed in 0..2 {
            let rings = rings::random(variables, 7 * variables / 2, seed);
            report("random rings", &rings::execution(&rings::steps(variables, &[rings], false)));
        }
    }
}

fn embedded() {
    let config = MemoryConfig {
        machine: MemoryMachine::Rc20,
        threads: 4,
        operations: 20,
        locations: 4,
        fences: 5,
        writes: 40,
        rmws: 15,
        ..MemoryConfig::default()
    };
    let runs: Vec<Vec<machine::MemoryStep>> = (0..1000)
        .map(|seed| machine::generate(&MemoryConfig { seed, perturb: seed as u32 % 2, ..config }).collect())
        .collect();
    println!("1,000,000 executions of 20 events through the library, millions a second:");
    let (mut builder, mut execution, mut checker) = <(ExecutionBuilder, Execution, C11Checker)>::default();
    let mut writes = [0usize; 32];
    let mut build = |steps: &[machine::MemoryStep], execution: &mut Execution| {
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
fn push_all(mut incremental: Incremental, steps: &[machine::MemoryStep]) -> usize {
    let mut writes = Vec::new();
    for step in steps {
        let source = step.read.checked_sub(1).filter(|_| step.kind.reads()).and_then(|value| writes[value as usize]);
        let write = incremental.push(step.thread, step.kind, step.location, step.order, source);
        let write = write.expect("the machine yields what the model allows");
        if step.kind.writes() {
            // The machine numbers its writes.
            assert_eq!(step.written as usize, writes.len() + 1);
            writes.push(write);
        }
    }
    steps.len()
}

fn incremental(events: u32) {
    println!(
        "event by event ({} to {events}), 8 threads; nanoseconds an event, and times one check of all:",
        events / 8
    );
    let mut checker = C11Checker::new();
    for (machine, model, new) in [
        (MemoryMachine::ReleaseAcquire, Model::Ra, Incremental::ra as fn() -> Incremental),
        (MemoryMachine::Rc20, Model::Rc20, Incremental::rc20),
    ] {
        for locations in [1, 1000] {
            let figures = [events / 8, events / 4, events / 2, events].map(|operations| {
                let config = MemoryConfig {
                    machine,
                    threads: 8,
                    operations,
                    locations,
                    rmws: 20,
                    writes: 30,
                    ..MemoryConfig::default()
                };
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
    if wanted("shapes") {
        collapse(1_000_000);
    }
    if wanted("growth") {
        growth(events.min(1_000_000));
    }
    if wanted("threads") {
        threads(events.min(1_000_000));
    }
    if wanted("sra") {
        strong();
    }
    if part.as_deref() == Some("count") {
        let number = |at| argument(at).and_then(|number| number.parse().ok()).unwrap_or(0);
        count(events, number(3), number(4) as u32);
    }
    for (name, machines) in [
        ("parse", &[MemoryMachine::ReleaseAcquire, MemoryMachine::Rc20][..]),
        ("parse-ra", &[MemoryMachine::ReleaseAcquire]),
        ("parse-rc20", &[MemoryMachine::Rc20]),
    ] {
        if part.as_deref().unwrap_or("parse") == name {
            against_parse(events, machines);
        }
    }
}
