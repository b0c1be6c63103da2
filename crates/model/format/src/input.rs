//! The bytes of an input: decompression, Jepsen's block files, and a buffer that hands out whole lines or single bytes.
//!
//! Invariant: `buffer[position..complete]` are whole lines, each ended by a newline. If the last line of the file has
//! no newline, one is added. `buffer[complete..filled]` is the beginning of a line whose end has not been read. The
//! buffer grows only for a line longer than itself, and never beyond [`LONGEST_LINE`].

use std::io::{self, Cursor, Read};
use std::mem;

use super::allowance::Allowance;
use super::error::{Fault, InputError};
use super::store::{self, StoreReader};

/// A longer line is refused. No history has one, and binary data without newlines must not fill the memory.
const LONGEST_LINE: usize = 16 << 20;
/// The size of the buffer. It fits the second-level cache, so that the parser finds the bytes there.
const CHUNK: usize = 256 << 10;
/// How many bytes tell how a file is packed.
const MAGIC: usize = 6;
/// The largest number of lines. Lines are counted in 32 bits, and a whole buffer of lines may be added at once.
const MOST_LINES: u32 = u32::MAX - 2 * LONGEST_LINE as u32;

/// A byte stream with its position.
pub(super) struct Input {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    position: usize,
    complete: usize,
    filled: usize,
    ended: bool,
    /// The number of the line at `position`, counted from 1.
    line: u32,
    /// How many bytes of a plain file are left to read, if known.
    remaining: Option<u64>,
    /// Byte mode: the offset in the stream of the beginning of the current line, and of `buffer[0]`.
    line_start: u64,
    buffer_start: u64,
    /// Byte mode: the beginning of the current line, if it has left the buffer.
    line_head: Vec<u8>,
    /// How often bytes were read into the buffer.
    refills: u64,
    allowance: Allowance,
}

/// A position in byte mode.
#[derive(Copy, Clone, Debug)]
pub(super) struct BytePosition {
    line: u32,
    /// The offset in the stream of the beginning of the line.
    line_start: u64,
    /// The offset in the stream of this position.
    pub offset: u64,
}

impl BytePosition {
    /// The position `at` bytes further on. `text` is the text from here on.
    pub fn within(self, text: &[u8], at: usize) -> Self {
        let before = &text[..at.min(text.len())];
        let offset = self.offset + before.len() as u64;
        match memchr::memrchr(b'\n', before) {
            None => self.at(offset),
            Some(end) => {
                let lines = memchr::memchr_iter(b'\n', before).count() as u32;
                Self { line: self.line + lines, line_start: self.offset + end as u64 + 1, offset }
            }
        }
    }

    /// A later position in the same line.
    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }
}

/// How a file is packed: compressed, or in Jepsen's blocks.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
    Blocks,
}

impl Packing {
    /// What the first bytes of a file say.
    fn of(magic: &[u8]) -> Option<Self> {
        match magic {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            store::MAGIC => Some(Self::Blocks),
            _ => None,
        }
    }

    #[cfg(feature = "compression")]
    fn unpack(self, reader: impl Read + Send + 'static, allowance: &Allowance) -> Result<Box<dyn Read + Send>, Fault> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(reader)),
            Self::Zstd => Box::new(zstd::Decoder::new(reader).map_err(|error| unreadable(&error))?),
            Self::Blocks => Box::new(blocks(reader, allowance)?),
        })
    }

    #[cfg(not(feature = "compression"))]
    fn unpack(self, reader: impl Read + Send + 'static, allowance: &Allowance) -> Result<Box<dyn Read + Send>, Fault> {
        let name = match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Blocks => return Ok(Box::new(blocks(reader, allowance)?)),
        };
        let message =
            format!("this is compressed with {name}, and Seriatim was built without the feature `compression`");
        Err(Fault::new(0, message).expected("a file that is not compressed"))
    }
}

impl Input {
    /// The stream, decompressed if it begins like gzip or zstd. `size` is the size of the file, if it is a plain file.
    pub fn new(mut reader: Box<dyn Read + Send>, size: Option<u64>, allowance: &Allowance) -> Result<Self, InputError> {
        let mut magic = Vec::with_capacity(MAGIC);
        let begun = reader.by_ref().take(MAGIC as u64).read_to_end(&mut magic);
        let packing = Packing::of(&magic);
        let decoded = begun.map_err(|error| unreadable(&error)).and_then(|_| match packing {
            None => Ok(reader),
            Some(packing) => packing.unpack(Cursor::new(mem::take(&mut magic)).chain(reader), allowance),
        });
        let reader = decoded.map_err(|fault| fault.in_line(1, b""))?;
        let filled = magic.len();
        let remaining = size.filter(|_| packing.is_none()).map(|size| size.saturating_sub(filled as u64));
        // To clear a large buffer takes longer than to read a small file. The last byte stays free: a full buffer would
        // have to be emptied before it is known that this is the end.
        let size = remaining.map_or(CHUNK, |unread| CHUNK.min(unread.min(CHUNK as u64) as usize + filled + 1));
        let mut buffer = vec![0; size];
        buffer[..filled].copy_from_slice(&magic);
        Ok(Self {
            reader,
            buffer,
            position: 0,
            complete: 0,
            filled,
            ended: false,
            line: 1,
            remaining,
            line_start: 0,
            buffer_start: 0,
            line_head: Vec::new(),
            refills: 0,
            allowance: allowance.clone(),
        })
    }

