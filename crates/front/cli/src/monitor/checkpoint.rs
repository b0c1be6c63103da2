//! Checkpoints: a killed run can be continued from its last checkpoint.
//!
//! A checkpoint holds the whole state of a session, and how many bytes of the stream it has read. The run that
//! continues gets the same stream from its beginning. In a file, it continues at that position. On standard input, it
//! skips the bytes that come again. From there on it reports what the killed run would have reported. A violation that
//! was reported after the checkpoint was made is reported again.
//!
//! Clients number their lines. The checkpoint holds how many lines of each client it has seen, and a client sends the
//! others again.
//!
//! The file is replaced as a whole, so there is always a complete checkpoint. It has a checksum, the flags that matter,
//! and the last bytes before the position. These bytes show whether it is the same stream.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::record::Record;
use super::session::Session;
use crate::flags::Monitor;

/// The beginning of a checkpoint, and the number of its layout. The number changes whenever the layout of the state
/// changes.
const MAGIC: &[u8] = b"seriatim checkpoint ";
const LAYOUT: &[u8] = b"6\n";
/// How many of the last bytes before the position are kept.
const TAIL_LENGTH: usize = 4096;
/// The time between two checkpoints is at least this many times the time that a checkpoint takes.
const WORK_PER_COST: u32 = 9;
/// The time that the first checkpoint is expected to take.
const FIRST_COST: Duration = Duration::from_millis(50);
/// The time that a failed checkpoint counts as, so that the next try comes a second later.
const FAILED_COST: Duration = Duration::from_millis(112);

/// A position in a stream. If the stream had several files, it is a position in the current file.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct StreamPosition {
    /// How many bytes come before it.
    pub(super) offset: u64,
    /// The last of these bytes.
    tail: Vec<u8>,
    /// The beginning of the line that continues here, if it was at the end of another file.
    begun: Vec<u8>,
}

impl StreamPosition {
    /// The beginning of a file. `begun` is the beginning of the first line, which was at the end of another file.
    pub(super) fn beginning(begun: Vec<u8>) -> Self {
        Self { offset: 0, tail: Vec::new(), begun }
    }

    /// The beginning of the line that continues here.
    pub(super) fn begun(&self) -> &[u8] {
        &self.begun
    }

    /// Moves forward by these bytes. They begin with the bytes of `begun`, which are not in this file.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        let bytes = &bytes[std::mem::take(&mut self.begun).len()..];
        self.offset += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_LENGTH)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL_LENGTH));
    }

    /// Checks that the bytes before this position are the same as before. `read` reads them.
    pub(super) fn check(&self, read: &mut dyn FnMut(&mut [u8]) -> io::Result<()>) -> io::Result<()> {
        let mut tail = vec![0; self.tail.len()];
        let other =
            || io::Error::other("this is not the stream that the checkpoint is about, or its file was replaced since");
        read(&mut tail).map_err(|error| if error.kind() == io::ErrorKind::UnexpectedEof { other() } else { error })?;
        if tail == self.tail { Ok(()) } else { Err(other()) }
    }
}

#[derive(Deserialize)]
pub(super) struct Checkpoint {
    fingerprint: String,
    pub(super) session: Session,
    pub(super) place: StreamPosition,
    /// How many lines of each named client were checked.
    pub(super) checked: BTreeMap<String, u64>,
    /// Whether the stream has come to its end.
    pub(super) is_over: bool,
    /// The length of the record.
    pub(super) record_length: u64,
}

/// What is to be saved of a stream: the fields of a [`Checkpoint`], in their order.
#[derive(Serialize)]
pub(super) struct Saved<'a> {
    pub(super) session: &'a Session,
    pub(super) place: &'a StreamPosition,
    pub(super) checked: &'a BTreeMap<String, u64>,
    pub(super) is_over: bool,
}

/// The flags and the version that the state of a session depends on.
fn fingerprint(flags: &Monitor) -> String {
    format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?} {} {}",
        env!("CARGO_PKG_VERSION"),
        flags.model,
        flags.reading.object,
        flags.reading.format,
        flags.reading.initial,
        flags.algorithm,
        flags.threads,
        flags.keep_going,
        flags.shared
    )
}

