//! Jepsen's block files, `test.jepsen`: the history inside them, as the EDN that Jepsen would have written.
//!
//! A file is `JEPSEN`, a version (u32), the offset of the index block (u64), and blocks. All numbers are big-endian. A
//! block is its length (u64, the header included), a checksum (u32), its type (u16), and its data:
//!
//! | type | data |
//! | --- | --- |
//! | 1, index | the id of the root (u32), then an id (u32) and an offset (u64) for each block |
//! | 2, value | one value in [Fressian](fressian) |
//! | 3, partial map | the id of the block with the rest (u32), and a map |
//! | 4, stream | values one after the other |
//! | 5, big vector | a count (u64), then the first index (u64) and the id (u32) of each part |
//!
//! The root is the test, a map, whose `:history` refers to a block: a value (version 0), or a big vector (version 1).
//! The checksum is the CRC-32 of the data, and then of the header with a checksum of 0. Jepsen keeps sixteen bytes for
//! the type, and uses two of them; the checksum tells how long the header is.
//!
//! Invariant: only the operations of one block are held as text. No length or offset is believed before it is compared
//! with what the file has.

mod fressian;

use std::collections::VecDeque;
use std::io::{self, Read};

use fressian::Decoder;

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"JEPSEN";
/// How long the header of a block is: as Jepsen writes it, and without the bytes that it does not use.
const HEADERS: [usize; 2] = [28, 14];
/// Big vectors refer to big vectors at most so deep.
const DEEPEST: usize = 8;

/// What is wrong with a file, and at which byte.
#[derive(Debug)]
struct Damage {
    at: usize,
    message: String,
}

impl Damage {
    fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        let Damage { at, message } = damage;
        Self::new(io::ErrorKind::InvalidData, format!("byte {at} of the block file: {message}"))
    }
}

/// The history of a block file as EDN, one operation a line.
pub(super) struct StoreReader {
    file: Vec<u8>,
    index: Index,
    /// The parts of the history that are still to be read.
    parts: VecDeque<u32>,
    text: Vec<u8>,
    position: usize,
}

impl StoreReader {
    /// Opens a file that is in memory as a whole.
    pub(super) fn new(file: Vec<u8>) -> io::Result<Self> {
        let index = Index::read(&file)?;
        let history = index.history(&file)?;
        Ok(Self { file, index, parts: VecDeque::from([history]), text: Vec::new(), position: 0 })
    }

    /// Reads the next part of the history into the text. Returns whether there was one.
    fn read_part(&mut self, depth: usize) -> Result<bool, Damage> {
        let Some(id) = self.parts.pop_front() else { return Ok(false) };
        self.text.clear();
        self.position = 0;
        let block = self.index.block(&self.file, id)?;
        match block.kind {
            Kind::Value => {
                let mut decoder = Decoder::new(block.data, block.at);
                decoder.operations(&mut self.text)?;
            }
            Kind::Stream => {
                let mut decoder = Decoder::new(block.data, block.at);
                while !decoder.is_at_end() {
                    decoder.operation(&mut self.text)?;
                }
            }
            Kind::BigVector if depth < DEEPEST => {
                let ids = block.parts()?;
                for id in ids.into_iter().rev() {
                    self.parts.push_front(id);
                }
                return self.read_part(depth + 1);
            }
            _ => return Err(Damage::new(block.at, "this block is no part of a history")),
        }
        Ok(true)
    }
}

impl Read for StoreReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.text.len() {
            if !self.read_part(0)? {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.text.len() - self.position);
        buffer[..count].copy_from_slice(&self.text[self.position..self.position + count]);
        self.position += count;
        Ok(count)
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Index,
    Value,
    PartialMap,
    Stream,
    BigVector,
}

/// A block whose checksum is right.
struct Block<'a> {
    kind: Kind,
    data: &'a [u8],
    /// The offset of the data.
    at: usize,
}

impl<'a> Block<'a> {
    /// The block at an offset.
    fn read(file: &'a [u8], at: usize) -> Result<Self, Damage> {
        let cut = || Damage::new(at, "the file ends within this block");
        let length: usize = number(file, at).and_then(|length: u64| usize::try_from(length).ok()).ok_or_else(cut)?;
        let whole = at.checked_add(length).and_then(|end| file.get(at..end)).ok_or_else(cut)?;
        let checksum: u32 = number(whole, 8).ok_or_else(cut)?;
        let kind: u16 = number(whole, 12).ok_or_else(cut)?;
        let is_header = |&&size: &&usize| size <= whole.len() && checksum_of(whole, size) == checksum;
        let header = *HEADERS.iter().find(is_header).ok_or_else(|| {
            Damage::new(at, "the checksum of this block is wrong: the file was damaged, or not written to its end")
        })?;
        let kind = match kind {
            1 => Kind::Index,
            2 => Kind::Value,
            3 => Kind::PartialMap,
            4 => Kind::Stream,
            5 => Kind::BigVector,
            other => return Err(Damage::new(at, format!("there is no type of blocks {other}"))),
        };
        Ok(Self { kind, data: &whole[header..], at: at + header })
    }

