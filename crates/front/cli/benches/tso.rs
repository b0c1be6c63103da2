//! Store buffers: `tso`, `pso` and `wccm` against the time to parse the same file, and a corpus of tiny histories.
//!
//! `cargo bench -p seriatim-cli --bench tso [-- scale|cliffs|sequential|corpus]`; without an argument, all four.
//! - `scale`: large histories of machines with store buffers, written thread by thread. Parsing is reading the text.
//!   The check includes the step from the history to the execution;
//! - `cliffs`: one model against another on the same histories, and one model on histories of growing length. The ratio
//!   should not grow with the number of chains: `pso` has a chain for each thread and location;
//! - `sequential`: `c20` against `tso` on histories half of whose operations are sequentially consistent. `c20` is
//!   rarely a question for the first tactics there, and `tso` mostly is;
//! - `corpus`: 100,000 histories of 40 operations on 4 threads, `seriatim check --model sc,tso` with two jobs, against
//!   the parse.
//!
//! Times of `scale` and `corpus` are the least of several runs.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::least;
use format::{Format, ReadOptions, Writer, open};
use history::Execution;
use memory::MemoryOptions;
use model::{Model, Verdict};
use workload::memory::{MemoryConfig, MemoryMachine, generate, history, thread_by_thread};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 3;

fn read(file: &Path) -> impl Iterator<Item = history::History> {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    open(file, &options).expect("the file was just written").map(|history| history.expect("a good history"))
}

fn execution(config: &MemoryConfig) -> Execution {
    Execution::from_history(&history(config, thread_by_thread(config))).expect("an execution")
}

fn scale() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("history.hist");
    let shape = |machine, operations, perturb| MemoryConfig {
        machine,
        threads: 16,
        operations,
        locations: 64,
        rmws: 2,
        fences: 2,
        perturb,
        seed: 1,
        ..MemoryConfig::default()
    };
    for (model, mut config) in [
        (Model::Tso, shape(MemoryMachine::Tso, 500_000, 0)),
        (Model::Tso, shape(MemoryMachine::Tso, 1_000_000, 0)),
        (Model::Tso, shape(MemoryMachine::Tso, 2_000_000, 0)),
        (Model::Tso, MemoryConfig { rmws: 0, fences: 0, ..shape(MemoryMachine::Tso, 1_000_000, 0) }),
        (Model::Tso, shape(MemoryMachine::Tso, 1_000_000, 1)),
        (Model::Tso, shape(MemoryMachine::Sc, 1_000_000, 0)),
        (Model::Pso, shape(MemoryMachine::Pso, 100_000, 0)),
        (Model::Wccm, shape(MemoryMachine::Tso, 100_000, 0)),
        (Model::Wccm, shape(MemoryMachine::Tso, 100_000, 1)),
    ] {
        // A perturbed read may still be allowed. The first seed with a violation is taken.
        let verdict =
            |config: &MemoryConfig| memory::check(model, &execution(config), &MemoryOptions::default()).verdict;
        while config.perturb > 0 && verdict(&config) == Verdict::Consistent {
            config.seed += 1;
        }
        let mut writer = Writer::new(Vec::new(), Format::Text);
        writer.write(&history(&config, thread_by_thread(&config))).expect("writing to memory");
        std::fs::write(&file, writer.finish().expect("writing to memory")).expect("writing a temporary file");
        let (parsing, parsed) = least(RUNS, || read(&file).next().expect("one history"));
        let (time, decision) = least(RUNS, || {
            let execution = Execution::from_history(&parsed).expect("an execution");
            memory::check(model, &execution, &MemoryOptions::default())
        });
        println!(
            "{model}: {:>7} operations of {:?}, {}% rmws, {}: parse {parsing:>8.2?}, check {time:>8.2?} = {:>5.1} \
             parses, {} by {}",
            config.operations,
            config.machine,
            config.rmws,
            if config.perturb > 0 { "perturbed" } else { "valid" },
            time.as_secs_f64() / parsing.as_secs_f64(),
            decision.verdict.name(),
            decision.strategy
        );
    }
}

