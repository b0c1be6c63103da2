//! `ra` and `rc20` by values: what [`Incremental`] needs to be told, found from what a program can record.
//!
//! After every event the answer is that of the offline checker about the events so far. So a read of a value that was not
//! written before it is a violation (`thin-air read`): events must come in an order in which a write comes before its reads.
//! A value that was written twice to a location, and is read there without a source, is refused.
//!
//! What no thread may read any more is forgotten ([`Incremental::retire`]), so memory is bounded by how far the threads are apart: by
//! what was written since the slowest of them heard of the others, times the threads. For that the threads must be
//! known. Either [`C11::set_threads`] tells how many there are; or those that were active in the first [`LATE`] events are
//! all, and when another one comes later, the monitor gives up. It does so, too, when more than 4 GB would be needed, since some
//! thread does not hear of the others any more.
//!
//! After a violation the event is left out, and so is whatever reads from an event that was left out.

use certificate::Evidence;
use history::execution::Kind;
use history::format::stream::SourceName;
use history::{MemoryOrder, OperationId, Value};
use memory::c11::{Incremental, Refused, Violation as Found};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{Monitor, Progress, Violation};

/// How many events are taken in before anything is forgotten, if the threads are not known.
const LATE: usize = 1 << 20;
/// How many events are taken in, at least, between two times of forgetting.
const SOON: usize = 1 << 13;
/// How many bytes the monitor may take, about; when it would need more, it gives up.
const MOST: usize = 4 << 30;
/// How many bytes an event takes, about, besides those for each thread.
const EACH: usize = 128;

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

/// What is known of a value of a location, or of a label.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Writer {
    /// This event has written it.
    Event(u32),
    /// More than one event has.
    Several,
    /// An event that was left out has.
    LeftOut,
}

/// What a read reads from.
enum Source {
    Init,
    Event(u32),
    LeftOut,
    ThinAir,
}

/// What is kept of an event.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
struct Kept {
    /// How many events were pushed before it.
    number: u64,
    /// What it has written, and where.
    written: Value,
    location: u32,
    label: Value,
}