    /// The ids of the parts of a big vector.
    fn parts(&self) -> Result<Vec<u32>, Damage> {
        let pairs = self.data.get(8..).filter(|pairs| pairs.len() % 12 == 0);
        let pairs = pairs.ok_or_else(|| Damage::new(self.at, "this big vector is cut off"))?;
        Ok(pairs.chunks_exact(12).filter_map(|pair| number(pair, 8)).collect())
    }
}

/// The checksum of a block with a header of this size.
fn checksum_of(block: &[u8], header: usize) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&block[header..]);
    checksum.update(&block[..8]);
    checksum.update(&[0; 4]);
    checksum.update(&block[12..header]);
    checksum.finalize()
}

/// Where the blocks are.
struct Index {
    root: u32,
    /// Ids and offsets, sorted by id.
    blocks: Vec<(u32, usize)>,
}

impl Index {
    fn read(file: &[u8]) -> Result<Self, Damage> {
        let cut = || Damage::new(file.len(), "the file ends before its first block");
        let version: u32 = number(file, MAGIC.len()).ok_or_else(cut)?;
        if version > 1 {
            let message = format!("this is version {version} of the format, and only versions 0 and 1 are known");
            return Err(Damage::new(MAGIC.len(), message));
        }
        let at = number(file, 10).and_then(|offset: u64| usize::try_from(offset).ok()).ok_or_else(cut)?;
        if at == 0 {
            return Err(Damage::new(10, "the file has no index: the test ended before it wrote its history"));
        }
        let block = Block::read(file, at)?;
        if block.kind != Kind::Index {
            return Err(Damage::new(at, "the index of the file should be here, and is not"));
        }
        let damage = || Damage::new(block.at, "this index is cut off");
        let root = number(block.data, 0).ok_or_else(damage)?;
        let pairs = block.data[4..].chunks_exact(12);
        if !pairs.remainder().is_empty() {
            return Err(damage());
        }
        let pair = |pair: &[u8]| Some((number(pair, 0)?, usize::try_from(number::<u64, 8>(pair, 4)?).ok()?));
        let mut blocks: Vec<(u32, usize)> = pairs.map(pair).collect::<Option<_>>().ok_or_else(damage)?;
        blocks.sort_unstable();
        Ok(Self { root, blocks })
    }

    /// The block with this id.
    fn block<'a>(&self, file: &'a [u8], id: u32) -> Result<Block<'a>, Damage> {
        match self.blocks.binary_search_by_key(&id, |&(id, _)| id) {
            Ok(at) => Block::read(file, self.blocks[at].1),
            Err(_) => Err(Damage::new(0, format!("the index does not have the block {id}"))),
        }
    }

    /// The id of the block that holds the history.
    fn history(&self, file: &[u8]) -> Result<u32, Damage> {
        let mut id = self.root;
        // The root may be a partial map. Its parts are looked at one after the other, each at most once.
        for _ in 0..=self.blocks.len() {
            let block = self.block(file, id)?;
            let (data, rest) = match block.kind {
                Kind::Value => (block.data, 0),
                Kind::PartialMap => {
                    let rest = number(block.data, 0);
                    let rest = rest.ok_or_else(|| Damage::new(block.at, "this partial map is cut off"))?;
                    (&block.data[4..], rest)
                }
                _ => return Err(Damage::new(block.at, "the test should be here, and is not")),
            };
            let at = block.at + (block.data.len() - data.len());
            if let Some(history) = Decoder::new(data, at).history()? {
                return Ok(history);
            }
            if rest == 0 {
                break;
            }
            id = rest;
        }
        Err(Damage::new(0, "the test in this file has no history"))
    }
}

/// A big-endian number at an offset.
fn number<N: BigEndian<SIZE>, const SIZE: usize>(bytes: &[u8], at: usize) -> Option<N> {
    let bytes = bytes.get(at..at.checked_add(SIZE)?)?;
    Some(N::from(bytes.try_into().ok()?))
}

trait BigEndian<const SIZE: usize> {
    fn from(bytes: [u8; SIZE]) -> Self;
}

impl BigEndian<2> for u16 {
    fn from(bytes: [u8; 2]) -> Self {
        Self::from_be_bytes(bytes)
    }
}

impl BigEndian<4> for u32 {
    fn from(bytes: [u8; 4]) -> Self {
        Self::from_be_bytes(bytes)
    }
}

impl BigEndian<8> for u64 {
    fn from(bytes: [u8; 8]) -> Self {
        Self::from_be_bytes(bytes)
    }
}
