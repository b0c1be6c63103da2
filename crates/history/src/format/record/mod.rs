//! Records of Jepsen's kind: what JSON Lines, EDN and Jepsen's logs have in common.
//!
//! A record is a flat map of fields. Either it is an event, with `process`, `f`, `value` and so on, or, without an `f`, a
//! header, which begins a history and says what is not in its events: `object`, `init`, `initial`, `capacity`, `name`,
//! `final`. The fields of a record are pieces of source text; a [`Notation`] reads and writes them.
//!
//! What `value` is, by method (an operation without `type` has argument and result in one value):
//!
//! | method | `invoke` | `ok` | without `type` |
//! | --- | --- | --- | --- |
//! | takes a value (`write`, `enqueue`, …) | the value | the same, or null | the value |
//! | reads, removes | null | the result; null of a removal is empty | the result |
//! | `cas` | `[old, new]` | `[old, new]` is success; `false` is a mismatch | `[old, new]`, or `[[old, new], false]` |
//! | `u` of a memory | what is written | `[read, written]`, or what is read | `[read, written]` |
//! | set | the element | `true`, `false`, or null for unknown | `[element, true]`, or the element |
//! | `read` of a set | null | an array or a set of all elements | the same |
//! | `exchange` | the value | the partner's, or null | `[value, partner's]` |
//! | any of an open object | null, the argument, or an array of them | the result; null is none | `[[arguments], result]` |
//!
//! A key is in the field `key`; without it, a value `[key value]` has it, as Jepsen's `independent` writes. In an operation
//! of an open object that would be two arguments.

mod read;
mod write;

pub(super) use read::Assembler;
pub(super) use write::write_history;

pub(super) use super::edn::Edn;
pub(super) use super::json::Json;

use super::error::Fault;
use crate::value::{Value, Words};

/// A field of a record.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Process,
    Type,
    F,
    Key,
    Value,
    Time,
    Order,
    Id,
    From,
    Po,
    Object,
    Init,
    Initial,
    Capacity,
    Name,
    Final,
}

impl Field {
    const COUNT: usize = 16;

    /// The field of that name; others are ignored.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"process" => Self::Process,
            b"type" => Self::Type,
            b"f" => Self::F,
            b"key" => Self::Key,
            b"value" => Self::Value,
            b"time" => Self::Time,
            b"order" => Self::Order,
            b"id" => Self::Id,
            b"from" => Self::From,
            b"po" => Self::Po,
            b"object" => Self::Object,
            b"init" => Self::Init,
            b"initial" => Self::Initial,
            b"capacity" => Self::Capacity,
            b"name" => Self::Name,
            b"final" => Self::Final,
            _ => return None,
        })
    }
}

/// The source text of a value, and its offset in the line.
#[derive(Copy, Clone, Debug)]
pub(super) struct Raw<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

/// The fields of a record.
#[derive(Default)]
pub(super) struct Record<'a> {
    fields: [Option<Raw<'a>>; Field::COUNT],
    /// A field that was set twice, by its second value.
    repeated: Option<Raw<'a>>,
}

impl<'a> Record<'a> {
    pub fn set(&mut self, field: Field, raw: Raw<'a>) {
        if self.fields[field as usize].replace(raw).is_some() {
            self.repeated = Some(raw);
        }
    }

    pub fn get(&self, field: Field) -> Option<Raw<'a>> {
        self.fields[field as usize]
    }

    /// Whether this is a header, not an event.
    pub fn is_header(&self) -> bool {
        self.get(Field::F).is_none()
            && self.get(Field::Process).is_none()
            && self.fields[Field::Object as usize..].iter().any(Option::is_some)
    }
}

/// How values are written in a format.
pub(super) trait Notation {
    /// The value: an integer, a word, a boolean or null. Anything else is the word of its compact text.
    fn scalar(&self, words: &mut Words, raw: Raw) -> Result<Value, Fault>;
    /// The text of a string, a keyword or a symbol without escapes: a name that we know is one.
    fn name<'a>(&self, raw: Raw<'a>) -> Option<&'a [u8]>;
    /// The elements of an array of two.
    fn pair<'a>(&self, raw: Raw<'a>) -> Option<[Raw<'a>; 2]>;
    /// The elements of an array, or of a set if there is such a thing; `None` if it is neither.
    fn elements<'a>(&self, raw: Raw<'a>) -> Option<Vec<Raw<'a>>>;
    /// The entries of a map, or of an array of pairs; `None` if it is neither.
    fn entries<'a>(&self, words: &mut Words, raw: Raw<'a>) -> Result<Option<Vec<(Value, Raw<'a>)>>, Fault>;
    /// Whether it is null.
    fn is_null(&self, raw: Raw) -> bool;
    /// Whether an event of this process is one of Jepsen's own (its nemesis), not of a client.
    fn is_tester(&self, process: Raw) -> bool;

    /// Whether the keys of a map are values; if not, they are words, and read as in text.
    const HAS_TYPED_KEYS: bool;
    /// What separates the elements of an array.
    const SEPARATOR: &'static str;
    /// What encloses the elements of a set.
    const SET: [&'static str; 2];
    /// What separates a key of a map from its value.
    const ASSIGNMENT: &'static str;
    /// What null is called.
    const NULL: &'static str;
    /// Appends the name of a field, and before the first the beginning of the record.
    fn push_field(&self, out: &mut Vec<u8>, is_first: bool, name: &str);
    /// Appends a name that we know.
    fn push_name(&self, out: &mut Vec<u8>, name: &str);
}
