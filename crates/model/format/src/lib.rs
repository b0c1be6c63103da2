//! Every format in and out.
//!
//! | format | extension | corpus | what it is |
//! | --- | --- | --- | --- |
//! | [`Format::Text`] | `.hist` | `---` between histories | lines for people: `[0] w x 1`, `[1] call enqueue 5` |
//! | [`Format::JsonLines`] | `.jsonl` | a header before each | Jepsen's fields, one JSON object a line |
//! | [`Format::Edn`] | `.edn` | a header before each | Jepsen's histories, and its logs of older days |
//! | [`Format::Axe`] | `.axe` | `check` after each | memory traces of the axe checker |
//! | [`Format::Plume`] | `.txt` | | transactions of Plume, PolySI, IsoVista, AWDIT: `w(1,5,0,3)` |
//! | [`Format::Awdit`] | `.txt` | | transactions of AWDIT's tests: `w 1 5`; read only |
//! | [`Format::Dbcop`] | `.json`, `.hist` | | transactions of dbcop 0.2: JSON; its text is read only |
//! | [`Format::Bincode`] | `.bincode` | | transactions of dbcop's first version; read only |
//! | [`Format::Cobra`] | a folder | | transactions of Cobra, a file for each session; read only |
//! | [`Format::Parquet`] | `.parquet` | a column `history` | a row for each operation; with the feature `arrow` |
//! | [`Format::Arrow`] | `.arrow` | a column `history` | the same in Arrow IPC, as a file or a stream |
//! | [`Format::Porcupine`] | `.json`, a folder | | operations of Porcupine and of etcd's tests; read only |
//! | [`Format::Tipocket`] | `.log` | | calls and answers of tipocket; read only |
//!
//! A [`Reader`] is an iterator of histories. It holds one history in memory at a time, never the whole file.
//! Compression (gzip, zstd) is detected from the first bytes. The format is detected from the content, unless it is
//! given.
//!
//! Every parser keeps the invariants of [`history`]. It answers bad input with an [`InputError`], which says
//! where the input is bad. After an error, the reader continues with the next history of the file, if it can find where
//! that begins.
//!
//! ```
//! use format::{Format, ReadOptions, Writer, read};
//!
//! let text = "[0] w x 1\n---\n[0] w x 2\n";
//! let mut writer = Writer::new(Vec::new(), Format::JsonLines);
//! for history in read(Box::new(text.as_bytes()), &ReadOptions::default()) {
//!     writer.write(&history?)?;
//! }
//! let lines = String::from_utf8(writer.finish()?)?;
//! assert!(lines.contains(r#""f":"w""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod allowance;
mod awdit;
mod axe;
mod binary;
mod builder;
mod cobra;
mod columns;
mod csv;
mod dbcop;
mod detect;
mod edn;
mod error;
mod foreign;
#[doc(hidden)]
pub mod fuzz;
mod input;
mod intervals;
mod jepsen_log;
mod json;
mod kinds;
mod methods;
mod numbered;
mod numbers;
mod plume;
mod record;
mod room;
mod short;
mod sizes;
mod store;
pub mod stream;
mod string;
mod swar;
#[cfg(feature = "arrow")]
mod table;
mod text;
mod transactions;
mod untimed;
mod write;

use std::fs::File;
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use budget::Budget;

pub use detect::looks_like_history;
pub use error::InputError;
pub use kinds::Format;
pub use short::{ReadError, load, load_all, parse};
pub use write::{WriteError, Writer};

use allowance::Allowance;
use builder::Preset;
use error::Fault;
use history::history::{History, Object, OperationId};
use input::Input;

/// Is told how many bytes of a file have just been read.
pub type BytesRead = Arc<dyn Fn(u64) + Send + Sync>;

/// What is known about an input before it is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format. If it is `None`, it is detected from the content.
    pub format: Option<Format>,
    /// The object. It overrides the object that the file names.
    pub object: Option<Object>,
    /// The initial value of all keys for which the file names none. It is written as in text: `0`, `nil`, `"a b"`.
    pub initial: Option<String>,
    /// What reading may use. A history that does not fit into the memory limit is an error, and so is the rest of an
    /// input when the time is over or somebody cancels it.
    pub budget: Budget,
    /// How long one history may be read. What is left of an input when this time is over is an error.
    pub timeout: Option<Duration>,
}

/// The histories of one input.
pub struct Reader {
    format: Option<Format>,
    state: State,
    is_empty: bool,
    allowance: Allowance,
}

