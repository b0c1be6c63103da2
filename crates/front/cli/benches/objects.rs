//! Linearizability against the time to parse the same file.
//!
//! `cargo bench -p seriatim-cli --bench objects [-- OPERATIONS]`: runs of simulated objects with 4 and 64 threads, half
//! of them insertions, without faults and with a hundred faults. Each time is the least of several rounds, in which the
//! parser and the checker take turns. Parsing is reading the text. Checking is everything after that, which includes
//! the view of the history as calls on objects. The memory is the most that the process has, and includes the history.
//! Then, if `SERIATIM_SHARED_DATA` names a folder, come the worst cases of other tools. Then the search is compared
//! with the fast algorithm, with and without a memory of the states that it has seen (`-- slow` does only this).
//!
//! `cargo bench -p seriatim-cli --bench objects -- growth [OPERATIONS] [OBJECT]`: the check of ten times as many
//! operations, compared with the check of the operations. The two take turns in one run. Without OBJECT, all these
//! objects are measured.
//!
//! `cargo bench -p seriatim-cli --bench objects -- search [OPERATIONS]`: histories for which the fast algorithms are
//! not made, with values that repeat and with pending removals. Their check is compared with the time to parse the
//! file, and with the check of twice and four times as many operations.
//!
//! `cargo bench -p seriatim-cli --bench objects -- cliffs`: histories for which a search alone takes long. Their check
//! is compared with the time to parse the file, and with the check of four times as many operations.
//!
//! `cargo bench -p seriatim-cli --bench objects -- threads [SECONDS]`: stacks and priority queues of many threads,
//! whose values repeat or whose removals are pending. Each check has at most so many seconds.

mod common;

use std::path::Path;
use std::time::Duration;

use budget::ram;
use common::{in_turns, least};
use format::{Format, ReadOptions, Writer, open};
use history::{History, Object};
use model::Verdict;
use object::{Algorithm, Budget, ObjectHistory, ObjectOptions, check};
use workload::object::{Fault, ObjectConfig, history};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const OBJECTS: [Object; 5] = [Object::Queue, Object::Stack, Object::PriorityQueue, Object::Set, Object::Register];

fn parse(file: &Path, format: Option<Format>) -> History {
    let mut reader = open(file, &ReadOptions { format, ..ReadOptions::default() }).expect("the file is there");
    reader.next().expect("one history").expect("a good history")
}

fn decide(history: &History, options: &ObjectOptions) -> Verdict {
    check(&ObjectHistory::new(history).expect("calls and returns"), options).verdict
}

fn config(object: Object, threads: u32, operations: u32) -> ObjectConfig {
    let values = if object == Object::Set { operations / 100 + 1 } else { 0 };
    ObjectConfig { threads, operations, values, seed: 1, ..ObjectConfig::new(object) }
}

fn write(config: &ObjectConfig, file: &Path) {
    let mut writer = Writer::new(std::io::BufWriter::new(std::fs::File::create(file).expect("a file")), Format::Text);
    writer.write(&history(config)).expect("writing a temporary file");
    writer.finish().expect("writing a temporary file");
}

fn scale(operations: u32, folder: &Path) {
    let runs = if operations > 2_000_000 { 1 } else { 5 };
    let file = folder.join("run.hist");
    for object in OBJECTS {
        for (threads, fault) in [(4, None), (64, None), (4, Some(Fault::OutOfOrder(4)))] {
            let config = ObjectConfig { fault, faults: 100, ..config(object, threads, operations) };
            write(&config, &file);
            let parsed = parse(&file, Some(Format::Text));
            let verdict = if fault.is_none() { Verdict::Consistent } else { Verdict::Violation };
            let mut turns: [Box<dyn FnMut()>; 2] = [
                Box::new(|| drop(parse(&file, Some(Format::Text)))),
                Box::new(|| assert_eq!(decide(&parsed, &ObjectOptions::default()), verdict)),
            ];
            let times = in_turns(runs, &mut turns);
            let [parsing, time] = times[..] else { unreachable!("a time for each") };
            println!(
                "{operations} {:<9} {threads:>2} threads {:<10} parse {parsing:>8.2?}  check {time:>8.2?} = {:.2} \
                 parses",
                object.name(),
                verdict.name(),
                time.as_secs_f64() / parsing.as_secs_f64()
            );
        }
    }
}

