//! Transactions: the third kind of history, beside executions of a memory and calls on an object.
//!
//! Sessions run transactions. A transaction is a sequence of operations by one session: reads, writes and appends, each
//! on a key with a value. A key is a register (`r x 5`, `w x 5`) or a list (`a l 5`, `r l [3,5]`). A transaction was
//! committed, was aborted, or nobody knows. A history of transactions is a [`History`] whose object is
//! [`Object::Transactions`]; its sessions are the processes of the history.
//!
//! [`HistoryBuilder`](crate::HistoryBuilder) keeps these invariants, and every reader may rely on them:
//! - Transactions stand in the order in which they began, so those of one session stand in the order of the session.
//! - Operations stand transaction by transaction, and those of one transaction in the order in which it did them. Every
//!   operation belongs to a transaction, and has its session. A transaction may have no operations.
//! - The method of an operation is [`Method::Read`](crate::Method::Read), whose value is the result, or
//!   [`Method::Write`](crate::Method::Write) or [`Method::Append`](crate::Method::Append), whose value is the argument.
//! - A key is a register or a list, and never both. A read of a list has a list of values as its result
//!   ([`History::list`]); no other value is a list.
//! - Unless the history is [untimed](History::is_untimed), each transaction has the moments of its begin and of its
//!   end. Moments count the begins, and the ends that are known, from zero. A transaction that is recorded as one point
//!   has one moment, which is both. The end of an indeterminate transaction is [`History::NEVER`].
//! - The [outcome](crate::Outcome) of an operation follows from the status of its transaction.
//!
//! ```
//! use history::{History, Method, Status};
//!
//! let history = format::parse("[a] begin\n[b] r x 0\n[a] w x 1\n[a] a l 5\n[a] commit\n")?;
//! let (id, transaction) = history.transactions().next().unwrap();
//! assert_eq!(transaction.status, Status::Committed);
//! let methods: Vec<Method> = history.operations_of(id).iter().map(|operation| operation.method).collect();
//! assert_eq!(methods, [Method::Write, Method::Append]);
//! assert_eq!(history.transaction_moments(), [[0, 2], [1, 1]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::history::{History, Object, Operation, OperationId, Outcome, ProcessId, index};
use crate::value::Value;

index!(
    /// A transaction: its place in [`History::transactions`].
    TransactionId
);

/// How a transaction ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Status {
    /// It took effect.
    Committed,
    /// It took no effect.
    Aborted,
    /// Nobody knows whether it took effect: a crash, a timeout, no end in the file.
    Indeterminate,
}

impl Status {
    /// How the operations of such a transaction ended.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Committed => Outcome::Instant,
            Self::Aborted => Outcome::Fail,
            Self::Indeterminate => Outcome::Info,
        }
    }

    /// The word that ends such a transaction in the text format.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Committed => "commit",
            Self::Aborted => "abort",
            Self::Indeterminate => "info",
        }
    }
}

/// One transaction of a history.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// The session that ran it.
    pub session: ProcessId,
    /// Its number in the history that was read, counted from 0. A [part](History::restricted) of a history keeps the
    /// numbers, so that a transaction has one name everywhere.
    pub number: u32,
    /// The line where it begins in its file, counted from 1; zero if it is in no file.
    pub line: u32,
    /// How it ended.
    pub status: Status,
    /// The number of its first operation.
    pub(crate) first: u32,
}

/// The tables that only a history of transactions has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Transactions {
    /// The transactions, in the order in which they began.
    pub all: Vec<Transaction>,
    /// The moments of begin and end of each transaction; empty if the history is untimed.
    pub moments: Vec<[u32; 2]>,
    /// The recorded times of begin and end; empty if the history has none.
    pub times: Vec<[Option<i64>; 2]>,
    /// Whether the order of the file says nothing about time across sessions (`# @realtime none`).
    pub is_untimed: bool,
}

impl Transactions {
    /// About how many bytes of memory the tables take.
    pub fn footprint(&self) -> usize {
        self.all.capacity() * size_of::<Transaction>()
            + self.moments.capacity() * size_of::<[u32; 2]>()
            + self.times.capacity() * size_of::<[Option<i64>; 2]>()
    }
}

