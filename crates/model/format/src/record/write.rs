//! Writes histories as records: a header with what is no event, and then one record for each event, in their order.
//! What is written is read as the same history, but for what records cannot say of transactions. That is noted.

use super::super::Format;
use super::super::methods::{default_initial, has_initial_value};
use super::super::string::push_quoted;
use super::super::write::{Label, Labels};
use super::Notation;
use history::Returns;
use history::events::HistoryEvent;
use history::history::{History, KeyId, MemoryOrder, Method, Object, OperationId, Outcome};
use history::literal::is_literal;
use history::value::Value;

pub(super) struct RecordWriter<'a, N> {
    pub out: &'a mut Vec<u8>,
    pub notation: &'a N,
    pub history: &'a History,
    labels: &'a Labels,
    is_first: bool,
}

/// Appends a history: a header, and one record for each event. `is_first` unless another history comes before it. What
/// cannot be said of a history of transactions is noted in `dropped`; every other history can be written.
pub(in super::super) fn write_history(
    out: &mut Vec<u8>,
    notation: &impl Notation,
    history: &History,
    labels: &Labels,
    is_first: bool,
    dropped: &mut Vec<&'static str>,
) {
    let mut writer = RecordWriter { out, notation, history, labels, is_first: true };
    if history.is_of_transactions() {
        return writer.transactions(is_first, dropped);
    }
    writer.header();
    for event in history.events() {
        writer.event(event);
    }
}

