//! Builds a history event by event, and keeps the invariants that [`crate::history`] states, whatever the format.
//!
//! Nothing here knows a syntax. A method that refuses an event says why; the reader that called it knows where.
//!
//! For a stream ([`Builder::of_stream`]), the history holds no more than the last operation of each process, at the place of the
//! process, and its tables what was said of the last event: [`Builder::take_event`] takes both out.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::error::{Fault, InputError, quote};
use super::methods::{default_initial, infer_object};
use super::stream::{Event, SourceName, What};
use super::string::{quoted_length, unquote};
use super::{Format, render_operation};
use crate::history::{History, KeyId, MemoryOrder, Method, Object, Operation, OperationId, Outcome, ProcessId, Source};
use crate::object::{is_open_method, is_open_name};
use crate::value::{Value, Words};
use crate::whole_set;

/// Indices are 32-bit, and their last values are spoken for.
pub(super) const MOST_EVENTS: u32 = u32::MAX - 16;

/// An operation at its call, or the whole of one that was recorded without call and return.
#[derive(Copy, Clone, Debug)]
pub(super) struct Call {
    pub process: ProcessId,
    pub key: KeyId,
    pub line: u32,
    pub method: Method,
    pub order: MemoryOrder,
    pub argument: Value,
    pub result: Value,
    pub expected: Value,
}

/// What is known of a history before it is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Given {
    /// In whose terms errors speak, and which initial values hold where the file names none.
    pub format: Format,
    /// The object, whatever the file says.
    pub object: Option<Object>,
    /// The initial value, whatever the file says, as text has it.
    pub initial: Option<String>,
    /// Whether a `read` is more likely one of a set than one of a register.
    pub reads_sets: bool,
}

/// A source that was named before its label: `from=a` above `id=a`.
#[derive(Serialize, Deserialize)]
struct Unresolved {
    operation: OperationId,
    label: Value,
}

/// Who named the initial value.
#[derive(Copy, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum By {
    Nobody,
    File,
    /// The options, whatever the file says.
    Options,
}

/// What is known of a history whose events are taken out as they come.
#[derive(Default, Serialize, Deserialize)]
struct Streaming {
    /// The event that has not been taken out.
    event: Option<(OperationId, What)>,
    /// Whether there was a call.
    has_calls: bool,
}

/// A history that is being read.
#[derive(Serialize, Deserialize)]
pub(super) struct Builder {
    pub history: History,
    format: Format,
    reads_sets: bool,
    object: Option<Object>,
    is_object_forced: bool,
    /// Of a stream only.
    stream: Option<Streaming>,
    initial_by: By,
    processes: FxHashMap<u64, ProcessId>,
    /// The names by which the file calls processes that go on for ones that crashed.
    successors: FxHashMap<ProcessId, u64>,
    keys: FxHashMap<u64, KeyId>,
    /// The values of keys that were said to be initial (`false`) or final (`true`).
    stated: FxHashMap<(KeyId, bool), Value>,
    /// What the open operation of a process will return, where its call says so already.
    announced: FxHashMap<ProcessId, Value>,
    /// The last operation of each process; it is open exactly if its outcome is `Pending`.
    last: Vec<Option<OperationId>>,
    labels: FxHashMap<u64, OperationId>,
    unresolved: Vec<Unresolved>,
    /// The number of event lines, once there is a call; before that, the number of operations.
    events: u32,
    /// Whether anything was said about this history: an empty one of which nothing is known is none.
    is_begun: bool,
}

impl Builder {
    /// Nothing yet.
    pub fn new(given: &Given) -> Self {
        let &Given { format, object, ref initial, reads_sets } = given;
        let mut builder = Self {
            history: History::default(),
            format,
            reads_sets,
            object,
            is_object_forced: object.is_some(),
            stream: None,
            initial_by: if initial.is_some() { By::Options } else { By::Nobody },
            processes: FxHashMap::default(),
            successors: FxHashMap::default(),
            keys: FxHashMap::default(),
            stated: FxHashMap::default(),
            announced: FxHashMap::default(),
            last: Vec::new(),
            labels: FxHashMap::default(),
            unresolved: Vec::new(),
            events: 0,
            is_begun: false,
        };
        builder.history.object = object.unwrap_or(Object::Memory);
        if let Some(text) = initial {
            builder.history.initial = initial_value(&mut builder.history.words, text);
        }
        builder
    }

