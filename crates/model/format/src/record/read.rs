//! Makes histories from records: a header begins a history, and each other record is an event of it.
//!
//! Invariant: after an error in a history, its other records are skipped, and the next header begins a good one.

use super::super::builder::{Builder, Preset};
use super::super::error::{Fault, InputError, utf8};
use super::super::stream::StreamEvent;
use super::transactions::{Transacting, bank};
use super::{Field, Notation, Raw, Record};
use history::Returns;
use history::builder::Call;
use history::history::{History, KeyId, MemoryOrder, Method, Object, Operation, OperationId, Outcome, ProcessId};
use history::value::{Value, Words, quote};
use serde::{Deserialize, Serialize};

/// Collects records into histories.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Assembler<N> {
    pub notation: N,
    preset: Preset,
    pub(super) builder: Builder,
    pub(super) transacting: Transacting,
    /// Whether a failed compare-and-swap has observed a mismatch, as in Jepsen's old logs.
    pub observes_mismatches: bool,
    /// Whether the current history had an error. The rest of that history is skipped.
    is_lost: bool,
}

impl<N: Notation> Assembler<N> {
    pub fn new(notation: N, preset: Preset, observes_mismatches: bool) -> Self {
        let builder = Builder::new(&preset);
        Self { notation, builder, transacting: Transacting::default(), preset, observes_mismatches, is_lost: false }
    }

    /// Like [`Self::new`], for a stream.
    pub fn of_stream(notation: N, preset: Preset) -> Self {
        Self { builder: Builder::of_stream(&preset), ..Self::new(notation, preset, false) }
    }

    /// The builder of the current history.
    pub fn builder(&self) -> &Builder {
        &self.builder
    }

    /// In a stream: the event of the record that was just pushed.
    pub fn take_event(&mut self) -> Option<StreamEvent> {
        if self.builder.object() == Some(Object::Transactions) && self.transacting.is_undecided() {
            return None;
        }
        self.builder.take_event()
    }

    /// In a stream: begins another history.
    pub fn start_over(&mut self) {
        self.is_lost = false;
        self.transacting = Transacting::default();
        self.builder = Builder::of_stream(&self.preset);
    }

    /// Ends the history, so that another may begin. `None` if there was no history, or it had an error.
    pub fn end(&mut self) -> Option<Result<History, InputError>> {
        let closed = self.close_transactions();
        self.transacting = Transacting::default();
        let builder = std::mem::replace(&mut self.builder, Builder::new(&self.preset));
        if std::mem::take(&mut self.is_lost) || !builder.is_begun() {
            return None;
        }
        if let Err(fault) = closed {
            return Some(Err(fault.in_line(0, b"")));
        }
        let history = builder.so_far();
        if history.operations().is_empty() && history.transaction_count() == 0 && !history.remarks().is_empty() {
            let fault = Fault::new(0, "this history has only events of the tester, such as its nemesis");
            return Some(Err(fault.expected("at least one operation of a client").in_line(1, b"")));
        }
        Some(builder.finish())
    }

    /// Gives up the current history, because of an error.
    pub fn give_up(&mut self) {
        self.is_lost = true;
        self.transacting = Transacting::default();
        self.builder = Builder::new(&self.preset);
    }

    /// Whether the current history was given up.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Notes that the file has a history, even if it has no operations.
    pub fn begin(&mut self) {
        self.builder.begin();
    }

    /// Whether the current history has operations or errors.
    pub fn has_operations(&self) -> bool {
        self.is_lost || !self.builder.so_far().operations().is_empty()
    }

