//! How many instructions the main paths of the command take. Unlike times, instruction counts are the same from run to
//! run, and on a busy machine. Valgrind's callgrind counts them; it must be installed.
//!
//! - `cargo bench -p seriatim-cli --bench instructions`: each model on one history, compared with the parse of it;
//! - `… -- compare`: the main paths, compared with what is stored in `instructions.txt` beside this file. It fails if a
//!   path takes 10 percent more;
//! - `… -- accept REASON`: stores what the main paths take now. A path that takes more has the reason beside it.
//!
//! The functions of the C library that copy and compare memory differ between processors. Valgrind shows programs
//! nearly the same processor everywhere, so counts differ little; all the same, each count is stored for a processor
//! family. A family that is not stored is compared with the first that is, and then nothing fails.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use model::Model;

const OPERATIONS: u64 = 50_000;
/// How many operations the histories of the main paths have.
const GUARDED_OPERATIONS: &str = "20000";
/// A path may take so many percent more than what is stored.
const TOLERANCE: f64 = 10.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => by_model(),
        ["compare"] => return compare(),
        ["accept", reason] if !reason.trim().is_empty() => accept(reason),
        _ => {
            eprintln!("usage: instructions [compare | accept REASON]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Each model on one history.
fn by_model() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("valid.hist");
    let file = file.to_str().expect("a path that is text");
    let size = OPERATIONS.to_string();
    let generate = ["gen", "--threads", "16", "--operations", &size, "--locations", "64", "--seed", "1"];
    run(&[&generate[..], &["--order", "threads", "-o", file]].concat());
    // `models` starts the program and does nothing else; `verify` without certificates parses, and then complains.
    let empty = folder.path().join("none.jsonl");
    std::fs::write(&empty, "").expect("writing a temporary file");
    let start = instructions(&["models"]);
    let verify = ["verify", empty.to_str().expect("a path that is text"), file];
    let parse = count(&verify, |code| code > 1) - start;
    println!("parse {:>6} instructions an operation", parse / OPERATIONS);
    for model in Model::ALL {
        let all = instructions(&["check", "--quiet", "--jobs", "1", "--model", model.name(), file]);
        let check = all.saturating_sub(start + parse);
        println!(
            "{model:<5} {:>6} instructions an operation = {:.2} parses",
            check / OPERATIONS,
            check as f64 / parse as f64
        );
    }
}

/// Runs the command.
fn run(arguments: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_seriatim")).args(arguments).stdout(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.code().is_some_and(|code| code < 2)), "{arguments:?} failed");
}

/// How many instructions the command takes.
fn instructions(arguments: &[&str]) -> u64 {
    count(arguments, |code| code < 2)
}

/// How many instructions the command takes. It must end with a right exit code.
fn count(arguments: &[&str], is_right: impl FnOnce(i32) -> bool) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_seriatim"))
        .args(arguments)
        .output()
        .expect("valgrind must be installed");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(is_right), "{arguments:?} failed:\n{log}");
    let count = log.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    count.unwrap_or_else(|| panic!("valgrind did not count:\n{log}"))
}

/// The main paths: each is a name and the instructions that it takes.
fn main_paths() -> Vec<(String, u64)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path that is text").to_owned();
    let generate = |name: &str, flags: &[&str]| {
        let file = path(name);
        run(&[&["gen", "--operations", GUARDED_OPERATIONS, "--seed", "1", "-o", &file], flags].concat());
        file
    };
    let memory = ["--threads", "16", "--locations", "64", "--order", "threads"];
    let valid = generate("valid.hist", &memory);
    let stream = generate("stream.hist", &memory[..4]);
    let perturbed = generate("perturbed.hist", &[&memory[..], &["--perturb", "20"]].concat());
    let buffered = generate("buffered.hist", &[&memory[..], &["--model", "tso", "--rmws", "2"]].concat());
    let views = generate("views.hist", &[&memory[..], &["--model", "rc20", "--rmws", "5", "--fences", "2"]].concat());
    let hard = path("hard.hist");
    run(&["gen", "--model", "hard-5", "--copies", "200", "-o", &hard]);
    let serializable = generate("transactions.hist", &["--model", "serializable", "--threads", "16", "--rmws", "90"]);
    let queue = generate("queue.hist", &["--object", "queue"]);
    let stack = generate("stack.hist", &["--object", "stack"]);
    let register = generate("register.hist", &["--object", "register"]);
    let certificate = path("certificate.jsonl");
    let check =
        |model: &str, file: &str| ["check", "--quiet", "--jobs", "1", "--model", model, file].map(str::to_owned);
    run(&["check", "--quiet", "--jobs", "1", "--model", "sc", "--certificate", &certificate, &valid]);
    let mut paths: Vec<(String, Vec<String>)> = Vec::new();
    for (name, model, file) in [
        ("cc", "cc", &valid),
        ("ccv", "ccv", &valid),
        ("ccm", "ccm", &valid),
        ("wsc", "wsc", &valid),
        ("sc", "sc", &valid),
        ("sc, violation", "sc", &perturbed),
        ("sc, hard", "sc", &hard),
        ("tso", "tso", &buffered),
        ("pso", "pso", &buffered),
        ("ra", "ra", &valid),
        ("rc20", "rc20", &views),
        ("serializable", "serializable", &serializable),
        ("snapshot isolation", "si", &serializable),
        ("queue", "linearizable", &queue),
        ("stack", "linearizable", &stack),
        ("register", "linearizable", &register),
    ] {
        paths.push((name.to_owned(), check(model, file).to_vec()));
    }
    let monitored = |model: &str, file: &str| ["monitor", "--model", model, file].map(str::to_owned).to_vec();
    paths.push(("verify".to_owned(), vec!["verify".to_owned(), certificate, valid.clone()]));
    paths.push(("monitor ra".to_owned(), monitored("ra", &stream)));
    paths.push(("monitor queue".to_owned(), monitored("linearizable", &queue)));
    paths
        .into_iter()
        .map(|(name, arguments)| {
            let count = instructions(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
            (name, count)
        })
        .collect()
}

