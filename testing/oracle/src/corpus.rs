//! The corpus: histories with the verdict of every model, as plain data in `testing/corpus/`.
//!
//! Every history of the corpus has a name, and a line `# @expect cc=yes ccv=no ...` with the verdict of every model
//! that the oracle knows, in the order of the oracle. The verdict is `error` if the model does not apply. One corpus
//! serves the oracle and every engine.
//!
//! Histories of objects are in `corpus/objects/` ([`objects`]). Their line is `# @expect linearizable=yes` or `no`.
//!
//! `SERIATIM_UPDATE_CORPUS=1 cargo test -p seriatim-oracle --test all corpus` writes these lines anew.

use std::fs;
use std::path::{Path, PathBuf};

use format::{ReadOptions, open};
use history::{Execution, History, ViewError};

/// One history of the corpus.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The file's name.
    pub file: String,
    /// The history's name.
    pub name: String,
    /// The verdicts, as the file states them.
    pub expect: String,
    /// The history.
    pub history: History,
    /// The execution of the history.
    pub execution: Execution,
}

impl Entry {
    /// The stated verdict of a model: `yes`, `no` or `error`.
    pub fn expected(&self, model: &str) -> Option<&str> {
        expected(&self.expect, model)
    }
}

/// How a line with the verdicts begins.
const EXPECT: &str = "# @expect";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

/// Writes the verdicts of a file of the corpus anew: the verdicts of each history, in the order of the file.
///
/// # Panics
/// If the file cannot be read or written.
pub fn write_expected(file: &str, verdicts: &[String]) {
    let path = folder().join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut verdicts = verdicts.iter();
    let line = |line: &str| match line.strip_prefix(EXPECT).and_then(|_| verdicts.next()) {
        Some(verdicts) => format!("{EXPECT} {verdicts}\n"),
        None => format!("{line}\n"),
    };
    let text: String = text.lines().map(line).collect();
    // Other tests may read the corpus now, so the file is replaced at once.
    let new = path.with_extension("new");
    fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).unwrap_or_else(|error| panic!("{file}: {error}"));
}

/// A history with its verdicts, and no execution: it leaves sources open (a value was written twice, and a read of it
/// names no source), or it is of an object.
#[derive(Clone, Debug)]
pub struct OpenEntry {
    /// The file's name.
    pub file: String,
    /// The history's name.
    pub name: String,
    /// The verdicts, as the file states them.
    pub expect: String,
    /// The history.
    pub history: History,
}

impl OpenEntry {
    /// The stated verdict of a model: `yes`, `no` or `error`.
    pub fn expected(&self, model: &str) -> Option<&str> {
        expected(&self.expect, model)
    }
}

fn expected<'a>(expect: &'a str, model: &str) -> Option<&'a str> {
    expect.split(' ').find_map(|stated| stated.strip_prefix(model)?.strip_prefix('='))
}

/// The whole corpus of histories whose sources are known, by file.
///
/// # Panics
/// If a file cannot be read, or if a history lacks a name or its line of verdicts.
pub fn corpus() -> Vec<Entry> {
    let entry = |OpenEntry { file, name, expect, history }| match Execution::from_history(&history) {
        Ok(execution) => Some(Entry { file, name, expect, history, execution }),
        Err(ViewError::Ambiguous { .. }) => None,
        Err(error) => panic!("{file}: {name}: {error}"),
    };
    histories().into_iter().filter_map(entry).collect()
}

/// The histories of the corpus that leave sources open, by file.
///
/// # Panics
/// As [`corpus`].
pub fn open_corpus() -> Vec<OpenEntry> {
    let is_open = |history: &History| matches!(Execution::from_history(history), Err(ViewError::Ambiguous { .. }));
    histories().into_iter().filter(|entry| is_open(&entry.history)).collect()
}

/// The histories of objects, by file.
///
/// # Panics
/// As [`corpus`].
pub fn objects() -> Vec<OpenEntry> {
    histories_of(&folder().join("objects"))
}

/// All histories of memory.
fn histories() -> Vec<OpenEntry> {
    histories_of(&folder())
}

fn histories_of(folder: &Path) -> Vec<OpenEntry> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("a file of the corpus").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "hist"));
    files.sort();
    let mut entries = Vec::new();
    for path in files {
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        // The lines of verdicts are comments to the parser.
        let expected: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(EXPECT)).map(str::trim).collect();
        let reader = open(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{file}: {error}"));
        let histories: Vec<_> = reader.collect();
        assert_eq!(histories.len(), expected.len(), "{file}: each history has one line of verdicts");
        for (history, expect) in histories.into_iter().zip(expected) {
            let history = history.unwrap_or_else(|error| panic!("{file}: {error}"));
            let name = history.name().map_or_else(|| panic!("{file}: a history without a name"), str::to_owned);
            entries.push(OpenEntry { file: file.clone(), name, expect: expect.to_owned(), history });
        }
    }
    entries
}
