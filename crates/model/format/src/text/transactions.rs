//! Transactions in the text format.
//!
//! ```text
//! [a] begin
//! [a] w x 1                also id=, and from= of a read
//! [a] a l 5                an append to a list
//! [a] r l [3,5]            a read of a list; no blanks inside
//! [a] commit               or abort, or info; no end at all is info
//! [b] r x 1                outside of begin and end: a transaction by itself, committed
//! ```

use super::super::builder::Builder;
use super::super::error::Fault;
use super::super::write::{Label, Labels};
use super::line::{Cursor, Until, is_white};
use super::operation::read_time;
use super::seen::Seen;
use super::write::{push_field, push_key, push_process, push_times};
use history::history::{History, Method, Operation, OperationId, ProcessId};
use history::transactions::{Status, TransactionId};
use history::value::{Value, quote};

/// A line of a history of transactions, after its session.
pub(super) struct TransactionLine {
    pub session: ProcessId,
    pub number: u32,
    /// The offset of the session.
    pub at: usize,
    /// The offset of the word after the session.
    pub start: usize,
}

impl TransactionLine {
    /// Reads the rest of the line. `word` is its first word.
    pub fn read(&self, builder: &mut Builder, seen: &mut Seen, cursor: &mut Cursor, word: &[u8]) -> Result<(), Fault> {
        let status = match word {
            b"begin" => {
                let id = builder.begin_transaction(self.session, self.number, self.at)?;
                return read_moment(builder, cursor, id, 0);
            }
            b"commit" => Status::Committed,
            b"abort" => Status::Aborted,
            b"info" => Status::Indeterminate,
            _ => return self.read_operation(builder, seen, cursor, word),
        };
        let id = builder.end_transaction(self.session, status, self.at)?;
        read_moment(builder, cursor, id, 1)
    }

    fn read_operation(
        &self,
        builder: &mut Builder,
        seen: &mut Seen,
        cursor: &mut Cursor,
        word: &[u8],
    ) -> Result<(), Fault> {
        if word.is_empty() {
            return Err(Fault::new(self.start, "the operation is missing").expected("`begin`, `commit`, or `w x 1`"));
        }
        let method = builder.method(word, false, self.start)?;
        cursor.skip_white();
        let start = cursor.at;
        let key = builder.words_mut().naming(|words| cursor.value(words, Until::White, "a key"))?;
        let key = builder.key_of(key);
        seen.insert_key(cursor.since(start), key);
        cursor.skip_white();
        let start = cursor.at;
        let value = if cursor.peek() == Some(b'[') {
            let elements = read_list(builder, cursor)?;
            if method != Method::Read {
                return Err(Fault::new(start, "only a read has a list for a value").expected("one value"));
            }
            builder.listed(key, &elements, start)?
        } else {
            cursor.value(builder.words_mut(), Until::White, "a value")?
        };
        let (mut label, mut source, mut times) = (None, None, None);
        while !cursor.is_at_end() {
            let at = cursor.at;
            let name = cursor.run(|byte| !is_white(byte) && byte != b'=');
            let is_repeated = match name {
                _ if cursor.peek() != Some(b'=') => {
                    cursor.at = at;
                    break;
                }
                b"id" => label.is_some(),
                b"from" => source.is_some(),
                b"time" => times.is_some(),
                _ => {
                    cursor.at = at;
                    break;
                }
            };
            if is_repeated {
                return Err(Fault::new(at, format!("a second {}", quote(name))));
            }
            cursor.take(b'=');
            let words = builder.words_mut();
            match name {
                b"id" => label = Some((cursor.value(words, Until::White, "a label")?, at)),
                b"from" => source = Some((cursor.value(words, Until::White, "a label")?, at)),
                _ => times = Some(read_time(cursor, true)?),
            }
        }
        cursor.end("`id=`, `from=`, `time=`, or the end of the line")?;
        let is_whole = builder.open_transaction(self.session).is_none();
        let id = builder.transact(self.session, method, key, value, self.number, self.at)?;
        if let Some((label, at)) = label {
            builder.set_label(id, label, at)?;
        }
        if let Some((source, at)) = source {
            builder.set_source(id, source, at)?;
        }
        if is_whole {
            builder.end_whole(self.session);
        }
        // Within a transaction, only its begin and its end have times.
        if let (true, Some(transaction)) = (is_whole, builder.last_transaction()) {
            let (begin, end) = times.unwrap_or_default();
            for (at, time) in [begin, end].into_iter().enumerate() {
                if let Some(time) = time {
                    builder.put_transaction_time(transaction, at, time);
                }
            }
        }
        Ok(())
    }
}

