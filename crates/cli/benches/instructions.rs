//! How many instructions each model takes per operation, compared with those to parse the same file.
//!
//! `cargo bench -p seriatim-cli --bench instructions`. Unlike times, instruction counts are the same from run to run,
//! and on a busy machine. So a change of a few percent is real. Valgrind's callgrind counts them; it must be installed.

use std::process::Command;

use certificate::Model;

const OPERATIONS: u64 = 50_000;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("valid.hist");
    let file = file.to_str().expect("a path that is text");
    let generate = ["gen", "--threads", "16", "--operations", &OPERATIONS.to_string(), "--locations", "64"];
    let made = Command::new(env!("CARGO_BIN_EXE_seriatim"))
        .args(generate)
        .args(["--seed", "1", "--order", "threads", "-o", file])
        .status();
    assert!(made.is_ok_and(|status| status.success()), "the history could not be generated");

    // `models` starts the program and does nothing else; `verify` without certificates parses and does nothing else.
    let empty = folder.path().join("none.jsonl");
    std::fs::write(&empty, "").expect("writing a temporary file");
    let start = instructions(&["models"]);
    let parse = instructions(&["verify", empty.to_str().expect("a path that is text"), file]) - start;
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

fn instructions(arguments: &[&str]) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_seriatim"))
        .args(arguments)
        .output()
        .expect("valgrind must be installed");
    let log = String::from_utf8_lossy(&output.stderr);
    let count = log.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    count.unwrap_or_else(|| panic!("valgrind did not count:\n{log}"))
}
