//! Runs work so that a signal can end it.
//!
//! Work is first tried for a moment, on the thread that asks. Most checks are over by then. If not, it starts again in
//! a thread of its own, and the thread that asked looks for signals. If one raises an exception, as an interrupt from
//! the keyboard does, all engines are stopped, and the exception is raised. The engines of other threads stop, too;
//! these threads notice, and ask again.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use seriatim::certificate::limits;

/// How long work is tried on the thread that asks.
const MOMENT: Duration = Duration::from_millis(20);
/// How often the thread that asks looks for signals.
const LOOK: Duration = Duration::from_millis(50);
/// A time limit that nobody reaches.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// How many times all engines were stopped.
static STOPS: AtomicU64 = AtomicU64::new(0);

/// A time limit in seconds, as Python states it.
pub(crate) fn limit(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = seconds else { return Ok(None) };
    if seconds.is_nan() || seconds < 0.0 {
        return Err(pyo3::exceptions::PyValueError::new_err("a time limit cannot be negative"));
    }
    Ok(Duration::try_from_secs_f64(seconds).ok())
}

/// Runs `work` with this time limit. It is given a time limit and says whether it gave up: then it may be asked again.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    limit: Option<Duration>,
    work: impl Fn(Duration) -> (T, bool) + Sync + Send,
) -> PyResult<T> {
    let limit = limit.unwrap_or(NEVER);
    let begun = STOPS.load(SeqCst);
    let (done, gave_up) = py.detach(|| work(limit.min(MOMENT)));
    if !gave_up || (limit <= MOMENT && begun == STOPS.load(SeqCst)) {
        return Ok(done);
    }
    loop {
        let begun = STOPS.load(SeqCst);
        let (done, gave_up) = py.detach(|| with_signals(|| work(limit)))?;
        if !gave_up || begun == STOPS.load(SeqCst) {
            return Ok(done);
        }
    }
}

fn with_signals<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    thread::scope(|scope| {
        let (send, receive) = channel();
        let worker = scope.spawn(move || {
            let done = work();
            // The other end waits for this thread.
            let _ = send.send(());
            done
        });
        let mut raised = Ok(());
        while let Err(RecvTimeoutError::Timeout) = receive.recv_timeout(LOOK) {
            if raised.is_ok() {
                // The bare method is not general enough over the lifetime of the interpreter.
                #[allow(clippy::redundant_closure, clippy::redundant_closure_for_method_calls)]
                let looked = Python::attach(|py| py.check_signals());
                raised = looked;
                if raised.is_err() {
                    STOPS.fetch_add(1, SeqCst);
                    limits::stop();
                }
            }
        }
        let done = worker.join();
        if raised.is_err() {
            limits::go_on();
        }
        raised?;
        Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
