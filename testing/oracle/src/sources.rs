//! Histories in which a value was written twice, by trying every source of every read.
//!
//! A history satisfies a model if some choice of sources does. A pending compare-and-swap may have happened or not, so
//! both are tried. This module knows nothing of `history::OpenExecution`, which the engines use.

use history::execution::{ExecutionBuilder, Kind};
use history::{Execution, History, KeyId, Method, OperationId, Outcome, Source, Value};

/// The executions of a history: one for each choice of sources. `None` if there are more than `most`.
pub fn executions(history: &History, most: usize) -> Option<Vec<Execution>> {
    let history = &*history.observed();
    let ids = || (0..history.operations().len() as u32).map(OperationId);
    let pending = |id| matches!(history.operation(id).outcome, Outcome::Info | Outcome::Pending);
    let perhaps: Vec<OperationId> =
        ids().filter(|&id| history.operation(id).method == Method::Cas && pending(id)).collect();
    let mut all = Vec::new();
    for subset in 0..1u32 << perhaps.len() {
        let happened = |id: OperationId| {
            let operation = history.operation(id);
            match operation.method {
                _ if operation.outcome == Outcome::Fail => false,
                Method::Read | Method::Rmw => !pending(id),
                Method::Cas if pending(id) => {
                    perhaps.iter().position(|&other| other == id).is_some_and(|at| subset >> at & 1 == 1)
                }
                Method::Cas => operation.result != Value::FALSE,
                _ => true,
            }
        };
        let events: Vec<OperationId> = ids().filter(|&id| happened(id)).collect();
        if !choose(history, &events, most, &mut all) {
            return None;
        }
    }
    Some(all)
}

/// Adds the executions of these events. Returns whether there are not too many.
fn choose(history: &History, events: &[OperationId], most: usize, all: &mut Vec<Execution>) -> bool {
    let kind = |id: OperationId| Kind::of(history.operation(id).method);
    let key = |id: OperationId| history.operation(id).key;
    let candidates = |read: OperationId| -> Vec<Option<usize>> {
        let value = history.expected(read).unwrap_or(history.operation(read).result);
        let is_source = |write: OperationId| {
            kind(write).writes() && key(write) == key(read) && history.operation(write).argument == value
        };
        let writes = (0..events.len()).filter(|&at| is_source(events[at])).map(Some);
        let initial = (history.initial_value(key(read)) == value).then_some(None);
        let named = history.source(read).map(|source| match source {
            Source::Init => None,
            Source::Operation(write) => events.iter().position(|&event| event == write),
        });
        initial.into_iter().chain(writes).filter(|&source| named.is_none_or(|named| named == source)).collect()
    };
    let reads: Vec<(usize, Vec<Option<usize>>)> =
        (0..events.len()).filter(|&at| kind(events[at]).reads()).map(|at| (at, candidates(events[at]))).collect();
    let count = reads.iter().try_fold(1usize, |count, (_, candidates)| count.checked_mul(candidates.len()));
    let Some(count) = count.filter(|count| all.len() + count <= most) else { return false };
    for number in 0..count {
        let mut builder = ExecutionBuilder::new();
        for &id in events {
            let operation = history.operation(id);
            let location = if operation.key == KeyId::NONE { 0 } else { operation.key.0 };
            builder.push_ordered(operation.process.0, kind(id), location, operation.order);
        }
        let mut rest = number;
        for (read, candidates) in &reads {
            builder.read_from(*read, candidates[rest % candidates.len()]);
            rest /= candidates.len();
        }
        all.push(builder.build());
    }
    true
}
