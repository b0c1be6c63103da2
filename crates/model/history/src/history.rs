//! The data model of a history. All formats and all checkers use it.
//!
//! A history is a list of operations. Each operation has a process, a key (a memory location, one queue of several, …),
//! a method, an argument and a result. If its call and its return were recorded, it also has the moments of both.
//! Operations stand in the order of their calls. Without calls, they stand in the order of their lines. So the
//! operations of one process are in program order.
//!
//! [`HistoryBuilder`](crate::HistoryBuilder) keeps these invariants, and every reader of a history may rely on them:
//! - A process has at most one open operation at a time. An operation without a return, or whose return was `info`, is
//!   the last of its process.
//! - Moments count the events of the history from zero. Each call is one event, each return (or `fail`, or `info`) is
//!   one, and each instant is one. So all moments are distinct, and the order of the file is the order in time.
//! - Either all operations have moments or, if no operation has a call, none has. The same holds for times.
//! - The sparse tables are sorted by operation: expected values, labels, sources, indices in program order, and the
//!   tables of open objects. No two operations have the same label.
//! - The tables of open objects are empty unless the object is [`Object::Open`].
//! - A history of [transactions](crate::transactions) has no calls. Its operations stand transaction by transaction,
//!   and those of one transaction in the order of its lines.
//! - Every process, key, operation and word that the history names is in its own tables.

use serde::{Deserialize, Serialize};

pub use crate::object::{Method, Object};
use crate::transactions::Transactions;
use crate::value::{Value, Words};

/// Defines a typed 32-bit index. 32 bits suffice, because a builder refuses a history with more events.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub u32);
        impl $name {
            /// The index as a `usize`.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub(crate) use index;

index!(
    /// A process of a history; its name is in [`History::processes`].
    ProcessId
);
index!(
    /// A key (memory location, or one of several objects); its name is in [`History::keys`].
    KeyId
);
index!(
    /// An operation: its place in [`History::operations`].
    OperationId
);

impl KeyId {
    /// The key of an operation without a key, such as a fence.
    pub const NONE: Self = Self(u32::MAX);
}

/// The memory order of an access or a fence; `Plain` if the history names none.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum MemoryOrder {
    #[default]
    Plain,
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    SequentiallyConsistent,
}

impl MemoryOrder {
    /// The suffix in the text format, without its dot; empty for `Plain`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Relaxed => "rlx",
            Self::Acquire => "acq",
            Self::Release => "rel",
            Self::AcquireRelease => "acqrel",
            Self::SequentiallyConsistent => "sc",
        }
    }

    /// The order of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "rlx" => Self::Relaxed,
            "acq" => Self::Acquire,
            "rel" => Self::Release,
            "acqrel" => Self::AcquireRelease,
            "sc" => Self::SequentiallyConsistent,
            _ => return None,
        })
    }
}

/// How an operation ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Outcome {
    /// Recorded without a call and a return. It happened.
    Instant,
    /// Called and returned. It happened.
    Ok,
    /// Called, and known not to have happened (Jepsen's `fail`).
    Fail,
    /// Called. Nobody knows whether it happened (Jepsen's `info`).
    Info,
    /// Called, and still open where the history ends. It may have happened.
    Pending,
}

/// One operation of a history.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The process that did it.
    pub process: ProcessId,
    /// Its key; [`KeyId::NONE`] if the history has a single object, and for fences.
    pub key: KeyId,
    /// The line of the operation in its file, counted from 1. If it has a call, this is the line of the call. Zero for
    /// an operation that is in no file, such as one of a recorder ([`History::place`]).
    pub line: u32,
    /// Its method.
    pub method: Method,
    /// Its memory order.
    pub order: MemoryOrder,
    /// How it ended.
    pub outcome: Outcome,
    /// The value that it writes, inserts or adds; none for a read or a removal.
    pub argument: Value,
    /// The value that it read, removed or returned; none if it returned nothing or never returned.
    pub result: Value,
}

