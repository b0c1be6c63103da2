//! Changes to a finished history: it becomes a builder again, so its invariants are checked by the same code.

use rustc_hash::FxHashMap;

use super::{BuildError, HistoryBuilder, Sessions};
use crate::history::{History, KeyId, OperationId, Outcome, ProcessId};
use crate::value::Value;

impl From<History> for HistoryBuilder {
    /// Opens a history again. Events can be added, and results and arguments can be changed.
    fn from(mut history: History) -> Self {
        if history.is_untimed() {
            // The builder counts moments, and drops them in the end.
            history.transactions.moments = vec![[0; 2]; history.transaction_count()];
        }
        let ids = || (0..).map(OperationId);
        let mut last = vec![None; history.processes.len()];
        for (id, operation) in ids().zip(&history.operations) {
            last[operation.process.index()] = Some(id);
        }
        let stated = [(&history.inits, false), (&history.finals, true)];
        let stated = stated
            .into_iter()
            .flat_map(|(table, is_final)| table.iter().map(move |&(key, value)| ((key, is_final), value)));
        let moments = history.moments.iter().chain(&history.transactions.moments).flatten();
        let moments = moments.filter(|&&moment| moment != History::NEVER);
        Self {
            processes: history.processes.iter().map(|name| name.bits()).zip((0..).map(ProcessId)).collect(),
            successors: FxHashMap::default(),
            called: FxHashMap::default(),
            keys: history.keys.iter().map(|name| name.bits()).zip((0..).map(KeyId)).collect(),
            stated: stated.collect(),
            last,
            labels: history.labels.iter().map(|&(id, label)| (label.bits(), id)).collect(),
            unresolved: Vec::new(),
            events: moments.max().map_or(0, |last| last + 1),
            has_calls: history.has_calls(),
            is_stream: false,
            sessions: Sessions::of(&history),
            history,
        }
    }
}

impl HistoryBuilder {
    /// Replaces the result of an operation that returned, or of an instant.
    pub fn set_result(&mut self, id: OperationId, result: Value) -> Result<(), BuildError> {
        self.check_operation(id)?;
        self.check_value(result)?;
        if !matches!(self.history.operation(id).outcome, Outcome::Instant | Outcome::Ok) {
            return Err(BuildError::NotReturned(self.which(id)));
        }
        self.history.operations[id.index()].result = result;
        Ok(())
    }

    /// Marks an operation that returned as one that did not happen.
    pub fn set_failed(&mut self, id: OperationId) -> Result<(), BuildError> {
        self.check_operation(id)?;
        if !matches!(self.history.operation(id).outcome, Outcome::Ok | Outcome::Fail) {
            return Err(BuildError::NotReturned(self.which(id)));
        }
        let operation = &mut self.history.operations[id.index()];
        operation.outcome = Outcome::Fail;
        operation.result = Value::NONE;
        Ok(())
    }

    /// Replaces the argument of an operation.
    pub fn set_argument(&mut self, id: OperationId, argument: Value) -> Result<(), BuildError> {
        self.check_operation(id)?;
        self.check_value(argument)?;
        self.history.operations[id.index()].argument = argument;
        Ok(())
    }
}