impl<N: Notation> RecordWriter<'_, N> {
    pub(super) fn field(&mut self, name: &str) {
        self.notation.push_field(self.out, self.is_first, name);
        self.is_first = false;
    }

    pub(super) fn close(&mut self) {
        self.out.extend_from_slice(b"}\n");
        self.is_first = true;
    }

    pub(super) fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn value(&mut self, value: Value) {
        self.value_as(value, self.history.words().value_spelling(value));
    }

    /// Writes a value. A number may have a spelling.
    fn value_as(&mut self, value: Value, spelling: Option<&str>) {
        if let Some(spelling) = spelling {
            return self.notation.push_spelling(self.out, spelling, &self.history.words().canonical(value));
        }
        match (value.as_integer(), value.as_word()) {
            (Some(number), _) => self.push(&number.to_string()),
            _ if value == Value::NULL || value.is_none() => self.push(N::NULL),
            _ if value == Value::TRUE => self.push("true"),
            _ if value == Value::FALSE => self.push("false"),
            // A text that looks like a number is a text there.
            (_, Some(word)) if self.history.object() == Object::KeyValue => {
                push_quoted(self.out, self.history.words().text(word));
            }
            (_, Some(word)) => self.notation.push_word(self.out, self.history.words().text(word)),
            (None, None) => self.push(N::NULL),
        }
    }

    /// Writes a value that is a name: of a process, a key or a label. A word `null` is quoted, since null means no
    /// name.
    fn name(&mut self, name: Value, spelling: Option<&str>) {
        match name.as_word() {
            _ if name == Value::NULL => push_quoted(self.out, "null"),
            Some(word) if spelling.is_none() => self.notation.push_word(self.out, self.history.words().text(word)),
            _ => self.value_as(name, spelling),
        }
    }

    pub(super) fn key(&mut self, name: Value) {
        self.name(name, self.history.words().key_spelling(name));
    }

    pub(super) fn process(&mut self, name: Value) {
        self.name(name, self.history.words().process_spelling(name));
    }

    fn pair(&mut self, first: Value, second: Value) {
        self.push("[");
        self.value(first);
        self.push(N::SEPARATOR);
        self.value(second);
        self.push("]");
    }

    pub(super) fn header(&mut self) {
        let history = self.history;
        self.field("object");
        self.notation.push_name(self.out, history.object_name());
        if let Some(name) = &history.name() {
            self.field("name");
            push_quoted(self.out, name);
        }
        if history.is_untimed() {
            self.field("realtime");
            self.notation.push_name(self.out, "none");
        }
        if let Some(capacity) = history.capacity() {
            self.field("capacity");
            self.push(&capacity.to_string());
        }
        let default = default_initial(history.object(), Format::JsonLines);
        if has_initial_value(history.object()) && history.initial() != default {
            self.field("initial");
            self.value(history.initial());
        }
        for (name, table) in [("init", &history.inits()), ("final", &history.finals())] {
            if !table.is_empty() {
                self.field(name);
                self.entries(table);
            }
        }
        self.close();
    }

    /// Writes values by key. This is a map, or an array of pairs if some key cannot be the key of a map.
    fn entries(&mut self, table: &[(KeyId, Value)]) {
        let history = self.history;
        let reads_as_itself = |text: &str| text != "nil" && !is_literal(text);
        let is_map = N::HAS_TYPED_KEYS
            || table.iter().all(|&(key, _)| {
                history.keys()[key.index()].as_word().is_none_or(|word| reads_as_itself(history.words().text(word)))
            });
        self.push(if is_map { "{" } else { "[" });
        for (at, &(key, value)) in table.iter().enumerate() {
            let name = history.keys()[key.index()];
            if at > 0 {
                self.push(N::SEPARATOR);
            }
            match (is_map, N::HAS_TYPED_KEYS) {
                (true, true) => self.key(name),
                (true, false) => push_quoted(self.out, &history.key_name(key)),
                (false, _) => {
                    self.push("[");
                    self.key(name);
                }
            }
            self.push(if is_map { N::ASSIGNMENT } else { N::SEPARATOR });
            self.value(value);
            self.push(if is_map { "" } else { "]" });
        }
        self.push(if is_map { "}" } else { "]" });
    }

    fn event(&mut self, event: HistoryEvent) {
        let (id, kind) = match event {
            HistoryEvent::Instant(id) => (id, None),
            HistoryEvent::Call(id) => (id, Some("invoke")),
            HistoryEvent::End(id) => match self.history.operation(id).outcome {
                Outcome::Fail => (id, Some("fail")),
                Outcome::Info => (id, Some("info")),
                _ => (id, Some("ok")),
            },
        };
        let history = self.history;
        let operation = history.operation(id);
        self.field("process");
        self.process(history.processes()[operation.process.index()]);
        if let Some(kind) = kind {
            self.field("type");
            self.notation.push_name(self.out, kind);
        }
        self.field("f");
        self.notation.push_name(self.out, history.method_name(id));
        if let Some(&key) = history.keys().get(operation.key.index()) {
            self.field("key");
            self.key(key);
        }
        self.field("value");
        match kind {
            None => self.whole_value(id),
            Some("ok") => self.returned_value(id),
            Some(_) => self.called_value(id),
        }
        let times = history.times().get(id.index()).copied().unwrap_or_default();
        match event {
            HistoryEvent::Instant(_) => self.times(times),
            HistoryEvent::Call(_) => self.times([times[0], None]),
            HistoryEvent::End(_) => self.times([times[1], None]),
        }
        if !matches!(event, HistoryEvent::End(_)) {
            self.attributes(id);
        }
        self.close();
    }

    /// Writes all arguments, in an array.
    fn arguments(&mut self, id: OperationId) {
        let history = self.history;
        self.push("[");
        for (at, argument) in history.arguments(id).enumerate() {
            self.push(if at > 0 { N::SEPARATOR } else { "" });
            self.value(argument);
        }
        self.push("]");
    }

    fn called_value(&mut self, id: OperationId) {
        if self.history.object() == Object::Open {
            let mut arguments = self.history.arguments(id);
            match (arguments.next(), arguments.next()) {
                (None, _) => self.push(N::NULL),
                (Some(argument), None) if argument != Value::NULL => self.value(argument),
                _ => self.arguments(id),
            }
            return;
        }
        let argument = self.history.operation(id).argument;
        match self.history.expected(id) {
            Some(expected) => self.pair(expected, argument),
            None => self.value(argument),
        }
    }

    /// Writes a result. Null would mean `empty` for a removal, and no result for an open object. So a word `null` is
    /// quoted.
    fn result(&mut self, method: Method, result: Value) {
        if method.returns() == Returns::Whole {
            self.push(N::SET[0]);
            for (at, element) in self.history.elements(result).into_iter().enumerate() {
                self.push(if at > 0 { N::SEPARATOR } else { "" });
                self.value(element);
            }
            self.push(N::SET[1]);
        } else if matches!(method.returns(), Returns::Removed | Returns::Any) && result == Value::NULL {
            push_quoted(self.out, "null");
        } else {
            self.value(result);
        }
    }

    fn returned_value(&mut self, id: OperationId) {
        let operation = self.history.operation(id);
        match operation.method.returns() {
            Returns::Nothing => self.value(operation.argument),
            Returns::Boolean if operation.result != Value::FALSE => self.called_value(id),
            Returns::Value if operation.method == Method::Rmw => self.pair(operation.result, operation.argument),
            _ => self.result(operation.method, operation.result),
        }
    }

    fn whole_value(&mut self, id: OperationId) {
        let operation = self.history.operation(id);
        match operation.method {
            Method::Rmw => self.pair(operation.result, operation.argument),
            Method::Cas if operation.result == Value::FALSE => {
                self.push("[");
                self.called_value(id);
                self.push(N::SEPARATOR);
                self.value(operation.result);
                self.push("]");
            }
            Method::Cas => self.called_value(id),
            Method::Open => {
                self.push("[");
                self.arguments(id);
                self.push(N::SEPARATOR);
                self.result(operation.method, operation.result);
                self.push("]");
            }
            method if !method.takes_argument() => self.result(method, operation.result),
            _ if operation.result.is_some() => self.pair(operation.argument, operation.result),
            _ => self.value(operation.argument),
        }
    }

    pub(super) fn times(&mut self, times: [Option<i64>; 2]) {
        let show = |time: Option<i64>| time.map_or_else(|| N::NULL.to_owned(), |time| time.to_string());
        match times {
            [None, None] => {}
            [start, None] => {
                self.field("time");
                self.push(&show(start));
            }
            [start, end] => {
                self.field("time");
                self.push(&format!("[{}{}{}]", show(start), N::SEPARATOR, show(end)));
            }
        }
    }

    fn attributes(&mut self, id: OperationId) {
        let history = self.history;
        let order = history.operation(id).order;
        if order != MemoryOrder::Plain {
            self.field("order");
            self.notation.push_name(self.out, order.name());
        }
        for (name, label) in [("id", self.labels.label(history, id)), ("from", self.labels.source(history, id))] {
            match label {
                None => {}
                Some(Label::Of(label)) => {
                    self.field(name);
                    self.name(label, None);
                }
                Some(Label::Word(word)) => {
                    self.field(name);
                    push_quoted(self.out, &word);
                }
            }
        }
        if let Some(index) = history.program_index(id) {
            self.field("po");
            self.push(&index.to_string());
        }
    }
}
