//! The monitor of `ra`, `rc20`, `relaxed` and `wra`, for accesses with their values. It finds the source of each read,
//! and tells the engine of the model: [`Incremental`], or for `wra` [`weak`]. `relaxed` is `rc20` with relaxed accesses
//! and without fences.
//!
//! After every event, the answer is that of the offline checker for the events so far. So a read of a value that was
//! not written before is a violation (`thin-air read`): a write must come before its reads. If a value was written
//! twice to a location, a read of it needs a source, or it is refused. If one of the two writes was forgotten, the
//! other is the source.
//!
//! The monitor forgets what no thread can read any more ([`Incremental::retire`]). So its memory is bounded by the
//! number of threads times the writes since the slowest thread last read from the others. (Under `relaxed` no thread
//! learns of others, so nothing is forgotten if there are several.) To forget, it must know all
//! threads. Either [`C11::set_threads`] sets their number. Or the threads that were active in the first
//! [`FIRST_EVENTS`] events are taken to be all; if another thread comes later, the monitor gives up. The monitor also
//! gives up when it would need more than 4 GB, or when a thread has had 2^31 events, since then some thread no longer
//! reads from the others.
//!
//! After a violation, the event is left out. Every read from an event that was left out is also left out.

mod weak;
mod writers;

use format::stream::SourceName;
use history::execution::Kind;
use history::{MemoryOrder, OperationId, Value};
use memory::c11::{C11Violation as Found, Incremental, Refused, WriteId};
use model::{Evidence, Model};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::{Monitor, Progress, Violation};
use weak::Weak;
use writers::{Writer, Writers};

/// How many events are taken in before anything is forgotten, if the number of threads is not set.
const FIRST_EVENTS: u64 = 1 << 20;
/// How many events are taken in, at least, before the monitor forgets again.
const FORGET_INTERVAL: u64 = 1 << 11;
/// About how many bytes the monitor may take. When it would need more, it gives up.
const MEMORY_LIMIT: usize = 4 << 30;
/// About how many bytes a write or an access takes, not counting eight bytes for each thread.
const BYTES_PER_ACCESS: usize = 128;

/// An access, or a fence.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its thread. Threads are numbers, best from zero on without large gaps.
    pub thread: u32,
    /// Whether it reads, writes, does both, or is a fence.
    pub kind: Kind,
    /// Its location: a number, best from zero on without large gaps. It has no meaning for a fence.
    pub location: u32,
    /// Its memory order. It has no meaning under `ra`.
    pub order: MemoryOrder,
    /// The value that it reads, if it reads.
    pub read: Value,
    /// The value that it writes, if it writes.
    pub written: Value,
    /// Its label. Reads can name it as their source by this label.
    pub label: Value,
    /// The source that it reads from, if that is known.
    pub source: SourceName,
}

/// What a read reads from.
enum Source {
    Init,
    Write(WriteId),
    LeftOut,
    ThinAir,
}

/// The engine of a model.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Engine {
    /// `ra`.
    Ra(Incremental),
    /// `rc20`: memory orders have a meaning.
    Rc20(Incremental),
    /// `relaxed`: every access is relaxed, and fences mean nothing.
    Relaxed(Incremental),
    /// `wra`.
    Weak(Weak),
}

impl Engine {
    #[inline]
    fn push(&mut self, number: u64, access: &Access, source: Option<WriteId>) -> Result<Option<WriteId>, Refused> {
        let Access { thread, kind, location, order, .. } = *access;
        match self {
            Self::Relaxed(_) if kind == Kind::Fence => Ok(None),
            Self::Weak(engine) => engine.push(number, thread, kind, location, source),
            Self::Ra(engine) | Self::Rc20(engine) => {
                engine.set_next(number);
                engine.push(thread, kind, location, order, source)
            }
            Self::Relaxed(engine) => {
                engine.set_next(number);
                engine.push(thread, kind, location, MemoryOrder::Relaxed, source)
            }
        }
    }

