//! Futures that are driven in a thread of the program, with the names of `loom::future`.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex as Real, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::sync::{Mutex, Notify};

struct Signal(Notify);

impl Wake for Signal {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.0.notify();
    }
}

/// Polls a future until it is ready. Between polls it waits to be woken. Once, it polls without having been woken.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let signal = Arc::new(Signal(Notify::new()));
    let waker = Waker::from(Arc::clone(&signal));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        signal.0.wait();
    }
}

/// The waker of a task, which others wake. It is loom's stand-in for the type of the same name in other crates: a lock
/// with a waker in it.
#[derive(Debug, Default)]
pub struct AtomicWaker {
    /// The lock orders the accesses.
    lock: Mutex<()>,
    waker: Real<Option<Waker>>,
}

impl AtomicWaker {
    /// There is no waker.
    pub const fn new() -> Self {
        Self { lock: Mutex::new(()), waker: Real::new(None) }
    }

    /// Keeps a waker in place of the one before.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let _guard = self.lock.lock();
        let before = self.waker.lock().unwrap_or_else(PoisonError::into_inner).replace(waker);
        drop(before);
    }

    /// Keeps a copy of a waker.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the task that was registered last.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker out.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        let _guard = self.lock.lock();
        self.waker.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