/// The monitor of `ra` and `rc20`. See the [module](self).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct C11 {
    /// Whether this is `rc20`.
    orders: bool,
    execution: Incremental,
    events: u64,
    initial: Value,
    initials: FxHashMap<u32, Value>,
    writers: FxHashMap<(u32, Value), Writer>,
    labels: FxHashMap<Value, Writer>,
    /// By number in the execution.
    kept: Vec<Kept>,
    /// How many threads there are, if that was told.
    threads: Option<u32>,
    /// How many were active.
    active: u32,
    /// At how many events to forget next.
    next: usize,
    /// Whether anything was forgotten.
    has_forgotten: bool,
    /// Whether any event was left out.
    has_left_out: bool,
    has_given_up: bool,
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
            writers: FxHashMap::default(),
            labels: FxHashMap::default(),
            kept: Vec::new(),
            threads: None,
            active: 0,
            next: LATE,
            has_forgotten: false,
            has_left_out: false,
            has_given_up: false,
        }
    }

    /// There are so many threads: events of others are refused.
    pub fn set_threads(&mut self, threads: u32) {
        self.threads = Some(threads);
        self.next = SOON;
    }

    /// How many events are remembered.
    pub fn size(&self) -> usize {
        self.execution.len()
    }

    /// Forgets now what no thread may read any more; otherwise that happens from time to time.
    pub fn forget(&mut self) {
        let threads = self.threads.unwrap_or(self.active);
        if threads > self.active {
            // Who has not begun yet may read anything.
            self.next = SOON.max(2 * self.kept.len());
            return;
        }
        let numbers = self.execution.retire(threads as usize);
        let mut numbers = numbers.into_iter();
        self.kept.retain(|_| numbers.next() != Some(Incremental::FORGOTTEN));
        if self.has_left_out {
            self.writers.retain(|_, writer| *writer == Writer::LeftOut);
            self.labels.retain(|_, writer| *writer == Writer::LeftOut);
        } else {
            self.writers.clear();
            self.labels.clear();
        }
        for (event, kept) in self.kept.iter().enumerate().filter(|&(event, _)| self.execution.is_source(event)) {
            let writer = Writer::Event(event as u32);
            enter(&mut self.writers, (kept.location, kept.written), writer);
            if kept.label.is_some() {
                enter(&mut self.labels, kept.label, writer);
            }
        }
        self.has_forgotten = true;
        self.next = SOON.max(2 * self.kept.len());
    }

    /// The value that all locations hold at first which [`Self::set_initial`] does not name.
    pub fn set_default_initial(&mut self, value: Value) {
        self.initial = value;
    }

    /// The value that a location holds at first.
    pub fn set_initial(&mut self, location: u32, value: Value) {
        self.initials.insert(location, value);
    }

    /// The values that a read or rmw, if it were the next event of its thread, could read. What it can read from if sources
    /// are known tells [`Incremental::may_read_from`].
    pub fn may_read(&mut self, thread: u32, kind: Kind, location: u32, order: MemoryOrder) -> Vec<Value> {
        let initial = self.initial_value(location);
        let Self { execution, kept, .. } = self;
        let sources = execution.may_read_from(thread, kind, location, order);
        sources.map(|source| source.map_or(initial, |event| kept[event].written)).collect()
    }

    fn initial_value(&self, location: u32) -> Value {
        if self.initials.is_empty() {
            return self.initial;
        }
        self.initials.get(&location).copied().unwrap_or(self.initial)
    }

    /// What an access reads from; or why that cannot be said.
    fn source(&self, access: &Access) -> Result<Source, String> {
        let is_initial = self.initial_value(access.location) == access.read;
        let other_value = "a read cannot be from a write of another value or location";
        match access.source {
            SourceName::Init if is_initial => Ok(Source::Init),
            SourceName::Init => Err(other_value.to_owned()),
            SourceName::Label(label) => match self.labels.get(&label) {
                Some(&Writer::Event(event)) => {
                    let kept = &self.kept[event as usize];
                    let is_same = kept.written == access.read && kept.location == access.location;
                    if is_same { Ok(Source::Event(event)) } else { Err(other_value.to_owned()) }
                }
                Some(Writer::LeftOut) => Ok(Source::LeftOut),
                Some(Writer::Several) => Err("two operations have the label of its source".to_owned()),
                None if self.has_forgotten => Ok(Source::ThinAir),
                None => Err("no operation before it has the label of its source".to_owned()),
            },
            SourceName::None => match (self.writers.get(&(access.location, access.read)), is_initial) {
                (None, true) => Ok(Source::Init),
                (None, false) => Ok(Source::ThinAir),
                (Some(&Writer::Event(event)), false) => Ok(Source::Event(event)),
                (Some(Writer::LeftOut), false) => Ok(Source::LeftOut),
                (Some(_), _) => Err("reads-from is ambiguous: the value of this read was written twice".to_owned()),
            },
        }
    }

    /// Remembers who has written what an access writes.
    #[inline]
    fn enter(&mut self, access: &Access, writer: Writer) {
        if access.label.is_some() {
            enter(&mut self.labels, access.label, writer);
        }
        if access.kind.writes() {
            enter(&mut self.writers, (access.location, access.written), writer);
        }
    }

    fn leave_out(&mut self, access: &Access) {
        self.has_left_out = true;
        self.enter(access, Writer::LeftOut);
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

#[inline]
fn enter<K: Eq + std::hash::Hash + Copy>(table: &mut FxHashMap<K, Writer>, key: K, writer: Writer) {
    if table.insert(key, writer).is_some() {
        table.insert(key, Writer::Several);
    }
}

impl Monitor for C11 {
    type Event = Access;

    fn push(&mut self, access: Access) -> Result<Progress, Violation> {
        let number = self.events;
        self.events += 1;
        if self.orders && access.order == MemoryOrder::SequentiallyConsistent {
            return Ok(Progress::Refused(Refused::Sequential.to_string()));
        }
        if access.thread >= self.active {
            if self.threads.is_some_and(|threads| access.thread >= threads) {
                return Ok(Progress::Refused("there are more threads than were announced".to_owned()));
            }
            if self.threads.is_none() && self.has_forgotten {
                self.has_given_up = true;
            }
            self.active = access.thread + 1;
        }
        if self.has_given_up {
            let reason =
                "a thread begins after values were forgotten that it might read: say how many threads there are";
            return Ok(Progress::GaveUp(reason.to_owned()));
        }
        let mut source = None;
        if access.kind.reads() {
            match self.source(&access) {
                Err(reason) => return Ok(Progress::Refused(reason)),
                Ok(Source::Init) => {}
                Ok(Source::Event(event)) => source = Some(event as usize),
                Ok(Source::LeftOut) => {
                    self.leave_out(&access);
                    return Ok(Progress::Possible);
                }
                Ok(Source::ThinAir) => {
                    let evidence = u32::try_from(number).ok().map(|number| Evidence::ThinAir(OperationId(number)));
                    return if self.has_forgotten {
                        let reason = "nobody has written this value, or it was overwritten long ago for every thread";
                        self.violation(&access, reason.to_owned(), None)
                    } else {
                        let reason = "thin-air read: nobody has written this value".to_owned();
                        self.violation(&access, reason, evidence)
                    };
                }
            }
        }
        match self.execution.push(access.thread, access.kind, access.location, access.order, source) {
            Ok(event) => {
                let Access { written, location, label, .. } = access;
                self.kept.push(Kept { number, written, location, label });
                self.enter(&access, Writer::Event(event as u32));
                if self.kept.len() >= self.next {
                    self.forget();
                    // There will be twice as many before the next time.
                    if 2 * self.kept.len() > MOST / (EACH + 8 * self.active as usize) {
                        self.has_given_up = true;
                        let kept = self.kept.len();
                        let reason = format!("{kept} events cannot be forgotten: too many, with that many threads");
                        return Ok(Progress::GaveUp(reason));
                    }
                }
                Ok(Progress::Possible)
            }
            Err(Refused::Violation(found)) => {
                let reason = match found {
                    Found::UpdatedTwice { by } => {
                        format!("event {} has updated the same write", self.kept[by].number)
                    }
                    Found::Overwritten { known } => {
                        let number = self.kept[known].number;
                        format!("event {number} happens before, and what it wrote or read overwrote what is read here")
                    }
                };
                self.violation(&access, reason, None)
            }
            Err(refused @ (Refused::Sequential | Refused::Source)) => Ok(Progress::Refused(refused.to_string())),
        }
    }
}
