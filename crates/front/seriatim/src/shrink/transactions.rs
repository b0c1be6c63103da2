//! Shrinking a history of transactions: whole transactions go, then single reads, then all writes of a key in a
//! transaction.
//!
//! These removals are sound. A read that goes only takes a constraint away. A write, or a transaction, that goes takes
//! constraints away if nobody reads from it; so all reads that it says the value of go with it. All writes of a key in
//! a transaction go together, with the reads of the key behind the first of them, which read their own transaction.

use std::collections::BTreeSet;

use history::{History, KeyId, Method, OperationId, TransactionId, Value};
use model::{Evidence, Verdict};
use rustc_hash::FxHashMap;

use super::Shrunk;
use crate::{Decision, Model, Options, check};

/// All writes of a key in a transaction.
type Writes = (TransactionId, KeyId);

/// What is left of a history.
#[derive(Clone)]
struct Kept {
    transactions: Vec<bool>,
    operations: Vec<bool>,
}

struct Shrinker<'a> {
    history: &'a History,
    model: Model,
    options: Options,
    owners: Vec<TransactionId>,
    /// By read: the writes that say where its value comes from.
    needs: Vec<Vec<Writes>>,
    /// By writes: the reads that need them.
    readers: FxHashMap<Writes, Vec<OperationId>>,
    checks: u32,
    is_minimal: bool,
}

/// Shrinks a history that violates a level.
pub(super) fn shrink(history: &History, decision: Decision, model: Model, options: &Options) -> Shrunk {
    let mut shrinker = Shrinker::new(history, model, options.clone());
    let all = Kept {
        transactions: vec![true; history.transaction_count()],
        operations: vec![true; history.operations().len()],
    };
    let mut left = (all.clone(), history.clone(), decision);
    for is_closed in [false, true] {
        let named = shrinker.named(&left.2, is_closed);
        if let Some(found) = shrinker.attempt(named) {
            left = found;
            break;
        }
    }
    for id in (0..history.transaction_count() as u32).map(TransactionId) {
        if left.0.transactions[id.index()] {
            let mut kept = left.0.clone();
            shrinker.remove_transaction(&mut kept, id);
            left = shrinker.attempt(kept).unwrap_or(left);
        }
    }
    for read in (0..history.operations().len() as u32).map(OperationId) {
        if left.0.operations[read.index()] && history.operation(read).method == Method::Read {
            let mut kept = left.0.clone();
            kept.operations[read.index()] = false;
            left = shrinker.attempt(kept).unwrap_or(left);
        }
    }
    let writes: BTreeSet<Writes> = (0..history.operations().len() as u32)
        .map(OperationId)
        .filter(|&id| history.operation(id).method != Method::Read)
        .map(|id| (shrinker.owners[id.index()], history.operation(id).key))
        .collect();
    for writes in writes.into_iter().filter(|(id, _)| history.operation_range(*id).len() > 1) {
        if left.0.transactions[writes.0.index()] {
            let mut kept = left.0.clone();
            if shrinker.remove_writes(&mut kept, writes) {
                left = shrinker.attempt(kept).unwrap_or(left);
            }
        }
    }
    let (_, history, decision) = left;
    Shrunk { history, decision, is_minimal: shrinker.is_minimal, checks: shrinker.checks }
}

impl<'a> Shrinker<'a> {
    fn new(history: &'a History, model: Model, options: Options) -> Self {
        let mut owners = Vec::with_capacity(history.operations().len());
        let mut writers: FxHashMap<(KeyId, Value), Vec<TransactionId>> = FxHashMap::default();
        for (id, _) in history.transactions() {
            for operation in history.operations_of(id) {
                owners.push(id);
                if operation.method != Method::Read {
                    writers.entry((operation.key, operation.argument)).or_default().push(id);
                }
            }
        }
        let mut needs = Vec::with_capacity(owners.len());
        let mut readers: FxHashMap<Writes, Vec<OperationId>> = FxHashMap::default();
        for (at, operation) in history.operations().iter().enumerate() {
            let mut of_read = Vec::new();
            if operation.method == Method::Read {
                let alone = [operation.result];
                let is_list = operation.result.as_list().is_some();
                let values = if is_list { history.list(operation.result) } else { &alone };
                let all = values.iter().filter_map(|&value| writers.get(&(operation.key, value))).flatten();
                of_read = all.map(|&id| (id, operation.key)).collect();
                of_read.sort_unstable();
                of_read.dedup();
                for &writes in &of_read {
                    readers.entry(writes).or_default().push(OperationId(at as u32));
                }
            }
            needs.push(of_read);
        }
        Self { history, model, options, owners, needs, readers, checks: 1, is_minimal: true }
    }

    /// The transactions that the evidence names. With those that their reads need or, if not closed, without these
    /// reads.
    fn named(&self, decision: &Decision, is_closed: bool) -> Kept {
        let mut kept = Kept {
            transactions: vec![false; self.history.transaction_count()],
            operations: vec![false; self.history.operations().len()],
        };
        let Some(Evidence::Transactions(evidence)) = &decision.evidence else { return kept };
        let of_operations = decision.evidence.iter().flat_map(Evidence::operations);
        let mut open: Vec<TransactionId> = evidence.transactions();
        open.extend(of_operations.map(|operation| self.owners[operation.index()]));
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut kept.transactions[id.index()], true) {
                continue;
            }
            for number in self.history.operation_range(id) {
                kept.operations[number as usize] = true;
                if is_closed {
                    open.extend(self.needs[number as usize].iter().map(|(id, _)| *id));
                }
            }
        }
        for (at, needs) in self.needs.iter().enumerate() {
            kept.operations[at] &= needs.iter().all(|(id, _)| kept.transactions[id.index()]);
        }
        kept
    }

    fn remove_transaction(&self, kept: &mut Kept, id: TransactionId) {
        kept.transactions[id.index()] = false;
        for operation in self.history.operations_of(id).iter().filter(|operation| operation.method != Method::Read) {
            for read in self.readers.get(&(id, operation.key)).into_iter().flatten() {
                kept.operations[read.index()] = false;
            }
        }
    }

    /// The answer is whether there was something to remove.
    fn remove_writes(&self, kept: &mut Kept, writes: Writes) -> bool {
        let (id, key) = writes;
        let mut found = false;
        for number in self.history.operation_range(id) {
            let operation = self.history.operation(OperationId(number));
            found |= operation.key == key && operation.method != Method::Read;
            if found && operation.key == key {
                kept.operations[number as usize] = false;
            }
        }
        for read in self.readers.get(&writes).into_iter().flatten() {
            kept.operations[read.index()] = false;
        }
        found
    }

    /// What is left, as a history of its own, if it still violates the level.
    fn attempt(&mut self, kept: Kept) -> Option<(Kept, History, Decision)> {
        let keeps = |id: TransactionId| kept.transactions[id.index()];
        let part = self.history.restricted(keeps, |operation| kept.operations[operation.index()]).ok()?;
        self.checks += 1;
        let decision = check(&part, self.model, &self.options).ok()?;
        self.is_minimal &= decision.verdict != Verdict::Unknown;
        (decision.verdict == Verdict::Violation).then_some((kept, part, decision))
    }
}
