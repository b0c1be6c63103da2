//! The histories that the command line names: files, directories, standard input, one after the other.

use std::ffi::OsStr;
use std::fs::{DirEntry, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use history::format::{self, Format, InputError, ReadOptions, Reader};
use history::{History, visible};

use crate::flags::Reading;
use crate::progress::Progress;

/// One thing that the reader found, in the order in which the command line names the files.
pub(crate) enum Found {
    /// A history.
    History(Box<Input>),
    /// A history that cannot be read. It has a number, as the other histories of the file have.
    Bad {
        /// The file.
        file: Arc<str>,
        /// Its number in the file, from 0.
        number: u32,
        /// What is wrong.
        error: InputError,
    },
    /// A file that cannot be read at all.
    Unreadable {
        /// The file.
        file: Arc<str>,
        /// What is wrong.
        message: String,
    },
}

/// The files that a directory of a Jepsen store has besides its history.
const OF_A_STORE: [&str; 7] =
    ["jepsen.log", "results.edn", "history.txt", "test.fressian", "test.jepsen", "test.edn", "timeline.html"];

/// A history and where it comes from.
pub(crate) struct Input {
    /// The history itself.
    pub(crate) history: History,
    /// The file, as it was named.
    pub(crate) file: Arc<str>,
    /// The format that it was read in.
    pub(crate) format: Option<Format>,
    /// Its number in the file, from 0.
    pub(crate) number: u32,
    /// Whether the file holds other histories, or may hold some.
    pub(crate) several: bool,
    /// Its number in the whole run, from 0: over all files in their order.
    pub(crate) in_run: u64,
    /// How long reading it took.
    pub(crate) parsing: Duration,
}

impl Input {
    /// `FILE` or `FILE#k`, as it is shown.
    pub(crate) fn label(&self) -> String {
        let file = visible(&self.file);
        if self.several { format!("{file}#{}", self.number) } else { file.into_owned() }
    }

    /// The name that the history has been given.
    pub(crate) fn name(&self) -> Option<&str> {
        self.history.name()
    }
}

impl Reading {
    /// The flags as options of the parsers.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions { format: self.format, object: self.object, initial: self.initial.clone() }
    }
}

/// Reads all `files` and directories, and hands everything in them to `found`, until `found` breaks.
pub(crate) fn visit(
    files: &[PathBuf],
    options: &ReadOptions,
    progress: &Progress,
    found: &mut impl FnMut(Found) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut in_run = 0;
    for path in files {
        if path.is_dir() {
            visit_directory(path, options, progress, &mut in_run, found)?;
        } else {
            let (path, only) = selected(path);
            visit_file(path, only, options, progress, &mut in_run, found)?;
        }
    }
    ControlFlow::Continue(())
}

fn visit_directory(
    directory: &Path,
    options: &ReadOptions,
    progress: &Progress,
    in_run: &mut u64,
    found: &mut impl FnMut(Found) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut unreadable = |path: &Path, message: String| found(Found::Unreadable { file: name(path), message });
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = match std::fs::read_dir(&directory).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(entries) => entries,
            Err(error) => {
                unreadable(&directory, error.to_string())?;
                continue;
            }
        };
        if let Some(history) = history_of_store(&entries) {
            files.push(history);
            continue;
        }
        for entry in entries {
            // A link to a directory is not followed: it may lead in a circle.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(entry.path());
                continue;
            }
            match std::fs::metadata(entry.path()) {
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                Ok(_) => {}
                Err(error) => unreadable(&entry.path(), format!("this link leads nowhere: {error}"))?,
            }
        }
    }
    files.sort();
    let mut is_empty = true;
    for path in &files {
        match format::looks_like_history(path) {
            Ok(false) => continue,
            Ok(true) => visit_file(path, None, options, progress, in_run, found)?,
            Err(error) => found(Found::Unreadable { file: name(path), message: error.to_string() })?,
        }
        is_empty = false;
    }
    if is_empty {
        found(Found::Unreadable { file: name(directory), message: "there is no history below this".to_owned() })?;
    }
    ControlFlow::Continue(())
}

