//! How a history of transactions becomes a [`View`].
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

use certificate::transaction::{Anomaly, Bad};
use history::execution::SourceFault;
use history::{History, KeyId, Method, Object, OperationId, Source, Status, TransactionId, Value};
use order::Rows;
use order::saturation::NONE;
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::view::{INIT, Read, View, Write, find};

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
    pub view: View,
    /// The reads that no level allows, in the order of the history.
    pub bad: Vec<Bad>,
}

/// Who wrote a value.
#[derive(Copy, Clone, Debug)]
struct Writer {
    operation: u32,
    transaction: u32,
}

/// What is known of one chain of a list's versions.
#[derive(Default)]
struct Chain {
    /// The appends of its elements, as far as they were looked at and nothing is wrong.
    appends: Vec<u32>,
    /// What is wrong with the element right behind them, and the operation to blame.
    wrong: Option<(Anomaly, Option<u32>)>,
    /// How many of the appends are by transactions that are known to count.
    counted: usize,
}

impl Chain {
    /// Where an append stands in this chain, which has that number.
    fn position(&self, positions: &[(u32, u32)], chain: u32, append: u32) -> Option<usize> {
        match positions[append as usize] {
            (last, at) if last == chain => Some(at as usize),
            (NONE, _) => None,
            // It was seen in another chain since: the versions of the list are not all compatible.
            _ => self.appends.iter().position(|&other| other == append),
        }
    }
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

/// The observed versions of all lists.
struct Versions {
    /// Of each list, the transactions of its longest observed version.
    orders: Vec<Vec<u32>>,
    incompatible: Vec<Bad>,
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

    fn read_register(&mut self, transaction: u32, number: u32, own: Option<u32>) {
        let history = self.history;
        let operation = &history.operations()[number as usize];
        let named = if history.sources().is_empty() { None } else { history.source(OperationId(number)) };
        if let Some(own) = own {
            let is_other = |source| match source {
                Source::Init => true,
                Source::Operation(source) => self.owners[source.index()] != transaction,
            };
            if operation.result != history.operations()[own as usize].argument || named.is_some_and(is_other) {
                self.blame(transaction, number, Anomaly::Internal, Some(own));
            }
            return;
        }
        let key = operation.key.0;
        let found = match named {
            Some(source) => self.named(number, source),
            None => self.by_value(number),
        };
        let source = match found {
            Err(error) => return self.errors.push((transaction, error)),
            Ok(None) => INIT,
            Ok(Some(write)) => {
                let writer = self.owners[write as usize];
                let last = self.final_write(writer, key);
                let is_final = last.is_some_and(|last| {
                    history.operations()[last as usize].argument == history.operations()[write as usize].argument
                });
                let anomaly = if history.transaction(TransactionId(writer)).status == Status::Aborted {
                    Anomaly::G1a
                } else if writer == transaction {
                    Anomaly::FutureRead
                } else if !is_final {
                    Anomaly::G1b
                } else {
                    self.found.push(Found { key, operation: number, source: writer, base: None });
                    return;
                };
                return self.blame(transaction, number, anomaly, Some(write));
            }
        };
        if operation.result != history.initial_value(KeyId(key)) {
            return self.blame(transaction, number, Anomaly::ThinAir, None);
        }
        self.found.push(Found { key, operation: number, source, base: None });
    }

    /// The write that a read names; none if it is the initial one.
    fn named(&self, number: u32, source: Source) -> Result<Option<u32>, ResolveError> {
        let history = self.history;
        let read = &history.operations()[number as usize];
        let fault = |write, why| Err(ResolveError::Source { read: OperationId(number), write, why });
        match source {
            Source::Init if history.initial_value(read.key) == read.result => Ok(None),
            Source::Init => fault(None, SourceFault::OtherValue),
            Source::Operation(id) => {
                let write = history.operation(id);
                if write.method == Method::Read {
                    fault(Some(id), SourceFault::NotAWrite)
                } else if write.key != read.key {
                    fault(Some(id), SourceFault::OtherLocation)
                } else if write.argument != read.result {
                    fault(Some(id), SourceFault::OtherValue)
                } else {
                    Ok(Some(id.0))
                }
            }
        }
    }

    /// The write of a read's value; none if there is none, so that it is the initial value or thin air.
    fn by_value(&self, number: u32) -> Result<Option<u32>, ResolveError> {
        let read = &self.history.operations()[number as usize];
        let slot = (read.key.0, read.result);
        if let Some(&writes) = self.twice.get(&slot) {
            return Err(ResolveError::Ambiguous { read: OperationId(number), writes });
        }
        if let Some(writer) = self.writers.get(&slot) {
            return Ok(Some(writer.operation));
        }
        if self.history.initial_value(read.key) == read.result {
            return Ok(None);
        }
        Ok(self.aborted.get(&slot).copied())
    }

