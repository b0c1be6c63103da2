//! How a history of transactions becomes a [`TransactionView`].
//!
//! - An aborted transaction does not count. An indeterminate one counts if a transaction that counts reads from it;
//!   a list shows all transactions whose elements it has.
//! - The source of a read is found by its value, unless the history names it. Values of aborted transactions are
//!   looked at last.
//! - What no level allows is a [`Bad`] read: a verdict, not an error. An error is a history whose sources are not
//!   known.
//!
//! The elements of a list are looked at once for each *chain* of the history, in which all compatible versions of a
//! list share their elements. So the cost of many reads of a long list is that of the longest.

mod assemble;
mod list;
mod register;

use history::execution::SourceFault;
use history::{History, Method, Object, OperationId, Status, TransactionId, Value};
use model::transaction::{Anomaly, Bad};
use order::Rows;
use order::saturation::NONE;
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::view::{INIT, TransactionView, Write, find};
use list::Chain;

/// Why the sources of reads are not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The history is not one of transactions.
    #[error("an isolation level speaks of transactions, and this is a history of a {}", .0.name())]
    NotTransactions(Object),
    /// Two writes could be the source of a read.
    #[error("reads-from is ambiguous: the value of this read was written twice")]
    Ambiguous {
        /// The read.
        read: OperationId,
        /// The first two writes of its value; `None` is the initial write.
        writes: [Option<OperationId>; 2],
    },
    /// A read names a source that cannot be its source.
    #[error("a read cannot be from {}", match .why {
        SourceFault::NotAWrite => "an operation that writes nothing",
        SourceFault::OtherLocation => "a write of another key",
        SourceFault::OtherValue => "a write of another value",
        _ => "a write that did not happen",
    })]
    Source {
        /// The read.
        read: OperationId,
        /// The source it names; `None` is the initial write.
        write: Option<OperationId>,
        /// What is wrong.
        why: SourceFault,
    },
    /// One element was appended to one list twice.
    #[error("this element was appended to the list before, so a read does not tell the two appends apart")]
    AppendedTwice {
        /// The second append.
        operation: OperationId,
        /// The first.
        first: OperationId,
    },
    /// The level speaks of time, and the history has none.
    #[error("the level asks for the order in time, and this history has no times")]
    Untimed,
}

impl ResolveError {
    /// The operation that the error is about.
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::NotTransactions(_) | Self::Untimed => None,
            Self::Ambiguous { read: id, .. }
            | Self::Source { read: id, .. }
            | Self::AppendedTwice { operation: id, .. } => Some(*id),
        }
    }
}

/// A view, or what no level allows.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The transactions that count. If there are bad reads, the view leaves them out.
    pub view: TransactionView,
    /// The reads that no level allows, in the order of the history.
    pub bad: Vec<Bad>,
}

/// Who wrote a value.
#[derive(Copy, Clone, Debug)]
struct Writer {
    operation: u32,
    transaction: u32,
}

/// A read of a transaction, before it is known which transactions count.
#[derive(Copy, Clone, Debug)]
struct Found {
    key: u32,
    operation: u32,
    source: u32,
    /// For a list: the chain, and the length of the base.
    base: Option<(u32, u32)>,
}

/// The state while a history is resolved.
struct Resolver<'a> {
    history: &'a History,
    /// The transaction of each operation.
    owners: Vec<u32>,
    writers: FxHashMap<(u32, Value), Writer>,
    /// The values with two writers, and the first two.
    twice: FxHashMap<(u32, Value), [Option<OperationId>; 2]>,
    aborted: FxHashMap<(u32, Value), u32>,
    /// By transaction and key: its appends, as places in `appends`.
    runs: FxHashMap<(u32, u32), (u32, u32)>,
    /// The place of an append among those of its transaction to the list, and how many these are.
    places: Vec<[u32; 2]>,
    /// The chain in which an append was seen last, and where.
    positions: Vec<(u32, u32)>,
    is_list: Vec<bool>,
    /// The final write of each transaction and key.
    finals: Rows<Write>,
    chains: FxHashMap<(u32, u32), Chain>,
    found: Vec<Found>,
    /// Where the found reads of each transaction begin.
    found_starts: Vec<u32>,
    bad: Vec<(u32, Bad)>,
    errors: Vec<(u32, ResolveError)>,
}

