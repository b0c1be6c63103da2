//! `ra` and `rc20` by values: what [`Incremental`] needs to be told, found from what a program can record.
//!
//! After every event the answer is that of the offline checker about the events so far. So a read of a value that was
//! not written before it is a violation (`thin-air read`): events must come in an order in which a write comes before
//! its reads. A value that was written twice to a location, and is read there without a source, is refused, unless one
//! of the writes was forgotten: then the other is meant.
//!
//! What no thread may read any more is forgotten ([`Incremental::retire`]), so memory is bounded by how far the threads
//! are apart: by what was written since the slowest of them heard of the others, times the threads. For that the
//! threads must be known. Either [`C11::set_threads`] tells how many there are; or those that were active in the first
//! [`FIRST_EVENTS`] events are all, and when another one comes later, the monitor gives up. It does so, too, when more
//! than 4 GB would be needed, or a thread has had 2^31 events, since some thread does not hear of the others any more.
//!
//! After a violation the event is left out, and so is whatever reads from an event that was left out.

mod writers;

use certificate::Evidence;
use history::execution::Kind;
use history::format::stream::SourceName;
use history::{MemoryOrder, OperationId, Value};
use memory::c11::{Incremental, Refused, Violation as Found, WriteId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{Monitor, Progress, Violation};
use writers::{Writer, Writers};

/// How many events are taken in before anything is forgotten, if the threads are not known.
const FIRST_EVENTS: u64 = 1 << 20;
/// How many events are taken in, at least, between two times of forgetting.
const FORGET_INTERVAL: u64 = 1 << 11;
/// How many bytes the monitor may take, about; when it would need more, it gives up.
const MEMORY_LIMIT: usize = 4 << 30;
/// How many bytes a write or an access takes, about, besides those for each thread.
const BYTES_PER_ACCESS: usize = 128;

/// An access, or a fence.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its thread. Threads are numbers, best from zero on without large gaps.
    pub thread: u32,
    /// What it is.
    pub kind: Kind,
    /// Its location, a number like that of a thread. That of a fence means nothing.
    pub location: u32,
    /// Its memory order; without meaning under `ra`.
    pub order: MemoryOrder,
    /// The value that it reads, if it does.
    pub read: Value,
    /// The value that it writes, if it does.
    pub written: Value,
    /// A label by which others name it as their source.
    pub label: Value,
    /// Where it reads from, if that is told.
    pub source: SourceName,
}

/// What a read reads from.
enum Source {
    Init,
    Write(WriteId),
    LeftOut,
    ThinAir,
}

/// The monitor of `ra` and `rc20`. See the [module](self).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct C11 {
    /// Whether this is `rc20`.
    orders: bool,
    execution: Incremental,
    events: u64,
    initial: Value,
    initials: FxHashMap<u32, Value>,
    /// By location and value.
    writers: Writers,
    /// By label; the location is zero.
    labels: Writers,
    /// How many threads there are, if that was told.
    threads: Option<u32>,
    /// How many were active.
    active: u32,
    /// At how many events to forget next.
    next: u64,
    /// Whether anything was forgotten.
    has_forgotten: bool,
    /// Why it has given up.
    given_up: Option<String>,
}

impl C11 {
    /// Nothing yet, under `ra`; all locations hold zero.
    pub fn ra() -> Self {
        Self::new(false, Incremental::ra())
    }

    /// Nothing yet, under `rc20`; all locations hold zero.
    pub fn rc20() -> Self {
        Self::new(true, Incremental::rc20())
    }

    fn new(orders: bool, execution: Incremental) -> Self {
        Self {
            orders,
            execution,
            events: 0,
            initial: Value::ZERO,
            initials: FxHashMap::default(),
            writers: Writers::default(),
            labels: Writers::default(),
            threads: None,
            active: 0,
            next: FIRST_EVENTS,
            has_forgotten: false,
            given_up: None,
        }
    }

    /// There are so many threads: events of others are refused.
    pub fn set_threads(&mut self, threads: u32) {
        self.threads = Some(threads);
        self.next = self.events + FORGET_INTERVAL;
    }

