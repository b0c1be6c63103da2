//! Where the command writes, and in which colours.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use certificate::Verdict;

use crate::BAD;

/// The colours of one output stream: none unless it is a terminal that wants them (`NO_COLOR` is heeded).
#[derive(Copy, Clone)]
pub(crate) struct Palette {
    colour: bool,
}

impl Palette {
    /// That of standard output.
    pub(crate) fn stdout() -> Self {
        Self { colour: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never }
    }

    /// That of standard error.
    pub(crate) fn stderr() -> Self {
        Self { colour: anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never }
    }

    /// No colours.
    #[cfg(test)]
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
                    report::Style::Reason => Style::new().dimmed(),
                };
                self.paint(style, &span.text)
            })
            .collect()
    }
}

/// Standard output or a file, buffered.
pub(crate) fn open(path: Option<&Path>) -> io::Result<Box<dyn Write>> {
    Ok(match path {
        Some(path) if path != Path::new("-") => Box::new(BufWriter::with_capacity(1 << 16, File::create(path)?)),
        _ => Box::new(BufWriter::with_capacity(1 << 16, io::stdout().lock())),
    })
}

/// Says on standard error what went wrong with a file.
pub(crate) fn complain(path: &Path, what: impl Display) {
    // Nobody is left to hear that standard error is closed.
    let _ = writeln!(io::stderr(), "{}: {what}", path.display());
}

/// Says on standard error how many inputs were passed over, if any, and what there was besides; whether that was nothing.
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

/// The exit status after an error in writing. A reader that has left (`| head`) has seen what it wanted to see.
pub(crate) fn write_error(error: &io::Error) -> u8 {
    if error.kind() != io::ErrorKind::BrokenPipe {
        let _ = writeln!(io::stderr(), "seriatim: the output cannot be written: {error}");
    }
    BAD
}
