//! The table of crates in ARCHITECTURE.md is the graph of their dependencies, and that graph leads one way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// What each crate of the workspace depends on, of the other crates of the workspace, outside of its tests.
fn actual() -> Graph {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let short = |name: &str| name.strip_prefix("seriatim-").unwrap_or(name).to_owned();
    let names: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let dependencies = |package: &serde_json::Value| {
        let all = package["dependencies"].as_array().unwrap().clone();
        all.into_iter()
            .filter(|dependency| dependency["kind"].is_null())
            .map(|dependency| dependency["name"].as_str().unwrap().to_owned())
            .filter(|name| names.contains(name.as_str()))
            .map(|name| short(&name))
            .collect()
    };
    packages.iter().map(|package| (short(package["name"].as_str().unwrap()), dependencies(package))).collect()
}

/// The rows of the first table of ARCHITECTURE.md, in the order of the table: a crate, and the crates that it depends
/// on.
fn stated() -> Vec<(String, BTreeSet<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let names = |cell: &str| {
        let pieces: Vec<String> = cell.split('`').map(str::to_owned).collect();
        pieces.into_iter().skip(1).step_by(2).collect::<BTreeSet<String>>()
    };
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            (cells[1].trim_matches('`').to_owned(), names(cells[3]))
        })
        .collect()
}

#[test]
fn the_table_is_the_graph() {
    let actual = actual();
    let stated = stated();
    let crates: BTreeSet<&String> = stated.iter().map(|(name, _)| name).collect();
    assert_eq!(crates, actual.keys().collect::<BTreeSet<_>>(), "the table and the workspace have the same crates");
    for (name, knows) in &stated {
        assert_eq!(knows, &actual[name], "what {name} knows, in ARCHITECTURE.md and in its manifest");
    }
}

#[test]
fn a_crate_knows_only_those_above_it() {
    let stated = stated();
    for (at, (name, knows)) in stated.iter().enumerate() {
        let above: BTreeSet<&String> = stated[..at].iter().map(|(name, _)| name).collect();
        assert!(knows.iter().all(|known| above.contains(known)), "{name} knows {knows:?}, and above it are {above:?}");
    }
}