    /// How many writes and accesses are remembered.
    pub fn size(&self) -> usize {
        self.execution.size()
    }

    /// Forgets now what no thread may read any more; otherwise that happens from time to time.
    pub fn forget(&mut self) {
        let threads = self.threads.unwrap_or(self.active);
        // Who has not begun yet may read anything.
        if threads <= self.active {
            for write in self.execution.retire(threads as usize) {
                self.writers.forget(write);
                self.labels.forget(write);
            }
            self.writers.look_again();
            self.labels.look_again();
            self.has_forgotten = true;
        }
        self.next = self.events + FORGET_INTERVAL.max(self.size() as u64);
    }

    /// The value that all locations hold at first which [`Self::set_initial`] does not name.
    pub fn set_default_initial(&mut self, value: Value) {
        self.initial = value;
    }

    /// The value that a location holds at first.
    pub fn set_initial(&mut self, location: u32, value: Value) {
        self.initials.insert(location, value);
    }

    /// The values that a read or rmw, if it were the next event of its thread, could read. What it can read from if
    /// sources are known tells [`Incremental::may_read_from`].
    pub fn may_read(&mut self, thread: u32, kind: Kind, location: u32, order: MemoryOrder) -> Vec<Value> {
        let initial = self.initial_value(location);
        let Self { execution, writers, .. } = self;
        let sources = execution.may_read_from(thread, kind, location, order);
        sources.map(|source| source.map_or(initial, |write| writers.written(write).1)).collect()
    }

    fn initial_value(&self, location: u32) -> Value {
        if self.initials.is_empty() {
            return self.initial;
        }
        self.initials.get(&location).copied().unwrap_or(self.initial)
    }

