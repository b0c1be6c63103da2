//! What may be known of an operation besides its events: times, labels, the source of a read, the place in program
//! order.

use super::{BuildError, HistoryBuilder, Unresolved};
use crate::history::{OperationId, Source};
use crate::object::Method;
use crate::value::Value;

impl HistoryBuilder {
    /// Sets the recorded time of the call of an operation.
    #[inline]
    pub fn set_call_time(&mut self, id: OperationId, time: i64) -> Result<(), BuildError> {
        self.check_operation(id)?;
        self.put_time(id, 0, time);
        Ok(())
    }

    /// Sets the recorded time of the return of an operation.
    #[inline]
    pub fn set_return_time(&mut self, id: OperationId, time: i64) -> Result<(), BuildError> {
        self.check_operation(id)?;
        self.put_time(id, 1, time);
        Ok(())
    }

    /// Sets the recorded time of the call (0) or the return (1) of an operation that exists.
    #[inline]
    pub fn put_time(&mut self, id: OperationId, end: usize, time: i64) {
        if self.is_stream {
            return;
        }
        if self.history.times.len() <= id.index() {
            self.history.times.resize(id.index() + 1, [None; 2]);
        }
        self.history.times[id.index()][end] = Some(time);
    }

    /// Sets the label of an operation. Reads name their sources by labels.
    pub fn set_label(&mut self, id: OperationId, label: Value) -> Result<(), BuildError> {
        self.check_operation(id)?;
        self.check_value(label)?;
        if self.is_init(label) {
            return Err(BuildError::LabelInit);
        }
        if self.is_stream {
            self.history.labels.push((id, label));
            return Ok(());
        }
        match self.labels.get(&label.bits()) {
            Some(&other) if other != id => {
                let [first, second] = [other, id].map(|id| self.which(id));
                Err(BuildError::LabelTwice { label: self.history.show(label), first, second })
            }
            Some(_) => Ok(()),
            None => {
                self.labels.insert(label.bits(), id);
                self.history.labels.push((id, label));
                Ok(())
            }
        }
    }

    /// Sets the source of a read.
    pub fn set_source(&mut self, id: OperationId, source: Source) -> Result<(), BuildError> {
        self.check_reader(id)?;
        if let Source::Operation(write) = source {
            self.check_operation(write)?;
        }
        self.history.sources.push((id, source));
        Ok(())
    }

    /// Sets the source of a read by a label. The label may be set later. `init` is the initial write.
    pub fn set_source_label(&mut self, id: OperationId, label: Value) -> Result<(), BuildError> {
        self.check_reader(id)?;
        self.check_value(label)?;
        if self.is_init(label) {
            self.history.sources.push((id, Source::Init));
        } else if let Some(&write) = self.labels.get(&label.bits()) {
            self.history.sources.push((id, Source::Operation(write)));
        } else {
            self.unresolved.push(Unresolved { operation: id, label });
        }
        Ok(())
    }

    fn check_reader(&self, id: OperationId) -> Result<(), BuildError> {
        self.check_operation(id)?;
        match self.history.operation(id).method {
            Method::Read | Method::Rmw | Method::Cas => Ok(()),
            _ => Err(BuildError::SourceOfNoRead),
        }
    }

    fn is_init(&self, label: Value) -> bool {
        label.as_word().is_some_and(|word| self.history.words.text(word) == "init")
    }

    /// Sets the index of an operation in program order.
    pub fn set_program_index(&mut self, id: OperationId, index: u64) -> Result<(), BuildError> {
        self.check_operation(id)?;
        self.put_program_index(id, index);
        Ok(())
    }

    /// Sets the index in program order of an operation that exists.
    pub fn put_program_index(&mut self, id: OperationId, index: u64) {
        self.history.program_indices.push((id, index));
    }
}
