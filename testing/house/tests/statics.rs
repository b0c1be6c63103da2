//! Nothing that changes an answer is process-wide: a file of the product has no statics, unless it is listed here.
//!
//! The command owns its process, so it may have some. That two checks side by side do not touch each other is a test of
//! the crate `seriatim` (`tests/all/side_by_side.rs`).

use house::{crates, read, shown};

/// The files that have statics, and why no answer depends on them.
const FILES: [(&str, &str); 9] = [
    ("crates/model/model/src/table/rows.rs", "the table of models, which is a constant"),
    ("crates/model/model/src/table/lattice.rs", "what follows from that table, computed once"),
    ("crates/program/compiled/src/switch.rs", "what a handler of signals leaves, in a child that runs one program"),
    ("crates/program/explore/src/native/macros.rs", "the statics of the program that is explored"),
    ("crates/program/explore/src/native/replay/mod.rs", "stacks that are used again, and a constant"),
    ("crates/program/explore/src/native/runtime/mod.rs", "the run of this thread, and numbers that no two runs share"),
    ("crates/program/explore/src/native/runtime/statics.rs", "the first values of the statics that are explored"),
    ("crates/program/explore/src/native/titles.rs", "the text of source files, to name places"),
    ("crates/program/record/src/clock.rs", "the moment from which time is counted"),
];

/// Whether a line of code declares a static, or thread-local ones.
fn declares(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| rest.split_once(' ').map_or(rest, |(_, rest)| rest));
    let is_named = |rest: &str| rest.trim_start_matches("mut ").starts_with(|c: char| c.is_ascii_uppercase());
    line.strip_prefix("static ").is_some_and(is_named) || line.contains("thread_local! {")
}

#[test]
fn only_these_files_have_statics() {
    let sources = crates().into_iter().filter(|room| room.name != "cli").flat_map(|room| room.sources());
    let mut found: Vec<String> =
        sources.filter(|file| read(file).lines().any(declares)).map(|file| shown(&file)).collect();
    found.sort_unstable();
    let mut listed: Vec<&str> = FILES.iter().map(|&(file, _)| file).collect();
    listed.sort_unstable();
    assert_eq!(found, listed, "the files that have statics, and those that may have");
}

#[test]
fn statics_are_seen() {
    for line in ["static A: u32 = 1;", "    pub(crate) static mut B: u32 = 1;", "pub static C: u32 = 1;"] {
        assert!(declares(line), "{line}");
    }
    assert!(declares("thread_local! {"));
    for line in ["fn of(name: &'static str) {", "/// static A", "static_assertions!();", "static $name: $t"] {
        assert!(!declares(line), "{line}");
    }
}
