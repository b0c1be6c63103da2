//! The text of the monitored histories, for certificates. Each history is kept up to the event that made its violation
//! certain.
//!
//! The text is kept on disk, in the file that `--record` names. Without `--record`, it is kept in a temporary file if
//! certificates are wanted. If the input is a file that can be read again, nothing is kept. (A followed file may be
//! replaced, so it cannot.)

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::flags::Monitor;

/// Where the text is.
enum Text {
    /// Nowhere, since no certificate is wanted.
    Nowhere,
    /// In the input file.
    Input(PathBuf),
    /// In this file.
    Own(File),
}

/// The record of a run. See the module.
pub(super) struct Record {
    text: Text,
    length: u64,
}

impl Record {
    /// The record that the flags ask for, continued at `length`.
    pub(super) fn open(flags: &Monitor, length: u64) -> io::Result<Self> {
        let text = if let Some(path) = &flags.record {
            let named = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
            let mut file =
                OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).map_err(named)?;
            if file.metadata().map_err(named)?.len() < length {
                return Err(named(io::Error::other("the record is shorter than when the checkpoint was made")));
            }
            file.set_len(length).map_err(named)?;
            file.seek(SeekFrom::End(0)).map_err(named)?;
            Text::Own(file)
        } else if flags.certificate.is_none() {
            Text::Nowhere
        } else if flags.listen.is_none() && !flags.follow && flags.file != Path::new("-") {
            Text::Input(flags.file.clone())
        } else if length > 0 {
            return Err(io::Error::other("the text before the checkpoint is not recorded: use --record"));
        } else {
            Text::Own(tempfile::tempfile()?)
        };
        Ok(Self { text, length })
    }

    /// The length of the record in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Text::Own(file) = &mut self.text {
            file.write_all(bytes)?;
            self.length += bytes.len() as u64;
        }
        Ok(())
    }

    /// Writes the record to the disk. Returns its length.
    pub(super) fn sync(&mut self) -> io::Result<u64> {
        if let Text::Own(file) = &mut self.text {
            file.sync_data()?;
        }
        Ok(self.length)
    }

    /// The text of a history. It begins at `start` in the record. In the stream, it is from `from` to `to`.
    pub(super) fn history(&mut self, start: u64, [from, to]: [u64; 2]) -> io::Result<Box<dyn Read + Send>> {
        let (mut file, from, to) = match &self.text {
            Text::Nowhere => return Err(io::Error::other("nothing was recorded")),
            Text::Input(path) => (File::open(path)?, from, to),
            Text::Own(file) => (file.try_clone()?, start, self.length),
        };
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        (&mut file).take(to - from).read_to_end(&mut text)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Box::new(io::Cursor::new(text)))
    }
}
