//! The exact monitor of a semaphore: the sweep of `objects/permits/fast.rs` in the crate `object`, without looking
//! ahead.
//!
//! The sweep lets an operation take effect when it returns. If that is not possible, an open operation of the other
//! kind takes effect first: the one that will return first. The monitor does not know yet which one that is. So it
//! notes only that *some* open operation took effect at this moment. The first operation to return that was open at the
//! moment is the one. If several moments are noted, an operation that returns takes the earliest moment at which it was
//! open, since operations that were called later could not take that moment. So the verdict at each return is that of
//! the sweep, which is exact.
//!
//! An operation that did not happen is removed from the open operations. The noted moments must then still belong to
//! different open operations, each called before its moment. Both lists are sorted, so this holds exactly if the i-th
//! moment has at least i calls before it. If it does not hold, the sweep without that operation would have been stuck
//! there.
//!
//! Memory: the open operations.

use history::Method;
use serde::{Deserialize, Serialize};

use super::{OpenOperation, Stopped};

/// The open operations of one kind, and the moments at which some of them took effect. Nobody knows yet which of them
/// did. Both lists are sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kind {
    calls: Vec<u64>,
    effects: Vec<u64>,
}

impl Kind {
    pub(super) fn call(&mut self, moment: u64) {
        self.calls.push(moment);
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty()
    }

    /// One of the open operations takes effect now. Returns `false` if all of them have done so already.
    pub(super) fn take_effect(&mut self, now: u64) -> bool {
        let can = self.calls.len() > self.effects.len();
        if can {
            self.effects.push(now);
        }
        can
    }

    /// Closes an operation.
    pub(super) fn close(&mut self, called: u64) {
        if let Ok(at) = self.calls.binary_search(&called) {
            self.calls.remove(at);
        }
    }

    /// Whether the closed operation that was called at `called` has taken effect. If so, its moment is removed.
    pub(super) fn was_effective(&mut self, called: u64) -> bool {
        let at = self.effects.partition_point(|&effect| effect < called);
        let was = at < self.effects.len();
        if was {
            self.effects.remove(at);
        }
        was
    }

    /// Whether the noted moments can belong to different open operations.
    pub(super) fn is_possible(&self) -> bool {
        let has_calls = |(at, &effect): (usize, &u64)| self.calls.partition_point(|&call| call < effect) > at;
        self.effects.iter().enumerate().all(has_calls)
    }

    pub(super) fn size(&self) -> usize {
        self.calls.len() + self.effects.len()
    }

    /// After a violation: forgets moments that are not possible.
    pub(super) fn repair(&mut self) {
        while !self.is_possible() {
            self.effects.pop();
        }
    }
}

/// The monitor of one semaphore. See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Permits {
    capacity: u64,
    held: u64,
    /// The releases and the acquisitions.
    kinds: [Kind; 2],
}

impl Permits {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, held: 0, kinds: Default::default() }
    }

    fn kind(method: Method) -> usize {
        usize::from(method == Method::Acquire)
    }

    fn step(&mut self, kind: usize) {
        self.held = if kind == 1 { self.held + 1 } else { self.held.saturating_sub(1) };
    }

    pub(super) fn call(&mut self, open: &OpenOperation) {
        self.kinds[Self::kind(open.method)].call(open.called);
    }

    pub(super) fn return_(&mut self, open: &OpenOperation, now: u64) -> Result<(), Stopped> {
        let kind = Self::kind(open.method);
        self.kinds[kind].close(open.called);
        if self.kinds[kind].was_effective(open.called) {
            return Ok(());
        }
        let is_blocked = if kind == 1 { self.held >= self.capacity } else { self.held == 0 };
        if is_blocked {
            if self.capacity == 0 || !self.kinds[1 - kind].take_effect(now) {
                return Err(Stopped::stuck(open));
            }
            self.step(1 - kind);
        }
        self.step(kind);
        Ok(())
    }

    pub(super) fn fail(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
        let kind = &mut self.kinds[Self::kind(open.method)];
        kind.close(open.called);
        if kind.is_possible() {
            return Ok(());
        }
        kind.repair();
        Err(Stopped::did_not_happen())
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.held == 0 && self.kinds.iter().all(Kind::is_idle)
    }

    pub(super) fn size(&self) -> usize {
        self.kinds.iter().map(Kind::size).sum()
    }
}
