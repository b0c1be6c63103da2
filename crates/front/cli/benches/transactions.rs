//! Measures the isolation levels, compared with the time to parse the same file.
//!
//! `cargo bench -p seriatim-cli --bench transactions [-- OPERATIONS]`: histories of simulated databases, 50 sessions,
//! transactions of 8 operations. Each time is the least of a few rounds, in which all measurements take turns.
//! Parsing is reading the text. Checking is everything after that: the sources of all reads, and the decision.
//! `-- hard` decides many smaller histories, 20 sessions of 100 transactions each, and prints the slowest.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{in_turns, least};
use format::{Format, ReadOptions, Writer, open};
use history::History;
use model::{Model, Verdict};
use seriatim::transaction::LevelChecker;
use workload::transactions::{Store, TransactionConfig, history};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 3;

fn parse(file: &Path) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut reader = open(file, &options).expect("the file was just written");
    reader.next().expect("one history").expect("a good history")
}

fn check(history: &History, model: Model) -> (Verdict, &'static str) {
    let checker = LevelChecker::new(history).expect("the sources are known");
    let decision = checker.check(model).expect("the level fits");
    (decision.verdict, decision.strategy)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "hard") {
        return hard();
    }
    let operations: u32 = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    let weak = [Model::ReadCommitted, Model::ReadAtomic, Model::Causal];
    let strong = [Model::SnapshotIsolation, Model::Serializable];
    let all = [Model::Prefix, Model::ParallelSnapshotIsolation, Model::SnapshotIsolation, Model::Serializable];
    let base = TransactionConfig {
        operations,
        sessions: 50,
        length: 8,
        keys: 1000,
        untimed: true,
        seed: 1,
        ..TransactionConfig::default()
    };
    let small = TransactionConfig { operations: operations / 10, ..base };
    let violating = |config: TransactionConfig| TransactionConfig { perturb: 1 + config.operations / 1000, ..config };
    let rows: Vec<(&str, TransactionConfig, &[Model])> = vec![
        ("registers, causal store", TransactionConfig { store: Store::Causal, ..base }, &weak),
        ("registers, serializable store", base, &weak),
        ("registers, some reads perturbed", violating(base), &weak),
        ("lists", TransactionConfig { lists: true, ..base }, &strong),
        ("lists, some reads perturbed", violating(TransactionConfig { lists: true, ..base }), &strong),
        ("read-modify-writes", TransactionConfig { rmws: 100, ..base }, &strong),
        ("read-modify-writes, some reads perturbed", violating(TransactionConfig { rmws: 100, ..base }), &strong),
        ("blind writes", small, &all),
        (
            "blind writes, snapshot isolation store",
            TransactionConfig { store: Store::SnapshotIsolation, ..small },
            &all,
        ),
        ("blind writes, some reads perturbed", violating(small), &all),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (number, (name, config, models)) in rows.into_iter().enumerate() {
        let mut writer = Writer::new(Vec::new(), Format::Text);
        writer.write(&history(&config)).expect("writing to memory");
        let file = folder.path().join(format!("{number}.hist"));
        std::fs::write(&file, writer.finish().expect("writing to memory")).expect("writing a temporary file");
        let parsed = parse(&file);
        let mut runs: Vec<Box<dyn FnMut() + '_>> = vec![Box::new(|| drop(parse(&file)))];
        runs.extend(models.iter().map(|&model| {
            let parsed = &parsed;
            let run: Box<dyn FnMut() + '_> = Box::new(move || {
                std::hint::black_box(check(parsed, model));
            });
            run
        }));
        let times = in_turns(ROUNDS, &mut runs);
        println!("{name}, {} operations: parse {:.2?}", parsed.operations().len(), times[0]);
        for (model, time) in models.iter().zip(&times[1..]) {
            let (verdict, strategy) = check(&parsed, *model);
            let ratio = time.as_secs_f64() / times[0].as_secs_f64();
            println!("  {model:<28} {time:>9.2?} = {ratio:.2} parses  {} by {strategy}", verdict.name());
        }
    }
}

/// Many instances of 20 sessions with 100 transactions each: how long the slowest takes.
fn hard() {
    let models = [Model::Prefix, Model::ParallelSnapshotIsolation, Model::SnapshotIsolation, Model::Serializable];
    let mut slowest: Vec<(Duration, String)> = vec![(Duration::ZERO, String::new()); models.len()];
    for seed in 0..40 {
        for keys in [4, 20, 100, 1000] {
            for store in [Store::Serializable, Store::SnapshotIsolation, Store::Causal] {
                let (operations, length) = (16_000, 8);
                let perturb = (seed % 4) as u32;
                let base = TransactionConfig {
                    operations,
                    sessions: 20,
                    length,
                    keys,
                    untimed: true,
                    ..TransactionConfig::default()
                };
                let parsed = history(&TransactionConfig { store, perturb, seed, ..base });
                for (model, slowest) in models.iter().zip(&mut slowest) {
                    let (time, (verdict, strategy)) = least(1, || check(&parsed, *model));
                    if time > slowest.0 {
                        let what = format!("{} by {strategy}: {} keys, {}", verdict.name(), keys, store.name());
                        *slowest = (time, format!("{what}, {perturb} perturbed, seed {seed}"));
                    }
                }
            }
        }
    }
    for (model, (time, what)) in models.iter().zip(&slowest) {
        println!("{model:<28} {time:>9.2?}  {what}");
    }
}
