//! Runs work so that a signal can end it.
//!
//! Work is first tried for a moment, on the thread that asks. Most checks are over by then. If not, it starts again in
//! a thread of its own, and the thread that asked looks for signals. If one raises an exception, as an interrupt from
//! the keyboard does, the work is cancelled, and the exception is raised. What other threads check goes on.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use seriatim::{Cancel, Options};

/// How long work is tried on the thread that asks.
const MOMENT: Duration = Duration::from_millis(20);
/// How often the thread that asks looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// A time limit in seconds, as Python states it.
pub(crate) fn limit(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = seconds else { return Ok(None) };
    if seconds.is_nan() || seconds < 0.0 {
        return Err(pyo3::exceptions::PyValueError::new_err("a time limit cannot be negative"));
    }
    Ok(Duration::try_from_secs_f64(seconds).ok())
}

/// Runs `work` with this time limit: for a moment on this thread, and then again in a thread of its own. It says
/// whether it gave up.
pub(crate) fn run_briefly<T: Send>(
    py: Python<'_>,
    limit: Option<Duration>,
    work: impl Fn(Options) -> (T, bool) + Sync + Send,
) -> PyResult<T> {
    let moment = limit.map_or(MOMENT, |limit| limit.min(MOMENT));
    let (done, gave_up) = py.detach(|| work(Options::default().timeout(moment)));
    if !gave_up || limit == Some(moment) {
        return Ok(done);
    }
    run(py, limit, |options| work(options).0)
}

/// Runs `work` with this time limit, in a thread of its own.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    limit: Option<Duration>,
    work: impl Fn(Options) -> T + Sync + Send,
) -> PyResult<T> {
    let cancel = Cancel::new();
    let mut options = Options::default().cancel(&cancel);
    if let Some(limit) = limit {
        options = options.timeout(limit);
    }
    py.detach(|| with_signals(&cancel, || work(options)))
}

fn with_signals<T: Send>(cancel: &Cancel, work: impl FnOnce() -> T + Send) -> PyResult<T> {
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
                    cancel.cancel();
                }
            }
        }
        let done = worker.join();
        raised?;
        Ok(done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
