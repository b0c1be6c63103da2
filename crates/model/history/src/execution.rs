//! The execution of a shared memory that a history records. Every memory model looks at an execution.
//!
//! An execution is a set of events. Each event belongs to one thread. An event is a read, a write, a read-modify-write
//! (one event that reads and writes) or a fence. Program order `po` orders the events of each thread. Reads-from `rf`
//! maps each read to the write that it read from. Every location has an initial write, which is `po`-before every
//! event. The initial write is no event of this type; a read can only name it as its source ([`EventId::INIT`]).
//!
//! Events are numbered thread by thread. So the events of a thread have consecutive numbers, the next event in `po` has
//! the next number, and the position of an event in its thread is a subtraction.
//!
//! How a history becomes an execution:
//! - An operation that failed is left out, since it did not happen. A pending read is left out, since its value is not
//!   known.
//! - A pending write is kept, since it may have happened. It is the last operation of its thread. If nobody read its
//!   value, it constrains nothing.
//! - A compare-and-swap that returned true is a read-modify-write. One that returned false is left out, since the
//!   history does not name the value that it read. A pending one is kept exactly if some read has the value that it
//!   writes.
//! - If the history names the source of a read, that source is `rf`. Otherwise `rf` is the only write of the read's
//!   value to its location. A read of a value that was never written and is not initial is a [thin-air
//!   read](Execution::thin_air). A read whose value was written twice is an error, [`ViewError::Ambiguous`]:
//!   [`OpenExecution`] leaves the source of such a read open.
//! - A final value becomes reads: every thread that writes the location reads the final value after all its other
//!   operations ([`History::observed`]). The numbers of these reads follow those of the operations of the history.

mod open;
mod view;

use thiserror::Error;

use crate::history::{History, MemoryOrder, Method, Object, OperationId, index};

pub use open::{OpenExecution, OpenRead};

index!(
    /// A thread of an execution. It has the number of its process.
    ThreadId
);
index!(
    /// A location of an execution. It has the number of its key.
    LocationId
);
index!(
    /// An event of an execution. The events of a thread have consecutive numbers.
    EventId
);

impl EventId {
    /// The initial write of the location that is meant.
    pub const INIT: Self = Self(u32::MAX - 1);
    /// No event: the source of an event that does not read, or that reads thin air.
    pub const NONE: Self = Self(u32::MAX);

    /// Whether this is an event of the execution, not [`Self::INIT`] or [`Self::NONE`].
    pub const fn is_event(self) -> bool {
        self.0 < Self::INIT.0
    }
}

impl LocationId {
    /// The location of a fence.
    pub const NONE: Self = Self(u32::MAX);
}

/// The kind of an event.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Read,
    Write,
    /// Reads and writes at once.
    Rmw,
    Fence,
}

impl Kind {
    /// The kind of event that an operation on a memory or a register is, if it happened. A compare-and-swap counts as
    /// one that succeeded.
    #[inline]
    pub const fn of(method: Method) -> Self {
        match method {
            Method::Read => Self::Read,
            Method::Write => Self::Write,
            Method::Rmw | Method::Cas => Self::Rmw,
            _ => Self::Fence,
        }
    }

    /// Whether the event reads.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Rmw)
    }

    /// Whether the event writes.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Rmw)
    }
}

/// One event of an execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The location; [`LocationId::NONE`] for a fence.
    pub location: LocationId,
    /// The write that the event reads from; [`EventId::NONE`] if the event does not read.
    pub source: EventId,
    /// Whether it reads, writes, does both, or is a fence.
    pub kind: Kind,
    /// Its memory order.
    pub order: MemoryOrder,
}

impl Event {
    /// An event that neither reads nor writes.
    pub const NOTHING: Self =
        Self { location: LocationId::NONE, source: EventId::NONE, kind: Kind::Fence, order: MemoryOrder::Plain };

    /// The same event without its read. A read-modify-write becomes a write. A read becomes a fence.
    #[must_use]
    pub const fn without_read(self) -> Self {
        match self.kind {
            Kind::Read => Self::NOTHING,
            Kind::Rmw => Self { source: EventId::NONE, kind: Kind::Write, ..self },
            Kind::Write | Kind::Fence => self,
        }
    }
}

