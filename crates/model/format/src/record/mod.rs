//! Records as Jepsen writes them: what JSON Lines, EDN and Jepsen's logs have in common.
//!
//! A record is a flat map of fields. A record with an `f` is an event, with `process`, `f`, `value` and so on. A record
//! without an `f` is a header. A header begins a history, and has the facts that are not in the events: `object`,
//! `init`, `initial`, `capacity`, `name`, `final`, `realtime`. The fields of a record are pieces of source text. A
//! [`Notation`] reads and writes them.
//!
//! The meaning of `value`, by method (an operation without `type` has its argument and its result in one value):
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
//! | of an open object | null, the argument, or an array | the result; null is none | `[[arguments], result]` |
//!
//! A key is in the field `key`. Without that field, a value `[key value]` has the key, as Jepsen's `independent` writes
//! it. For an open object, such a value is two arguments.

mod read;
mod sets;
mod transactions;
mod write;
mod write_transactions;

pub(super) use read::Assembler;
pub(super) use write::write_history;

pub(super) use super::edn::Edn;
pub(super) use super::json::Json;

use super::error::Fault;
use history::value::{Value, Words};

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
    Size,
    Object,
    Init,
    Initial,
    Capacity,
    Name,
    Final,
    Realtime,
}

impl Field {
    const COUNT: usize = 18;

    /// The field of that name. Other names are ignored.
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
            b"size" => Self::Size,
            b"object" => Self::Object,
            b"init" => Self::Init,
            b"initial" => Self::Initial,
            b"capacity" => Self::Capacity,
            b"name" => Self::Name,
            b"final" => Self::Final,
            b"realtime" => Self::Realtime,
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
    /// The second value of a field that was set twice.
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
    /// A value: an integer, a word, a boolean or null. Any other form is a word, with the compact text of the form.
    fn scalar(&self, words: &mut Words, raw: Raw) -> Result<Value, Fault>;
    /// The text of a string, a keyword or a symbol without escapes. All names that we know are such texts.
    fn name<'a>(&self, raw: Raw<'a>) -> Option<&'a [u8]>;
    /// The elements of an array of two.
    fn pair<'a>(&self, raw: Raw<'a>) -> Option<[Raw<'a>; 2]>;
    /// The elements of an array or, if the format has sets, of a set. `None` if it is neither.
    fn elements<'a>(&self, raw: Raw<'a>) -> Option<Vec<Raw<'a>>>;
    /// The entries of a map, or of an array of pairs; `None` if it is neither.
    fn entries<'a>(&self, words: &mut Words, raw: Raw<'a>) -> Result<Option<Vec<(Value, Raw<'a>)>>, Fault>;
    /// Whether the value is null.
    fn is_null(&self, raw: Raw) -> bool;
    /// Whether a process is one of Jepsen's own, such as its nemesis, not a client.
    fn is_tester(&self, process: Raw) -> bool;

    /// Whether the keys of a map are values. If not, they are words, and are read as in text.
    const HAS_TYPED_KEYS: bool;
    /// The separator between the elements of an array.
    const SEPARATOR: &'static str;
    /// The brackets of a set.
    const SET: [&'static str; 2];
    /// The separator between a key of a map and its value.
    const ASSIGNMENT: &'static str;
    /// The name of null.
    const NULL: &'static str;
    /// Appends the name of a field. Before the first field, also the beginning of the record.
    fn push_field(&self, out: &mut Vec<u8>, is_first: bool, name: &str);
    /// Appends one of the names that we know.
    fn push_name(&self, out: &mut Vec<u8>, name: &str);
    /// Appends a word, which may look like a number.
    fn push_word(&self, out: &mut Vec<u8>, word: &str);
    /// Appends a number in the spelling of its file, or in its canonical form if the format does not read that one.
    fn push_spelling(&self, out: &mut Vec<u8>, spelling: &str, canonical: &str);
}
