//! Where the lines come from: a file, a file that grows, standard input, a client.
//!
//! A thread reads pieces of bytes into a queue of [`QUEUE`]; when that is full it waits, and so does, when the pipe or socket is
//! full, whoever writes. Nothing is dropped. This side puts whole lines together.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use history::format::{Format, ReadOptions};

use super::checkpoint::Place;
use crate::flags::Monitor;

/// How many pieces may be read ahead.
const QUEUE: usize = 16;
/// How large a piece is.
const PIECE: usize = 128 << 10;
/// A longer line is refused: binary junk without newlines must not fill the memory.
const LONGEST_LINE: usize = 16 << 20;
/// How often a file is looked at that has not grown.
const PATIENCE: Duration = Duration::from_millis(20);

/// What comes next.
pub(super) enum Piece {
    /// Whole lines.
    Lines(Vec<u8>),
    /// The stream has ended, perhaps in the middle of a line.
    End {
        /// What came after the last newline.
        cut: Vec<u8>,
    },
    /// The stream cannot be read.
    Failed(String),
}

/// How the stream is to be read. The extension of a file tells its format.
pub(super) fn options(flags: &Monitor) -> ReadOptions {
    let options = flags.reading.options();
    let named = if flags.listen.is_some() { None } else { Format::from_path(&flags.file) };
    ReadOptions { format: options.format.or(named), ..options }
}

/// The lines of a stream, as they come.
pub(super) struct Lines {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
    /// What stands at the end of a file that does not grow is a line, with or without a newline.
    is_whole: bool,
}

impl Lines {
    /// Those of the file that the flags name, from a place on.
    pub(super) fn open(flags: &Monitor, from: &Place) -> io::Result<Self> {
        let is_whole;
        let reader: Box<dyn Read + Send> = if flags.file == Path::new("-") {
            let mut stdin = io::stdin();
            is_whole = is_regular_stdin();
            // What was read before the checkpoint comes again, and is passed over.
            from.check(&mut |tail| {
                io::copy(&mut stdin.by_ref().take(from.offset - tail.len() as u64), &mut io::sink())?;
                stdin.read_exact(tail)
            })?;
            Box::new(stdin)
        } else {
            let mut file = File::open(&flags.file)?;
            is_whole = !flags.follow;
            from.check(&mut |tail| {
                file.seek(SeekFrom::Start(from.offset - tail.len() as u64))?;
                file.read_exact(tail)
            })?;
            if flags.follow { Box::new(Growing { file, position: from.offset }) } else { Box::new(file) }
        };
        Ok(Self::new(reader, is_whole))
    }

    /// Those that a client sends.
    pub(super) fn of_client(reader: Box<dyn Read + Send>) -> Self {
        Self::new(reader, false)
    }

    fn new(reader: Box<dyn Read + Send>, is_whole: bool) -> Self {
        let (sender, pieces) = sync_channel(QUEUE);
        thread::spawn(move || read(reader, &sender));
        Self { pieces, begun: Vec::new(), is_whole }
    }

    pub(super) fn next(&mut self) -> Piece {
        loop {
            let mut piece = match self.pieces.recv() {
                Ok(Ok(piece)) => piece,
                Ok(Err(error)) => return Piece::Failed(format!("the stream cannot be read: {error}")),
                Err(_) => {
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
                    return Piece::Lines(lines);
                }
                None if self.begun.len() + piece.len() > LONGEST_LINE => {
                    return Piece::Failed(format!("a line longer than {} MiB", LONGEST_LINE >> 20));
                }
                None => self.begun.append(&mut piece),
            }
        }
    }
}

/// Reads until the end, an error, or until nobody wants more.
fn read(mut reader: Box<dyn Read + Send>, pieces: &SyncSender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let piece = match reader.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok(buffer[..count].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A client that dies has said what it has said.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if pieces.send(piece).is_err() || is_last {
            return;
        }
    }
}

/// A file that may grow: it has no end.
struct Growing {
    file: File,
    position: u64,
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.file.read(buffer)?;
            if count > 0 {
                self.position += count as u64;
                return Ok(count);
            }
            if self.file.metadata()?.len() < self.position {
                return Err(io::Error::other("the file has become shorter"));
            }
            thread::sleep(PATIENCE);
        }
    }
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
