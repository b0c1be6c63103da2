//! Requests to etcd and what it answers: the methods and values of the object `etcd`.
//!
//! A history of etcd is one of an [open object](crate::Object::Open) of that name. A request is one method with one
//! argument, and the answer is one word, so that every format can write it and it stays readable:
//!
//! | method | argument | answer |
//! | --- | --- | --- |
//! | `range` | `key`, `a~b`, `a~b,limit=3` | `rev=12,count=1,key=value@5`, or `key=value@5.2` with the version |
//! | `put` | `key=value` | `rev=13` |
//! | `delete` | `key` | `rev=14,deleted=1` |
//! | `txn` | `if(key@5)then(put(key=value),delete(key))else(range(key))` | `rev=15,then(put,deleted=1)` |
//!
//! `a~b` are the keys from `a` up to `b`, without `b`. A condition `key@5` asks for the revision at which the key was
//! last written, which is 0 if there is no such key, and `key.2` for its version. `rev=15` alone is an answer of which
//! only the revision is known. A byte that is not a letter, a digit or one of `_/:-` is written `%2E`, the empty text
//! `%-`, and a value of which only the hash is known `#123`. So equal texts are equal values.

use std::fmt::{self, Write as _};

/// The name of the object.
pub const OBJECT: &str = "etcd";

/// Something that a request does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EtcdAction {
    /// Reads a key, or the keys from `start` to `end`.
    Range {
        /// The key, or the first key.
        start: String,
        /// The key after the last one. None if only one key is read.
        end: Option<String>,
        /// How many keys are returned at most; 0 is no limit.
        limit: i64,
    },
    /// Writes a key.
    Put {
        /// The key.
        key: String,
        /// The value, in the form of [`value`].
        value: String,
    },
    /// Deletes a key.
    Delete {
        /// The key.
        key: String,
    },
}

/// A condition of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EtcdCondition {
    /// The key was last written at this revision; 0 if it is not there.
    Revision(String, i64),
    /// The key was written so many times since it is there.
    Version(String, i64),
}

/// A request: if all conditions hold, the actions of `then`, else those of `otherwise`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Request {
    /// All of them must hold.
    pub conditions: Vec<EtcdCondition>,
    /// What is done if they hold.
    pub then: Vec<EtcdAction>,
    /// What is done if one does not hold.
    pub otherwise: Vec<EtcdAction>,
}

/// A key that was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EtcdEntry {
    /// The key.
    pub key: String,
    /// Its value, in the form of [`value`].
    pub value: String,
    /// The revision at which it was last written.
    pub revision: i64,
    /// How many times it was written since it is there, if the answer says so.
    pub version: Option<i64>,
}

/// What one action returned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EtcdAnswer {
    /// What was read: how many keys there are, and those within the limit.
    Range(i64, Vec<EtcdEntry>),
    /// Nothing.
    Put,
    /// How many keys were deleted.
    Deleted(i64),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Response {
    /// The revision of the store after the request.
    pub revision: i64,
    /// Whether the conditions held, and what each action returned. None if only the revision is known.
    pub answers: Option<(bool, Vec<EtcdAnswer>)>,
}

/// A value, as it is written in a request: the value itself, or its hash.
pub fn value(text: &str) -> String {
    escaped(text)
}

/// A value of which only the hash is known.
pub fn hashed(hash: u32) -> String {
    format!("#{hash}")
}

fn escaped(text: &str) -> String {
    if text.is_empty() {
        return "%-".to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b':' | b'-')
}

impl Request {
    /// A request of one action, without conditions.
    pub fn of(action: EtcdAction) -> Self {
        Self { then: vec![action], ..Self::default() }
    }

    /// The action of a request that has only one, without conditions.
    fn single(&self) -> Option<&EtcdAction> {
        match (&self.conditions[..], &self.then[..], &self.otherwise[..]) {
            ([], [action], []) => Some(action),
            _ => None,
        }
    }

    /// The name of the method.
    pub fn method(&self) -> &'static str {
        match self.single() {
            Some(EtcdAction::Range { .. }) => "range",
            Some(EtcdAction::Put { .. }) => "put",
            Some(EtcdAction::Delete { .. }) => "delete",
            None => "txn",
        }
    }

    /// The argument of the method.
    pub fn argument(&self) -> String {
        if let Some(action) = self.single() {
            return action.argument();
        }
        let list = |actions: &[EtcdAction]| actions.iter().map(EtcdAction::to_string).collect::<Vec<_>>().join(",");
        let conditions: Vec<String> = self.conditions.iter().map(EtcdCondition::to_string).collect();
        format!("if({})then({})else({})", conditions.join(","), list(&self.then), list(&self.otherwise))
    }

    /// The request of a method with this argument.
    pub fn parse(method: &str, argument: &str) -> Option<Self> {
        let mut text = Text(argument);
        let request = match method {
            "range" => Self::of(text.range()?),
            "put" => Self::of(text.put()?),
            "delete" => Self::of(EtcdAction::Delete { key: text.word()? }),
            "txn" => {
                text.take("if(")?;
                let conditions = text.list(Text::condition)?;
                text.take("then(")?;
                let then = text.list(Text::action)?;
                text.take("else(")?;
                let otherwise = text.list(Text::action)?;
                Self { conditions, then, otherwise }
            }
            _ => return None,
        };
        // A transaction of one action has another name, so that equal requests are equal texts.
        (text.0.is_empty() && request.method() == method).then_some(request)
    }
}

