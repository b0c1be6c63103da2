//! The digest of a history: a fingerprint of its contents, not of the bytes of its file.
//!
//! The same history in another format has the same digest. The names of labels, line numbers and recorded times do not
//! change it.

use std::fmt::Write as _;

use history::{History, KeyId, Object, OperationId, Source, Value};
use sha2::{Digest, Sha256};

/// The SHA-256 of the contents of a history, in hexadecimal.
///
/// ```
/// use history::History;
///
/// // A comment changes the file, but not the history.
/// let history = format::parse("[0] w x 1\n")?;
/// let commented = format::parse("# nothing\n[0] w x 1\n")?;
/// assert_eq!(model::digest(&history), model::digest(&commented));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn digest(history: &History) -> String {
    let mut hasher = Sha256::new();
    let mut buffer = Vec::new();
    let put_one = |buffer: &mut Vec<u8>, value: Value| match (value.as_integer(), value.as_word()) {
        (Some(n), _) => {
            buffer.push(b'i');
            buffer.extend_from_slice(&n.to_le_bytes());
        }
        (_, Some(word)) => {
            let text = history.words().text(word);
            buffer.push(b'w');
            buffer.extend_from_slice(&(text.len() as u64).to_le_bytes());
            buffer.extend_from_slice(text.as_bytes());
        }
        _ => buffer.push(b'n'),
    };
    let put = |buffer: &mut Vec<u8>, value: Value| {
        if value.as_list().is_none() {
            return put_one(buffer, value);
        }
        let elements = history.list(value);
        buffer.push(b'l');
        buffer.extend_from_slice(&(elements.len() as u64).to_le_bytes());
        for &element in elements {
            put_one(buffer, element);
        }
    };
    let key = |key: KeyId| if key == KeyId::NONE { Value::NONE } else { history.keys()[key.index()] };

    buffer.extend_from_slice(history.object_name().as_bytes());
    buffer.extend_from_slice(&history.capacity().map_or(u64::MAX, |capacity| capacity).to_le_bytes());
    for (at, table) in [history.inits(), history.finals()].into_iter().enumerate() {
        // The tables are sorted by key, so that their order in the file does not matter.
        let mut table: Vec<_> =
            table.iter().map(|&(k, value)| (history.words().canonical(key(k)), key(k), value)).collect();
        table.sort_by(|a, b| a.0.cmp(&b.0));
        buffer.push(at as u8);
        for (_, key, value) in table {
            put(&mut buffer, key);
            put(&mut buffer, value);
        }
    }
    put(&mut buffer, history.initial());
    let moments = history.transaction_moments();
    for (id, transaction) in history.transactions() {
        buffer.extend_from_slice(&[b't', transaction.status as u8]);
        put(&mut buffer, history.processes()[transaction.session.index()]);
        buffer.extend_from_slice(&history.operation_range(id).start.to_le_bytes());
        buffer.extend(moments.get(id.index()).into_iter().flatten().flat_map(|moment| moment.to_le_bytes()));
        if buffer.len() > 1 << 16 {
            hasher.update(&buffer);
            buffer.clear();
        }
    }
    for (at, operation) in history.operations().iter().enumerate() {
        let id = OperationId(at as u32);
        // By name, so that a digest does not depend on how many methods this version knows.
        let method = history.method_name(id);
        buffer.extend_from_slice(&[b'o', method.len() as u8, operation.order as u8, operation.outcome as u8]);
        buffer.extend_from_slice(method.as_bytes());
        put(&mut buffer, history.processes()[operation.process.index()]);
        put(&mut buffer, key(operation.key));
        put(&mut buffer, operation.argument);
        put(&mut buffer, operation.result);
        if let Some(expected) = history.expected(id) {
            buffer.push(b'e');
            put(&mut buffer, expected);
        }
        if history.object() == Object::Open {
            buffer.extend_from_slice(&(history.arguments(id).count() as u64).to_le_bytes());
            history.arguments(id).for_each(|argument| put(&mut buffer, argument));
        }
        match history.source(id) {
            None => buffer.push(b'-'),
            Some(Source::Init) => buffer.push(b'0'),
            Some(Source::Operation(source)) => {
                buffer.push(b's');
                buffer.extend_from_slice(&source.0.to_le_bytes());
            }
        }
        if let Some(index) = history.program_index(id) {
            buffer.push(b'p');
            buffer.extend_from_slice(&index.to_le_bytes());
        }
        if let Some(moments) = history.moments().get(at) {
            buffer.extend(moments.iter().flat_map(|moment| moment.to_le_bytes()));
        }
        if buffer.len() > 1 << 16 {
            hasher.update(&buffer);
            buffer.clear();
        }
    }
    hasher.update(&buffer);
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