    /// [`Self::new`] of a stream.
    pub fn of_stream(given: &Given) -> Self {
        Self { stream: Some(Streaming::default()), ..Self::new(given) }
    }

    /// Of a stream: the event that was just read, if the line had one.
    pub fn take_event(&mut self) -> Option<Event> {
        let (id, what) = self.stream.as_mut()?.event.take()?;
        let history = &mut self.history;
        let source = match (history.sources.pop(), self.unresolved.pop()) {
            (Some(_), _) => SourceName::Init,
            (None, Some(Unresolved { label, .. })) => SourceName::Label(label),
            (None, None) => SourceName::None,
        };
        let event = Event {
            what,
            operation: history.operations[id.index()],
            expected: history.expected.pop().map_or(Value::NONE, |(_, expected)| expected),
            label: history.labels.pop().map_or(Value::NONE, |(_, label)| label),
            source,
            index: history.program_indices.pop().map(|(_, index)| index),
        };
        Some(event)
    }

    /// A directive stands here. In a stream, what it says cannot be said of events that have gone by.
    pub fn check_directive(&self, at: usize) -> Result<(), Fault> {
        if self.stream.is_some() && !self.history.operations.is_empty() {
            let fault = Fault::new(at, "in a stream, a directive comes before the first event of its history");
            return Err(fault.expected("a new history (`---`) before it"));
        }
        Ok(())
    }

    /// The initial value of a key.
    pub fn initial_value(&self, key: KeyId) -> Value {
        let given = self.history.inits.iter().rev().find(|&&(of, _)| of == key).map(|&(_, value)| value);
        let of_all = || {
            let default = default_initial(self.history.object, self.format);
            if self.initial_by == By::Nobody { default } else { self.history.initial }
        };
        given.unwrap_or_else(of_all)
    }

    /// About how many bytes of memory it takes: names are in several tables, which are mostly half empty.
    pub fn footprint(&self) -> usize {
        self.history.footprint()
            + 200 * (self.processes.len() + self.keys.len())
            + 80 * (self.labels.len() + self.stated.len() + self.unresolved.len())
    }

    /// Whether the file has said anything that belongs to this history.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// The file speaks of this history.
    pub fn begin(&mut self) {
        self.is_begun = true;
    }

    /// The object, once it is known.
    pub fn object(&self) -> Option<Object> {
        self.object
    }

    /// The file names its object. One that is not built in is open, but no stream has such: nothing could follow it.
    pub fn set_object(&mut self, name: &str, at: usize) -> Result<(), Fault> {
        self.is_begun = true;
        let is_open = self.stream.is_none() && is_open_name(name);
        let Some(object) = Object::from_name(name).or(is_open.then_some(Object::Open)) else {
            let names = Object::ALL.map(Object::name).join(", ");
            let message = format!("no object is called {}", quote(name.as_bytes()));
            return Err(Fault::new(at, message).expected(format!("one of {names}")));
        };
        if self.is_object_forced {
            return Ok(());
        }
        let open_name = if object == Object::Open { name } else { "" };
        match self.object {
            Some(known)
                if (known != object || self.history.open.name != open_name) && !self.history.operations.is_empty() =>
            {
                Err(Fault::new(at, format!("the operations above are of a {}", self.history.object_name())))
            }
            _ => {
                self.object = Some(object);
                self.history.object = object;
                open_name.clone_into(&mut self.history.open.name);
                Ok(())
            }
        }
    }