impl EtcdAction {
    fn argument(&self) -> String {
        match self {
            Self::Range { start, end, limit } => {
                let mut text = escaped(start);
                if let Some(end) = end {
                    let _ = write!(text, "~{}", escaped(end));
                }
                if *limit != 0 {
                    let _ = write!(text, ",limit={limit}");
                }
                text
            }
            Self::Put { key, value } => format!("{}={value}", escaped(key)),
            Self::Delete { key } => escaped(key),
        }
    }
}

impl fmt::Display for EtcdAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Range { .. } => "range",
            Self::Put { .. } => "put",
            Self::Delete { .. } => "delete",
        };
        write!(f, "{name}({})", self.argument())
    }
}

impl fmt::Display for EtcdCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revision(key, revision) => write!(f, "{}@{revision}", escaped(key)),
            Self::Version(key, version) => write!(f, "{}.{version}", escaped(key)),
        }
    }
}

impl fmt::Display for EtcdEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}@{}", escaped(&self.key), self.value, self.revision)?;
        self.version.map_or(Ok(()), |version| write!(f, ".{version}"))
    }
}

impl EtcdAnswer {
    /// Its text within the answer of a request: a range has brackets unless it stands alone.
    fn text(&self, is_alone: bool) -> String {
        match self {
            Self::Put => "put".to_owned(),
            Self::Deleted(count) => format!("deleted={count}"),
            Self::Range(count, entries) => {
                let mut text = format!("count={count}");
                for entry in entries {
                    let _ = write!(text, ",{entry}");
                }
                if is_alone { text } else { format!("range({text})") }
            }
        }
    }
}

impl Response {
    /// The answer as text. That of a `put` is its revision.
    pub fn text(&self, request: &Request) -> String {
        let revision = format!("rev={}", self.revision);
        match (&self.answers, request.single()) {
            (None, _) | (_, Some(EtcdAction::Put { .. })) => revision,
            (Some((true, answers)), Some(_)) if answers.len() == 1 => format!("{revision},{}", answers[0].text(true)),
            (Some((is_then, answers)), _) => {
                let answers: Vec<String> = answers.iter().map(|answer| answer.text(false)).collect();
                format!("{revision},{}({})", if *is_then { "then" } else { "else" }, answers.join(","))
            }
        }
    }

    /// The answer to a request that this text stands for.
    pub fn parse(request: &Request, text: &str) -> Option<Self> {
        let mut text = Text(text);
        text.take("rev=")?;
        let revision = text.number()?;
        if text.0.is_empty() {
            let is_put = matches!(request.single(), Some(EtcdAction::Put { .. }));
            let answers = is_put.then(|| (true, vec![EtcdAnswer::Put]));
            return Some(Self { revision, answers });
        }
        text.take(",")?;
        let answers = match request.single() {
            Some(EtcdAction::Range { .. }) => (true, vec![text.entries()?]),
            Some(EtcdAction::Delete { .. }) => {
                text.take("deleted=")?;
                (true, vec![EtcdAnswer::Deleted(text.number()?)])
            }
            _ => {
                let is_then = text.take("then(").is_some();
                if !is_then {
                    text.take("else(")?;
                }
                (is_then, text.list(Text::answer)?)
            }
        };
        text.0.is_empty().then_some(Self { revision, answers: Some(answers) })
    }
}

/// What is left of a text.
struct Text<'a>(&'a str);

