//! JSON's notation of values: a number, a string, `null`, `true`, `false`. Any other value is a word with its text, and
//! without white space.
//!
//! A word that looks like a number is written `{"word":"5"}`.

use super::scan::Scanner;
use crate::error::{Fault, utf8};
use crate::numbers::{Inside, in_canonical_form, whole};
use crate::record::{Notation, Raw};
use crate::string::{push_quoted, unquote};
use history::literal::is_literal;
use history::value::{Value, Words, canonical_integer};
use serde::{Deserialize, Serialize};

/// JSON's notation of values.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Json;

impl Notation for Json {
    fn scalar(&self, words: &mut Words, raw: Raw) -> Result<Value, Fault> {
        match raw.text {
            [b'"', inside @ .., b'"'] => {
                if memchr::memchr(b'\\', inside).is_some() {
                    Ok(words.string(&unquote(raw.text, raw.at)?))
                } else {
                    Ok(words.string(utf8(inside, raw.at + 1)?))
                }
            }
            b"null" => Ok(Value::NULL),
            b"true" => Ok(Value::TRUE),
            b"false" => Ok(Value::FALSE),
            [b'[' | b'{', ..] => {
                utf8(raw.text, raw.at)?;
                if let Some(text) = quoted_word(raw)? {
                    return Ok(words.word(&text));
                }
                Ok(words.word(&String::from_utf8_lossy(&in_canonical_form(raw.text, Inside::Json))))
            }
            text => match canonical_integer(text) {
                Some(value) => Ok(value),
                None => match whole(text) {
                    Some(digits) => Ok(words.meaning(&digits)),
                    None => Ok(words.string(utf8(text, raw.at)?)),
                },
            },
        }
    }

    fn name<'a>(&self, raw: Raw<'a>) -> Option<&'a [u8]> {
        match raw.text {
            [b'"', inside @ .., b'"'] => Some(inside),
            _ => None,
        }
    }

    fn pair<'a>(&self, raw: Raw<'a>) -> Option<[Raw<'a>; 2]> {
        if raw.text.first() != Some(&b'[') {
            return None;
        }
        let mut found = [None; 2];
        let mut count = 0;
        let shift = |element: Raw<'a>| Raw { at: element.at + raw.at, ..element };
        let mut scanner = Scanner::new(raw.text);
        let each = |element| {
            if let Some(slot) = found.get_mut(count) {
                *slot = Some(shift(element));
            }
            count += 1;
        };
        scanner.elements(each).ok()?;
        if count == 2 { Some([found[0]?, found[1]?]) } else { None }
    }

    fn elements<'a>(&self, raw: Raw<'a>) -> Option<Vec<Raw<'a>>> {
        let mut found = Vec::new();
        let mut scanner = Scanner::new(raw.text);
        scanner.elements(|element| found.push(Raw { at: element.at + raw.at, ..element })).ok()?;
        Some(found)
    }

    fn entries<'a>(&self, words: &mut Words, raw: Raw<'a>) -> Result<Option<Vec<(Value, Raw<'a>)>>, Fault> {
        let mut scanner = Scanner::new(raw.text);
        let mut found = Vec::new();
        let shift = |inner: Raw<'a>| Raw { at: inner.at + raw.at, ..inner };
        match raw.text.first() {
            Some(b'{') => {
                scanner.members(|name, value| found.push((shift(name), shift(value))))?;
                let entry = |(name, value): (Raw<'a>, Raw<'a>)| {
                    let name = unquote(name.text, name.at)?;
                    Ok((words.value(&name), value))
                };
                found.into_iter().map(entry).collect::<Result<_, _>>().map(Some)
            }
            Some(b'[') => {
                let mut pairs = Vec::new();
                scanner.elements(|element| pairs.push(self.pair(shift(element))))?;
                let Some(pairs) = pairs.into_iter().collect::<Option<Vec<_>>>() else {
                    return Ok(None);
                };
                let entry = |[name, value]: [Raw<'a>; 2]| Ok((self.scalar(words, name)?, value));
                pairs.into_iter().map(entry).collect::<Result<_, _>>().map(Some)
            }
            _ => Ok(None),
        }
    }

    fn is_null(&self, raw: Raw) -> bool {
        raw.text == b"null"
    }

    fn is_tester(&self, _: Raw) -> bool {
        false
    }

    const HAS_TYPED_KEYS: bool = false;
    const SEPARATOR: &'static str = ",";
    const SET: [&'static str; 2] = ["[", "]"];
    const ASSIGNMENT: &'static str = ":";
    const NULL: &'static str = "null";

    fn push_field(&self, out: &mut Vec<u8>, is_first: bool, name: &str) {
        out.push(if is_first { b'{' } else { b',' });
        push_quoted(out, name);
        out.push(b':');
    }

    fn push_name(&self, out: &mut Vec<u8>, name: &str) {
        push_quoted(out, name);
    }

    fn push_word(&self, out: &mut Vec<u8>, word: &str) {
        if is_literal(word) {
            out.extend_from_slice(b"{\"word\":");
            push_quoted(out, word);
            out.push(b'}');
        } else {
            push_quoted(out, word);
        }
    }

    fn push_spelling(&self, out: &mut Vec<u8>, spelling: &str, _: &str) {
        push_quoted(out, spelling);
    }
}

/// The text of a word that could be taken for a number: `{"word":"5"}`. None for any other object or array.
fn quoted_word(raw: Raw) -> Result<Option<String>, Fault> {
    let mut found = None;
    let mut count = 0;
    let mut scanner = Scanner::new(raw.text);
    if !raw.text.starts_with(b"{") {
        return Ok(None);
    }
    scanner.members(|name, value| {
        count += 1;
        found = (name.text == b"\"word\"" && value.text.starts_with(b"\"")).then_some(value);
    })?;
    match found.filter(|_| count == 1) {
        Some(text) => unquote(text.text, raw.at + text.at).map(Some),
        None => Ok(None),
    }
}
