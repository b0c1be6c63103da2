//! The source of a read of a register: the write that the history names, or the only write of the value.

use history::execution::SourceFault;
use history::{KeyId, Method, OperationId, Source, Status, TransactionId};
use model::transaction::Anomaly;

use super::{Found, ResolveError, Resolver};
use crate::view::INIT;

impl Resolver<'_> {
    pub(super) fn read_register(&mut self, transaction: u32, number: u32, own: Option<u32>) {
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
}
