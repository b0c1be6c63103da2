//! What a history of transactions says, found again by the plainest means: which transactions count, the source of
//! every external read, the versions of lists, and the reads that no level allows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use history::{History, KeyId, Method, OperationId, Source, Status, TransactionId, Value};

use crate::Refusal;
use model::transaction::{Anomaly, TransactionNode};

/// An external read.
#[derive(Copy, Clone, Debug)]
pub(super) struct Read {
    pub operation: OperationId,
    pub key: KeyId,
    pub source: TransactionNode,
}

/// What one read of a list shows.
#[derive(Clone, Debug)]
struct Shown {
    /// The appends of its base, and of the version that its own transaction makes if it read after appending.
    versions: Vec<Vec<OperationId>>,
}

pub(super) struct Claim<'a> {
    pub history: &'a History,
    pub counts: Vec<bool>,
    /// The external reads of each transaction that counts.
    pub reads: Vec<Vec<Read>>,
    /// The keys that each transaction writes.
    pub writes: Vec<BTreeSet<KeyId>>,
    /// Of each list, its writers in the longest version that is shown, and the others.
    pub versions: BTreeMap<KeyId, (Vec<TransactionId>, Vec<TransactionId>)>,
    /// The reads that no level allows, and why.
    pub bad: Vec<(OperationId, Anomaly)>,
    owners: Vec<TransactionId>,
    shown: HashMap<OperationId, Shown>,
}

/// The appends of each transaction to each list.
type Appends = BTreeMap<(KeyId, TransactionId), Vec<OperationId>>;

/// What a read is found to be.
enum Found {
    Own,
    From(TransactionNode),
    Bad(Vec<Anomaly>),
}

impl<'a> Claim<'a> {
    pub(super) fn new(history: &'a History) -> Result<Self, Refusal> {
        if !history.is_of_transactions() {
            return Err(Refusal::NotTransactions("this is not a history of transactions".to_owned()));
        }
        let count = history.transaction_count();
        let mut owners = Vec::with_capacity(history.operations().len());
        let mut writes = vec![BTreeSet::new(); count];
        let mut writers: HashMap<(KeyId, Value), Vec<OperationId>> = HashMap::new();
        let mut appends: Appends = BTreeMap::new();
        for (id, _) in history.transactions() {
            for number in history.operation_range(id) {
                owners.push(id);
                let operation = history.operation(OperationId(number));
                if operation.method != Method::Read {
                    writes[id.index()].insert(operation.key);
                    writers.entry((operation.key, operation.argument)).or_default().push(OperationId(number));
                }
                if operation.method == Method::Append {
                    appends.entry((operation.key, id)).or_default().push(OperationId(number));
                }
            }
        }
        let mut claim = Self {
            history,
            counts: vec![false; count],
            reads: vec![Vec::new(); count],
            writes,
            versions: BTreeMap::new(),
            bad: Vec::new(),
            owners,
            shown: HashMap::new(),
        };
        claim.count(&writers, &appends)?;
        claim.order_versions(&appends);
        Ok(claim)
    }

    pub(super) fn owner(&self, operation: OperationId) -> Option<TransactionId> {
        self.owners.get(operation.index()).copied()
    }

    fn status(&self, id: TransactionId) -> Status {
        self.history.transaction(id).status
    }

    /// The external read of an operation.
    pub(super) fn read(&self, operation: OperationId) -> Option<(TransactionId, Read)> {
        let owner = self.owner(operation)?;
        let read = self.reads[owner.index()].iter().find(|read| read.operation == operation)?;
        Some((owner, *read))
    }

    pub(super) fn writes(&self, node: TransactionNode, key: KeyId) -> bool {
        node.transaction().is_none_or(|id| self.writes.get(id.index()).is_some_and(|writes| writes.contains(&key)))
    }

