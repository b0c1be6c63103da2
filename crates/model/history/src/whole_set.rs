//! A whole set as one value: the result of a `read` of a set.
//!
//! The value is a word such as `{1,2,"a b"}`. It has each element once: first the integers in order, then the words in
//! the order of their texts. A word is in quotes if it could be mistaken for something else. So equal sets are equal
//! values. The elements are values of the same history: their words are in its table.

use std::fmt::Write as _;

use crate::history::History;
use crate::literal::is_literal;
use crate::value::{Value, Words};

/// The value of the set of these elements.
pub fn value(words: &mut Words, mut elements: Vec<Value>) -> Value {
    let text_of = |element: Value| element.as_word().map(|word| words.text(word).to_owned());
    elements.sort_by_cached_key(|&element| (text_of(element), element.as_integer()));
    elements.dedup();
    let mut text = String::from("{");
    for (at, &element) in elements.iter().enumerate() {
        let separator = if at > 0 { "," } else { "" };
        let name = words.canonical(element);
        let _ = match element.as_word() {
            Some(_) if !is_bare(&name) => write!(text, "{separator}{name:?}"),
            _ => write!(text, "{separator}{name}"),
        };
    }
    text.push('}');
    words.word(&text)
}

/// Whether a word needs no quotes.
fn is_bare(word: &str) -> bool {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ',' | '"' | '\\' | '{' | '}');
    !word.is_empty() && word.chars().all(is_plain) && !is_literal(word) && word != "nil"
}

/// The elements that a text in braces lists, in any order; none if the text is no such list.
pub fn parse(words: &mut Words, text: &str) -> Option<Vec<Value>> {
    elements(text, |element| match element {
        Element::Bare(text) => Some(words.value(text)),
        Element::Quoted(text) => Some(words.word(&text)),
    })
}

enum Element<'a> {
    Bare(&'a str),
    Quoted(String),
}

fn elements(text: &str, mut value: impl FnMut(Element) -> Option<Value>) -> Option<Vec<Value>> {
    let mut rest = text.strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let end = if rest.starts_with('"') {
            let (text, length) = unquote(rest)?;
            found.push(value(Element::Quoted(text))?);
            length
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let name = rest[..end].trim_end();
            if !name.chars().all(|c| !matches!(c, '"' | '{' | '}')) || name.is_empty() {
                return None;
            }
            found.push(value(Element::Bare(name))?);
            end
        };
        rest = rest[end..].trim_start();
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_prefix(',')?.trim_start();
        if rest.is_empty() {
            return None;
        }
    }
    Some(found)
}

/// The text of the quoted string at the beginning of `text`, with Rust's escapes, and the string's length.
fn unquote(text: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((out, at + 1)),
            '\\' => out.push(match characters.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let digits: String =
                        characters.by_ref().map(|(_, c)| c).skip(1).take_while(|&c| c != '}').collect();
                    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
                }
                other => other,
            }),
            _ => out.push(character),
        }
    }
    None
}

impl History {
    /// The elements of a whole set. `set` is the result of a read of a set.
    pub fn elements(&self, set: Value) -> Vec<Value> {
        let text = set.as_word().map_or("", |word| self.words.text(word));
        let known = |element: Element| match element {
            Element::Bare(text) => self.words.find(text),
            Element::Quoted(text) => self.words.find_word(&text),
        };
        elements(text, known).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_equal_values() {
        let mut history = History::default();
        let names = ["b", "a b", "", "5", "x,y", "\"", "\\", "nil", "\u{7}\n\u{9b}é", "{", "}"];
        let mut elements: Vec<Value> = names.iter().map(|name| history.words.word(name)).collect();
        elements.extend([7, -1, 5].map(|n| Value::integer(n).unwrap()));
        elements.push(Value::NULL);
        let set = value(&mut history.words, elements.clone());
        let mut listed = history.elements(set);
        assert_eq!(listed.len(), elements.len());
        listed.reverse();
        listed.push(listed[0]);
        assert_eq!(value(&mut history.words, listed), set);
        let text = history.show(set);
        let parsed = parse(&mut history.words, &text).unwrap();
        assert_eq!(value(&mut history.words, parsed), set);
        let spaced = parse(&mut history.words, "{ 2 , 1,2 }").unwrap();
        let spaced = value(&mut history.words, spaced);
        assert_eq!(history.show(spaced), "{1,2}");
        let nothing = value(&mut history.words, Vec::new());
        assert_eq!((history.show(nothing).as_str(), history.elements(nothing).len()), ("{}", 0));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let mut words = Words::default();
        for text in
            ["", "1", "{", "}", "{1", "{1,}", "{,1}", "{1 \"a\"}", "{\"a}", "{{1}}", "{\"a\"b}", "{\"\\u{zz}\"}"]
        {
            assert!(parse(&mut words, text).is_none(), "{text}");
        }
    }
}
