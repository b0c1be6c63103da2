//! What the readers of all formats share on top of a [`HistoryBuilder`]: the object and the initial value that the user
//! forced, the methods that names stand for, and results that a call announces.
//!
//! The [`HistoryBuilder`] keeps the invariants. Nothing here depends on a syntax. A method that refuses something says
//! why. The reader that called it adds where.
//!
//! For a stream ([`Builder::of_stream`]), the history holds only the last operation of each process, at the index of
//! the process. Its tables hold only the facts about the last event. [`Builder::take_event`] takes both out.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::ops::{Deref, DerefMut};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use super::error::{Fault, InputError};
use super::methods::{default_initial, infer_object};
use super::sizes::Sizes;
use super::stream::{SourceName, StreamEvent, What};
use super::string::{quoted_length, unquote};
use super::{Format, render_operation};
use history::builder::checkpoint::BuilderLayout;
use history::builder::{BuildError, Call, Facts, HistoryBuilder, Unresolved};
use history::history::{History, KeyId, Method, Object, OperationId, Outcome, ProcessId};
use history::literal::{Number, number};
use history::object::{is_open_method, is_open_name};
use history::value::{Value, Words, quote};
use history::whole_set;

/// What is known of a history before it is read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Preset {
    /// The format. Messages use its terms, and it has the initial values for a file that names none.
    pub format: Format,
    /// The object. It overrides the object that the file names.
    pub object: Option<Object>,
    /// The initial value, as text. It overrides the one that the file names.
    pub initial: Option<String>,
    /// Whether a `read` is more likely to read a set than a register.
    pub reads_sets: bool,
    /// What reading may use.
    #[serde(skip)]
    pub allowance: Allowance,
}

/// A history that is being read.
#[derive(Serialize, Deserialize)]
pub(super) struct Builder {
    #[serde(with = "BuilderLayout")]
    inner: HistoryBuilder,
    preset: Preset,
    /// The object, once it is known.
    object: Option<Object>,
    /// In a stream: the last event, which has not been taken out, and events of its transaction before it.
    event: Option<(OperationId, What)>,
    queue: VecDeque<StreamEvent>,
    /// Whether the object is only inferred from the methods so far.
    is_inferred: bool,
    is_initial_given: bool,
    /// The result of the open operation of a process, if its call announces it.
    announced: FxHashMap<ProcessId, Value>,
    /// Whether any line belongs to this history. If not, there is no history.
    is_begun: bool,
    sizes: Sizes,
}

impl Deref for Builder {
    type Target = HistoryBuilder;

    #[inline]
    fn deref(&self) -> &HistoryBuilder {
        &self.inner
    }
}

impl DerefMut for Builder {
    #[inline]
    fn deref_mut(&mut self) -> &mut HistoryBuilder {
        &mut self.inner
    }
}

impl Builder {
    /// A builder without events.
    pub fn new(preset: &Preset) -> Self {
        let mut builder = Self {
            inner: HistoryBuilder::new(preset.object.unwrap_or(Object::Memory)),
            preset: preset.clone(),
            object: preset.object,
            event: None,
            queue: VecDeque::new(),
            is_inferred: false,
            is_initial_given: preset.initial.is_some(),
            announced: FxHashMap::default(),
            is_begun: false,
            sizes: Sizes::default(),
        };
        if let Some(text) = &preset.initial {
            let value = initial_value(builder.words_mut(), text);
            builder.put_initial(value);
        }
        builder
    }

    /// Like [`Self::new`], for a stream.
    pub fn of_stream(preset: &Preset) -> Self {
        let mut builder = Self::new(preset);
        builder.serve_stream();
        builder
    }

    /// In a stream: the event of the line that was just read, if the line had one.
    pub fn take_event(&mut self) -> Option<StreamEvent> {
        self.queue.pop_front().or_else(|| self.last_event())
    }

    /// The last event, with the facts about it in the tables.
    pub(super) fn last_event(&mut self) -> Option<StreamEvent> {
        let (id, what) = self.event.take()?;
        let facts = self.take_facts();
        let source = match facts.from_label {
            _ if facts.from_initial => SourceName::Init,
            Some(label) => SourceName::Label(label),
            None => SourceName::None,
        };
        let Facts { expected, label, program_index: index, .. } = facts;
        Some(StreamEvent { what, operation: *self.operation(id), expected, label, source, index })
    }

