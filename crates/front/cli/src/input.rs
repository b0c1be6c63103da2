//! The histories that the command line names: files, directories, standard input, one after the other.

use std::collections::VecDeque;
use std::fs::DirEntry;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{io, mem};

use budget::Budget;
use format::{self, Format, InputError, ReadOptions, Reader};
use history::{History, visible};

use crate::flags::Reading;
use crate::panics;
use crate::pipeline::{self, Source as _};
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
    ["jepsen.log", "results.edn", PRINTED, "test.fressian", BLOCKS, "test.edn", "timeline.html"];
/// The file with the whole test. It has the history, too, and is taken if `history.edn` is not there.
const BLOCKS: &str = "test.jepsen";
/// The history as it was printed, which is taken if nothing else has it.
const PRINTED: &str = "history.txt";

/// A file of fewer bytes is small.
const SMALL: u64 = 1 << 16;

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

/// How long reading a history may take in any case. It is far more than any history of a test takes.
const LEAST_TO_READ: Duration = Duration::from_secs(1);

impl Reading {
    /// The flags as options of the parsers, which may use so much, and may read so long at one history.
    pub(crate) fn options(&self, budget: &Budget, timeout: Option<Duration>) -> ReadOptions {
        let (initial, budget) = (self.initial.clone(), budget.clone());
        // With hardly any time, a history is still read, so that its verdict is `unknown`, and not that it is
        // unreadable.
        let timeout = timeout.map(|timeout| timeout.max(LEAST_TO_READ));
        ReadOptions { format: self.format, object: self.object, initial, budget, timeout }
    }
}

/// Reads all `files` and directories, and hands everything in them to `found`, until `found` breaks.
pub(crate) fn visit(
    files: &[PathBuf],
    options: &ReadOptions,
    progress: &Progress,
    found: &mut impl FnMut(Found) -> ControlFlow<()>,
) -> ControlFlow<()> {
    Sources::new(files, options, progress).flatten().try_for_each(found)
}

/// The files that the command line names, one after the other, with those of directories. The files can be read at the
/// same time, but then [`Input::in_run`] has no meaning.
pub(crate) struct Sources<'a> {
    paths: std::slice::Iter<'a, PathBuf>,
    /// What is left of the last directory.
    of_directory: std::vec::IntoIter<Content>,
    context: Context<'a>,
}

/// What the files of a run share.
#[derive(Clone)]
struct Context<'a> {
    options: &'a ReadOptions,
    progress: &'a Progress,
    /// How many histories have been read.
    count: Arc<AtomicU64>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(files: &'a [PathBuf], options: &'a ReadOptions, progress: &'a Progress) -> Self {
        let context = Context { options, progress, count: Arc::default() };
        Self { paths: files.iter(), of_directory: Vec::new().into_iter(), context }
    }
}

impl<'a> Iterator for Sources<'a> {
    type Item = Source<'a>;

    fn next(&mut self) -> Option<Source<'a>> {
        loop {
            if let Some(content) = self.of_directory.next() {
                return Some(Source { content, context: self.context.clone() });
            }
            let path = self.paths.next()?;
            let is_forced = matches!(self.context.options.format, Some(Format::Cobra | Format::CobraTimed));
            if !is_forced && path.is_dir() {
                self.of_directory = of_directory(path).into_iter();
                continue;
            }
            let (path, only) = selected(path);
            let content = Content::File {
                path: path.to_owned(),
                only,
                is_certain: true,
                is_live: !path.is_file() && !path.is_dir(),
            };
            return Some(Source { content, context: self.context.clone() });
        }
    }
}

/// The files of a directory and below it that look like histories, and what cannot be read there. Only the first files
/// are looked at, up to the first history: whoever reads the others looks at them.
fn of_directory(directory: &Path) -> Vec<Content> {
    let mut listing = Listing::default();
    listing.add_directory(directory.to_owned());
    let Listing { files, faults: mut contents } = listing;
    let mut is_empty = true;
    for path in files {
        if is_empty {
            match format::looks_like_history(&path) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(error) => {
                    contents.push(unreadable(&path, error.to_string()));
                    is_empty = false;
                    continue;
                }
            }
        }
        contents.push(Content::File { path, only: None, is_certain: is_empty, is_live: false });
        is_empty = false;
    }
    if is_empty {
        contents.push(unreadable(directory, "there is no history below this".to_owned()));
    }
    contents
}