/// Where a read took its value from, if the history says so.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The initial write of its location.
    Init,
    /// This operation.
    Operation(OperationId),
}

/// The part of a history that only an open object has: its name, its methods and their further arguments.
///
/// The first argument of an operation is in [`Operation::argument`], as for built-in objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Open {
    /// The name of the object.
    pub name: String,
    /// The name of each operation's method.
    pub methods: Vec<(OperationId, Value)>,
    /// The second argument of an operation, its third, and so on.
    pub arguments: Vec<(OperationId, Value)>,
}

/// A recorded history. See the [module](self) for its invariants.
#[derive(Clone, Debug)]
pub struct History {
    /// The name that the file gave to the history (axe's `# name`).
    pub(crate) name: Option<String>,
    /// The object that the operations are on.
    pub(crate) object: Object,
    /// `# @capacity n` of a semaphore.
    pub(crate) capacity: Option<u64>,
    /// The initial value of every key that `inits` does not name.
    pub(crate) initial: Value,
    /// Initial values by key.
    pub(crate) inits: Vec<(KeyId, Value)>,
    /// The final values of keys, if they are known (axe's `final`); see [`History::observed`].
    pub(crate) finals: Vec<(KeyId, Value)>,
    /// The operations, in the order of their calls.
    pub(crate) operations: Vec<Operation>,
    /// The moments of call and return of each operation; [`History::NEVER`] for a return that did not come. Empty if no
    /// operation has a call. If an [`Outcome::Instant`] has a moment, both entries are that moment.
    pub(crate) moments: Vec<[u32; 2]>,
    /// The recorded times of call and return of each operation. Empty if the history has none. Times are not
    /// interpreted: the order of the file is the order in time. The times of a recorder are nanoseconds since the
    /// recorder was made.
    pub(crate) times: Vec<[Option<i64>; 2]>,
    /// The expected value of each compare-and-swap.
    pub(crate) expected: Vec<(OperationId, Value)>,
    /// The labels by which reads name their sources (`id=a`).
    pub(crate) labels: Vec<(OperationId, Value)>,
    /// Where reads took their values from, if the history says so (`from=a`).
    pub(crate) sources: Vec<(OperationId, Source)>,
    /// Indices in program order (`po=9`), for a history in the order of performance.
    pub(crate) program_indices: Vec<(OperationId, u64)>,
    /// The name and the methods of an object that is not built in.
    pub(crate) open: Open,
    /// What the tester itself did ([`Self::remarks`]).
    pub(crate) remarks: Vec<(u32, String)>,
    /// The transactions. Empty unless the object is [`Object::Transactions`].
    pub(crate) transactions: Transactions,
    /// The names of the processes.
    pub(crate) processes: Vec<Value>,
    /// The names of the keys.
    pub(crate) keys: Vec<Value>,
    /// The texts of all words.
    pub(crate) words: Words,
}

impl Default for History {
    fn default() -> Self {
        Self {
            name: None,
            object: Object::Memory,
            capacity: None,
            initial: Value::ZERO,
            inits: Vec::new(),
            finals: Vec::new(),
            operations: Vec::new(),
            moments: Vec::new(),
            times: Vec::new(),
            expected: Vec::new(),
            labels: Vec::new(),
            sources: Vec::new(),
            program_indices: Vec::new(),
            open: Open::default(),
            remarks: Vec::new(),
            transactions: Transactions::default(),
            processes: Vec::new(),
            keys: Vec::new(),
            words: Words::default(),
        }
    }
}

fn look_up<T: Copy>(table: &[(OperationId, T)], operation: OperationId) -> Option<T> {
    table.binary_search_by_key(&operation, |&(id, _)| id).ok().map(|at| table[at].1)
}

impl History {
    /// The moment of a return that never came.
    pub const NEVER: u32 = u32::MAX;

    /// The name that the file gave to the history (axe's `# name`).
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The object that the operations are on.
    pub fn object(&self) -> Object {
        self.object
    }

