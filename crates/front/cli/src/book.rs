//! The pages of a run of `check`: one for every violation, and an index of all verdicts.
//!
//! Nothing that a history or a file name contains becomes part of a path: a page is named by the number of its history
//! in the run, and by its model.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use report::page::{Index, IndexEntry};
use seriatim::{Decision, Options, Verdict};

use crate::flags::Reading;
use crate::input::Input;
use crate::{output, page};

/// What is written about one verdict, or about one input that has none.
pub(crate) enum PageEntry {
    /// A verdict, and the number of its history in the run. The page is that of a violation.
    Verdict(u64, IndexEntry, Option<io::Result<Vec<u8>>>),
    /// What is wrong with an input.
    Fault(String),
}

impl PageEntry {
    /// What is written about a decision.
    pub(crate) fn of(
        input: &Input,
        decision: &Decision,
        reading: &Reading,
        options: &Options,
        timeout: Duration,
    ) -> Self {
        let lines = decision.explain(&input.history).lines;
        let mut entry = IndexEntry {
            file: input.label(),
            model: decision.model,
            verdict: decision.verdict,
            operations: input.history.operations().len(),
            headline: lines.first().map_or_else(
                || decision.reason.clone().unwrap_or_default(),
                |line| line.to_string().trim_end_matches(':').to_owned(),
            ),
            page: None,
        };
        let page = (decision.verdict == Verdict::Violation).then(|| {
            entry.page = Some(format!("{}-{}.html", input.in_run, decision.model));
            let mut page = Vec::new();
            let command = page::command(input, decision.model, reading);
            page::write(input, decision, &command, options, timeout, &mut page).map(|()| page)
        });
        Self::Verdict(input.in_run, entry, page)
    }

    /// The same without its page.
    pub(crate) fn without_page(self) -> Self {
        match self {
            Self::Verdict(number, entry, _) => Self::Verdict(number, IndexEntry { page: None, ..entry }, None),
            Self::Fault(_) => self,
        }
    }
}

/// The directory of the pages.
pub(crate) struct Book {
    directory: PathBuf,
    entries: Vec<(u64, IndexEntry)>,
    faults: Vec<String>,
}

impl Book {
    /// A book without pages. The directory is made if it is not there.
    pub(crate) fn open(directory: &Path) -> Result<Self, String> {
        fs::create_dir_all(directory).map_err(|error| format!("the pages cannot be written here: {error}"))?;
        Ok(Self { directory: directory.to_owned(), entries: Vec::new(), faults: Vec::new() })
    }

    /// Writes pages, and notes them for the index.
    pub(crate) fn add(&mut self, pages: Vec<PageEntry>) -> io::Result<()> {
        for entry in pages {
            match entry {
                PageEntry::Fault(fault) => self.faults.push(fault.lines().next().unwrap_or_default().to_owned()),
                PageEntry::Verdict(number, entry, page) => {
                    if let (Some(name), Some(page)) = (&entry.page, page) {
                        output::write_file(&self.directory.join(name), page?)?;
                    }
                    self.entries.push((number, entry));
                }
            }
        }
        Ok(())
    }

    /// Writes the index.
    pub(crate) fn bind(mut self) -> io::Result<()> {
        self.entries.sort_by_key(|(number, _)| *number);
        let entries = self.entries.into_iter().map(|(_, entry)| entry).collect();
        let mut page = Vec::new();
        Index { entries, faults: self.faults }.write(&mut page)?;
        output::write_file(&self.directory.join("index.html"), page)
    }
}
