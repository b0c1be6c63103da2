//! Builds a history event by event, and keeps the invariants of [`crate::history`].
//!
//! Every history is made with a builder: by a parser, a recorder, a generator or a user's own program. Names become ids
//! first ([`HistoryBuilder::process`], [`HistoryBuilder::key`]). Then each event is a call, the end of a call, or an
//! instant (an operation without call and return). An event that would break an invariant is refused with a
//! [`BuildError`], and leaves the builder unchanged.
//!
//! ```
//! use history::{Call, CallEnd, HistoryBuilder, Method, Object, Value};
//!
//! let mut builder = HistoryBuilder::new(Object::Queue);
//! let [producer, consumer] = ["producer", "consumer"].map(|name| builder.process(name));
//! let item = builder.value("a");
//! builder.call(&Call::new(producer, Method::Enqueue).argument(item))?;
//! builder.call(&Call::new(consumer, Method::Dequeue))?;
//! builder.end(producer, CallEnd::Ok(Value::NONE))?;
//! builder.end(consumer, CallEnd::Ok(item))?;
//! let history = builder.finish()?;
//! assert_eq!(history.operations().len(), 2);
//! assert_eq!(history.moments(), [[0, 2], [1, 3]]);
//! # Ok::<(), history::BuildError>(())
//! ```
//!
//! In a history without calls and returns, each operation is one event:
//!
//! ```
//! use history::{Call, HistoryBuilder, Method, Object, Value};
//!
//! let mut builder = HistoryBuilder::new(Object::Memory);
//! let (a, b, x) = (builder.process("a"), builder.process("b"), builder.key("x"));
//! builder.instant(&Call::new(a, Method::Write).key(x).argument(Value::small(1)))?;
//! builder.instant(&Call::new(b, Method::Read).key(x).result(Value::small(1)))?;
//! assert!(!builder.finish()?.has_calls());
//! # Ok::<(), history::BuildError>(())
//! ```
//!
//! A process crashes when its operation ends in [`CallEnd::Info`]. That operation may take effect at any later time, so
//! no later operation of the process can be ordered after it. If the process calls again, a new process continues for
//! it, under a new name.
//!
//! A finished history can be changed. [`HistoryBuilder::from`] opens it again. [`Replay`] plays its events into a new
//! history: fewer of them, or in another order.

mod attributes;
mod call;
pub mod checkpoint;
mod crash;
mod edit;
mod error;
mod finish;
mod reading;
mod replay;
mod transactions;

use rustc_hash::FxHashMap;

use crate::history::{History, KeyId, Operation, OperationId, Outcome, ProcessId};
use crate::object::{Method, Object, is_open_method, is_open_name};
use crate::value::{Value, Words};
use crate::whole_set;

pub use call::{Call, CallEnd};
pub use error::{BuildError, Which};
pub use reading::Facts;
pub use replay::Replay;
pub(crate) use transactions::Sessions;

/// The largest number of events. Indices have 32 bits, and their last values have special meanings.
pub(crate) const MOST_EVENTS: u32 = u32::MAX - 16;

/// How many remarks of the tester are kept.
const MOST_REMARKS: usize = 10_000;

/// The source of a read, named by a label that no operation has yet: `from=a` above `id=a`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Unresolved {
    /// The read.
    pub operation: OperationId,
    /// The label of its source.
    pub label: Value,
}

/// A history that is being built. See the [module](self).
#[derive(Clone, Debug)]
pub struct HistoryBuilder {
    pub(crate) history: History,
    pub(crate) processes: FxHashMap<u64, ProcessId>,
    /// For a process that crashed: the process that continues for it.
    pub(crate) successors: FxHashMap<ProcessId, ProcessId>,
    /// For a process that continues for another: the name under which the user asks for it.
    pub(crate) called: FxHashMap<ProcessId, u64>,
    pub(crate) keys: FxHashMap<u64, KeyId>,
    /// The initial (`false`) and final (`true`) values of keys that were stated.
    pub(crate) stated: FxHashMap<(KeyId, bool), Value>,
    /// The last operation of each process; it is open exactly if its outcome is `Pending`.
    pub(crate) last: Vec<Option<OperationId>>,
    pub(crate) labels: FxHashMap<u64, OperationId>,
    pub(crate) unresolved: Vec<Unresolved>,
    /// The number of events, once there was a call. Before that, this is not used: each operation is one event.
    pub(crate) events: u32,
    /// Whether there was a call.
    pub(crate) has_calls: bool,
    /// Whether this builder serves a stream of events. It then keeps only the last operation of each process, at the
    /// index of the process, and in its tables only the facts about the last event. The stream takes both out. Such a
    /// builder never finishes.
    pub(crate) is_stream: bool,
    /// What is known of the sessions of a history of transactions.
    pub(crate) sessions: Sessions,
}

