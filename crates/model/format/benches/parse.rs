//! The time to parse a file, as a multiple of the time of `wc -l` on the same file. Run it with `cargo bench -p
//! seriatim-format --bench parse [ROW...]`.
//!
//! Each row makes a file of about 100 MB, from a simulated memory or object. The file is read as a whole, as `check`
//! does, and event by event, as `monitor` does. The best of several runs counts. The first row is `memory`. The last
//! row is the same history as JSON Lines.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use format::stream::Stream;
use format::{Format, ReadOptions, Writer, open};
use history::{History, Object};
use workload::memory::{self, MemoryMachine};
use workload::object;

/// The allocator of the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 7;

fn of_memory(machine: MemoryMachine, operations: u32, locations: u32) -> History {
    let (rmws, fences) = if machine == MemoryMachine::Sc { (0, 0) } else { (20, 5) };
    let config =
        memory::MemoryConfig { machine, threads: 16, operations, locations, rmws, fences, ..Default::default() };
    memory::history(&config, memory::generate(&config))
}

fn of_object(object: Object, operations: u32) -> object::ObjectConfig {
    object::ObjectConfig { threads: 16, operations, ..object::ObjectConfig::new(object) }
}

/// The history of a row; none for a row that is not known.
fn history(row: &str) -> Option<History> {
    let config = match row {
        "memory" => return Some(of_memory(MemoryMachine::Sc, 6_000_000, 64)),
        "jsonl" => return Some(of_memory(MemoryMachine::Sc, 2_000_000, 64)),
        // Memory orders, read-modify-writes and fences.
        "rc20" => return Some(of_memory(MemoryMachine::Rc20, 4_500_000, 1000)),
        "queue" => of_object(Object::Queue, 2_800_000),
        "stack" => of_object(Object::Stack, 3_000_000),
        "pqueue" => of_object(Object::PriorityQueue, 2_500_000),
        "set" => object::ObjectConfig { values: 1000, ..of_object(Object::Set, 3_000_000) },
        "register" => of_object(Object::Register, 3_000_000),
        "swaps" => object::ObjectConfig { swaps: 30, ..of_object(Object::Register, 3_000_000) },
        "mutex" => of_object(Object::Mutex, 3_700_000),
        "exchanger" => of_object(Object::Exchanger, 2_500_000),
        // Many objects, and calls that never return.
        "queues" => object::ObjectConfig { keys: 100, pending: 1, ..of_object(Object::Queue, 2_200_000) },
        // Removals that find nothing.
        "empty" => object::ObjectConfig { inserts: 33, ..of_object(Object::Queue, 2_800_000) },
        _ => return None,
    };
    Some(object::history(&config))
}

const ROWS: [&str; 13] = [
    "memory",
    "rc20",
    "queue",
    "stack",
    "pqueue",
    "set",
    "register",
    "swaps",
    "mutex",
    "exchanger",
    "queues",
    "empty",
    "jsonl",
];

fn least(mut run: impl FnMut()) -> Duration {
    let time = |()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    std::iter::repeat_n((), RUNS).map(time).min().expect("at least one run")
}

/// Reads event by event.
fn stream(bytes: &[u8], format: Format) {
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    let mut stream = Stream::new(&options).expect("text and JSON Lines are streamed");
    let mut lines = bytes;
    while let Some(item) = &stream.next(&mut lines) {
        std::hint::black_box(item.as_ref().expect("valid"));
    }
}

fn compare(row: &str, path: &Path, bytes: &[u8], format: Format) {
    let lines = memchr::memchr_iter(b'\n', bytes).count();
    let count = least(|| {
        let status = Command::new("wc").arg("-l").arg(path).stdout(Stdio::null()).status();
        assert!(status.expect("wc is installed").success());
    });
    let mut parse = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        let histories: Vec<_> = open(path, &ReadOptions::default()).expect("a file").collect();
        parse = parse.min(start.elapsed());
        assert!(histories.iter().all(Result::is_ok));
    }
    let streamed = least(|| stream(bytes, format));
    let each = |time: Duration| time.as_secs_f64() * 1e9 / lines as f64;
    let times = |time: Duration| time.as_secs_f64() / count.as_secs_f64();
    println!(
        "{row:<9} {} MB: wc -l {:>4.1} ms; parse {:>5.1} ns a line = {:.1} times (limit {}); \
         event by event {:>5.1} ns = {:.1} times",
        bytes.len() / 1_000_000,
        count.as_secs_f64() * 1e3,
        each(parse),
        times(parse),
        if format == Format::Text { 12 } else { 40 },
        each(streamed),
        times(streamed),
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    for row in ROWS.into_iter().filter(|row| wanted.is_empty() || wanted.iter().any(|wanted| wanted == row)) {
        let format = if row == "jsonl" { Format::JsonLines } else { Format::Text };
        let path = folder.path().join(if row == "jsonl" { "row.jsonl" } else { "row.hist" });
        let mut writer = Writer::new(Vec::new(), format);
        writer.write(&history(row).expect("a row")).expect("memory");
        let bytes = writer.finish().expect("memory");
        // Piece by piece, as a program that records writes it: how a file was written decides how fast it is read.
        let mut file = File::create(&path).expect("a temporary file");
        bytes.chunks(8192).for_each(|piece| file.write_all(piece).expect("room on the disk"));
        compare(row, &path, &bytes, format);
    }
}
