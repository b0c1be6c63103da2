//! How long parsing takes, as a multiple of what `wc -l` takes on the same file. `cargo bench -p history --bench parse
//! [text|jsonl]`.
//!
//! A file of about 100 MB is made per format, the same memory history in each; both are timed on it in turn, and the
//! best of several runs counts.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use history::format::{ReadOptions, open};

const RUNS: usize = 7;
const TEXT_LINES: u64 = 6_000_000;
const JSON_LINES: u64 = 2_000_000;

/// A xorshift generator: the file is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Random reads and writes of 16 threads on 64 locations, unique values written.
fn generate(path: &Path, lines: u64, line: impl Fn(&mut dyn Write, u64, bool, u64, u64)) {
    let mut out = BufWriter::new(File::create(path).expect("a temporary file"));
    let mut random = Random(1);
    let mut memory = [0; 64];
    for value in 1..=lines {
        let (thread, is_write, location) = (random.below(16), random.below(2) == 0, random.below(64));
        if is_write {
            memory[location as usize] = value;
        }
        line(&mut out, thread, is_write, location, memory[location as usize]);
    }
    out.flush().expect("room on the disk");
}

fn best(mut run: impl FnMut()) -> Duration {
    let time = |()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    std::iter::repeat_n((), RUNS).map(time).min().expect("at least one run")
}

fn compare(path: &Path, limit: f64) {
    let size = path.metadata().expect("it was just written").len();
    let count = best(|| {
        let status = Command::new("wc").arg("-l").arg(path).stdout(Stdio::null()).status();
        assert!(status.expect("wc is installed").success());
    });
    let mut operations = 0;
    let mut parse = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        let histories: Vec<_> = open(path, &ReadOptions::default()).expect("a file").collect();
        parse = parse.min(start.elapsed());
        operations = histories.iter().map(|history| history.as_ref().expect("valid").operations.len()).sum();
    }
    println!(
        "{}: {} MB, {operations} operations: wc -l {:.1} ms, parse {:.1} ms ({:.0} ns an operation): {:.1} times (limit {limit})",
        path.extension().unwrap_or_default().to_string_lossy(),
        size / 1_000_000,
        count.as_secs_f64() * 1e3,
        parse.as_secs_f64() * 1e3,
        parse.as_secs_f64() * 1e9 / f64::from(u32::try_from(operations).expect("few")),
        parse.as_secs_f64() / count.as_secs_f64(),
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let folder = tempfile::tempdir().expect("a temporary folder");
    if is_wanted("text") {
        let path = folder.path().join("memory.hist");
        generate(&path, TEXT_LINES, |out, thread, is_write, location, value| {
            let method = if is_write { 'w' } else { 'r' };
            writeln!(out, "[{thread}] {method} x{location} {value}").expect("room on the disk");
        });
        compare(&path, 12.0);
    }
    if is_wanted("jsonl") {
        let path = folder.path().join("memory.jsonl");
        generate(&path, JSON_LINES, |out, thread, is_write, location, value| {
            let method = if is_write { 'w' } else { 'r' };
            writeln!(out, "{{\"process\":{thread},\"f\":\"{method}\",\"key\":\"x{location}\",\"value\":{value}}}")
                .expect("room on the disk");
        });
        compare(&path, 40.0);
    }
}
