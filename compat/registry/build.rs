//! Finds the loom tests of the crates of the registry where cargo has unpacked them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

const CRATES: [&str; 8] = [
    "async-lock",
    "concurrent-queue",
    "crossbeam-epoch",
    "event-listener",
    "haphazard",
    "left-right",
    "oneshot",
    "parking",
];

fn main() {
    let output = Command::new(env::var("CARGO").unwrap())
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform"])
        .arg(env::var("TARGET").unwrap())
        .current_dir(env::var("CARGO_MANIFEST_DIR").unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let manifests: Vec<&str> =
        text.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let mut modules = String::new();
    for name in CRATES {
        let is_version = |rest: &str| rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_numeric));
        let folder = manifests
            .iter()
            .filter_map(|path| Path::new(path).parent())
            .find(|folder| {
                let folder = folder.file_name().unwrap_or_default().to_string_lossy();
                folder.strip_prefix(name).is_some_and(is_version)
            })
            .unwrap_or_else(|| panic!("{name} is not among the dependencies"));
        let tests = folder.join("tests/loom.rs");
        assert!(tests.exists(), "{name} has no loom tests at {}", tests.display());
        writeln!(modules, "#[path = {:?}]\nmod {};", tests, name.replace('-', "_")).unwrap();
    }
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("modules.rs"), modules).unwrap();
    println!("cargo::rerun-if-changed=build.rs");
}
