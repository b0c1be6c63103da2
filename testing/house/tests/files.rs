//! Every file of the product says what it is, and is one thing.

use house::{crates, read, shown};

/// No file of the product has more lines, unless it is a table.
const MOST_LINES: usize = 600;

/// Files that are tables: each is one list of rows, and is read by looking a row up.
const TABLES: [&str; 1] = ["crates/model/model/src/table/rows.rs"];

#[test]
fn every_file_begins_with_what_it_is() {
    let sources = crates().into_iter().flat_map(|room| room.sources());
    let without: Vec<String> = sources.filter(|file| !read(file).starts_with("//!")).map(|file| shown(&file)).collect();
    assert!(without.is_empty(), "these files have no header:\n{}", without.join("\n"));
}

#[test]
fn no_file_is_two() {
    let sources = crates().into_iter().flat_map(|room| room.sources());
    let long: Vec<String> = sources
        .map(|file| (shown(&file), read(&file).lines().count()))
        .filter(|(name, lines)| *lines > MOST_LINES && !TABLES.contains(&name.as_str()))
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "more than {MOST_LINES} lines, and no table:\n{}", long.join("\n"));
}
