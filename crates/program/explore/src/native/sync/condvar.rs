//! A condition variable.
//!
//! Its word counts what was done with it, so that all of that is in one order, and the queue of those that wait is as
//! this order says. Who waits longest is woken first; nobody is woken without a reason, and no time runs out.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, LockResult, Mutex as Real, PoisonError};
use std::time::Duration;

use super::super::place::{Look, Own, Place, Watched};
use super::mutex::MutexGuard;
use crate::program::{Await, Order, Update};

/// A condition variable, like `std::sync::Condvar`.
#[derive(Default)]
pub struct Condvar {
    word: Word,
    waiting: Real<VecDeque<Arc<Place<Own>>>>,
}

struct Word(Place<Watched>);

impl Default for Word {
    #[track_caller]
    fn default() -> Self {
        Self(Place::with(Watched::new(0), Look::Word))
    }
}

/// Whether a wait has ended because the time was up. It never is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was up.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// A condition variable for which nobody waits.
    #[track_caller]
    pub const fn new() -> Self {
        Self { word: Word(Place::with(Watched::new(0), Look::Word)), waiting: Real::new(VecDeque::new()) }
    }

    /// All that is done with it is in one order, and right after this the queue is as that order says.
    #[track_caller]
    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Place<Own>>>> {
        let old = self.word.0.update(Update::Add(1), Order::Relaxed, Order::Relaxed);
        let mut queue = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if old == 0 {
            // In a static there may be something of an earlier run.
            queue.clear();
        }
        queue
    }

    /// Gives the lock back, waits to be woken, and takes the lock again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let token = Arc::new(Place::with(Own::new(0), Look::Word));
        self.queue().push_back(Arc::clone(&token));
        guard.mutex.release();
        token.wait(Order::Acquire, Await::equal(1));
        guard.mutex.take();
        Ok(guard)
    }

    /// Waits as long as a condition holds.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// The same as [`Condvar::wait`].
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        _time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        match self.wait(guard) {
            Ok(guard) => Ok((guard, WaitTimeoutResult(false))),
            Err(error) => Err(PoisonError::new((error.into_inner(), WaitTimeoutResult(false)))),
        }
    }

    /// Wakes the thread that has waited longest.
    #[track_caller]
    pub fn notify_one(&self) {
        let first = self.queue().pop_front();
        if let Some(token) = first {
            token.write(1, Order::Release);
        }
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        let all = std::mem::take(&mut *self.queue());
        for token in all {
            token.write(1, Order::Release);
        }
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
