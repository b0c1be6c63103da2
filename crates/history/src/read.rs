//! The short way from a file or a text to a [`History`].
//!
//! [`crate::format`] has the long way: a format or an object that is known beforehand, an input that is not a file.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::format::{self, InputError, ReadOptions, Reader};
use crate::history::History;

/// Why there is no history to be had.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What is in it is no history.
    #[error("line {}, column {}: {}{}", .0.line, .0.column, .0.message, expected(.0))]
    Input(#[from] InputError),
    /// There are several histories in it.
    #[error("this holds several histories: `History::read_all` reads them one by one")]
    Several,
}

fn expected(error: &InputError) -> String {
    error.expected.as_ref().map_or_else(String::new, |expected| format!(" (expected {expected})"))
}

impl History {
    /// The history that a text holds. Its content tells the format.
    ///
    /// ```
    /// use history::History;
    ///
    /// let history = History::parse("[0] w x 1\n[1] r x 1\n")?;
    /// assert_eq!(history.operation_count(), 2);
    /// # Ok::<(), history::ReadError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let input = io::Cursor::new(text.as_bytes().to_vec());
        the_only(format::read(Box::new(input), &ReadOptions::default()))
    }

    /// The history that a file holds. Its extension or its content tells the format; it may be compressed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        the_only(Self::read_all(path)?)
    }

    /// The histories that a file holds, read one by one as the iterator is asked for them.
    pub fn read_all(path: impl AsRef<Path>) -> Result<Reader, ReadError> {
        Ok(format::open(path.as_ref(), &ReadOptions::default())?)
    }

    /// How many operations there are.
    pub fn operation_count(&self) -> usize {
        self.operations.len()
    }
}

fn the_only(mut histories: Reader) -> Result<History, ReadError> {
    match (histories.next(), histories.next()) {
        (Some(history), None) => Ok(history?),
        (Some(Err(error)), _) => Err(error.into()),
        _ => Err(ReadError::Several),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_history_is_read() {
        let history = History::parse("[0] w x 1\n[1] r x 1\n").unwrap();
        assert_eq!(history.operation_count(), 2);
        let history = History::parse("{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1}\n").unwrap();
        assert_eq!(history.operation_count(), 1);
    }

    #[test]
    fn anything_else_is_an_error() {
        assert_eq!(
            History::parse("").unwrap_err().to_string(),
            "line 1, column 1: no history in this file (expected at least one operation)"
        );
        assert!(matches!(History::parse("[0] w x 1\n---\n[0] w x 2\n"), Err(ReadError::Several)));
        let error = History::parse("[0] w x 1\n[0] q x 2\n").unwrap_err();
        assert!(error.to_string().starts_with("line 2, column "), "{error}");
        assert!(matches!(History::open("no/such/file.hist"), Err(ReadError::Io(_))));
    }
}