    /// Counts what committed, and what is read by what counts. Finds the sources of the reads of all these.
    fn count(&mut self, writers: &HashMap<(KeyId, Value), Vec<OperationId>>, appends: &Appends) -> Result<(), Refusal> {
        let all = (0..self.counts.len() as u32).map(TransactionId);
        let mut open: Vec<TransactionId> = all.filter(|&id| self.status(id) == Status::Committed).collect();
        for id in &open {
            self.counts[id.index()] = true;
        }
        while let Some(id) = open.pop() {
            for number in self.history.operation_range(id) {
                let operation = OperationId(number);
                let read = self.history.operation(operation);
                if read.method != Method::Read || !read.result.is_some() {
                    continue;
                }
                let is_list = read.result.as_list().is_some();
                let found = if is_list {
                    self.list(id, operation, writers, appends)
                } else {
                    self.register(id, operation, writers)?
                };
                let source = match found {
                    Found::Own => continue,
                    Found::Bad(anomalies) => {
                        self.bad.extend(anomalies.into_iter().map(|anomaly| (operation, anomaly)));
                        continue;
                    }
                    Found::From(source) => source,
                };
                self.reads[id.index()].push(Read { operation, key: read.key, source });
                let shown = self.shown.get(&operation).and_then(|shown| shown.versions.first());
                let shown = shown.into_iter().flatten().map(|append| self.owners[append.index()]);
                for other in shown.chain(source.transaction()).collect::<BTreeSet<_>>() {
                    if !std::mem::replace(&mut self.counts[other.index()], true) {
                        open.push(other);
                    }
                }
            }
        }
        Ok(())
    }

    fn register(
        &self,
        id: TransactionId,
        operation: OperationId,
        writers: &HashMap<(KeyId, Value), Vec<OperationId>>,
    ) -> Result<Found, Refusal> {
        let history = self.history;
        let read = history.operation(operation);
        let is_write = |&other: &u32| {
            let other = history.operation(OperationId(other));
            other.method == Method::Write && other.key == read.key
        };
        let range = history.operation_range(id);
        let named = history.source(operation);
        if let Some(own) = (range.start..operation.0).rev().find(is_write) {
            let names_other = match named {
                None => false,
                Some(Source::Init) => true,
                Some(Source::Operation(source)) => self.owners[source.index()] != id,
            };
            let fits = history.operation(OperationId(own)).argument == read.result && !names_other;
            return Ok(if fits { Found::Own } else { Found::Bad(vec![Anomaly::Internal]) });
        }
        let is_initial = history.initial_value(read.key) == read.result;
        let all = writers.get(&(read.key, read.result)).map_or(&[][..], Vec::as_slice);
        let write = match named {
            Some(Source::Init) => None,
            Some(Source::Operation(source)) => Some(source),
            None => {
                let mut happened =
                    all.iter().filter(|write| self.status(self.owners[write.index()]) != Status::Aborted);
                let first = happened.next();
                let owners = first.into_iter().chain(happened).map(|write| self.owners[write.index()]);
                let count = owners.collect::<BTreeSet<_>>().len() + usize::from(is_initial);
                if count > 1 {
                    let what = format!("the value of operation {} was written twice", operation.0);
                    return Err(Refusal::NotTransactions(what));
                }
                first.or_else(|| all.first().filter(|_| !is_initial)).copied()
            }
        };
        let Some(write) = write else {
            return Ok(if is_initial {
                Found::From(TransactionNode::Init)
            } else {
                Found::Bad(vec![Anomaly::ThinAir])
            });
        };
        let fits = history.operations().get(write.index()).is_some_and(|write| {
            write.method == Method::Write && write.key == read.key && write.argument == read.result
        });
        if !fits {
            return Err(Refusal::NotTransactions(format!("operation {} names a wrong source", operation.0)));
        }
        let owner = self.owners[write.index()];
        let last = history.operation_range(owner).rev().find(is_write);
        let is_final = last.is_some_and(|last| history.operation(OperationId(last)).argument == read.result);
        Ok(if self.status(owner) == Status::Aborted {
            Found::Bad(vec![Anomaly::G1a])
        } else if owner == id {
            Found::Bad(vec![Anomaly::FutureRead])
        } else if !is_final {
            Found::Bad(vec![Anomaly::G1b])
        } else {
            Found::From(TransactionNode::Transaction(owner))
        })
    }

