//! Writes histories of transactions as records. [`super::transactions`] says what the records mean.
//!
//! Other tools read such records, too, and know no header and no sessions that are not integers. So EDN has a header
//! only where it must: for a name, for initial values that cannot be nil, for an order in time that is not known, and
//! between two histories. JSON Lines always has one.

use super::Notation;
use super::write::RecordWriter;
use history::history::{History, Method, Operation, Outcome};
use history::transactions::{Status, TransactionId};
use history::value::Value;

/// What cannot be said in records.
const SOURCES: &str = "labels, and the sources of reads (`id=`, `from=`)";
const READS: &str = "the reads of transactions that are not committed";
const SESSIONS: &str = "the names of sessions, which are numbered";
const INITIAL: &str = "the initial values, which are null";

impl<N: Notation> RecordWriter<'_, N> {
    /// Writes a history of transactions. `is_first` unless another history comes before it in the file. What is not
    /// written is noted in `dropped`.
    pub(super) fn transactions(&mut self, is_first: bool, dropped: &mut Vec<&'static str>) {
        let history = self.history;
        let has_header = !N::HAS_TYPED_KEYS || !is_first || needs_header(history);
        let numbers_sessions = !has_header && history.processes().iter().any(|name| name.as_integer().is_none());
        let hides_initial = !has_header && history.initial() != Value::NULL;
        if has_header {
            self.header();
        }
        let has_lost_reads = history
            .transactions()
            .filter(|(_, transaction)| transaction.status != Status::Committed)
            .any(|(id, _)| history.operations_of(id).iter().any(|operation| operation.method == Method::Read));
        let losses = [
            (!(history.sources().is_empty() && history.labels().is_empty()), SOURCES),
            (has_lost_reads, READS),
            (numbers_sessions, SESSIONS),
            (hides_initial && has_initial_reads(history), INITIAL),
        ];
        dropped.extend(losses.into_iter().filter(|&(is_lost, _)| is_lost).map(|(_, what)| what));
        let style = Style { numbers_sessions, hides_initial };
        for (id, is_end) in history.transaction_events() {
            self.transaction(id, is_end, style);
        }
    }

    fn transaction(&mut self, id: TransactionId, is_end: bool, style: Style) {
        let history = self.history;
        let transaction = history.transaction(id);
        self.field("process");
        match history.processes()[transaction.session.index()] {
            _ if style.numbers_sessions => self.push(&transaction.session.0.to_string()),
            name => self.process(name),
        }
        self.field("type");
        let kind = match (is_end, transaction.status) {
            (false, _) => "invoke",
            (true, Status::Committed) => "ok",
            (true, Status::Aborted) => "fail",
            (true, Status::Indeterminate) => "info",
        };
        self.notation.push_name(self.out, kind);
        self.field("f");
        self.notation.push_name(self.out, "txn");
        self.field("value");
        self.push("[");
        let is_committed = transaction.status == Status::Committed;
        let is_known = |operation: &&Operation| is_committed || operation.method != Method::Read;
        for (at, operation) in history.operations_of(id).iter().filter(is_known).enumerate() {
            self.push(if at > 0 { N::SEPARATOR } else { "" });
            self.small(operation, is_end, style);
        }
        self.push("]");
        let times = history.transaction_times().get(id.index()).copied().unwrap_or_default();
        self.times([times[usize::from(is_end)], None]);
        self.close();
    }

    /// Writes `[f key value]`. Without `is_known`, a read has no value.
    fn small(&mut self, operation: &Operation, is_known: bool, style: Style) {
        let history = self.history;
        self.push("[");
        let name = match operation.method {
            Method::Read => "r",
            Method::Write => "w",
            _ => "append",
        };
        self.notation.push_name(self.out, name);
        self.push(N::SEPARATOR);
        self.key(history.keys()[operation.key.index()]);
        self.push(N::SEPARATOR);
        match operation.method {
            Method::Read if !is_known => self.push(N::NULL),
            Method::Read if operation.result.as_list().is_some() => {
                self.push("[");
                for (at, &element) in history.list(operation.result).iter().enumerate() {
                    self.push(if at > 0 { N::SEPARATOR } else { "" });
                    self.value(element);
                }
                self.push("]");
            }
            Method::Read if style.hides_initial && operation.result == history.initial_value(operation.key) => {
                self.push(N::NULL);
            }
            Method::Read => self.value(operation.result),
            _ => self.value(operation.argument),
        }
        self.push("]");
    }
}

/// How a history without a header is written.
#[derive(Copy, Clone)]
struct Style {
    numbers_sessions: bool,
    hides_initial: bool,
}

/// Whether the facts about a history cannot be said without a header.
fn needs_header(history: &History) -> bool {
    let is_ambiguous = |operation: &Operation| {
        let value = if operation.method == Method::Read { operation.result } else { operation.argument };
        let is_initial = operation.method == Method::Write && value == history.initial_value(operation.key);
        // The reads of other transactions are not written.
        let is_written = operation.method != Method::Read || operation.outcome == Outcome::Instant;
        is_written && (value == Value::NULL || is_initial)
    };
    history.name().is_some()
        || history.is_untimed()
        || history.transaction_count() == 0
        || !history.inits().is_empty()
        || history.initial() != Value::NULL && history.operations().iter().any(is_ambiguous)
}

/// Whether a read returns an initial value.
fn has_initial_reads(history: &History) -> bool {
    let mut reads = history.operations().iter().filter(|operation| operation.method == Method::Read);
    reads.any(|read| read.result == history.initial_value(read.key))
}
