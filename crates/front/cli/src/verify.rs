//! `seriatim verify`: verifies certificates against the histories that they are about, in one pass over both.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;

use budget::{Budget, ram};
use history::visible;
use model::{Certificate, Model, Verdict};
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::flags::Verify;
use crate::input::{self, Found, Input};
use crate::output::{self, Palette};
use crate::progress::Progress;
use crate::{BAD, json, panics};

pub(crate) fn run(flags: &Verify) -> u8 {
    let certificates = match File::open(&flags.certificate) {
        Ok(file) => BufReader::with_capacity(1 << 16, file),
        Err(error) => {
            output::complain(&flags.certificate, error);
            return BAD;
        }
    };
    let mut verifier = Verifier {
        flags,
        path: output::shown(&flags.certificate),
        lines: Lines { reader: Some(certificates), longest: longest_line() },
        line: 0,
        next: None,
        out: io::stdout().lock(),
        any: false,
        histories: 0,
        without: 0,
        refused: false,
        unknown: 0,
        bad: false,
    };
    match verifier.run() {
        Ok(()) => verifier.status(),
        Err(error) => output::write_error(&error),
    }
}

/// A certificate that has been read and not yet been judged.
struct Pending {
    line: u64,
    history: u32,
    json: String,
}

/// The longest line that is read, in bytes. While a certificate is read, it takes up to about forty times the memory
/// of its text, and it must fit into the memory of the machine.
fn longest_line() -> u64 {
    const LONGEST: usize = 1 << 30;
    ram::left().map_or(LONGEST, |bytes| (bytes / 40).clamp(1 << 16, LONGEST)) as u64
}

/// The lines of a file, none of them longer than `longest` bytes. After an error there are no more lines.
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

/// What the verifier says of a certificate.
enum Judged {
    /// It proves this.
    Verified(Verdict),
    /// It proves nothing, for this reason.
    Refused(String),
    /// A bug in seriatim left it undecided.
    Unknown(String),
}

struct Verifier<'a> {
    flags: &'a Verify,
    /// The name of the file of certificates, as it is shown.
    path: String,
    lines: Lines,
    line: u64,
    next: Option<Pending>,
    out: io::StdoutLock<'a>,
    any: bool,
    /// How many histories there are, and how many of them no certificate is about.
    histories: u64,
    without: u64,
    refused: bool,
    /// How many certificates were left undecided by a bug.
    unknown: u64,
    bad: bool,
}

