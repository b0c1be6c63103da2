//! One client of a socket, from its first line to its last.
//!
//! A client without a name has a stream of its own, which ends when the client leaves. With a name ([`super::answers`])
//! and with `--checkpoint`, the stream is saved when the client leaves, and goes on when it comes back. With `--shared`
//! the lines of all clients are one stream, in the order in which they come. A connection of another client with a name
//! that is taken is refused: to mix two streams would give a wrong verdict, to wait only costs time.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use history::visible;
use serde_json::json;

use super::answers::{Answers, END, Hello, Standing};
use super::board::Row;
use super::listener::{Connection, Incoming};
use super::log::Level;
use super::{Service, TICK};
use crate::check::Tally;
use crate::monitor::Trouble;
use crate::monitor::follower::Follower;
use crate::monitor::source::{Lines, Piece};

/// How a visit ended.
pub(crate) struct Left {
    /// The verdicts on the stream of the client. With `--shared` they are those of all clients, and told at the end.
    pub(crate) tally: Tally,
    /// Whether the run ends with this client.
    pub(crate) is_over: bool,
    /// Whether the output cannot be written any more.
    pub(crate) trouble: Option<Trouble>,
}

/// The visit of one client.
struct Visit<'a> {
    service: &'a Service,
    /// Its name in messages.
    label: String,
    name: Option<String>,
    lines: Lines,
    answers: Option<Answers>,
    row: Arc<Row>,
    /// How many of the lines that come next were seen in an earlier visit.
    seen: u64,
    /// When the last whole line came.
    last: Instant,
}

/// Why a client is sent away: its fault, or ours.
enum Refusal {
    Refused(String),
    Trouble(Trouble),
}

impl From<Trouble> for Refusal {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Bad(message) => Self::Refused(message),
            Trouble::Output(_) => Self::Trouble(trouble),
        }
    }
}

/// Serves one client, which the board knows by this number and row, to its end.
pub(crate) fn serve(service: &Service, connection: Connection, number: u64, row: Arc<Row>) -> Left {
    let label = format!("client {number}");
    row.rename(&label);
    service.outside.log.say(Level::Debug, "connected", Some(&label), "a client has come");
    let lines =
        connection.writer().map(|writer| (writer, Lines::of_client(Incoming::new(connection), &service.outside.flags)));
    let left = match lines {
        Err(_) => Left { tally: Tally::default(), is_over: false, trouble: None },
        Ok((writer, lines)) => {
            let (name, answers, last) = (None, Some(Answers::new(writer)), Instant::now());
            Visit { service, label, name, lines, answers, row, seen: 0, last }.serve()
        }
    };
    service.outside.board.leave(number);
    left
}