    /// The method of that name, on the object that the history is about. The first method tells the object of a file
    /// that does not.
    pub fn method(&mut self, name: &[u8], has_call: bool, at: usize) -> Result<Method, Fault> {
        let unknown = || Fault::new(at, format!("no method is called {}", quote(name)));
        let text = std::str::from_utf8(name).map_err(|_| unknown())?;
        let Some(object) = self.object else {
            let inferred = match infer_object(text, has_call, self.format) {
                Some(Object::Register) if text == "read" && self.reads_sets => Some(Object::Set),
                inferred => inferred,
            };
            let Some(object) = inferred.filter(|object| object.method(text).is_some()) else {
                if Object::ALL.iter().any(|object| object.method(text).is_some()) {
                    let message = format!("{} does not tell which object this history is about", quote(name));
                    let named = match self.format {
                        Format::Text | Format::Axe => "`# @object queue`",
                        Format::JsonLines => "`{\"object\":\"queue\"}` as the first record",
                        Format::Edn => "`{:object :queue}` as the first map",
                    };
                    let expected = format!("the object named in the file ({named}), or with --object");
                    return Err(Fault::new(at, message).expected(expected));
                }
                return Err(unknown().expected("a method of a known object"));
            };
            self.object = Some(object);
            self.history.object = object;
            return self.method(name, has_call, at);
        };
        if object == Object::Open {
            let what = "a name of letters, digits and `-_.!?` that is no word of the format";
            return if is_open_method(text) { Ok(Method::Open) } else { Err(unknown().expected(what)) };
        }
        object.method(text).ok_or_else(|| {
            let names: Vec<&str> = object.methods().iter().map(|(_, names)| names[0]).collect();
            let message = format!("a {} has no method {}", object.name(), quote(name));
            Fault::new(at, message).expected(format!("one of {}", names.join(", ")))
        })
    }

    /// The name of the method of an operation of an open object, and all its arguments.
    pub fn set_open(&mut self, id: OperationId, method: &[u8], arguments: &[Value]) {
        let method = self.history.words.word(&String::from_utf8_lossy(method));
        self.history.open.methods.push((id, method));
        self.history.operations[id.index()].argument = arguments.first().copied().unwrap_or(Value::NONE);
        self.history.open.arguments.extend(arguments.iter().skip(1).map(|&argument| (id, argument)));
    }

    /// What a method returns that reads a whole set: `given` lists the elements in braces.
    pub fn whole_set(&mut self, given: Value) -> Option<Value> {
        let words = &mut self.history.words;
        let text = given.as_word().map(|word| words.text(word).to_owned())?;
        let elements = whole_set::parse(words, &text)?;
        Some(whole_set::value(words, elements))
    }

    /// The initial value of keys that are not named.
    pub fn set_initial(&mut self, value: Value) {
        self.is_begun = true;
        if self.initial_by != By::Options {
            self.initial_by = By::File;
            self.history.initial = value;
        }
    }

    /// The initial or the final value of a key.
    pub fn state(&mut self, key: KeyId, value: Value, is_final: bool, at: usize) -> Result<(), Fault> {
        match self.stated.insert((key, is_final), value) {
            Some(known) if known != value => {
                let which = if is_final { "final" } else { "initial" };
                let [known, key] = [known, self.history.keys[key.index()]].map(|value| self.history.show(value));
                return Err(Fault::new(at, format!("the {which} value of {key} was said to be {known}")));
            }
            Some(_) => {}
            None if is_final => self.history.finals.push((key, value)),
            None => self.history.inits.push((key, value)),
        }
        Ok(())
    }

    /// The process of that name.
    pub fn process(&mut self, name: Value) -> ProcessId {
        let next = ProcessId(self.history.processes.len() as u32);
        let id = *self.processes.entry(name.bits()).or_insert(next);
        if id == next {
            self.history.processes.push(name);
            self.last.push(None);
        }
        id
    }

    /// The process of that name, if it has been seen.
    pub fn known_process(&self, name: Value) -> Option<ProcessId> {
        self.processes.get(&name.bits()).copied()
    }

    /// The key of that name.
    pub fn key(&mut self, name: Value) -> KeyId {
        let next = KeyId(self.history.keys.len() as u32);
        let id = *self.keys.entry(name.bits()).or_insert(next);
        if id == next {
            self.history.keys.push(name);
        }
        id
    }

