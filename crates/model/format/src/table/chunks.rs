//! The bytes of a table, which are not read from the beginning to the end: the directory of a file is at its end.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

use super::super::BytesRead;

/// A file, or bytes in memory. Whoever `watches` is told how many bytes are read.
#[derive(Clone)]
pub(in super::super) struct Chunks {
    content: Arc<Content>,
    length: u64,
    watch: Option<BytesRead>,
}

enum Content {
    File(Mutex<File>),
    Memory(Vec<u8>),
}

impl Chunks {
    pub fn of_file(file: File, watch: Option<BytesRead>) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { content: Arc::new(Content::File(Mutex::new(file))), length, watch })
    }

    pub fn of_memory(bytes: Vec<u8>) -> Self {
        Self { length: bytes.len() as u64, content: Arc::new(Content::Memory(bytes)), watch: None }
    }

    /// Reads from `start` on, perhaps less than the buffer holds.
    fn read_at(&self, start: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &*self.content {
            Content::File(file) => {
                let mut file = file.lock().map_err(|_| io::Error::other("another reader of this file panicked"))?;
                file.seek(SeekFrom::Start(start))?;
                file.read(buffer)?
            }
            Content::Memory(bytes) => {
                let rest = usize::try_from(start).ok().and_then(|start| bytes.get(start..)).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                buffer[..count].copy_from_slice(&rest[..count]);
                count
            }
        };
        if let Some(watch) = &self.watch {
            watch(count as u64);
        }
        Ok(count)
    }

    /// A reader that begins at `start`.
    pub fn from(&self, start: u64) -> At {
        At { chunks: self.clone(), position: start }
    }

    /// The first bytes.
    pub fn head(&self) -> io::Result<[u8; 8]> {
        let mut head = [0; 8];
        let mut filled = 0;
        while filled < head.len() {
            match self.read_at(filled as u64, &mut head[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(head)
    }
}

/// A position in the bytes.
pub(in super::super) struct At {
    chunks: Chunks,
    position: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.chunks.read_at(self.position, buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for At {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.chunks.length.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Chunks {
    type T = io::BufReader<At>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(io::BufReader::new(self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // The length comes from the file, so it is compared with what is there before memory is taken.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are beyond the end of the file")));
        }
        let mut bytes = Vec::with_capacity(length);
        self.from(start).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF("the file ends too early".to_owned()));
        }
        Ok(bytes.into())
    }
}