impl Text<'_> {
    fn take(&mut self, prefix: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(prefix)?;
        Some(())
    }

    fn number(&mut self) -> Option<i64> {
        let digits = self.0.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        number.parse().ok()
    }

    /// A text in its escaped form.
    fn raw(&mut self) -> Option<String> {
        let is_part = |byte: u8| is_plain(byte) || matches!(byte, b'%' | b'#');
        let length = self.0.bytes().take_while(|&byte| is_part(byte)).count();
        let (raw, rest) = self.0.split_at(length);
        self.0 = rest;
        (length > 0).then(|| raw.to_owned())
    }

    fn word(&mut self) -> Option<String> {
        let raw = self.raw()?;
        if raw == "%-" {
            return Some(String::new());
        }
        let mut bytes = Vec::with_capacity(raw.len());
        let mut left = raw.as_bytes();
        while let [first, rest @ ..] = left {
            left = rest;
            match first {
                b'%' => {
                    let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                    bytes.push(u8::from_str_radix(digits, 16).ok()?);
                    left = &rest[2..];
                }
                b'#' => return None,
                byte => bytes.push(*byte),
            }
        }
        String::from_utf8(bytes).ok()
    }

    /// Elements up to a closing bracket, which is taken.
    fn list<T>(&mut self, each: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut elements = Vec::new();
        if self.take(")").is_some() {
            return Some(elements);
        }
        loop {
            elements.push(each(self)?);
            if self.take(")").is_some() {
                return Some(elements);
            }
            self.take(",")?;
        }
    }

    fn condition(&mut self) -> Option<EtcdCondition> {
        let key = self.word()?;
        if self.take("@").is_some() {
            return Some(EtcdCondition::Revision(key, self.number()?));
        }
        self.take(".")?;
        Some(EtcdCondition::Version(key, self.number()?))
    }

    fn range(&mut self) -> Option<EtcdAction> {
        let start = self.word()?;
        let end = if self.take("~").is_some() { Some(self.word()?) } else { None };
        let limit = if self.take(",limit=").is_some() { self.number()? } else { 0 };
        Some(EtcdAction::Range { start, end, limit })
    }

    fn put(&mut self) -> Option<EtcdAction> {
        let key = self.word()?;
        self.take("=")?;
        Some(EtcdAction::Put { key, value: self.raw()? })
    }

    fn action(&mut self) -> Option<EtcdAction> {
        let action = if self.take("range(").is_some() {
            self.range()?
        } else if self.take("put(").is_some() {
            self.put()?
        } else {
            self.take("delete(")?;
            EtcdAction::Delete { key: self.word()? }
        };
        self.take(")")?;
        Some(action)
    }

    /// `count=2` and the entries after it.
    fn entries(&mut self) -> Option<EtcdAnswer> {
        self.take("count=")?;
        let count = self.number()?;
        let mut entries = Vec::new();
        while self.take(",").is_some() {
            let key = self.word()?;
            self.take("=")?;
            let value = self.raw()?;
            self.take("@")?;
            let revision = self.number()?;
            let version = if self.take(".").is_some() { Some(self.number()?) } else { None };
            entries.push(EtcdEntry { key, value, revision, version });
        }
        Some(EtcdAnswer::Range(count, entries))
    }

    fn answer(&mut self) -> Option<EtcdAnswer> {
        if self.take("put").is_some() {
            return Some(EtcdAnswer::Put);
        }
        if self.take("deleted=").is_some() {
            return Some(EtcdAnswer::Deleted(self.number()?));
        }
        self.take("range(")?;
        let answer = self.entries()?;
        self.take(")")?;
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_again() {
        let range = |end: Option<&str>, limit| EtcdAction::Range {
            start: "a b,c)".to_owned(),
            end: end.map(str::to_owned),
            limit,
        };
        let put = EtcdAction::Put { key: String::new(), value: value("x=1@2") };
        let delete = EtcdAction::Delete { key: "é".to_owned() };
        let entry = |version| EtcdEntry { key: "k.1".to_owned(), value: hashed(7), revision: 5, version };
        let answers =
            vec![EtcdAnswer::Put, EtcdAnswer::Deleted(1), EtcdAnswer::Range(3, vec![entry(None), entry(Some(2))])];
        let conditions = vec![EtcdCondition::Revision("k".to_owned(), 0), EtcdCondition::Version("%".to_owned(), 3)];
        let requests = [
            (Request::of(range(None, 0)), vec![EtcdAnswer::Range(0, Vec::new())]),
            (Request::of(range(Some("\0"), 3)), vec![EtcdAnswer::Range(1, vec![entry(None)])]),
            (Request::of(put.clone()), vec![EtcdAnswer::Put]),
            (Request::of(delete.clone()), vec![EtcdAnswer::Deleted(0)]),
            (Request { conditions, then: vec![put, delete, range(None, 2)], otherwise: Vec::new() }, answers),
            (Request::default(), Vec::new()),
        ];
        for (request, answers) in requests {
            let argument = request.argument();
            assert_eq!(Request::parse(request.method(), &argument).as_ref(), Some(&request), "{argument}");
            for answers in [Some((true, answers)), None] {
                let is_put = request.method() == "put";
                let response = Response {
                    revision: 12,
                    answers: answers.clone().or(is_put.then(|| (true, vec![EtcdAnswer::Put]))),
                };
                let text = response.text(&request);
                assert_eq!(Response::parse(&request, &text), Some(response), "{argument}: {text}");
            }
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (method, argument) in [
            ("put", "k"),
            ("put", "=1"),
            ("range", "a~"),
            ("delete", "k,"),
            ("delete", "%4"),
            ("delete", "#5"),
            ("txn", "if()then(put(k=1))else()"),
            ("txn", "if(k)then()else()"),
            ("watch", "k"),
        ] {
            assert_eq!(Request::parse(method, argument), None, "{method} {argument}");
        }
        let request = Request::of(EtcdAction::Delete { key: "k".to_owned() });
        for text in ["", "rev=", "rev=1,", "rev=1,deleted=", "rev=1,count=0", "12"] {
            assert_eq!(Response::parse(&request, text), None, "{text}");
        }
    }
}
