//! Writes the text format. Every history can be written.

use super::super::Format;
use super::super::methods::{default_initial, has_initial_value};
use super::super::string::push_quoted;
use super::super::write::{Label, Labels};
use super::transactions::write_transactions;
use history::events::HistoryEvent;
use history::history::{History, KeyId, MemoryOrder, Method, Object, OperationId, Outcome, ProcessId};
use history::literal::is_literal;
use history::value::{Value, Words};

/// Whether a word can be written without quotes.
fn is_bare(text: &str) -> bool {
    let is_plain =
        |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '(' | ')' | ',' | '=' | '"' | '#' | '[' | ']');
    !text.is_empty() && text.chars().all(is_plain) && text != "nil" && !is_literal(text)
}

pub(super) fn push_value(out: &mut Vec<u8>, words: &Words, value: Value) {
    push_as(out, words, value, words.value_spelling(value));
}

/// Appends a value. A number may have a spelling.
fn push_as(out: &mut Vec<u8>, words: &Words, value: Value, spelling: Option<&str>) {
    match (value.as_integer(), value.as_word()) {
        _ if spelling.is_some() => out.extend_from_slice(spelling.unwrap_or_default().as_bytes()),
        (Some(number), _) => out.extend_from_slice(number.to_string().as_bytes()),
        (_, Some(word)) if is_bare(words.text(word)) => out.extend_from_slice(words.text(word).as_bytes()),
        (_, Some(word)) => push_quoted(out, words.text(word)),
        _ if value.as_list().is_some() => {
            out.push(b'[');
            for (at, &element) in words.list(value).iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                push_value(out, words, element);
            }
            out.push(b']');
        }
        _ => out.push(b'?'),
    }
}

/// Appends ` name` and a value.
pub(super) fn push_field(out: &mut Vec<u8>, words: &Words, name: &str, value: Value) {
    out.extend_from_slice(name.as_bytes());
    push_value(out, words, value);
}

/// Appends ` name` and the name of a key.
pub(super) fn push_key(out: &mut Vec<u8>, words: &Words, name: &str, key: Value) {
    out.extend_from_slice(name.as_bytes());
    push_as(out, words, key, words.key_spelling(key));
}

/// Appends the name of a process, in brackets.
pub(super) fn push_process(out: &mut Vec<u8>, history: &History, process: ProcessId) {
    let name = history.processes()[process.index()];
    out.push(b'[');
    push_as(out, history.words(), name, history.words().process_spelling(name));
    out.extend_from_slice(b"] ");
}

/// Whether the key comes right after the method, and the result of a read after the key.
fn has_key_first(object: Object) -> bool {
    matches!(object, Object::Memory | Object::Transactions)
}

/// Appends the method and its arguments. `is_whole` if the result of a memory operation belongs to them.
fn push_method(out: &mut Vec<u8>, history: &History, id: OperationId, is_whole: bool) {
    let operation = history.operation(id);
    let words = history.words();
    out.extend_from_slice(history.method_name(id).as_bytes());
    if operation.order != MemoryOrder::Plain {
        out.push(b'.');
        out.extend_from_slice(operation.order.name().as_bytes());
    }
    if has_key_first(history.object()) {
        if let Some(&key) = history.keys().get(operation.key.index()) {
            push_key(out, words, " ", key);
        }
        if is_whole && matches!(operation.method, Method::Read | Method::Rmw) {
            push_field(out, words, " ", operation.result);
        }
    }
    for argument in history.arguments(id) {
        push_field(out, words, " ", argument);
    }
}

fn push_attributes(out: &mut Vec<u8>, history: &History, id: OperationId, labels: &Labels) {
    let operation = history.operation(id);
    let words = history.words();
    if !has_key_first(history.object()) && operation.key != KeyId::NONE {
        push_key(out, words, " key=", history.keys()[operation.key.index()]);
    }
    for (name, label) in [(" id=", labels.label(history, id)), (" from=", labels.source(history, id))] {
        match label {
            None => {}
            Some(Label::Of(label)) => push_field(out, words, name, label),
            Some(Label::Word(word)) => out.extend_from_slice(format!("{name}{word}").as_bytes()),
        }
    }
    if let Some(index) = history.program_index(id) {
        out.extend_from_slice(format!(" po={index}").as_bytes());
    }
}

