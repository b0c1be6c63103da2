//! The exact monitor of one element of a set, or of a mutex: the sweep of `element` in the crate `object`, without
//! looking ahead.
//!
//! A mutex is like an element that is in the set while the mutex is held. `lock` adds it. `try-lock` returns false if
//! it finds the element in the set.
//!
//! The state changes only when an operation returns that could not have found its result otherwise. The change is made
//! by an open operation; as in [`counter`](super::counter), nobody knows yet by which one. An operation that found the
//! element in (or out) is possible if the element was in (or out) at any moment since its call. For this, the last
//! moment of either state suffices. An addition that returns `false` has only found the element. So it is removed from
//! the operations that could have added it. If the noted additions cannot belong to other operations, there is no
//! linearization.
//!
//! If an addition or a removal does not say what it returned, the monitor gives up.
//!
//! Memory: the state and the open operations. An element that is out and has no open operation is forgotten.

use history::{Method, Value};
use serde::{Deserialize, Serialize};

use super::permits::Kind;
use super::{OpenOperation, Stopped};

/// The monitor of one element. See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Element {
    is_in: bool,
    /// The last moments at which the element was out, and was in. The entry of the current state is not used.
    last: [u64; 2],
    /// The open operations that may take the element out, and those that may put it in.
    kinds: [Kind; 2],
}

impl Element {
    fn change(&mut self, now: u64) {
        self.last[usize::from(self.is_in)] = now;
        self.is_in = !self.is_in;
    }

    /// Lets some open operation change the state. Returns `false` if none can.
    fn change_by_any(&mut self, now: u64) -> bool {
        let can = self.kinds[usize::from(!self.is_in)].take_effect(now);
        if can {
            self.change(now);
        }
        can
    }

    fn was(&self, state: bool, since: u64) -> bool {
        state == self.is_in || since < self.last[usize::from(state)]
    }

    fn found(&mut self, state: bool, open: &OpenOperation, now: u64) -> Result<(), Stopped> {
        if self.was(state, open.called) || self.change_by_any(now) { Ok(()) } else { Err(Stopped::stuck(open)) }
    }

    /// The operation has put the element in, or has taken it out.
    fn made(&mut self, state: bool, open: &OpenOperation, now: u64) -> Result<(), Stopped> {
        if self.kinds[usize::from(state)].was_effective(open.called) {
            return Ok(());
        }
        if state == self.is_in && !self.change_by_any(now) {
            return Err(Stopped::stuck(open));
        }
        self.change(now);
        Ok(())
    }

    /// The state that a method brings about: in (`true`), out (`false`), or none.
    const fn makes(method: Method) -> Option<bool> {
        match method {
            Method::Add | Method::Lock | Method::TryLock => Some(true),
            Method::Remove | Method::Unlock => Some(false),
            _ => None,
        }
    }

    pub(super) fn call(&mut self, open: &OpenOperation) {
        if let Some(state) = Self::makes(open.method) {
            self.kinds[usize::from(state)].call(open.called);
        }
    }

    pub(super) fn return_(&mut self, open: &OpenOperation, result: Value, now: u64) -> Result<(), Stopped> {
        let Some(state) = Self::makes(open.method) else {
            return if result.is_none() { Ok(()) } else { self.found(result == Value::TRUE, open, now) };
        };
        // `lock` and `unlock` return only when they have succeeded.
        let result = if matches!(open.method, Method::Lock | Method::Unlock) { Value::TRUE } else { result };
        let kind = &mut self.kinds[usize::from(state)];
        kind.close(open.called);
        if result == Value::TRUE {
            return self.made(state, open, now);
        }
        if result.is_none() {
            return Err(Stopped::gave_up("an operation does not say what it returned"));
        }
        if !kind.is_possible() {
            kind.repair();
            return Err(Stopped::stuck(open));
        }
        self.found(state, open, now)
    }

    pub(super) fn fail(&mut self, open: &OpenOperation) -> Result<(), Stopped> {
        let Some(state) = Self::makes(open.method) else { return Ok(()) };
        let kind = &mut self.kinds[usize::from(state)];
        kind.close(open.called);
        if kind.is_possible() {
            return Ok(());
        }
        kind.repair();
        Err(Stopped::did_not_happen())
    }

    pub(super) fn is_fresh(&self) -> bool {
        !self.is_in && self.kinds.iter().all(Kind::is_idle)
    }

    pub(super) fn size(&self) -> usize {
        1 + self.kinds.iter().map(Kind::size).sum::<usize>()
    }
}