impl History {
    /// Whether this is a history of transactions.
    pub fn is_of_transactions(&self) -> bool {
        self.object == Object::Transactions
    }

    /// The transactions, in the order in which they began.
    pub fn transactions(&self) -> impl ExactSizeIterator<Item = (TransactionId, &Transaction)> + Clone {
        self.transactions.all.iter().enumerate().map(|(at, transaction)| (TransactionId(at as u32), transaction))
    }

    /// How many transactions there are.
    pub fn transaction_count(&self) -> usize {
        self.transactions.all.len()
    }

    /// One transaction.
    ///
    /// # Panics
    /// If no transaction has this id.
    pub fn transaction(&self, id: TransactionId) -> &Transaction {
        &self.transactions.all[id.index()]
    }

    /// The numbers of the operations of a transaction.
    pub fn operation_range(&self, id: TransactionId) -> Range<u32> {
        let end = self.transactions.all.get(id.index() + 1).map_or(self.operations.len() as u32, |next| next.first);
        self.transaction(id).first..end
    }

    /// The operations of a transaction.
    pub fn operations_of(&self, id: TransactionId) -> &[Operation] {
        let Range { start, end } = self.operation_range(id);
        &self.operations[start as usize..end as usize]
    }

    /// The transaction of an operation.
    ///
    /// # Panics
    /// If this is not a history of transactions.
    pub fn transaction_of(&self, id: OperationId) -> TransactionId {
        // A transaction without operations begins where the next one does.
        TransactionId(self.transactions.all.partition_point(|transaction| transaction.first <= id.0) as u32 - 1)
    }

    /// Whether the order of the file says nothing about time across sessions (`# @realtime none`). Then there are no
    /// moments.
    pub fn is_untimed(&self) -> bool {
        self.transactions.is_untimed
    }

    /// The moments of begin and end of each transaction; [`Self::NEVER`] for an end that is not known. Empty if the
    /// history is [untimed](Self::is_untimed).
    pub fn transaction_moments(&self) -> &[[u32; 2]] {
        &self.transactions.moments
    }

    /// The recorded times of begin and end of each transaction. Empty if the history has none. They are not
    /// interpreted: the order of the file is the order in time.
    pub fn transaction_times(&self) -> &[[Option<i64>; 2]] {
        &self.transactions.times
    }

    /// Whether a transaction is recorded as one operation by itself, at one point in time or in an untimed history.
    pub fn is_whole(&self, id: TransactionId) -> bool {
        let is_point = self.transactions.moments.get(id.index()).is_none_or(|[begin, end]| begin == end);
        is_point && self.transaction(id).status == Status::Committed && self.operation_range(id).len() == 1
    }

    /// The begin (`false`) and the end (`true`) of each transaction, in the order of their moments. An end that is not
    /// known comes right after its begin. In an untimed history every end comes right after its begin.
    pub fn transaction_events(&self) -> Vec<(TransactionId, bool)> {
        if self.transactions.moments.is_empty() {
            return self.transactions().flat_map(|(id, _)| [(id, false), (id, true)]).collect();
        }
        let mut ends = vec![None; 2 * self.transactions.moments.len()];
        for ((id, _), &[begin, end]) in self.transactions().zip(&self.transactions.moments) {
            ends[begin as usize] = Some((id, false));
            if end != Self::NEVER && end != begin {
                ends[end as usize] = Some((id, true));
            }
        }
        let mut events = Vec::with_capacity(ends.len());
        for event in ends.into_iter().flatten() {
            events.push(event);
            let [begin, end] = self.transactions.moments[event.0.index()];
            if !event.1 && (end == Self::NEVER || end == begin) {
                events.push((event.0, true));
            }
        }
        events
    }

    /// The elements of a list that a transaction read; none if the value is not a list.
    pub fn list(&self, value: Value) -> &[Value] {
        self.words.list(value)
    }
}