    /// Takes in a record that is on `line`. Before a header, [`Self::end`] must be called.
    pub fn push(&mut self, record: &Record, line: u32) -> Result<(), Fault> {
        if let Some(second) = record.repeated {
            return Err(Fault::new(second.at, "this field was given before").expected("each field once"));
        }
        if record.is_header() {
            return self.push_header(record);
        }
        if record.get(Field::Process).is_some_and(|process| self.notation.is_tester(process)) {
            self.remark(record);
            return Ok(());
        }
        if self.is_transaction(record) {
            return self.push_transaction(record, line);
        }
        let Some(process) = record.get(Field::Process) else {
            return Err(Fault::new(0, "the process is missing").expected("the field `process`"));
        };
        let outcome = match record.get(Field::Type) {
            None => None,
            Some(kind) => match self.notation.name(kind).unwrap_or_default() {
                _ if self.notation.is_null(kind) => None,
                b"invoke" => return self.push_call(record, process, line, true),
                b"ok" => Some(Outcome::Ok),
                b"fail" => Some(Outcome::Fail),
                b"info" => Some(Outcome::Info),
                _ => {
                    let message = format!("{} is not a type of event", quote(kind.text));
                    return Err(Fault::new(kind.at, message).expected("one of invoke, ok, fail, info"));
                }
            },
        };
        match outcome {
            None => self.push_call(record, process, line, false),
            Some(Outcome::Info) if self.notation.name(process) == Some(b"nemesis") && !self.is_open(process)? => {
                self.remark(record);
                Ok(())
            }
            Some(outcome) => self.push_end(record, process, outcome),
        }
    }

    /// Keeps what the tester did, in its own words.
    fn remark(&mut self, record: &Record) {
        const MOST: usize = 120;
        let words = [Field::F, Field::Value].map(|field| {
            let raw = record.get(field).filter(|&raw| !self.notation.is_null(raw));
            raw.map_or_else(String::new, |raw| {
                let name = self.notation.name(raw).unwrap_or(raw.text);
                String::from_utf8_lossy(&name[..name.len().min(MOST)]).into_owned()
            })
        });
        self.builder.remark(words.join(" ").trim().to_owned());
    }

    fn push_header(&mut self, record: &Record) -> Result<(), Fault> {
        self.builder.begin();
        let given = |field| record.get(field).filter(|&raw| !self.notation.is_null(raw));
        if let Some(raw) = given(Field::Object) {
            let name = utf8(self.notation.name(raw).unwrap_or(raw.text), raw.at)?;
            self.builder.set_object(name, raw.at)?;
        }
        if given(Field::Realtime).is_some_and(|raw| self.notation.name(raw) == Some(b"none")) {
            self.builder.set_untimed();
        }
        if let Some(raw) = given(Field::Capacity) {
            let capacity = number(raw).ok_or_else(|| {
                let message = format!("{} is not a capacity", quote(raw.text));
                Fault::new(raw.at, message).expected("an integer from 0")
            })?;
            self.builder.set_capacity(capacity);
        }
        if let Some(raw) = given(Field::Name) {
            // A name is a text, whatever it looks like.
            let mut words = Words::default();
            words.keep_texts(true);
            let name = self.notation.scalar(&mut words, raw)?;
            self.builder.set_name(words.canonical(name));
        }
        if let Some(raw) = record.get(Field::Initial) {
            let value = self.notation.scalar(self.builder.words_mut(), raw)?;
            self.builder.set_initial(value);
        }
        for field in [Field::Init, Field::Final] {
            let Some(raw) = given(field) else {
                continue;
            };
            let words = self.builder.words_mut();
            let Some(entries) = words.naming(|words| self.notation.entries(words, raw))? else {
                return Err(Fault::new(raw.at, "this is not a map").expected("the values by key"));
            };
            for (key, raw) in entries {
                let key = self.builder.key_of(key);
                let value = self.notation.scalar(self.builder.words_mut(), raw)?;
                self.builder.state(key, value, field == Field::Final, raw.at)?;
            }
        }
        Ok(())
    }

    pub(super) fn scalar(&mut self, raw: Raw) -> Result<Value, Fault> {
        self.notation.scalar(self.builder.words_mut(), raw)
    }

    /// The name of a process or a key.
    pub(super) fn named(&mut self, raw: Raw) -> Result<Value, Fault> {
        self.builder.words_mut().naming(|words| self.notation.scalar(words, raw))
    }