/// Times in one run, in turns: each pair is a model and a shape, and the second is compared with the first.
fn cliffs() {
    let shape = |machine, threads, operations| MemoryConfig {
        machine,
        threads,
        operations,
        locations: 64,
        seed: 1,
        ..MemoryConfig::default()
    };
    for (what, pairs) in [
        ("pso against tso", [Model::Tso, Model::Pso].map(|model| (model, shape(MemoryMachine::Sc, 16, 125_000)))),
        ("pso against tso", [Model::Tso, Model::Pso].map(|model| (model, shape(MemoryMachine::Sc, 16, 500_000)))),
        ("pso against tso", [Model::Tso, Model::Pso].map(|model| (model, shape(MemoryMachine::Sc, 256, 100_000)))),
        (
            "the pso machine against an atomic memory",
            [MemoryMachine::Sc, MemoryMachine::Pso].map(|machine| (Model::Pso, shape(machine, 16, 131_072))),
        ),
        ("eight times as long", [125_000, 1_000_000].map(|length| (Model::Tso, shape(MemoryMachine::Sc, 16, length)))),
        ("eight times as long", [125_000, 1_000_000].map(|length| (Model::Tso, shape(MemoryMachine::Tso, 16, length)))),
    ] {
        let executions = pairs.map(|(model, config)| (model, execution(&config)));
        let mut runs = executions.each_ref().map(|(model, execution)| -> Box<dyn FnMut()> {
            Box::new(|| {
                let verdict = memory::check(*model, execution, &MemoryOptions::default()).verdict;
                assert_eq!(verdict, Verdict::Consistent, "{what}");
            })
        });
        let times = common::in_turns(RUNS, &mut runs);
        println!(
            "{what}, {} threads: {:>8.2?} and {:>8.2?}, ratio {:.2}",
            pairs[1].1.threads,
            times[0],
            times[1],
            times[1].as_secs_f64() / times[0].as_secs_f64()
        );
    }
}

/// `c20` against `tso` in one run, in turns, on executions with sequentially consistent operations.
fn sequential() {
    for operations in [10_000, 100_000] {
        for (machine, perturb) in [MemoryMachine::Sc, MemoryMachine::Tso, MemoryMachine::Pso, MemoryMachine::Rc20]
            .into_iter()
            .flat_map(|machine| [(machine, 0), (machine, 1), (machine, 5)])
        {
            let (threads, locations, sequential) = (8, 16, 50);
            let config = MemoryConfig {
                machine,
                threads,
                operations,
                locations,
                sequential,
                perturb,
                ..MemoryConfig::default()
            };
            let execution = execution(&config);
            let verdicts = std::cell::Cell::new([""; 2]);
            let mut runs = [Model::Tso, Model::C20].map(|model| -> Box<dyn FnMut()> {
                let (execution, verdicts) = (&execution, &verdicts);
                Box::new(move || {
                    let mut both = verdicts.get();
                    both[usize::from(model == Model::C20)] =
                        memory::check(model, execution, &MemoryOptions::default()).verdict.name();
                    verdicts.set(both);
                })
            });
            let times = common::in_turns(RUNS, &mut runs);
            let [tso, c20] = verdicts.get();
            println!(
                "{operations:>6} operations of {machine:?}, {perturb} perturbed: tso {tso} {:>8.2?}, \
                 c20 {c20} {:>8.2?}, \
                 ratio {:.2}",
                times[0],
                times[1],
                times[1].as_secs_f64() / times[0].as_secs_f64()
            );
        }
    }
}

fn corpus() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("corpus.hist");
    for (machine, by_thread) in
        [(MemoryMachine::Sc, false), (MemoryMachine::Sc, true), (MemoryMachine::Tso, false), (MemoryMachine::Tso, true)]
    {
        let mut writer = Writer::new(Vec::new(), Format::Text);
        for seed in 0..100_000 {
            let config = MemoryConfig { machine, operations: 40, seed, ..MemoryConfig::default() };
            let generated = if by_thread {
                history(&config, thread_by_thread(&config))
            } else {
                history(&config, generate(&config))
            };
            writer.write(&generated).expect("writing to memory");
        }
        std::fs::write(&file, writer.finish().expect("writing to memory")).expect("writing a temporary file");
        let (parsing, count) = least(RUNS, || read(&file).count());
        let (time, status) = least(RUNS, || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
            command.args(["check", "--quiet", "--jobs", "2", "--model", "sc,tso"]).arg(&file);
            command.stdout(Stdio::null()).status().expect("the command runs")
        });
        println!(
            "{count} histories of {machine:?}, {}: parse {parsing:>8.2?}, check {time:>8.2?} = {:>4.1} parses, \
             {status}",
            if by_thread { "by thread" } else { "as recorded" },
            time.as_secs_f64() / parsing.as_secs_f64(),
        );
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for (name, run) in [("scale", scale as fn()), ("cliffs", cliffs), ("sequential", sequential), ("corpus", corpus)] {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            println!("{name}");
            run();
        }
    }
}