    /// How many processes may hold a semaphore at a time (`# @capacity n`).
    pub fn capacity(&self) -> Option<u64> {
        self.capacity
    }

    /// The initial value of every key that [`Self::inits`] does not name.
    pub fn initial(&self) -> Value {
        self.initial
    }

    /// Initial values by key.
    pub fn inits(&self) -> &[(KeyId, Value)] {
        &self.inits
    }

    /// The final values of keys, if they are known (axe's `final`); see [`Self::observed`].
    pub fn finals(&self) -> &[(KeyId, Value)] {
        &self.finals
    }

    /// The operations, in the order of their calls.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The moments of call and return of each operation; [`Self::NEVER`] for a return that did not come. Empty if no
    /// operation has a call. If an [`Outcome::Instant`] has a moment, both entries are that moment.
    pub fn moments(&self) -> &[[u32; 2]] {
        &self.moments
    }

    /// The recorded times of call and return of each operation. Empty if the history has none. Times are not
    /// interpreted: the order of the file is the order in time. The times of a recorder are nanoseconds since the
    /// recorder was made.
    pub fn times(&self) -> &[[Option<i64>; 2]] {
        &self.times
    }

    /// The expected value of each compare-and-swap.
    pub fn expected_values(&self) -> &[(OperationId, Value)] {
        &self.expected
    }

    /// The labels by which reads name their sources (`id=a`).
    pub fn labels(&self) -> &[(OperationId, Value)] {
        &self.labels
    }

    /// Where reads took their values from, if the history says so (`from=a`).
    pub fn sources(&self) -> &[(OperationId, Source)] {
        &self.sources
    }

    /// Indices in program order (`po=9`), for a history in the order of performance.
    pub fn program_indices(&self) -> &[(OperationId, u64)] {
        &self.program_indices
    }

    /// What people call the operations and transactions by: their lines, and the numbers of transactions. These are
    /// those of the file that the history, or the larger one that it is a part of, was first read from.
    pub fn marks(&self) -> Vec<u32> {
        let lines = self.operations.iter().map(|operation| operation.line);
        lines.chain(self.transactions.all.iter().flat_map(|it| [it.line, it.number])).collect()
    }

    /// Gives the operations and transactions the [marks](Self::marks) of the same history of another file.
    pub fn set_marks(&mut self, marks: impl IntoIterator<Item = u32>) {
        let operations = self.operations.iter_mut().map(|operation| &mut operation.line);
        let transactions = self.transactions.all.iter_mut().flat_map(|it| [&mut it.line, &mut it.number]);
        for (place, mark) in operations.chain(transactions).zip(marks) {
            *place = mark;
        }
    }

    /// What the tester itself did meanwhile, such as to cut the network (Jepsen's nemesis): the moment of the event
    /// that comes next, and the tester's words. Checkers and digests do not look at it, and no format writes it.
    pub fn remarks(&self) -> &[(u32, String)] {
        &self.remarks
    }

    /// The names of the processes.
    pub fn processes(&self) -> &[Value] {
        &self.processes
    }

    /// The names of the keys.
    pub fn keys(&self) -> &[Value] {
        &self.keys
    }

    /// The texts of all words.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// Whether any operation has a call.
    pub fn has_calls(&self) -> bool {
        !self.moments.is_empty()
    }

    /// About how many bytes of memory the history takes.
    pub fn footprint(&self) -> usize {
        self.operations.capacity() * size_of::<Operation>()
            + self.moments.capacity() * size_of::<[u32; 2]>()
            + self.times.capacity() * size_of::<[Option<i64>; 2]>()
            + (self.expected.capacity() + self.labels.capacity()) * size_of::<(OperationId, Value)>()
            + (self.open.methods.capacity() + self.open.arguments.capacity()) * size_of::<(OperationId, Value)>()
            + (self.sources.capacity() + self.program_indices.capacity()) * size_of::<(OperationId, u64)>()
            + (self.inits.capacity() + self.finals.capacity()) * size_of::<(KeyId, Value)>()
            + (self.processes.capacity() + self.keys.capacity()) * size_of::<Value>()
            + self.transactions.footprint()
            + self.words.footprint()
    }

