//! Lines of styled text. What a style looks like is the business of whoever prints it; without styles, a line is its
//! [`Display`](fmt::Display).
//!
//! Names and values come from outside: whatever enters a line is made [`visible`].

use std::fmt;

use history::{History, OperationId, visible};

/// What a piece of text is, for those who print in colour.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Style {
    /// Connecting words.
    Plain,
    /// What kind of violation it is.
    Heading,
    /// Where an operation stands.
    Place,
    /// An operation.
    Operation,
    /// Why an operation comes after the one before.
    Reason,
}

/// A piece of text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its style.
    pub style: Style,
    /// The text.
    pub text: String,
    /// The operation that stands there, of a [`Style::Place`].
    pub operation: Option<OperationId>,
}

/// One line of an explanation, without its newline.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Line {
    /// The pieces of the line, from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    pub(crate) fn indented(by: usize) -> Self {
        Self::default().with(Style::Plain, " ".repeat(by))
    }

    /// The operations that the line speaks of, each once, from left to right.
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

    /// Where an operation stands.
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

/// An operation as a line shows it. One that stands on no line was recorded by a running program: it is shown with the time of
/// its call, if that is known.
pub(crate) fn operation(history: &History, id: OperationId) -> String {
    let text = history::format::render_operation(history, id);
    let text = match history.times().get(id.index()) {
        Some([Some(called), _]) if history.operation(id).line == 0 => {
            format!("{text} (at {:.3} ms)", *called as f64 / 1e6)
        }
        _ => text,
    };
    visible(&text).into_owned()
}
