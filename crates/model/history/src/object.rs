//! Objects and their methods: the words for them in the formats, and what each method takes and returns.
//!
//! This is the table that all readers and writers share. A built-in object has a row in [`Object::row`], with the words
//! for its methods. A method has a row in [`SIGNATURES`]. No format knows a method by name, so a new method is two rows
//! here.
//!
//! An object that is not built in is [`Object::Open`]. Its name, the names of its methods and their arguments are plain
//! data in the history ([`crate::history::Open`]). The user's own specification says what they mean.

mod results;

use serde::{Deserialize, Serialize};

/// The kind of object that a history is about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Object {
    Memory,
    Register,
    Queue,
    Stack,
    PriorityQueue,
    Set,
    Mutex,
    Semaphore,
    Exchanger,
    /// Strings by key, with `get`, `put` and `append`.
    KeyValue,
    Multiset,
    /// A mutex that holds the tag of its owner.
    TaggedMutex,
    /// A semaphore that holds the tags of its current holders.
    TaggedSemaphore,
    /// A sum, to which numbers are added.
    Counter,
    /// The largest number that was written.
    MaxRegister,
    /// An object that is not built in: the history has its name, and its methods are plain data.
    Open,
    /// A database: sessions run transactions that read and write keys ([`crate::transactions`]).
    Transactions,
}

/// What an operation does. [`Object::methods`] lists the methods of an object.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Method {
    Read,
    Write,
    /// A read-modify-write: the result is the value read, the argument the value written.
    Rmw,
    Fence,
    /// Compare-and-swap from [`crate::History::expected`] to the argument; the result is a boolean.
    Cas,
    Enqueue,
    Dequeue,
    Push,
    Pop,
    Insert,
    DeleteMax,
    /// Returns what the next removal from a queue, a stack or a priority queue would return. Removes nothing.
    Peek,
    Add,
    Remove,
    Contains,
    /// Reads a whole set at once. The result is a word; [`crate::History::elements`] gives its elements.
    ReadAll,
    Lock,
    /// Locks if nobody holds the lock. The result says whether it did.
    TryLock,
    Unlock,
    Acquire,
    Release,
    Exchange,
    Get,
    Put,
    Append,
    /// The number of copies of an element in a multiset.
    Count,
    /// Enters a tagged mutex or semaphore under a tag.
    AcquireAs,
    /// Leaves a tagged mutex or semaphore: gives the tag back.
    ReleaseAs,
    /// A method of an [open](Object::Open) object: its name and its arguments are in the history.
    Open,
    /// Adds a number to a counter.
    Increase,
    /// Writes a number into a max-register, which holds the largest.
    WriteMax,
}

/// What an operation returns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Returns {
    /// Nothing.
    Nothing,
    /// The value that was read.
    Value,
    /// The value that was removed or seen. No value means that the container was empty.
    Removed,
    /// Whether it succeeded.
    Boolean,
    /// Whether it changed or found something. No value means that this is not known.
    OptionalBoolean,
    /// All elements of a set.
    Whole,
    /// The partner's value. No value means that there was no partner.
    Partner,
    /// Any value, or none.
    Any,
}

/// What a method takes and returns.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    method: Method,
    /// Whether it takes a value.
    pub takes: bool,
    /// What it returns.
    pub returns: Returns,
    /// Whether it never changes the object, whatever it returns.
    pub observes: bool,
}

const fn takes(method: Method, returns: Returns) -> Signature {
    Signature { method, takes: true, returns, observes: false }
}

const fn takes_nothing(method: Method, returns: Returns) -> Signature {
    Signature { method, takes: false, returns, observes: false }
}

const fn observes(signature: Signature) -> Signature {
    Signature { observes: true, ..signature }
}