    /// Checks that a directive may stand here. In a stream, it cannot apply to events that were handed out already.
    pub fn check_directive(&self, at: usize) -> Result<(), Fault> {
        if self.is_stream() && !self.so_far().operations().is_empty() {
            let fault = Fault::new(at, "in a stream, a directive comes before the first event of its history");
            return Err(fault.expected("a new history (`---`) before it"));
        }
        Ok(())
    }

    /// The initial value of a key.
    pub fn initial_value(&self, key: KeyId) -> Value {
        let given = self.so_far().inits().iter().rev().find(|&&(of, _)| of == key).map(|&(_, value)| value);
        let of_all = || {
            let default = default_initial(self.so_far().object(), self.preset.format);
            if self.is_initial_given { self.so_far().initial() } else { default }
        };
        given.unwrap_or_else(of_all)
    }

    /// Whether any line belongs to this history.
    pub fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Notes that a line belongs to this history.
    pub fn begin(&mut self) {
        self.is_begun = true;
    }

    /// The object, once it is known.
    pub fn object(&self) -> Option<Object> {
        self.object
    }

    /// Sets the object that the file names. An unknown name means an open object. A stream cannot have one, since no
    /// monitor could follow it.
    pub fn set_object(&mut self, name: &str, at: usize) -> Result<(), Fault> {
        self.is_begun = true;
        let is_open = !self.is_stream() && is_open_name(name);
        let Some(object) = Object::from_name(name).or(is_open.then_some(Object::Open)) else {
            let names = Object::ALL.map(Object::name).join(", ");
            let message = format!("no object is called {}", quote(name.as_bytes()));
            return Err(Fault::new(at, message).expected(format!("one of {names}, transactions")));
        };
        if self.preset.object.is_some() {
            return Ok(());
        }
        let open_name = if object == Object::Open { name } else { "" };
        match self.object {
            Some(known)
                if (known != object || self.so_far().open_name() != open_name)
                    && !self.so_far().operations().is_empty() =>
            {
                Err(Fault::new(at, format!("the operations above are of a {}", self.so_far().object_name())))
            }
            _ => {
                self.object = Some(object);
                self.is_inferred = false;
                self.put_object(object, open_name);
                Ok(())
            }
        }
    }

    /// Whether the object is only inferred from the methods so far.
    pub(super) fn is_object_inferred(&self) -> bool {
        self.is_inferred
    }

    /// Makes this a history of transactions, since an event shows that it is one.
    pub(super) fn become_transactions(&mut self) {
        self.object = Some(Object::Transactions);
        self.is_inferred = true;
        self.put_object(Object::Transactions, "");
    }

    /// In a stream: sets the last event. Those before it are kept.
    pub(super) fn set_event(&mut self, id: OperationId, what: What) {
        if let Some(event) = self.last_event() {
            self.queue.push_back(event);
        }
        self.event = Some((id, what));
    }

    /// In a stream: adds an event that has no operation of its own.
    pub(super) fn queue_event(&mut self, event: StreamEvent) {
        if let Some(event) = self.last_event() {
            self.queue.push_back(event);
        }
        self.queue.push_back(event);
    }

    /// In a stream: all events that have not been taken out.
    pub(super) fn take_events(&mut self) -> VecDeque<StreamEvent> {
        let last = self.last_event();
        self.queue.extend(last);
        std::mem::take(&mut self.queue)
    }

    /// Whether events of the last line or record have not been taken out.
    #[inline]
    pub fn has_event(&self) -> bool {
        !self.queue.is_empty() || self.event.is_some()
    }