/// An execution. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Execution {
    events: Vec<Event>,
    threads: Vec<ThreadId>,
    /// The number of the first event of each thread; at the end, the number of all events.
    starts: Vec<u32>,
    locations: u32,
    operations: Vec<OperationId>,
    thin_air: Vec<EventId>,
}

/// Why a history cannot be seen as an execution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The history is about an object that is not a memory.
    #[error("a memory model speaks of reads and writes, and this is a history of {}", match .0 {
        Object::Transactions => Object::Transactions.name().to_owned(),
        object => format!("a {}", object.name()),
    })]
    NotMemory(Object),
    /// Two writes could be the source of a read.
    #[error("reads-from is ambiguous: the value of this read was written twice")]
    Ambiguous {
        /// The read.
        read: OperationId,
        /// The first two writes of its value; `None` is the initial write.
        writes: [Option<OperationId>; 2],
    },
    /// The location has a final value, and it is not known whether this write to it happened.
    #[error("the location of this write has a final value, and nobody knows whether the write happened")]
    Unsettled(OperationId),
    /// A read names a source that cannot be its source.
    #[error("a read cannot be from {}", match .why {
        SourceFault::NotAWrite => "an operation that writes nothing",
        SourceFault::OtherLocation => "a write of another location",
        SourceFault::OtherValue => "a write of another value",
        SourceFault::DidNotHappen => "a write that did not happen",
    })]
    Source {
        /// The read.
        read: OperationId,
        /// The source it names; `None` is the initial write.
        write: Option<OperationId>,
        /// What is wrong.
        why: SourceFault,
    },
}

impl ViewError {
    /// The operation that the error is about. Its number counts the reads of final values, too ([`History::observed`]).
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::NotMemory(_) => None,
            Self::Ambiguous { read: id, .. } | Self::Source { read: id, .. } | Self::Unsettled(id) => Some(*id),
        }
    }
}

/// What is wrong with the source that a read names.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum SourceFault {
    NotAWrite,
    OtherLocation,
    OtherValue,
    DidNotHappen,
}

