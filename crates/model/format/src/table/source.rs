//! The batches of rows of a file, one after the other.

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::super::Format;
use super::chunks::{At, Chunks};
use super::gather::Gathered;

/// How many rows of Parquet are decoded at a time.
const BATCH: usize = 8192;

/// A part of the file that cannot be read.
pub(in super::super) struct Damage {
    pub message: String,
    /// Whether the rest can be read.
    pub has_more: bool,
}

/// The batches of a file.
pub(in super::super) enum Batches {
    Parquet(Box<Parquet>),
    File(Box<FileReader<std::io::BufReader<At>>>, usize),
    Stream(Box<StreamReader<std::io::BufReader<At>>>),
    /// Batches that are made elsewhere.
    Given(Box<dyn RecordBatchReader + Send>),
    /// A table that is in memory.
    Gathered(Gathered),
}

impl Batches {
    pub fn open(chunks: &Chunks, format: Format) -> Result<Self, String> {
        if format == Format::Parquet {
            let metadata = ArrowReaderMetadata::load(chunks, ArrowReaderOptions::new());
            let metadata = metadata.map_err(|error| format!("this is not Parquet, or it is cut off: {error}"))?;
            let chunks = chunks.clone();
            return Ok(Self::Parquet(Box::new(Parquet {
                chunks,
                metadata,
                group: 0,
                reader: None,
                rows: 0,
                first: 0,
            })));
        }
        let bad = |error| format!("this is not Arrow IPC, or it is cut off: {error}");
        let is_file = chunks.head().map_err(|error| error.to_string())?.starts_with(b"ARROW1");
        let reader = std::io::BufReader::new(chunks.from(0));
        Ok(if is_file {
            Self::File(Box::new(FileReader::try_new(reader, None).map_err(bad)?), 0)
        } else {
            Self::Stream(Box::new(StreamReader::try_new(reader, None).map_err(bad)?))
        })
    }

    pub fn schema(&self) -> SchemaRef {
        match self {
            Self::Parquet(parquet) => parquet.metadata.schema().clone(),
            Self::File(reader, _) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
            Self::Given(reader) => reader.schema(),
            Self::Gathered(gathered) => gathered.schema.clone(),
        }
    }

    /// The number that a row has in the table.
    pub fn number(&self, row: u64) -> u64 {
        match self {
            Self::Gathered(gathered) => gathered.number(row),
            _ => row,
        }
    }

    /// The next batch and, if it is known, the number of its first row, from 0.
    pub fn next(&mut self) -> Option<Result<(RecordBatch, Option<u64>), Damage>> {
        match self {
            Self::Parquet(parquet) => parquet.next(),
            Self::File(reader, index) => {
                let number = *index;
                *index += 1;
                let count = reader.num_batches();
                Some(match reader.next()? {
                    Ok(batch) => Ok((batch, None)),
                    Err(error) => {
                        let has_more = *index < count && reader.set_index(*index).is_ok();
                        Err(Damage { message: format!("batch {number} cannot be read: {error}"), has_more })
                    }
                })
            }
            Self::Stream(reader) => Some(match reader.next()? {
                Ok(batch) => Ok((batch, None)),
                Err(error) => Err(Damage { message: format!("the rest cannot be read: {error}"), has_more: false }),
            }),
            Self::Gathered(gathered) => gathered.next().map(|batch| Ok((batch, None))),
            Self::Given(reader) => Some(match reader.next()? {
                Ok(batch) => Ok((batch, None)),
                Err(error) => Err(Damage { message: format!("the rest cannot be read: {error}"), has_more: false }),
            }),
        }
    }
}

/// The row groups of a file of Parquet.
pub(in super::super) struct Parquet {
    chunks: Chunks,
    metadata: ArrowReaderMetadata,
    /// The current row group.
    group: usize,
    reader: Option<ParquetRecordBatchReader>,
    /// How many rows of it were read, and the number of its first row.
    rows: u64,
    first: u64,
}

impl Parquet {
    fn next(&mut self) -> Option<Result<(RecordBatch, Option<u64>), Damage>> {
        loop {
            let groups = self.metadata.metadata().num_row_groups();
            if self.group >= groups {
                return None;
            }
            if self.reader.is_none() {
                let builder =
                    ParquetRecordBatchReaderBuilder::new_with_metadata(self.chunks.clone(), self.metadata.clone());
                match builder.with_row_groups(vec![self.group]).with_batch_size(BATCH).build() {
                    Ok(reader) => self.reader = Some(reader),
                    Err(error) => return Some(Err(self.damage(&error))),
                }
            }
            match self.reader.as_mut().and_then(Iterator::next) {
                Some(Ok(batch)) => {
                    let first = self.first + self.rows;
                    self.rows += batch.num_rows() as u64;
                    return Some(Ok((batch, Some(first))));
                }
                Some(Err(error)) => return Some(Err(self.damage(&error))),
                // A group that ends early has lost rows.
                None if self.rows < self.size() => return Some(Err(self.damage(&"rows are missing"))),
                None => self.leave(),
            }
        }
    }

    /// How many rows the current row group has.
    fn size(&self) -> u64 {
        u64::try_from(self.metadata.metadata().row_group(self.group).num_rows()).unwrap_or(0)
    }

    /// Goes on to the next row group.
    fn leave(&mut self) {
        self.first += self.size();
        self.group += 1;
        self.rows = 0;
        self.reader = None;
    }

    fn damage(&mut self, error: &dyn std::fmt::Display) -> Damage {
        let (group, from, to) = (self.group, self.first + 1, self.first + self.size());
        self.leave();
        let has_more = self.group < self.metadata.metadata().num_row_groups();
        Damage { message: format!("row group {group} (rows {from} to {to}) cannot be read: {error}"), has_more }
    }

    /// Gives up the current row group, after a panic.
    pub fn abandon(&mut self) -> Damage {
        self.damage(&"the decoder panicked")
    }
}