fn unreadable(path: &Path, message: String) -> Content {
    Content::Fault(Found::Unreadable { file: name(path), message })
}

/// What is in a directory and below it, by name. The names of a large directory take a while to list, and no worker has
/// anything to do meanwhile, so each directory is listed once.
#[derive(Default)]
struct Listing {
    /// The files, and the directories that are one history, of Cobra or of the clients of a test of etcd.
    files: Vec<PathBuf>,
    /// What cannot be read.
    faults: Vec<Content>,
}

impl Listing {
    fn add_directory(&mut self, directory: PathBuf) {
        let mut entries = match std::fs::read_dir(&directory).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(entries) => entries,
            Err(error) => return self.faults.push(unreadable(&directory, error.to_string())),
        };
        entries.sort_by_cached_key(DirEntry::file_name);
        let (paths, kinds): (Vec<_>, Vec<_>) = entries.iter().map(|entry| (entry.path(), entry.file_type())).unzip();
        // The entries keep the directory open.
        drop(entries);
        if let Some(history) = history_of_store(&directory, &paths) {
            return self.files.push(history);
        }
        if format::is_history_folder(&paths) {
            return self.files.push(directory);
        }
        for (path, kind) in paths.into_iter().zip(kinds) {
            match kind {
                // A link to a directory is not followed: it may lead in a circle.
                Ok(kind) if kind.is_dir() => self.add_directory(path),
                Ok(kind) if kind.is_file() => self.files.push(path),
                _ => match std::fs::metadata(&path) {
                    Ok(kind) if kind.is_file() => self.files.push(path),
                    Ok(_) => {}
                    Err(error) => {
                        self.faults.push(unreadable(&path, format!("this link leads nowhere: {error}")));
                    }
                },
            }
        }
    }
}

/// A file that the command line names, or one of a directory. It is an iterator over what is found in it.
pub(crate) struct Source<'a> {
    content: Content,
    context: Context<'a>,
}

enum Content {
    /// What is wrong with the file or directory.
    Fault(Found),
    /// A file that is not open yet. Unless it `is_certain` to hold histories, it is looked at first.
    /// If it `is_live`, it is a pipe, a device or standard input, and not a file.
    File { path: PathBuf, only: Option<u32>, is_certain: bool, is_live: bool },
    /// A file that is being read.
    Open(Box<Opened>),
    /// Nothing is left.
    Nothing,
}

/// A file that is being read.
struct Opened {
    reader: Reader,
    file: Arc<str>,
    only: Option<u32>,
    /// The first two histories are read together, to know whether there are several.
    ahead: VecDeque<(Result<History, InputError>, Duration)>,
    several: bool,
    is_live: bool,
    /// How many histories have been read.
    count: u32,
}

/// The next history of a file, and how long reading it took.
fn read(reader: &mut Reader) -> Option<(Result<History, InputError>, Duration)> {
    let begin = Instant::now();
    // The decoders of tables are not ours. The reader catches their panics.
    let next = match reader.format() {
        Some(Format::Parquet | Format::Arrow) => panics::noted(|| reader.next()),
        _ => reader.next(),
    };
    next.map(|result| (result, begin.elapsed()))
}

impl pipeline::Source for Source<'_> {
    fn is_live(&self) -> bool {
        match &self.content {
            Content::File { is_live, .. } => *is_live,
            Content::Open(opened) => opened.is_live,
            Content::Fault(_) | Content::Nothing => false,
        }
    }
}

