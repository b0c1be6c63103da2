//! A condition variable.
//!
//! What is done with it is in one order, that of the updates of its word, and right after an update the list of those
//! that wait is as this order says. The word is odd while a thread chooses whom to wake: nothing else is done
//! meanwhile. Anyone who waits may be woken. A wait may also end without a reason, or because its time is up, as often
//! as the [`Builder`](crate::Builder) says; that is one more thing that is done with it.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, LockResult, Mutex as Real, PoisonError};
use std::time::Duration;

use super::super::place::{Kind, Look, Own, Place, Watched};
use super::super::runtime;
use super::mutex::MutexGuard;
use crate::chance::Chance;
use crate::program::{Await, Comparison, Order, Step, Update, Value};

/// The word while nobody chooses.
const EVEN: Await = Await { mask: 1, comparison: Comparison::Equal, value: 0 };

/// A condition variable, like `std::sync::Condvar`.
#[derive(Default)]
pub struct Condvar {
    word: Word,
    waiting: Real<Vec<Token>>,
}

/// It becomes 1 when a thread that waits is woken.
type Token = Arc<Place<Own>>;

struct Word(Place<Watched>);

impl Default for Word {
    #[track_caller]
    fn default() -> Self {
        Self(Place::with(Watched::new(0), Look::Word))
    }
}

/// Whether a wait has ended because the time was up.
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
        Self { word: Word(Place::with(Watched::new(0), Look::Word)), waiting: Real::new(Vec::new()) }
    }

    /// Has its turn: adds 2 to the word, or 1 to keep others away. The answer is what the word was, and who waits.
    #[track_caller]
    fn turn(&self, adds: Value) -> (Value, std::sync::MutexGuard<'_, Vec<Token>>) {
        let old = self.word.0.update_when(EVEN, Update::Add(adds), Order::Relaxed, Order::Relaxed);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if old == 0 {
            // In a static there may be something of an earlier run.
            waiting.clear();
        }
        (old, waiting)
    }

    /// Gives the lock back, waits to be woken, and takes the lock again. The answer is why the wait has ended, if
    /// nobody woke the thread.
    #[track_caller]
    fn wait_by<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        chances: &[Chance],
    ) -> (MutexGuard<'a, T>, Option<Chance>) {
        let code = Location::caller();
        let token = Arc::new(Place::with(Own::new(0), Look::Word));
        self.turn(2).1.push(Arc::clone(&token));
        guard.mutex.release();
        let run = runtime::get();
        let early = run.and_then(|run| chances.iter().copied().find(|&chance| run.happens(chance, code)));
        if early.is_some() {
            let mut waiting = self.turn(2).1;
            let place = waiting.iter().position(|other| Arc::ptr_eq(other, &token));
            if let Some(place) = place {
                waiting.remove(place);
                drop(waiting);
                guard.mutex.take();
                return (guard, early);
            }
            drop(waiting);
            // It was chosen before.
            run.inspect(|run| run.is_redundant(code));
        }
        let run = run.filter(|_| chances.contains(&Chance::RunsOut));
        run.inspect(|run| run.waits_for_time(true));
        token.wait(Order::Acquire, Await::equal(1));
        run.inspect(|run| run.waits_for_time(false));
        guard.mutex.take();
        (guard, None)
    }

    /// Gives the lock back, waits to be woken, and takes the lock again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        Ok(self.wait_by(guard, &[Chance::Wakes]).0)
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

    /// The same as [`Condvar::wait`], but the time may run out.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        _time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let (guard, early) = self.wait_by(guard, &[Chance::RunsOut, Chance::Wakes]);
        Ok((guard, WaitTimeoutResult(early == Some(Chance::RunsOut))))
    }

    /// Waits as long as a condition holds, and the time has not run out.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let mut is_over = false;
        while condition(&mut guard) {
            if is_over {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let (again, result) = self.wait_timeout(guard, time)?;
            (guard, is_over) = (again, result.timed_out());
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Wakes any one of the threads that wait.
    #[track_caller]
    pub fn notify_one(&self) {
        let code = Location::caller();
        let (old, waiting) = self.turn(1);
        let count = waiting.len();
        drop(waiting);
        let chosen = match runtime::get() {
            Some(run) if count > 1 => run.step(Step::Choice(count as u32), Kind::Number, code) as usize,
            _ => 0,
        };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let token = (chosen < waiting.len()).then(|| waiting.remove(chosen));
        drop(waiting);
        if let Some(token) = token {
            token.write(1, Order::Release);
        }
        self.word.0.write(old.wrapping_add(2), Order::Relaxed);
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        let all = std::mem::take(&mut *self.turn(2).1);
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