    /// Looks at the elements of a chain up to a length.
    fn extend(&mut self, key: u32, chain: u32, elements: &[Value]) {
        let Self { chains, writers, aborted, places, positions, owners, .. } = self;
        let known = chains.entry((key, chain)).or_default();
        while known.wrong.is_none() && known.appends.len() < elements.len() {
            let at = known.appends.len();
            let slot = (key, elements[at]);
            let Some(writer) = writers.get(&slot) else {
                let append = aborted.get(&slot).copied();
                known.wrong = Some((if append.is_some() { Anomaly::G1a } else { Anomaly::ThinAir }, append));
                break;
            };
            let append = writer.operation;
            let [place, _] = places[append as usize];
            let continues = match at.checked_sub(1).map(|at| known.appends[at]) {
                Some(previous) if place > 0 => {
                    owners[previous as usize] == writer.transaction && places[previous as usize][0] + 1 == place
                }
                Some(previous) => places[previous as usize][0] + 1 == places[previous as usize][1],
                None => place == 0,
            };
            if known.position(positions, chain, append).is_some() {
                known.wrong = Some((Anomaly::DuplicateElements, Some(append)));
            } else if !continues {
                known.wrong = Some((Anomaly::G0, Some(append)));
            } else {
                positions[append as usize] = (chain, at as u32);
                known.appends.push(append);
            }
        }
    }

