//! What the run has to say besides its verdicts: on standard error as text, or with `--log` as JSON, one object a line.
//! SIGHUP opens the file of the log again, so that it can be rotated.
//!
//! This is a writer of its own, and not the crate `tracing`. A line has five fields, is written by one call, and must
//! survive a rotation and a full disk. There are no spans and no levels to filter. `tracing` with a subscriber for JSON
//! would bring some twenty crates, and the code for files, rotation and text would be ours anyway.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use history::visible;
use serde_json::{Value, json};

use crate::json;
use crate::monitor::session::Found;
use crate::output::Palette;

/// How important a message is. Text shows all but [`Level::Debug`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// The course of a run that nobody watches: clients that come and go, checkpoints.
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

pub(crate) struct Log {
    /// The file of `--log`; none if the log is text on standard error.
    path: Option<PathBuf>,
    to: Mutex<To>,
}

enum To {
    Text,
    JsonOnStandardError,
    Json(File),
}

impl Log {
    /// The log in this file; on standard error as JSON if it is `-`, as text if there is none.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let to = match path {
            None => To::Text,
            Some(path) if path == Path::new("-") => To::JsonOnStandardError,
            Some(path) => To::Json(appended(path)?),
        };
        Ok(Self { path: path.map(Path::to_owned), to: Mutex::new(to) })
    }

    /// Opens the file again, which may have another name by now. If it cannot be opened, the old one is written on.
    pub(crate) fn reopen(&self) {
        let Some(path) = self.path.as_deref().filter(|&path| path != Path::new("-")) else { return };
        match appended(path) {
            Ok(file) => *self.to.lock().unwrap_or_else(PoisonError::into_inner) = To::Json(file),
            Err(error) => {
                let message = format!("{}: the log cannot be opened again: {error}", path.display());
                self.say(Level::Error, "log-failed", None, &message);
            }
        }
        self.say(Level::Debug, "reopened", None, "the log was opened again");
    }

    /// The colours of the text on standard error.
    pub(crate) fn palette(&self) -> Palette {
        if self.path.is_some() { Palette::none() } else { Palette::stderr() }
    }

    /// Says something about a stream, or about the run.
    pub(crate) fn say(&self, level: Level, event: &str, stream: Option<&str>, message: &str) {
        if self.path.is_some() {
            self.write(level, event, stream, json!({ "message": message }));
        } else if level > Level::Debug {
            let about = stream.unwrap_or("seriatim monitor");
            // If standard error is closed, the run still has its verdicts and its exit status.
            let _ = writeln!(io::stderr(), "{}: {}", visible(about), visible(message));
        }
    }

    /// Passes on what a stream has said as text.
    pub(crate) fn pass(&self, stream: &str, text: &str) {
        if text.is_empty() {
        } else if self.path.is_some() {
            self.write(Level::Warn, "message", Some(stream), json!({ "message": text.trim_end() }));
        } else {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }

    /// A violation. As text, standard output has said it.
    pub(crate) fn violation(&self, stream: &str, found: &Found) {
        if self.path.is_some() {
            let fields = serde_json::to_value(found).unwrap_or_default();
            self.write(Level::Error, "violation", Some(stream), fields);
        }
    }

    fn write(&self, level: Level, event: &str, stream: Option<&str>, fields: Value) {
        let mut object = json!({ "time": now(), "level": level.name(), "kind": event });
        if let Some(stream) = stream {
            object["stream"] = json!(stream);
        }
        if let Value::Object(fields) = fields {
            object.as_object_mut().expect("it was made as an object").extend(fields);
        }
        let line = json::line(&object);
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        // If the disk is full, lines of the log are lost, and nothing else.
        let _ = match &mut *to {
            To::Text | To::JsonOnStandardError => io::stderr().write_all(line.as_bytes()),
            To::Json(file) => file.write_all(line.as_bytes()),
        };
    }
}

fn appended(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// The time now, in UTC: `2026-11-19T04:33:42.123Z`.
fn now() -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    shown(time.as_secs(), time.subsec_millis())
}

/// A time since 1970, by the proleptic Gregorian calendar. Years begin in March, so that the leap day is their last.
fn shown(seconds: u64, millis: u32) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(shown(0, 7), "1970-01-01T00:00:00.007Z");
        assert_eq!(shown(951_827_696, 0), "2000-02-29T12:34:56.000Z");
        assert_eq!(shown(1_709_251_199, 999), "2024-02-29T23:59:59.999Z");
        assert_eq!(shown(1_709_251_200, 0), "2024-03-01T00:00:00.000Z");
        assert_eq!(shown(4_107_542_399, 0), "2100-02-28T23:59:59.000Z");
        assert_eq!(shown(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
    }
}
