//! A hint for histories that are violations only because the file does not state the initial value.

use std::collections::{HashMap, HashSet};

use history::{History, KeyId, Method, Object, Operation, Outcome, Value};

use crate::text::{Line, Style};

/// The value that an operation saw, if it is known to have happened.
fn seen(operation: &Operation, expected: Option<Value>) -> Option<Value> {
    if !matches!(operation.outcome, Outcome::Ok | Outcome::Instant) {
        return None;
    }
    match operation.method {
        Method::Read | Method::Rmw => Some(operation.result).filter(|value| value.is_some()),
        Method::Cas if operation.result == Value::TRUE => expected,
        _ => None,
    }
}

/// If all reads of values that nobody wrote returned the same value, it may be the initial value. The hint says how to
/// state it.
pub(super) fn initial_value(history: &History) -> Option<Line> {
    if !matches!(history.object(), Object::Memory | Object::Register) {
        return None;
    }
    let may_write = |operation: &&Operation| {
        operation.outcome != Outcome::Fail
            && matches!(operation.method, Method::Write | Method::Rmw | Method::Cas)
            && operation.argument.is_some()
    };
    let written: HashSet<(KeyId, u64)> =
        history.operations().iter().filter(may_write).map(|write| (write.key, write.argument.bits())).collect();
    let inits: HashMap<KeyId, Value> = history.inits().iter().copied().collect();
    let mut expected = history.expected_values().iter().peekable();
    let (mut found, mut count) = (Value::NONE, 0_usize);
    for (id, operation) in (0..).zip(history.operations()) {
        let wants = expected.next_if(|(of, _)| of.0 == id).map(|&(_, value)| value);
        let Some(value) = seen(operation, wants) else { continue };
        if written.contains(&(operation.key, value.bits()))
            || value == inits.get(&operation.key).copied().unwrap_or(history.initial())
        {
            continue;
        }
        // If the file states the initial value of this key, the flag would not change it.
        if inits.contains_key(&operation.key) || (found.is_some() && found != value) {
            return None;
        }
        found = value;
        count += 1;
    }
    if count == 0 {
        return None;
    }
    let value = history.show(found);
    let reads = if count == 1 { "1 read returns".to_owned() } else { format!("{count} reads return") };
    Some(Line::default().with(
        Style::Reason,
        format!(
            "{reads} {value}, which nobody wrote: if that is the initial value, use `--initial {}`",
            as_argument(history, found, &value)
        ),
    ))
}

/// A value as an argument of the flag, quoted for a shell.
fn as_argument(history: &History, value: Value, text: &str) -> String {
    let text = match history.words().find(text) {
        Some(read) if read == value && !text.starts_with('"') => text.to_owned(),
        _ => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '+');
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