    fn process(&mut self, raw: Raw) -> Result<ProcessId, Fault> {
        let name = self.named(raw)?;
        Ok(self.builder.process_of(name))
    }

    pub(super) fn key(&mut self, raw: Raw) -> Result<KeyId, Fault> {
        let name = self.named(raw)?;
        Ok(self.builder.key_of(name))
    }

    fn is_open(&mut self, process: Raw) -> Result<bool, Fault> {
        let name = self.named(process)?;
        Ok(self.builder.known_process(name).is_some_and(|process| self.builder.open(process).is_some()))
    }

    /// The boolean that `raw` stands for; `None` if it is no boolean.
    fn boolean(&mut self, raw: Raw) -> Result<Option<Value>, Fault> {
        let value = self.scalar(raw)?;
        Ok((value == Value::TRUE || value == Value::FALSE).then_some(value))
    }

    fn push_call(&mut self, record: &Record, process: Raw, line: u32, has_call: bool) -> Result<(), Fault> {
        let at = process.at;
        let process = self.process(process)?;
        let Some(f) = record.get(Field::F) else {
            return Err(Fault::new(0, "the method is missing").expected("the field `f`"));
        };
        let name = self.notation.name(f).unwrap_or(f.text);
        if name == b"drain"
            && self.builder.so_far().operations().is_empty()
            && self.builder.object() != Some(Object::Open)
        {
            let message = "a `drain` removes many values in one operation, which is not supported yet";
            return Err(Fault::new(f.at, message).expected("the values one by one, as `dequeue`"));
        }
        if name == b"transfer" && (self.builder.object().is_none() || self.builder.is_object_inferred()) {
            return Err(bank(f.at));
        }
        let method = self.builder.method(name, has_call, f.at)?;
        if method == Method::Open {
            return self.push_open(record, process, f, line, has_call);
        }
        let is_memory = self.builder.so_far().object() == Object::Memory;
        let order = self.order(record, is_memory)?;

        let mut value = record.get(Field::Value);
        let mut key = record.get(Field::Key).filter(|&key| !self.notation.is_null(key));
        if key.is_none()
            && let Some([first, second]) = value.and_then(|value| self.notation.pair(value))
        {
            let is_pair = |raw| self.notation.pair(raw).is_some();
            let has_two_values = match method {
                Method::Cas => true,
                _ => (method.takes_and_returns() || method == Method::ReadAll) && !has_call,
            };
            if !has_two_values || (is_pair(second) && !is_pair(first)) {
                key = Some(first);
                value = Some(second);
            }
        }
        let key = match key {
            _ if method == Method::Fence => KeyId::NONE,
            Some(key) => self.key(key)?,
            None if is_memory => {
                return Err(Fault::new(f.at, "an operation of a memory needs a location").expected("the field `key`"));
            }
            None => KeyId::NONE,
        };
        let none = Value::NONE;
        let mut call = Call { process, key, line, method, order, argument: none, result: none, expected: none };
        self.read_values(&mut call, value, f, has_call)?;
        let id = self.builder.call(&call, has_call, at)?;
        self.push_attributes(record, id, if has_call { Some(0) } else { None })
    }

    /// Adds a call of a method of an open object. Only the field `key` names its key.
    fn push_open(
        &mut self,
        record: &Record,
        process: ProcessId,
        f: Raw,
        line: u32,
        has_call: bool,
    ) -> Result<(), Fault> {
        let order = self.order(record, false)?;
        let key = match record.get(Field::Key).filter(|&key| !self.notation.is_null(key)) {
            None => KeyId::NONE,
            Some(key) => self.key(key)?,
        };
        let (mut value, mut result) = (record.get(Field::Value), None);
        if !has_call
            && let Some([arguments, given]) = value.and_then(|value| self.notation.pair(value))
            && self.notation.elements(arguments).is_some()
        {
            (value, result) = (Some(arguments), Some(given));
        }
        let mut arguments = Vec::new();
        match value.filter(|&value| !self.notation.is_null(value)).map(|value| (value, self.notation.elements(value))) {
            None => {}
            Some((_, Some(elements))) => {
                for element in elements {
                    arguments.push(self.scalar(element)?);
                }
            }
            Some((value, None)) => arguments.push(self.scalar(value)?),
        }
        let none = Value::NONE;
        let result = result.map_or(Ok(none), |given| self.open_result(given))?;
        let method = Method::Open;
        let call = Call { process, key, line, method, order, argument: none, result, expected: none };
        let id = self.builder.call(&call, has_call, f.at)?;
        self.builder.set_open(id, self.notation.name(f).unwrap_or(f.text), &arguments);
        self.push_attributes(record, id, if has_call { Some(0) } else { None })
    }