    /// What an access reads from; or why that cannot be said.
    #[inline]
    fn source(&self, access: &Access) -> Result<Source, &'static str> {
        if access.source != SourceName::None {
            return self.named_source(access);
        }
        let is_initial = self.initial_value(access.location) == access.read;
        match (self.writers.get(access.location, access.read), is_initial) {
            (None, true) => Ok(Source::Init),
            (None, false) => Ok(Source::ThinAir),
            (Some(Writer::Write(write)), false) => Ok(Source::Write(write)),
            (Some(Writer::LeftOut), false) => Ok(Source::LeftOut),
            (Some(_), _) => Err("reads-from is ambiguous: the value of this read was written twice"),
        }
    }

    #[cold]
    fn named_source(&self, access: &Access) -> Result<Source, &'static str> {
        let other_value = "a read cannot be from a write of another value or location";
        let SourceName::Label(label) = access.source else {
            let is_initial = self.initial_value(access.location) == access.read;
            return if is_initial { Ok(Source::Init) } else { Err(other_value) };
        };
        match self.labels.get(0, label) {
            Some(Writer::Write(write)) => {
                let is_same = self.writers.written(write) == (access.location, access.read);
                if is_same { Ok(Source::Write(write)) } else { Err(other_value) }
            }
            Some(Writer::NoWrite) => Err(other_value),
            Some(Writer::LeftOut) => Ok(Source::LeftOut),
            Some(Writer::Several) => Err("two operations have the label of its source"),
            None if self.has_forgotten => Ok(Source::ThinAir),
            None => Err("no operation before it has the label of its source"),
        }
    }

    /// Remembers whose label this is.
    #[cold]
    fn enter_label(&mut self, label: Value, write: Option<WriteId>) {
        match write {
            Some(write) => self.labels.enter(0, label, write),
            None => self.labels.enter_other(0, label, Writer::NoWrite),
        }
    }

    fn leave_out(&mut self, access: &Access) {
        if access.label.is_some() {
            self.labels.enter_other(0, access.label, Writer::LeftOut);
        }
        if access.kind.writes() {
            self.writers.enter_other(access.location, access.written, Writer::LeftOut);
        }
    }

    /// A thread begins; or why not.
    #[cold]
    fn begin(&mut self, thread: u32) -> Option<Progress> {
        if self.threads.is_some_and(|threads| thread >= threads) {
            return Some(Progress::Refused("there are more threads than were announced".to_owned()));
        }
        if self.threads.is_none() && self.has_forgotten {
            return Some(self.give_up(
                "a thread begins after values were forgotten that it might read: say how many threads there are",
            ));
        }
        self.active = thread + 1;
        None
    }

    /// It is time to forget.
    #[cold]
    fn forget_some(&mut self) -> Progress {
        self.forget();
        // There will be twice as many before the next time.
        let size = self.size();
        if 2 * size > MEMORY_LIMIT / (BYTES_PER_ACCESS + 8 * self.active as usize) {
            return self.give_up(&format!("{size} accesses cannot be forgotten: too many, with that many threads"));
        }
        Progress::Possible
    }

    fn give_up(&mut self, reason: &str) -> Progress {
        Progress::GaveUp(self.given_up.insert(reason.to_owned()).clone())
    }

    /// A read of a value that nobody is known to have written.
    #[cold]
    fn thin_air(&mut self, access: &Access) -> Result<Progress, Violation> {
        if self.has_forgotten {
            let reason = "nobody has written this value, or it was overwritten long ago for every thread";
            return self.violation(access, reason.to_owned(), None);
        }
        let evidence = u32::try_from(self.events - 1).ok().map(|number| Evidence::ThinAir(OperationId(number)));
        self.violation(access, "thin-air read: nobody has written this value".to_owned(), evidence)
    }

    /// What to say of an access that the execution does not take.
    #[cold]
    fn refused(&mut self, access: &Access, refused: Refused) -> Result<Progress, Violation> {
        match refused {
            Refused::Violation(Found::UpdatedTwice { by }) => {
                let reason = format!("event {} has updated the same write", by + 1);
                self.violation(access, reason, None)
            }
            Refused::Violation(Found::Overwritten { known }) => {
                let reason = format!(
                    "event {} happens before, and what it wrote or read overwrote what is read here",
                    known + 1
                );
                self.violation(access, reason, None)
            }
            Refused::Full => Ok(self.give_up(&refused.to_string())),
            Refused::Sequential | Refused::Source => Ok(Progress::Refused(refused.to_string())),
        }
    }

    fn violation(
        &mut self,
        access: &Access,
        reason: String,
        evidence: Option<Evidence>,
    ) -> Result<Progress, Violation> {
        self.leave_out(access);
        Err(Violation { event: self.events - 1, reason, evidence: evidence.map(Box::new) })
    }
}

impl Monitor for C11 {
    type Event = Access;

    fn push(&mut self, access: Access) -> Result<Progress, Violation> {
        self.events += 1;
        if self.orders && access.order == MemoryOrder::SequentiallyConsistent {
            return Ok(Progress::Refused(Refused::Sequential.to_string()));
        }
        if access.thread >= self.active
            && let Some(progress) = self.begin(access.thread)
        {
            return Ok(progress);
        }
        if let Some(reason) = &self.given_up {
            return Ok(Progress::GaveUp(reason.clone()));
        }
        let Access { thread, kind, location, order, written, label, .. } = access;
        let mut source = None;
        if kind.reads() {
            source = match self.source(&access) {
                Ok(Source::Write(write)) => Some(write),
                Ok(Source::Init) => None,
                Ok(Source::LeftOut) => {
                    self.leave_out(&access);
                    return Ok(Progress::Possible);
                }
                Ok(Source::ThinAir) => return self.thin_air(&access),
                Err(reason) => return Ok(Progress::Refused(reason.to_owned())),
            };
        }
        self.execution.set_next(self.events - 1);
        let write = match self.execution.push(thread, kind, location, order, source) {
            Ok(write) => write,
            Err(refused) => return self.refused(&access, refused),
        };
        if let Some(write) = write {
            self.writers.enter(location, written, write);
        }
        if label.is_some() {
            self.enter_label(label, write);
        }
        if self.events >= self.next {
            return Ok(self.forget_some());
        }
        Ok(Progress::Possible)
    }
}
