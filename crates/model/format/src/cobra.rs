//! Logs of Cobra: a folder with a file `*.log` for each session, records in binary, the highest byte first.
//!
//! `S` transaction, `W` write-id key hash, `R` writer write-id key hash, `C` transaction; all are signed numbers of
//! eight bytes. With [timestamps](super::Format::CobraTimed), one more number comes after `S` and `C`. The value is the
//! write-id, which is unique in the history. Two special writers stand for the initial value. Reads of the fence key
//! are dropped. A log may be empty. A transaction without `C` is one of which nobody knows the end.

use history::value::quote;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use super::binary::Bytes;
use super::builder::Preset;
use super::error::InputError;
use super::input::Input;
use super::untimed::{Initial, OwnTransaction, Untimed};
use history::history::History;
use history::transactions::Status;

/// The writers, and the write-ids, that stand for the initial value.
const INITIAL: [i64; 2] = [0xbebe_ebee, 0xdead_beef];
/// The write-ids of the fence key, by the first of the writers above.
const FENCES: [i64; 2] = [0x2333_2333, 0x6666_6666];

/// Reads the one history of a folder.
pub(super) struct CobraReader {
    logs: Vec<Log>,
    preset: Preset,
    has_timestamps: bool,
    is_done: bool,
}

/// One log: its name, and how to open it.
pub(super) struct Log {
    pub name: String,
    pub open: Box<dyn FnOnce() -> io::Result<Box<dyn Read + Send>> + Send>,
}

/// The logs among what a folder holds, sorted by name: shorter names first, so that `T2` is before `T10`.
pub(super) fn logs(entries: &[PathBuf]) -> Vec<Log> {
    let is_log = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "log") && path.is_file();
    let mut paths: Vec<PathBuf> = entries.iter().filter(is_log).cloned().collect();
    paths.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    let log = |path: PathBuf| Log {
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        open: Box::new(move || Ok(Box::new(File::open(path)?))),
    };
    paths.into_iter().map(log).collect()
}

/// Whether what a folder holds are logs of Cobra: some `*.log` begins like one, and all others do, or are empty.
pub(super) fn is_cobra(entries: &[PathBuf]) -> bool {
    let mut count = 0;
    for log in logs(entries) {
        let mut head = Vec::new();
        if (log.open)().and_then(|file| file.take(18).read_to_end(&mut head)).is_err() {
            return false;
        }
        match head.first() {
            None => continue,
            Some(b'S') => {}
            Some(_) => return false,
        }
        let is_record = |at: usize| head.get(at).is_none_or(|byte| b"SWRC".contains(byte));
        if head.len() < 9 || !(is_record(9) || is_record(17)) {
            return false;
        }
        count += 1;
    }
    count > 0
}

impl CobraReader {
    pub fn new(logs: Vec<Log>, preset: Preset, has_timestamps: bool) -> Self {
        Self { logs, preset, has_timestamps, is_done: false }
    }

    /// The one history.
    pub fn next(&mut self) -> Option<Result<History, InputError>> {
        (!std::mem::replace(&mut self.is_done, true)).then(|| self.read())
    }

    fn read(&mut self) -> Result<History, InputError> {
        let mut untimed = Untimed::new(&self.preset);
        for log in std::mem::take(&mut self.logs) {
            let input = (log.open)().map_err(|error| {
                let message = format!("{} cannot be read: {error}", history::visible(&log.name));
                InputError { line: 0, column: 0, text: String::new(), message, expected: None }
            })?;
            let stem = log.name.strip_suffix(".log").unwrap_or(&log.name);
            let session = untimed.word(if stem.is_empty() { "log" } else { stem });
            let session = untimed.session(session);
            let mut bytes = Bytes::new(Input::new(input, None, &self.preset.allowance)?, log.name.clone());
            let mut open: Option<(OwnTransaction, i64)> = None;
            loop {
                untimed.check_memory(&mut bytes.input, 0)?;
                let at = bytes.position();
                let Some(kind) = bytes.next()? else { break };
                if kind == b'S' && open.is_none() {
                    let number = bytes.big("the number of a transaction")?;
                    let status = Status::Indeterminate;
                    let place = untimed.transaction(session, status, 0).map_err(|fault| bytes.fault(&fault))?;
                    self.timestamp(&mut untimed, &mut bytes, place, 0)?;
                    open = Some((place, number));
                    continue;
                }
                let Some((place, number)) = open.filter(|_| b"WRC".contains(&kind)) else {
                    return Err(self.unexpected(&bytes, kind, open.is_some(), at));
                };
                match kind {
                    b'W' => {
                        let [id, key, _] = numbers(&mut bytes, "a write")?;
                        let (key, value) = (untimed.signed(key), untimed.signed(id));
                        let key = untimed.key(key);
                        untimed.write(place, key, value, 0)
                    }
                    b'R' => {
                        let [writer, id, key, _] = numbers(&mut bytes, "a read")?;
                        if writer == INITIAL[0] && FENCES.contains(&id) {
                            continue;
                        }
                        let (key, value) = (untimed.signed(key), untimed.signed(id));
                        let key = untimed.key(key);
                        if INITIAL.contains(&writer) && INITIAL.contains(&id) {
                            untimed.read_initial(place, key, 0)
                        } else {
                            untimed.read(place, key, value, 0)
                        }
                    }
                    _ => {
                        if bytes.big("the number of a transaction")? != number {
                            return Err(bytes.error("this commits another transaction than the one that is open", at));
                        }
                        untimed.set_status(place, Status::Committed);
                        self.timestamp(&mut untimed, &mut bytes, place, 1)?;
                        open = None;
                        Ok(())
                    }
                }
                .map_err(|fault| bytes.fault(&fault))?;
            }
        }
        untimed.finish(Initial::Null)
    }

    fn timestamp(
        &self,
        untimed: &mut Untimed,
        bytes: &mut Bytes,
        place: OwnTransaction,
        end: usize,
    ) -> Result<(), InputError> {
        if self.has_timestamps {
            untimed.set_times(place, end, bytes.big("a timestamp")?);
        }
        Ok(())
    }

    fn unexpected(&self, bytes: &Bytes, kind: u8, is_open: bool, at: u64) -> InputError {
        let shown = quote(&[kind]);
        let message = match (kind, is_open) {
            (b'S', true) => "a transaction begins before the last one was committed".to_owned(),
            (b'W' | b'R' | b'C', false) => format!("{shown} outside of a transaction"),
            _ => format!("{shown} does not begin a record"),
        };
        let other = if self.has_timestamps { "cobra" } else { "cobra-timed" };
        let expected = Some(format!("a record `S`, `W`, `R` or `C`; or is this --format {other}?"));
        InputError { expected, ..bytes.error(&message, at) }
    }
}

fn numbers<const N: usize>(bytes: &mut Bytes, what: &str) -> Result<[i64; N], InputError> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = bytes.big(what)?;
    }
    Ok(numbers)
}