impl Checkpoint {
    /// The checkpoint in that file, if there is one.
    pub(super) fn load(path: &Path, flags: &Monitor) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Err(io::Error::other("a checkpoint is a file, and this is not a file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
        let damaged = || io::Error::other("this is not a checkpoint, or it is damaged");
        // The file may be another one, and large, so its beginning is checked first.
        let mut head = Vec::new();
        let mut file = File::open(path)?;
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut head)?;
        if head != MAGIC {
            return Err(damaged());
        }
        let mut rest = Vec::new();
        file.read_to_end(&mut rest)?;
        let other = || io::Error::other("the checkpoint was made with other flags, or by another version");
        let rest = rest.strip_prefix(LAYOUT).ok_or_else(other)?;
        let (sum, state) = rest.split_at_checked(32).ok_or_else(damaged)?;
        if Sha256::digest(state).as_slice() != sum {
            return Err(damaged());
        }
        let checkpoint: Self = postcard::from_bytes(state).map_err(|_| damaged())?;
        if checkpoint.fingerprint != fingerprint(flags) {
            return Err(other());
        }
        Ok(Some(checkpoint))
    }
}

/// Makes the checkpoints of a stream in a file.
///
/// A checkpoint is due after as many new events as `--checkpoint-every` says, and after `--checkpoint-seconds` if there
/// are any new ones. The state may be large. So none is made before [`WORK_PER_COST`] times the time that the last one
/// took, and checkpoints take a small part of the time of the run.
pub(super) struct Checkpoints {
    path: PathBuf,
    fingerprint: String,
    /// `--checkpoint-every` and `--checkpoint-seconds`.
    every: u64,
    interval: Duration,
    /// How many events came since the last checkpoint.
    unsaved: u64,
    /// When the last checkpoint was made, and how long that took.
    last: Instant,
    cost: Duration,
}

impl Checkpoints {
    /// The checkpoints in this file. An error if it cannot be written.
    pub(super) fn new(path: &Path, flags: &Monitor) -> Result<Self, String> {
        let checkpoints = Self {
            path: path.to_owned(),
            fingerprint: fingerprint(flags),
            every: flags.checkpoint_every,
            interval: Duration::from_secs(flags.checkpoint_seconds),
            unsaved: 0,
            last: Instant::now(),
            cost: FIRST_COST,
        };
        let new = checkpoints.new_path();
        let probed = File::create(&new).and_then(|_| fs::remove_file(&new));
        probed.map_err(|error| checkpoints.cannot_be_written(&error))?;
        Ok(checkpoints)
    }

    /// Counts `events` more events that are not saved yet.
    pub(super) fn count(&mut self, events: u64) {
        self.unsaved += events;
    }

    /// How long to wait before the next checkpoint. `None` if there is nothing to save.
    pub(super) fn wait(&self) -> Option<Duration> {
        if self.unsaved == 0 {
            return None;
        }
        let interval = if self.unsaved >= self.every { Duration::ZERO } else { self.interval };
        Some(interval.max(self.cost * WORK_PER_COST).saturating_sub(self.last.elapsed()))
    }

    /// Makes a checkpoint, which replaces the older one. Returns how long that took.
    pub(super) fn save(&mut self, saved: &Saved, record: &mut Record) -> Result<Duration, String> {
        let begin = Instant::now();
        let written = record.sync().and_then(|record_length| self.write(saved, record_length));
        self.last = Instant::now();
        match written {
            Ok(()) => {
                (self.unsaved, self.cost) = (0, begin.elapsed());
                Ok(self.cost)
            }
            Err(error) => {
                self.cost = begin.elapsed().max(FAILED_COST);
                Err(self.cannot_be_written(&error))
            }
        }
    }

    fn write(&self, saved: &Saved, record_length: u64) -> io::Result<()> {
        // The fields of a tuple follow each other, as those of a struct do.
        let state = postcard::to_stdvec(&(&self.fingerprint, saved, record_length)).map_err(io::Error::other)?;
        let new = self.new_path();
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(MAGIC)?;
            file.write_all(LAYOUT)?;
            file.write_all(&Sha256::digest(&state))?;
            file.write_all(&state)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)?;
            self.sync_name()
        };
        write().inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// The new name of the file outlives a power failure, too.
    #[cfg(unix)]
    fn sync_name(&self) -> io::Result<()> {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }

    #[cfg(not(unix))]
    fn sync_name(&self) -> io::Result<()> {
        Ok(())
    }

    /// Removes the checkpoint, since there is nothing to continue.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(self.path);
    }

    /// Where a checkpoint is written until it is complete.
    fn new_path(&self) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".new");
        self.path.with_file_name(name)
    }

    fn cannot_be_written(&self, error: &io::Error) -> String {
        format!("{}: the checkpoint cannot be written: {error}", self.path.display())
    }
}