    /// The result of a method of an open object. Null means no result.
    fn open_result(&mut self, raw: Raw) -> Result<Value, Fault> {
        if self.notation.is_null(raw) { Ok(Value::NONE) } else { self.scalar(raw) }
    }

    /// Reads the argument and, of an instant, the result.
    fn read_values(&mut self, call: &mut Call, value: Option<Raw>, f: Raw, has_call: bool) -> Result<(), Fault> {
        let at = value.map_or(f.at, |value| value.at);
        let missing = |what: &str| Fault::new(at, format!("{what} is missing")).expected("the field `value`");
        let mut result = None;
        let mut argument = value;
        match (call.method, value.and_then(|value| self.notation.pair(value))) {
            (Method::Cas, Some([first, second])) => {
                let swap = if has_call { None } else { self.notation.pair(first) };
                let [old, new] = swap.unwrap_or([first, second]);
                call.expected = self.scalar(old)?;
                argument = Some(new);
                call.result = match (has_call, swap) {
                    (true, _) => Value::NONE,
                    (false, None) => Value::TRUE,
                    (false, Some(_)) => self
                        .boolean(second)?
                        .ok_or_else(|| Fault::new(second.at, "this is not a boolean").expected("true or false"))?,
                };
            }
            (Method::Cas, None) => return Err(missing("the pair of expected and new value").expected("`[old, new]`")),
            (Method::Rmw, Some([read, written])) => {
                result = Some(read);
                argument = Some(written);
            }
            (Method::Rmw, None) if !has_call => {
                return Err(missing("the pair of values").expected("`[read, written]`"));
            }
            (method, Some([first, second])) if !has_call && method.takes_and_returns() => {
                argument = Some(first);
                result = Some(second);
            }
            _ if !call.method.takes_argument() => result = value,
            _ => {}
        }
        if call.method.takes_argument() {
            call.argument = self.scalar(argument.ok_or_else(|| missing("a value"))?)?;
        }
        if !has_call && call.method != Method::Cas {
            call.result = self.result(call.method, result, at)?;
        }
        Ok(())
    }

    /// The result that `raw` stands for.
    fn result(&mut self, method: Method, raw: Option<Raw>, at: usize) -> Result<Value, Fault> {
        let returns = method.returns();
        let given = match (returns, raw) {
            (Returns::Whole, Some(raw)) => self.whole_set(raw)?,
            (Returns::Nothing, _) | (_, None) => Value::NONE,
            (Returns::Removed | Returns::OptionalBoolean, Some(raw)) if self.notation.is_null(raw) => Value::NONE,
            (_, Some(raw)) => self.scalar(raw)?,
        };
        returns.result(given).map_err(|expected| {
            let name = self.builder.so_far().object().method_name(method);
            let fault = Fault::new(raw.map_or(at, |raw| raw.at), format!("this is not what {name} returns"));
            fault.expected(expected)
        })
    }

    /// The value of a whole set; none if `raw` is neither an array nor a set.
    fn whole_set(&mut self, raw: Raw) -> Result<Value, Fault> {
        if let Some(elements) = self.notation.elements(raw) {
            let elements = elements.into_iter().map(|element| self.scalar(element)).collect::<Result<Vec<_>, _>>()?;
            return Ok(self.builder.whole_set(elements));
        }
        let given = self.scalar(raw)?;
        Ok(self.builder.listed_set(given).unwrap_or(Value::NONE))
    }

