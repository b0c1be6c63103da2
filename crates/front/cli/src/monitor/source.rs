//! Where the lines come from: a file, a file that grows, standard input, or a client.
//!
//! For a file or standard input, a thread reads pieces of bytes into a queue of length [`QUEUE_LENGTH`]. If the queue
//! is full, the thread waits. Then the pipe fills up, and the writing program waits, too. So nothing is dropped. A
//! client of a socket has a thread of its own anyway, which reads its pieces itself. The receiving side joins the
//! pieces to whole lines.
//!
//! A followed file is followed by its name, as `tail -F` does. If another file gets the name, that file is read next,
//! from its beginning. But this happens only when the new file is not empty and the old one has been read to its end,
//! since a program writes to the old file until it has opened the new one. If the file becomes shorter, it is read
//! again from its beginning.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use budget::Budget;
use format::{Format, ReadOptions};

use super::checkpoint::StreamPosition;
use crate::flags::Monitor;

/// How many pieces may be read ahead.
const QUEUE_LENGTH: usize = 16;
/// The size of a piece in bytes.
const PIECE_SIZE: usize = 128 << 10;
/// A longer line is refused, unless `--longest-line` says otherwise: binary data without newlines must not fill the
/// memory. Many clients may have such a line at the same time.
const LONGEST_LINE: usize = 16 << 20;
const LONGEST_LINE_OF_CLIENT: usize = 1 << 20;
/// The time between two looks at a followed file that has not grown.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The next piece of a stream.
pub(super) enum Piece {
    /// Whole lines.
    Lines(Vec<u8>),
    /// From here on, the bytes are those of a file from its beginning.
    FromStart {
        /// The reason, as a message after the name of the file.
        notice: String,
        /// The beginning of a line, from the end of what was read before. The line continues in the file.
        begun: Vec<u8>,
    },
    /// A message about the stream, after its name.
    Notice(String),
    /// Nothing came within the given time.
    Nothing,
    /// The stream has ended, perhaps in the middle of a line.
    End {
        /// The bytes after the last newline.
        cut: Vec<u8>,
    },
    /// The stream cannot be read.
    Failed(String),
}

/// The options for reading the stream. The extension of a file stands for its format.
pub(super) fn options(flags: &Monitor) -> ReadOptions {
    let options = flags.reading.options(&Budget::UNLIMITED, None);
    let named = if flags.listen.is_empty() { Format::from_path(&flags.file) } else { None };
    ReadOptions { format: options.format.or(named), ..options }
}

/// The result of reading from a source.
pub(super) enum Chunk {
    /// This many bytes; zero at the end.
    Bytes(usize),
    /// No bytes yet. The next bytes are those of a file from its beginning, for this reason.
    FromStart(String),
    /// No bytes yet, but a message.
    Notice(String),
}

/// A source of bytes.
pub(super) trait Source: Send {
    /// Waits for the next bytes, and puts them into the buffer.
    fn read_chunk(&mut self, buffer: &mut [u8]) -> io::Result<Chunk>;
}

/// A source that is read to its end.
struct Plain<R>(R);

impl<R: Read + Send> Source for Plain<R> {
    fn read_chunk(&mut self, buffer: &mut [u8]) -> io::Result<Chunk> {
        self.0.read(buffer).map(Chunk::Bytes)
    }
}

/// What comes from a source.
pub(super) enum Item {
    Bytes(Vec<u8>),
    FromStart(String),
    Notice(String),
}

pub(super) type Received = io::Result<Item>;

/// Where the pieces of a stream come from.
pub(super) trait Pieces: Send {
    /// Waits for the next piece, at most this long. The sender is disconnected at the end of the stream.
    fn next_within(&mut self, wait: Duration) -> Result<Received, RecvTimeoutError>;

    /// How many bytes have come that [`Self::next_within`] has not handed out.
    fn waiting(&self) -> u64;
}

/// What a reading thread has put into its queue.
struct Queue {
    pieces: Receiver<Received>,
    /// How many bytes are in the queue.
    length: Arc<AtomicU64>,
}

impl Pieces for Queue {
    fn next_within(&mut self, wait: Duration) -> Result<Received, RecvTimeoutError> {
        let received = self.pieces.recv_timeout(wait)?;
        if let Ok(Item::Bytes(piece)) = &received {
            self.length.fetch_sub(piece.len() as u64, Ordering::Relaxed);
        }
        Ok(received)
    }

    fn waiting(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }
}

/// The lines of a stream, as they come.
pub(super) struct Lines {
    pieces: Box<dyn Pieces>,
    /// A line may not be longer.
    longest: usize,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// Whether the last line counts even without a newline. This is so for a file that does not grow.
    is_whole: bool,
}

impl Lines {
    /// The lines of the file that the flags name, from a position on.
    pub(super) fn open(flags: &Monitor, from: &StreamPosition) -> io::Result<Self> {
        let is_whole;
        let source: Box<dyn Source> = if flags.file == Path::new("-") {
            let mut stdin = io::stdin();
            is_whole = is_regular_stdin();
            // Standard input repeats the bytes before the checkpoint. They are skipped.
            from.check(&mut |tail| {
                io::copy(&mut stdin.by_ref().take(from.offset - tail.len() as u64), &mut io::sink())?;
                stdin.read_exact(tail)
            })?;
            Box::new(Plain(stdin))
        } else {
            let mut file = File::open(&flags.file)?;
            is_whole = !flags.follow;
            from.check(&mut |tail| {
                file.seek(SeekFrom::Start(from.offset - tail.len() as u64))?;
                file.read_exact(tail)
            })?;
            if flags.follow {
                let path = flags.file.clone();
                Box::new(Followed { path, file, position: from.offset, next: None, is_missed: false })
            } else {
                Box::new(Plain(file))
            }
        };
        Ok(Self { begun: from.begun().to_vec(), ..Self::queued(source, is_whole, flags) })
    }

