//! The end of a builder: labels become operations, and the tables of facts are in the order of the operations.

use super::{BuildError, HistoryBuilder, Unresolved, Which};
use crate::history::{History, OperationId, Source};

impl HistoryBuilder {
    /// The finished history.
    pub fn finish(self) -> Result<History, BuildError> {
        self.complete().map_err(|(history, Unresolved { operation, label })| {
            let line = history.operation(operation).line;
            BuildError::UnknownLabel { operation: Which { id: operation, line }, label: history.show(label) }
        })
    }

    /// Drops the spellings of values that the history has in canonical form before.
    fn settle_spellings(&mut self) {
        let History { operations, moments, words, .. } = &mut self.history;
        if !words.has_spelled_values() {
            return;
        }
        for (at, operation) in operations.iter().enumerate() {
            let [called, ended] = moments.get(at).copied().unwrap_or([at as u32; 2]);
            words.settle_canonical(operation.argument, called);
            words.settle_canonical(operation.result, ended);
        }
    }

    /// The finished history. The error is an unfinished history and a read whose source has a label that no operation
    /// has.
    pub fn complete(mut self) -> Result<History, (Box<History>, Unresolved)> {
        for Unresolved { operation, label } in std::mem::take(&mut self.unresolved) {
            // The operations of transactions still have the numbers of their lines here.
            let Some(&write) = self.labels.get(&label.bits()) else {
                return Err((Box::new(self.history), Unresolved { operation, label }));
            };
            self.history.sources.push((operation, Source::Operation(write)));
        }
        self.settle_spellings();
        self.group_by_transaction();
        let history = &mut self.history;
        if !history.times.is_empty() {
            history.times.resize(history.operations.len(), [None; 2]);
        }
        sort(&mut history.labels);
        sort(&mut history.sources);
        sort(&mut history.program_indices);
        Ok(self.history)
    }
}

/// Sorts a sparse table by operation. If an operation has several entries, the last one stays.
fn sort<T: Copy>(table: &mut Vec<(OperationId, T)>) {
    if table.is_sorted_by(|a, b| a.0 < b.0) {
        return;
    }
    table.sort_by_key(|&(id, _)| id);
    table.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            *earlier = *later;
        }
        same
    });
}
