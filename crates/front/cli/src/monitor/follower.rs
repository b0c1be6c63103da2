//! The way of every stream: its lines are checked, its messages printed, its state saved. Standard input and files go
//! this way alone ([`super::follow`]), clients side by side ([`super::service`]), and clients that share a history
//! through one follower.
//!
//! Invariant: what a checkpoint holds was printed before. So after a kill, lines that were saved need not come again,
//! and nothing that they showed is lost.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Trouble;
use super::checkpoint::{Checkpoint, Checkpoints, Saved, StreamPosition};
use super::outside::Outside;
use super::record::Record;
use super::service::board::{Counts, Row};
use super::service::log::Level;
use super::session::{Context, Messages, Session};
use super::source;
use crate::check::Tally;
use crate::output::Palette;

/// The state of a session is measured after this many events and bytes at the soonest.
const MEASURED_EVENTS: u64 = 4096;
const MEASURED_BYTES: u64 = 1 << 20;
/// It is also measured no sooner than after this part of its size in events. So measuring takes a small part of the
/// time.
const BYTES_PER_EVENT: u64 = 32;

/// Where a stream keeps what outlives the process.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) record: Option<PathBuf>,
}

/// How large the state of a session is, and what came since that was measured.
#[derive(Default)]
struct Measured {
    size: u64,
    events: u64,
    bytes: u64,
}

pub(super) struct Follower {
    outside: Arc<Outside>,
    label: String,
    session: Session,
    record: Record,
    place: StreamPosition,
    /// How many lines of each named client were checked, and how many of them a checkpoint holds.
    checked: BTreeMap<String, u64>,
    saved: BTreeMap<String, u64>,
    /// Whether the stream has come to its end, so that no more lines are taken.
    is_over: bool,
    checkpoints: Option<Checkpoints>,
    measured: Measured,
}

impl Follower {
    /// The follower of a new stream, or of one that is continued from its checkpoint.
    pub(super) fn open(outside: &Arc<Outside>, label: &str, kept: &Kept) -> Result<Self, Trouble> {
        let flags = &outside.flags;
        let saved = match &kept.checkpoint {
            None => None,
            Some(path) => Checkpoint::load(path, flags).map_err(|error| Trouble::of(path, error))?,
        };
        let (state, record_length) = match saved {
            None => {
                let session =
                    Session::new(&source::options(flags)).map_err(|error| Trouble::Bad(format!("{label}: {error}")))?;
                ((session, StreamPosition::default(), BTreeMap::new(), false), 0)
            }
            Some(saved) => ((saved.session, saved.place, saved.checked, saved.is_over), saved.record_length),
        };
        let (session, place, checked, is_over) = state;
        let checkpoints = match &kept.checkpoint {
            None => None,
            Some(path) => Some(Checkpoints::new(path, flags).map_err(Trouble::Bad)?),
        };
        let record = Record::open(flags, kept.record.as_deref(), record_length)
            .map_err(|error| Trouble::Bad(error.to_string()))?;
        Ok(Self {
            outside: Arc::clone(outside),
            label: label.to_owned(),
            session,
            record,
            place,
            saved: checked.clone(),
            checked,
            is_over,
            checkpoints,
            measured: Measured::default(),
        })
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// The position in the file or in standard input.
    pub(super) fn place(&self) -> &StreamPosition {
        &self.place
    }

    pub(super) fn tally(&self) -> Tally {
        self.session.tally()
    }

    pub(super) fn is_untouched(&self) -> bool {
        self.session.is_untouched()
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether there are checkpoints.
    pub(super) fn is_kept(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// How many lines of a named client were checked.
    pub(super) fn checked(&self, client: &str) -> u64 {
        self.checked.get(client).copied().unwrap_or(0)
    }

    /// How many lines of a named client need never come again.
    pub(super) fn acknowledged(&self, client: &str) -> u64 {
        let lines = if self.is_kept() { &self.saved } else { &self.checked };
        lines.get(client).copied().unwrap_or(0)
    }

    /// Takes in whole lines, of a named client or of the one source that the stream has. Breaks if the stream ends with
    /// them.
    pub(super) fn take(&mut self, client: Option<&str>, lines: &[u8], row: &Row) -> Result<ControlFlow<()>, Trouble> {
        let before = self.counts();
        let mut flow = self.with_session(|session, context, messages| session.take(context, lines, messages))?;
        let count = memchr::memchr_iter(b'\n', lines).count() as u64;
        match client {
            Some(name) => *self.checked.entry(name.to_owned()).or_default() += count,
            None => self.place.advance(lines),
        }
        let (events, bytes) = (self.session.total() - before.events, lines.len() as u64);
        if flow.is_continue() {
            flow = self.measure(events, bytes)?;
        }
        self.is_over |= flow.is_break();
        row.add(&Counts { lines: count, bytes, ..self.counts().since(&before) }, self.measured.size);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.count(events.max(1));
        }
        Ok(flow)
    }

    /// The stream continues with the bytes of a file from its beginning.
    pub(super) fn start_over(&mut self, begun: Vec<u8>) {
        self.place = StreamPosition::beginning(begun);
        // The old checkpoint has a position in the old file, which no longer has this name. So a new one is made.
        self.save();
    }

    /// The stream has ended. `cut` is the beginning of a line that did not end.
    pub(super) fn finish(&mut self, cut: &[u8], row: &Row) -> Result<(), Trouble> {
        let before = self.counts();
        self.with_session(|session, context, messages| session.finish(context, cut, messages))?;
        self.is_over = true;
        row.add(&self.counts().since(&before), 0);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.count(1);
        }
        Ok(())
    }

    /// The stream cannot be read any further.
    pub(super) fn end_badly(&mut self, row: &Row) {
        let before = self.counts();
        self.session.fail();
        self.is_over = true;
        row.add(&self.counts().since(&before), 0);
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.count(1);
        }
    }

