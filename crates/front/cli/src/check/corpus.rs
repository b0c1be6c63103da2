//! The corpus of a run: which inputs it has, whether it is the same as in another run, and how it is split.
//!
//! Every input has a place: the number of its file in the run, and its own number in that file. The places of a corpus
//! that did not change are the same in every run, whatever the number of jobs.
//!
//! `--shard i/n` deals the inputs like cards. If there are many files for each shard, whole files are dealt, and a
//! shard does not open the files of others. Otherwise single histories are dealt, and every shard reads all files.

use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::state::RunState;
use crate::input::{Found, Source, Sources};
use crate::pipeline;

/// Whole files are dealt if there are at least this many for each shard.
const FILES_OF_SHARD: u32 = 16;

/// The place of an input in the corpus.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct CorpusPlace {
    file: u32,
    number: u32,
}

/// A part of the corpus: number `number`, counted from 1, of `of` parts.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    pub(crate) number: u32,
    pub(crate) of: u32,
}

impl Shard {
    /// The whole corpus.
    pub(crate) const ALL: Self = Self { number: 1, of: 1 };

    fn has(self, card: u32) -> bool {
        card % self.of == self.number - 1
    }
}

impl Display for Shard {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if 1 <= number && number <= of => Ok(Self { number, of }),
            _ => Err("a shard is i/n, with i from 1 to n".to_owned()),
        }
    }
}

/// What tells a corpus from another: the names, sizes and contents of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Corpus {
    files: u32,
    bytes: u64,
    digest: [u8; 32],
}

impl Display for Corpus {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let files = if self.files == 1 { "file" } else { "files" };
        write!(f, "{} {files}, {} bytes, digest ", self.files, self.bytes)?;
        self.digest[..6].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Corpus {
    /// Reads all files once. A file that cannot be read is an input like others, and its name counts. An input that
    /// cannot be read twice is refused.
    pub(crate) fn of(sources: Sources<'_>) -> Result<Self, String> {
        let mut corpus = Self { files: 0, bytes: 0, digest: [0; 32] };
        let mut hasher = Sha256::new();
        for source in sources {
            if pipeline::Source::is_live(&source) {
                return Err(format!("{} cannot be read again, and --state needs files", source.name()));
            }
            let name = source.name();
            hasher.update((name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            if let Some(path) = source.path()
                && let Ok((size, sum)) = content(path)
            {
                hasher.update(size.to_le_bytes());
                hasher.update(sum.to_le_bytes());
                corpus.bytes += size;
            }
            corpus.files = corpus.files.checked_add(1).ok_or("there are more than 2^32 files")?;
        }
        corpus.digest = hasher.finalize().into();
        Ok(corpus)
    }
}

/// The size and the checksum of a file, or of all files of a directory and of the directories in it.
fn content(path: &Path) -> io::Result<(u64, u32)> {
    let mut hasher = crc32fast::Hasher::new();
    let mut size = 0;
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let list = |path: &Path| fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>();
        files = list(path)?;
        for directory in files.clone().iter().filter(|path| path.is_dir()) {
            files.extend(list(directory)?);
        }
        files.sort();
    }
    let mut buffer = vec![0; 1 << 16];
    for path in files.iter().filter(|path| path.is_file()) {
        let mut file = File::open(path)?;
        loop {
            let count = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(&buffer[..count]);
            size += count as u64;
        }
    }
    Ok((size, hasher.finalize()))
}

/// An input of this run, and what is to be done with it.
pub(crate) struct CorpusInput<'a> {
    pub(crate) place: CorpusPlace,
    pub(crate) task: Task<'a>,
}

pub(crate) enum Task<'a> {
    Check(Found),
    /// It was checked before. The state has its printout there.
    Recall(&'a RunState, u64),
}

/// The files of a corpus, of which a shard is wanted.
pub(crate) struct Shards<'a> {
    sources: Sources<'a>,
    /// How many files came before.
    files: u32,
    shard: Shard,
    /// Whether whole files are dealt.
    by_file: bool,
    state: Option<&'a RunState>,
}

impl<'a> Shards<'a> {
    pub(crate) fn new(
        sources: Sources<'a>,
        shard: Shard,
        corpus: Option<&Corpus>,
        state: Option<&'a RunState>,
    ) -> Self {
        let by_file = corpus.is_some_and(|corpus| corpus.files / FILES_OF_SHARD >= shard.of);
        Self { sources, files: 0, shard, by_file, state }
    }
}

impl<'a> Iterator for Shards<'a> {
    type Item = ShardedFile<'a>;

    fn next(&mut self) -> Option<ShardedFile<'a>> {
        loop {
            let source = self.sources.next()?;
            let file = self.files;
            self.files += 1;
            if self.by_file && !self.shard.has(file) {
                continue;
            }
            let shard = if self.by_file { Shard::ALL } else { self.shard };
            return Some(ShardedFile { source, next: CorpusPlace { file, number: 0 }, shard, state: self.state });
        }
    }
}

/// A file of the corpus: an iterator over those of its inputs that are wanted.
pub(crate) struct ShardedFile<'a> {
    source: Source<'a>,
    next: CorpusPlace,
    shard: Shard,
    state: Option<&'a RunState>,
}

impl<'a> Iterator for ShardedFile<'a> {
    type Item = CorpusInput<'a>;

    fn next(&mut self) -> Option<CorpusInput<'a>> {
        loop {
            let found = self.source.next()?;
            let place = self.next;
            self.next.number += 1;
            if !self.shard.has(place.file.wrapping_add(place.number)) {
                continue;
            }
            let recorded = self.state.and_then(|state| Some(Task::Recall(state, state.recorded.find(place)?)));
            return Some(CorpusInput { place, task: recorded.unwrap_or(Task::Check(found)) });
        }
    }
}

impl pipeline::Source for ShardedFile<'_> {
    fn is_live(&self) -> bool {
        pipeline::Source::is_live(&self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_some() {
        assert_eq!("2/3".parse(), Ok(Shard { number: 2, of: 3 }));
        for text in ["", "1", "0/3", "4/3", "1/0", "0/0", "-1/2", "1/2/3", "a/b", "1/99999999999"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_card_is_dealt_once() {
        for of in 1..9 {
            for card in 0..100 {
                assert_eq!((1..=of).filter(|&number| Shard { number, of }.has(card)).count(), 1);
            }
        }
    }
}
