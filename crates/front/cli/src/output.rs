//! Where the command writes, and in which colours.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use history::visible;
use model::Verdict;
use tempfile::NamedTempFile;

use crate::{BAD, fault};

/// The colours of one output stream. There are none unless the stream is a terminal and `NO_COLOR` is not set.
#[derive(Copy, Clone)]
pub(crate) struct Palette {
    colour: bool,
}

impl Palette {
    /// The colours of standard output.
    pub(crate) fn stdout() -> Self {
        Self { colour: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never }
    }

    /// The colours of standard error.
    pub(crate) fn stderr() -> Self {
        Self { colour: anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never }
    }

    /// No colours.
    pub(crate) const fn none() -> Self {
        Self { colour: false }
    }

    /// The text in a style, or as it is.
    pub(crate) fn paint(self, style: Style, text: impl Display) -> String {
        if self.colour { format!("{style}{text}{style:#}") } else { text.to_string() }
    }

    /// A verdict in its colour.
    pub(crate) fn verdict(self, verdict: Verdict) -> String {
        self.in_colour_of(verdict, verdict.name())
    }

    /// A text in the colour of a verdict.
    pub(crate) fn in_colour_of(self, verdict: Verdict, text: impl Display) -> String {
        let colour = match verdict {
            Verdict::Consistent => AnsiColor::Green,
            Verdict::Violation => AnsiColor::Red,
            Verdict::Unknown => AnsiColor::Yellow,
        };
        self.paint(colour.on_default().bold(), text)
    }

    /// A line of an explanation, in its colours.
    pub(crate) fn line(self, line: &report::Line) -> String {
        line.spans
            .iter()
            .map(|span| {
                let style = match span.style {
                    report::Style::Plain => return span.text.clone(),
                    report::Style::Heading => Style::new().bold(),
                    report::Style::Place => AnsiColor::Blue.on_default(),
                    report::Style::Operation => AnsiColor::Cyan.on_default(),
                    report::Style::Reason | report::Style::Frame => Style::new().dimmed(),
                    report::Style::Clash => AnsiColor::Red.on_default().bold(),
                    report::Style::Arrow => AnsiColor::Yellow.on_default(),
                };
                self.paint(style, &span.text)
            })
            .collect()
    }
}

/// Standard output or a file, buffered.
///
/// A file is written under another name in the same directory, and [`Output::commit`] moves it to its place. An output
/// that is dropped before leaves no trace, and the file that was there before stays. Standard output, devices and
/// pipes are written directly.
pub(crate) enum Output {
    Direct(BufWriter<Box<dyn Write>>),
    Beside { file: BufWriter<NamedTempFile>, place: PathBuf },
}

/// How many bytes are written at a time.
const BUFFER: usize = 1 << 16;

impl Output {
    /// Opens the file at `path`; standard output if `path` is `-` or none.
    pub(crate) fn open(path: Option<&Path>) -> io::Result<Self> {
        let direct = |out: Box<dyn Write>| Self::Direct(BufWriter::with_capacity(BUFFER, out));
        let Some(path) = path.filter(|&path| path != Path::new("-")) else {
            return Ok(direct(Box::new(io::stdout().lock())));
        };
        match Self::beside(path)? {
            Some((file, place)) => Ok(Self::Beside { file: BufWriter::with_capacity(BUFFER, file), place }),
            // If the file cannot be written, this error says best why.
            None => Ok(direct(Box::new(File::create(path)?))),
        }
    }

    /// A new temporary file in the directory of `path`, and the path to move it to. None if `path` is a device or a
    /// pipe, which must be written directly.
    fn beside(path: &Path) -> io::Result<Option<(NamedTempFile, PathBuf)>> {
        // `/dev/stdout` may lead to a file that other processes have open.
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return Ok(None);
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".seriatim-");
        let (place, old) = match path.metadata() {
            Ok(old) if old.is_file() => {
                // A file that we may not write must not be replaced, either.
                OpenOptions::new().write(true).open(path)?;
                (path.canonicalize()?, Some(old.permissions()))
            }
            // Nothing is there, not even a link that leads nowhere.
            Err(_) if path.symlink_metadata().is_err() => (path.to_owned(), None),
            _ => return Ok(None),
        };
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let directory = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let Ok(file) = builder.tempfile_in(directory) else { return Ok(None) };
        if let Some(old) = old {
            file.as_file().set_permissions(old)?;
        }
        Ok(Some((file, place)))
    }

    /// Whether the output leaves no trace if it is dropped without [`Output::commit`].
    pub(crate) const fn is_beside(&self) -> bool {
        matches!(self, Self::Beside { .. })
    }

    /// Ends the output: everything is written, and the file moves to its place.
    pub(crate) fn commit(self) -> io::Result<()> {
        match self {
            Self::Direct(mut out) => out.flush(),
            Self::Beside { file, place } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.persist(place).map_err(|failed| failed.error).map(drop)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(out) => out.write(bytes),
            Self::Beside { file, .. } => file.write(bytes),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Direct(out) => out.write_all(bytes),
            Self::Beside { file, .. } => file.write_all(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(out) => out.flush(),
            Self::Beside { file, .. } => file.flush(),
        }
    }
}

/// The name of a file, as it is shown.
pub(crate) fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// Writes a whole file, or leaves no trace.
pub(crate) fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let mut out = Output::open(Some(path))?;
    out.write_all(contents.as_ref())?;
    out.commit()
}

/// Says on standard error what went wrong with a file.
pub(crate) fn complain(path: &Path, what: impl Display) {
    let what = what.to_string();
    let step = match fault::next_step(&what) {
        Some(_) if what.contains("(os error 2)") => {
            Some("next: is the name right, and is its folder there?".to_owned())
        }
        step => step,
    };
    let step = step.map(|step| format!("\n  {step}")).unwrap_or_default();
    // If standard error is closed, there is nobody to tell.
    let _ = writeln!(io::stderr(), "{}: {}{step}", shown(path), visible(&what));
}

/// Says on standard error how many inputs were skipped, if any, and how many were read. Returns whether some were
/// skipped and none was read.
pub(crate) fn tell_skipped(command: &str, skipped: u64, histories: u64, found: &str) -> bool {
    if skipped == 0 {
        return false;
    }
    let inputs = if skipped == 1 { "input" } else { "inputs" };
    let others = if histories == 1 { "history" } else { "histories" };
    let _ = writeln!(
        io::stderr(),
        "seriatim {command}: {skipped} {inputs} could not be read and were skipped; {histories} {others} could{found}"
    );
    histories == 0
}

/// The exit status after an error in writing. A closed pipe (`| head`) is no failure: its reader has seen enough.
pub(crate) fn write_error(error: &io::Error) -> u8 {
    if error.kind() != io::ErrorKind::BrokenPipe {
        let _ = writeln!(io::stderr(), "seriatim: the output cannot be written: {error}");
    }
    BAD
}
