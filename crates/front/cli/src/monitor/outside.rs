//! What the streams of a run share: the flags, where messages go, the numbers that `--metrics` shows, and the wish to
//! stop.
//!
//! A message is written before the call returns. So a verdict that a checkpoint holds has been printed before.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Trouble;
use super::service::board::Board;
use super::service::log::Log;
use super::session::Messages;
use crate::flags::Monitor;

pub(super) struct Outside {
    pub(super) flags: Monitor,
    pub(super) log: Log,
    pub(super) board: Board,
    /// The file of the certificates. Its lock is held while anything is printed.
    certificates: Mutex<Option<File>>,
    is_stopped: AtomicBool,
}

impl Outside {
    pub(super) fn open(flags: &Monitor) -> Result<Self, Trouble> {
        let opened = |path: &Path| {
            // A run that is continued goes on with its certificates, too.
            let is_continued = flags.checkpoint.as_ref().is_some_and(|saved| saved.exists());
            OpenOptions::new().create(true).write(true).truncate(!is_continued).append(is_continued).open(path)
        };
        let certificates = match flags.certificate.as_deref().map(|path| opened(path).map_err(|it| (path, it))) {
            None => None,
            Some(Ok(file)) => Some(file),
            Some(Err((path, error))) => {
                let message = format!("the certificates cannot be written here: {error}");
                return Err(Trouble::of(path, message));
            }
        };
        let log = Log::open(flags.log.as_deref())
            .map_err(|error| Trouble::of(flags.log.as_deref().unwrap_or(Path::new("-")), error))?;
        Ok(Self {
            flags: flags.clone(),
            log,
            board: Board::new(),
            certificates: Mutex::new(certificates),
            is_stopped: AtomicBool::new(false),
        })
    }

    /// Whether the run shall end.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Asks for the end of the run. Returns whether somebody has asked before.
    pub(super) fn stop(&self) -> bool {
        self.board.set_stopping();
        self.is_stopped.swap(true, Ordering::Relaxed)
    }

    /// Prints what a stream has to say.
    pub(super) fn tell(&self, stream: &str, messages: Messages) -> Result<(), Trouble> {
        let print = || -> io::Result<()> {
            let mut certificates = self.certificates.lock().unwrap_or_else(PoisonError::into_inner);
            if !messages.out.is_empty() {
                let mut stdout = io::stdout().lock();
                stdout.write_all(messages.out.as_bytes())?;
                stdout.flush()?;
            }
            match &mut *certificates {
                Some(file) if !messages.certificates.is_empty() => file.write_all(messages.certificates.as_bytes()),
                _ => Ok(()),
            }
        };
        print().map_err(Trouble::Output)?;
        self.log.pass(stream, &messages.err);
        for found in messages.found {
            self.log.violation(stream, &found);
            self.board.add_violation(stream, found);
        }
        Ok(())
    }
}
