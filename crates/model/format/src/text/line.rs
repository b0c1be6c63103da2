//! The tokens of a line of text: words, words in quotes, and what stands in parentheses or brackets. A cursor moves
//! over the bytes and never back, so each is looked at once.

use super::super::error::{Fault, utf8};
use super::super::string::{quoted_length, unquote};
use history::value::{Value, Words, canonical_integer, quote};

/// A position in a line. Offsets count from the beginning of the line.
pub(super) struct Cursor<'a> {
    line: &'a [u8],
    pub at: usize,
}

pub(super) const fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// Where a token without quotes ends.
#[derive(Copy, Clone)]
pub(super) enum Until {
    /// At white space.
    White,
    /// At a comma or a closing parenthesis. White space at both ends is not counted. Angle brackets hold a token
    /// together: LiMo has values such as `?<0,0>`.
    Parenthesis,
    /// At a closing bracket.
    Bracket,
    /// At a comma or a closing bracket.
    Element,
}

impl<'a> Cursor<'a> {
    pub fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    pub fn skip_white(&mut self) {
        while self.line.get(self.at).copied().is_some_and(is_white) {
            self.at += 1;
        }
    }

    pub fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// The text from `start` up to the current position.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.line[start..self.at]
    }

    /// Takes `byte` if it is next.
    pub fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    pub fn is_at_end(&mut self) -> bool {
        self.skip_white();
        self.at == self.line.len()
    }

    /// Takes the longest run of bytes that `belongs` accepts.
    pub fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let start = self.at;
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
        &self.line[start..self.at]
    }

    /// Takes the next value: an integer, a word, or a string in double quotes. `what` names it in an error.
    pub fn value(&mut self, words: &mut Words, until: Until, what: &str) -> Result<Value, Fault> {
        self.skip_white();
        let start = self.at;
        if self.peek() == Some(b'"') {
            let Some((length, _)) = quoted_length(self.rest()) else {
                return Err(Fault::new(start, "this string has no end").expected("a closing `\"`"));
            };
            self.at += length;
            let text = unquote(&self.line[start..self.at], start)?;
            let is_closed = match (until, self.peek()) {
                (Until::White, next) => next.is_none_or(is_white),
                (Until::Parenthesis, _) => {
                    self.skip_white();
                    matches!(self.peek(), Some(b',' | b')'))
                }
                (Until::Bracket, next) => next == Some(b']'),
                (Until::Element, next) => matches!(next, Some(b',' | b']')),
            };
            if !is_closed {
                return Err(Fault::new(self.at, "text right after a string").expected("white space"));
            }
            return Ok(words.word(&text));
        }
        let mut token = match until {
            Until::White => self.run(|byte| !is_white(byte)),
            Until::Parenthesis => self.until_comma(),
            Until::Bracket => self.run(|byte| byte != b']'),
            Until::Element => self.run(|byte| !is_white(byte) && !matches!(byte, b',' | b']')),
        };
        if let Until::Parenthesis = until {
            token = token.trim_ascii_end();
        }
        if token.is_empty() {
            return Err(Fault::new(start, format!("{what} is missing")).expected(what));
        }
        // The common case needs no text.
        if let Some(value) = canonical_integer(token) {
            return Ok(value);
        }
        let text = utf8(token, start)?;
        if let Some(bad) = text.bytes().position(|byte| byte.is_ascii_control() || byte == b' ') {
            let name = if text.as_bytes()[bad] == b' ' || text.as_bytes()[bad] == b'\t' {
                "white space"
            } else {
                "a control character"
            };
            let message = format!("{name} in the word {}", quote(token));
            return Err(Fault::new(start + bad, message).expected("such a word in double quotes"));
        }
        Ok(words.value(text))
    }

    fn until_comma(&mut self) -> &'a [u8] {
        let start = self.at;
        loop {
            self.run(|byte| !matches!(byte, b',' | b')' | b'<'));
            if self.peek() != Some(b'<') {
                return self.since(start);
            }
            let rest = self.rest();
            let end = rest.iter().position(|&byte| is_white(byte) || matches!(byte, b'>' | b'(' | b')'));
            self.at += end.filter(|&end| rest[end] == b'>').unwrap_or(0) + 1;
        }
    }

    /// Takes the next integer, which must not be negative.
    pub fn number(&mut self, what: &str) -> Result<u64, Fault> {
        self.skip_white();
        let start = self.at;
        let token = self.run(|byte| !is_white(byte));
        std::str::from_utf8(token)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| {
                let message = format!("{} is not {what}", quote(token));
                Fault::new(start, message).expected("an integer from 0, below 2^64")
            })
    }

    /// Checks that the line ends here.
    pub fn end(&mut self, expected: &str) -> Result<(), Fault> {
        if self.is_at_end() {
            return Ok(());
        }
        let start = self.at;
        let token = self.run(|byte| !is_white(byte));
        Err(Fault::new(start, format!("{} is not understood here", quote(token))).expected(expected))
    }
}
