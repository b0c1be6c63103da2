//! Measures the causal models, compared with the time to parse the same file.
//!
//! `cargo bench -p seriatim-cli --bench causal [-- OPERATIONS] [MODEL ...]`: valid histories, 16 threads, 64 locations,
//! half writes, written thread by thread. Each time is the least of several rounds, in which all measurements take
//! turns. Growth is the factor by which the time grows when the number of operations doubles.
//!
//! Parsing is reading the text. Checking is everything after that: the view of the history as an execution, reads-from,
//! and the decision.

mod common;

use std::path::Path;
use std::time::Duration;

use common::in_turns;
use format::{Format, ReadOptions, Writer, open};
use history::{Execution, History};
use memory::MemoryOptions;
use model::Model;
use workload::memory::{MemoryConfig, history, thread_by_thread};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 15;

fn parse(file: &Path) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut reader = open(file, &options).expect("the file was just written");
    reader.next().expect("one history").expect("a good history")
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let largest = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    let named: Vec<Model> =
        Model::ALL.into_iter().filter(|model| arguments.iter().any(|argument| argument == model.name())).collect();
    let models = if named.is_empty() { vec![Model::Cc, Model::Ccv, Model::Cm, Model::Ccm] } else { named };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sizes = [largest / 4, largest / 2, largest];
    let files = sizes.map(|operations| {
        let config = MemoryConfig { threads: 16, operations, locations: 64, seed: 1, ..MemoryConfig::default() };
        let mut writer = Writer::new(Vec::new(), Format::Text);
        writer.write(&history(&config, thread_by_thread(&config))).expect("writing to memory");
        let file = folder.path().join(format!("{operations}.hist"));
        std::fs::write(&file, writer.finish().expect("writing to memory")).expect("writing a temporary file");
        file
    });
    let histories = files.each_ref().map(|file| parse(file));

    let mut runs: Vec<Box<dyn FnMut()>> = Vec::new();
    for (file, parsed) in files.iter().zip(&histories) {
        let view = || Execution::from_history(parsed).expect("an execution");
        runs.push(Box::new(|| drop(parse(file))));
        runs.push(Box::new(move || drop(view())));
        for &model in &models {
            runs.push(Box::new(move || {
                let decision = memory::check(model, &view(), &MemoryOptions::default());
                assert_eq!(decision.verdict, model::Verdict::Consistent);
            }));
        }
    }
    let times = in_turns(ROUNDS, &mut runs);
    let mut before: &[Duration] = &[];
    for (operations, times) in sizes.into_iter().zip(times.chunks(models.len() + 2)) {
        let [parsing, viewing, times @ ..] = times else { unreachable!("a time for each run") };
        println!("{operations} operations: parse {parsing:.2?}; view {viewing:.2?}");
        for (at, (model, time)) in models.iter().zip(times).enumerate() {
            let growth = before.get(at).map_or_else(String::new, |before| {
                format!(", {:.2} times the half", time.as_secs_f64() / before.as_secs_f64())
            });
            let ratio = time.as_secs_f64() / parsing.as_secs_f64();
            println!("  {model:<4} {time:>9.2?} = {ratio:.2} parses{growth}");
        }
        before = times;
    }
}
