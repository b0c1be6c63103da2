//! The state of a run of `check`, in a file: a log of what was decided. A run that was stopped goes on from it.
//!
//! ```text
//! file  = "seriatim state 1\n" frame*
//! frame = length of the body (u32, little-endian), CRC-32 of that length and the body (u32), body
//! body  = 0 header | 1 place, printout | 2 end        (a byte for the kind; then postcard)
//! ```
//!
//! The header says what the run is: the version of the command, the flags that matter, the corpus and the shard. A
//! printout is all that is printed about one input, so that a resumed run prints the whole corpus. The end says that
//! the run is finished.
//!
//! Frames are only appended. A worker appends all that it decided of a lot in one call to the system, before any of it
//! is printed. So a process that is killed loses what its workers were busy with, and nothing else: what the system has
//! taken stays, even if the process ends. For the case that the machine itself goes down, the file is synchronised with
//! the disk when it is made, then every few seconds, and at the end.
//!
//! Invariant: the file is true up to the first frame that is cut off or has a wrong checksum. The rest is cut off and
//! decided again. So damage costs work, and never a verdict.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::corpus::{Corpus, CorpusPlace, Shard};
use super::job::Printout;

/// The beginning of the file. The number is that of the layout.
const MAGIC: &[u8] = b"seriatim state 1\n";
/// The bytes of a frame before its body.
const HEAD: usize = 8;
/// A longer body is damage.
const LONGEST: usize = 1 << 30;
/// The file is synchronised with the disk when this time has gone by.
const SYNC: Duration = Duration::from_secs(5);
/// How much is read at a time to find recorded printouts again.
const WINDOW: usize = 1 << 18;

const HEADER: u8 = 0;
const TOLD: u8 = 1;
const END: u8 = 2;

/// What a run is. A state is of use only to the same run.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) version: String,
    /// The flags that matter, and their values.
    pub(crate) flags: Vec<(String, String)>,
    pub(crate) corpus: Corpus,
    pub(crate) shard: Shard,
}

impl Header {
    /// Whether a flag was given.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.value(flag).is_some()
    }

    fn value(&self, flag: &str) -> Option<&str> {
        self.flags.iter().find(|(name, _)| name == flag).map(|(_, value)| value.as_str())
    }

    /// In what `other` is another run, in words; none if it is the same but for the shard.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if self.version != other.version {
            return Some(format!("with seriatim {} and not {}", self.version, other.version));
        }
        let names = self.flags.iter().chain(&other.flags).map(|(name, _)| name);
        for name in names {
            let [here, there] = [self, other].map(|header| match header.value(name) {
                None => format!("without {name}"),
                Some("") => format!("with {name}"),
                Some(value) => format!("with {name} {value}"),
            });
            if here != there {
                return Some(format!("{here} and not {there}"));
            }
        }
        let (here, there) = (&self.corpus, &other.corpus);
        (here != there).then(|| format!("from another corpus: {here} and not {there}"))
    }
}

/// How a finished run ended.
#[derive(Copy, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    /// How many inputs were told.
    pub(crate) told: u64,
    /// The violation at which the run was to stop (`--first`).
    pub(crate) stopped: Option<CorpusPlace>,
}

/// What a file has recorded.
pub(crate) struct Recorded {
    /// Where the frame of each input begins, in the order of the inputs.
    index: Vec<(CorpusPlace, u64)>,
    pub(crate) end: Option<End>,
    window: Mutex<Window>,
}

impl Recorded {
    /// Where an input is recorded.
    pub(crate) fn find(&self, place: CorpusPlace) -> Option<u64> {
        self.index.binary_search_by_key(&place, |&(place, _)| place).ok().map(|at| self.index[at].1)
    }

    /// All inputs, in their order.
    pub(crate) fn places(&self) -> &[(CorpusPlace, u64)] {
        &self.index
    }

    /// The printout in the frame that begins at `offset`.
    pub(crate) fn read(&self, offset: u64) -> io::Result<Printout> {
        let (_, printout) = decode::<(CorpusPlace, Printout)>(lock(&self.window).body(offset)?)?;
        Ok(printout)
    }

    /// Reads a file. Returns its header and the length of its true part; no header if the file holds nothing yet.
    pub(crate) fn load(path: &Path) -> io::Result<(Option<Header>, Self, u64)> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut reader = BufReader::with_capacity(WINDOW, &file);
        let mut magic = Vec::new();
        reader.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        let other = || io::Error::other("this is not the state of a run of `seriatim check`");
        if !MAGIC.starts_with(&magic) {
            return Err(other());
        }
        let (mut header, mut end, mut index) = (None, None, Vec::new());
        let mut at = magic.len() as u64;
        let mut body = Vec::new();
        while next_frame(&mut reader, length - at, &mut body)? {
            match body.first() {
                Some(&HEADER) if header.is_none() => header = Some(decode::<Header>(&body)?),
                Some(&TOLD) if header.is_some() => index.push((decode::<CorpusPlace>(&body)?, at)),
                Some(&END) if header.is_some() => end = Some(decode::<End>(&body)?),
                _ => return Err(other()),
            }
            at += (HEAD + body.len()) as u64;
        }
        if header.is_none() {
            // A header is written at once, so a longer file was never a state.
            if length > (MAGIC.len() + HEAD + WINDOW) as u64 {
                return Err(other());
            }
            at = 0;
        }
        index.sort_by_key(|&(place, _)| place);
        index.dedup_by_key(|(place, _)| *place);
        let window = Mutex::new(Window { file, begin: 0, bytes: Vec::new() });
        Ok((header, Self { index, end, window }, at))
    }
}