    /// The method of that name. If the object is not known yet, the name of the first method decides it.
    pub fn method(&mut self, name: &[u8], has_call: bool, at: usize) -> Result<Method, Fault> {
        let unknown = || Fault::new(at, format!("no method is called {}", quote(name)));
        let text = std::str::from_utf8(name).map_err(|_| unknown())?;
        let Some(object) = self.object else {
            let inferred = match infer_object(text, has_call, self.preset.format) {
                Some(Object::Register) if text == "read" && self.preset.reads_sets => Some(Object::Set),
                inferred => inferred,
            };
            let Some(object) = inferred.filter(|object| object.method(text).is_some()) else {
                if Object::ALL.iter().any(|object| object.method(text).is_some()) {
                    let message = format!("{} does not tell which object this history is about", quote(name));
                    let named = match self.preset.format {
                        Format::JsonLines => "`{\"object\":\"queue\"}` as the first record",
                        Format::Edn => "`{:object :queue}` as the first map",
                        _ => "`# @object queue`",
                    };
                    let expected = format!("the object named in the file ({named}), or with --object");
                    return Err(Fault::new(at, message).expected(expected));
                }
                return Err(unknown().expected("a method of a known object"));
            };
            self.object = Some(object);
            self.is_inferred = true;
            self.put_object(object, "");
            return self.method(name, has_call, at);
        };
        if object == Object::Open {
            let what = "a name of letters, digits and `-_.!?` that is not a word of the format";
            return if is_open_method(text) { Ok(Method::Open) } else { Err(unknown().expected(what)) };
        }
        object.method(text).ok_or_else(|| {
            let names: Vec<&str> = object.methods().iter().map(|(_, names)| names[0]).collect();
            let message = match object {
                Object::Transactions => format!("a transaction has no operation {}", quote(name)),
                _ => format!("a {} has no method {}", object.name(), quote(name)),
            };
            Fault::new(at, message).expected(format!("one of {}", names.join(", ")))
        })
    }

    /// The result of a read of a whole set. `given` lists the elements in braces.
    pub fn listed_set(&mut self, given: Value) -> Option<Value> {
        let words = self.words_mut();
        let text = given.as_word().map(|word| words.text(word).to_owned())?;
        let elements = whole_set::parse(words, &text)?;
        Some(whole_set::value(words, elements))
    }

    /// Sets the initial value of all keys that have none of their own.
    pub fn set_initial(&mut self, value: Value) {
        self.is_begun = true;
        self.is_initial_given = true;
        if self.preset.initial.is_none() {
            self.put_initial(value);
        }
    }

    /// Sets the initial or the final value of a key.
    pub fn state(&mut self, key: KeyId, value: Value, is_final: bool, at: usize) -> Result<(), Fault> {
        self.inner.state(key, value, is_final).map_err(|error| refusal(&error, at))
    }

    /// Notes the size of an access, which must be that of the others.
    pub fn set_size(&mut self, key: KeyId, size: &[u8], line: u32, at: usize) -> Result<(), Fault> {
        let Some(bytes) = size_in_bytes(size) else {
            return Err(Fault::new(at, format!("{} is not a size", quote(size))).expected("the size in bytes, from 1"));
        };
        let history = self.inner.so_far();
        let Some(&location) = history.keys().get(key.index()) else { return Ok(()) };
        self.sizes.add(history.words(), location, bytes, line, at)
    }

    /// Adds a call (`has_call`) or an instant.
    pub fn call(&mut self, call: &Call, has_call: bool, at: usize) -> Result<OperationId, Fault> {
        let id = self.inner.begin(call, has_call).map_err(|error| refusal(&error, at))?;
        self.is_begun = true;
        let process = self.operation(id).process;
        if process != call.process
            && let Some(result) = self.announced.remove(&call.process)
        {
            self.announced.insert(process, result);
        }
        if self.is_stream() {
            self.event = Some((id, if has_call { What::Call } else { What::Instant }));
            if call.expected.is_some() {
                self.put_expected(id, call.expected);
            }
        }
        Ok(id)
    }

    /// Notes the result that the call of a process announces.
    pub fn announce(&mut self, process: ProcessId, result: Value) {
        self.announced.insert(process, result);
    }