pub(super) fn push_times(out: &mut Vec<u8>, start: Option<i64>, end: Option<i64>) {
    let show = |time: Option<i64>| time.map_or_else(String::new, |time| time.to_string());
    match (start, end) {
        (None, None) => {}
        (Some(start), None) => out.extend_from_slice(format!(" time={start}").as_bytes()),
        _ => out.extend_from_slice(format!(" time={}:{}", show(start), show(end)).as_bytes()),
    }
}

/// An operation in one line. The format writes instants so, and explanations show any operation so.
pub(in super::super) fn operation_line(history: &History, id: OperationId, labels: &Labels) -> Vec<u8> {
    let mut out = Vec::new();
    push_process(&mut out, history, history.operation(id).process);
    out.extend_from_slice(&action_line(history, id, labels));
    out
}

/// The same without the process: `dequeue => 5`.
pub(in super::super) fn action_line(history: &History, id: OperationId, labels: &Labels) -> Vec<u8> {
    let mut out = Vec::new();
    let operation = history.operation(id);
    push_method(&mut out, history, id, true);
    if !has_key_first(history.object()) && operation.result.is_some() {
        push_field(&mut out, history.words(), " => ", operation.result);
    }
    push_attributes(&mut out, history, id, labels);
    match operation.outcome {
        Outcome::Instant | Outcome::Ok => {}
        Outcome::Fail => out.extend_from_slice(b" (failed)"),
        Outcome::Info => out.extend_from_slice(b" (unknown)"),
        Outcome::Pending => out.extend_from_slice(b" (pending)"),
    }
    out
}

/// Appends a comment that says in which line the operation stood.
fn push_place(out: &mut Vec<u8>, history: &History, id: OperationId) {
    if history.operation(id).line > 0 {
        out.extend_from_slice(format!("# line {}\n", history.operation(id).line).as_bytes());
    }
}

/// Appends a history. With `places`, a comment before each operation says in which line it stood in its file.
pub(in super::super) fn write_history(out: &mut Vec<u8>, history: &History, labels: &Labels, places: bool) {
    let words = history.words();
    if let Some(name) = history.name() {
        out.extend_from_slice(b"# @name ");
        let is_plain = !name.is_empty() && name.trim() == name && !name.starts_with('"');
        if is_plain && !name.contains(char::is_control) {
            out.extend_from_slice(name.as_bytes());
        } else {
            push_quoted(out, name);
        }
        out.push(b'\n');
    }
    out.extend_from_slice(format!("# @object {}\n", history.object_name()).as_bytes());
    if let Some(capacity) = history.capacity() {
        out.extend_from_slice(format!("# @capacity {capacity}\n").as_bytes());
    }
    let default = default_initial(history.object(), Format::Text);
    if has_initial_value(history.object()) && history.initial() != default {
        push_field(out, words, "# @initial ", history.initial());
        out.push(b'\n');
    }
    for (directive, table) in [("# @init ", history.inits()), ("# @final ", history.finals())] {
        for &(key, value) in table {
            push_key(out, words, directive, history.keys()[key.index()]);
            push_field(out, words, " ", value);
            out.push(b'\n');
        }
    }
    if history.is_untimed() {
        out.extend_from_slice(b"# @realtime none\n");
    }
    if history.is_of_transactions() {
        return write_transactions(out, history, labels, places);
    }
    for event in history.events() {
        let (id, end) = match event {
            HistoryEvent::Instant(id) => {
                if places {
                    push_place(out, history, id);
                }
                out.extend_from_slice(&operation_line(history, id, labels));
                let [start, end] = history.times().get(id.index()).copied().unwrap_or_default();
                push_times(out, start, end);
                out.push(b'\n');
                continue;
            }
            HistoryEvent::Call(id) => (id, 0),
            HistoryEvent::End(id) => (id, 1),
        };
        if places && end == 0 {
            push_place(out, history, id);
        }
        push_process(out, history, history.operation(id).process);
        let operation = history.operation(id);
        let time = history.times().get(id.index()).and_then(|times| times[end]);
        if let HistoryEvent::Call(_) = event {
            out.extend_from_slice(b"call ");
            push_method(out, history, id, false);
            push_attributes(out, history, id, labels);
        } else {
            out.extend_from_slice(match operation.outcome {
                Outcome::Fail => b"fail",
                Outcome::Info => b"info",
                _ => b"return",
            });
            if operation.outcome == Outcome::Ok && operation.result.is_some() {
                push_field(out, words, " ", operation.result);
            }
        }
        push_times(out, time, None);
        out.push(b'\n');
    }
}
