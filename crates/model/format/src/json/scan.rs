//! Where the values of JSON begin and end in a line.
//!
//! A scanner reads every byte once and builds nothing: it hands out pieces of the line. It accepts JSON's grammar and
//! nothing else, to any depth, without recursion.

use crate::error::Fault;
use crate::record::Raw;
use crate::swar::{digit_count, load, plain_count};
use history::value::quote;

/// A place in a piece of a line.
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn skip_white(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let message = match self.bytes.get(self.at..) {
            None | Some([]) => "the line ends too early".to_owned(),
            Some(rest) => {
                let end = rest.iter().position(|&byte| matches!(byte, b',' | b':' | b'}' | b']' | b' '));
                format!("{} is not understood here", quote(&rest[..end.unwrap_or(rest.len()).max(1)]))
            }
        };
        Fault::new(self.at, message).expected(expected)
    }

    /// The members of an object: names with their quotes, and values.
    pub(super) fn members(&mut self, mut each: impl FnMut(Raw<'a>, Raw<'a>)) -> Result<(), Fault> {
        if !self.take(b'{') {
            return Err(self.unexpected("a JSON object"));
        }
        self.skip_white();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.skip_white();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("the name of a field in double quotes"));
            }
            let start = self.at;
            self.string()?;
            let name = Raw { text: &self.bytes[start..self.at], at: start };
            self.skip_white();
            if !self.take(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.skip_white();
            let value = self.value()?;
            each(name, value);
            self.skip_white();
            if self.take(b'}') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
    }

    /// The elements of an array.
    pub(super) fn elements(&mut self, mut each: impl FnMut(Raw<'a>)) -> Result<(), Fault> {
        if !self.take(b'[') {
            return Err(self.unexpected("an array"));
        }
        self.skip_white();
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.skip_white();
            each(self.value()?);
            self.skip_white();
            if self.take(b']') {
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
        }
    }

    /// Any value.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Raw<'a>, Fault> {
        let start = self.at;
        match self.peek() {
            Some(b'[' | b'{') => self.nested()?,
            _ => self.simple()?,
        }
        Ok(Raw { text: &self.bytes[start..self.at], at: start })
    }

    /// A string, a number, or a literal.
    #[inline]
    fn simple(&mut self) -> Result<(), Fault> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        match rest.first() {
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => match number_length(rest) {
                Some(length) => self.at += length,
                None => return Err(self.unexpected("a number")),
            },
            _ => self.literal()?,
        }
        Ok(())
    }

    fn literal(&mut self) -> Result<(), Fault> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        match [&b"null"[..], b"true", b"false"].into_iter().find(|literal| rest.starts_with(literal)) {
            Some(literal) => self.at += literal.len(),
            None => return Err(self.unexpected("a JSON value")),
        }
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<(), Fault> {
        let mut at = self.at + 1;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let plain = plain_count(load(rest)) as usize;
            at += plain;
            match rest.get(plain) {
                _ if plain == 8 => {}
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(_) => return Err(Fault::new(at, "a control character in a string").expected("an escape")),
                None => return Err(Fault::new(self.at, "this string has no end").expected("a closing `\"`")),
            }
        }
        self.at = at + 1;
        Ok(())
    }

    /// An array or an object, of any depth. Open brackets are on a stack, without recursion.
    fn nested(&mut self) -> Result<(), Fault> {
        let mut open = Vec::new();
        loop {
            self.skip_white();
            // A value begins here, or the array or object that was just opened is empty.
            match self.peek() {
                Some(byte @ (b'[' | b'{')) => {
                    open.push(byte + 2);
                    self.at += 1;
                    self.skip_white();
                    if self.peek() != open.last().copied() {
                        if byte == b'{' {
                            self.member_name()?;
                        }
                        continue;
                    }
                }
                _ => self.simple()?,
            }
            // A value has ended here, or an empty array or object is about to end.
            loop {
                let Some(&close) = open.last() else {
                    return Ok(());
                };
                self.skip_white();
                if self.take(close) {
                    open.pop();
                    continue;
                }
                if !self.take(b',') {
                    return Err(self.unexpected(if close == b'}' { "`,` or `}`" } else { "`,` or `]`" }));
                }
                if close == b'}' {
                    self.skip_white();
                    self.member_name()?;
                }
                break;
            }
        }
    }

    fn member_name(&mut self) -> Result<(), Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("the name of a field in double quotes"));
        }
        self.simple()?;
        self.skip_white();
        if self.take(b':') { Ok(()) } else { Err(self.unexpected("`:`")) }
    }
}

/// The length of the number at the beginning of `bytes`, by JSON's grammar.
fn number_length(bytes: &[u8]) -> Option<usize> {
    let count = digit_count(load(bytes)) as usize;
    let is_short = (1..8).contains(&count) && !matches!(bytes.get(count), Some(b'.' | b'e' | b'E'));
    if is_short && (bytes[0] != b'0' || count == 1) {
        return Some(count);
    }
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && bytes[at] == b'0') {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at.min(bytes.len()));
        if exponent == 0 {
            return None;
        }
        at += exponent;
    }
    Some(at)
}