/// One row for each method, in the order of [`Method`].
const SIGNATURES: [Signature; 31] = [
    observes(takes_nothing(Method::Read, Returns::Value)),
    takes(Method::Write, Returns::Nothing),
    takes(Method::Rmw, Returns::Value),
    takes_nothing(Method::Fence, Returns::Nothing),
    takes(Method::Cas, Returns::Boolean),
    takes(Method::Enqueue, Returns::Nothing),
    takes_nothing(Method::Dequeue, Returns::Removed),
    takes(Method::Push, Returns::Nothing),
    takes_nothing(Method::Pop, Returns::Removed),
    takes(Method::Insert, Returns::Nothing),
    takes_nothing(Method::DeleteMax, Returns::Removed),
    observes(takes_nothing(Method::Peek, Returns::Removed)),
    takes(Method::Add, Returns::OptionalBoolean),
    takes(Method::Remove, Returns::OptionalBoolean),
    observes(takes(Method::Contains, Returns::OptionalBoolean)),
    observes(takes_nothing(Method::ReadAll, Returns::Whole)),
    takes_nothing(Method::Lock, Returns::Nothing),
    takes_nothing(Method::TryLock, Returns::Boolean),
    takes_nothing(Method::Unlock, Returns::Nothing),
    takes_nothing(Method::Acquire, Returns::Nothing),
    takes_nothing(Method::Release, Returns::Nothing),
    takes(Method::Exchange, Returns::Partner),
    observes(takes_nothing(Method::Get, Returns::Value)),
    takes(Method::Put, Returns::Nothing),
    takes(Method::Append, Returns::Nothing),
    observes(takes(Method::Count, Returns::Value)),
    takes(Method::AcquireAs, Returns::Nothing),
    takes(Method::ReleaseAs, Returns::Nothing),
    takes(Method::Open, Returns::Any),
    takes(Method::Increase, Returns::Nothing),
    takes(Method::WriteMax, Returns::Nothing),
];

const _: () = {
    let mut at = 0;
    while at < SIGNATURES.len() {
        assert!(SIGNATURES[at].method as usize == at, "each row stands where its method does");
        at += 1;
    }
};

impl Method {
    /// What the method takes and returns.
    #[inline]
    pub const fn signature(self) -> Signature {
        SIGNATURES[self as usize]
    }

    /// Whether the method takes a value. A method of an open object may take any number of values.
    #[inline]
    pub const fn takes_argument(self) -> bool {
        self.signature().takes
    }

    /// Whether the method takes a value and returns one. In a record of an instant, the field `value` then holds a
    /// pair.
    #[inline]
    pub const fn takes_and_returns(self) -> bool {
        let Signature { takes, returns, .. } = self.signature();
        takes && !matches!(returns, Returns::Nothing)
    }

    /// What the method returns.
    #[inline]
    pub const fn returns(self) -> Returns {
        self.signature().returns
    }

    /// Whether the method never changes the object, whatever it returns.
    #[inline]
    pub const fn observes(self) -> bool {
        self.signature().observes
    }
}

/// A method and the words for it. The first word is the one we print.
pub type MethodWords = (Method, &'static [&'static str]);

/// What the formats know of an object.
struct ObjectRow {
    /// The names of the object. The first is the one we print.
    names: &'static [&'static str],
    /// Its methods, as docs/formats/text.md has them; empty if it has no line there.
    about: &'static str,
    methods: &'static [MethodWords],
}

impl Object {
    /// Every kind of object that is built in, in the order of the type. Transactions are not among them: nothing that
    /// works operation by operation can take them.
    pub const ALL: [Self; 15] = [
        Self::Memory,
        Self::Register,
        Self::Queue,
        Self::Stack,
        Self::PriorityQueue,
        Self::Set,
        Self::Mutex,
        Self::Semaphore,
        Self::Exchanger,
        Self::KeyValue,
        Self::Multiset,
        Self::TaggedMutex,
        Self::TaggedSemaphore,
        Self::Counter,
        Self::MaxRegister,
    ];

