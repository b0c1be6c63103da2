//! The text of the monitored histories, for certificates. Each history is kept up to the event that made its violation
//! certain.
//!
//! The text is kept on disk, in the file that `--record` names, or beside the checkpoint of a client. Otherwise it is
//! kept in a temporary file if certificates are wanted. If the input is a file that can be read again, nothing is kept.
//! (A followed file may be replaced, so it cannot.) If only the page of `--metrics` wants it, the last history is kept,
//! as long as it is not longer than [`MOST_TO_DRAW`].

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::flags::Monitor;

/// How many bytes of a history are kept for its drawing.
const MOST_TO_DRAW: u64 = 4 << 20;

/// Where the text is.
enum Text {
    /// Nowhere, since no certificate is wanted.
    Nowhere,
    /// In the input file.
    Input(PathBuf),
    /// In this file.
    Own(File),
    /// The current history only, in this file, until it is too long.
    Current { file: File, is_whole: bool },
}

/// The record of a run. See the module.
pub(super) struct Record {
    text: Text,
    length: u64,
}

impl Record {
    /// The record that the flags ask for, continued at `length`.
    pub(super) fn open(flags: &Monitor, path: Option<&Path>, length: u64) -> io::Result<Self> {
        let text = if let Some(path) = path {
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
            let file = flags.metrics.as_ref().and_then(|_| tempfile::tempfile().ok());
            // What came before a checkpoint is gone.
            let text = file.map_or(Text::Nowhere, |file| Text::Current { file, is_whole: length == 0 });
            return Ok(Self { text, length: 0 });
        } else if flags.listen.is_empty() && !flags.follow && flags.file != Path::new("-") {
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

    /// Whether there is text for a drawing only, and not for certificates.
    pub(super) fn is_to_draw(&self) -> bool {
        matches!(self.text, Text::Current { .. })
    }

    /// A new history begins.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if let Text::Current { file, is_whole } = &mut self.text {
            *is_whole = true;
            self.length = 0;
            file.set_len(0)?;
            file.rewind()?;
        }
        Ok(())
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.text {
            Text::Own(file) => file.write_all(bytes)?,
            Text::Current { file, is_whole } if *is_whole => {
                // A drawing can be missed: if the disk is full, the run goes on without it.
                *is_whole = self.length + bytes.len() as u64 <= MOST_TO_DRAW && file.write_all(bytes).is_ok();
                if !*is_whole {
                    return file.set_len(0);
                }
            }
            _ => return Ok(()),
        }
        self.length += bytes.len() as u64;
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
            Text::Current { file, is_whole: true } => (file.try_clone()?, 0, self.length),
            Text::Current { .. } => return Err(io::Error::other("the history is too long to be drawn")),
        };
        let mut text = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        (&mut file).take(to - from).read_to_end(&mut text)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Box::new(io::Cursor::new(text)))
    }
}
