//! The tutorials are true, and so are some guides: their commands run, and print what is shown.
//!
//! In a page, a block after a comment `<!-- file: NAME -->` is the content of a file. In a block of
//! `console`, a line `$ …` is a command for `bash`. What stands below it is what it prints, standard error included.
//! A line `…` stands for any number of lines. The commands of a page run one after the other, in one folder, which has
//! the folders `examples` and `testing` of the repository.

use crate::common;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::Files;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs")
}

/// A piece of a page.
enum Step {
    File(String, String),
    Command(String, Vec<String>),
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = text.lines();
    let mut file = None;
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("<!-- file: ") {
            file = Some(name.trim_end_matches(" -->").to_owned());
        }
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(name) = file.take() {
            steps.push(Step::File(name, block.join("\n") + "\n"));
        } else if kind == "console" {
            for line in block {
                match (line.strip_prefix("$ "), steps.last_mut()) {
                    (Some(command), _) => steps.push(Step::Command(command.to_owned(), Vec::new())),
                    (None, Some(Step::Command(_, shown))) => shown.push(line.to_owned()),
                    (None, _) => panic!("a block of `console` begins with a command: {line}"),
                }
            }
        }
    }
    steps
}

/// Whether the lines are those that are shown.
fn is_shown(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.trim() == "…" => (0..=printed.len()).any(|at| is_shown(rest, &printed[at..])),
        Some((first, rest)) => printed.first() == Some(&first.as_str()) && is_shown(rest, &printed[1..]),
    }
}

fn run(page: &str) {
    let path = folder().join(page);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let files = Files::new();
    for name in ["examples", "testing"] {
        std::os::unix::fs::symlink(folder().join("..").join(name).canonicalize().unwrap(), files.path(name)).unwrap();
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_seriatim")).parent().unwrap();
    let search = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let steps = steps(&text);
    assert!(steps.iter().any(|step| matches!(step, Step::Command(..))), "{page} has no command");
    for step in steps {
        match step {
            Step::File(name, content) => _ = files.write(&name, content),
            Step::Command(command, shown) => {
                let output = Command::new("bash")
                    .args(["-c", &format!("exec 2>&1; {command}")])
                    .current_dir(files.path(""))
                    .env("PATH", &search)
                    .env_remove("CLICOLOR_FORCE")
                    .output()
                    .unwrap();
                let printed = String::from_utf8(output.stdout).unwrap();
                let lines: Vec<&str> = printed.lines().collect();
                assert!(
                    is_shown(&shown, &lines),
                    "{page}: $ {command}\nprints:\n{printed}\nand not:\n{}",
                    shown.join("\n")
                );
            }
        }
    }
}

#[test]
fn jepsen() {
    run("tutorials/jepsen.md");
}

#[test]
fn hardware() {
    run("tutorials/hardware.md");
}

#[test]
fn lock_free() {
    run("tutorials/lock-free.md");
}

#[test]
fn model_checker() {
    run("tutorials/model-checker.md");
}

#[test]
fn guides() {
    run("report.md");
    run("scale.md");
}

/// Every tutorial is run above, but the one that the tests of the Python package run.
#[test]
fn all_of_them() {
    let mut pages: Vec<String> = fs::read_dir(folder().join("tutorials"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    assert_eq!(pages, ["data-science.md", "hardware.md", "jepsen.md", "lock-free.md", "model-checker.md"]);
}
