//! How far a run is: a bar on the terminal. The bar appears after one second, so a shorter run shows none.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The bar appears after this time.
const SHOW_AFTER: Duration = Duration::from_secs(1);

/// How much has been read of the files known so far. `None` if no progress is shown.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Shows nothing.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// Shows itself on standard error, if that is a terminal.
    pub(crate) fn on_terminal() -> Self {
        if !io::stderr().is_terminal() {
            return Self::none();
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{elapsed} [{bar:20}] {bytes}/{total_bytes} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        // Nobody joins this thread: it ends with the process.
        let later = bar.clone();
        thread::spawn(move || {
            thread::sleep(SHOW_AFTER);
            if !later.is_finished() {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self(Some(bar))
    }

    /// A reader of the file, which has this size. The bar moves as the file is read.
    pub(crate) fn of(&self, file: File, size: u64) -> Box<dyn Read + Send> {
        match &self.0 {
            None => Box::new(file),
            Some(bar) => {
                bar.inc_length(size);
                Box::new(bar.wrap_read(file))
            }
        }
    }

    /// Whether no progress is shown.
    pub(crate) const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Runs `write` while the bar is hidden, so that its output does not mix with the bar.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            None => write(),
            Some(bar) => bar.suspend(write),
        }
    }

    /// Sets the message beside the bar.
    pub(crate) fn tell(&self, message: impl FnOnce() -> String) {
        if let Some(bar) = &self.0 {
            bar.set_message(message());
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
