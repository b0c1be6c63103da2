//! Reads the source of the product as text, for the tests that hold the rules of the house.
//!
//! A rule is about the text alone, so these tests need no compiler and no network. The product is what stands in
//! `crates/`. The length of files is the only rule that tests, benchmarks and `research/` have to keep, too.

pub mod surface;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A crate of the product.
#[derive(Clone, Debug)]
pub struct Crate {
    /// The name by which it is imported.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

impl Crate {
    /// The files of its source, sorted.
    pub fn sources(&self) -> Vec<PathBuf> {
        files(&self.folder.join("src"))
    }
}

/// All crates of the product, sorted by room and name.
pub fn crates() -> Vec<Crate> {
    let rooms = entries(&root().join("crates"));
    let folders = rooms.iter().flat_map(|room| entries(room));
    folders
        .filter(|folder| folder.join("Cargo.toml").exists())
        .map(|folder| Crate { name: folder.file_name().expect("a name").to_string_lossy().into_owned(), folder })
        .collect()
}

/// The text of a file.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path from the root of the repository.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Every Rust file below a folder, sorted. What a build made is left out.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in entries(folder) {
        if entry.ends_with("target") || entry.ends_with("node_modules") {
            continue;
        }
        if entry.is_dir() {
            found.extend(files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}