/// Finds the source of every read.
pub fn resolve(history: &History) -> Result<Resolved, ResolveError> {
    if !history.is_of_transactions() {
        return Err(ResolveError::NotTransactions(history.object()));
    }
    let mut resolver = Resolver::new(history)?;
    resolver.find_reads();
    let counts = resolver.counting();
    if let Some((_, error)) = resolver.errors.iter().find(|(t, _)| counts[*t as usize]) {
        return Err(error.clone());
    }
    let versions = resolver.versions(&counts);
    let mut bad: Vec<Bad> = resolver.bad.iter().filter(|(t, _)| counts[*t as usize]).map(|(_, bad)| *bad).collect();
    bad.extend(versions.incompatible);
    bad.sort_by_key(|bad| bad.read);
    Ok(Resolved { view: resolver.view(&counts, &versions.orders), bad })
}

impl<'a> Resolver<'a> {
    fn new(history: &'a History) -> Result<Self, ResolveError> {
        let operations = history.operations();
        let keys = history.keys().len();
        let mut this = Self {
            history,
            owners: vec![0; operations.len()],
            writers: FxHashMap::default(),
            twice: FxHashMap::default(),
            aborted: FxHashMap::default(),
            runs: FxHashMap::default(),
            places: Vec::new(),
            positions: Vec::new(),
            is_list: vec![false; keys],
            finals: Rows::default(),
            chains: FxHashMap::default(),
            found: Vec::new(),
            found_starts: Vec::new(),
            bad: Vec::new(),
            errors: Vec::new(),
        };
        this.writers.reserve(operations.len() / 2);
        let mut finals: Vec<(usize, Write)> = Vec::new();
        // By key: the last transaction that writes it, and where its write is among the final ones.
        let mut last = vec![(NONE, 0); keys];
        for (id, transaction) in history.transactions() {
            let begin = finals.len();
            for number in history.operation_range(id) {
                let operation = &operations[number as usize];
                this.owners[number as usize] = id.0;
                let key = operation.key.0;
                match operation.method {
                    Method::Read => {
                        if operation.result.as_list().is_some() {
                            this.is_list[key as usize] = true;
                        }
                        continue;
                    }
                    Method::Append => {
                        this.is_list[key as usize] = true;
                        if this.places.is_empty() {
                            this.places = vec![[0; 2]; operations.len()];
                            this.positions = vec![(NONE, 0); operations.len()];
                        }
                        let run = this.runs.entry((id.0, key)).or_insert((number, 0));
                        this.places[number as usize] = [run.1, run.0];
                        run.1 += 1;
                    }
                    _ => {}
                }
                this.add_writer(number, id, transaction.status)?;
                let (of, at) = &mut last[key as usize];
                if *of == id.0 {
                    finals[*at].1.operation = number;
                } else {
                    (*of, *at) = (id.0, finals.len());
                    finals.push((id.index(), Write { key, operation: number }));
                }
            }
            finals[begin..].sort_unstable_by_key(|(_, write)| write.key);
        }
        this.finals = Rows::new(history.transaction_count(), finals.iter().copied());
        // The second number of a place becomes how many appends its transaction makes to the list.
        for (place, (operation, owner)) in this.places.iter_mut().zip(operations.iter().zip(&this.owners)) {
            if operation.method == Method::Append {
                place[1] = this.runs[&(*owner, operation.key.0)].1;
            }
        }
        Ok(this)
    }

