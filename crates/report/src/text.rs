//! Lines of styled text. What a style looks like is the business of whoever prints it; without styles, a line is its
//! [`Display`](fmt::Display).

use std::fmt;

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

    pub(crate) fn with(mut self, style: Style, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.spans.push(Span { style, text });
        }
        self
    }

    pub(crate) fn plain(self, text: impl Into<String>) -> Self {
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