impl Execution {
    /// The execution of a history of a memory or of registers.
    ///
    /// ```
    /// use history::{Execution, History, ViewError};
    ///
    /// let history = format::parse("[0] w x 1\n[1] w x 1\n[2] r x 1\n")?;
    /// assert!(matches!(Execution::from_history(&history), Err(ViewError::Ambiguous { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_history(history: &History) -> Result<Self, ViewError> {
        Self::check_memory(history)?;
        view::execution(&history.observed())
    }

    /// Checks that the history is of a memory or of registers, and that its final values have a meaning.
    fn check_memory(history: &History) -> Result<(), ViewError> {
        if !matches!(history.object, Object::Memory | Object::Register) {
            return Err(ViewError::NotMemory(history.object));
        }
        match history.unsettled_write() {
            Some(write) => Err(ViewError::Unsettled(OperationId(write as u32))),
            None => Ok(()),
        }
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// How many threads there are, those without events included.
    pub fn thread_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many locations there are.
    pub fn location_count(&self) -> usize {
        self.locations as usize
    }

    /// All events, thread by thread.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// One event.
    pub fn event(&self, id: EventId) -> Event {
        self.events[id.index()]
    }

    /// All event numbers.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = EventId> + use<> {
        (0..self.events.len() as u32).map(EventId)
    }

    /// The thread of each event, by event.
    pub fn threads(&self) -> &[ThreadId] {
        &self.threads
    }

    /// The thread of an event.
    pub fn thread(&self, id: EventId) -> ThreadId {
        self.threads[id.index()]
    }

    /// The number of the first event of each thread; at the end, the number of all events.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The place of an event in its thread, from zero.
    pub fn position(&self, id: EventId) -> u32 {
        id.0 - self.starts[self.thread(id).index()]
    }

    /// The events of a thread, in program order.
    pub fn thread_events(&self, thread: ThreadId) -> impl DoubleEndedIterator<Item = EventId> + use<> {
        (self.starts[thread.index()]..self.starts[thread.index() + 1]).map(EventId)
    }

    /// The operation of the history that became this event. In an execution that was built without a history, the
    /// events count as operations in the order in which they were pushed.
    pub fn operation(&self, id: EventId) -> OperationId {
        self.operations[id.index()]
    }

    /// The operation of each event, by event.
    pub fn operations(&self) -> &[OperationId] {
        &self.operations
    }

    /// The reads of values that nobody wrote. Each is a violation of every model, and has no source.
    pub fn thin_air(&self) -> &[EventId] {
        &self.thin_air
    }

    /// The same execution without its pure reads: each becomes a fence in its place. Read-modify-writes still read.
    #[must_use]
    pub fn without_pure_reads(&self) -> Self {
        let mut execution = self.clone();
        for event in execution.events.iter_mut().filter(|event| event.kind == Kind::Read) {
            *event = Event::NOTHING;
        }
        execution.thin_air.clear();
        execution
    }

    /// The same execution without sequentially consistent events: each of them acquires if it reads, releases if it
    /// writes, and does both if it is a read-modify-write or a fence.
    #[must_use]
    pub fn without_sequential_orders(&self) -> Self {
        let mut execution = self.clone();
        for event in execution.events.iter_mut().filter(|event| event.order == MemoryOrder::SequentiallyConsistent) {
            event.order = match event.kind {
                Kind::Read => MemoryOrder::Acquire,
                Kind::Write => MemoryOrder::Release,
                Kind::Rmw | Kind::Fence => MemoryOrder::AcquireRelease,
            };
        }
        execution
    }

    /// Replaces the events by the given ones and keeps the allocated memory. The events come thread by thread. Their
    /// sources use the numbers that the events get here.
    pub fn refill(&mut self, threads: usize, events: impl Iterator<Item = (ThreadId, Event, OperationId)>) {
        let Self { events: own, threads: of, starts, locations, operations, thin_air } = self;
        own.clear();
        of.clear();
        starts.clear();
        operations.clear();
        thin_air.clear();
        *locations = 0;
        for (thread, event, operation) in events {
            while starts.len() <= thread.index() {
                starts.push(own.len() as u32);
            }
            if event.location != LocationId::NONE {
                *locations = (*locations).max(event.location.0 + 1);
            }
            own.push(event);
            of.push(thread);
            operations.push(operation);
        }
        starts.resize(threads + 1, own.len() as u32);
    }

    /// The same events with every thread split into chains. The chains are the threads of the result. `chains` gives
    /// the chain of each event, a number below `count`. The events of a chain keep their order, and events keep their
    /// operations. The second result is the new number of each event.
    pub fn split(&self, chains: &[u32], count: usize) -> (Self, Vec<u32>) {
        let mut counts = vec![0; count];
        for &chain in chains {
            counts[chain as usize] += 1;
        }
        let starts = starts(&counts);
        let mut next = starts.clone();
        let numbers: Vec<u32> = chains
            .iter()
            .map(|&chain| {
                let next = &mut next[chain as usize];
                *next += 1;
                *next - 1
            })
            .collect();
        let moved = |id: EventId| if id.is_event() { EventId(numbers[id.index()]) } else { id };
        let mut split = Self {
            events: vec![Event::NOTHING; self.len()],
            threads: vec![ThreadId(0); self.len()],
            starts,
            locations: self.locations,
            operations: vec![OperationId(0); self.len()],
            thin_air: self.thin_air.iter().copied().map(moved).collect(),
        };
        for (from, &to) in numbers.iter().enumerate() {
            let event = self.events[from];
            split.events[to as usize] = Event { source: moved(event.source), ..event };
            split.threads[to as usize] = ThreadId(chains[from]);
            split.operations[to as usize] = self.operations[from];
        }
        split.thin_air.sort_unstable();
        (split, numbers)
    }
}

/// Builds an execution event by event, without a history.
///
/// ```
/// use history::execution::{ExecutionBuilder, Kind};
/// let mut builder = ExecutionBuilder::new();
/// let write = builder.push(0, Kind::Write, 0);
/// let read = builder.push(1, Kind::Read, 0);
/// builder.read_from(read, Some(write));
/// let execution = builder.build();
/// assert_eq!((execution.len(), execution.thread_count(), execution.location_count()), (2, 2, 1));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExecutionBuilder {
    events: Vec<Inserted>,
    /// How many events each thread has.
    counts: Vec<u32>,
    /// How many locations there are.
    locations: u32,
}

