//! A history seen as operations in the order in which they were globally performed: what `sc-observed` looks at.
//!
//! The order of the file is the order of performance. Each operation has an index in the program order of its thread (`po=9`);
//! without one, it comes right after the last of those performed before it. Two operations conflict if they are on the
//! same location and at least one writes.

use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::execution::Kind;
use crate::history::{History, Method, Object, OperationId, ProcessId};

/// An operation that was performed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Performed {
    /// Its thread: the process of that number.
    pub thread: u32,
    /// Its index in the program order of its thread.
    pub index: u64,
    /// What it is.
    pub kind: Kind,
    /// Its location: the key of that number; zero if it has none.
    pub location: u32,
}

/// Why a history is not a stream of operations that were performed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotPerformed {
    /// The history is about an object that is not a memory.
    #[error("operations that are performed read and write, and this is a history of a {}", .0.name())]
    NotMemory(Object),
    /// An operation has a call.
    #[error("an operation with call and return does not say when it was performed")]
    Call(OperationId),
    /// An index is there twice.
    #[error("an operation of this thread with the same index in program order was performed before")]
    Twice(OperationId),
}

impl NotPerformed {
    /// The operation that the error is about.
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::NotMemory(_) => None,
            Self::Call(id) | Self::Twice(id) => Some(*id),
        }
    }
}

impl Performed {
    /// Whether two operations conflict.
    pub fn conflicts(&self, other: &Self) -> bool {
        let access = self.kind != Kind::Fence && other.kind != Kind::Fence;
        access && self.location == other.location && (self.kind.writes() || other.kind.writes())
    }

    /// The operations of a history, in the order of performance.
    pub fn from_history(history: &History) -> Result<Vec<Self>, NotPerformed> {
        if history.object != Object::Memory {
            return Err(NotPerformed::NotMemory(history.object));
        }
        let mut next = vec![0; history.processes.len()];
        let mut seen: FxHashSet<(ProcessId, u64)> = FxHashSet::default();
        let mut performed = Vec::with_capacity(history.operations.len());
        for (id, operation) in (0..).map(OperationId).zip(&history.operations) {
            if history.moments.get(id.index()).is_some_and(|[call, end]| call != end) {
                return Err(NotPerformed::Call(id));
            }
            let next: &mut u64 = &mut next[operation.process.index()];
            let index = history.program_index(id).unwrap_or(*next);
            *next = (*next).max(index.saturating_add(1));
            if index == u64::MAX || !seen.insert((operation.process, index)) {
                return Err(NotPerformed::Twice(id));
            }
            performed.push(Self {
                thread: operation.process.0,
                index,
                kind: Kind::of(operation.method),
                location: if operation.method == Method::Fence { 0 } else { operation.key.0 },
            });
        }
        Ok(performed)
    }
}
