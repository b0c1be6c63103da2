//! The causal family against the time to parse the same file.
//!
//! `cargo bench -p seriatim --bench causal [-- OPERATIONS]`: valid histories, 16 threads, 64 locations, half writes, written thread by
//! thread. Each time is the least of several runs, checks include the view of the history as an execution, and the growth
//! is that of each doubling of the operations.

use std::path::Path;
use std::time::{Duration, Instant};

use certificate::Model;
use history::format::{Format, ReadOptions, Writer, open};
use history::{Execution, History};
use memory::Options;
use workload::memory::{Config, history, thread_by_thread};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 5;

fn least(mut run: impl FnMut()) -> Duration {
    (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .min()
        .expect("there is at least one run")
}

fn parse(file: &Path) -> History {
    let options = ReadOptions { format: Some(Format::Text), object: None };
    let mut reader = open(file, &options).expect("the file was just written");
    reader.next().expect("one history").expect("a good history")
}

fn main() {
    let largest = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut before: Vec<Duration> = Vec::new();
    for operations in [largest / 4, largest / 2, largest] {
        let config = Config { threads: 16, operations, locations: 64, seed: 1, ..Config::default() };
        let mut writer = Writer::new(Vec::new(), Format::Text);
        writer.write(&history(&config, thread_by_thread(&config))).expect("writing to memory");
        let text = writer.finish().expect("writing to memory");
        let file = folder.path().join("histories.hist");
        std::fs::write(&file, &text).expect("writing a temporary file");

        let parsing = least(|| drop(parse(&file)));
        let parsed = parse(&file);
        println!("{operations} operations, {} bytes: parse {parsing:.2?}", text.len());
        let mut times = Vec::new();
        for model in Model::ALL {
            let time = least(|| {
                let execution = Execution::from_history(&parsed).expect("an execution");
                let decision = memory::check(model, &execution, &Options::default());
                assert_eq!(decision.verdict, certificate::Verdict::Consistent);
            });
            let growth = before.get(times.len()).map_or_else(String::new, |before| {
                format!(", {:.2} times the half", time.as_secs_f64() / before.as_secs_f64())
            });
            println!("  {model:<4} {time:>9.2?} = {:.2} parses{growth}", time.as_secs_f64() / parsing.as_secs_f64());
            times.push(time);
        }
        before = times;
    }
}