/// An event that was pushed. Its source is the number that [`ExecutionBuilder::push`] returned for it.
#[derive(Copy, Clone, Debug)]
struct Inserted {
    event: Event,
    thread: ThreadId,
    /// The position of the event in its thread.
    position: u32,
}

impl ExecutionBuilder {
    /// A builder without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an event to a thread. Returns its number, in the order of pushing. A read reads from the initial write
    /// until [`Self::read_from`] gives another source.
    pub fn push(&mut self, thread: u32, kind: Kind, location: u32) -> usize {
        self.push_ordered(thread, kind, location, MemoryOrder::Plain)
    }

    /// Like [`Self::push`], with a memory order.
    #[inline]
    pub fn push_ordered(&mut self, thread: u32, kind: Kind, location: u32, order: MemoryOrder) -> usize {
        if self.counts.len() <= thread as usize {
            self.counts.resize(thread as usize + 1, 0);
        }
        let count = &mut self.counts[thread as usize];
        let position = *count;
        *count += 1;
        if kind != Kind::Fence {
            self.locations = self.locations.max(location + 1);
        }
        let event = Event {
            location: if kind == Kind::Fence { LocationId::NONE } else { LocationId(location) },
            source: if kind.reads() { EventId::INIT } else { EventId::NONE },
            kind,
            order,
        };
        self.events.push(Inserted { event, thread: ThreadId(thread), position });
        self.events.len() - 1
    }

    /// Sets the source of a read: an event by its number, or the initial write. The source must be a write of the same
    /// location; [`Self::build`] checks this.
    #[inline]
    pub fn read_from(&mut self, read: usize, source: Option<usize>) {
        self.events[read].event.source = source.map_or(EventId::INIT, |source| EventId(source as u32));
    }

    /// Forgets all events, and keeps the memory for the next ones.
    pub fn clear(&mut self) {
        self.events.clear();
        self.counts.clear();
        self.locations = 0;
    }

    /// The execution of the events so far.
    ///
    /// # Panics
    /// If a read's source is not a write of its location, or an event that does not read was given one.
    pub fn build(&self) -> Execution {
        let mut execution = Execution::default();
        self.build_into(&mut execution);
        execution
    }

    /// Like [`Self::build`], into an execution whose memory is used again. Nothing is allocated if it has held as many
    /// events and threads before.
    ///
    /// # Panics
    /// As [`Self::build`].
    pub fn build_into(&self, execution: &mut Execution) {
        execution.starts.clear();
        execution.starts.push(0);
        let mut start = 0;
        for count in &self.counts {
            start += count;
            execution.starts.push(start);
        }
        let count = self.events.len();
        execution.locations = self.locations;
        execution.thin_air.clear();
        // The old content does not matter: the loop below writes every event.
        execution.events.resize(count, Event::NOTHING);
        execution.threads.resize(count, ThreadId(0));
        execution.operations.resize(count, OperationId(0));
        let Execution { events, threads, operations, starts, .. } = execution;
        let place = |inserted: &Inserted| starts[inserted.thread.index()] + inserted.position;
        for (from, inserted) in self.events.iter().enumerate() {
            let mut event = inserted.event;
            assert_eq!(event.kind.reads(), event.source != EventId::NONE, "exactly the reads have a source");
            if event.source.is_event() {
                let source = &self.events[event.source.index()];
                let writes = source.event.kind.writes() && source.event.location == event.location;
                assert!(writes, "a source writes the location");
                event.source = EventId(place(source));
            }
            let to = place(inserted) as usize;
            events[to] = event;
            threads[to] = inserted.thread;
            operations[to] = OperationId(from as u32);
        }
    }
}

/// The number of the first event of each thread; at the end, the number of all events.
fn starts(counts: &[u32]) -> Vec<u32> {
    let mut starts = Vec::with_capacity(counts.len() + 1);
    let mut start = 0;
    starts.push(start);
    for count in counts {
        start += count;
        starts.push(start);
    }
    starts
}
