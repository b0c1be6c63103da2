//! The names of things in a story. An operation is named by its place in the file and by its text, an initial value by
//! its location, a transaction by its number. A thing has one name in all sentences, tables and drawings.

use history::{History, KeyId, OperationId, ProcessId, TransactionId, Value, visible};
use model::{Node, transaction};

use crate::text::{self, Line, Style};

/// Names what is in a history.
#[derive(Copy, Clone)]
pub(super) struct Names<'a> {
    pub(super) history: &'a History,
}

impl Names<'_> {
    /// `thread 0`.
    pub(super) fn thread(self, process: ProcessId) -> String {
        format!("thread {}", self.history.process_name(process))
    }

    /// `the initial value of x`.
    pub(super) fn initial(self, key: KeyId) -> String {
        let name = self.history.key_name(key);
        if name.is_empty() {
            "the initial value".to_owned()
        } else {
            format!("the initial value of {}", visible(&name))
        }
    }

    /// `line 3`, or `the end` for the read of a final value.
    pub(super) fn place(self, id: OperationId) -> Line {
        Line::default().place(id, self.history.place(id))
    }

    /// `line 3 [0] w x 1`.
    pub(super) fn operation(self, id: OperationId) -> Line {
        self.place(id).plain(" ").with(Style::Operation, text::operation(self.history, id))
    }

    /// `line 3` or `the initial value of x`.
    pub(super) fn short(self, node: Node) -> Line {
        match node {
            Node::Init(location) => Line::default().with(Style::Operation, self.initial(KeyId(location.0))),
            Node::Operation(id) => self.place(id),
        }
    }

    /// `line 3 [0] w x 1` or `the initial value of x`.
    pub(super) fn long(self, node: Node) -> Line {
        match node {
            Node::Init(_) => self.short(node),
            Node::Operation(id) => self.operation(id),
        }
    }

    /// `T3`. A part of a history keeps the numbers that the whole history has.
    pub(super) fn transaction(self, id: TransactionId) -> String {
        text::transaction(self.history, id)
    }

    /// `T3`, or `the initial state`.
    pub(super) fn state(self, node: transaction::TransactionNode) -> String {
        node.transaction().map_or_else(|| "the initial state".to_owned(), |id| self.transaction(id))
    }

    /// The name of a key; empty if there is only one.
    pub(super) fn key(self, key: KeyId) -> String {
        visible(&self.history.key_name(key)).into_owned()
    }

    /// A value.
    pub(super) fn value(self, value: Value) -> String {
        visible(&self.history.show(value)).into_owned()
    }
}
