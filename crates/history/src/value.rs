//! Values, and the words and lists that some of them stand for.
//!
//! A [`Value`] is an integer, a word, a list of values, or absent. It takes eight bytes, and two values compare in one
//! instruction. So an operation stays small, and reads-from is found by comparing machine words. A word is the index of
//! its text in the [`Words`] of its history. So values of different histories must not be compared.
//!
//! A list is the first elements of a *chain* of the same [`Words`]. The versions of one growing list are beginnings of
//! each other, so all of them share one chain, and reads of a list take memory for the longest version only. Two lists
//! of one chain are compatible: one is a prefix of the other. Equal lists need not be equal values.
//!
//! Invariant: equal texts are equal values. A text is stored as an integer exactly if it is the canonical decimal form
//! of an integer that fits 62 bits. `007` and larger integers are words.

use std::fmt;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// An integer, a word or a list of a [`Words`] table, or [`Value::NONE`].
///
/// Encoding: the two low bits are `00` for an integer in the upper 62 bits, `01` for a word index, `10` for a list (31
/// bits for its chain, 31 bits for its length), `11` for none.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Value(u64);

/// The words that every table starts with, so that they are the same value everywhere.
const FIXED_WORDS: [&str; 5] = ["null", "true", "false", "empty", ""];

impl Value {
    /// No value: the result of an operation that returns nothing, or of one that never returned.
    pub const NONE: Self = Self(3);
    /// JSON's `null`, EDN's `nil`; written `null` in text.
    pub const NULL: Self = Self::fixed(0);
    /// The boolean true.
    pub const TRUE: Self = Self::fixed(1);
    /// The boolean false.
    pub const FALSE: Self = Self::fixed(2);
    /// What a removal from an empty container returns.
    pub const EMPTY: Self = Self::fixed(3);
    /// The empty string, the initial value of a string by key.
    pub const BLANK: Self = Self::fixed(4);
    /// The integer zero, the default initial value of a memory location.
    pub const ZERO: Self = Self(0);

    /// Whether this is a word that some tables do not have. Such a word has a meaning in its own table only.
    pub const fn is_own_word(self) -> bool {
        matches!(self.as_word(), Some(index) if index as usize >= FIXED_WORDS.len())
    }

    const fn fixed(index: u64) -> Self {
        Self(index << 2 | 1)
    }

    /// The integer `n`, if it fits 62 bits.
    pub const fn integer(n: i64) -> Option<Self> {
        if n >= -(1 << 61) && n < 1 << 61 { Some(Self((n as u64) << 2)) } else { None }
    }

    /// The integer `n`, which always fits.
    pub const fn small(n: u32) -> Self {
        Self((n as u64) << 2)
    }

    /// The word at `index` of the history's [`Words`].
    pub const fn word(index: u32) -> Self {
        Self((index as u64) << 2 | 1)
    }

    /// The integer, if this is one.
    #[allow(clippy::verbose_bit_mask)] // the two low bits are the tag
    pub const fn as_integer(self) -> Option<i64> {
        if self.0 & 3 == 0 { Some(self.0 as i64 >> 2) } else { None }
    }

    /// The index of the word, if this is one.
    pub const fn as_word(self) -> Option<u32> {
        if self.0 & 3 == 1 { Some((self.0 >> 2) as u32) } else { None }
    }

    /// The empty list. It is the same value everywhere.
    pub const EMPTY_LIST: Self = Self(2);

    /// The first `length` elements of the chain with that index. `None` if a number does not fit 31 bits.
    pub(crate) const fn list(chain: usize, length: usize) -> Option<Self> {
        const MOST: usize = (1 << 31) - 1;
        match length {
            0 => Some(Self::EMPTY_LIST),
            _ if chain > MOST || length > MOST => None,
            _ => Some(Self((chain as u64) << 33 | (length as u64) << 2 | 2)),
        }
    }

    /// The chain and the length, if this is a list. [`Words::list`] has the elements.
    pub const fn as_list(self) -> Option<(u32, u32)> {
        if self.0 & 3 == 2 { Some(((self.0 >> 33) as u32, (self.0 >> 2) as u32 & 0x7fff_ffff)) } else { None }
    }

    /// Whether there is a value at all.
    pub const fn is_some(self) -> bool {
        self.0 != Self::NONE.0
    }

    /// Whether there is no value.
    pub const fn is_none(self) -> bool {
        self.0 == Self::NONE.0
    }

    /// `true` or `false` as a value.
    pub const fn boolean(b: bool) -> Self {
        if b { Self::TRUE } else { Self::FALSE }
    }

    /// The bits of the encoding. They are equal exactly for equal values, so they can be a hash key.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The value with these bits, which must come from [`Self::bits`].
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_integer(), self.as_word()) {
            (Some(n), _) => write!(f, "{n}"),
            (_, Some(w)) => match FIXED_WORDS.get(w as usize) {
                Some(text) => f.write_str(text),
                None => write!(f, "word#{w}"),
            },
            _ => match self.as_list() {
                Some((chain, length)) => write!(f, "list#{chain}[..{length}]"),
                None => f.write_str("none"),
            },
        }
    }
}

/// The texts of a history's words, each stored once, and the elements of its lists.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Contents", into = "Contents")]
pub struct Words {
    texts: Vec<Box<str>>,
    index: FxHashMap<Box<str>, u32>,
    /// The length of all texts together.
    bytes: usize,
    /// The chains of the lists.
    chains: Vec<Vec<Value>>,
}

/// What is saved of [`Words`]: the texts and the chains.
type Contents = (Vec<Box<str>>, Vec<Vec<Value>>);

