//! The pages of the repository: every link leads somewhere, the book has every page of `docs`, and pages are short.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use house::{read, root};

/// No page of the book has more words, unless it is one of [`LONG`].
const MOST_WORDS: usize = 1500;

/// Pages that are tables of figures, or that were not divided yet.
const LONG: [&str; 3] = ["docs/benchmarks.md", "docs/machines.md", "docs/programs-rust.md"];

/// Every page of the repository, by its path from the root. What was installed or built is left out.
fn pages() -> BTreeMap<PathBuf, String> {
    fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            let is_folder = entry.file_type().unwrap().is_dir();
            if is_folder && !name.starts_with('.') && !["target", "node_modules", "build"].contains(&name.as_str()) {
                collect(&path, found);
            } else if !is_folder && path.extension().is_some_and(|it| it == "md") {
                found.insert(path.clone(), read(&root().join(&path)));
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(Path::new(""), &mut found);
    found
}

/// The lines that are prose: no line of a block of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The names by which links reach the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let is_kept = |it: &char| it.is_alphanumeric() || " -_".contains(*it);
    let headings = prose(text).filter(|line| line.starts_with('#'));
    let words = headings.map(|heading| heading.trim_start_matches('#').trim().to_lowercase());
    words.map(|words| words.chars().filter(is_kept).collect::<String>().replace(' ', "-")).collect()
}

/// The targets of the links of a page. What stands in backquotes is no link.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let bare: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for piece in bare.split("](").skip(1) {
            found.extend(piece.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = found.pop(),
            Component::CurDir => {}
            other => found.push(other),
        }
    }
    found
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    let mut broken = Vec::new();
    let mut seen = 0;
    for (page, text) in &pages {
        for link in links(text) {
            let (target, anchor) = link.split_once('#').unwrap_or((&link, ""));
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let path = if target.is_empty() { page.clone() } else { plain(&page.parent().unwrap().join(target)) };
            let is_there = match pages.get(&path) {
                Some(text) => anchor.is_empty() || anchors(text).contains(anchor),
                None => root().join(&path).exists() && anchor.is_empty(),
            };
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(seen > 200, "{seen} links");
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_book_has_every_page_once() {
    let pages = pages();
    let summary = Path::new("docs/SUMMARY.md");
    let mut listed: Vec<PathBuf> = links(&pages[summary]).iter().map(|link| Path::new("docs").join(link)).collect();
    listed.sort();
    let wanted: Vec<PathBuf> =
        pages.keys().filter(|page| page.starts_with("docs") && *page != summary).cloned().collect();
    assert_eq!(listed, wanted, "docs/SUMMARY.md lists each page of docs");
}

#[test]
fn a_page_is_read_in_minutes() {
    let pages = pages();
    let words = |page: &Path| pages[page].split_whitespace().count();
    let book = pages.keys().filter(|page| page.starts_with("docs"));
    let long: Vec<String> = book
        .filter(|page| words(page) > MOST_WORDS && !LONG.iter().any(|long| Path::new(long) == *page))
        .map(|page| format!("{}: {} words", page.display(), words(page)))
        .collect();
    assert!(long.is_empty(), "more than {MOST_WORDS} words:\n{}", long.join("\n"));
    for page in LONG {
        assert!(words(Path::new(page)) > MOST_WORDS, "{page} is short now: take it off the list");
    }
}

/// The rules above can fail.
#[test]
fn what_is_wrong_is_found() {
    let text = "# A `b`: c++ d_e\n[x](y.md#z) `[no](link)` ![p](q.svg)\n```text\n# no heading\n[no](link)\n```\n";
    assert_eq!(links(text), ["y.md#z", "q.svg"]);
    assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["a-b-c-d_e"]);
    assert_eq!(plain(Path::new("docs/a/../b.md")), Path::new("docs/b.md"));
}
