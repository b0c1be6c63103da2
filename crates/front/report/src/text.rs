//! Lines of styled text. The printer decides what each style looks like. The [`Display`](fmt::Display) of a line is its
//! text without styles.
//!
//! Names and values come from files that are not trusted, so every text is made [`visible`](history::visible()) when it
//! enters a line.

use std::fmt;

use history::{History, OperationId, TransactionId, visible};
use serde::Serialize;

/// The role of a piece of text, for printers that use colours.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Connecting words.
    Plain,
    /// The kind of the violation.
    Heading,
    /// The place of an operation in the file.
    Place,
    /// An operation.
    Operation,
    /// Why an operation comes after the one before.
    Reason,
    /// An operation that is one of those that clash.
    Clash,
    /// An arrow of a drawing, and its label.
    Arrow,
    /// The lines of a drawing.
    Frame,
}

/// A piece of text in one style.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Its style.
    pub style: Style,
    /// The text.
    pub text: String,
    /// For a [`Style::Place`]: the operation that stands at that place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// One line of an explanation, without its newline.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Line {
    /// The pieces of the line, from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    pub(crate) fn indented(by: usize) -> Self {
        Self::default().with(Style::Plain, " ".repeat(by))
    }

    /// A line that begins with the kind of a violation.
    pub(crate) fn heading(text: impl AsRef<str>) -> Self {
        Self::default().with(Style::Heading, text)
    }

    /// The operations that the line mentions, each once, from left to right.
    pub fn operations(&self) -> Vec<OperationId> {
        let mut operations = Vec::new();
        for id in self.spans.iter().filter_map(|span| span.operation) {
            if !operations.contains(&id) {
                operations.push(id);
            }
        }
        operations
    }

    pub(crate) fn with(self, style: Style, text: impl AsRef<str>) -> Self {
        self.push(style, text.as_ref(), None)
    }

    /// Appends the place of an operation.
    pub(crate) fn place(self, operation: OperationId, text: impl AsRef<str>) -> Self {
        self.push(Style::Place, text.as_ref(), Some(operation))
    }

    fn push(mut self, style: Style, text: &str, operation: Option<OperationId>) -> Self {
        if !text.is_empty() {
            self.spans.push(Span { style, text: visible(text).into_owned(), operation });
        }
        self
    }

    pub(crate) fn plain(self, text: impl AsRef<str>) -> Self {
        self.with(Style::Plain, text)
    }

    pub(crate) fn append(mut self, other: Self) -> Self {
        self.spans.extend(other.spans);
        self
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spans.iter().try_for_each(|span| f.write_str(&span.text))
    }
}

/// An operation as a line shows it. An operation that a running program recorded in memory has no line number. It is
/// shown with the time of its call, if that is known.
pub(crate) fn operation(history: &History, id: OperationId) -> String {
    let text = format::render_operation(history, id);
    let text = match history.times().get(id.index()) {
        Some([Some(called), _]) if history.operation(id).line == 0 => {
            format!("{text} (at {:.3} ms)", *called as f64 / 1e6)
        }
        _ => text,
    };
    visible(&text).into_owned()
}

/// A transaction as a line shows it: `T3`. A part of a history keeps the numbers that the whole history has.
pub(crate) fn transaction(history: &History, id: TransactionId) -> String {
    format!("T{}", history.transaction(id).number)
}
