//! How far a run is: a line on the terminal. It appears after one second, so a shorter run shows none.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use format::{BytesRead, ReadOptions};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::input;

/// The line appears after this time.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// On a terminal with fewer columns there is no bar: the counts need the room.
const WIDE: u16 = 100;

/// How much of all files has been read, how long the rest will take, and what was found. `None` if no progress is
/// shown.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Shows nothing.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// The progress through these files. It shows itself on standard error, if that is a terminal.
    pub(crate) fn on_terminal(files: &[PathBuf], options: &ReadOptions) -> Self {
        if !io::stderr().is_terminal() {
            return Self::none();
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let (later, files, options) = (bar.clone(), files.to_vec(), options.clone());
        // Nobody joins this thread: it ends with the process.
        thread::spawn(move || {
            thread::sleep(SHOW_AFTER);
            let size = input::size(&files, &options);
            if later.is_finished() {
                return;
            }
            if let Some(size) = size {
                later.set_length(size);
            }
            let is_wide = terminal_size::terminal_size_of(io::stderr()).is_some_and(|(width, _)| width.0 >= WIDE);
            let template = match (size, is_wide) {
                (None, _) => "{elapsed}: {bytes}, {wide_msg}",
                (Some(_), false) => "{percent}%, {eta} left: {wide_msg}",
                (Some(_), true) => "{elapsed} [{bar:20}] {percent}% of {total_bytes}, {eta} left: {wide_msg}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                later.set_style(style.progress_chars("=> "));
            }
            later.set_draw_target(ProgressDrawTarget::stderr());
            later.enable_steady_tick(Duration::from_millis(200));
        });
        Self(Some(bar))
    }

    /// Who is told how much is read. The progress moves as the files are read.
    pub(crate) fn watch(&self) -> Option<BytesRead> {
        let bar = self.0.clone()?;
        Some(Arc::new(move |count| bar.inc(count)))
    }

    /// Runs `write` while the line is hidden, so that its output does not mix with the line.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            None => write(),
            Some(bar) => bar.suspend(write),
        }
    }

    /// Says how many histories are done, and what was found in them.
    pub(crate) fn tell(&self, histories: u64, found: impl FnOnce() -> String) {
        if let Some(bar) = &self.0 {
            let rate = histories as f64 / bar.elapsed().as_secs_f64().max(0.001);
            let found = found();
            let comma = if found.is_empty() { "" } else { ", " };
            bar.set_message(format!("{histories} histories, {rate:.0}/s{comma}{found}"));
        }
    }

    /// Takes the line away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
