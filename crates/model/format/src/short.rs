//! The short way from a file or a text to a [`History`].
//!
//! [`read`](crate::read) is the long way. It takes an input that is not a file, and a format or an object to force.

use std::io;
use std::path::Path;

use history::History;
use thiserror::Error;

use crate::{InputError, ReadOptions, Reader};

/// Why a file or a text gave no history.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The content is not a history.
    #[error("line {}, column {}: {}{}", .0.line, .0.column, .0.message, expected(.0))]
    Input(#[from] InputError),
    /// The content is several histories.
    #[error("this holds several histories: `load_all` reads them one by one")]
    Several,
}

fn expected(error: &InputError) -> String {
    error.expected.as_ref().map_or_else(String::new, |expected| format!(" (expected {expected})"))
}

/// Reads the one history in a text. The format is detected from the content.
///
/// ```
/// let history = format::parse("[0] w x 1\n[1] r x 1\n")?;
/// assert_eq!(history.operations().len(), 2);
/// # Ok::<(), format::ReadError>(())
/// ```
pub fn parse(text: &str) -> Result<History, ReadError> {
    the_only(crate::read_bytes(text.as_bytes().to_vec(), &ReadOptions::default()))
}

/// Reads the one history in a file. The format is detected from the extension or the content. The file may be
/// compressed.
///
/// ```no_run
/// let history = format::load("run.hist")?;
/// println!("{} operations", history.operations().len());
/// # Ok::<(), format::ReadError>(())
/// ```
pub fn load(path: impl AsRef<Path>) -> Result<History, ReadError> {
    the_only(load_all(path)?)
}

/// Reads the histories in a file one by one, as the iterator is asked for them.
///
/// ```no_run
/// for history in format::load_all("corpus.hist")? {
///     println!("{} operations", history?.operations().len());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_all(path: impl AsRef<Path>) -> Result<Reader, ReadError> {
    Ok(crate::open(path.as_ref(), &ReadOptions::default())?)
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
        let history = parse("[0] w x 1\n[1] r x 1\n").unwrap();
        assert_eq!(history.operations().len(), 2);
        let history = parse("{\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1}\n").unwrap();
        assert_eq!(history.operations().len(), 1);
    }

    #[test]
    fn anything_else_is_an_error() {
        assert_eq!(
            parse("").unwrap_err().to_string(),
            "line 1, column 1: no history in this file (expected at least one operation)"
        );
        assert!(matches!(parse("[0] w x 1\n---\n[0] w x 2\n"), Err(ReadError::Several)));
        let error = parse("[0] w x 1\n[0] q x 2\n").unwrap_err();
        assert!(error.to_string().starts_with("line 2, column "), "{error}");
        assert!(matches!(load("no/such/file.hist"), Err(ReadError::Io(_))));
    }
}
