//! What is wrong with an input, and where: the line, the column in characters, and what was expected. Who finds a fault
//! knows its place in the line; who has the line makes the [error](InputError) of it.

use thiserror::Error;

/// How many characters of a bad line an error carries, at most.
const MAX_SHOWN_CHARACTERS: usize = 240;

/// Bad input: where it is, the line, what is wrong and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct InputError {
    /// The line, counted from 1; 0 if the whole file is bad.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// The bad line. A long line is cut, so that the column may be beyond its end.
    pub text: String,
    /// What is wrong.
    pub message: String,
    /// What was expected instead.
    pub expected: Option<String>,
}

/// What is wrong with a line, before the line and its number are added. `at` is a byte offset in the line.
#[derive(Debug)]
pub(super) struct Fault {
    pub at: usize,
    pub message: String,
    pub expected: Option<String>,
}

impl Fault {
    pub fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), expected: None }
    }

    pub fn expected(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    /// The error for a fault in this line.
    pub fn in_line(self, line: u32, text: &[u8]) -> InputError {
        let column = String::from_utf8_lossy(&text[..self.at.min(text.len())]).chars().count() as u32 + 1;
        self.at_column(line, column, text)
    }

    /// The error for a fault in a line of which the beginning and the column are known.
    pub fn at_column(self, line: u32, column: u32, text: &[u8]) -> InputError {
        // A character has at most four bytes, so the rest of a long line is not needed.
        let text = String::from_utf8_lossy(&text[..text.len().min(4 * MAX_SHOWN_CHARACTERS + 4)]);
        let text = match text.char_indices().nth(MAX_SHOWN_CHARACTERS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.into_owned(),
        };
        InputError { line, column, text, message: self.message, expected: self.expected }
    }
}

/// The text of a token that is at offset `at`. The fault for an invalid byte points at that byte.
pub(super) fn utf8(token: &[u8], at: usize) -> Result<&str, Fault> {
    std::str::from_utf8(token).map_err(|error| Fault::new(at + error.valid_up_to(), "this is not valid UTF-8"))
}
