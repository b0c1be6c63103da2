//! The arguments of an operation or of its end: `1 2` or `(1, 2)`.

use super::line::{Cursor, Until, is_white};
use crate::builder::Builder;
use crate::error::Fault;
use history::value::{Value, Words};

/// The arguments of an operation: `1 2` or `(1, 2)`.
pub(super) struct Arguments<'c, 'a> {
    pub(super) cursor: &'c mut Cursor<'a>,
    pub(super) is_parenthesized: bool,
    is_first: bool,
}

impl<'c, 'a> Arguments<'c, 'a> {
    /// The arguments that follow right after the name of the method.
    pub(super) fn new(cursor: &'c mut Cursor<'a>) -> Self {
        let is_parenthesized = cursor.take(b'(');
        Self { cursor, is_parenthesized, is_first: true }
    }

    pub(super) fn next(&mut self, builder: &mut Builder, what: &str) -> Result<Value, Fault> {
        self.read(builder.words_mut(), what)
    }

    /// Like [`Self::next`], for a name.
    pub(super) fn next_name(&mut self, builder: &mut Builder, what: &str) -> Result<Value, Fault> {
        builder.words_mut().naming(|words| self.read(words, what))
    }

    fn read(&mut self, words: &mut Words, what: &str) -> Result<Value, Fault> {
        let is_first = std::mem::take(&mut self.is_first);
        if !self.is_parenthesized {
            return self.cursor.value(words, Until::White, what);
        }
        self.cursor.skip_white();
        if !is_first && !self.cursor.take(b',') {
            return Err(Fault::new(self.cursor.at, format!("{what} is missing")).expected(format!("`,` and {what}")));
        }
        self.cursor.value(words, Until::Parenthesis, what)
    }

    /// Whether another argument follows, not an attribute.
    pub(super) fn has_more(&mut self) -> bool {
        if self.cursor.is_at_end() {
            return false;
        }
        let token = self.cursor.rest().split(|&byte| is_white(byte)).next().unwrap_or_default();
        if self.is_parenthesized {
            !token.starts_with(b")")
        } else {
            token.starts_with(b"\"") || !token.contains(&b'=')
        }
    }

    pub(super) fn end(self) -> Result<(), Fault> {
        if self.is_parenthesized {
            self.cursor.skip_white();
            if !self.cursor.take(b')') {
                return Err(Fault::new(self.cursor.at, "the arguments do not end here").expected("`)`"));
            }
        }
        Ok(())
    }
}
