//! The words of a litmus file, each with its place.

use format::InputError;

use crate::program::Integer;

/// What a word is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Number,
    Sign,
    End,
}

/// A word: its kind and where it stands in the text.
#[derive(Copy, Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The signs of more than one character.
const SIGNS: [&str; 20] = [
    "/\\", "\\/", "==", "!=", "<=", ">=", "=>", "&&", "||", "<<", ">>", "++", "--", "+=", "-=", "*=", "/=", "|=", "&=",
    "^=",
];

/// The words of a text, and the next one to be read.
pub(super) struct Lexer<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// The words of the text from this place on. Comments are left out.
    pub(super) fn new(text: &'a str, from: usize) -> Result<Self, InputError> {
        let bytes = text.as_bytes();
        let mut tokens = Vec::new();
        let mut at = from;
        while at < bytes.len() {
            let rest = &text[at..];
            let Some(first) = rest.chars().next() else { break };
            if first.is_whitespace() {
                at += first.len_utf8();
                continue;
            }
            let is_comment = rest.strip_prefix("(*").is_some_and(is_comment);
            let comment = match () {
                () if rest.starts_with("//") => Some((rest.find('\n').unwrap_or(rest.len()), 0)),
                () if rest.starts_with("/*") => rest[2..].find("*/").map(|end| (end, 4)).or(Some((usize::MAX, 0))),
                () if is_comment => rest[2..].find("*)").map(|end| (end, 4)).or(Some((usize::MAX, 0))),
                () => None,
            };
            if let Some((length, more)) = comment {
                if length == usize::MAX {
                    let expected = if is_comment { "`*)`" } else { "`*/`" };
                    return Err(error(text, at, "this comment has no end".to_owned(), Some(expected.to_owned())));
                }
                at += length + more;
                continue;
            }
            let (kind, length) = if first.is_ascii_digit() {
                (Kind::Number, rest.find(|next: char| !next.is_ascii_alphanumeric()).unwrap_or(rest.len()))
            } else if is_name(first) {
                (Kind::Name, rest.find(|next: char| !is_name(next)).unwrap_or(rest.len()))
            } else {
                let long = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
                (Kind::Sign, long.map_or(first.len_utf8(), str::len))
            };
            tokens.push(Token { kind, start: at, end: at + length });
            at += length;
        }
        tokens.push(Token { kind: Kind::End, start: text.len(), end: text.len() });
        Ok(Self { text, tokens, at: 0 })
    }

    /// The first name from here on that is such a one.
    pub(super) fn find(&self, is_such: impl Fn(&str) -> bool) -> Option<Token> {
        let names = self.tokens[self.at..].iter().filter(|token| token.kind == Kind::Name);
        names.copied().find(|&token| is_such(self.text_of(token)))
    }

    /// The number of a thread that is written `P0` and comes before a `:`. It is read up to the `:`.
    pub(super) fn take_thread(&mut self) -> Option<usize> {
        let number = self.text_of(self.peek()).strip_prefix('P')?.parse().ok()?;
        if !self.is_second(":") {
            return None;
        }
        self.next();
        Some(number)
    }

    pub(super) fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    /// The word after the next one.
    pub(super) fn peek_second(&self) -> Token {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    pub(super) fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.start..token.end]
    }

    /// Whether the next word is this one.
    pub(super) fn is_next(&self, word: &str) -> bool {
        self.text_of(self.peek()) == word && self.peek().kind != Kind::End
    }

    pub(super) fn is_second(&self, word: &str) -> bool {
        self.text_of(self.peek_second()) == word && self.peek_second().kind != Kind::End
    }

    /// Whether one of these words stands so many words ahead, the next one being 0.
    pub(super) fn is_ahead(&self, count: usize, words: &[&str]) -> bool {
        self.tokens.get(self.at + count).is_some_and(|&token| words.contains(&self.text_of(token)))
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.peek();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    /// Reads this word if it is the next.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let is_next = self.is_next(word);
        if is_next {
            self.next();
        }
        is_next
    }

    /// Reads this word, which must be the next.
    pub(super) fn expect(&mut self, word: &str) -> Result<(), InputError> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    /// Reads a name.
    pub(super) fn name(&mut self, what: &str) -> Result<&'a str, InputError> {
        if self.peek().kind != Kind::Name {
            return Err(self.unexpected(what));
        }
        let token = self.next();
        Ok(self.text_of(token))
    }

    /// Reads a constant of C, and says which type it has: the first that holds it, of those that its form allows.
    pub(super) fn literal(&mut self) -> Result<(i64, Integer), InputError> {
        let text = self.text_of(self.peek()).to_ascii_lowercase();
        let value = self.number()?;
        let (is_hex, is_unsigned, is_long) = (text.starts_with("0x"), text.contains('u'), text.contains('l'));
        let types = [
            (Integer::INT, !is_unsigned && !is_long),
            (Integer::Unsigned(32), (is_unsigned || is_hex) && !is_long),
            (Integer::Signed(64), !is_unsigned),
        ];
        let fits = |integer: Integer| value >= 0 && integer.wrap(value) == value;
        let found = types.into_iter().find(|&(integer, is_allowed)| is_allowed && fits(integer));
        Ok((value, found.map_or(Integer::Unsigned(64), |(integer, _)| integer)))
    }

    /// Reads a number, which may have a minus sign. One that only an unsigned type of 64 bits holds is read as its
    /// bits.
    pub(super) fn number(&mut self) -> Result<i64, InputError> {
        let is_negative = self.take("-");
        let token = self.peek();
        if token.kind != Kind::Number {
            return Err(self.unexpected("a number"));
        }
        let digits = self.text_of(token).trim_end_matches(['u', 'U', 'l', 'L']);
        let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16).ok().map(|value| value as i64),
            None => digits.parse::<u64>().ok().map(|value| value as i64),
        };
        let Some(value) = value else {
            return Err(self.at(token, "this number cannot be read", Some("a number of 64 bits")));
        };
        self.next();
        Ok(if is_negative { value.wrapping_neg() } else { value })
    }

    /// The error that the next word is not what was expected.
    pub(super) fn unexpected(&self, expected: &str) -> InputError {
        let token = self.peek();
        let message = match token.kind {
            Kind::End => "the file ends here".to_owned(),
            _ => format!("unexpected {}", quote(self.text_of(token))),
        };
        self.at(token, &message, Some(expected))
    }

    /// An error at a word.
    pub(super) fn at(&self, token: Token, message: &str, expected: Option<&str>) -> InputError {
        error(self.text, token.start, message.to_owned(), expected.map(str::to_owned))
    }
}

/// Whether `(*` begins a comment, before this text. `(*x` may also be a pointer in parentheses; it is not if a `*)`
/// comes before the end of the statement.
fn is_comment(rest: &str) -> bool {
    let end = || rest.find("*)").is_some_and(|end| !rest[..end].contains([';', '{', '}']));
    !rest.starts_with(|next: char| is_name(next) || next == '(') || end()
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// A word in quotes; only the beginning of a long one.
pub(super) fn quote(word: &str) -> String {
    let shown: String = word.chars().take(30).flat_map(char::escape_debug).collect();
    if word.chars().count() > 30 { format!("`{shown}…`") } else { format!("`{shown}`") }
}

/// An error at a place of the text.
pub(super) fn error(text: &str, at: usize, message: String, expected: Option<String>) -> InputError {
    let at = at.min(text.len());
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].split('\n').next().unwrap_or("").trim_end_matches('\r');
    InputError {
        line: text[..at].matches('\n').count() as u32 + 1,
        column: text[start..at].chars().count() as u32 + 1,
        text: line.chars().take(240).collect(),
        message,
        expected,
    }
}