enum State {
    Text(text::TextReader),
    Intervals(intervals::IntervalReader),
    Csv(csv::CsvReader),
    JsonLines(json::JsonReader),
    JsonArray(json::ArrayReader),
    Edn(edn::EdnReader),
    JepsenLog(jepsen_log::LogReader),
    Axe(axe::AxeReader),
    Plume(plume::PlumeReader),
    Awdit(awdit::AwditReader),
    Dbcop(dbcop::DbcopReader),
    DbcopText(dbcop::DbcopTextReader),
    Bincode(dbcop::BincodeReader),
    Cobra(cobra::CobraReader),
    #[cfg(feature = "arrow")]
    Table(Box<table::TableReader>),
    Foreign(foreign::ForeignReader),
    /// The input as a whole is bad. The error is handed out once.
    Failed(Option<InputError>),
}

/// Reads the histories of an input. If the input as a whole is bad, the first item is the error.
///
/// ```
/// use format::{Format, ReadOptions, read};
///
/// let text = "[0] w x 1\n---\n[0] w x 2\n";
/// let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
/// let histories: Vec<_> = read(Box::new(text.as_bytes()), &options).collect::<Result<_, _>>()?;
/// assert_eq!(histories.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(input: Box<dyn Read + Send>, options: &ReadOptions) -> Reader {
    read_sized(input, None, options.clone())
}

/// Reads the histories of a file. The format is taken from the options, else from the extension, else from the content.
pub fn open(path: &Path, options: &ReadOptions) -> io::Result<Reader> {
    open_watched(path, options, None)
}

/// Like [`open`]. Whoever `watches` is told how much of the file is read.
pub fn open_watched(path: &Path, options: &ReadOptions, watch: Option<BytesRead>) -> io::Result<Reader> {
    let (input, options) = match Opened::of(path, options, watch)? {
        Opened::Input(input, options) => (input, options),
        Opened::Reader(reader) => return Ok(reader),
    };
    Ok(begin(input, options))
}

/// Like [`open_watched`], for a file that was found in a folder. `None` unless it [looks like a
/// history](looks_like_history).
pub fn open_found(path: &Path, options: &ReadOptions, watch: Option<BytesRead>) -> io::Result<Option<Reader>> {
    let (mut input, options) = match Opened::of(path, options, watch)? {
        Opened::Input(input, options) => (input, options),
        Opened::Reader(reader) => return Ok(Some(reader)),
    };
    let is_history = detect::has_known_extension(path) || input.as_mut().is_ok_and(detect::is_certain);
    Ok(is_history.then(|| begin(input, options)))
}

/// A file or a folder that is open.
#[allow(clippy::large_enum_variant)] // It is taken apart at once.
enum Opened {
    /// A file that is read from its beginning to its end.
    Input(Result<Input, InputError>, ReadOptions),
    /// A table, or a folder that is one history.
    Reader(Reader),
}

impl Opened {
    fn of(path: &Path, options: &ReadOptions, watch: Option<BytesRead>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return read_folder(&entries(path)?, options).map(Self::Reader);
        }
        let mut head = Vec::new();
        if metadata.is_file() {
            file.by_ref().take(TABLE_MAGIC).read_to_end(&mut head)?;
        }
        if let Some(format) = detect::table(&head)
            && options.format.is_none_or(Format::is_table)
        {
            file.rewind()?;
            return Ok(Self::Reader(read_table(TableInput::File(file, watch), format, options)));
        }
        let options = ReadOptions { format: options.format.or_else(|| Format::from_path(path)), ..options.clone() };
        let size = metadata.is_file().then_some(metadata.len());
        let whole = Cursor::new(head).chain(file);
        let whole: Box<dyn Read + Send> = match watch {
            None => Box::new(whole),
            Some(watch) => Box::new(Watched { file: whole, watch }),
        };
        Ok(Self::Input(Input::new(whole, size, &Allowance::new(&options)), options))
    }
}

/// How many bytes tell that a file is a table.
const TABLE_MAGIC: u64 = 8;

/// A file whose reading is watched.
struct Watched<R> {
    file: R,
    watch: BytesRead,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        (self.watch)(count as u64);
        Ok(count)
    }
}

/// The paths of all that a folder holds, in no order.
pub fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Whether a folder with these entries is one history: logs of Cobra, or the clients of a test of etcd.
pub fn is_history_folder(entries: &[PathBuf]) -> bool {
    cobra::is_cobra(entries) || !foreign::client_files(entries).is_empty()
}