    fn read_list(&mut self, transaction: u32, number: u32, own: Option<u32>) {
        let history = self.history;
        let operation = &history.operations()[number as usize];
        let key = operation.key.0;
        let elements = history.list(operation.result);
        let chain = operation.result.as_list().map_or(0, |(chain, _)| chain);
        let own_count = own.map_or(0, |own| self.places[own as usize][0] as usize + 1);
        let own_appends = history.operation_range(TransactionId(transaction)).take_while(|&other| other < number);
        let own_appends = own_appends.filter(|&other| {
            let other = &history.operations()[other as usize];
            other.method == Method::Append && other.key.0 == key
        });
        let fits = elements.len() >= own_count && {
            let end = &elements[elements.len() - own_count..];
            own_count == 0 || own_appends.zip(end).all(|(own, end)| history.operations()[own as usize].argument == *end)
        };
        if !fits {
            return self.blame(transaction, number, Anomaly::Internal, own);
        }
        let length = elements.len() - own_count;
        self.extend(key, chain, &elements[..length]);
        let known = &self.chains[&(key, chain)];
        if known.appends.len() < length {
            let (anomaly, other) = known.wrong.unwrap_or((Anomaly::ThinAir, None));
            let distinct: rustc_hash::FxHashSet<Value> = elements.iter().copied().collect();
            let is_double = anomaly == Anomaly::G0 && distinct.len() < elements.len();
            return self.blame(
                transaction,
                number,
                if is_double { Anomaly::DuplicateElements } else { anomaly },
                other,
            );
        }
        let base = &known.appends[..length];
        // The run of own appends stands together, so the last of them tells.
        if let Some(last) = self.final_write(transaction, key)
            && known.position(&self.positions, chain, last).is_some_and(|at| at < length)
        {
            let anomaly = if own_count > 0 { Anomaly::DuplicateElements } else { Anomaly::FutureRead };
            return self.blame(transaction, number, anomaly, Some(last));
        }
        let source = match base.last() {
            None => INIT,
            Some(&last) if self.places[last as usize][0] + 1 < self.places[last as usize][1] => {
                let anomaly = match (self.owners[last as usize] == transaction, own_count) {
                    (false, _) => Anomaly::G1b,
                    (true, 0) => Anomaly::FutureRead,
                    (true, _) => Anomaly::DuplicateElements,
                };
                return self.blame(transaction, number, anomaly, Some(last));
            }
            Some(&last) => self.owners[last as usize],
        };
        self.found.push(Found { key, operation: number, source, base: Some((chain, length as u32)) });
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

    /// The longest observed version of each list. The reads must be those of transactions that count.
    fn versions(&self, counts: &[bool]) -> Versions {
        let keys = self.is_list.len();
        // By key: the appends of the longest version so far, and the read that shows it.
        let mut longest: Vec<(Vec<u32>, u32)> = vec![(Vec::new(), NONE); if self.places.is_empty() { 0 } else { keys }];
        // By key: the chain that the longest version is known to agree with, and how far.
        let mut agreed: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        let mut incompatible = Vec::new();
        let counted = (0..counts.len() as u32).filter(|&t| counts[t as usize]);
        for found in counted.flat_map(|t| self.found_of(t)) {
            let Some((chain, length)) = found.base else { continue };
            let length = length as usize;
            if length == 0 && self.places.is_empty() {
                continue;
            }
            let (order, shown) = &mut longest[found.key as usize];
            let base = &self.chains[&(found.key, chain)].appends[..length];
            let known = agreed.entry((found.key, chain)).or_default();
            let clash = |shown: u32| Bad {
                anomaly: Anomaly::IncompatibleOrder,
                read: OperationId(found.operation),
                other: Some(OperationId(shown)).filter(|_| shown != NONE),
            };
            if *known < length {
                let common = order.len().min(length);
                if order[*known..common.max(*known)] != base[*known..common.max(*known)] {
                    incompatible.push(clash(*shown));
                    continue;
                }
                *known = length;
                if length > order.len() {
                    order.extend_from_slice(&base[order.len()..]);
                    *shown = found.operation;
                }
            }
            // The transaction read the list after it appended to it: its own appends stand right behind the base.
            let t = self.owners[found.operation as usize];
            let Some(last) = self.final_write(t, found.key) else { continue };
            let first = self.runs[&(t, found.key)].0;
            if first > found.operation {
                continue;
            }
            let own: Vec<u32> = (first..=last)
                .filter(|&other| {
                    let other = &self.history.operations()[other as usize];
                    other.method == Method::Append && other.key.0 == found.key
                })
                .collect();
            let behind = &order[length..];
            let common = behind.len().min(own.len());
            if behind[..common] != own[..common] {
                incompatible.push(clash(*shown));
            } else if own.len() > behind.len() {
                order.extend_from_slice(&own[common..]);
                *shown = found.operation;
            }
        }
        let orders = longest
            .into_iter()
            .map(|(order, _)| {
                let mut transactions: Vec<u32> = order.iter().map(|&append| self.owners[append as usize]).collect();
                transactions.dedup();
                transactions
            })
            .collect();
        Versions { orders, incompatible }
    }

    fn view(&self, counts: &[bool], orders: &[Vec<u32>]) -> View {
        let history = self.history;
        let count = history.transaction_count();
        let sessions = history.processes().len();
        let status = |t: u32| history.transaction(TransactionId(t)).status;
        let counted = || (0..count as u32).filter(|&t| counts[t as usize]);
        let committed = counted().filter(|&t| status(t) == Status::Committed);
        let by_session =
            Rows::new(sessions, committed.map(|t| (history.transaction(TransactionId(t)).session.index(), t)));
        let mut ids: Vec<TransactionId> = Vec::new();
        let mut starts = vec![0];
        for session in 0..sessions {
            ids.extend(by_session.of(session).iter().map(|&t| TransactionId(t)));
            starts.push(ids.len() as u32);
        }
        for t in counted().filter(|&t| status(t) == Status::Indeterminate) {
            ids.push(TransactionId(t));
            starts.push(ids.len() as u32);
        }
        let mut numbers = vec![NONE; count];
        for (number, id) in ids.iter().enumerate() {
            numbers[id.index()] = number as u32;
        }
        let number = |t: u32| if t == INIT { INIT } else { numbers[t as usize] };
        let mut chains = vec![0; ids.len()];
        for chain in 0..starts.len() - 1 {
            chains[starts[chain] as usize..starts[chain + 1] as usize].fill(chain as u32);
        }
        let before = ids.iter().enumerate().map(|(t, id)| {
            let chain = chains[t] as usize;
            if chain < sessions {
                return if t as u32 > starts[chain] { t as u32 - 1 } else { NONE };
            }
            let all = by_session.of(history.transaction(*id).session.index());
            let earlier = all.partition_point(|&other| other < id.0);
            earlier.checked_sub(1).map_or(NONE, |at| number(all[at]))
        });
        let moments = history.transaction_moments();
        let place = |id: &TransactionId| moments.get(id.index()).copied().unwrap_or([id.0, id.0]);
        let reads = ids.iter().enumerate().flat_map(|(t, id)| {
            self.found_of(id.0).iter().map(move |found| {
                (t, Read { key: found.key, source: number(found.source), operation: found.operation })
            })
        });
        let writes =
            ids.iter().enumerate().flat_map(|(t, id)| self.finals.of(id.index()).iter().map(move |write| (t, *write)));
        let keys = self.is_list.len();
        let seen = orders.iter().enumerate().flat_map(|(key, order)| order.iter().map(move |&t| (key, number(t))));
        let mut is_seen: rustc_hash::FxHashSet<(u32, u32)> = rustc_hash::FxHashSet::default();
        if !orders.is_empty() {
            is_seen.extend(seen.clone().map(|(key, t)| (key as u32, t)));
        }
        let unseen = writes
            .clone()
            .filter(|(t, write)| self.is_list[write.key as usize] && !is_seen.contains(&(write.key, *t as u32)));
        let seen = Rows::new(keys, seen);
        let unseen = Rows::new(keys, unseen.map(|(t, write)| (write.key as usize, t as u32)));
        View {
            before: before.collect(),
            places: ids.iter().map(place).collect(),
            is_timed: !history.is_untimed(),
            reads: Rows::new(ids.len(), reads),
            writes: Rows::new(ids.len(), writes),
            keys,
            seen,
            unseen,
            is_list: self.is_list.clone(),
            starts,
            sessions,
            chains,
            ids,
        }
    }
}
