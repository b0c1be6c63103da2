//! How far a run is: a bar on the terminal, from the first second on. A run that is over before shows none.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A run that takes less shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much has been read of the files known so far; nothing, where nobody wants to see it.
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
        // Nobody waits for this thread: a run that is over takes it along.
        let later = bar.clone();
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if !later.is_finished() {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self(Some(bar))
    }

    /// A file of this size whose reading shows.
    pub(crate) fn of(&self, file: File, size: u64) -> Box<dyn Read + Send> {
        match &self.0 {
            None => Box::new(file),
            Some(bar) => {
                bar.inc_length(size);
                Box::new(bar.wrap_read(file))
            }
        }
    }

    /// Whether anybody looks.
    pub(crate) const fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Writes while the bar is out of the way.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            None => write(),
            Some(bar) => bar.suspend(write),
        }
    }

    /// What stands beside the bar.
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
