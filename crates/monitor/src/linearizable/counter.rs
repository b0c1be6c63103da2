//! A semaphore, exactly: the sweep of [`crate::fast::counter`], which does not look ahead.
//!
//! The sweep lets an operation take effect when it returns; if it cannot then, an open one of the other kind takes
//! effect first: the one that will return first. Which one that is, nobody knows yet, and it does not matter yet: what
//! is noted is that *some* one took effect at that moment. The first to return that was open at the moment was it. If
//! several moments are noted, an operation that returns takes the earliest that it was open at: those that were called
//! later could not have taken it. So the verdict at each return is that of the sweep, which is exact.
//!
//! An operation that turns out not to have happened is struck from those that are open. The noted moments must then
//! still belong to different operations that are open, each called before its moment: as both are sorted, the i-th
//! moment must have i calls before it. If it has not, the sweep without that operation would have been stuck there.
//!
//! Memory: the operations that are open.

use history::Method;
use serde::{Deserialize, Serialize};

use super::{Open, Stop};

/// The operations of one kind that are open, and the moments at which some of them took effect, of which nobody knows
/// yet which. Both are sorted.
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

    /// One of the open operations takes effect now; whether there is one that has not done so.
    pub(super) fn take_effect(&mut self, now: u64) -> bool {
        let can = self.calls.len() > self.effects.len();
        if can {
            self.effects.push(now);
        }
        can
    }

    /// An operation is no longer open.
    pub(super) fn close(&mut self, called: u64) {
        if let Ok(at) = self.calls.binary_search(&called) {
            self.calls.remove(at);
        }
    }

    /// Whether the one that was called then, and is no longer open, is one of those that took effect: then it is no
    /// longer noted.
    pub(super) fn was_effective(&mut self, called: u64) -> bool {
        let at = self.effects.partition_point(|&effect| effect < called);
        let was = at < self.effects.len();
        if was {
            self.effects.remove(at);
        }
        was
    }

    /// Whether those that took effect can be different ones of those that are open.
    pub(super) fn is_possible(&self) -> bool {
        let has_calls = |(at, &effect): (usize, &u64)| self.calls.partition_point(|&call| call < effect) > at;
        self.effects.iter().enumerate().all(has_calls)
    }

    pub(super) fn size(&self) -> usize {
        self.calls.len() + self.effects.len()
    }

    /// Forgets effects that cannot have been, after a violation.
    pub(super) fn repair(&mut self) {
        while !self.is_possible() {
            self.effects.pop();
        }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counter {
    capacity: u64,
    held: u64,
    /// Releases and acquisitions.
    kinds: [Kind; 2],
}

impl Counter {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, held: 0, kinds: Default::default() }
    }

    fn kind(method: Method) -> usize {
        usize::from(method == Method::Acquire)
    }

    fn step(&mut self, kind: usize) {
        self.held = if kind == 1 { self.held + 1 } else { self.held.saturating_sub(1) };
    }

    pub(super) fn call(&mut self, open: &Open) {
        self.kinds[Self::kind(open.method)].call(open.called);
    }

    pub(super) fn return_(&mut self, open: &Open, now: u64) -> Result<(), Stop> {
        let kind = Self::kind(open.method);
        self.kinds[kind].close(open.called);
        if self.kinds[kind].was_effective(open.called) {
            return Ok(());
        }
        let is_blocked = if kind == 1 { self.held >= self.capacity } else { self.held == 0 };
        if is_blocked {
            if self.capacity == 0 || !self.kinds[1 - kind].take_effect(now) {
                return Err(Stop::stuck(open));
            }
            self.step(1 - kind);
        }
        self.step(kind);
        Ok(())
    }

    pub(super) fn fail(&mut self, open: &Open) -> Result<(), Stop> {
        let kind = &mut self.kinds[Self::kind(open.method)];
        kind.close(open.called);
        if kind.is_possible() {
            return Ok(());
        }
        kind.repair();
        Err(Stop::did_not_happen())
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.held == 0 && self.kinds.iter().all(Kind::is_idle)
    }

    pub(super) fn size(&self) -> usize {
        self.kinds.iter().map(Kind::size).sum()
    }
}