impl HistoryBuilder {
    /// An empty history of a built-in object. The initial value is the empty string for a [`Object::KeyValue`], and 0
    /// for every other object.
    pub fn new(object: Object) -> Self {
        let initial = if object == Object::KeyValue { Value::BLANK } else { Value::ZERO };
        let mut builder = Self {
            history: History { object, initial, ..History::default() },
            processes: FxHashMap::default(),
            successors: FxHashMap::default(),
            called: FxHashMap::default(),
            keys: FxHashMap::default(),
            stated: FxHashMap::default(),
            last: Vec::new(),
            labels: FxHashMap::default(),
            unresolved: Vec::new(),
            events: 0,
            has_calls: false,
            is_stream: false,
            sessions: Sessions::default(),
        };
        builder.set_object(object);
        builder
    }

    /// Sets the object. What values are depends on it.
    pub(crate) fn set_object(&mut self, object: Object) {
        self.history.object = object;
        self.history.words.keep_texts(object == Object::KeyValue);
    }

    /// An empty history of an object that is not built in, by its name. Its methods are plain data
    /// ([`Self::call_method`], [`Self::instant_method`]).
    pub fn of_open(name: &str) -> Result<Self, BuildError> {
        if !is_open_name(name) || Object::from_name(name).is_some() {
            return Err(BuildError::OpenName(name.to_owned()));
        }
        let mut builder = Self::new(Object::Open);
        name.clone_into(&mut builder.history.open.name);
        Ok(builder)
    }

    /// An operation that was built.
    ///
    /// # Panics
    /// If no operation has this id.
    pub fn operation(&self, id: OperationId) -> &Operation {
        self.history.operation(id)
    }

    /// The texts of all words so far.
    pub fn words(&self) -> &Words {
        &self.history.words
    }

    /// Sets the name of the history.
    pub fn set_name(&mut self, name: impl Into<String>) {
        self.history.name = Some(name.into());
    }

    /// Sets how many processes may hold a semaphore at a time.
    pub fn set_capacity(&mut self, capacity: u64) {
        self.history.capacity = Some(capacity);
    }

    /// Sets the initial value of all keys that have none of their own.
    pub fn set_initial(&mut self, value: Value) -> Result<(), BuildError> {
        self.check_value(value)?;
        self.history.initial = value;
        Ok(())
    }

    /// Sets the initial value of a key.
    pub fn set_init(&mut self, key: KeyId, value: Value) -> Result<(), BuildError> {
        self.state(key, value, false)
    }

    /// Sets the final value of a key.
    pub fn set_final(&mut self, key: KeyId, value: Value) -> Result<(), BuildError> {
        self.state(key, value, true)
    }

    /// Sets the initial or the final value of a key.
    pub fn state(&mut self, key: KeyId, value: Value, is_final: bool) -> Result<(), BuildError> {
        if key.index() >= self.history.keys.len() {
            return Err(BuildError::UnknownKey(key));
        }
        self.check_value(value)?;
        match self.stated.get(&(key, is_final)) {
            Some(&known) if known != value => {
                let (known, key) = (self.history.show(known), self.history.key_name(key));
                return Err(BuildError::StatedTwice { key, known, is_final });
            }
            Some(_) => return Ok(()),
            None if is_final => self.history.finals.push((key, value)),
            None => self.history.inits.push((key, value)),
        }
        self.stated.insert((key, is_final), value);
        Ok(())
    }

    /// The value that a text stands for: a number if it is an integer literal (`7`, `-0x1F`), else a word. `nil` is
    /// `null`.
    pub fn value(&mut self, text: &str) -> Value {
        self.history.words.value(text)
    }

    /// The word with that text, even if the text looks like an integer.
    pub fn word(&mut self, text: &str) -> Value {
        self.history.words.word(text)
    }

    /// The whole set of these elements as one value: the result of a read of a set.
    pub fn whole_set(&mut self, elements: Vec<Value>) -> Value {
        whole_set::value(&mut self.history.words, elements)
    }

    /// The process with this name. The name is the [value](Self::value) that the text stands for. If the process
    /// crashed and another continues for it, the result is the one that continues.
    pub fn process(&mut self, name: &str) -> ProcessId {
        let name = self.history.words.naming(|words| words.value(name));
        self.process_of(name)
    }

    /// The process with this name, which must be a value of this builder.
    pub fn process_named(&mut self, name: Value) -> Result<ProcessId, BuildError> {
        self.check_value(name)?;
        Ok(self.process_of(name))
    }

    /// The key with this name. The name is the [value](Self::value) that the text stands for.
    pub fn key(&mut self, name: &str) -> KeyId {
        let name = self.history.words.naming(|words| words.value(name));
        self.key_of(name)
    }