/// Reads the one history of a folder.
fn read_folder(entries: &[PathBuf], options: &ReadOptions) -> io::Result<Reader> {
    if is_folder_format(options.format) || cobra::is_cobra(entries) {
        return Ok(read_cobra(cobra::logs(entries), options.format.unwrap_or(Format::Cobra), options));
    }
    let is_of_clients = options.format.is_none_or(|format| format == Format::Porcupine);
    if is_of_clients && !foreign::client_files(entries).is_empty() {
        return read_clients(entries, options);
    }
    Err(io::Error::new(io::ErrorKind::IsADirectory, "this is a directory"))
}

/// Where a table is. Its bytes are not read in their order.
enum TableInput {
    #[cfg_attr(not(feature = "arrow"), allow(dead_code))]
    File(File, Option<BytesRead>),
    #[cfg_attr(not(feature = "arrow"), allow(dead_code))]
    Memory(Vec<u8>),
}

/// Reads the histories of a table.
fn read_table(input: TableInput, format: Format, options: &ReadOptions) -> Reader {
    let allowance = Allowance::new(options);
    let state = match table_state(input, format, options, &allowance) {
        Ok(state) => state,
        Err(error) => State::Failed(Some(error)),
    };
    let is_empty = !matches!(state, State::Failed(_));
    Reader { format: Some(format), state, is_empty, allowance }
}

#[cfg(feature = "arrow")]
fn table_state(
    input: TableInput,
    format: Format,
    options: &ReadOptions,
    allowance: &Allowance,
) -> Result<State, InputError> {
    let chunks = match input {
        TableInput::Memory(bytes) => table::Chunks::of_memory(bytes),
        TableInput::File(file, watch) => table::Chunks::of_file(file, watch)
            .map_err(|error| Fault::new(0, format!("this cannot be read: {error}")).in_line(0, b""))?,
    };
    let open = || table::Batches::open(&chunks, format);
    Ok(State::Table(Box::new(table::TableReader::new(open, false, table_preset(format, options, allowance))?)))
}

#[cfg(feature = "arrow")]
fn table_preset(format: Format, options: &ReadOptions, allowance: &Allowance) -> Preset {
    let ReadOptions { object, initial, .. } = options.clone();
    Preset { format, object, initial, reads_sets: false, allowance: allowance.clone() }
}

/// Reads the histories of a table that comes batch by batch.
#[cfg(feature = "arrow")]
pub fn read_batches(
    batches: Box<dyn arrow_array::RecordBatchReader + Send>,
    rows: RowOrder,
    options: &ReadOptions,
) -> Reader {
    let (format, allowance) = (Format::Arrow, Allowance::new(options));
    let open = || match rows {
        RowOrder::Scattered => table::Gathered::new(batches).map(table::Batches::Gathered),
        RowOrder::Together | RowOrder::Apart => Ok(table::Batches::Given(batches)),
    };
    let opened = table::TableReader::new(open, rows == RowOrder::Apart, table_preset(format, options, &allowance));
    let is_empty = opened.is_ok();
    let state = match opened {
        Ok(reader) => State::Table(Box::new(reader)),
        Err(error) => State::Failed(Some(error)),
    };
    Reader { format: Some(format), state, is_empty, allowance }
}

#[cfg(not(feature = "arrow"))]
fn table_state(_: TableInput, format: Format, _: &ReadOptions, _: &Allowance) -> Result<State, InputError> {
    let fault = Fault::new(0, format!("this is {}, and Seriatim was built without the feature `arrow`", format.name()));
    Err(fault.expected("another format, or a build with `--features arrow`").in_line(0, b""))
}

/// Where the rows of a history are in a table.
#[cfg(feature = "arrow")]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Anywhere, so the whole table is read first.
    Scattered,
    /// One after the other. One batch is in memory at a time, and messages count the rows of the table.
    Together,
    /// One after the other, too, and messages count the rows of each history by itself.
    Apart,
}

/// The column that a table means by this name: `process` by `cpu`. None if the column is left alone. `type` may also
/// mean `f`.
#[cfg(feature = "arrow")]
pub fn column_named(name: &str) -> Option<&'static str> {
    table::column_named(name)
}

/// Like [`read`], for a content that is in memory.
///
/// ```
/// use format::{ReadOptions, read_bytes};
///
/// let history = read_bytes(b"[0] w x 1\n".to_vec(), &ReadOptions::default()).next().expect("one history")?;
/// assert_eq!(history.operations().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_bytes(content: Vec<u8>, options: &ReadOptions) -> Reader {
    let size = content.len() as u64;
    read_sized(Box::new(Cursor::new(content)), Some(size), options.clone())
}