    const fn row(self) -> ObjectRow {
        match self {
            Self::Memory => ObjectRow {
                about: "",
                names: &["memory"],
                methods: &[
                    (Method::Read, &["r", "read"]),
                    (Method::Write, &["w", "write"]),
                    (Method::Rmw, &["u", "rmw"]),
                    (Method::Fence, &["f", "fence"]),
                ],
            },
            Self::Register => ObjectRow {
                about: "`write v`, `read => v`, `cas old new => true/false`",
                names: &["register"],
                methods: &[(Method::Write, &["write", "w"]), (Method::Read, &["read", "r"]), (Method::Cas, &["cas"])],
            },
            Self::Queue => ObjectRow {
                about: "`enqueue v`, `dequeue => v/empty`, `peek`",
                names: &["queue"],
                methods: &[
                    (Method::Enqueue, &["enqueue", "enq", "add", "push", "put", "offer"]),
                    (Method::Dequeue, &["dequeue", "deq", "remove", "rem", "pop", "get", "poll"]),
                    (Method::Peek, &["peek", "front"]),
                ],
            },
            Self::Stack => ObjectRow {
                about: "`push v`, `pop => v/empty`, `peek`",
                names: &["stack"],
                methods: &[
                    (Method::Push, &["push", "add", "put"]),
                    (Method::Pop, &["pop", "remove", "rem", "get"]),
                    (Method::Peek, &["peek", "top"]),
                ],
            },
            Self::PriorityQueue => ObjectRow {
                about: "`insert v`, `delete-max => v/empty`, `peek`: the larger value first",
                names: &["pqueue", "priorityqueue"],
                methods: &[
                    (Method::Insert, &["insert", "add", "push"]),
                    (Method::DeleteMax, &["delete-max", "remove-max", "extract-max", "remove", "rem", "pop", "poll"]),
                    (Method::Peek, &["peek", "max"]),
                ],
            },
            Self::Set => ObjectRow {
                about: "`add v`, `remove v`, `contains v`, each `=> true/false`",
                names: &["set"],
                methods: &[
                    (Method::Add, &["add", "insert", "broadcast"]),
                    (Method::Remove, &["remove", "delete"]),
                    (Method::Contains, &["contains"]),
                    (Method::ReadAll, &["read", "read-all"]),
                ],
            },
            Self::Mutex => ObjectRow {
                about: "`lock`, `try-lock => true/false`, `unlock`",
                names: &["mutex", "lock"],
                methods: &[
                    (Method::Lock, &["lock", "acquire"]),
                    (Method::TryLock, &["try-lock", "try-acquire"]),
                    (Method::Unlock, &["unlock", "release"]),
                ],
            },
            Self::Semaphore => ObjectRow {
                about: "`acquire`, `release`; `# @capacity n`",
                names: &["semaphore"],
                methods: &[(Method::Acquire, &["acquire"]), (Method::Release, &["release"])],
            },
            Self::Exchanger => ObjectRow {
                about: "`exchange v => v'/null`",
                names: &["exchanger"],
                methods: &[(Method::Exchange, &["exchange"])],
            },
            Self::KeyValue => ObjectRow {
                about: "`get => text`, `put text`, `append text`, by key; a key begins as the empty text",
                names: &["kv"],
                methods: &[(Method::Get, &["get"]), (Method::Put, &["put"]), (Method::Append, &["append"])],
            },
            Self::Multiset => ObjectRow {
                about: "`add v => true`, `remove v` and `contains v => true/false`, `count v => n`",
                names: &["multiset", "bag"],
                methods: &[
                    (Method::Add, &["add", "insert"]),
                    (Method::Remove, &["remove", "delete"]),
                    (Method::Contains, &["contains"]),
                    (Method::Count, &["count"]),
                ],
            },
            Self::TaggedMutex => ObjectRow {
                about: "`lock t`, `unlock t`: only the tag that is held can be given back",
                names: &["tagged-mutex", "tagged-lock"],
                methods: &[(Method::AcquireAs, &["lock", "acquire"]), (Method::ReleaseAs, &["unlock", "release"])],
            },
            Self::TaggedSemaphore => ObjectRow {
                about: "`acquire t`, `release t`; `# @capacity n`",
                names: &["tagged-semaphore"],
                methods: &[(Method::AcquireAs, &["acquire"]), (Method::ReleaseAs, &["release"])],
            },
            Self::Counter => ObjectRow {
                about: "`add n`, `read => sum`: integers; it begins at 0",
                names: &["counter"],
                methods: &[(Method::Increase, &["add", "inc"]), (Method::Get, &["read", "get"])],
            },
            Self::MaxRegister => ObjectRow {
                about: "`write-max n`, `read => n`: the largest number written so far, 0 at first",
                names: &["max-register"],
                methods: &[(Method::WriteMax, &["write-max", "write"]), (Method::Get, &["read", "get", "read-max"])],
            },
            Self::Open => ObjectRow { about: "", names: &["open object"], methods: &[] },
            Self::Transactions => ObjectRow {
                about: "",
                names: &["transactions", "transaction", "txn"],
                methods: &[
                    (Method::Read, &["r", "read"]),
                    (Method::Write, &["w", "write"]),
                    (Method::Append, &["a", "append"]),
                ],
            },
        }
    }

