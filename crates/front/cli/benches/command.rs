//! The command as a process: how long it takes to start, and what a second worker saves.
//!
//! `cargo bench -p seriatim-cli --bench command`. All runs of a row take turns, and each time is the least of several
//! rounds.
//!
//! - The start: `check` on two lines, against `true`. It is the time of many runs, divided by their number.
//! - Workers: `check --jobs 2` against `--jobs 1`, on 20,000 files of a history each, and on one file of 100,000
//!   histories.

mod common;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use common::in_turns;

const STARTS: u32 = 200;
const ROUNDS: usize = 5;

const HISTORY: &str = "[0] w x 1\n[1] r x 1\n[0] w y 1\n[1] r y 1\n[2] r y 1\n[2] r x 1\n";

fn run(program: &str, arguments: &[&str], folder: &Path) {
    let status = Command::new(program).args(arguments).current_dir(folder).stdout(Stdio::null()).status();
    assert!(status.expect("the program is there").success(), "{program} {arguments:?}");
}

/// Measures two commands in turns, each run so often, and prints their times and the ratio of the first to the second.
fn compare(what: &str, times: u32, folder: &Path, first: (&str, &[&str]), second: (&str, &[&str])) {
    let mut runs = [first, second].map(|(program, arguments)| -> Box<dyn FnMut()> {
        Box::new(move || (0..times).for_each(|_| run(program, arguments, folder)))
    });
    let [one, other] = in_turns(ROUNDS, &mut runs)[..] else { unreachable!("a time for each") };
    let ratio = one.as_secs_f64() / other.as_secs_f64();
    println!("{what}: {:.2?} and {:.2?}, ratio {ratio:.2}", one / times, other / times);
}

fn main() {
    let seriatim = env!("CARGO_BIN_EXE_seriatim");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    fs::write(folder.join("two.txt"), "[0] w x 1\n[1] r x 1\n").expect("a temporary file");
    compare("start, against true", STARTS, folder, (seriatim, &["check", "two.txt"]), ("true", &[]));
    fs::create_dir(folder.join("files")).expect("a temporary folder");
    for number in 0..20_000 {
        fs::write(folder.join(format!("files/{number}.txt")), HISTORY).expect("a temporary file");
    }
    let mut file = BufWriter::new(File::create(folder.join("many.txt")).expect("a temporary file"));
    for _ in 0..100_000 {
        writeln!(file, "{HISTORY}---").expect("writing a temporary file");
    }
    file.flush().expect("writing a temporary file");
    for (what, input) in [("20,000 files", "files"), ("100,000 histories", "many.txt")] {
        let [one, two] = ["1", "2"].map(|jobs| ["check", "--jobs", jobs, input]);
        compare(&format!("{what}, jobs 1 against 2"), 1, folder, (seriatim, &one), (seriatim, &two));
    }
}