/// The state of a run that is going on.
pub(crate) struct RunState {
    path: PathBuf,
    pub(crate) recorded: Recorded,
    out: Mutex<Log>,
}

struct Log {
    file: File,
    synced: Instant,
}

impl RunState {
    /// Opens the state of the run that `header` describes, or begins it. No other process may use the file meanwhile.
    pub(crate) fn open(path: &Path, header: &Header) -> io::Result<Self> {
        if path.metadata().is_ok_and(|data| !data.is_file()) {
            return Err(io::Error::other("a state is a file, and this is not a file"));
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        lock_file(&file)?;
        let (found, recorded, length) = Recorded::load(path)?;
        if let Some(found) = &found {
            if let Some(difference) = found.difference(header) {
                return Err(io::Error::other(format!("this state was made {difference}")));
            }
            if found.shard != header.shard {
                let message = format!("this is the state of shard {}, and not of {}", found.shard, header.shard);
                return Err(io::Error::other(message));
            }
        }
        if file.metadata()?.len() > length {
            file.set_len(length)?;
        }
        let mut log = Log { file, synced: Instant::now() };
        if found.is_none() {
            let mut bytes = MAGIC.to_vec();
            push_frame(&mut bytes, HEADER, header)?;
            log.file.write_all(&bytes)?;
            log.file.sync_all()?;
            sync_directory(path);
        }
        Ok(Self { path: path.to_owned(), recorded, out: Mutex::new(log) })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Records what a worker has decided.
    pub(crate) fn append<'a>(&self, told: impl Iterator<Item = (CorpusPlace, &'a Printout)>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (place, printout) in told {
            push_frame(&mut bytes, TOLD, &(place, printout))?;
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let mut log = lock(&self.out);
        log.file.write_all(&bytes)?;
        if log.synced.elapsed() > SYNC {
            log.file.sync_data()?;
            log.synced = Instant::now();
        }
        Ok(())
    }

    /// Records that the run is finished.
    pub(crate) fn finish(&self, end: End) -> io::Result<()> {
        if self.recorded.end == Some(end) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        push_frame(&mut bytes, END, &end)?;
        let mut log = lock(&self.out);
        log.file.write_all(&bytes)?;
        log.file.sync_data()
    }
}

/// The part of the file that was read last. Inputs are asked for almost in the order in which they were recorded.
struct Window {
    file: File,
    begin: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The body of the frame that begins at `offset`. Its checksum was compared before.
    fn body(&mut self, offset: u64) -> io::Result<&[u8]> {
        let head = self.bytes(offset, HEAD)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        Ok(&self.bytes(offset, HEAD + length)?[HEAD..])
    }

    fn bytes(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let is_inside = offset >= self.begin && offset + length as u64 <= self.begin + self.bytes.len() as u64;
        if !is_inside {
            self.file.seek(SeekFrom::Start(offset))?;
            self.bytes.clear();
            self.begin = offset;
            (&self.file).take(length.max(WINDOW) as u64).read_to_end(&mut self.bytes)?;
        }
        let start = (offset - self.begin) as usize;
        self.bytes.get(start..start + length).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a panic ends the process")
}

fn checksum(length: [u8; 4], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length);
    hasher.update(body);
    hasher.finalize()
}

fn push_frame(bytes: &mut Vec<u8>, kind: u8, content: &impl Serialize) -> io::Result<()> {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; HEAD]);
    bytes.push(kind);
    *bytes = postcard::to_extend(content, std::mem::take(bytes)).map_err(io::Error::other)?;
    let length = bytes.len() - start - HEAD;
    if length > LONGEST {
        return Err(io::Error::other("what is printed about one history is too long for a state"));
    }
    let length = (length as u32).to_le_bytes();
    let sum = checksum(length, &bytes[start + HEAD..]).to_le_bytes();
    bytes[start..start + 4].copy_from_slice(&length);
    bytes[start + 4..start + HEAD].copy_from_slice(&sum);
    Ok(())
}

/// Reads the next frame, of which at most `left` bytes are there. Returns whether it is whole and true.
fn next_frame(reader: &mut impl Read, left: u64, body: &mut Vec<u8>) -> io::Result<bool> {
    body.clear();
    if left < HEAD as u64 {
        return Ok(false);
    }
    let mut head = [0; HEAD];
    reader.read_exact(&mut head)?;
    let [length, sum] = [0, 4].map(|at| [head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let size = u32::from_le_bytes(length) as usize;
    if size > LONGEST || size as u64 > left - HEAD as u64 {
        return Ok(false);
    }
    reader.take(size as u64).read_to_end(body)?;
    Ok(body.len() == size && checksum(length, body) == u32::from_le_bytes(sum))
}

/// What a body has after its kind, or the beginning of that.
fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    let content = postcard::take_from_bytes(body.get(1..).unwrap_or_default());
    content.map(|(content, _)| content).map_err(|_| io::Error::other("a record of this state makes no sense"))
}

/// Makes sure that a new file is found after the machine went down. Where this cannot be done, the run goes on.
fn sync_directory(path: &Path) {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
}

/// Keeps other processes from writing to the same state. A system without such locks has none.
#[cfg(unix)]
pub(crate) fn lock_file(file: &File) -> io::Result<()> {
    match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(io::Error::other("another process is using this state")),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
pub(crate) fn lock_file(_: &File) -> io::Result<()> {
    Ok(())
}
