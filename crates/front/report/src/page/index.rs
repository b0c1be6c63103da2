//! The page of a run: how many histories were checked, with which verdicts, and links to the pages of violations.

use std::io::{self, Write};

use history::visible;
use model::{Model, Verdict};
use serde_json::{Map, Value as Json, json};

use super::block::Block;
use super::{begin, end, program};

/// What the index says about one history and one model.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// The file of the history, as it is shown.
    pub file: String,
    /// The model.
    pub model: Model,
    /// The verdict.
    pub verdict: Verdict,
    /// How many operations the history has.
    pub operations: usize,
    /// One line about the verdict: the violation, or why it is unknown.
    pub headline: String,
    /// The file name of its page, in the directory of the index.
    pub page: Option<String>,
}

/// The index of a run.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// The verdicts, in the order of the run.
    pub entries: Vec<IndexEntry>,
    /// The inputs that could not be read or checked, and why.
    pub faults: Vec<String>,
}

impl Index {
    /// Writes the page.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        begin(out, "Seriatim: the verdicts of a run", "", &[])?;
        let mut header = Map::new();
        let entries: Vec<Json> = self.entries.iter().map(IndexEntry::to_json).collect();
        header.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
        header.insert("entries".to_owned(), Json::Array(entries));
        header.insert("faults".to_owned(), self.faults.iter().map(|fault| json!(visible(fault))).collect());
        Block::new(header).write("index", out)?;
        program(out)?;
        end(out)
    }
}

impl IndexEntry {
    fn to_json(&self) -> Json {
        json!([
            visible(&self.file),
            self.model.name(),
            self.verdict.name(),
            self.operations,
            visible(&self.headline),
            self.page,
        ])
    }
}