    /// The number of the line at the current position.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// How often bytes were read into the buffer.
    #[inline]
    pub fn refills(&self) -> u64 {
        self.refills
    }

    /// What reading may use.
    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// Stops reading, because the history takes too much memory. The error is about the file as a whole.
    pub fn refuse(&mut self, fault: Fault) -> InputError {
        self.ended = true;
        self.position = self.filled;
        self.complete = self.filled;
        let line = self.line;
        let message = format!("{} (up to line {line})", fault.message);
        InputError { line: 0, column: 0, text: String::new(), message, expected: fault.expected }
    }

    /// All bytes from the current position on.
    pub fn into_bytes(mut self) -> Result<Vec<u8>, InputError> {
        let mut bytes = self.buffer[self.position..self.filled].to_vec();
        if !self.ended {
            read_all(&mut self.reader, &mut bytes, "this table", &self.allowance)
                .map_err(|fault| fault.in_line(0, b""))?;
        }
        Ok(bytes)
    }

    /// How many bytes of a plain file have not been handed out yet, if this is known.
    pub fn remaining(&self) -> Option<u64> {
        self.remaining.map(|unread| unread + (self.filled - self.position) as u64)
    }

    /// Looks ahead, at most one buffer. `judge` gets the bytes from the current position on, and whether these are all
    /// that it can get. It is asked again with more bytes until it answers.
    pub fn look_ahead<T>(&mut self, judge: impl Fn(&[u8], bool) -> Option<T>) -> Result<Option<T>, InputError> {
        loop {
            let is_all = self.ended || self.filled >= CHUNK;
            let answer = judge(&self.buffer[self.position..self.filled], is_all);
            if answer.is_some() || is_all {
                return Ok(answer);
            }
            self.read_more().map_err(|fault| fault.in_line(self.line, b""))?;
        }
    }

    /// Skips a byte order mark at the beginning of the input.
    pub fn skip_byte_order_mark(&mut self) -> Result<(), InputError> {
        let mark = b"\xef\xbb\xbf";
        let is_marked = |bytes: &[u8], _| (bytes.len() >= mark.len()).then(|| bytes.starts_with(mark));
        if self.look_ahead(is_marked)? == Some(true) {
            self.position += mark.len();
            self.complete = self.position;
            self.line_start = mark.len() as u64;
        }
        Ok(())
    }

    /// The whole lines that are in the buffer.
    pub fn lines(&self) -> &[u8] {
        &self.buffer[self.position..self.complete]
    }

    /// Marks bytes and lines of [`Self::lines`] as read.
    pub fn consume(&mut self, bytes: usize, lines: u32) {
        self.position += bytes;
        self.line += lines;
    }

    /// Reads until the buffer has a whole line. `false` at the end of the stream.
    pub fn fill(&mut self) -> Result<bool, InputError> {
        let result = self.fill_or_fault();
        result.map_err(|fault| {
            self.ended = true;
            self.complete = self.position;
            let head = &self.buffer[self.position..self.filled.min(self.position + 4096)];
            let error = fault.in_line(self.line, head);
            self.filled = self.position;
            error
        })
    }

