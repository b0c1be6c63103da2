//! `seriatim verify`: certificates against the histories that they are about, in one pass over both.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use certificate::Certificate;
use history::format::available_memory;
use indicatif::ProgressBar;

use crate::flags::Verify;
use crate::input::{self, Found, Input};
use crate::output::{self, Palette};
use crate::{BAD, diagnostic, panics};

pub(crate) fn run(flags: &Verify) -> u8 {
    let certificates = match File::open(&flags.certificate) {
        Ok(file) => BufReader::with_capacity(1 << 16, file),
        Err(error) => {
            output::complain(&flags.certificate, error);
            return BAD;
        }
    };
    let mut verifier = Verifier {
        path: &flags.certificate,
        lines: Lines { reader: Some(certificates), longest: longest_line() },
        line: 0,
        next: None,
        out: io::stdout().lock(),
        any: false,
        refused: false,
        unknown: 0,
        bad: false,
    };
    match verifier.run(flags) {
        Ok(()) => verifier.status(),
        Err(error) => output::write_error(&error),
    }
}

/// A certificate that has been found and not been judged yet.
struct Pending {
    line: u64,
    history: u32,
    json: String,
}

/// A certificate takes up to about forty times its text while it is read: it must fit into the memory that there is.
fn longest_line() -> u64 {
    const LONGEST: usize = 1 << 30;
    available_memory().map_or(LONGEST, |bytes| (bytes / 40).clamp(1 << 16, LONGEST)) as u64
}

/// The lines of a file, none of them longer than so many bytes. After an error there is none.
struct Lines {
    reader: Option<BufReader<File>>,
    longest: u64,
}

impl Lines {
    /// The next line, without its end.
    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let mut line = Vec::new();
        let read = self.reader.as_mut()?.by_ref().take(self.longest + 1).read_until(b'\n', &mut line);
        let is_too_long = line.len() as u64 > self.longest && line.last() != Some(&b'\n');
        let read = match read {
            Ok(_) if is_too_long => {
                let longest = self.longest >> 10;
                Err(io::Error::other(format!("too long: a line of more than {longest} KiB; what follows is not read")))
            }
            read => read,
        };
        match read {
            Ok(0) => None,
            Ok(_) => {
                line.pop_if(|last| *last == b'\n');
                Some(Ok(line))
            }
            Err(error) => {
                self.reader = None;
                Some(Err(error))
            }
        }
    }
}

struct Verifier<'a> {
    path: &'a Path,
    lines: Lines,
    line: u64,
    next: Option<Pending>,
    out: io::StdoutLock<'a>,
    any: bool,
    refused: bool,
    /// How many certificates were left undecided by a bug.
    unknown: u64,
    bad: bool,
}

impl Verifier<'_> {
    fn run(&mut self, flags: &Verify) -> io::Result<()> {
        let mut written = Ok(());
        self.advance();
        let _ = input::visit(&flags.files, &flags.reading.options(), &ProgressBar::hidden(), &mut |found| {
            match found {
                Found::History(input) => written = self.judge(&input),
                Found::Bad { file, error } => self.complain(&diagnostic::render(&file, &error, Palette::stderr())),
                Found::Unreadable { file, message } => self.complain(&format!("{file}: {message}\n")),
            }
            if written.is_ok() && self.next.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        written?;
        self.refuse_until(u64::MAX)?;
        if !self.any && !self.bad {
            self.complain(&format!("{}: there is no certificate in this file\n", self.path.display()));
        }
        self.out.flush()
    }

    fn status(&self) -> u8 {
        match self {
            Self { bad: true, .. } => BAD,
            Self { refused: true, .. } => 1,
            Self { unknown: 1.., .. } => 3,
            _ => 0,
        }
    }

    fn complain(&mut self, what: &str) {
        self.bad = true;
        // Nobody is left to hear that standard error is closed.
        let _ = io::stderr().write_all(what.as_bytes());
    }

    /// Reads the next certificate, past those that make no sense.
    fn advance(&mut self) {
        self.next = None;
        while let Some(text) = self.lines.next() {
            self.line += 1;
            let found = match text.map(String::from_utf8) {
                Ok(Ok(json)) if json.trim().is_empty() => continue,
                Ok(Ok(json)) => Certificate::history_number(&json)
                    .map(|history| Pending { line: self.line, history, json })
                    .map_err(|error| error.to_string()),
                Ok(Err(error)) => Err(format!("not a certificate: {error}")),
                Err(error) => Err(error.to_string()),
            };
            match found {
                Ok(pending) => {
                    self.any = true;
                    self.next = Some(pending);
                    return;
                }
                Err(message) => {
                    let place = format!("{}:{}", self.path.display(), self.line);
                    self.complain(&format!("{place}: {message}\n"));
                }
            }
        }
    }

    /// Refuses the certificates of histories that will not come any more.
    fn refuse_until(&mut self, number: u64) -> io::Result<()> {
        while let Some(Pending { line, history, .. }) = self.next.take_if(|next| u64::from(next.history) < number) {
            self.refused = true;
            writeln!(
                self.out,
                "{}:{line}: refused: there is no history {history} to verify it with, or not in this order",
                self.path.display()
            )?;
            self.advance();
        }
        Ok(())
    }

    /// Judges the certificates of this history.
    fn judge(&mut self, input: &Input) -> io::Result<()> {
        self.refuse_until(input.in_run)?;
        let is_its = |next: &mut Pending| u64::from(next.history) == input.in_run;
        while let Some(Pending { line, json, .. }) = self.next.take_if(is_its) {
            let place = format!("{}:{line}: {}", self.path.display(), input.label());
            let judged = panics::catch(|| match Certificate::from_json(&json, &input.history) {
                Ok(certificate) => match certificate::verify(&certificate, &input.history) {
                    Ok(()) => Ok(format!("{}: verified: {}", certificate.model, certificate.verdict.name())),
                    Err(refusal) => Err(format!("{}: refused: {refusal}", certificate.model)),
                },
                Err(error) => Err(format!("refused: {error}")),
            });
            self.refused |= matches!(judged, Ok(Err(_)));
            self.unknown += u64::from(judged.is_err());
            let verdict = match judged {
                Ok(Ok(verdict) | Err(verdict)) => verdict,
                Err(reason) => format!("unknown: {reason}"),
            };
            writeln!(self.out, "{place}: {verdict}")?;
            self.advance();
        }
        Ok(())
    }
}
