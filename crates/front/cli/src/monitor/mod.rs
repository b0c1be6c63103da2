//! `seriatim monitor`: reads streams of events, and reports each violation at the event that makes it certain.
//!
//! The way of every stream: [`source`] gives whole lines, [`follower`] takes them. It hands them to [`session`], which
//! parses and judges them; prints what that says ([`outside`]); and saves the state ([`checkpoint`]). A file or
//! standard input is one stream, read ahead by a thread as far as a bounded queue allows. With `--listen` there are
//! many ([`service`]). For certificates, the text of a stream is kept on disk ([`record`]).

mod certify;
mod checkpoint;
mod drawn;
mod follower;
mod outside;
mod record;
mod service;
mod session;
mod source;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use history::visible;

use crate::check::Tally;
use crate::flags::Monitor;
use crate::{BAD, fault, output};

use follower::{Follower, Kept};
use outside::Outside;
use service::board::Row;
use service::log::Level;
use service::{TICK, signals, web};
use source::{Lines, Piece};

pub(crate) fn run(flags: &Monitor) -> u8 {
    if let Some(path) = named_twice(flags) {
        output::complain(path, "this file is named twice: each file that is read or written must be another one");
        return BAD;
    }
    if let Some(address) = &flags.health {
        return web::ask(address);
    }
    let ended = Outside::open(flags).map(Arc::new).and_then(|outside| {
        web::open(&outside)?;
        if flags.listen.is_empty() { follow(&outside) } else { service::run(&outside) }
    });
    match ended {
        Ok(tally) => tally.status(),
        Err(Trouble::Bad(message)) => {
            let step = next_step(flags, &message).map(|step| format!("\n  {step}")).unwrap_or_default();
            let _ = writeln!(io::stderr(), "{}{step}", visible(&message));
            BAD
        }
        Err(Trouble::Output(error)) => output::write_error(&error),
    }
}

/// What to do about a run that cannot begin, where that is plain.
fn next_step(flags: &Monitor, message: &str) -> Option<String> {
    if flags.listen.is_empty() && flags.metrics.is_none() {
        return fault::next_step(message);
    }
    let is_address = ["(os error 2)", "invalid socket address", "invalid port value", "failed to lookup"];
    let step = if message.contains("(os error 98)") {
        "next: does another service run here? Choose another port, or 0 for any"
    } else if is_address.iter().any(|it| message.contains(it)) {
        "next: an address is a port, `HOST:PORT`, or `unix:PATH` in a directory that exists"
    } else {
        return None;
    };
    Some(step.to_owned())
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
fn follow(outside: &Arc<Outside>) -> Result<Tally, Trouble> {
    let flags = &outside.flags;
    let label = flags.file.display().to_string();
    let is_read_once = flags.follow || flags.file == Path::new("-");
    if flags.checkpoint.is_some() && flags.certificate.is_some() && flags.record.is_none() && is_read_once {
        let message = "--certificate with --checkpoint needs --record, which keeps the text before the checkpoint";
        return Err(Trouble::Bad(message.to_owned()));
    }
    let kept = Kept { checkpoint: flags.checkpoint.clone(), record: flags.record.clone() };
    let mut follower = Follower::open(outside, &label, &kept)?;
    let mut lines = Lines::open(flags, follower.place()).map_err(|error| Trouble::of(&flags.file, error))?;
    signals::handle(outside, Vec::new()).map_err(|error| Trouble::Bad(error.to_string()))?;
    let (_, row) = outside.board.enter(&label);
    loop {
        let wait = follower.wait().map_or(TICK, |wait| wait.min(TICK));
        match lines.next_within(wait) {
            Piece::Lines(piece) => {
                row.begin(lines.waiting() + piece.len() as u64);
                if follower.take(None, &piece, &row)?.is_break() {
                    break;
                }
                follower.save_if_due();
                row.end();
            }
            Piece::Nothing => follower.save_if_due(),
            Piece::FromStart { notice, begun } => {
                outside.log.say(Level::Info, "from-start", Some(&label), &notice);
                follower.start_over(begun);
            }
            Piece::Notice(notice) => outside.log.say(Level::Info, "notice", Some(&label), &notice),
            Piece::End { cut } => {
                follower.finish(&cut, &row)?;
                break;
            }
            Piece::Failed(message) => return Err(Trouble::Bad(format!("{label}: {message}"))),
        }
        if outside.is_stopped() {
            return stop(&mut follower, &row);
        }
    }
    // The verdict is printed, so there is nothing to continue.
    follower.forget();
    if follower.is_untouched() {
        return Err(Trouble::Bad(format!("{label}: there is no event in this stream")));
    }
    Ok(follower.tally())
}

/// Ends the run because of a signal: with `--checkpoint` the stream can go on in another run, else it ends here.
fn stop(follower: &mut Follower, row: &Row) -> Result<Tally, Trouble> {
    if !follower.is_kept() {
        follower.finish(b"", row)?;
    } else if !follower.save() {
        return Err(Trouble::Bad(format!("{}: the state could not be saved", follower.label())));
    }
    Ok(follower.tally())
}
