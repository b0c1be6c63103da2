//! The operations of a history in the order in which they were globally performed. The model `sc-observed` looks at
//! them.
//!
//! The order of the file is the order of performance. Each operation has an index in the program order of its thread
//! (`po=9`). An operation without an index comes right after the largest index that its thread has performed so far.
//! Two operations conflict if they are on the same location and at least one of them writes.
//!
//! Values are not looked at: by definition, a read returns what was written last before it. So [final
//! values](crate::History::finals) are left out. As reads that are performed last, they would follow other operations,
//! and no operation would follow them. So they are on no cycle.

use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::execution::Kind;
use crate::history::{History, Method, Object, OperationId, ProcessId};

/// An operation that was performed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Performed {
    /// Its thread, which is the process with the same number.
    pub thread: u32,
    /// Its index in the program order of its thread.
    pub index: u64,
    /// Whether it reads, writes, does both, or is a fence.
    pub kind: Kind,
    /// Its location, which is the key with the same number; zero if it has no key.
    pub location: u32,
}

/// Why a history is not a sequence of performed operations.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotPerformed {
    /// The history is about an object that is not a memory.
    #[error("this model is about reads and writes, and this is a history of a {}", .0.name())]
    NotMemory(Object),
    /// An operation has a call, so the history does not say when it was performed.
    #[error("an operation with call and return does not say when it was performed")]
    Call(OperationId),
    /// Two operations of a thread have the same index in program order.
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
    ///
    /// ```
    /// use history::{History, performed::Performed};
    ///
    /// let history = format::parse("[0] w x 1 po=1\n[0] w y 1 po=0\n")?;
    /// let performed = Performed::from_history(&history)?;
    /// assert_eq!([performed[0].index, performed[1].index], [1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