impl Visit<'_> {
    fn serve(mut self) -> Left {
        let mut left = Left { tally: Tally::default(), is_over: false, trouble: None };
        match self.visit(&mut left) {
            Ok(()) => {}
            Err(Refusal::Trouble(trouble)) => left.trouble = Some(trouble),
            Err(Refusal::Refused(message)) => {
                self.service.outside.board.refuse();
                self.service.outside.log.say(Level::Warn, "refused", Some(&self.label), &message);
                self.free_name();
                if let Some(answers) = self.answers.take() {
                    answers.end(Standing::default(), Some(("error", json!(visible(&message)))));
                }
            }
        }
        self.free_name();
        self.service.outside.log.say(Level::Debug, "left", Some(&self.label), "the client has left");
        left
    }

    fn visit(&mut self, left: &mut Left) -> Result<(), Refusal> {
        let begun = match self.next() {
            Piece::Lines(lines) => lines,
            Piece::End { cut } if cut.is_empty() => return Ok(()),
            Piece::Failed(message) => return Err(Refusal::Refused(message)),
            // Nothing but the beginning of a line.
            Piece::End { cut } if !self.service.is_shared() => {
                let follower = self.service.open(&self.label, None)?;
                return Ok(lock(&follower).finish(&cut, &self.row)?);
            }
            _ => return Ok(()),
        };
        let first = memchr::memchr(b'\n', &begun).unwrap_or(begun.len() - 1);
        let (follower, rest) = match Hello::read(&begun[..first]) {
            None if self.service.needs_names() => {
                let message = "with --shared and --checkpoint a client begins with `# @client NAME`";
                return Err(Refusal::Refused(message.to_owned()));
            }
            None => {
                self.answers = None;
                (self.service.open(&self.label, None)?, &begun[..])
            }
            Some(hello) => (self.admit(hello.map_err(Refusal::Refused)?)?, &begun[first + 1..]),
        };
        let followed = self.follow(&follower, rest);
        let mut follower = lock(&follower);
        if !self.service.is_shared() {
            left.tally = follower.tally();
        }
        let is_saved = if self.service.is_shared() {
            left.is_over = follower.is_over();
            false
        } else {
            let is_violated = follower.is_over() && follower.tally().violations > 0;
            left.is_over = is_violated && !self.service.outside.flags.keep_going;
            // What has come is kept now, so that the client can come back at once.
            follower.wait().is_none() || follower.save()
        };
        let refusal = followed.err();
        let end = match &refusal {
            Some(Refusal::Refused(message)) => Some(("error", json!(visible(message)))),
            // If the end could not be saved, the client is to come again.
            _ if follower.is_over() && is_saved => Some(("over", json!(true))),
            _ => None,
        };
        let standing = self.standing(&follower);
        drop(follower);
        // Who has read the last answer can come again.
        self.free_name();
        if let Some(answers) = self.answers.take() {
            answers.end(standing, end);
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Lets a client with a name in, and answers from which line on it is to send.
    fn admit(&mut self, hello: Hello) -> Result<Arc<Mutex<Follower>>, Refusal> {
        let Hello { name, first } = hello;
        if !self.service.names().insert(name.clone()) {
            let message = format!("another client has the name {name} now; come again when it has left");
            return Err(Refusal::Refused(message));
        }
        self.label.clone_from(&name);
        self.row.rename(&name);
        self.name = Some(name.clone());
        let opened = self.service.open(&name, Some(&name))?;
        let follower = lock(&opened);
        let received = follower.checked(&name);
        match first {
            Some(first) if first > received + 1 => {
                let (from, to) = (received + 1, first - 1);
                return Err(Refusal::Refused(format!("the lines {from} to {to} are missing: send them, too")));
            }
            Some(first) => self.seen = received + 1 - first,
            None => {}
        }
        self.last = Instant::now();
        self.tell(&follower);
        drop(follower);
        Ok(opened)
    }

    /// Follows the lines of the client, until it leaves or its stream is over.
    fn follow(&mut self, follower: &Mutex<Follower>, begun: &[u8]) -> Result<(), Refusal> {
        if lock(follower).is_over() || self.take(follower, begun)?.is_break() {
            return Ok(());
        }
        loop {
            match self.next() {
                Piece::Lines(lines) => {
                    if self.take(follower, &lines)?.is_break() {
                        return Ok(());
                    }
                }
                Piece::End { cut } => return self.leave(follower, &cut),
                Piece::Failed(message) => {
                    // If the client came again, it would send the same.
                    if !self.service.is_shared() {
                        lock(follower).end_badly(&self.row);
                    }
                    return Err(Refusal::Refused(message));
                }
                _ => {
                    let mut follower = lock(follower);
                    follower.save_if_due();
                    self.tell(&follower);
                }
            }
        }
    }

    /// The client has left, or is sent away. Its stream ends here, unless it can come back.
    fn leave(&mut self, follower: &Mutex<Follower>, cut: &[u8]) -> Result<(), Refusal> {
        let mut follower = lock(follower);
        if !self.service.is_shared() && !follower.is_kept() {
            follower.finish(cut, &self.row)?;
        }
        Ok(())
    }

    /// Takes in lines, but for those that were seen in an earlier visit.
    fn take(&mut self, follower: &Mutex<Follower>, mut lines: &[u8]) -> Result<ControlFlow<()>, Refusal> {
        while self.seen > 0
            && let Some(end) = memchr::memchr(b'\n', lines)
        {
            lines = &lines[end + 1..];
            self.seen -= 1;
        }
        if lines.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let is_end = self.name.is_some() && lines.ends_with(END);
        if is_end {
            lines = &lines[..lines.len() - END.len()];
        }
        self.row.begin(self.lines.waiting() + lines.len() as u64);
        let mut follower = lock(follower);
        let mut flow = ControlFlow::Continue(());
        if follower.is_over() {
            flow = ControlFlow::Break(());
        } else {
            if !lines.is_empty() {
                flow = follower.take(self.name.as_deref(), lines, &self.row)?;
            }
            if is_end && flow.is_continue() && !self.service.is_shared() {
                follower.finish(b"", &self.row)?;
                flow = ControlFlow::Break(());
            }
        }
        if flow.is_continue() {
            follower.save_if_due();
        }
        self.row.end();
        self.tell(&follower);
        Ok(flow)
    }

    /// The next piece, or none within [`TICK`]. The stream ends here if the client is silent for too long, or if the
    /// run ends.
    fn next(&mut self) -> Piece {
        loop {
            if self.service.outside.is_stopped() {
                return Piece::End { cut: Vec::new() };
            }
            match self.lines.next_within(TICK) {
                Piece::Nothing => {}
                Piece::Lines(lines) => {
                    self.last = Instant::now();
                    return Piece::Lines(lines);
                }
                piece => return piece,
            }
            let idle = Duration::from_secs(self.service.outside.flags.idle);
            if !idle.is_zero() && self.last.elapsed() >= idle {
                let message =
                    format!("no whole line came for {} seconds (--idle): the client is closed", idle.as_secs());
                self.service.outside.log.say(Level::Warn, "idle", Some(&self.label), &message);
                return Piece::End { cut: Vec::new() };
            }
            if self.name.is_some() {
                return Piece::Nothing;
            }
        }
    }

    fn free_name(&mut self) {
        if let Some(name) = self.name.take() {
            self.service.names().remove(&name);
        }
    }

    fn standing(&self, follower: &Follower) -> Standing {
        let name = self.name.as_deref().unwrap_or_default();
        let (received, acknowledged) = (follower.checked(name), follower.acknowledged(name));
        Standing { received, acknowledged, violations: follower.tally().violations }
    }

    fn tell(&mut self, follower: &Follower) {
        let standing = self.standing(follower);
        if let Some(answers) = &mut self.answers {
            answers.tell(standing);
        }
    }
}

pub(crate) fn lock(follower: &Mutex<Follower>) -> MutexGuard<'_, Follower> {
    follower.lock().unwrap_or_else(PoisonError::into_inner)
}
