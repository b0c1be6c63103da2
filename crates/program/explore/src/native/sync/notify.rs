//! A token for one thread that waits.

use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::place::{Kind, Look, Own, Place};
use super::super::runtime;
use crate::program::{Await, Order, Step, Update};

/// A token for which one thread may wait. It is loom's `Notify`: a wait may end without a reason, once.
#[derive(Debug)]
pub struct Notify {
    word: Place<Own>,
    /// The run in which a wait has ended without a reason.
    early: AtomicU64,
}

impl Notify {
    /// There is no token.
    #[track_caller]
    pub const fn new() -> Self {
        Self { word: Place::with(Own::new(0), Look::Word), early: AtomicU64::new(0) }
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
            && self.early.load(Ordering::Relaxed) != run.generation()
            && run.step(Step::Choice(2), Kind::Number, Location::caller()) == 1
        {
            self.early.store(run.generation(), Ordering::Relaxed);
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