    /// The operation of a process that has not ended.
    #[inline]
    pub fn open(&self, process: ProcessId) -> Option<OperationId> {
        self.last[process.index()].filter(|&id| self.history.operation(id).outcome == Outcome::Pending)
    }

    /// Whether all operations so far came without call and return.
    #[inline]
    pub fn is_instant(&self) -> bool {
        self.history.moments.is_empty() && !self.stream.as_ref().is_some_and(|stream| stream.has_calls)
    }

    /// An operation without call and return in a history of such, which is no stream; none if it is another, or full.
    #[inline]
    pub fn instant(&mut self, operation: Operation) -> Option<()> {
        let operations = &mut self.history.operations;
        if !self.history.moments.is_empty() || operations.len() >= MOST_EVENTS as usize {
            return None;
        }
        operations.push(operation);
        Some(())
    }

    /// An operation is called (`has_call`), or is recorded without call and return.
    pub fn call(&mut self, call: &Call, has_call: bool, at: usize) -> Result<OperationId, Fault> {
        if let Some(open) = self.open(call.process) {
            let message = format!(
                "process {} calls again before its operation of line {} returned",
                self.history.process_name(call.process),
                self.history.operation(open).line
            );
            return Err(Fault::new(at, message));
        }
        let moment = self.next_moment().ok_or_else(|| too_many(at))?;
        self.is_begun = true;
        let outcome = if has_call { Outcome::Pending } else { Outcome::Instant };
        let &Call { process, key, line, method, order, argument, result, expected } = call;
        let process = self.successor(process);
        if has_call && self.history.moments.is_empty() && self.stream.is_none() {
            self.history.moments = (0..moment).map(|moment| [moment; 2]).collect();
        }
        let operation = Operation { process, key, line, method, order, outcome, argument, result };
        let id = self.store(operation, expected, moment);
        if let Some(stream) = &mut self.stream {
            stream.has_calls |= has_call;
            stream.event = Some((id, if has_call { What::Call } else { What::Instant }));
            if expected.is_some() {
                self.history.expected.push((id, expected));
            }
        }
        Ok(id)
    }

    /// [`Self::call`] in a history that has calls, but what is called is not yet the event of a stream. None if it is refused, or the
    /// process needs a successor.
    #[inline]
    pub fn called(&mut self, operation: Operation, expected: Value) -> Option<OperationId> {
        let last = self.last[operation.process.index()];
        let is_free = |id| !matches!(self.history.operation(id).outcome, Outcome::Pending | Outcome::Info);
        if !last.is_none_or(is_free) {
            return None;
        }
        let moment = self.next_moment()?;
        Some(self.store(operation, expected, moment))
    }

    /// Keeps an operation that begins, or the whole of one without call and return.
    #[inline]
    fn store(&mut self, operation: Operation, expected: Value, moment: u32) -> OperationId {
        if self.stream.is_some() {
            return self.place(operation);
        }
        let id = OperationId(self.history.operations.len() as u32);
        let has_call = operation.outcome == Outcome::Pending;
        if has_call || !self.history.moments.is_empty() {
            self.history.moments.push([moment, if has_call { History::NEVER } else { moment }]);
        }
        self.last[operation.process.index()] = Some(id);
        if expected.is_some() {
            self.history.expected.push((id, expected));
        }
        self.history.operations.push(operation);
        id
    }

    /// The process that goes on under the name of another: a new one, if the other crashed. What it did last may take effect at any
    /// later time, so it is in no order with what follows.
    fn successor(&mut self, process: ProcessId) -> ProcessId {
        let last = self.last[process.index()];
        if last.is_none_or(|id| self.history.operation(id).outcome != Outcome::Info) {
            return process;
        }
        let name = self.history.processes[process.index()];
        let mut text = self.history.show(name);
        let fresh = loop {
            text.push('\'');
            let fresh = self.history.words.word(&text);
            if !self.processes.contains_key(&fresh.bits()) {
                break fresh;
            }
        };
        let successor = self.process(fresh);
        let called = self.successors.get(&process).copied().unwrap_or(name.bits());
        self.processes.insert(called, successor);
        self.successors.insert(successor, called);
        if let Some(result) = self.announced.remove(&process) {
            self.announced.insert(successor, result);
        }
        successor
    }

