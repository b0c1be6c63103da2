//! Final values (axe's `final x == v`), as reads.
//!
//! Every thread that writes x reads v from x after all its other operations. In a model that keeps each location
//! coherent, this says exactly that the write of v is the last write of x in the store order. The last write of each
//! thread comes before the final read of that thread, so it does not come after the write of v. Conversely, if the
//! write of v is the last, then the final reads change nothing, since no event follows them. So models, engines and
//! verifiers need no rule for final values. In a model without a store order (`cc`, `cm`, `wra`), the reads only say
//! that each writer of x finds v in the end.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::history::{History, KeyId, MemoryOrder, Method, Operation, Outcome, ProcessId};
use crate::value::Value;

impl History {
    /// The same history with its final values as reads after all operations ([`Operation::is_at_the_end`]). Each
    /// process that writes the key reads its final value. If no process writes the key, the first process reads it.
    pub fn observed(&self) -> Cow<'_, Self> {
        if self.finals.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut observed = self.clone();
        if observed.processes.is_empty() {
            let name = observed.words.word("end");
            observed.processes.push(name);
        }
        let happened = self.final_writes().filter(|(_, operation)| operation.outcome != Outcome::Fail);
        let mut writers: Vec<(KeyId, ProcessId)> = happened.map(|(_, write)| (write.key, write.process)).collect();
        writers.sort_unstable();
        writers.dedup();
        for (key, value) in std::mem::take(&mut observed.finals) {
            let begin = writers.partition_point(|&(other, _)| other < key);
            let end = writers.partition_point(|&(other, _)| other <= key);
            for &(_, process) in &writers[begin..end] {
                observed.push_at_the_end(process, key, value);
            }
            if begin == end {
                observed.push_at_the_end(ProcessId(0), key, value);
            }
        }
        Cow::Owned(observed)
    }

    /// The number of a write to a key with a final value, if it is not known whether the write happened.
    pub(crate) fn unsettled_write(&self) -> Option<usize> {
        let unsettled = |operation: &Operation| matches!(operation.outcome, Outcome::Info | Outcome::Pending);
        let mut writes = self.final_writes();
        writes.find(|(_, operation)| unsettled(operation)).map(|(at, _)| at)
    }

    /// The writes to keys with a final value, and their numbers.
    fn final_writes(&self) -> impl Iterator<Item = (usize, &Operation)> {
        let keys: FxHashSet<KeyId> = self.finals.iter().map(|&(key, _)| key).collect();
        let operations = if keys.is_empty() { &[][..] } else { &self.operations };
        operations.iter().enumerate().filter(move |(_, operation)| {
            matches!(operation.method, Method::Write | Method::Rmw | Method::Cas) && keys.contains(&operation.key)
        })
    }

    fn push_at_the_end(&mut self, process: ProcessId, key: KeyId, value: Value) {
        self.operations.push(Operation {
            process,
            key,
            line: Operation::AT_THE_END,
            method: Method::Read,
            order: MemoryOrder::Plain,
            outcome: Outcome::Instant,
            argument: Value::NONE,
            result: value,
        });
        if self.has_calls() {
            let last = self.moments.iter().flatten().filter(|&&moment| moment != Self::NEVER).max();
            let next = last.map_or(0, |last| last + 1);
            self.moments.push([next; 2]);
        }
        if !self.times.is_empty() {
            self.times.push([None; 2]);
        }
    }
}

impl Operation {
    /// The line of a read that stands for a [final value](History::observed). No file has that many lines.
    const AT_THE_END: u32 = u32::MAX;

    /// Whether this read stands for a [final value](History::observed), so that it is on no line.
    pub const fn is_at_the_end(&self) -> bool {
        self.line == Self::AT_THE_END
    }
}