    fn add_writer(&mut self, number: u32, id: TransactionId, status: Status) -> Result<(), ResolveError> {
        let operation = &self.history.operations()[number as usize];
        let slot = (operation.key.0, operation.argument);
        if status == Status::Aborted {
            self.aborted.entry(slot).or_insert(number);
            return Ok(());
        }
        let is_append = operation.method == Method::Append;
        match self.writers.entry(slot) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Writer { operation: number, transaction: id.0 });
                if !is_append && self.history.initial_value(operation.key) == operation.argument {
                    self.twice.insert(slot, [None, Some(OperationId(number))]);
                }
            }
            std::collections::hash_map::Entry::Occupied(entry) => {
                let first = *entry.get();
                if is_append {
                    return Err(ResolveError::AppendedTwice {
                        operation: OperationId(number),
                        first: OperationId(first.operation),
                    });
                }
                if first.transaction != id.0 {
                    let both = [Some(OperationId(first.operation)), Some(OperationId(number))];
                    self.twice.entry(slot).or_insert(both);
                }
            }
        }
        Ok(())
    }

    /// The final write of a key in a transaction.
    fn final_write(&self, transaction: u32, key: u32) -> Option<u32> {
        let writes = self.finals.of(transaction as usize);
        find(writes, key).map(|at| writes[at].operation)
    }

    fn find_reads(&mut self) {
        let history = self.history;
        // The last own write of each key so far: the transaction and the operation.
        let mut own = vec![(NONE, NONE); history.keys().len()];
        for (id, transaction) in history.transactions() {
            self.found_starts.push(self.found.len() as u32);
            if transaction.status == Status::Aborted {
                continue;
            }
            for number in history.operation_range(id) {
                let operation = &history.operations()[number as usize];
                let last = &mut own[operation.key.index()];
                if operation.method != Method::Read {
                    *last = (id.0, number);
                } else if operation.result.as_list().is_some() {
                    let last = Some(last.1).filter(|_| last.0 == id.0);
                    self.read_list(id.0, number, last);
                } else if operation.result.is_some() {
                    let last = Some(last.1).filter(|_| last.0 == id.0);
                    self.read_register(id.0, number, last);
                }
            }
        }
        self.found_starts.push(self.found.len() as u32);
    }

    fn blame(&mut self, transaction: u32, read: u32, anomaly: Anomaly, other: Option<u32>) {
        let bad = Bad { anomaly, read: OperationId(read), other: other.map(OperationId) };
        self.bad.push((transaction, bad));
    }

    fn found_of(&self, transaction: u32) -> &[Found] {
        &self.found
            [self.found_starts[transaction as usize] as usize..self.found_starts[transaction as usize + 1] as usize]
    }

    /// Which transactions count.
    fn counting(&mut self) -> Vec<bool> {
        let status = |id: TransactionId| self.history.transaction(id).status;
        let mut counts: Vec<bool> = self.history.transactions().map(|(_, t)| t.status == Status::Committed).collect();
        let mut open: Vec<u32> = (0..counts.len() as u32).filter(|&t| counts[t as usize]).collect();
        if counts.len() == open.len() {
            return counts;
        }
        let mut chains = std::mem::take(&mut self.chains);
        while let Some(t) = open.pop() {
            let mut count = |t: u32, open: &mut Vec<u32>| {
                if t != INIT && !std::mem::replace(&mut counts[t as usize], true) {
                    debug_assert_eq!(status(TransactionId(t)), Status::Indeterminate);
                    open.push(t);
                }
            };
            for found in self.found_of(t) {
                count(found.source, &mut open);
                if let Some((chain, length)) = found.base
                    && let Some(known) = chains.get_mut(&(found.key, chain))
                {
                    for &append in known.appends.get(known.counted..length as usize).unwrap_or(&[]) {
                        count(self.owners[append as usize], &mut open);
                    }
                    known.counted = known.counted.max(length as usize);
                }
            }
        }
        self.chains = chains;
        counts
    }
}