    /// Of a stream: keeps an operation as the last of its process.
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

    /// The call of a process says what it will return.
    pub fn announce(&mut self, process: ProcessId, result: Value) {
        self.announced.insert(process, result);
    }

    /// Whether the call of an operation that is open says what it will return.
    #[inline]
    pub fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }

    /// What the operation of a process that ends returns: what is given, or else what its call said.
    pub fn announced(&mut self, process: ProcessId, given: Value, at: usize) -> Result<Value, Fault> {
        match self.announced.remove(&process) {
            Some(announced) if given.is_some() && given != announced => {
                let [said, given] = [announced, given].map(|value| quote(self.history.show(value).as_bytes()));
                let line = self.open(process).map_or(0, |id| self.history.operation(id).line);
                Err(Fault::new(at, format!("its call on line {line} says that it returns {said}, and not {given}")))
            }
            announced => Ok(if given.is_some() { given } else { announced.unwrap_or(given) }),
        }
    }

    /// The open operation of a process, which is about to end.
    pub fn ending(&self, process: ProcessId, at: usize) -> Result<OperationId, Fault> {
        self.open(process).ok_or_else(|| {
            let name = self.history.process_name(process);
            let last = self.last[process.index()].map(|id| self.history.operation(id));
            let message = match last {
                Some(last) if last.outcome == Outcome::Info => format!(
                    "the operation of process {name} on line {} has already ended, with nobody knowing how",
                    last.line
                ),
                _ => format!("process {name} has no operation open"),
            };
            Fault::new(at, message).expected("a call before its return")
        })
    }

    /// The open operation `id` ends.
    pub fn end(&mut self, id: OperationId, outcome: Outcome, result: Value, at: usize) -> Result<(), Fault> {
        self.close(id, outcome, result).ok_or_else(|| too_many(at))?;
        if let Some(stream) = &mut self.stream {
            stream.event = Some((id, What::End));
        }
        Ok(())
    }

    /// [`Self::end`], but it is not yet the event of a stream. None if there are too many events.
    #[inline]
    pub fn close(&mut self, id: OperationId, outcome: Outcome, result: Value) -> Option<()> {
        let moment = self.next_moment()?;
        let operation = &mut self.history.operations[id.index()];
        operation.outcome = outcome;
        operation.result = result;
        if self.stream.is_none() && outcome != Outcome::Info {
            self.history.moments[id.index()][1] = moment;
        }
        Some(())
    }

    /// The moment of the next event; none if there are too many.
    #[inline]
    fn next_moment(&mut self) -> Option<u32> {
        let moment = if self.is_instant() { self.history.operations.len() as u32 } else { self.events };
        if moment >= MOST_EVENTS {
            return None;
        }
        self.events = moment + 1;
        Some(moment)
    }

    /// The recorded time of a call (0) or a return (1).
    pub fn set_time(&mut self, id: OperationId, end: usize, time: i64) {
        if self.stream.is_some() {
            return;
        }
        if self.history.times.len() <= id.index() {
            self.history.times.resize(id.index() + 1, [None; 2]);
        }
        self.history.times[id.index()][end] = Some(time);
    }

    /// An operation has a label.
    pub fn set_label(&mut self, id: OperationId, label: Value, at: usize) -> Result<(), Fault> {
        if self.is_init(label) {
            return Err(Fault::new(at, "`init` is the name of the initial write").expected("another label"));
        }
        if self.stream.is_some() {
            self.history.labels.push((id, label));
            return Ok(());
        }
        match self.labels.insert(label.bits(), id) {
            Some(other) if other != id => {
                let line = self.history.operation(other).line;
                let mine = self.history.operation(id).line;
                let label = quote(self.history.show(label).as_bytes());
                let message = format!("line {line} and line {mine} have the same label {label}");
                Err(Fault::new(at, message).expected("a label of its own for each operation"))
            }
            Some(_) => Ok(()),
            None => {
                self.history.labels.push((id, label));
                Ok(())
            }
        }
    }

    /// A read names its source by a label, which may come later in the file.
    pub fn set_source(&mut self, id: OperationId, label: Value, at: usize) -> Result<(), Fault> {
        if !matches!(self.history.operation(id).method, Method::Read | Method::Rmw | Method::Cas) {
            return Err(Fault::new(at, "an operation that does not read has no source"));
        }
        if self.is_init(label) {
            self.history.sources.push((id, Source::Init));
        } else if let Some(&write) = self.labels.get(&label.bits()) {
            self.history.sources.push((id, Source::Operation(write)));
        } else {
            self.unresolved.push(Unresolved { operation: id, label });
        }
        Ok(())
    }

    fn is_init(&self, label: Value) -> bool {
        label.as_word().is_some_and(|word| self.history.words.text(word) == "init")
    }

    /// The index of an operation in program order.
    pub fn set_program_index(&mut self, id: OperationId, index: u64) {
        self.history.program_indices.push((id, index));
    }

    /// The history.
    pub fn finish(mut self) -> Result<History, UnknownSource> {
        for Unresolved { operation, label } in std::mem::take(&mut self.unresolved) {
            let Some(&write) = self.labels.get(&label.bits()) else {
                let Self { history, format, .. } = self;
                return Err(UnknownSource { history: Box::new(history), format, operation, label });
            };
            self.history.sources.push((operation, Source::Operation(write)));
        }
        let history = &mut self.history;
        if self.initial_by == By::Nobody {
            history.initial = default_initial(history.object, self.format);
        }
        if !history.times.is_empty() {
            history.times.resize(history.operations.len(), [None; 2]);
        }
        sort(&mut history.labels);
        sort(&mut history.sources);
        sort(&mut history.program_indices);
        Ok(self.history)
    }
}

