//! How far an exploration is: a line on the terminal while it goes on. What is still to come is estimated.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use explore::Estimate;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A shorter exploration shows nothing.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// So often the line changes.
const REDRAW: Duration = Duration::from_millis(250);

/// The line of an exploration.
pub(super) struct Watch {
    bar: Option<ProgressBar>,
    start: Instant,
}

impl Watch {
    /// It shows itself on standard error, if that is a terminal.
    pub(super) fn on_terminal() -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{elapsed} [{bar:20}] {wide_msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Self { bar, start: Instant::now() }
    }

    /// Says how many executions were visited, of about how many.
    pub(super) fn tell(&self, visited: u64, all: Option<Estimate>) {
        let elapsed = self.start.elapsed();
        if let Some(bar) = self.bar.as_ref().filter(|_| elapsed >= SHOW_AFTER) {
            let part = all.map_or(0.0, |estimate| (visited as f64 / estimate.all.max(1) as f64).min(1.0));
            bar.set_position((1000.0 * part) as u64);
            bar.set_message(match all {
                Some(estimate) => estimate.progress(visited, elapsed),
                None => format!("{visited} visited"),
            });
        }
    }

    /// Does a piece of work, which counts what it has visited, and shows how far it is.
    pub(super) fn during<T>(
        &self,
        estimate: impl FnOnce() -> Option<Estimate> + Send,
        work: impl FnOnce(&AtomicU64) -> T,
    ) -> T {
        let visited = AtomicU64::new(0);
        if self.bar.is_none() {
            return work(&visited);
        }
        thread::scope(|scope| {
            let (done, is_done) = channel();
            let visited = &visited;
            scope.spawn(move || self.follow(visited, estimate, &is_done));
            let answer = work(visited);
            // It has ended if nobody listens.
            let _ = done.send(());
            answer
        })
    }

    fn follow(&self, visited: &AtomicU64, estimate: impl FnOnce() -> Option<Estimate>, is_done: &Receiver<()>) {
        if is_done.recv_timeout(SHOW_AFTER) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let all = estimate();
        loop {
            self.tell(visited.load(Ordering::Relaxed), all);
            if is_done.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
