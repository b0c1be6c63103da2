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
//! Invariant: equal texts are equal values, and so are equal numbers. A text that is an integer literal
//! ([`crate::literal`]) is stored as an integer if its number fits 62 bits, and else as the word of its canonical text.
//! How a number was first spelled is kept beside it ([`Words::show`], [`Words::show_key`], [`Words::show_process`]),
//! and only for people: nothing is compared by its spelling. The values of an [`Object::KeyValue`] are texts, so
//! there a literal that is not canonical is a word.
//!
//! [`Object::KeyValue`]: crate::Object::KeyValue

use std::fmt;

use crate::literal::{Number, number};
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
    spellings: Spellings,
    /// Whether values are texts, so that only a canonical literal is a number.
    keeps_texts: bool,
}

/// How numbers were first spelled, if not canonically: as values, as names of keys, as names of processes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Spellings {
    /// With the moment of the event that has the spelling.
    values: FxHashMap<u64, (Box<str>, u32)>,
    keys: FxHashMap<u64, Box<str>>,
    processes: FxHashMap<u64, Box<str>>,
    /// The spellings since the last event, which are those of values.
    pending: Vec<(Value, Box<str>)>,
    /// The spellings of the names that were read last ([`Words::naming`]).
    names: Vec<(Value, Box<str>)>,
}

/// What is saved of [`Words`].
type Contents = (Vec<Box<str>>, Vec<Vec<Value>>, Spellings, bool);

impl Default for Words {
    fn default() -> Self {
        let mut words = Self {
            texts: Vec::new(),
            index: FxHashMap::default(),
            bytes: 0,
            chains: Vec::new(),
            spellings: Spellings::default(),
            keeps_texts: false,
        };
        for text in FIXED_WORDS {
            words.word(text);
        }
        words
    }
}

impl From<Contents> for Words {
    fn from((texts, chains, spellings, keeps_texts): Contents) -> Self {
        let index = texts.iter().cloned().zip(0..).collect();
        let bytes = texts.iter().map(|text| text.len()).sum();
        Self { texts, index, bytes, chains, spellings, keeps_texts }
    }
}