/// Whether a history of this format is a folder.
fn is_folder_format(format: Option<Format>) -> bool {
    matches!(format, Some(Format::Cobra | Format::CobraTimed))
}

/// Reads the one history of some logs of Cobra.
fn read_cobra(logs: Vec<cobra::Log>, format: Format, options: &ReadOptions) -> Reader {
    let allowance = Allowance::new(options);
    let initial = options.initial.clone();
    let preset = Preset { format, object: None, initial, reads_sets: false, allowance: allowance.clone() };
    let reader = cobra::CobraReader::new(logs, preset, format == Format::CobraTimed);
    Reader { format: Some(format), state: State::Cobra(reader), is_empty: false, allowance }
}

/// Reads the one history of a folder with a file of operations for each client.
fn read_clients(entries: &[PathBuf], options: &ReadOptions) -> io::Result<Reader> {
    let allowance = Allowance::new(options);
    let ReadOptions { object, initial, .. } = options.clone();
    let format = Format::Porcupine;
    let preset = Preset { format, object, initial, reads_sets: false, allowance: allowance.clone() };
    let state = match foreign::read_clients(entries, preset)? {
        Ok(reader) => State::Foreign(reader),
        Err(error) => State::Failed(Some(error)),
    };
    Ok(Reader { format: Some(format), state, is_empty: false, allowance })
}

/// Like [`read`], for an input of known size. The reader can then reserve memory for the operations.
pub fn read_sized(input: Box<dyn Read + Send>, size: Option<u64>, options: ReadOptions) -> Reader {
    begin(Input::new(input, size, &Allowance::new(&options)), options)
}

fn begin(input: Result<Input, InputError>, options: ReadOptions) -> Reader {
    let named = options.format;
    let allowance = input.as_ref().map_or_else(|_| Allowance::default(), |input| input.allowance().clone());
    match input.and_then(|input| start(input, options)) {
        Ok((format, state)) => Reader { format: Some(format), state, is_empty: true, allowance },
        Err(error) => Reader { format: named, state: State::Failed(Some(error)), is_empty: false, allowance },
    }
}

fn start(mut input: Input, options: ReadOptions) -> Result<(Format, State), InputError> {
    input.skip_byte_order_mark()?;
    let format = match options.format {
        Some(format) => format,
        None => detect::detect(&mut input)?,
    };
    // The extension is the same, and the text of the one is never that of the other.
    let format = if format == Format::Text && detect::is_dbcop_text(&mut input)? { Format::Dbcop } else { format };
    if let (Some(object), Format::Plume | Format::Awdit | Format::Dbcop | Format::Bincode) = (options.object, format)
        && object != Object::Transactions
    {
        let message = format!("this format is one of transactions, and not of a {}", object.name());
        return Err(Fault::new(0, message).in_line(1, b""));
    }
    if format.is_table() {
        let options = ReadOptions { format: None, ..options };
        let allowance = input.allowance().clone();
        let bytes = input.into_bytes()?;
        return table_state(TableInput::Memory(bytes), format, &options, &allowance).map(|state| (format, state));
    }
    let reads_sets = options.object.is_none() && detect::reads_sets(&mut input, format)?;
    let ReadOptions { object, initial, .. } = options;
    let preset = Preset { format, object, initial, reads_sets, allowance: input.allowance().clone() };
    let state = match format {
        Format::Text if detect::is_table(&mut input)? => match preset.object {
            None | Some(Object::Memory) => {
                State::Csv(csv::CsvReader::new(input, Preset { object: Some(Object::Memory), ..preset }))
            }
            Some(other) => {
                let message = format!("a table of loads and stores is of a memory, not of a {}", other.name());
                return Err(Fault::new(0, message).in_line(1, b""));
            }
        },
        Format::Text if detect::is_variant(&mut input)? => {
            State::Intervals(intervals::IntervalReader::new(input, preset))
        }
        Format::Plume => State::Plume(plume::PlumeReader::new(input, preset)),
        Format::Awdit => State::Awdit(awdit::AwditReader::new(input, preset)),
        Format::Dbcop if detect::is_json(&mut input)? => State::Dbcop(dbcop::DbcopReader::new(input, preset)),
        Format::Dbcop => State::DbcopText(dbcop::DbcopTextReader::new(input, preset)),
        Format::Bincode => State::Bincode(dbcop::BincodeReader::new(input, preset)),
        Format::Cobra | Format::CobraTimed => {
            let fault = Fault::new(0, "a history of Cobra is a folder, and this is a file");
            return Err(fault.expected("the folder with a file `*.log` for each session").in_line(0, b""));
        }
        Format::Porcupine => {
            State::Foreign(foreign::ForeignReader::new(vec![(None, input)], preset, foreign::Tool::Porcupine))
        }
        Format::Tipocket => {
            State::Foreign(foreign::ForeignReader::new(vec![(None, input)], preset, foreign::Tool::Tipocket))
        }
        Format::Text => State::Text(text::TextReader::new(input, preset)),
        Format::JsonLines if detect::is_variant(&mut input)? => State::JsonArray(json::ArrayReader::new(input, preset)),
        Format::JsonLines => State::JsonLines(json::JsonReader::new(input, preset)),
        Format::Edn if detect::is_variant(&mut input)? => State::JepsenLog(jepsen_log::LogReader::new(input, preset)),
        Format::Edn => State::Edn(edn::EdnReader::new(input, preset)),
        Format::Axe => match preset.object {
            None | Some(Object::Memory) => {
                State::Axe(axe::AxeReader::new(input, Preset { object: Some(Object::Memory), ..preset }))
            }
            Some(other) => {
                let message = format!("an axe trace is of a memory, not of a {}", other.name());
                return Err(Fault::new(0, message).in_line(1, b""));
            }
        },
        // Tables were read above.
        Format::Parquet | Format::Arrow => State::Failed(None),
    };
    Ok((format, state))
}