    /// The key with this name, which must be a value of this builder.
    pub fn key_named(&mut self, name: Value) -> Result<KeyId, BuildError> {
        self.check_value(name)?;
        Ok(self.key_of(name))
    }

    /// The process of that name. It is made if it is new.
    pub fn process_of(&mut self, name: Value) -> ProcessId {
        let next = ProcessId(self.history.processes.len() as u32);
        let id = *self.processes.entry(name.bits()).or_insert(next);
        if id == next {
            self.history.processes.push(name);
            self.last.push(None);
        }
        self.history.words.settle_process(name, id == next);
        id
    }

    /// The key of that name. It is made if it is new.
    pub fn key_of(&mut self, name: Value) -> KeyId {
        let next = KeyId(self.history.keys.len() as u32);
        let id = *self.keys.entry(name.bits()).or_insert(next);
        if id == next {
            self.history.keys.push(name);
        }
        self.history.words.settle_key(name, id == next);
        id
    }

    /// Reserves memory for this many more operations.
    pub fn reserve(&mut self, operations: usize) {
        self.history.operations.reserve(operations);
    }

    /// Adds an instant: an operation without call and return.
    #[inline]
    pub fn instant(&mut self, call: &Call) -> Result<OperationId, BuildError> {
        self.check(call)?;
        self.begin(call, false)
    }

    /// Adds a call.
    #[inline]
    pub fn call(&mut self, call: &Call) -> Result<OperationId, BuildError> {
        self.check(call)?;
        if call.result.is_some() {
            return Err(BuildError::ResultOfCall);
        }
        self.begin(call, true)
    }

    /// Adds a call of a method of an object that is not built in ([`Method::Open`]). The method has a name and any
    /// number of arguments.
    pub fn call_method(&mut self, call: &Call, method: &str, arguments: &[Value]) -> Result<OperationId, BuildError> {
        self.begin_open(call, true, method, arguments)
    }

    /// Like [`Self::call_method`], for an instant.
    pub fn instant_method(
        &mut self,
        call: &Call,
        method: &str,
        arguments: &[Value],
    ) -> Result<OperationId, BuildError> {
        self.begin_open(call, false, method, arguments)
    }

    fn begin_open(
        &mut self,
        call: &Call,
        has_call: bool,
        method: &str,
        arguments: &[Value],
    ) -> Result<OperationId, BuildError> {
        if self.history.object != Object::Open || call.method != Method::Open || !is_open_method(method) {
            return Err(BuildError::OpenName(method.to_owned()));
        }
        if has_call && call.result.is_some() {
            return Err(BuildError::ResultOfCall);
        }
        self.check_names(call)?;
        arguments.iter().try_for_each(|&argument| self.check_value(argument))?;
        let id = self.begin(call, has_call)?;
        self.set_open(id, method.as_bytes(), arguments);
        Ok(id)
    }

    /// Sets the method and all arguments of an operation of an open object.
    pub fn set_open(&mut self, id: OperationId, method: &[u8], arguments: &[Value]) {
        let method = self.history.words.word(&String::from_utf8_lossy(method));
        self.history.open.methods.push((id, method));
        self.history.operations[id.index()].argument = arguments.first().copied().unwrap_or(Value::NONE);
        self.history.open.arguments.extend(arguments.iter().skip(1).map(|&argument| (id, argument)));
    }

    /// Ends the open operation of a process.
    #[inline]
    pub fn end(&mut self, process: ProcessId, end: CallEnd) -> Result<OperationId, BuildError> {
        if process.index() >= self.last.len() {
            return Err(BuildError::UnknownProcess(process));
        }
        let (outcome, result) = match end {
            CallEnd::Ok(result) => (Outcome::Ok, result),
            CallEnd::Fail => (Outcome::Fail, Value::NONE),
            CallEnd::Info => (Outcome::Info, Value::NONE),
        };
        self.check_value(result)?;
        let id = self.ending(self.current(process))?;
        self.close(id, outcome, result).ok_or(BuildError::TooManyEvents)?;
        Ok(id)
    }

    /// Checks that the builder knows all names of a call, and that its method is one of a built-in object.
    #[inline]
    fn check(&self, call: &Call) -> Result<(), BuildError> {
        if self.history.object == Object::Transactions {
            return Err(BuildError::CallInTransactions);
        }
        if call.method == Method::Open {
            return Err(BuildError::NoMethodName);
        }
        self.check_names(call)
    }

    #[inline]
    fn check_names(&self, call: &Call) -> Result<(), BuildError> {
        if call.process.index() >= self.last.len() {
            return Err(BuildError::UnknownProcess(call.process));
        }
        if call.key != KeyId::NONE && call.key.index() >= self.history.keys.len() {
            return Err(BuildError::UnknownKey(call.key));
        }
        for value in [call.argument, call.result, call.expected] {
            self.check_value(value)?;
        }
        Ok(())
    }

