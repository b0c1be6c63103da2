//! What is wrong with an input, and where.

use thiserror::Error;

/// How much of an offending line an error carries, in characters.
const SHOWN: usize = 240;

/// Bad input: the position, the line, what is wrong with it and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct InputError {
    /// The line, counted from 1; 0 if the file as a whole is wrong.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// The offending line; of a long one only the beginning, so that the column may lie beyond it.
    pub text: String,
    /// What is wrong.
    pub message: String,
    /// What was expected instead.
    pub expected: Option<String>,
}

/// What is wrong with a line, before the line is known: `at` is a byte offset in it.
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

    /// The error, given the line that the fault is in.
    pub fn in_line(self, line: u32, text: &[u8]) -> InputError {
        let column = String::from_utf8_lossy(&text[..self.at.min(text.len())]).chars().count() as u32 + 1;
        self.at_column(line, column, text)
    }

    /// The error, given the beginning of the line that the fault is in and the column.
    pub fn at_column(self, line: u32, column: u32, text: &[u8]) -> InputError {
        // Four bytes hold any character, so the rest of a long line need not be looked at.
        let text = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN + 4)]);
        let text = match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.into_owned(),
        };
        InputError { line, column, text, message: self.message, expected: self.expected }
    }
}

/// The text of a token. An invalid byte is a fault at its place; `at` is the offset of the token.
pub(super) fn utf8(token: &[u8], at: usize) -> Result<&str, Fault> {
    std::str::from_utf8(token).map_err(|error| Fault::new(at + error.valid_up_to(), "this is not valid UTF-8"))
}

/// A token as it is quoted in a message.
pub(crate) fn quote(token: &[u8]) -> String {
    let text = String::from_utf8_lossy(&token[..token.len().min(120)]);
    let shown: String = text.chars().take(30).flat_map(char::escape_debug).collect();
    if text.chars().count() > 30 { format!("`{shown}…`") } else { format!("`{shown}`") }
}