    /// One operation.
    pub fn operation(&self, id: OperationId) -> &Operation {
        &self.operations[id.index()]
    }

    /// The place of an operation, in words: `line 3`. The read of a [final value](Self::observed) is at `the end`. An
    /// operation that is on no line has its number, counted from 1: `operation 12`.
    pub fn place(&self, id: OperationId) -> String {
        match self.operation(id) {
            operation if operation.is_at_the_end() => "the end".to_owned(),
            Operation { line: 0, .. } => format!("operation {}", u64::from(id.0) + 1),
            Operation { line, .. } => format!("line {line}"),
        }
    }

    /// The same history, if `lines` lines of the file come before its text.
    #[must_use]
    pub fn after_lines(mut self, lines: u64) -> Self {
        let of_operations = self.operations.iter_mut().map(|operation| &mut operation.line);
        let of_transactions = self.transactions.all.iter_mut().map(|transaction| &mut transaction.line);
        for line in of_operations.chain(of_transactions).filter(|line| **line > 0) {
            // The largest number means that an operation is on no line.
            *line = u32::try_from(u64::from(*line) + lines).unwrap_or(u32::MAX).min(u32::MAX - 1);
        }
        self
    }

    /// The value that a compare-and-swap expects; none for another operation.
    pub fn expected(&self, id: OperationId) -> Option<Value> {
        look_up(&self.expected, id)
    }

    /// The label of an operation.
    pub fn label(&self, id: OperationId) -> Option<Value> {
        look_up(&self.labels, id)
    }

    /// The recorded source of a read.
    pub fn source(&self, id: OperationId) -> Option<Source> {
        look_up(&self.sources, id)
    }

    /// The recorded program-order index.
    pub fn program_index(&self, id: OperationId) -> Option<u64> {
        look_up(&self.program_indices, id)
    }

    /// The name of an open object; empty if the object is built in.
    pub fn open_name(&self) -> &str {
        &self.open.name
    }

    /// The name of the object, whether it is built in or not.
    pub fn object_name(&self) -> &str {
        if self.object == Object::Open { &self.open.name } else { self.object.name() }
    }

    /// The name of the method of an operation.
    pub fn method_name(&self, id: OperationId) -> &str {
        match look_up(&self.open.methods, id).and_then(Value::as_word) {
            Some(word) => self.words.text(word),
            None => self.object.method_name(self.operation(id).method),
        }
    }

    /// The arguments of an operation, in the order of the text format. A compare-and-swap has its expected value first.
    pub fn arguments(&self, id: OperationId) -> impl Iterator<Item = Value> {
        let more = &self.open.arguments;
        let start = more.partition_point(|&(of, _)| of < id);
        let more = more[start..].iter().take_while(move |&&(of, _)| of == id).map(|&(_, value)| value);
        let first = Some(self.operation(id).argument).filter(|argument| argument.is_some());
        self.expected(id).into_iter().chain(first).chain(more)
    }

    /// The initial value of a key.
    pub fn initial_value(&self, key: KeyId) -> Value {
        self.inits.iter().rev().find(|&&(k, _)| k == key).map_or(self.initial, |&(_, value)| value)
    }

    /// The name of a process as text.
    pub fn process_name(&self, process: ProcessId) -> String {
        self.words.show_process(self.processes[process.index()])
    }

    /// The name of a key as text; empty for [`KeyId::NONE`].
    pub fn key_name(&self, key: KeyId) -> String {
        self.keys.get(key.index()).map_or_else(String::new, |&name| self.words.show_key(name))
    }

    /// The value as text. A number has the text with which the history first wrote it.
    pub fn show(&self, value: Value) -> String {
        self.words.show(value)
    }
}
