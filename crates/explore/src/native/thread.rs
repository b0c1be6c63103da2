//! Threads, with the names of `std::thread`.

use std::sync::{Arc, Mutex, PoisonError};

use super::runtime;
use crate::program::Step;

/// The handle of a thread, which can be joined.
#[derive(Debug)]
pub struct JoinHandle<T> {
    thread: u32,
    result: Arc<Mutex<Option<T>>>,
}

/// Starts a thread.
#[track_caller]
pub fn spawn<T: 'static>(code: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
    let result = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&result);
    let thread = runtime::spawn(Box::new(move || {
        let value = code();
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }));
    runtime::step(Step::Spawn(thread));
    JoinHandle { thread, result }
}

impl<T> JoinHandle<T> {
    /// Waits for the thread to finish. (If it panics, the execution is a finding, and nothing waits for it.)
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        runtime::step(Step::Join(self.thread));
        let result = self.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.ok_or_else(|| Box::new("the thread has no result") as _)
    }
}

/// Lets others go on. In a loop, this is the same as [`hint::spin_loop`](crate::hint::spin_loop).
#[track_caller]
pub fn yield_now() {
    runtime::spin();
}
