//! Threads, with the names of `std::thread`.

use std::sync::{Arc, Mutex, PoisonError};

use super::runtime;
use crate::program::{Await, Order, Step, Update};

/// The number of a thread. It is the same in all executions in which the thread that spawned it read the same values.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(u32);

/// A thread, which can be unparked.
#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    token: u32,
}

impl Thread {
    /// The number of the thread.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Gives the thread a token, if it has none: the next [`park`], or the one that waits, returns.
    #[track_caller]
    pub fn unpark(&self) {
        let (order, failure, update) = (Order::Release, Order::Relaxed, Update::Set(1));
        runtime::step(Step::Rmw { location: self.token, order, failure, update, until: None });
    }
}

/// This thread.
pub fn current() -> Thread {
    let (thread, token) = runtime::current();
    Thread { id: ThreadId(thread), token }
}

/// Waits for a token, and takes it.
#[track_caller]
pub fn park() {
    let (_, location) = runtime::current();
    let (order, failure) = (Order::Acquire, Order::Relaxed);
    let update = Update::CompareExchange { expected: 1, new: 0 };
    runtime::step(Step::Rmw { location, order, failure, update, until: Some(Await::equal(1)) });
}

/// The handle of a thread, which can be joined.
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: Thread,
    result: Arc<Mutex<Option<T>>>,
}

/// Starts a thread.
#[track_caller]
pub fn spawn<T: 'static>(code: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    let result = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&result);
    let (number, token) = runtime::spawn(Box::new(move || {
        let value = code();
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }));
    runtime::step(Step::Spawn(number));
    JoinHandle { thread: Thread { id: ThreadId(number), token }, result }
}

impl<T> JoinHandle<T> {
    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for the thread to finish. (If it panics, the execution is a finding, and nothing waits for it.)
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        runtime::step(Step::Join(self.thread.id.0));
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.ok_or_else(|| Box::new("the thread has no result") as _)
    }
}

/// Lets others go on. In a loop, this is the same as [`hint::spin_loop`](crate::hint::spin_loop).
#[track_caller]
pub fn yield_now() {
    runtime::spin();
}