    fn may_read_from(&mut self, thread: u32, kind: Kind, location: u32, order: MemoryOrder) -> Vec<Option<WriteId>> {
        match self {
            Self::Weak(engine) => engine.may_read_from(thread, kind, location),
            Self::Ra(engine) | Self::Rc20(engine) => engine.may_read_from(thread, kind, location, order).collect(),
            Self::Relaxed(engine) => engine.may_read_from(thread, kind, location, MemoryOrder::Relaxed).collect(),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Ra(engine) | Self::Rc20(engine) | Self::Relaxed(engine) => engine.size(),
            Self::Weak(engine) => engine.size(),
        }
    }

    fn retire(&mut self, threads: usize) -> Vec<WriteId> {
        match self {
            Self::Ra(engine) | Self::Rc20(engine) | Self::Relaxed(engine) => engine.retire(threads).collect(),
            Self::Weak(engine) => engine.retire(threads),
        }
    }
}

/// The monitor of `ra`, `rc20`, `relaxed` and `wra`. See [`crate::Monitor`].
///
/// After every event, the answer is that of the offline checker for the events so far. A write must come before its
/// reads. A value may be written twice to a location only if reads of it name their sources, or the first write is
/// forgotten. Memory is bounded by how far the threads are apart; for this the monitor must know all threads
/// ([`Self::set_threads`]).
///
/// ```
/// use history::execution::Kind::{self, Read, Write};
/// use format::stream::SourceName;
/// use history::{MemoryOrder, Value};
/// use monitor::{Access, C11, Monitor};
///
/// let access = |thread, kind: Kind, location, value| {
///     let [read, written] = [kind.reads(), kind.writes()].map(|has| if has { value } else { Value::NONE });
///     let (label, source) = (Value::NONE, SourceName::None);
///     Access { thread, kind, location, order: MemoryOrder::Plain, read, written, label, source }
/// };
/// let (data, flag) = (0, 1);
/// let mut monitor = C11::ra();
/// monitor.push(access(0, Write, data, Value::small(1)))?;
/// monitor.push(access(0, Write, flag, Value::small(1)))?;
/// monitor.push(access(1, Read, flag, Value::small(1)))?;
/// // Thread 1 has seen the flag, so it must also see the data.
/// let stale = monitor.push(access(1, Read, data, Value::ZERO));
/// assert_eq!(stale.unwrap_err().event, 3);
/// # Ok::<(), monitor::Violation>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct C11 {
    execution: Engine,
    events: u64,
    initial: Value,
    initials: FxHashMap<u32, Value>,
    /// The writes by location and value.
    writers: Writers,
    /// The labelled events by label. The location is always zero.
    labels: Writers,
    /// How many threads there are, if that was set.
    threads: Option<u32>,
    /// One more than the largest thread so far.
    active: u32,
    /// The number of events at which to forget again.
    next: u64,
    /// Whether anything was forgotten.
    has_forgotten: bool,
    /// Why the monitor has given up.
    given_up: Option<String>,
}

impl C11 {
    /// A monitor of `ra`. All locations hold zero.
    pub fn ra() -> Self {
        Self::new(Engine::Ra(Incremental::ra()))
    }

    /// A monitor of `rc20`. All locations hold zero.
    pub fn rc20() -> Self {
        Self::new(Engine::Rc20(Incremental::rc20()))
    }

    /// A monitor of `relaxed`. All locations hold zero.
    pub fn relaxed() -> Self {
        Self::new(Engine::Relaxed(Incremental::rc20()))
    }

    /// A monitor of `wra`. All locations hold zero.
    pub fn wra() -> Self {
        Self::new(Engine::Weak(Weak::default()))
    }

    /// The model that it follows.
    pub const fn model(&self) -> Model {
        match self.execution {
            Engine::Ra(_) => Model::Ra,
            Engine::Rc20(_) => Model::Rc20,
            Engine::Relaxed(_) => Model::Relaxed,
            Engine::Weak(_) => Model::Wra,
        }
    }