impl Source<'_> {
    /// The file, as it is named; with `#k` if one of its histories is meant.
    pub(crate) fn name(&self) -> String {
        match &self.content {
            Content::File { path, only, .. } => {
                let only = only.map(|number| format!("#{number}")).unwrap_or_default();
                path.display().to_string() + &only
            }
            Content::Open(opened) => opened.file.to_string(),
            Content::Fault(Found::Unreadable { file, .. } | Found::Bad { file, .. }) => file.to_string(),
            Content::Fault(Found::History(_)) | Content::Nothing => String::new(),
        }
    }

    /// The file, if it is not open yet.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.content {
            Content::File { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Opens a file. `None` if it is no history.
    fn open(&self, path: &Path, only: Option<u32>, is_certain: bool, is_live: bool) -> Result<Option<Opened>, Found> {
        let file = name(path);
        let unreadable = |message| Found::Unreadable { file: Arc::clone(&file), message };
        let Context { options, progress, .. } = &self.context;
        let begin = Instant::now();
        let opened = panics::noted(|| {
            if is_certain {
                open(path, options, progress).map(Some)
            } else {
                format::open_found(path, options, progress.watch())
            }
        });
        let Some(mut reader) = opened.map_err(|error| unreadable(error.to_string()))? else { return Ok(None) };
        let opening = begin.elapsed();
        let Some((first, parsing)) = read(&mut reader) else {
            return Err(unreadable("this holds no history: there is no operation in it".to_owned()));
        };
        let second = read(&mut reader);
        let several = second.is_some() || only.is_some();
        let ahead = [(first, parsing + opening)].into_iter().chain(second).collect();
        Ok(Some(Opened { reader, file, only, ahead, several, is_live, count: 0 }))
    }
}

impl Iterator for Source<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let mut opened = match mem::replace(&mut self.content, Content::Nothing) {
            Content::Nothing => return None,
            Content::Fault(found) => return Some(found),
            Content::File { path, only, is_certain, is_live } => match self.open(&path, only, is_certain, is_live) {
                Ok(None) => return None,
                Ok(Some(opened)) => Box::new(opened),
                Err(found) => return Some(found),
            },
            Content::Open(opened) => opened,
        };
        loop {
            let Some((result, parsing)) = opened.ahead.pop_front().or_else(|| read(&mut opened.reader)) else {
                let message = none_selected(opened.only?, opened.count);
                return Some(Found::Unreadable { file: opened.file, message });
            };
            let number = opened.count;
            opened.count += 1;
            if opened.only.is_some_and(|only| only != number) {
                continue;
            }
            let (file, several, format) = (Arc::clone(&opened.file), opened.several, opened.reader.format());
            if opened.only.is_none() {
                self.content = Content::Open(opened);
            }
            let in_run = self.context.count.fetch_add(1, Relaxed);
            return Some(match result {
                Ok(history) => {
                    Found::History(Box::new(Input { history, file, format, number, several, in_run, parsing }))
                }
                Err(error) => Found::Bad { file, number, error },
            });
        }
    }
}

/// The size of all files together; none if there is an input that has no size, such as a pipe.
pub(crate) fn size(files: &[PathBuf], options: &ReadOptions) -> Option<u64> {
    let progress = Progress::none();
    let sources = Sources::new(files, options, &progress);
    let size = |path: &Path| path.metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |data| data.len());
    sources.map(|source| (!source.is_live()).then(|| source.path().map_or(0, size))).sum()
}

/// The history of a directory in which Jepsen stored a test. The other files there repeat it in other formats. `paths`
/// are sorted.
fn history_of_store(directory: &Path, paths: &[PathBuf]) -> Option<PathBuf> {
    let find = |name: &str| Some(directory.join(name)).filter(|path| paths.binary_search(path).is_ok());
    let history = ["history.edn", "history.edn.gz", "history.edn.zst", BLOCKS, PRINTED].into_iter().find_map(find)?;
    let is_beside = |name| find(name).is_some_and(|path| path != history || name == BLOCKS);
    OF_A_STORE.into_iter().any(is_beside).then_some(history)
}

fn name(path: &Path) -> Arc<str> {
    path.display().to_string().into()
}

/// Whether there is a single file to read, and a small one. Then it is not worth while to ask for anything.
pub(crate) fn is_small(files: &[PathBuf]) -> bool {
    let [file] = files else { return false };
    std::fs::metadata(selected(file).0).is_ok_and(|data| data.is_file() && data.len() < SMALL)
}

/// The histories of a file, or of standard input for `-`. `progress` shows how much of the file has been read.
pub(crate) fn open(path: &Path, options: &ReadOptions, progress: &Progress) -> io::Result<Reader> {
    if path == Path::new("-") {
        return Ok(format::read(Box::new(io::stdin()), options));
    }
    format::open_watched(path, options, progress.watch())
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
