//! What the writers of all formats share: the order of histories in a file with their separators, and why a history
//! cannot be written.

use std::io::{self, Write};

use thiserror::Error;

#[cfg(feature = "arrow")]
use super::table::TableWriter;
use super::{Format, axe, dbcop, plume, record, text};
use history::history::{History, OperationId, Source};
use history::value::Value;

/// Why a history was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The format is only read.
    #[error("histories are not written in the format {}", .0.name())]
    NotWritten(Format),
    /// The format needs a feature that this was built without.
    #[error("histories are written in the format {} only with the feature `arrow`", .0.name())]
    NotBuilt(Format),
    /// The format cannot express something in the history.
    #[error("this format cannot express {what}")]
    Inexpressible {
        /// The operation that cannot be expressed; `None` if it is a fact about the whole history.
        operation: Option<OperationId>,
        /// What cannot be expressed.
        what: String,
    },
}

/// Writes histories in one format, one after the other, with the separator of the format between them.
///
/// ```
/// use history::History;
/// use format::{Format, Writer};
///
/// let mut writer = Writer::new(Vec::new(), Format::Text);
/// writer.write(&format::parse("[0] w x 1\n")?)?;
/// writer.write(&format::parse("[0] w x 2\n")?)?;
/// let text = String::from_utf8(writer.finish()?)?;
/// assert!(text.contains("[0] w x 1\n---\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<W: Write> {
    out: W,
    format: Format,
    text: Vec<u8>,
    is_first: bool,
    places: bool,
    comment: Vec<u8>,
    dropped: Vec<&'static str>,
    #[cfg(feature = "arrow")]
    table: Option<Box<TableWriter>>,
}

impl<W: Write> Writer<W> {
    /// A writer that has written nothing.
    pub fn new(out: W, format: Format) -> Self {
        Self {
            out,
            format,
            text: Vec::new(),
            is_first: true,
            places: false,
            comment: Vec::new(),
            dropped: Vec::new(),
            #[cfg(feature = "arrow")]
            table: format.is_table().then(|| Box::new(TableWriter::new(format))),
        }
    }

    /// From now on, in the text format, a comment before each operation says in which line the operation stood in the
    /// file that it was read from: `# line 7`.
    #[must_use]
    pub fn with_places(self) -> Self {
        Self { places: true, ..self }
    }

    /// Puts a comment above the next history. Only the text format has comments; the others leave it out. Control
    /// characters are made [visible](history::visible()).
    pub fn comment(&mut self, text: &str) {
        for line in text.lines() {
            // A directive begins with `# @`. The bar keeps a line of the comment from looking like one.
            self.comment.extend_from_slice(format!("# | {}\n", history::visible(line)).as_bytes());
        }
    }

    /// Writes a history. If the format cannot express the history, nothing is written.
    pub fn write(&mut self, history: &History) -> Result<(), WriteError> {
        self.text.clear();
        self.dropped.clear();
        let labels = Labels::new(history)?;
        #[cfg(feature = "arrow")]
        if let Some(table) = &mut self.table {
            table.write(&mut self.text, history, &labels, &mut self.dropped)?;
            self.out.write_all(&self.text)?;
            return Ok(());
        }
        match self.format {
            Format::Text => {
                if !self.is_first {
                    self.text.extend_from_slice(b"---\n");
                }
                self.text.append(&mut self.comment);
                text::write_history(&mut self.text, history, &labels, self.places);
            }
            Format::JsonLines | Format::Edn => {
                let (out, is_first, dropped) = (&mut self.text, self.is_first, &mut self.dropped);
                if self.format == Format::Edn {
                    record::write_history(out, &record::Edn, history, &labels, is_first, dropped);
                } else {
                    record::write_history(out, &record::Json, history, &labels, is_first, dropped);
                }
            }
            Format::Axe => axe::write_history(&mut self.text, history)?,
            Format::Plume | Format::Dbcop if !self.is_first => {
                let what = "a second history in one file".to_owned();
                return Err(WriteError::Inexpressible { operation: None, what });
            }
            Format::Plume => plume::write_history(&mut self.text, history, &mut self.dropped)?,
            Format::Dbcop => dbcop::write_history(&mut self.text, history, &mut self.dropped)?,
            Format::Parquet | Format::Arrow => return Err(WriteError::NotBuilt(self.format)),
            other => return Err(WriteError::NotWritten(other)),
        }
        self.is_first = false;
        self.comment.clear();
        self.out.write_all(&self.text)?;
        Ok(())
    }

    /// What the format could not say of the last history, in words. Only histories of transactions lose something.
    pub fn dropped(&self) -> &[&'static str] {
        &self.dropped
    }

    /// Ends the file, flushes the output and gives it back.
    pub fn finish(mut self) -> Result<W, WriteError> {
        #[cfg(feature = "arrow")]
        if let Some(table) = &mut self.table {
            self.text.clear();
            table.finish(&mut self.text)?;
            self.out.write_all(&self.text)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// The labels to write: the labels of the history, and new ones for sources that have none.
pub(super) struct Labels {
    /// The prefix of new labels. No label of the history begins with it.
    prefix: String,
    /// The operations that need a new label, sorted.
    unlabelled: Vec<OperationId>,
}

/// A label to write.
pub(super) enum Label {
    /// A label of the history.
    Of(Value),
    /// A word that is not in the history: `init`, or a new label.
    Word(String),
}

impl Labels {
    /// The labels of a history. An operation with the label `init` cannot be written.
    pub fn new(history: &History) -> Result<Self, WriteError> {
        let mut prefix = "op".to_owned();
        for &(id, label) in history.labels() {
            let text = history.show(label);
            if text == "init" {
                let what = "the label `init`, which names the initial write".to_owned();
                return Err(WriteError::Inexpressible { operation: Some(id), what });
            }
            while text.starts_with(&prefix) {
                prefix.push('_');
            }
        }
        let sources = history.sources().iter().filter_map(|&(_, source)| match source {
            Source::Init => None,
            Source::Operation(write) => Some(write),
        });
        let mut unlabelled: Vec<OperationId> = sources.filter(|&write| history.label(write).is_none()).collect();
        unlabelled.sort_unstable();
        unlabelled.dedup();
        Ok(Self { prefix, unlabelled })
    }

    /// Only the labels of the history. A source without a label is not shown.
    pub fn existing() -> Self {
        Self { prefix: String::new(), unlabelled: Vec::new() }
    }

    /// The label of an operation.
    pub fn label(&self, history: &History, id: OperationId) -> Option<Label> {
        if let Some(label) = history.label(id) {
            return Some(Label::Of(label));
        }
        self.unlabelled.binary_search(&id).ok().map(|_| Label::Word(format!("{}{}", self.prefix, id.0)))
    }

    /// The label of the source of an operation.
    pub fn source(&self, history: &History, id: OperationId) -> Option<Label> {
        match history.source(id)? {
            Source::Init => Some(Label::Word("init".to_owned())),
            Source::Operation(write) => self.label(history, write),
        }
    }
}