/// Reads `time=` and the end of the line. `id` is none in a stream.
fn read_moment(builder: &mut Builder, cursor: &mut Cursor, id: Option<TransactionId>, end: usize) -> Result<(), Fault> {
    cursor.skip_white();
    if cursor.rest().starts_with(b"time=") {
        cursor.at += b"time=".len();
        if let ((Some(time), _), Some(id)) = (read_time(cursor, false)?, id) {
            builder.put_transaction_time(id, end, time);
        }
    }
    cursor.end("`time=`, or the end of the line")
}

/// Reads a list of values: `[3,5]`.
fn read_list(builder: &mut Builder, cursor: &mut Cursor) -> Result<Vec<Value>, Fault> {
    let mut elements = Vec::new();
    cursor.take(b'[');
    if cursor.take(b']') {
        return Ok(elements);
    }
    loop {
        elements.push(cursor.value(builder.words_mut(), Until::Element, "an element")?);
        if cursor.take(b']') {
            break;
        }
        if !cursor.take(b',') {
            return Err(Fault::new(cursor.at, "the list has no end").expected("`,` or `]`"));
        }
    }
    if !cursor.peek().is_none_or(is_white) {
        return Err(Fault::new(cursor.at, "text right after a list").expected("white space"));
    }
    Ok(elements)
}

/// Appends the lines of all transactions, in the order of their moments. The operations of a transaction stand before
/// its end, or after its begin if nobody knows its end.
pub(super) fn write_transactions(out: &mut Vec<u8>, history: &History, labels: &Labels, places: bool) {
    let mut writer = TransactionWriter { out, history, labels, places };
    for (id, is_end) in history.transaction_events() {
        match (is_end, history.is_whole(id)) {
            (false, true) => writer.whole(id),
            (true, true) => {}
            (false, false) => writer.begin(id),
            (true, false) => writer.end(id),
        }
    }
}

struct TransactionWriter<'w> {
    out: &'w mut Vec<u8>,
    history: &'w History,
    labels: &'w Labels,
    places: bool,
}

impl TransactionWriter<'_> {
    /// The recorded times of begin and end.
    fn times(&self, id: TransactionId) -> [Option<i64>; 2] {
        self.history.transaction_times().get(id.index()).copied().unwrap_or_default()
    }

    fn session(&mut self, session: ProcessId) {
        push_process(self.out, self.history, session);
    }

    fn place(&mut self, line: u32) {
        if self.places && line > 0 {
            self.out.extend_from_slice(format!("# line {line}\n").as_bytes());
        }
    }

    /// A transaction that is one operation by itself.
    fn whole(&mut self, id: TransactionId) {
        let operation = OperationId(self.history.operation_range(id).start);
        self.operation(operation, self.times(id));
    }

    fn begin(&mut self, id: TransactionId) {
        let transaction = self.history.transaction(id);
        if self.history.operation_range(id).is_empty() {
            self.place(transaction.line);
        }
        self.session(transaction.session);
        self.out.extend_from_slice(b"begin");
        push_times(self.out, self.times(id)[0], None);
        self.out.push(b'\n');
    }

    /// The operations and the end of a transaction.
    fn end(&mut self, id: TransactionId) {
        for operation in self.history.operation_range(id).map(OperationId) {
            self.operation(operation, [None; 2]);
        }
        let transaction = self.history.transaction(id);
        self.session(transaction.session);
        self.out.extend_from_slice(transaction.status.word().as_bytes());
        push_times(self.out, self.times(id)[1], None);
        self.out.push(b'\n');
    }

    fn operation(&mut self, id: OperationId, [begin, end]: [Option<i64>; 2]) {
        self.place(self.history.operation(id).line);
        self.session(self.history.operation(id).process);
        push_operation(self.out, self.history, self.history.operation(id));
        for (name, label) in
            [(" id=", self.labels.label(self.history, id)), (" from=", self.labels.source(self.history, id))]
        {
            match label {
                None => {}
                Some(Label::Of(label)) => push_field(self.out, self.history.words(), name, label),
                Some(Label::Word(word)) => self.out.extend_from_slice(format!("{name}{word}").as_bytes()),
            }
        }
        push_times(self.out, begin, end);
        self.out.push(b'\n');
    }
}

/// Appends `r x 5`, `a l 5` or `r l [3,5]`.
fn push_operation(out: &mut Vec<u8>, history: &History, operation: &Operation) {
    let words = history.words();
    out.extend_from_slice(history.object().method_name(operation.method).as_bytes());
    push_key(out, words, " ", history.keys()[operation.key.index()]);
    let value = if operation.method == Method::Read { operation.result } else { operation.argument };
    push_field(out, words, " ", value);
}