/// The value that an option names: a string in double quotes is a word, whatever it spells.
fn initial_value(words: &mut Words, text: &str) -> Value {
    match quoted_length(text.as_bytes()) {
        Some((length, _)) if text.starts_with('"') && length == text.len() => {
            let word = unquote(text.as_bytes(), 0).unwrap_or_else(|_| text.to_owned());
            words.word(&word)
        }
        _ => words.value(text),
    }
}

fn too_many(at: usize) -> Fault {
    Fault::new(at, format!("a history of more than {MOST_EVENTS} events"))
}

/// A read names a source that no operation is labelled as: known only at the end of the history.
#[derive(Debug)]
pub(super) struct UnknownSource {
    history: Box<History>,
    format: Format,
    operation: OperationId,
    label: Value,
}

impl UnknownSource {
    /// The error. The line itself has gone by; the operation is written anew.
    pub fn into_error(self) -> InputError {
        let mut text = render_operation(&self.history, self.operation).into_bytes();
        let label = self.history.show(self.label);
        text.extend_from_slice(b" from=");
        let at = text.len();
        text.extend_from_slice(label.as_bytes());
        Fault::new(at, format!("no operation of this history has the label {}", quote(label.as_bytes())))
            .expected(match self.format {
                Format::Text | Format::Axe => "a label that an operation has (`id=`), or `init`",
                Format::JsonLines => "a label that an operation has (its field `id`), or `init`",
                Format::Edn => "a label that an operation has (its field `:id`), or `init`",
            })
            .in_line(self.history.operation(self.operation).line, &text)
    }
}

/// Sorts a sparse table by operation. What was said last of an operation holds.
fn sort<T: Copy>(table: &mut Vec<(OperationId, T)>) {
    if table.is_sorted_by(|a, b| a.0 < b.0) {
        return;
    }
    table.sort_by_key(|&(id, _)| id);
    table.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            *earlier = *later;
        }
        same
    });
}