    /// The name that the formats use. The name of an open object is in its history: [`crate::History::object_name`].
    pub const fn name(self) -> &'static str {
        self.row().names[0]
    }

    /// Its methods, with what they take and return, in Markdown. Empty for a memory, whose operations need no calls.
    pub const fn about(self) -> &'static str {
        self.row().about
    }

    /// The built-in object of that name, or transactions. Case, hyphens and underscores do not matter. A prefix
    /// `atomic` is ignored.
    pub fn from_name(name: &str) -> Option<Self> {
        let is_prefixed = name.get(..6).is_some_and(|start| is_same_name(start, "atomic"));
        let name = if is_prefixed { &name[6..] } else { name };
        let mut all = Self::ALL.into_iter().chain([Self::Transactions]);
        all.find(|object| object.row().names.iter().any(|known| is_same_name(known, name)))
    }

    /// The methods, each with the words for it. An open object has none.
    pub const fn methods(self) -> &'static [MethodWords] {
        self.row().methods
    }

    /// The method of that name. An exact spelling comes first; then case, hyphens and underscores do not matter.
    pub fn method(self, name: &str) -> Option<Method> {
        let exact = self.methods().iter().find(|(_, names)| names.contains(&name));
        let similar = || self.methods().iter().find(|(_, names)| names.iter().any(|known| is_same_name(known, name)));
        exact.or_else(similar).map(|&(method, _)| method)
    }

    /// The name that we print for a method. For a method of an open object, see [`crate::History::method_name`].
    pub fn method_name(self, method: Method) -> &'static str {
        self.methods().iter().find(|&&(m, _)| m == method).map_or("?", |&(_, names)| names[0])
    }
}

/// The letters of a name in lower case, without hyphens and underscores: `deleteMax` and `delete-max` have the same.
fn letters(name: &str) -> impl Iterator<Item = u8> + '_ {
    name.bytes().filter(|byte| !matches!(byte, b'-' | b'_')).map(|byte| byte.to_ascii_lowercase())
}

/// Whether two names differ only in case, hyphens and underscores.
fn is_same_name(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// Whether a text can be the name of an open object or of one of its methods. It begins with a letter; then come
/// letters, digits and `-_.!?`. So every format can write it without quotes.
pub fn is_open_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'!' | b'?');
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_part)
}

/// Whether a text can be the name of a method of an open object. The words that begin an event of the text format
/// cannot.
pub fn is_open_method(name: &str) -> bool {
    const EVENTS: [&str; 7] = ["call", "invoke", "return", "ret", "ok", "fail", "info"];
    is_open_name(name) && !EVENTS.iter().any(|event| event.eq_ignore_ascii_case(name))
}