    fn push_end(&mut self, record: &Record, raw_process: Raw, outcome: Outcome) -> Result<(), Fault> {
        let process = self.process(raw_process)?;
        let id = self.builder.ending(process, raw_process.at)?;
        let operation = *self.builder.so_far().operation(id);
        let method = operation.method;
        if let Some(f) = record.get(Field::F)
            && let name = self.notation.name(f).unwrap_or(f.text)
            && (self.builder.method(name, true, f.at)? != method
                || method == Method::Open && self.builder.so_far().method_name(id).as_bytes() != name)
        {
            let open = self.builder.so_far().method_name(id);
            let message =
                format!("process {} has another operation open, {open}", self.builder.so_far().process_name(process));
            return Err(Fault::new(f.at, message).expected("the completion of that operation"));
        }
        if method == Method::Open {
            let value = record.get(Field::Value).filter(|_| outcome == Outcome::Ok);
            let result = value.map_or(Ok(Value::NONE), |value| self.open_result(value))?;
            self.builder.end(id, outcome, result, raw_process.at)?;
            return self.push_attributes(record, id, Some(1));
        }
        let value = self.without_key(record, operation.key, method)?;
        if let Some(value) = value.filter(|&value| outcome == Outcome::Ok && self.is_bank(method, value)) {
            return Err(bank(value.at));
        }
        let mut outcome = outcome;
        let mut result = Value::NONE;
        if outcome == Outcome::Ok {
            result = self.returned(id, value, raw_process.at)?;
        } else if outcome == Outcome::Fail
            && method == Method::Cas
            && self.observes_mismatches
            && value.is_some_and(|value| self.notation.pair(value).is_some())
        {
            outcome = Outcome::Ok;
            result = Value::FALSE;
        }
        self.builder.end(id, outcome, result, raw_process.at)?;
        self.push_attributes(record, id, Some(1))
    }