/// Compares the check of ten times as many operations with the check of the operations.
fn growth(operations: u32, objects: &[Object], folder: &Path) {
    let file = folder.join("run.hist");
    for &object in objects {
        for (threads, fault) in [(4, None), (64, None), (4, Some(Fault::OutOfOrder(4)))] {
            let histories = [operations, 10 * operations].map(|operations| {
                let config = ObjectConfig { fault, faults: 100, ..config(object, threads, operations) };
                write(&config, &file);
                parse(&file, Some(Format::Text))
            });
            let mut turns = histories
                .each_ref()
                .map(|parsed| Box::new(move || _ = decide(parsed, &ObjectOptions::default())) as Box<dyn FnMut() + '_>);
            let times = in_turns(9, &mut turns);
            let [time, longer] = times[..] else { unreachable!("a time for each") };
            println!(
                "{:<9} {threads:>2} threads {:<10} check of {operations} {time:>8.2?}, of {} {longer:>8.2?} = {:.1} \
                 times",
                object.name(),
                if fault.is_none() { "consistent" } else { "violation" },
                10 * operations,
                longer.as_secs_f64() / time.as_secs_f64()
            );
        }
    }
}

/// Measures histories with values that repeat, or with pending removals: of `operations` operations, of twice and of
/// four times as many.
fn searches(operations: u32, folder: &Path) {
    let file = folder.join("run.hist");
    let limit = Duration::from_secs(30);
    for object in [Object::Queue, Object::Stack, Object::PriorityQueue] {
        for (what, values, pending) in [("values repeat", 100, 0), ("pending removals", 0, 10)] {
            let mut last: Option<Duration> = None;
            for operations in [operations, 2 * operations, 4 * operations] {
                write(
                    &ObjectConfig { threads: 4, operations, values, pending, seed: 1, ..ObjectConfig::new(object) },
                    &file,
                );
                let (parsing, ()) = least(3, || drop(parse(&file, Some(Format::Text))));
                let parsed = parse(&file, Some(Format::Text));
                let view = ObjectHistory::new(&parsed).expect("calls and returns");
                let (time, decision) = least(3, || {
                    let budget = Budget::default().timeout(limit);
                    check(&view, &ObjectOptions { budget, ..ObjectOptions::default() })
                });
                println!(
                    "{:<6} {what:<16} {operations:>7} operations: {} ({}) in {time:>8.2?} = {:.1} parses, {}",
                    object.name(),
                    decision.verdict.name(),
                    decision.strategy,
                    time.as_secs_f64() / parsing.as_secs_f64(),
                    last.map_or_else(String::new, |last| {
                        format!("{:.1} times the half", time.as_secs_f64() / last.as_secs_f64())
                    })
                );
                last = Some(time);
            }
        }
    }
}

/// Strings, swaps, many keys of which some are hard, and objects that count.
fn cliffs(folder: &Path) {
    let file = folder.join("run.hist");
    let limit = Duration::from_secs(30);
    let wrong = Some(Fault::OutOfOrder(4));
    let of = |object, threads, operations| ObjectConfig { threads, operations, seed: 1, ..ObjectConfig::new(object) };
    let keys = ObjectConfig { keys: 10, fault: wrong, faults: 20, ..of(Object::KeyValue, 50, 2100) };
    let cases = [
        ("one key", of(Object::KeyValue, 16, 1000)),
        ("ten keys, wrong", keys),
        ("ten keys, texts repeat, wrong", ObjectConfig { values: 20, ..keys }),
        ("swaps", ObjectConfig { swaps: 30, ..of(Object::Register, 16, 25_000) }),
        ("swaps, wrong", ObjectConfig { swaps: 30, fault: wrong, ..of(Object::Register, 16, 25_000) }),
        ("", of(Object::Counter, 16, 25_000)),
        ("amounts differ", ObjectConfig { values: 5, ..of(Object::Counter, 4, 1000) }),
        ("", of(Object::MaxRegister, 16, 25_000)),
    ];
    for (what, config) in cases {
        let mut last: Option<Duration> = None;
        for operations in [config.operations, 4 * config.operations] {
            write(&ObjectConfig { operations, ..config }, &file);
            let (parsing, ()) = least(5, || drop(parse(&file, Some(Format::Text))));
            let parsed = parse(&file, Some(Format::Text));
            let (time, decision) = least(5, || {
                let budget = Budget::default().timeout(limit);
                check(
                    &ObjectHistory::new(&parsed).expect("calls"),
                    &ObjectOptions { budget, ..ObjectOptions::default() },
                )
            });
            println!(
                "{:<12} {what:<29} {:>2} threads {operations:>6} operations: {} ({}) in {time:>8.2?} = {:.1} parses{}",
                config.object.name(),
                config.threads,
                decision.verdict.name(),
                decision.strategy,
                time.as_secs_f64() / parsing.as_secs_f64(),
                last.map_or_else(String::new, |last| {
                    format!(", {:.1} times the quarter", time.as_secs_f64() / last.as_secs_f64())
                })
            );
            last = Some(time);
        }
    }
}

/// Stacks and priority queues of many threads, whose values repeat or whose removals are pending, right and wrong.
fn many_threads(seconds: u32, folder: &Path) {
    let file = folder.join("run.hist");
    let repeats =
        |object, threads, operations, values| ObjectConfig { threads, operations, values, ..ObjectConfig::new(object) };
    let pending = |operations| ObjectConfig { pending: 5, ..repeats(Object::Stack, 16, operations, 0) };
    let wrong = |object| ObjectConfig { fault: Some(Fault::Lost), ..repeats(object, 16, 5_000, 10) };
    let rows = [
        pending(25_000),
        pending(100_000),
        repeats(Object::PriorityQueue, 32, 20_000, 10),
        wrong(Object::PriorityQueue),
        wrong(Object::Stack),
        repeats(Object::Stack, 8, 50_000, 10),
        repeats(Object::Stack, 8, 50_000, 2),
        repeats(Object::Stack, 32, 20_000, 10),
    ];
    for config in rows {
        write(&ObjectConfig { seed: 1, ..config }, &file);
        let (parsing, ()) = least(3, || drop(parse(&file, Some(Format::Text))));
        let parsed = parse(&file, Some(Format::Text));
        let view = ObjectHistory::new(&parsed).expect("calls and returns");
        let limit = Duration::from_secs(u64::from(seconds));
        let (time, decision) = least(1, || {
            let budget = Budget::default().timeout(limit);
            check(&view, &ObjectOptions { budget, ..ObjectOptions::default() })
        });
        let ObjectConfig { object, threads, operations, values, pending, fault, .. } = config;
        println!(
            "{:<6} {threads:>2} threads {operations:>6} operations, {values:>2} values, {pending} pending{}: {} ({}) \
             in {time:>8.2?} = {:.1} parses",
            object.name(),
            if fault.is_some() { ", wrong" } else { "" },
            decision.verdict.name(),
            decision.strategy,
            time.as_secs_f64() / parsing.as_secs_f64(),
        );
    }
}

/// Measures the memory of the history and of the check of one object, without the memory of the generator.
fn memory(operations: u32, object: Object, file: &Path) {
    let parsed = parse(file, Some(Format::Text));
    let before = ram::peak();
    assert_eq!(decide(&parsed, &ObjectOptions::default()), Verdict::Consistent);
    if let (Some(before), Some(after)) = (before, ram::peak()) {
        println!(
            "memory {:<9} {} bytes an operation, of which reading {}",
            object.name(),
            after / operations as usize,
            before / operations as usize
        );
    }
}

/// Compares the fast algorithm with the search. If the search is lucky, it takes few more steps than there are
/// operations. Then there is little to gain.
fn fast_against_search() {
    let seconds = 2;
    for object in OBJECTS {
        for (threads, fault) in [(4, None), (64, None), (4, Some(Fault::OutOfOrder(4)))] {
            let history = history(&ObjectConfig { fault, faults: 1, ..config(object, threads, 1000) });
            let mut verdict = Verdict::Unknown;
            let (fast, ()) = least(20, || verdict = decide(&history, &ObjectOptions::default()));
            print!("1000 {:<9} {threads:>2} threads: fast {fast:.2?} ({})", object.name(), verdict.name());
            let (time, slow) = least(1, || {
                let budget = Budget::default().timeout(Duration::from_secs(seconds));
                decide(&history, &ObjectOptions { algorithm: Algorithm::Search, budget, ..ObjectOptions::default() })
            });
            assert!(slow == Verdict::Unknown || slow == verdict);
            let more = if slow == Verdict::Unknown { "more than " } else { "" };
            let times = time.as_secs_f64() / fast.as_secs_f64();
            println!(", search {time:.2?} ({}) = {more}{times:.0} times", slow.name());
        }
    }
}

fn worst_cases() {
    let Some(folder) = std::env::var_os("SERIATIM_SHARED_DATA") else {
        println!("SERIATIM_SHARED_DATA is not set: no worst cases of other tools");
        return;
    };
    let folder = Path::new(&folder);
    let stacks = (0..5).map(|at| format!("violin/generated/my-sync-stack.{at}.log"));
    let logs = ["porcupine/kv/c10-ok.txt", "porcupine/kv/c10-bad.txt"].map(str::to_owned);
    for name in logs.into_iter().chain(stacks) {
        let file = folder.join(&name);
        let (parsing, ()) = least(20, || drop(parse(&file, None)));
        let parsed = parse(&file, None);
        let (time, ()) = least(20, || assert_ne!(decide(&parsed, &ObjectOptions::default()), Verdict::Unknown));
        println!(
            "{name}: parse {parsing:.2?}, check {time:.2?} = {:.2} parses",
            time.as_secs_f64() / parsing.as_secs_f64()
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number: Option<u32> = arguments.iter().find_map(|argument| argument.parse().ok());
    let operations = number.unwrap_or(1_000_000);
    // The memory of each object is measured in a process of its own.
    if let [flag, object, file, ..] = &arguments[..]
        && flag == "memory"
    {
        return memory(operations, Object::from_name(object).expect("an object"), Path::new(file));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let part = arguments.first().map_or("", String::as_str);
    if part == "search" {
        return searches(number.unwrap_or(5_000), folder.path());
    }
    if part == "cliffs" {
        return cliffs(folder.path());
    }
    if part == "threads" {
        return many_threads(number.unwrap_or(60), folder.path());
    }
    if part == "slow" {
        return fast_against_search();
    }
    if part == "growth" {
        let one: Vec<Object> = arguments.iter().filter_map(|name| Object::from_name(name)).collect();
        return growth(operations, if one.is_empty() { &OBJECTS } else { &one }, folder.path());
    }
    scale(operations, folder.path());
    for object in OBJECTS {
        let file = folder.path().join("memory.hist");
        write(&config(object, 64, operations), &file);
        let program = std::env::current_exe().expect("this program");
        let file = file.to_str().expect("a path in UTF-8");
        let arguments = ["memory", object.name(), file, &operations.to_string()];
        let status = std::process::Command::new(program).args(arguments).status().expect("this program runs again");
        assert!(status.success());
    }
    worst_cases();
    fast_against_search();
}
