//! Every file says what it is, and is one thing.

use house::{crates, files, read, root, shown};

/// No file has more lines, unless it is a table. This holds for tests, benchmarks and research, too.
const MOST_LINES: usize = 600;

/// The folders that have Rust files.
const FOLDERS: [&str; 5] = ["compat", "crates", "python", "research", "testing"];

/// Files that are tables: each is one list of rows, or of programs, and is read by looking one up.
const TABLES: [&str; 2] = ["crates/model/model/src/table/rows.rs", "research/lab/src/papers/rf/programs.rs"];

#[test]
fn every_file_begins_with_what_it_is() {
    let sources = crates().into_iter().flat_map(|room| room.sources());
    let without: Vec<String> = sources.filter(|file| !read(file).starts_with("//!")).map(|file| shown(&file)).collect();
    assert!(without.is_empty(), "these files have no header:\n{}", without.join("\n"));
}

#[test]
fn no_file_is_two() {
    let all: Vec<_> = FOLDERS.iter().flat_map(|folder| files(&root().join(folder))).collect();
    for table in TABLES {
        assert!(all.iter().any(|file| shown(file) == table), "there is no table {table}");
    }
    let long: Vec<String> = all
        .iter()
        .map(|file| (shown(file), read(file).lines().count()))
        .filter(|(name, lines)| *lines > MOST_LINES && !TABLES.contains(&name.as_str()))
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "more than {MOST_LINES} lines, and no table:\n{}", long.join("\n"));
}
