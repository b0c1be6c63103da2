//! Sequential consistency: against the time to parse the same file, and every strategy against the others.
//!
//! `cargo bench -p seriatim-cli --bench sc [-- scale|hard|small]`; without an argument, all three.
//! - `scale`: large histories of an atomic memory, written thread by thread (so that the recorded order is no help) and
//!   once as recorded. Parsing is reading the text. To find out which write each read is from is part of the check;
//! - `hard`: 200 and more copies of the shapes that saturation does not decide, over 4,000 operations each;
//! - `small`: 16 threads of 50 operations on 8 locations, `auto` against the other strategies.
//!
//! Times of `scale` and `small` are the least of several runs. If a run is not decided within the limit, the limit
//! counts as its time.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::least;
use format::{Format, ReadOptions, Writer, open};
use history::{Execution, History};
use memory::{ExecutionChecker, MemoryOptions, Strategy};
use model::{Model, Verdict};
use workload::hard::{self, HardShape};
use workload::memory::{MemoryConfig, execution, generate, history, thread_by_thread};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 3;
/// The most time for one history and strategy of `small`.
const LIMIT: Duration = Duration::from_secs(1);
/// How often each history of `small` is decided.
const SMALL_RUNS: usize = 7;
/// How many histories `small` decides.
const HISTORIES: u64 = 20;

const STRATEGIES: [&str; 2] = ["auto", "search"];

fn parse(file: &Path) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut reader = open(file, &options).expect("the file was just written");
    reader.next().expect("one history").expect("a good history")
}

fn scale() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("history.hist");
    let shape = |threads, operations, perturb| MemoryConfig {
        threads,
        operations,
        locations: 64,
        perturb,
        seed: 1,
        ..MemoryConfig::default()
    };
    // One perturbed read is often no violation if there are many threads. With these seeds it is one.
    let perturbed = |threads, operations, seed| MemoryConfig { seed, ..shape(threads, operations, 1) };
    for (config, by_thread) in [
        (shape(16, 500_000, 0), true),
        (shape(16, 1_000_000, 0), true),
        (shape(16, 2_000_000, 0), true),
        (perturbed(16, 1_000_000, 1), true),
        (shape(16, 1_000_000, 0), false),
        (shape(64, 640_000, 0), true),
        (perturbed(64, 640_000, 18), true),
        (shape(4, 4_000_000, 0), true),
        (perturbed(4, 4_000_000, 1), true),
    ] {
        let mut writer = Writer::new(Vec::new(), Format::Text);
        let generated =
            if by_thread { history(&config, thread_by_thread(&config)) } else { history(&config, generate(&config)) };
        writer.write(&generated).expect("writing to memory");
        drop(generated);
        std::fs::write(&file, writer.finish().expect("writing to memory")).expect("writing a temporary file");
        let (parsing, parsed) = least(RUNS, || parse(&file));
        let (time, (view, decision)) = least(RUNS, || {
            let start = Instant::now();
            let execution = Execution::from_history(&parsed).expect("an execution");
            (start.elapsed(), memory::check(Model::Sc, &execution, &MemoryOptions::default()))
        });
        println!(
            "{:>7} operations, {:>2} threads, {}, {}: parse {parsing:>8.2?}, check {time:>8.2?} (reads-from \
             {view:>8.2?}) = {:>5.1} \
             parses, {} by {}",
            config.operations,
            config.threads,
            if by_thread { "by thread" } else { "recorded " },
            if config.perturb > 0 { "perturbed" } else { "valid    " },
            time.as_secs_f64() / parsing.as_secs_f64(),
            decision.verdict.name(),
            decision.strategy
        );
    }
}