impl Default for Words {
    fn default() -> Self {
        let mut words = Self { texts: Vec::new(), index: FxHashMap::default(), bytes: 0, chains: Vec::new() };
        for text in FIXED_WORDS {
            words.word(text);
        }
        words
    }
}

impl From<Contents> for Words {
    fn from((texts, chains): Contents) -> Self {
        let index = texts.iter().cloned().zip(0..).collect();
        let bytes = texts.iter().map(|text| text.len()).sum();
        Self { texts, index, bytes, chains }
    }
}

impl From<Words> for Contents {
    fn from(words: Words) -> Self {
        (words.texts, words.chains)
    }
}

impl Words {
    /// The word `text`, even if the text looks like an integer.
    pub fn word(&mut self, text: &str) -> Value {
        if let Some(&at) = self.index.get(text) {
            return Value::word(at);
        }
        let at = self.texts.len() as u32;
        self.bytes += text.len();
        self.texts.push(text.into());
        self.index.insert(text.into(), at);
        Value::word(at)
    }

    /// The value that `text` stands for: an integer in canonical form, else a word. `nil` is `null`.
    pub fn value(&mut self, text: &str) -> Value {
        match canonical_integer(text.as_bytes()) {
            Some(value) => value,
            None if text == "nil" => Value::NULL,
            None => self.word(text),
        }
    }

    /// Like [`Self::value`], but adds no word: `None` for a text that is neither an integer nor a word of this table.
    pub fn find(&self, text: &str) -> Option<Value> {
        match canonical_integer(text.as_bytes()) {
            Some(value) => Some(value),
            None if text == "nil" => Some(Value::NULL),
            None => self.index.get(text).map(|&at| Value::word(at)),
        }
    }

    /// How many words there are.
    pub fn count(&self) -> u32 {
        self.texts.len() as u32
    }

    /// The word with that text, if it is in this table.
    pub fn find_word(&self, text: &str) -> Option<Value> {
        self.index.get(text).map(|&at| Value::word(at))
    }

    /// About how many bytes of memory the table takes: each text twice, the overhead of the allocator, and an entry of
    /// the index.
    pub(crate) fn footprint(&self) -> usize {
        let elements: usize = self.chains.iter().map(Vec::capacity).sum();
        2 * self.bytes + 120 * self.texts.len() + size_of::<Value>() * elements + 32 * self.chains.capacity()
    }

    /// The elements of a list; none if the value is not a list of this table.
    pub fn list(&self, value: Value) -> &[Value] {
        let Some((chain, length)) = value.as_list() else {
            return &[];
        };
        self.chains.get(chain as usize).and_then(|chain| chain.get(..length as usize)).unwrap_or(&[])
    }

    /// Whether this table has the word or the list that the value stands for.
    pub(crate) fn knows(&self, value: Value) -> bool {
        match (value.as_word(), value.as_list()) {
            (Some(word), _) => word < self.count(),
            (_, Some((chain, length))) => {
                length == 0 || self.chains.get(chain as usize).is_some_and(|chain| length as usize <= chain.len())
            }
            _ => true,
        }
    }

    /// The list of these elements, if it is compatible with the chain. The chain grows where the list is longer.
    pub(crate) fn list_in(&mut self, chain: usize, elements: &[Value]) -> Option<Value> {
        let known = self.chains.get_mut(chain)?;
        let common = known.len().min(elements.len());
        if known[..common] != elements[..common] {
            return None;
        }
        let list = Value::list(chain, elements.len())?;
        known.extend_from_slice(&elements[common..]);
        Some(list)
    }

    /// A new chain without elements; its index.
    pub(crate) fn new_chain(&mut self) -> usize {
        self.chains.push(Vec::new());
        self.chains.len() - 1
    }

    /// The text of the word at `index`.
    pub fn text(&self, index: u32) -> &str {
        &self.texts[index as usize]
    }

    /// The text of any value; empty for [`Value::NONE`].
    pub fn show(&self, value: Value) -> String {
        match (value.as_integer(), value.as_word(), value.as_list()) {
            (Some(n), ..) => n.to_string(),
            (_, Some(w), _) => self.text(w).to_owned(),
            (.., Some(_)) => {
                let elements: Vec<String> = self.list(value).iter().map(|&element| self.show(element)).collect();
                format!("[{}]", elements.join(","))
            }
            _ => String::new(),
        }
    }
}

/// The integer that `text` spells in canonical form: no leading zero or plus, no `-0`, within 62 bits.
pub fn canonical_integer(text: &[u8]) -> Option<Value> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 || (digits[0] == b'0' && (digits.len() > 1 || negative)) {
        // Nineteen digits may still fit 62 bits. They are rare, so they go the slow way.
        if digits.len() == 19 && digits[0] != b'0' && digits.iter().all(u8::is_ascii_digit) {
            return Value::integer(std::str::from_utf8(text).ok()?.parse().ok()?);
        }
        return None;
    }
    let mut n: i64 = 0;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n = n * 10 + i64::from(digit);
    }
    Value::integer(if negative { -n } else { n })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_equal_values() {
        let mut words = Words::default();
        for text in [
            "0",
            "-1",
            "42",
            "007",
            "-0",
            "x",
            "2305843009213693951",
            "2305843009213693952",
            "9223372036854775808",
            "",
            "-",
            "+1",
        ] {
            let value = words.value(text);
            assert_eq!(words.show(value), text);
            assert_eq!(words.value(text), value);
        }
        assert_eq!(words.value("2305843009213693951").as_integer(), Some((1 << 61) - 1));
        assert_eq!(words.value("2305843009213693952").as_integer(), None);
        assert_eq!(words.value("007").as_integer(), None);
        assert_eq!(words.value("nil"), Value::NULL);
        assert_eq!(words.value("empty"), Value::EMPTY);
    }
}
