//! The pages of the papers: each has a row for every numbered item of its paper, and what a row names exists.
//!
//! A page `research/docs/papers/NAME.md` has tables with five columns: the item, where it is, which test holds it, what
//! was measured, and how it differs from print. `NAME.items` beside it lists the items. In a cell, text in backticks
//! that has `::` and no `/` is a path of the code, `FILE::NAME` is a test, `FILE#NAME` an entry of a corpus, `lab paper
//! NAME` an experiment, and other text with `/` a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PAPERS: [&str; 5] = ["wsc", "gcc", "vc", "mr", "rf"];
const HEAD: &str = "| item | where | test | measured | how it differs from print |";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn page(paper: &str, extension: &str) -> String {
    read(&root().join(format!("research/docs/papers/{paper}.{extension}")))
}

/// The rows of the tables of a page that have the head of items.
fn rows(page: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        if line == HEAD {
            is_inside = true;
        } else if !line.starts_with('|') {
            is_inside = false;
        } else if is_inside && !line.starts_with("| ---") {
            let cells = line.trim_matches('|').split(" | ");
            rows.push(cells.map(|cell| cell.trim().to_owned()).collect());
        }
    }
    rows
}

/// What stands in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The folder of the source of each crate, by the name under which it is imported.
fn crates() -> BTreeMap<String, PathBuf> {
    let groups =
        ["crates/front", "crates/model", "crates/program", "crates/solve", "crates/source", "testing", "research"];
    let mut crates = BTreeMap::new();
    for group in groups {
        for entry in fs::read_dir(root().join(group)).expect("a folder of crates").flatten() {
            if entry.path().join("Cargo.toml").exists() {
                crates.insert(entry.file_name().to_string_lossy().into_owned(), entry.path().join("src"));
            }
        }
    }
    crates
}

/// Whether a file has a word as a whole.
fn has_word(file: &Path, word: &str) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let text = read(file);
    text.match_indices(word).any(|(at, _)| {
        !is_part(at.checked_sub(1).and_then(|before| text.as_bytes().get(before)))
            && !is_part(text.as_bytes().get(at + word.len()))
    })
}

/// Whether a path such as `memory::kernel::visit` leads through modules to an item.
fn is_in_the_code(path: &str, crates: &BTreeMap<String, PathBuf>) -> bool {
    let mut parts = path.split("::");
    let Some(source) = parts.next().and_then(|name| crates.get(name)) else { return false };
    let (mut folder, mut file) = (source.clone(), source.join("lib.rs"));
    for part in parts {
        let inner = [folder.join(format!("{part}.rs")), folder.join(part).join("mod.rs")];
        if let Some(inner) = inner.into_iter().find(|inner| inner.exists()) {
            (folder, file) = (folder.join(part), inner);
        } else if !has_word(&file, part) {
            return false;
        }
    }
    file.exists()
}

/// What is wrong with something that a row names, if anything.
fn fault(name: &str, crates: &BTreeMap<String, PathBuf>) -> Option<String> {
    let missing = |what: &str| Some(format!("there is no {what} `{name}`"));
    if let Some(experiment) = name.strip_prefix("lab paper ") {
        let known = |it: &str| lab::papers::all().iter().any(|known| known.about().name == it);
        return experiment.split(' ').next().filter(|it| known(it)).map_or_else(|| missing("experiment"), |_| None);
    }
    if let Some((file, test)) = name.split_once("::").filter(|(file, _)| file.contains('/')) {
        let path = root().join(file);
        let is_there = path.exists() && read(&path).contains(&format!("fn {test}("));
        return if is_there { None } else { missing("test") };
    }
    if let Some((file, entry)) = name.split_once('#').filter(|(file, _)| file.contains('/')) {
        let path = root().join(file);
        let is_there = path.exists() && read(&path).lines().any(|line| line == format!("# @name {entry}"));
        return if is_there { None } else { missing("entry") };
    }
    if name.contains('/') && !name.contains(' ') {
        return if root().join(name).exists() { None } else { missing("file") };
    }
    if name.contains("::") && !is_in_the_code(name, crates) {
        return missing("path");
    }
    None
}

/// No number of a paper is missing from its page, and nothing stands there twice or is not of the paper.
#[test]
fn every_item_has_a_row() {
    for paper in PAPERS {
        let (rows, items) = (rows(&page(paper, "md")), page(paper, "items"));
        let found: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        for item in items.lines() {
            let count = found.iter().filter(|&&name| name == item).count();
            assert_eq!(count, 1, "{paper}.md must have one row of {item:?}");
        }
        for name in found {
            assert!(items.lines().any(|item| item == name), "{paper}.items does not list {name:?}");
        }
    }
}

/// What a row names exists. A row that names no code says that the item is not here, and why.
#[test]
fn what_a_row_names_exists() {
    let crates = crates();
    for paper in PAPERS {
        for row in rows(&page(paper, "md")) {
            let item = &row[0];
            assert_eq!(row.len(), 5, "{paper}.md, {item}: a row has five cells");
            for name in row.iter().flat_map(|cell| quoted(cell)) {
                assert_eq!(fault(name, &crates), None, "{paper}.md, {item}");
            }
            let [_, place, test, _, difference] = &row[..] else { unreachable!("it has five cells") };
            if quoted(place).next().is_none() {
                assert!(place.starts_with("not here"), "{paper}.md, {item}: it is here, or 'not here'");
                assert!(!difference.is_empty(), "{paper}.md, {item}: why is it not here?");
            } else {
                let is_held = quoted(test).next().is_some() || test.starts_with("none");
                assert!(is_held, "{paper}.md, {item}: a test, or 'none'");
            }
        }
    }
}

/// The test above notices what is not there.
#[test]
fn what_does_not_exist_is_noticed() {
    let crates = crates();
    let here = "research/lab/tests/papers.rs";
    for good in ["memory::kernel::visit", "baseline::literal::Algorithm", "lab paper wsc-fig6", "docs/models.md"] {
        assert_eq!(fault(good, &crates), None);
    }
    assert_eq!(fault(&format!("{here}::what_does_not_exist_is_noticed"), &crates), None);
    assert_eq!(fault("testing/corpus/papers-sc.hist#wsc-3", &crates), None);
    for bad in [
        "memory::kernel::no_such_thing",
        "nowhere::kernel",
        "lab paper wsc-fig60",
        "docs/no_such_page.md",
        "research/lab/tests/papers.rs::no_such_test",
        "testing/corpus/papers-sc.hist#wsc",
    ] {
        assert!(fault(bad, &crates).is_some(), "{bad}");
    }
}