impl Verifier<'_> {
    fn run(&mut self) -> io::Result<()> {
        let flags = self.flags;
        let mut written = Ok(());
        self.advance()?;
        let _ = input::visit(
            &flags.files,
            &flags.reading.options(&Budget::UNLIMITED, flags.timeout),
            &Progress::none(),
            &mut |found| {
                written = match found {
                    Found::History(input) => self.judge(&input),
                    Found::Bad { file, number, error } => self.complain(&Fault::of_line(file, number, error)),
                    Found::Unreadable { file, message } => self.complain(&Fault::of_file(file, message)),
                };
                if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            },
        );
        written?;
        self.refuse_until(u64::MAX)?;
        if !self.any && !self.bad {
            self.complain(&self.fault("there is no certificate in this file".to_owned()))?;
        }
        self.summarise()?;
        self.out.flush()
    }

    /// Says how many histories have no certificate.
    fn summarise(&mut self) -> io::Result<()> {
        let Self { histories, without, .. } = *self;
        self.refused |= self.flags.all && without > 0;
        if self.flags.json {
            let line = json::line(&json!({"histories": histories, "without_certificate": without}));
            self.out.write_all(line.as_bytes())?;
        }
        if without > 0 {
            let verb = if without == 1 { "has" } else { "have" };
            let _ = writeln!(io::stderr(), "{}: {without} of {histories} histories {verb} no certificate", self.path);
        }
        Ok(())
    }

    fn status(&self) -> u8 {
        match self {
            Self { bad: true, .. } => BAD,
            Self { refused: true, .. } => 1,
            Self { unknown: 1.., .. } => 3,
            _ => 0,
        }
    }

    /// What is wrong with the file of certificates.
    fn fault(&self, message: String) -> Fault {
        Fault::of_file(self.flags.certificate.display().to_string().into(), message)
    }

    fn complain(&mut self, fault: &Fault) -> io::Result<()> {
        self.bad = true;
        // If standard error is closed, there is nobody to tell.
        let _ = io::stderr().write_all(fault.text(Palette::stderr()).as_bytes());
        if self.flags.json { self.out.write_all(fault.json().as_bytes()) } else { Ok(()) }
    }

    /// Reads the next certificate. Lines that are no certificates are reported and skipped.
    fn advance(&mut self) -> io::Result<()> {
        self.next = None;
        while let Some(text) = self.lines.next() {
            self.line += 1;
            let found = match text.map(String::from_utf8) {
                Ok(Ok(json)) if json.trim().is_empty() => continue,
                Ok(Ok(json)) => Certificate::history_number(&json)
                    .map(|history| Pending { line: self.line, history, json })
                    .map_err(|error| error.to_string()),
                Ok(Err(error)) => Err(format!("not a certificate: {error}")),
                Err(error) => {
                    // Reading stops at the first error: a directory, for example, fails again at every attempt.
                    return self.complain(&self.fault(error.to_string()));
                }
            };
            match found {
                Ok(pending) => {
                    self.any = true;
                    self.next = Some(pending);
                    return Ok(());
                }
                Err(message) => self.complain(&self.fault(message).in_line(self.line))?,
            }
        }
        Ok(())
    }

    /// Refuses the certificates of histories before `number`: those histories have passed already, or do not exist.
    fn refuse_until(&mut self, number: u64) -> io::Result<()> {
        while let Some(Pending { line, history, .. }) = self.next.take_if(|next| u64::from(next.history) < number) {
            let reason = format!("there is no history {history} to verify it with, or not in this order");
            self.tell(line, None, None, Judged::Refused(reason))?;
            self.advance()?;
        }
        Ok(())
    }

    /// Prints the line of a certificate: what it proves, or why it is refused, or which bug left it undecided.
    fn tell(&mut self, line: u64, input: Option<&Input>, model: Option<Model>, judged: Judged) -> io::Result<()> {
        self.refused |= matches!(judged, Judged::Refused(_));
        self.unknown += u64::from(matches!(judged, Judged::Unknown(_)));
        if self.flags.json {
            let mut fields = json!({"certificate_line": line});
            if !matches!(judged, Judged::Unknown(_)) {
                fields["verified"] = json!(matches!(judged, Judged::Verified(_)));
            }
            if let Some(input) = input {
                fields["file"] = json!(&*input.file);
                fields["history"] = json!(input.number);
                if let Some(name) = input.name() {
                    fields["name"] = json!(name);
                }
            }
            if let Some(model) = model {
                fields["model"] = json!(model.name());
            }
            match judged {
                Judged::Verified(verdict) => fields["verdict"] = json!(verdict.name()),
                Judged::Refused(reason) | Judged::Unknown(reason) => fields["reason"] = Value::String(reason),
            }
            return self.out.write_all(json::line(&fields).as_bytes());
        }
        write!(self.out, "{}:{line}: ", self.path)?;
        if let Some(input) = input {
            write!(self.out, "{}: ", input.label())?;
        }
        if let Some(model) = model {
            write!(self.out, "{model}: ")?;
        }
        match judged {
            Judged::Verified(verdict) => writeln!(self.out, "verified: {}", verdict.name()),
            Judged::Refused(reason) => writeln!(self.out, "refused: {}", visible(&reason)),
            Judged::Unknown(reason) => writeln!(self.out, "unknown: {}", visible(&reason)),
        }
    }

    /// Judges the certificates of this history.
    fn judge(&mut self, input: &Input) -> io::Result<()> {
        self.refuse_until(input.in_run)?;
        self.histories += 1;
        let mut is_alone = true;
        let is_its = |next: &mut Pending| u64::from(next.history) == input.in_run;
        while let Some(Pending { line, json, .. }) = self.next.take_if(is_its) {
            is_alone = false;
            let judged = panics::catch(|| match Certificate::from_json(&json, &input.history) {
                Ok(certificate) => match ::verify::verify(&certificate, &input.history) {
                    Ok(()) => (Some(certificate.model), Judged::Verified(certificate.verdict)),
                    Err(refusal) => (Some(certificate.model), Judged::Refused(refusal.to_string())),
                },
                Err(error) => (None, Judged::Refused(error.to_string())),
            });
            let (model, judged) = judged.unwrap_or_else(|reason| (None, Judged::Unknown(reason)));
            self.tell(line, Some(input), model, judged)?;
            self.advance()?;
        }
        self.without += u64::from(is_alone);
        Ok(())
    }
}
