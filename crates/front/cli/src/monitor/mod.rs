//! `seriatim monitor`: reads a stream of events, and reports the first violation at the event that makes it certain.
//!
//! A thread of its own reads the stream, as far ahead as a bounded queue allows ([`source`]). The main thread takes the
//! lines, parses them and gives the events to the monitor ([`session`]). With `--listen`, each client has a session of
//! its own ([`listen`]). For certificates, the text of the stream is kept on disk ([`record`]). A killed run can be
//! continued from a checkpoint of its session ([`checkpoint`]).

mod certify;
mod checkpoint;
mod listen;
mod record;
mod session;
mod source;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use history::visible;

use crate::BAD;
use crate::check::Tally;
use crate::flags::Monitor;
use crate::output::{self, Palette};

use checkpoint::{Checkpoint, Checkpoints, StreamPosition};
use record::Record;
use session::{Context, Messages, Session};
use source::{Lines, Piece};

pub(crate) fn run(flags: &Monitor) -> u8 {
    if let Some(path) = named_twice(flags) {
        output::complain(path, "this file is named twice: each file that is read or written must be another one");
        return BAD;
    }
    let mut certificates = match flags.certificate.as_deref().map(File::create).transpose() {
        Ok(file) => file,
        Err(error) => {
            let path = flags.certificate.as_deref().unwrap_or(Path::new("-"));
            output::complain(path, format_args!("the certificates cannot be written here: {error}"));
            return BAD;
        }
    };
    let mut print = |messages: Messages| -> io::Result<()> {
        if !messages.out.is_empty() {
            let mut stdout = io::stdout().lock();
            stdout.write_all(messages.out.as_bytes())?;
            stdout.flush()?;
        }
        // If standard error is closed, the run still has its verdicts and its exit status.
        let _ = io::stderr().write_all(messages.err.as_bytes());
        match &mut certificates {
            Some(file) if !messages.certificates.is_empty() => file.write_all(messages.certificates.as_bytes()),
            _ => Ok(()),
        }
    };
    let ended = match &flags.listen {
        Some(address) => listen::run(flags, address, &mut print),
        None => follow(flags, &mut print),
    };
    match ended {
        Ok(tally) => tally.status(),
        Err(Trouble::Bad(message)) => {
            let _ = writeln!(io::stderr(), "{}", visible(&message));
            BAD
        }
        Err(Trouble::Output(error)) => output::write_error(&error),
    }
}

/// A file that would be written although it is also read, or would be written for two purposes.
fn named_twice(flags: &Monitor) -> Option<&Path> {
    let written = [&flags.record, &flags.certificate, &flags.checkpoint].into_iter().flatten();
    let files: Vec<&Path> = std::iter::once(&flags.file).chain(written).map(AsRef::as_ref).collect();
    // A device can be written for several purposes.
    let is_plain = |path: &Path| path.is_file() || !path.exists();
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    };
    let is_repeated = |&at: &usize| is_plain(files[at]) && files[..at].iter().any(|other| same(other, files[at]));
    (1..files.len()).find(is_repeated).map(|at| files[at])
}

/// Why a run has no verdict.
pub(crate) enum Trouble {
    /// Bad usage or bad input.
    Bad(String),
    /// The output cannot be written.
    Output(io::Error),
}

impl Trouble {
    fn of(path: &Path, error: impl std::fmt::Display) -> Self {
        Self::Bad(format!("{}: {error}", path.display()))
    }
}

/// Monitors one stream: a file or standard input.
fn follow(flags: &Monitor, print: &mut dyn FnMut(Messages) -> io::Result<()>) -> Result<Tally, Trouble> {
    let label = flags.file.display().to_string();
    let options = source::options(flags);
    let is_read_once = flags.follow || flags.file == Path::new("-");
    if flags.checkpoint.is_some() && flags.certificate.is_some() && flags.record.is_none() && is_read_once {
        let message = "--certificate with --checkpoint needs --record, which keeps the text before the checkpoint";
        return Err(Trouble::Bad(message.to_owned()));
    }
    let saved = match &flags.checkpoint {
        None => None,
        Some(path) => Checkpoint::load(path, flags).map_err(|error| Trouble::of(path, error))?,
    };
    let (mut session, mut place, record_length) = match saved {
        None => {
            (Session::new(&options).map_err(|error| Trouble::of(&flags.file, error))?, StreamPosition::default(), 0)
        }
        Some(saved) => (saved.session, saved.place, saved.record_length),
    };
    let mut checkpoints = Checkpoints::new(flags).map_err(Trouble::Bad)?;
    let mut record = Record::open(flags, record_length).map_err(|error| Trouble::Bad(error.to_string()))?;
    let mut lines = Lines::open(flags, &place).map_err(|error| Trouble::of(&flags.file, error))?;
    let mut context = Context {
        flags,
        label,
        out: Palette::stdout(),
        err: Palette::stderr(),
        record: &mut record,
        is_endless: flags.follow,
    };
    loop {
        let piece = match checkpoints.as_ref().and_then(Checkpoints::wait) {
            None => lines.next(),
            Some(wait) => lines.next_within(wait),
        };
        match piece {
            Piece::Lines(lines) => {
                let before = session.total();
                let mut messages = Messages::default();
                let is_over = session.take(&mut context, &lines, &mut messages).is_break();
                print(messages).map_err(Trouble::Output)?;
                if is_over {
                    break;
                }
                place.advance(&lines);
                if let Some(checkpoints) = &mut checkpoints {
                    let events = session.total() - before;
                    checkpoints.advance(events, &session, &place, context.record).map_err(Trouble::Bad)?;
                }
            }
            Piece::Nothing => {
                if let Some(checkpoints) = &mut checkpoints {
                    checkpoints.advance(0, &session, &place, context.record).map_err(Trouble::Bad)?;
                }
            }
            Piece::FromStart { notice, begun } => {
                let _ = writeln!(io::stderr(), "{}: {notice}", context.label);
                place = StreamPosition::beginning(begun);
                // The old checkpoint has a position in the old file, which no longer has this name. So a new one is
                // made.
                if let Some(checkpoints) = &mut checkpoints {
                    checkpoints.save(&session, &place, context.record).map_err(Trouble::Bad)?;
                }
            }
            Piece::Notice(notice) => {
                let _ = writeln!(io::stderr(), "{}: {notice}", context.label);
            }
            Piece::End { cut } => {
                let mut messages = Messages::default();
                session.finish(&mut context, &cut, &mut messages);
                print(messages).map_err(Trouble::Output)?;
                break;
            }
            Piece::Failed(message) => return Err(Trouble::Bad(format!("{}: {message}", context.label))),
        }
    }
    // The verdict is printed, so there is nothing to continue.
    if let Some(checkpoints) = checkpoints {
        checkpoints.remove();
    }
    if session.is_untouched() {
        return Err(Trouble::Bad(format!("{}: there is no event in this stream", context.label)));
    }
    Ok(session.tally())
}