impl From<Words> for Contents {
    fn from(words: Words) -> Self {
        (words.texts, words.chains, words.spellings, words.keeps_texts)
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

    /// The value that `text` stands for: a number if it is an integer literal (`7`, `-0x1F`), else a word. `nil` is
    /// `null`. How a number is spelled is remembered.
    pub fn value(&mut self, text: &str) -> Value {
        match canonical_integer(text.as_bytes()) {
            Some(value) => value,
            None if text == "nil" => Value::NULL,
            None => self.string(text),
        }
    }

    /// Like [`Self::value`], for a format in which `nil` is a text like any other.
    pub fn string(&mut self, text: &str) -> Value {
        let value = self.number_or_word(text);
        // The text of a word is how it is spelled.
        if value.as_word().is_none_or(|word| self.text(word) != text) && canonical_integer(text.as_bytes()).is_none() {
            self.spellings.pending.push((value, text.into()));
        }
        value
    }

    /// Like [`Self::value`], but forgets how a number is spelled.
    pub fn meaning(&mut self, text: &str) -> Value {
        match canonical_integer(text.as_bytes()) {
            Some(value) => value,
            None if text == "nil" => Value::NULL,
            None => self.number_or_word(text),
        }
    }

    fn number_or_word(&mut self, text: &str) -> Value {
        match number(text.as_bytes()).filter(|_| !self.keeps_texts) {
            Some(Number::Small(value)) => value,
            Some(Number::Large(canonical)) => self.word(&canonical),
            None => self.word(text),
        }
    }

    /// Like [`Self::value`], but adds no word: `None` for a text that is neither a number nor a word of this table.
    pub fn find(&self, text: &str) -> Option<Value> {
        if text == "nil" {
            return Some(Value::NULL);
        }
        match number(text.as_bytes()) {
            _ if self.keeps_texts => canonical_integer(text.as_bytes()).or_else(|| self.find_word(text)),
            Some(Number::Small(value)) => Some(value),
            Some(Number::Large(canonical)) => self.find_word(&canonical),
            None => self.find_word(text),
        }
    }

    /// Says that values are texts from now on, or that they are not.
    pub fn keep_texts(&mut self, keeps_texts: bool) {
        self.keeps_texts = keeps_texts;
    }

    /// Reads the name of a key or of a process, or several. A name is never a text in the sense of
    /// [`Self::keep_texts`], and its spelling is not that of a value.
    #[inline]
    pub fn naming<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> R {
        let keeps_texts = std::mem::take(&mut self.keeps_texts);
        self.spellings.names.clear();
        let of_values = self.spellings.pending.len();
        let name = read(self);
        self.keeps_texts = keeps_texts;
        if self.spellings.pending.len() > of_values {
            self.spellings.names = self.spellings.pending.split_off(of_values);
        }
        name
    }

    /// Notes that the spellings since the last event are those of values, in the event of this moment.
    pub(crate) fn settle(&mut self, moment: u32) {
        let Spellings { values, pending, .. } = &mut self.spellings;
        for (value, text) in pending.drain(..) {
            values.entry(value.bits()).or_insert((text, moment));
        }
    }

    /// The spelling of a name that was just read, if it has one of its own.
    fn take_spelling(&mut self, name: Value) -> Option<Box<str>> {
        let at = self.spellings.names.iter().position(|&(value, _)| value == name)?;
        Some(self.spellings.names.swap_remove(at).1)
    }

    /// Notes that a name that was just read is the name of a key, and whether the key is new.
    #[inline]
    pub(crate) fn settle_key(&mut self, name: Value, is_new: bool) {
        if !self.spellings.names.is_empty()
            && let Some(text) = self.take_spelling(name).filter(|_| is_new)
        {
            self.spellings.keys.insert(name.bits(), text);
        }
    }

    /// Like [`Self::settle_key`], for the name of a process.
    #[inline]
    pub(crate) fn settle_process(&mut self, name: Value, is_new: bool) {
        if !self.spellings.names.is_empty()
            && let Some(text) = self.take_spelling(name).filter(|_| is_new)
        {
            self.spellings.processes.insert(name.bits(), text);
        }
    }

    /// Whether any value has a spelling.
    pub(crate) fn has_spelled_values(&self) -> bool {
        !self.spellings.values.is_empty()
    }

    /// Drops the spelling of a value that an event spelled canonically before. The readers of canonical numbers do not
    /// note them, so this is known only when all events are.
    pub(crate) fn settle_canonical(&mut self, value: Value, moment: u32) {
        if self.spellings.values.get(&value.bits()).is_some_and(|&(_, first)| moment < first) {
            self.spellings.values.remove(&value.bits());
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
        let Spellings { values, keys, processes, .. } = &self.spellings;
        let spellings = values.capacity() + keys.capacity() + processes.capacity();
        2 * self.bytes
            + 120 * self.texts.len()
            + 80 * spellings
            + size_of::<Value>() * elements
            + 32 * self.chains.capacity()
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

    /// The text of any value; empty for [`Value::NONE`]. A number has the text with which it was first written.
    pub fn show(&self, value: Value) -> String {
        self.show_as(value, |value| self.value_spelling(value))
    }

    /// Like [`Self::show`], for the name of a key.
    pub fn show_key(&self, name: Value) -> String {
        self.show_as(name, |name| self.key_spelling(name))
    }

    /// Like [`Self::show`], for the name of a process.
    pub fn show_process(&self, name: Value) -> String {
        self.show_as(name, |name| self.process_spelling(name))
    }

    /// The same text for the same value, however it was written: numbers are in canonical form.
    pub fn canonical(&self, value: Value) -> String {
        self.show_as(value, |_| None)
    }

    /// How a number was first written as a value, if not in canonical form.
    pub fn value_spelling(&self, value: Value) -> Option<&str> {
        if self.spellings.values.is_empty() {
            return None;
        }
        self.spellings.values.get(&value.bits()).map(|(text, _)| &**text)
    }

    /// Whether a number was first written as a value in another form than the canonical one.
    pub fn is_spelled(&self, value: Value) -> bool {
        self.value_spelling(value).is_some()
    }

    /// Like [`Self::value_spelling`], as the name of a key.
    pub fn key_spelling(&self, name: Value) -> Option<&str> {
        self.spellings.keys.get(&name.bits()).map(|text| &**text)
    }

    /// Like [`Self::value_spelling`], as the name of a process.
    pub fn process_spelling(&self, name: Value) -> Option<&str> {
        self.spellings.processes.get(&name.bits()).map(|text| &**text)
    }

    fn show_as<'w>(&'w self, value: Value, spelling: impl Fn(Value) -> Option<&'w str> + Copy) -> String {
        match (value.as_integer(), value.as_word(), value.as_list()) {
            (None, None, None) => String::new(),
            (.., Some(_)) => {
                let elements = self.list(value).iter().map(|&element| self.show_as(element, spelling));
                format!("[{}]", elements.collect::<Vec<_>>().join(","))
            }
            (n, word, _) => match (spelling(value), n, word) {
                (Some(text), ..) => text.to_owned(),
                (_, Some(n), _) => n.to_string(),
                (.., word) => word.map_or_else(String::new, |word| self.text(word).to_owned()),
            },
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

/// A token in quotes, for a message.
pub fn quote(token: &[u8]) -> String {
    let text = String::from_utf8_lossy(&token[..token.len().min(120)]);
    let shown: String = text.chars().take(30).flat_map(char::escape_debug).collect();
    if text.chars().count() > 30 { format!("`{shown}…`") } else { format!("`{shown}`") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_equal_values() {
        let mut words = Words::default();
        for text in ["0", "-1", "42", "x", "2305843009213693951", "2305843009213693952", "9223372036854775808", "", "-"]
        {
            let value = words.value(text);
            assert_eq!(words.show(value), text);
            assert_eq!(words.value(text), value);
        }
        assert_eq!(words.value("2305843009213693951").as_integer(), Some((1 << 61) - 1));
        assert_eq!(words.value("2305843009213693952").as_integer(), None);
        assert_eq!(words.value("nil"), Value::NULL);
        assert_eq!(words.value("empty"), Value::EMPTY);
    }

    #[test]
    fn equal_numbers_are_equal_values() {
        let mut words = Words::default();
        for texts in [
            &["0x7", "007", "+7", "7"][..],
            &["-0", "0x0", "0"],
            &["0xffffffffffffffff", "18446744073709551615", "0xFFFFFFFFFFFFFFFF"],
        ] {
            let values: Vec<Value> = texts.iter().map(|text| words.value(text)).collect();
            words.settle(0);
            assert!(values.iter().all(|&value| value == values[0]));
            assert_eq!(words.show(values[0]), texts[0]);
            assert!(texts.iter().all(|text| words.find(text) == Some(values[0])));
        }
        // A word is none of the numbers.
        assert_ne!(words.word("0x7"), words.value("0x7"));
        // A text is itself.
        words.keep_texts(true);
        assert_ne!(words.value("007"), words.value("7"));
    }
}
