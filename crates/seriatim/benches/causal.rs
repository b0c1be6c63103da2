//! The causal family against the time to parse the same file.
//!
//! `cargo bench -p seriatim --bench causal [-- OPERATIONS]`: valid histories, 16 threads, 64 locations, half writes, written thread by
//! thread. Each time is the least of several runs; growth is that of each doubling of the operations.
//!
//! To parse is to come from the file to the execution: the text first, then who reads from whom, since a value that was written
//! twice is an error of the input. Both are printed, and the ratio to the text alone, with reads-from on the side of
//! the check, stands in brackets.

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

        let text_time = least(|| drop(parse(&file)));
        let parsed = parse(&file);
        let view_time = least(|| drop(Execution::from_history(&parsed).expect("an execution")));
        let parsing = text_time + view_time;
        println!(
            "{operations} operations, {} bytes: parse {parsing:.2?} (text {text_time:.2?}, reads-from {view_time:.2?})",
            text.len()
        );
        let execution = Execution::from_history(&parsed).expect("an execution");
        let mut times = Vec::new();
        for model in Model::ALL {
            let time = least(|| {
                let decision = memory::check(model, &execution, &Options::default());
                assert_eq!(decision.verdict, certificate::Verdict::Consistent);
            });
            let growth = before.get(times.len()).map_or_else(String::new, |before| {
                format!(", {:.2} times the half", time.as_secs_f64() / before.as_secs_f64())
            });
            let ratio = time.as_secs_f64() / parsing.as_secs_f64();
            let strict = (time + view_time).as_secs_f64() / text_time.as_secs_f64();
            println!("  {model:<4} {time:>9.2?} = {ratio:.2} parses [{strict:.2}]{growth}");
            times.push(time);
        }
        before = times;
    }
}
