//! A token for one thread that waits.

use std::cell::Cell;
use std::panic::Location;

use super::super::place::{Kind, Look, Own, Place};
use super::super::runtime;
use crate::program::{Await, Order, Step, Update};

/// A token for which one thread may wait. It is loom's `Notify`: a wait may end without a reason, once.
#[derive(Debug)]
pub struct Notify {
    word: Place<Own>,
    has_ended_early: Cell<bool>,
}

// SAFETY: one thread waits, and the flag is its own.
#[allow(unsafe_code, reason = "only the thread that waits accesses the flag")]
unsafe impl Sync for Notify {}

impl Notify {
    /// There is no token.
    #[track_caller]
    pub const fn new() -> Self {
        Self { word: Place::with(Own::new(0), Look::Word), has_ended_early: Cell::new(false) }
    }

    /// Gives a token, if there is none.
    #[track_caller]
    pub fn notify(&self) {
        self.word.update(Update::Set(1), Order::Release, Order::Relaxed);
    }

    /// Waits for a token, and takes it. Once, it may return without one.
    #[track_caller]
    pub fn wait(&self) {
        if let Some(run) = runtime::get()
            && !self.has_ended_early.get()
            && run.step(Step::Choice(2), Kind::Number, Location::caller()) == 1
        {
            self.has_ended_early.set(true);
            return;
        }
        self.wait_for_token();
    }

    /// Waits for a token, and takes it.
    #[track_caller]
    pub(in crate::native) fn wait_for_token(&self) {
        let take = Update::CompareExchange { expected: 1, new: 0 };
        self.word.update_when(Await::equal(1), take, Order::Acquire, Order::Relaxed);
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
