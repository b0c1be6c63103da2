//! What a run can be continued from after it was killed.
//!
//! A checkpoint is the whole state of a session and how many bytes of the stream it has seen. The run that continues is given
//! the same stream from its beginning: of a file it goes on at that place, of standard input it passes over what comes again.
//! It takes in the rest as the first run would have, so it says what that would have said; violations that were told after
//! the checkpoint was made are told again.
//!
//! The file is replaced as a whole, so that there is always one that is complete; it has a checksum, the flags that matter, and
//! the last bytes before the place, by which another stream is recognised.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::session::Session;
use crate::flags::Monitor;

/// How a checkpoint begins, and its layout: another number whenever the state of a monitor is laid out in another way.
const MAGIC: &[u8] = b"seriatim checkpoint ";
const LAYOUT: &[u8] = b"3\n";
/// How many of the last bytes are kept.
const TAIL: usize = 4096;

/// A place in a stream.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Place {
    /// How many bytes come before it.
    pub(super) offset: u64,
    /// The last of them.
    tail: Vec<u8>,
}

impl Place {
    /// Moves on over these bytes.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
    }

    /// That the bytes before this place, which `read` reads, are those that were there.
    pub(super) fn check(&self, read: &mut dyn FnMut(&mut [u8]) -> io::Result<()>) -> io::Result<()> {
        let mut tail = vec![0; self.tail.len()];
        let other = || io::Error::other("this is not the stream that the checkpoint is about");
        read(&mut tail).map_err(|error| if error.kind() == io::ErrorKind::UnexpectedEof { other() } else { error })?;
        if tail == self.tail { Ok(()) } else { Err(other()) }
    }
}

#[derive(Deserialize)]
pub(super) struct Checkpoint {
    fingerprint: String,
    pub(super) session: Session,
    pub(super) place: Place,
    /// How long the record was.
    pub(super) record_length: u64,
}

#[derive(Serialize)]
struct Borrowed<'a> {
    fingerprint: String,
    session: &'a Session,
    place: &'a Place,
    record_length: u64,
}

/// What the state of a session depends on.
fn fingerprint(flags: &Monitor) -> String {
    format!(
        "{} {:?} {:?} {:?} {:?} {:?} {:?} {}",
        env!("CARGO_PKG_VERSION"),
        flags.model,
        flags.reading.object,
        flags.reading.format,
        flags.reading.initial,
        flags.algorithm,
        flags.threads,
        flags.keep_going
    )
}

impl Checkpoint {
    /// The checkpoint of that file, if there is one.
    pub(super) fn load(path: &Path, flags: &Monitor) -> io::Result<Option<Self>> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let damaged = || io::Error::other("this is not a checkpoint, or it is damaged");
        let other = || io::Error::other("the checkpoint was made with other flags, or by another version");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(damaged)?;
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

/// Writes a checkpoint, in the place of an older one.
pub(super) fn save(
    path: &Path,
    flags: &Monitor,
    session: &Session,
    place: &Place,
    record_length: u64,
) -> io::Result<()> {
    let borrowed = Borrowed { fingerprint: fingerprint(flags), session, place, record_length };
    let state = postcard::to_stdvec(&borrowed).map_err(io::Error::other)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new: PathBuf = path.with_file_name(name);
    let mut file = File::create(&new)?;
    file.write_all(MAGIC)?;
    file.write_all(LAYOUT)?;
    file.write_all(&Sha256::digest(&state))?;
    file.write_all(&state)?;
    file.sync_all()?;
    fs::rename(new, path)
}
