//! Runs the real binary.

#![allow(dead_code, missing_docs)] // Every test file uses a part of this.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The read returns the value of line 1, which line 2 has overwritten: a violation of every model.
pub const STALE: &str = "[0] w x 1\n[0] w x 2\n[0] r x 1\n";
/// Allowed by every model.
pub const GOOD: &str = "[0] w x 1\n[1] r x 1\n";
/// Store buffering: allowed by `cc`, `ccv` and `cm`.
pub const STORE_BUFFERING: &str = "[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n";

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seriatim"));
    command.env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

/// How many models there are.
pub const MODELS: usize = model::Model::ALL.len();

pub fn seriatim<const N: usize>(arguments: [&str; N]) -> Ran {
    ran(command().args(arguments).output().unwrap())
}

pub fn seriatim_with(arguments: &[&str]) -> Ran {
    ran(command().args(arguments).output().unwrap())
}

pub fn ran(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { status: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

pub fn with_input<const N: usize>(arguments: [&str; N], input: &[u8]) -> Ran {
    let mut child =
        command().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The child may stop reading early.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    ran(output)
}

/// Files in a directory of their own, which is removed at the end.
pub struct Files {
    directory: TempDir,
}

impl Files {
    pub fn new() -> Self {
        Self { directory: TempDir::new().unwrap() }
    }

    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        self.path(name)
    }
}

pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples")
}

pub fn json(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asks a process to end, with SIGTERM.
pub fn terminate(child: &std::process::Child) {
    let status = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}