    #[inline]
    fn check_value(&self, value: Value) -> Result<(), BuildError> {
        if self.history.words.knows(value) { Ok(()) } else { Err(BuildError::UnknownWord(value)) }
    }

    fn check_operation(&self, id: OperationId) -> Result<(), BuildError> {
        if id.index() < self.history.operations.len() { Ok(()) } else { Err(BuildError::UnknownOperation(id)) }
    }

    /// How an error names an operation.
    fn which(&self, id: OperationId) -> Which {
        Which { id, line: self.history.operation(id).line }
    }

    /// The open operation of a process.
    #[inline]
    pub fn open(&self, process: ProcessId) -> Option<OperationId> {
        self.last[process.index()].filter(|&id| self.history.operation(id).outcome == Outcome::Pending)
    }

    /// The open operation of a process, or why it has none to end.
    #[inline]
    pub fn ending(&self, process: ProcessId) -> Result<OperationId, BuildError> {
        self.open(process).ok_or_else(|| {
            let name = self.history.process_name(process);
            match self.last[process.index()] {
                Some(last) if self.history.operation(last).outcome == Outcome::Info => {
                    BuildError::EndedUnknown { process: name, operation: self.which(last) }
                }
                _ => BuildError::NotOpen { process: name },
            }
        })
    }

    /// Adds a call (`has_call`) or an instant.
    pub fn begin(&mut self, call: &Call, has_call: bool) -> Result<OperationId, BuildError> {
        let process = self.current(call.process);
        if let Some(open) = self.open(process) {
            let process = self.history.process_name(process);
            return Err(BuildError::CallsAgain { process, operation: self.which(open) });
        }
        let moment = self.next_moment().ok_or(BuildError::TooManyEvents)?;
        self.history.words.settle(moment);
        let process = self.successor(process);
        if process != call.process {
            self.successors.insert(call.process, process);
        }
        if has_call && !self.has_calls {
            self.has_calls = true;
            if !self.is_stream {
                self.history.moments = (0..moment).map(|moment| [moment; 2]).collect();
            }
        }
        let outcome = if has_call { Outcome::Pending } else { Outcome::Instant };
        Ok(self.store(Operation { process, ..call.operation(outcome) }, call.expected, moment))
    }

    /// Stores a new operation.
    #[inline]
    fn store(&mut self, operation: Operation, expected: Value, moment: u32) -> OperationId {
        if self.is_stream {
            return self.place(operation);
        }
        let id = OperationId(self.history.operations.len() as u32);
        if self.has_calls {
            let is_open = operation.outcome == Outcome::Pending;
            self.history.moments.push([moment, if is_open { History::NEVER } else { moment }]);
        }
        self.last[operation.process.index()] = Some(id);
        if expected.is_some() {
            self.history.expected.push((id, expected));
        }
        self.history.operations.push(operation);
        id
    }

    /// In a stream: stores an operation as the last of its process.
    #[inline]
    fn place(&mut self, operation: Operation) -> OperationId {
        let id = OperationId(operation.process.0);
        let operations = &mut self.history.operations;
        if operations.len() <= id.index() {
            operations.resize(id.index() + 1, Operation { outcome: Outcome::Instant, ..operation });
        }
        operations[id.index()] = operation;
        self.last[id.index()] = Some(id);
        id
    }

    /// Ends the open operation `id`. `None` if there are too many events.
    #[inline]
    pub fn close(&mut self, id: OperationId, outcome: Outcome, result: Value) -> Option<()> {
        let moment = self.next_moment()?;
        self.history.words.settle(moment);
        let operation = &mut self.history.operations[id.index()];
        operation.outcome = outcome;
        operation.result = result;
        if !self.is_stream && outcome != Outcome::Info {
            self.history.moments[id.index()][1] = moment;
        }
        Some(())
    }

    /// Notes what the tester itself did before the next event. Only the first [`MOST_REMARKS`] are kept.
    pub fn remark(&mut self, words: String) {
        if !self.is_stream && self.history.remarks.len() < MOST_REMARKS {
            let moment = if self.has_calls { self.events } else { self.history.operations.len() as u32 };
            self.history.remarks.push((moment, words));
        }
    }

    /// The moment of the next event. `None` if there are too many events.
    #[inline]
    fn next_moment(&mut self) -> Option<u32> {
        let moment = if self.has_calls { self.events } else { self.history.operations.len() as u32 };
        if moment >= MOST_EVENTS {
            return None;
        }
        self.events = moment + 1;
        Some(moment)
    }

    /// Replaces all final values by values of keys that exist.
    pub(crate) fn replace_finals(&mut self, finals: Vec<(KeyId, Value)>) {
        self.history.finals = finals;
    }
}

#[cfg(test)]
mod tests;