    fn new(execution: Engine) -> Self {
        Self {
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

    /// Sets the number of threads. Events of other threads are refused.
    pub fn set_threads(&mut self, threads: u32) {
        self.threads = Some(threads);
        self.next = self.events + FORGET_INTERVAL;
    }

    /// How many writes and accesses the monitor remembers.
    pub fn size(&self) -> usize {
        self.execution.size()
    }

    /// Forgets what no thread can read any more. Without this call, the monitor does so from time to time.
    pub fn forget(&mut self) {
        let threads = self.threads.unwrap_or(self.active);
        // A thread that has not begun yet can read any value.
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

    /// Sets the initial value of all locations that [`Self::set_initial`] does not name.
    pub fn set_default_initial(&mut self, value: Value) {
        self.initial = value;
    }

    /// Sets the initial value of a location.
    pub fn set_initial(&mut self, location: u32, value: Value) {
        self.initials.insert(location, value);
    }

    /// The values that a read or read-modify-write could read, if it were the next event of its thread.
    /// [`Incremental::may_read_from`] gives the sources instead of the values.
    pub fn may_read(&mut self, thread: u32, kind: Kind, location: u32, order: MemoryOrder) -> Vec<Value> {
        let initial = self.initial_value(location);
        let Self { execution, writers, .. } = self;
        let sources = execution.may_read_from(thread, kind, location, order);
        sources.into_iter().map(|source| source.map_or(initial, |write| writers.written(write).1)).collect()
    }

    fn initial_value(&self, location: u32) -> Value {
        if self.initials.is_empty() {
            return self.initial;
        }
        self.initials.get(&location).copied().unwrap_or(self.initial)
    }

    /// The source of an access, or why it cannot be found.
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

    /// Remembers which event has this label.
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

    /// Notes that a thread begins. Returns why it cannot, if so.
    #[cold]
    fn begin(&mut self, thread: u32) -> Option<Progress> {
        if self.threads.is_some_and(|threads| thread >= threads) {
            return Some(Progress::Refused("there are more threads than were announced".to_owned()));
        }
        if self.threads.is_none() && self.has_forgotten {
            return Some(self.give_up(
                "a thread begins, but values that it could read are forgotten already: say how many threads there are",
            ));
        }
        self.active = thread + 1;
        None
    }

    /// Forgets, or gives up if too much cannot be forgotten.
    #[cold]
    fn forget_some(&mut self) -> Progress {
        self.forget();
        // The size may double before the next time.
        let size = self.size();
        if 2 * size > MEMORY_LIMIT / (BYTES_PER_ACCESS + 8 * self.active as usize) {
            return self.give_up(&format!("too many accesses cannot be forgotten for this number of threads: {size}"));
        }
        Progress::Possible
    }

    fn give_up(&mut self, reason: &str) -> Progress {
        Progress::GaveUp(self.given_up.insert(reason.to_owned()).clone())
    }

    /// The violation of a read whose value no known event has written.
    #[cold]
    fn thin_air(&mut self, access: &Access) -> Result<Progress, Violation> {
        if self.has_forgotten {
            let reason = "nobody has written this value, or every thread has seen that it was overwritten";
            return self.violation(access, reason.to_owned(), None);
        }
        let evidence = u32::try_from(self.events - 1).ok().map(|number| Evidence::ThinAir(OperationId(number)));
        self.violation(access, "thin-air read: nobody has written this value".to_owned(), evidence)
    }

    /// The answer for an access that the engine does not accept.
    #[cold]
    fn refused(&mut self, access: &Access, refused: Refused) -> Result<Progress, Violation> {
        match refused {
            Refused::Violation(found) => {
                // The engine counts events from zero, and its words are for a reader who counts from one.
                let found = match found {
                    Found::UpdatedTwice { by } => Found::UpdatedTwice { by: by + 1 },
                    Found::Overwritten { known } => Found::Overwritten { known: known + 1 },
                };
                self.violation(access, found.to_string(), None)
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
        if matches!(self.execution, Engine::Rc20(_)) && access.order == MemoryOrder::SequentiallyConsistent {
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
        let Access { kind, location, written, label, .. } = access;
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
        let write = match self.execution.push(self.events - 1, &access, source) {
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