    /// The value of a completion, without the key in `[key value]` if it is the key of the call.
    fn without_key<'a>(&mut self, record: &Record<'a>, key: KeyId, method: Method) -> Result<Option<Raw<'a>>, Fault> {
        let value = record.get(Field::Value);
        if key == KeyId::NONE || record.get(Field::Key).is_some() {
            return Ok(value);
        }
        let Some([first, second]) = value.and_then(|value| self.notation.pair(value)) else {
            return Ok(value);
        };
        let is_same = self.named(first)? == self.builder.so_far().keys()[key.index()];
        let is_keyed = method != Method::Rmw || self.notation.pair(second).is_some();
        Ok(if is_same && is_keyed { Some(second) } else { value })
    }

    /// Whether this is a read of Jepsen's bank: a map, where nobody has written anything and nobody said that the
    /// object is a register.
    fn is_bank(&self, method: Method, value: Raw) -> bool {
        let is_read = |operation: &Operation| operation.method == Method::Read;
        method == Method::Read
            && value.text.starts_with(b"{")
            && self.builder.is_object_inferred()
            && self.builder.so_far().operations().iter().all(is_read)
    }

    /// The result of an operation that ended with `ok`.
    fn returned(&mut self, id: OperationId, value: Option<Raw>, at: usize) -> Result<Value, Fault> {
        let operation = *self.builder.so_far().operation(id);
        let method = operation.method;
        let given = value.filter(|&value| !self.notation.is_null(value));
        let pair = given.and_then(|value| self.notation.pair(value));
        match (method.returns(), pair) {
            (Returns::Nothing, _) if !method.takes_argument() => Ok(Value::NONE),
            (Returns::Nothing, _) => {
                let Some(raw) = given else {
                    return Ok(Value::NONE);
                };
                let argument = self.scalar(raw)?;
                if operation.argument == Value::NULL {
                    self.builder.put_argument(id, argument);
                } else if argument != operation.argument {
                    let message = format!("its call, on line {}, has another value", operation.line);
                    return Err(Fault::new(raw.at, message).expected(self.builder.so_far().show(operation.argument)));
                }
                Ok(Value::NONE)
            }
            (Returns::Boolean, _) => {
                Ok(given.map(|value| self.boolean(value)).transpose()?.flatten().unwrap_or(Value::TRUE))
            }
            (Returns::OptionalBoolean, None) => {
                let Some(raw) = given else {
                    return Ok(Value::NONE);
                };
                let value = self.scalar(raw)?;
                let is_boolean = value == Value::TRUE || value == Value::FALSE;
                if !is_boolean && value == operation.argument {
                    return Ok(Value::NONE);
                }
                self.result(method, given, at)
            }
            (Returns::OptionalBoolean | Returns::Partner, Some([_, second])) => self.result(method, Some(second), at),
            (Returns::Value, Some([read, _])) if method == Method::Rmw => self.result(method, Some(read), at),
            (Returns::Value, Some([_, second])) if method.takes_argument() => self.result(method, Some(second), at),
            _ => self.result(method, value, at),
        }
    }

    /// Sets the time at which the last operation ended.
    #[cfg(feature = "arrow")]
    pub fn set_end_time(&mut self, time: i64) {
        if let Some(last) = self.builder.so_far().operations().len().checked_sub(1) {
            self.builder.put_time(OperationId(last as u32), 1, time);
        }
    }

    fn order(&self, record: &Record, is_memory: bool) -> Result<MemoryOrder, Fault> {
        let Some(raw) = record.get(Field::Order).filter(|&raw| !self.notation.is_null(raw)) else {
            return Ok(MemoryOrder::Plain);
        };
        if !is_memory {
            let message = format!("a method of a {} has no memory order", self.builder.so_far().object().name());
            return Err(Fault::new(raw.at, message));
        }
        let name = self.notation.name(raw).and_then(|name| std::str::from_utf8(name).ok());
        name.and_then(MemoryOrder::from_name).ok_or_else(|| {
            let message = format!("{} is not a memory order", quote(raw.text));
            Fault::new(raw.at, message).expected("one of rlx, acq, rel, acqrel, sc")
        })
    }

    /// Reads labels, sources, indices in program order and times. `end` is 0 at a call, 1 at a return.
    fn push_attributes(&mut self, record: &Record, id: OperationId, end: Option<usize>) -> Result<(), Fault> {
        let given = |notation: &N, field| record.get(field).filter(|&raw| !notation.is_null(raw));
        if let Some(raw) = given(&self.notation, Field::Id) {
            let label = self.scalar(raw)?;
            self.builder.set_label(id, label, raw.at)?;
        }
        if let Some(raw) = given(&self.notation, Field::From) {
            let label = self.scalar(raw)?;
            self.builder.set_source(id, label, raw.at)?;
        }
        if let Some(raw) = given(&self.notation, Field::Po) {
            let index = number(raw).ok_or_else(|| {
                let message = format!("{} is not an index in program order", quote(raw.text));
                Fault::new(raw.at, message).expected("an integer from 0")
            })?;
            self.builder.put_program_index(id, index);
        }
        if let Some(raw) = given(&self.notation, Field::Size)
            && self.builder.so_far().object() == Object::Memory
            && end != Some(1)
        {
            let operation = *self.builder.so_far().operation(id);
            let size = self.notation.name(raw).unwrap_or(raw.text);
            self.builder.set_size(operation.key, size, operation.line, raw.at)?;
        }
        if let Some(raw) = given(&self.notation, Field::Time) {
            let times = match (end, self.notation.pair(raw)) {
                (None, Some([start, end])) => [(0, start), (1, end)],
                (end, _) => [(end.unwrap_or(0), raw); 2],
            };
            // A time that is not an integer is ignored.
            for (end, raw) in times {
                if let Some(time) = number(raw) {
                    self.builder.put_time(id, end, time);
                }
            }
        }
        Ok(())
    }
}

/// The integer that `raw` stands for.
pub(super) fn number<T: std::str::FromStr>(raw: Raw) -> Option<T> {
    std::str::from_utf8(raw.text).ok()?.parse().ok()
}