fn hard_shapes() {
    for shape in [HardShape::OneGuess, HardShape::LongConflict, HardShape::TwoGuesses] {
        for (side_by_side, violating) in [(false, false), (false, true), (true, false), (true, true)] {
            // Copies of one guess are small.
            let copies = if shape == HardShape::OneGuess { 500 } else { 200 };
            let config = hard::HardConfig { shape, copies, side_by_side, violating };
            let execution = Execution::from_history(&hard::history(&config)).expect("an execution");
            let (time, verdict) = decide(&execution, "auto", Duration::from_secs(60));
            println!(
                "{shape:?}, {copies} copies, {}, {}: {} operations, {} threads: {} in {time:.2?}",
                if side_by_side { "side by side" } else { "in sequence" },
                if violating { "violating" } else { "valid" },
                execution.len(),
                execution.thread_count(),
                verdict.name()
            );
        }
    }
}

fn decide(execution: &Execution, strategy: &str, limit: Duration) -> (Duration, Verdict) {
    let start = Instant::now();
    let budget = memory::Budget::default().timeout(limit);
    let mut checker = ExecutionChecker::new(execution, &MemoryOptions { budget, ..MemoryOptions::default() });
    checker.set_strategy(Strategy::from_name(strategy).expect("a strategy"));
    let verdict = checker.check(Model::Sc).verdict;
    // If the history is not decided, the limit counts as the time, even if the strategy gives up at once.
    let least = if verdict == Verdict::Unknown { limit } else { Duration::ZERO };
    (start.elapsed().max(least), verdict)
}

/// Valid histories.
fn histories(threads: u32, operations: u32) -> Vec<Execution> {
    let config = |seed| MemoryConfig { threads, operations, locations: 8, seed, ..MemoryConfig::default() };
    (0..HISTORIES)
        .map(|seed| {
            // Thread by thread, so that the recorded order is no help.
            let config = config(seed);
            Execution::from_history(&history(&config, thread_by_thread(&config))).expect("an execution")
        })
        .collect()
}

/// The least time of several runs. There is only one run if it takes long.
fn decide_often(execution: &Execution, strategy: &str) -> (Duration, bool) {
    let (mut best, verdict) = decide(execution, strategy, LIMIT);
    if best < LIMIT / 10 {
        for _ in 1..SMALL_RUNS {
            best = best.min(decide(execution, strategy, LIMIT).0);
        }
    }
    (best, verdict != Verdict::Unknown)
}

fn small() {
    let executions = histories(16, 800);
    println!("valid, 16 threads x 50, 8 locations: {HISTORIES} histories, for each the least of {SMALL_RUNS} runs");
    // The strategies take turns, so that none of them has the machine in a better state.
    let mut sums = [(0.0, 0); STRATEGIES.len()];
    for execution in &executions {
        for (strategy, (sum, decided)) in STRATEGIES.into_iter().zip(&mut sums) {
            let (time, complete) = decide_often(execution, strategy);
            *sum += time.as_secs_f64();
            *decided += u32::from(complete);
        }
    }
    for (strategy, (sum, decided)) in STRATEGIES.iter().zip(sums) {
        println!("{strategy:>12}: {:>10.3} ms a history, {decided} decided", sum * 1e3 / HISTORIES as f64);
    }
    let sums = sums.map(|(sum, _)| sum);
    let of = |wanted| STRATEGIES.iter().zip(&sums).filter(|&(&s, _)| s == wanted).map(|(_, &sum)| sum).sum::<f64>();
    let auto = of("auto");
    let others = STRATEGIES.iter().zip(&sums).filter(|&(&s, _)| s != "auto");
    let (best, least) = others.min_by(|a, b| a.1.total_cmp(b.1)).expect("there are other strategies");
    println!("auto takes {:.2} times the best other strategy, {}", auto / least, best);
}

fn main() {
    // The first use of memory is not to be measured.
    drop(execution(&MemoryConfig { operations: 10_000, ..MemoryConfig::default() }));
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for (name, run) in [("scale", scale as fn()), ("hard", hard_shapes), ("small", small)] {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            println!("{name}");
            run();
        }
    }
}