impl Reader {
    /// The format that was given or detected; `None` if it was not recognised.
    pub fn format(&self) -> Option<Format> {
        self.format
    }

    /// What the column `history` of a table says of the history, or of the error, that was handed out last.
    pub fn id(&self) -> Option<String> {
        match &self.state {
            #[cfg(feature = "arrow")]
            State::Table(reader) => reader.id(),
            _ => None,
        }
    }

    /// What the reader has left out of the histories so far, in words: `compactions: 3`. It never changes a verdict for
    /// the worse: without it, a history satisfies what it satisfied.
    pub fn dropped(&self) -> Vec<String> {
        match &self.state {
            State::Foreign(reader) => reader.dropped(),
            _ => Vec::new(),
        }
    }
}

impl Iterator for Reader {
    type Item = Result<History, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.allowance.renew();
        let next = match &mut self.state {
            State::Text(reader) => reader.next(),
            State::Intervals(reader) => reader.next(),
            State::Csv(reader) => reader.next(),
            State::JsonLines(reader) => reader.next(),
            State::JsonArray(reader) => reader.next(),
            State::Edn(reader) => reader.next(),
            State::JepsenLog(reader) => reader.next(),
            State::Axe(reader) => reader.next(),
            State::Plume(reader) => reader.next(),
            State::Awdit(reader) => reader.next(),
            State::Dbcop(reader) => reader.next(),
            State::DbcopText(reader) => reader.next(),
            State::Bincode(reader) => reader.next(),
            State::Cobra(reader) => reader.next(),
            #[cfg(feature = "arrow")]
            State::Table(reader) => reader.next(),
            State::Foreign(reader) => reader.next(),
            State::Failed(error) => error.take().map(Err),
        };
        let was_empty = std::mem::take(&mut self.is_empty);
        if next.is_none() {
            if !matches!(self.state, State::Foreign(_)) {
                self.state = State::Failed(None);
            }
            if was_empty {
                let fault = Fault::new(0, "no history in this file").expected("at least one operation");
                return Some(Err(fault.in_line(1, b"")));
            }
        }
        next
    }
}

impl std::iter::FusedIterator for Reader {}

/// An operation in one line, in the style of the text format: `[1] u.acqrel x 1 7`, `[2] dequeue => 5`. An unknown
/// value of an operation that did not return is shown as `?`.
///
/// ```
/// use format::render_operation;
/// use history::{History, OperationId};
///
/// let history = format::parse("[2] call dequeue\n[2] return 5\n")?;
/// assert_eq!(render_operation(&history, OperationId(0)), "[2] dequeue => 5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn render_operation(history: &History, id: OperationId) -> String {
    let line = text::operation_line(history, id, &write::Labels::existing());
    String::from_utf8_lossy(&line).into_owned()
}

/// The same without its process, for a table that has a column for each process: `u.acqrel x 1 7`, `dequeue => 5`.
///
/// ```
/// use format::render_action;
/// use history::{History, OperationId};
///
/// let history = format::parse("[2] call dequeue\n[2] return 5\n")?;
/// assert_eq!(render_action(&history, OperationId(0)), "dequeue => 5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn render_action(history: &History, id: OperationId) -> String {
    let line = text::action_line(history, id, &write::Labels::existing());
    String::from_utf8_lossy(&line).into_owned()
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