    fn counts(&self) -> Counts {
        let (consistent, tally) = (self.session.consistent(), self.session.tally());
        Counts { events: self.session.total(), consistent, tally, ..Counts::default() }
    }

    /// How long until the next checkpoint is due. `None` if there is nothing to save.
    pub(super) fn wait(&self) -> Option<Duration> {
        self.checkpoints.as_ref().and_then(Checkpoints::wait)
    }

    /// Makes a checkpoint if it is due.
    pub(super) fn save_if_due(&mut self) {
        if self.wait().is_some_and(|wait| wait.is_zero()) {
            self.save();
        }
    }

    /// Makes a checkpoint, if the run makes any and there is something to save. If that fails, it is said and tried
    /// again later; meanwhile nothing is acknowledged. Returns whether everything is saved.
    pub(super) fn save(&mut self) -> bool {
        let Some(checkpoints) = &mut self.checkpoints else { return true };
        let saved = Saved { session: &self.session, place: &self.place, checked: &self.checked, is_over: self.is_over };
        match checkpoints.save(&saved, &mut self.record) {
            Ok(cost) => {
                self.saved.clone_from(&self.checked);
                self.outside.board.checkpoint_saved(cost);
                self.outside.log.say(Level::Debug, "checkpoint", Some(&self.label), "the state is saved");
                true
            }
            Err(message) => {
                if self.outside.board.checkpoint_failed(&message) {
                    self.outside.log.say(Level::Error, "checkpoint-failed", Some(&self.label), &message);
                }
                false
            }
        }
    }

    /// Removes the checkpoint: the stream is at its end, and will not be asked for again.
    pub(super) fn forget(&mut self) {
        if let Some(checkpoints) = self.checkpoints.take() {
            checkpoints.remove();
        }
    }

    fn with_session<T>(
        &mut self,
        run: impl FnOnce(&mut Session, &mut Context, &mut Messages) -> T,
    ) -> Result<T, Trouble> {
        let flags = &self.outside.flags;
        let mut messages = Messages::default();
        let mut context = Context {
            flags,
            label: &self.label,
            out: Palette::stdout(),
            err: self.outside.log.palette(),
            record: &mut self.record,
            is_endless: flags.follow || !flags.listen.is_empty(),
        };
        let result = run(&mut self.session, &mut context, &mut messages);
        self.outside.tell(&self.label, messages)?;
        Ok(result)
    }

    /// Measures the state from time to time. Breaks if it is larger than a client may have.
    fn measure(&mut self, events: u64, bytes: u64) -> Result<ControlFlow<()>, Trouble> {
        let flags = &self.outside.flags;
        let Measured { size, .. } = self.measured;
        self.measured.events += events;
        self.measured.bytes += bytes;
        let is_due = self.measured.events >= MEASURED_EVENTS.max(size / BYTES_PER_EVENT)
            || self.measured.bytes >= MEASURED_BYTES.max(size);
        if !is_due || (flags.listen.is_empty() && flags.metrics.is_none()) {
            return Ok(ControlFlow::Continue(()));
        }
        self.measured = Measured { size: self.session.size(), ..Measured::default() };
        let limit = flags.client_memory as u64;
        if flags.listen.is_empty() || self.measured.size <= limit {
            return Ok(ControlFlow::Continue(()));
        }
        let reason = format!("the state of this stream is larger than {} MiB (--client-memory)", limit >> 20);
        self.outside.log.say(Level::Warn, "too-large", Some(&self.label), &format!("{reason}: the stream ends here"));
        self.session.give_up(reason);
        self.with_session(|session, context, messages| session.finish(context, b"", messages))?;
        Ok(ControlFlow::Break(()))
    }
}