/// What is stored: by family and path, the instructions and the reason.
type Stored = BTreeMap<(String, String), (u64, String)>;

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.txt")
}

/// The lines of the file: family, path, instructions and reason, with tabs between them.
fn stored() -> Stored {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let mut stored = Stored::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [family, path, count, reason] = cells[..] else { panic!("a bad line: {line}") };
        assert!(!reason.trim().is_empty(), "a line without a reason: {line}");
        let count = count.parse().expect("a number of instructions");
        stored.insert((family.to_owned(), path.to_owned()), (count, reason.to_owned()));
    }
    stored
}

/// The family of this processor: vendor and number.
fn family() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let value = text.lines().find_map(|line| Some(line.strip_prefix(name)?.split_once(':')?.1.trim().to_owned()));
        value.unwrap_or_else(|| "unknown".to_owned())
    };
    format!("{} {} {}", std::env::consts::ARCH, field("vendor_id"), field("cpu family"))
}

fn compare() -> ExitCode {
    let stored = stored();
    let family = family();
    let Some(first) = stored.keys().next().map(|(family, _)| family.clone()) else {
        eprintln!("nothing is stored: run `cargo bench -p seriatim-cli --bench instructions -- accept REASON`");
        return ExitCode::FAILURE;
    };
    let is_known = stored.keys().any(|(it, _)| *it == family);
    let against = if is_known { &family } else { &first };
    println!("{family}, compared with {against}{}", if is_known { "" } else { "; not stored, so nothing fails" });
    let mut is_good = true;
    for (path, count) in main_paths() {
        let Some((before, _)) = stored.get(&(against.clone(), path.clone())) else {
            println!("{path:<20} {count:>12} instructions: NOT STORED");
            is_good &= !is_known;
            continue;
        };
        let growth = 100.0 * (count as f64 / *before as f64 - 1.0);
        let remark = match growth {
            _ if growth > TOLERANCE => "TOO MANY",
            _ if growth < -TOLERANCE => "fewer: accept it, so that it stays",
            _ => "",
        };
        is_good &= growth <= TOLERANCE || !is_known;
        println!("{path:<20} {count:>12} instructions, {growth:>+6.1}% {remark}");
    }
    if !is_good {
        eprintln!(
            "some paths take more than {TOLERANCE} percent more instructions than benches/instructions.txt \
             says. Mend them, or run `cargo bench -p seriatim-cli --bench instructions -- accept REASON`"
        );
    }
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn accept(reason: &str) {
    let mut stored = stored();
    let family = family();
    for (path, count) in main_paths() {
        let entry = stored.entry((family.clone(), path.clone())).or_insert_with(|| (count, reason.to_owned()));
        if count > entry.0 {
            reason.clone_into(&mut entry.1);
        }
        println!("{path:<20} {:>12} -> {count:>12} instructions", entry.0);
        entry.0 = count;
    }
    let mut text =
        "# Instructions of the main paths, by processor family: see instructions.rs. The last column says why\n\
                    # a path takes as many as it does since it last took more.\n"
            .to_owned();
    for ((family, path), (count, reason)) in stored {
        let _ = writeln!(text, "{family}\t{path}\t{count}\t{}", reason.replace(['\t', '\n'], " "));
    }
    std::fs::write(file(), text).expect("writing instructions.txt");
}
