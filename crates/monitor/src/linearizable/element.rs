//! One element of a set, or a mutex, exactly: the sweep of [`crate::fast::element`], which does not look ahead.
//!
//! A mutex is like an element that is in while it is held: who locks it adds it, who only tries to may find it in.
//!
//! The element is added or removed only when an operation returns that could not have found what it found otherwise; by
//! one that is open, and of which, as in [`counter`](super::counter), nobody knows yet which it was. An operation that
//! found the element in (or out) is served if it was so at any moment since its call: for that, the last moment of
//! either state is enough. An addition that returns `false` turns out to be one that only found: it is struck from
//! those that could have added the element, and if the noted additions cannot be others, there is no linearization.
//!
//! If an addition or removal does not say what it returned, the monitor gives up.
//!
//! Memory: the state, and the operations that are open. An element that is out and that nobody is busy with is
//! forgotten.

use history::{Method, Value};
use serde::{Deserialize, Serialize};

use super::counter::Kind;
use super::{Open, Stop};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Element {
    is_in: bool,
    /// The last moment at which the element was out, and in, if it is not now.
    last: [u64; 2],
    /// Those that may take it out, and put it in.
    kinds: [Kind; 2],
}

impl Element {
    fn change(&mut self, now: u64) {
        self.last[usize::from(self.is_in)] = now;
        self.is_in = !self.is_in;
    }

    /// Some open operation changes the state; whether there is one.
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

    fn found(&mut self, state: bool, open: &Open, now: u64) -> Result<(), Stop> {
        if self.was(state, open.called) || self.change_by_any(now) { Ok(()) } else { Err(Stop::stuck(open)) }
    }

    /// The operation made the element in, or out.
    fn made(&mut self, state: bool, open: &Open, now: u64) -> Result<(), Stop> {
        if self.kinds[usize::from(state)].was_effective(open.called) {
            return Ok(());
        }
        if state == self.is_in && !self.change_by_any(now) {
            return Err(Stop::stuck(open));
        }
        self.change(now);
        Ok(())
    }

    /// What a method makes the element, unless it finds it so: in, or out.
    const fn makes(method: Method) -> Option<bool> {
        match method {
            Method::Add | Method::Lock | Method::TryLock => Some(true),
            Method::Remove | Method::Unlock => Some(false),
            _ => None,
        }
    }

    pub(super) fn call(&mut self, open: &Open) {
        if let Some(state) = Self::makes(open.method) {
            self.kinds[usize::from(state)].call(open.called);
        }
    }

    pub(super) fn return_(&mut self, open: &Open, result: Value, now: u64) -> Result<(), Stop> {
        let Some(state) = Self::makes(open.method) else {
            return if result.is_none() { Ok(()) } else { self.found(result == Value::TRUE, open, now) };
        };
        // Who locks or unlocks returns only when that is done.
        let result = if matches!(open.method, Method::Lock | Method::Unlock) { Value::TRUE } else { result };
        let kind = &mut self.kinds[usize::from(state)];
        kind.close(open.called);
        if result == Value::TRUE {
            return self.made(state, open, now);
        }
        if result.is_none() {
            return Err(Stop::gave_up("an operation does not say what it returned"));
        }
        if !kind.is_possible() {
            kind.repair();
            return Err(Stop::stuck(open));
        }
        self.found(state, open, now)
    }

    pub(super) fn fail(&mut self, open: &Open) -> Result<(), Stop> {
        let Some(state) = Self::makes(open.method) else { return Ok(()) };
        let kind = &mut self.kinds[usize::from(state)];
        kind.close(open.called);
        if kind.is_possible() {
            return Ok(());
        }
        kind.repair();
        Err(Stop::did_not_happen())
    }

    pub(super) fn is_fresh(&self) -> bool {
        !self.is_in && self.kinds.iter().all(Kind::is_idle)
    }

    pub(super) fn size(&self) -> usize {
        1 + self.kinds.iter().map(Kind::size).sum::<usize>()
    }
}