    fn list(
        &mut self,
        id: TransactionId,
        operation: OperationId,
        writers: &HashMap<(KeyId, Value), Vec<OperationId>>,
        appends: &Appends,
    ) -> Found {
        let history = self.history;
        let read = history.operation(operation);
        let elements = history.list(read.result);
        let own = appends.get(&(read.key, id)).map_or(&[][..], Vec::as_slice);
        let before: Vec<OperationId> = own.iter().copied().filter(|&append| append < operation).collect();
        let mut anomalies = Vec::new();
        let end = elements.len().checked_sub(before.len());
        let fits = end.is_some_and(|end| {
            before.iter().zip(&elements[end..]).all(|(own, element)| history.operation(*own).argument == *element)
        });
        if !fits {
            anomalies.push(Anomaly::Internal);
        }
        let base = &elements[..if fits { end.unwrap_or(0) } else { elements.len() }];
        let distinct: std::collections::HashSet<Value> = elements.iter().copied().collect();
        if distinct.len() < elements.len() {
            anomalies.push(Anomaly::DuplicateElements);
        }
        let mut known = Vec::with_capacity(base.len());
        for element in base {
            let all = writers.get(&(read.key, *element)).map_or(&[][..], Vec::as_slice);
            let happened = all.iter().find(|append| self.status(self.owners[append.index()]) != Status::Aborted);
            match (happened, all.first()) {
                (Some(&append), _) => known.push(append),
                (None, Some(_)) => anomalies.push(Anomaly::G1a),
                (None, None) => anomalies.push(Anomaly::ThinAir),
            }
        }
        if known.len() < base.len() {
            return Found::Bad(anomalies);
        }
        if known.iter().any(|append| self.owners[append.index()] == id) {
            anomalies.push(Anomaly::FutureRead);
        }
        let mut at = 0;
        while at < known.len() {
            let run = &appends[&(read.key, self.owners[known[at].index()])];
            let rest = &known[at..];
            if !rest.starts_with(run) {
                let is_first_part = rest.len() < run.len() && rest == &run[..rest.len()];
                anomalies.push(if is_first_part { Anomaly::G1b } else { Anomaly::G0 });
                break;
            }
            at += run.len();
        }
        if !anomalies.is_empty() {
            return Found::Bad(anomalies);
        }
        let source = known
            .last()
            .map_or(TransactionNode::Init, |append| TransactionNode::Transaction(self.owners[append.index()]));
        let mut versions = vec![known.clone()];
        if !before.is_empty() {
            versions.push(known.into_iter().chain(own.iter().copied()).collect());
        }
        self.shown.insert(operation, Shown { versions });
        Found::From(source)
    }

    /// Finds the order of the versions of each list, and the reads that show two orders.
    fn order_versions(&mut self, appends: &Appends) {
        let mut longest: BTreeMap<KeyId, Vec<OperationId>> = BTreeMap::new();
        let reads: Vec<Read> = self.reads.iter().flatten().copied().collect();
        for read in &reads {
            let Some(shown) = self.shown.get(&read.operation) else { continue };
            let longest = longest.entry(read.key).or_default();
            for version in &shown.versions {
                if version.len() > longest.len() {
                    longest.clone_from(version);
                }
            }
        }
        for read in &reads {
            let Some(shown) = self.shown.get(&read.operation) else { continue };
            if shown.versions.iter().any(|version| !longest[&read.key].starts_with(version)) {
                self.bad.push((read.operation, Anomaly::IncompatibleOrder));
            }
        }
        for (key, order) in longest {
            let mut seen: Vec<TransactionId> = order.iter().map(|append| self.owners[append.index()]).collect();
            seen.dedup();
            self.versions.insert(key, (seen, Vec::new()));
        }
        let seen: BTreeSet<(KeyId, TransactionId)> =
            self.versions.iter().flat_map(|(key, (seen, _))| seen.iter().map(|id| (*key, *id))).collect();
        for &(key, id) in appends.keys().filter(|appender| !seen.contains(appender)) {
            if self.counts[id.index()] {
                self.versions.entry(key).or_default().1.push(id);
            }
        }
    }

    /// Whether two reads show versions neither of which is a prefix of the other.
    pub(super) fn are_incompatible(&self, a: OperationId, b: OperationId) -> bool {
        let (Some((_, first)), Some((_, second))) = (self.read(a), self.read(b)) else { return false };
        let (Some(a), Some(b)) = (self.shown.get(&a), self.shown.get(&b)) else { return false };
        first.key == second.key
            && a.versions.iter().any(|a| b.versions.iter().any(|b| !a.starts_with(b) && !b.starts_with(a)))
    }
}