    fn fill_or_fault(&mut self) -> Result<bool, Fault> {
        if self.position < self.complete {
            return Ok(true);
        }
        if self.line > MOST_LINES {
            return Err(Fault::new(0, format!("more than {MOST_LINES} lines")));
        }
        let mut searched = self.position;
        loop {
            if let Some(end) = memchr::memrchr(b'\n', &self.buffer[searched..self.filled]) {
                self.complete = searched + end + 1;
                return Ok(true);
            }
            if self.ended {
                if self.position == self.filled {
                    return Ok(false);
                }
                if self.filled == self.buffer.len() {
                    self.buffer.push(b'\n');
                } else {
                    self.buffer[self.filled] = b'\n';
                }
                self.filled += 1;
                self.complete = self.filled;
                return Ok(true);
            }
            if self.position > 0 {
                self.discard(self.position);
            }
            searched = self.filled;
            if self.filled == self.buffer.len() {
                if self.buffer.len() >= LONGEST_LINE {
                    return Err(Fault::new(0, format!("a line longer than {} MiB", LONGEST_LINE >> 20)));
                }
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
            self.read_more()?;
        }
    }

    /// The next line, without its newline, and its number.
    pub fn next_line(&mut self) -> Result<Option<(u32, &[u8])>, InputError> {
        if !self.fill()? {
            return Ok(None);
        }
        let rest = &self.buffer[self.position..self.complete];
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
        let number = self.line;
        self.position += length + 1;
        self.line += 1;
        Ok(Some((number, line)))
    }

    /// Byte mode: the next byte, which stays in the buffer. `None` at the end of the stream.
    pub fn peek_byte(&mut self) -> Result<Option<u8>, Fault> {
        if self.position == self.filled && !self.refill_bytes()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.position]))
    }

    /// Byte mode: takes the byte that [`Self::peek_byte`] returned.
    pub fn advance(&mut self) {
        let byte = self.buffer[self.position];
        self.position += 1;
        if byte == b'\n' {
            self.line += 1;
            self.line_start = self.offset();
            self.line_head.clear();
        }
    }

    /// Byte mode: like [`Self::advance`], in an input that has no lines.
    pub fn skip_byte(&mut self) {
        self.position += 1;
    }

    fn offset(&self) -> u64 {
        self.buffer_start + self.position as u64
    }

    fn refill_bytes(&mut self) -> Result<bool, Fault> {
        if self.line > MOST_LINES {
            return Err(Fault::new(0, format!("more than {MOST_LINES} lines")));
        }
        if self.line_head.is_empty() && self.line_start >= self.buffer_start {
            let start = (self.line_start - self.buffer_start) as usize;
            self.line_head.extend_from_slice(&self.buffer[start..self.filled.min(start + 1024)]);
        }
        self.discard(self.position);
        while self.filled == 0 && !self.ended {
            self.read_more()?;
        }
        Ok(self.filled > 0)
    }

    /// Byte mode: the current position.
    pub fn place(&self) -> BytePosition {
        BytePosition { line: self.line, line_start: self.line_start, offset: self.offset() }
    }

    /// Byte mode: the error for a fault at a position. The line is not shown if it has left the buffer.
    pub fn error_at(&self, place: BytePosition, fault: Fault) -> InputError {
        let column = u32::try_from(place.offset - place.line_start).unwrap_or(u32::MAX - 1);
        let mut text = if place.line == self.line { self.line_head.clone() } else { Vec::new() };
        if text.len() < 1024 && (place.line_start >= self.buffer_start || !text.is_empty()) {
            let start = place.line_start.saturating_sub(self.buffer_start) as usize;
            let rest = &self.buffer[start.min(self.filled)..self.filled];
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len()).min(1024);
            text.extend_from_slice(&rest[..end]);
        }
        if (column as usize) <= text.len() {
            return Fault { at: column as usize, ..fault }.in_line(place.line, &text);
        }
        fault.at_column(place.line, column + 1, &text)
    }

    fn discard(&mut self, bytes: usize) {
        self.buffer.copy_within(bytes..self.filled, 0);
        self.buffer_start += bytes as u64;
        self.filled -= bytes;
        self.position -= bytes;
        self.complete = self.complete.saturating_sub(bytes);
    }

    fn read_more(&mut self) -> Result<(), Fault> {
        self.refills += 1;
        if let Err(fault) = self.allowance.check() {
            self.ended = true;
            return Err(fault);
        }
        // The file has grown since its size was asked for.
        if self.filled == self.buffer.len() && self.filled < CHUNK {
            self.buffer.resize(CHUNK, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(());
                }
                Ok(count) => {
                    self.filled += count;
                    self.remaining = self.remaining.map(|unread| unread.saturating_sub(count as u64));
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    return Err(unreadable(&error));
                }
            }
        }
    }
}

/// The history in Jepsen's blocks, which are in no order: the file is read into memory as a whole.
fn blocks(mut reader: impl Read, allowance: &Allowance) -> Result<StoreReader, Fault> {
    let mut file = Vec::new();
    read_all(&mut reader, &mut file, "this file of Jepsen's blocks", allowance)?;
    StoreReader::new(file).map_err(|error| unreadable(&error))
}

/// Reads the rest into memory, if there is room for it.
fn read_all(reader: &mut impl Read, bytes: &mut Vec<u8>, what: &str, allowance: &Allowance) -> Result<(), Fault> {
    loop {
        let before = bytes.len();
        allowance.check()?;
        if allowance.budget().check_room(before.max(CHUNK)).is_err() {
            return Err(Fault::new(0, format!("{what} does not fit into the memory that may be used")));
        }
        let count = reader.by_ref().take(before.max(CHUNK) as u64).read_to_end(bytes);
        if count.map_err(|error| unreadable(&error))? == 0 {
            return Ok(());
        }
    }
}

fn unreadable(error: &io::Error) -> Fault {
    Fault::new(0, format!("this cannot be read: {error}"))
}
