//! A barrier. Its word counts the threads that have come.

use super::super::place::Place;
use crate::program::{Await, Comparison, Order, Update, Value};

/// A barrier, like `std::sync::Barrier`.
#[derive(Debug)]
pub struct Barrier {
    threads: usize,
    word: Place,
}

/// Whether a thread was the last that came.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread was the last that came.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier for so many threads.
    #[track_caller]
    pub const fn new(threads: usize) -> Self {
        Self { threads, word: Place::new(0) }
    }

    /// Waits for the others.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let threads = self.threads.max(1) as Value;
        let before = self.word.update(Update::Add(1), Order::AcquireRelease, Order::Relaxed);
        let all = (before / threads + 1) * threads;
        if before + 1 == all {
            return BarrierWaitResult(true);
        }
        self.word.wait(Order::Acquire, Await { mask: -1, comparison: Comparison::GreaterOrEqual, value: all });
        BarrierWaitResult(false)
    }
}