    /// Whether any open call announces its result.
    #[inline]
    pub fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }

    /// The result of an operation that ends: the given one, or else the one that its call announced.
    pub fn announced(&mut self, process: ProcessId, given: Value, at: usize) -> Result<Value, Fault> {
        match self.announced.remove(&process) {
            Some(announced) if given.is_some() && given != announced => {
                let [said, given] = [announced, given].map(|value| quote(self.so_far().show(value).as_bytes()));
                let line = self.open(process).map_or(0, |id| self.so_far().operation(id).line);
                Err(Fault::new(at, format!("its call on line {line} says that it returns {said}, and not {given}")))
            }
            announced => Ok(if given.is_some() { given } else { announced.unwrap_or(given) }),
        }
    }

    /// The open operation of a process, or why it has none to end.
    pub fn ending(&self, process: ProcessId, at: usize) -> Result<OperationId, Fault> {
        self.inner.ending(process).map_err(|error| refusal(&error, at))
    }

    /// Ends the open operation `id`.
    pub fn end(&mut self, id: OperationId, outcome: Outcome, result: Value, at: usize) -> Result<(), Fault> {
        self.close(id, outcome, result).ok_or_else(|| refusal(&BuildError::TooManyEvents, at))?;
        if self.is_stream() {
            self.event = Some((id, What::End));
        }
        Ok(())
    }

    /// Sets the label of an operation.
    pub fn set_label(&mut self, id: OperationId, label: Value, at: usize) -> Result<(), Fault> {
        self.inner.set_label(id, label).map_err(|error| refusal(&error, at))
    }

    /// Sets the source of a read by a label. The operation with that label may come later.
    pub fn set_source(&mut self, id: OperationId, label: Value, at: usize) -> Result<(), Fault> {
        self.inner.set_source_label(id, label).map_err(|error| refusal(&error, at))
    }

    /// The finished history. What is wrong with it as a whole has the line of an operation; that line is no longer in
    /// memory, so the operation is rendered instead.
    pub fn finish(mut self) -> Result<History, InputError> {
        if !self.is_initial_given {
            let default = default_initial(self.so_far().object(), self.preset.format);
            self.put_initial(default);
        }
        let Self { inner, preset: Preset { format, .. }, mut sizes, .. } = self;
        let history =
            inner.complete().map_err(|(history, unresolved)| unknown_source(&history, format, &unresolved))?;
        if sizes.are_known() {
            // An access that states no size is as large as the others.
            for (id, operation) in (0..).map(OperationId).zip(history.operations()) {
                if let Some(&location) = history.keys().get(operation.key.index()) {
                    let added = sizes.add_like_others(history.words(), location, operation.line, 0);
                    let place = |fault: Fault| fault.in_line(operation.line, render_operation(&history, id).as_bytes());
                    added.map_err(place)?;
                }
            }
        }
        Ok(history)
    }
}

/// The number of bytes that a size stands for.
fn size_in_bytes(size: &[u8]) -> Option<NonZeroU64> {
    let Number::Small(size) = number(size)? else { return None };
    NonZeroU64::new(u64::try_from(size.as_integer()?).ok()?)
}

/// The value that the option for the initial value stands for. A string in double quotes is always a word.
fn initial_value(words: &mut Words, text: &str) -> Value {
    match quoted_length(text.as_bytes()) {
        Some((length, _)) if text.starts_with('"') && length == text.len() => {
            let word = unquote(text.as_bytes(), 0).unwrap_or_else(|_| text.to_owned());
            words.word(&word)
        }
        _ => words.value(text),
    }
}

/// The fault for an event that the builder refuses.
pub(super) fn refusal(error: &BuildError, at: usize) -> Fault {
    let fault = Fault::new(at, error.to_string());
    match error {
        BuildError::NotOpen { .. } | BuildError::EndedUnknown { .. } => fault.expected("a call before its return"),
        BuildError::LabelInit => fault.expected("another label"),
        BuildError::LabelTwice { .. } => fault.expected("a label of its own for each operation"),
        _ => fault,
    }
}

/// The error of a read whose source has a label that no operation has. It is known only at the end of the history.
fn unknown_source(history: &History, format: Format, &Unresolved { operation, label }: &Unresolved) -> InputError {
    let mut text = render_operation(history, operation).into_bytes();
    let label = history.show(label);
    text.extend_from_slice(b" from=");
    let at = text.len();
    text.extend_from_slice(label.as_bytes());
    Fault::new(at, format!("no operation of this history has the label {}", quote(label.as_bytes())))
        .expected(match format {
            Format::JsonLines => "a label that an operation has (its field `id`), or `init`",
            Format::Edn => "a label that an operation has (its field `:id`), or `init`",
            _ => "a label that an operation has (`id=`), or `init`",
        })
        .in_line(history.operation(operation).line, &text)
}