/// The history of a directory in which Jepsen stored a test. The other files there repeat it in other formats.
fn history_of_store(entries: &[DirEntry]) -> Option<PathBuf> {
    let find = |name: &str| entries.iter().map(DirEntry::path).find(|path| path.file_name() == Some(OsStr::new(name)));
    let history = ["history.edn", "history.edn.gz", "history.edn.zst"].into_iter().find_map(find)?;
    OF_A_STORE.into_iter().any(|name| find(name).is_some()).then_some(history)
}

fn name(path: &Path) -> Arc<str> {
    path.display().to_string().into()
}

/// The histories of a file, or of standard input for `-`. `progress` shows how much of the file has been read.
pub(crate) fn open(path: &Path, options: &ReadOptions, progress: &Progress) -> io::Result<Reader> {
    if path == Path::new("-") {
        return Ok(format::read(Box::new(io::stdin()), options));
    }
    if progress.is_none() {
        return format::open(path, options);
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let options = ReadOptions { format: options.format.or_else(|| Format::from_path(path)), ..options.clone() };
    Ok(format::read_sized(progress.of(file, size), Some(size), options))
}

/// A file, and which of its histories is meant: all of them or, for `FILE#k`, only number k. If there is a file whose
/// name really is `FILE#k`, that file is meant.
pub(crate) fn selected(path: &Path) -> (&Path, Option<u32>) {
    let selected = path.to_str().and_then(|name| name.rsplit_once('#')).and_then(|(file, number)| {
        let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
        let number = number.parse().ok().filter(|_| is_number)?;
        let is_there = Path::new(file).exists() && !Path::new(file).is_dir();
        (is_there && path.symlink_metadata().is_err()).then_some((Path::new(file), Some(number)))
    });
    selected.unwrap_or((path, None))
}

/// Why `FILE#k` selects nothing.
pub(crate) fn none_selected(number: u32, count: u32) -> String {
    match count {
        1 => format!("there is no history {number} in this file: the only one is number 0"),
        _ => format!("there is no history {number} in this file: it holds {count}, numbered from 0"),
    }
}

/// Visits the histories of a file; if `only` is given, only the history with that number.
fn visit_file(
    path: &Path,
    only: Option<u32>,
    options: &ReadOptions,
    progress: &Progress,
    in_run: &mut u64,
    found: &mut impl FnMut(Found) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let file = name(path);
    let begin = Instant::now();
    let mut reader = match open(path, options, progress) {
        Ok(reader) => reader,
        Err(error) => return found(Found::Unreadable { file, message: error.to_string() }),
    };
    let opening = begin.elapsed();
    let format = reader.format();
    let mut next = || {
        let begin = Instant::now();
        reader.next().map(|result| (result, begin.elapsed()))
    };
    let Some((first, parsing)) = next() else {
        let message = "this holds no history: there is no operation in it".to_owned();
        return found(Found::Unreadable { file, message });
    };
    let second = next();
    let several = second.is_some() || only.is_some();
    let first = (first, parsing + opening);
    let rest = second.into_iter().chain(std::iter::from_fn(next));
    let mut count = 0;
    for (number, (result, parsing)) in (0..).zip(std::iter::once(first).chain(rest)) {
        count = number + 1;
        if only.is_some_and(|only| only != number) {
            continue;
        }
        let file = Arc::clone(&file);
        found(match result {
            Ok(history) => {
                let in_run = *in_run;
                Found::History(Box::new(Input { history, file, format, number, several, in_run, parsing }))
            }
            Err(error) => Found::Bad { file, number, error },
        })?;
        *in_run += 1;
        if only.is_some() {
            return ControlFlow::Continue(());
        }
    }
    match only {
        None => ControlFlow::Continue(()),
        Some(number) => found(Found::Unreadable { file, message: none_selected(number, count) }),
    }
}