    /// The lines that a client sends.
    pub(super) fn of_client(client: impl Pieces + 'static, flags: &Monitor) -> Self {
        let longest = flags.longest_line.unwrap_or(LONGEST_LINE_OF_CLIENT);
        Self { pieces: Box::new(client), longest, begun: Vec::new(), is_whole: false }
    }

    fn queued(source: Box<dyn Source>, is_whole: bool, flags: &Monitor) -> Self {
        let (sender, pieces) = sync_channel(QUEUE_LENGTH);
        let length = Arc::new(AtomicU64::new(0));
        let queue = Queue { pieces, length: Arc::clone(&length) };
        thread::spawn(move || read(source, &sender, &length));
        let longest = flags.longest_line.unwrap_or(LONGEST_LINE);
        Self { pieces: Box::new(queue), longest, begun: Vec::new(), is_whole }
    }

    /// How many bytes have come whose lines were not handed out.
    pub(super) fn waiting(&self) -> u64 {
        self.pieces.waiting() + self.begun.len() as u64
    }

    /// Waits for the next piece, at most this long.
    pub(super) fn next_within(&mut self, wait: Duration) -> Piece {
        let mut piece = match self.pieces.next_within(wait) {
            Ok(Ok(Item::Bytes(piece))) => piece,
            Ok(Ok(Item::FromStart(notice))) => return Piece::FromStart { notice, begun: self.begun.clone() },
            Ok(Ok(Item::Notice(notice))) => return Piece::Notice(notice),
            Ok(Err(error)) => return Piece::Failed(format!("the stream cannot be read: {error}")),
            Err(RecvTimeoutError::Timeout) => return Piece::Nothing,
            Err(RecvTimeoutError::Disconnected) => {
                let mut cut = std::mem::take(&mut self.begun);
                if self.is_whole && !cut.is_empty() {
                    cut.push(b'\n');
                    return Piece::Lines(cut);
                }
                return Piece::End { cut };
            }
        };
        match piece.iter().rposition(|&byte| byte == b'\n') {
            Some(end) => {
                let rest = piece.split_off(end + 1);
                if self.begun.is_empty() {
                    self.begun = rest;
                    return Piece::Lines(piece);
                }
                let mut lines = std::mem::replace(&mut self.begun, rest);
                lines.append(&mut piece);
                Piece::Lines(lines)
            }
            None if self.begun.len() + piece.len() > self.longest => {
                Piece::Failed(format!("a line longer than {} MiB (--longest-line)", self.longest >> 20))
            }
            // Who waits for a whole line may have something else to do first.
            None => {
                self.begun.append(&mut piece);
                Piece::Nothing
            }
        }
    }
}

/// Reads until the end of the source, an error, or the end of the receiver.
fn read(mut source: Box<dyn Source>, pieces: &SyncSender<Received>, length: &AtomicU64) {
    let mut buffer = vec![0; PIECE_SIZE];
    loop {
        let piece = match source.read_chunk(&mut buffer) {
            Ok(Chunk::Bytes(0)) => return,
            Ok(Chunk::Bytes(count)) => {
                length.fetch_add(count as u64, Ordering::Relaxed);
                Ok(Item::Bytes(buffer[..count].to_vec()))
            }
            Ok(Chunk::FromStart(notice)) => Ok(Item::FromStart(notice)),
            Ok(Chunk::Notice(notice)) => Ok(Item::Notice(notice)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if pieces.send(piece).is_err() || is_last {
            return;
        }
    }
}

/// A file that is followed by its name. It has no end. See the module.
struct Followed {
    path: PathBuf,
    file: File,
    position: u64,
    /// The file that has the name now, if it is another one and is not empty.
    next: Option<File>,
    /// Whether the user was told that no file has the name.
    is_missed: bool,
}

impl Source for Followed {
    fn read_chunk(&mut self, buffer: &mut [u8]) -> io::Result<Chunk> {
        loop {
            let count = self.file.read(buffer)?;
            if count > 0 {
                self.position += count as u64;
                return Ok(Chunk::Bytes(count));
            }
            if let Some(next) = self.next.take() {
                (self.file, self.position) = (next, 0);
                return Ok(Chunk::FromStart(
                    "another file has this name now: it is read from its beginning".to_owned(),
                ));
            }
            let metadata = self.file.metadata()?;
            if metadata.is_file() && metadata.len() < self.position {
                self.file.rewind()?;
                self.position = 0;
                return Ok(Chunk::FromStart("the file was truncated: it is read from its beginning".to_owned()));
            }
            match fs::metadata(&self.path) {
                Ok(named) => {
                    self.is_missed = false;
                    let is_next = |other: &Metadata| other.len() > 0 && !is_same_file(other, &metadata);
                    if is_next(&named) {
                        let opened = File::open(&self.path).ok();
                        self.next = opened.filter(|file| file.metadata().is_ok_and(|other| is_next(&other)));
                        if self.next.is_some() {
                            continue;
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_missed => {
                    self.is_missed = true;
                    return Ok(Chunk::Notice("no file has this name any more: waiting for another".to_owned()));
                }
                Err(_) => {}
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

#[cfg(unix)]
fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Without file numbers, a file that was replaced cannot be distinguished from one that was not.
#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn is_regular_stdin() -> bool {
    use std::os::fd::AsFd;
    let duplicate = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    duplicate.and_then(|file| file.metadata()).is_ok_and(|metadata| metadata.is_file())
}

#[cfg(not(unix))]
fn is_regular_stdin() -> bool {
    false
}
