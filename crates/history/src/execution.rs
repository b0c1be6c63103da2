//! A history seen as an execution of a shared memory: what every memory model looks at.
//!
//! An execution is a set of events, each in one thread: reads, writes, read-modify-writes (both at once, one event)
//! and fences. Program order `po` orders each thread; reads-from `rf` maps each read to the write it read from. Every
//! location has an initial write, `po`-before everything; it is not an event here, only a source ([`EventId::INIT`]).
//!
//! Events are numbered thread by thread, so the events of a thread are consecutive, `po` is `+1` within a thread, and
//! an event's place in its thread is a subtraction.
//!
//! How a history becomes an execution:
//! - an operation that failed did not happen; a pending read says nothing; both are left out;
//! - a pending write may have happened and stands in: the last of its thread and read by none, it constrains nothing;
//! - a compare-and-swap that returned true is a read-modify-write; one that returned false is left out, since it read
//!   some value that the history does not name; a pending one stands in exactly if somebody read what it writes;
//! - `rf` is what the history says, else the one write of the read's value on its location. A read of a value that was
//!   never written and is not initial is a [thin-air read](Execution::thin_air). A read whose value was written twice is
//!   an error, [`ViewError::Ambiguous`];
//! - a final value is read in the end by every thread that writes the location: see [`History::observed`]. These reads are the
//!   operations from `history.operations.len()` on.

use std::ops::Range;

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::history::{History, KeyId, MemoryOrder, Method, Object, OperationId, Outcome, Source, index};
use crate::value::Value;

index!(
    /// A thread of an execution: the process of that number.
    ThreadId
);
index!(
    /// A location: the key of that number.
    LocationId
);
index!(
    /// An event of an execution. Consecutive within a thread.
    EventId
);

impl EventId {
    /// The initial write of whatever location is spoken of.
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

/// What an event is.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
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
    /// Whether the event reads.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Rmw)
    }

    /// Whether the event writes.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Rmw)
    }
}

/// One event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The location; [`LocationId::NONE`] for a fence.
    pub location: LocationId,
    /// The write that it reads from; [`EventId::NONE`] if it does not read.
    pub source: EventId,
    /// What it is.
    pub kind: Kind,
    /// Its memory order.
    pub order: MemoryOrder,
}

/// An execution. See the module.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    events: Vec<Event>,
    threads: Vec<ThreadId>,
    /// Where each thread begins, and the number of events at the end.
    starts: Vec<u32>,
    locations: u32,
    operations: Vec<OperationId>,
    thin_air: Vec<EventId>,
}

/// Why a history is not an execution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ViewError {
    /// The history is about an object that is not a memory.
    #[error("a memory model speaks of reads and writes, and this is a history of a {}", .0.name())]
    NotMemory(Object),
    /// Two writes (`None`: the initial write) could be the source of a read.
    #[error("reads-from is ambiguous: the value of this read was written twice")]
    Ambiguous {
        /// The read.
        read: OperationId,
        /// The first two writes of its value; `None` is the initial write.
        writes: [Option<OperationId>; 2],
    },
    /// The location has a final value, and nobody knows whether this write to it happened.
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
    /// The operation that the error is about: of the history as it is [observed](History::observed).
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
pub enum SourceFault {
    NotAWrite,
    OtherLocation,
    OtherValue,
    DidNotHappen,
}

impl Execution {
    /// The execution that a history of a memory or of registers records.
    pub fn from_history(history: &History) -> Result<Self, ViewError> {
        if !matches!(history.object, Object::Memory | Object::Register) {
            return Err(ViewError::NotMemory(history.object));
        }
        if let Some(write) = history.unsettled_write() {
            return Err(ViewError::Unsettled(OperationId(write as u32)));
        }
        View::new(&history.observed()).execution()
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

    /// The event itself.
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

    /// The number of the first event of each thread, and the number of all events at the end.
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

    /// The operation of the history that an event is (its number of insertion, if it was built without a history).
    pub fn operation(&self, id: EventId) -> OperationId {
        self.operations[id.index()]
    }

    /// The operation of each event, by event.
    pub fn operations(&self) -> &[OperationId] {
        &self.operations
    }

    /// The reads of values that nobody wrote: each is a violation of every model, and has no source.
    pub fn thin_air(&self) -> &[EventId] {
        &self.thin_air
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

/// An event whose source is a number of insertion.
#[derive(Copy, Clone, Debug)]
struct Inserted {
    event: Event,
    thread: ThreadId,
    /// Its place in its thread.
    position: u32,
}

impl ExecutionBuilder {
    const NOTHING: Event =
        Event { location: LocationId::NONE, source: EventId::NONE, kind: Kind::Fence, order: MemoryOrder::Plain };

    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an event to a thread and returns its number of insertion. A read is from the initial write until
    /// [`Self::read_from`] says otherwise.
    pub fn push(&mut self, thread: u32, kind: Kind, location: u32) -> usize {
        self.push_ordered(thread, kind, location, MemoryOrder::Plain)
    }

    /// [`Self::push`] with a memory order.
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

    /// Sets the source of a read to the event of that number, or to the initial write. The source must be a write of
    /// the same location: this is checked by [`Self::build`].
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

    /// The execution.
    ///
    /// # Panics
    /// If a read's source is not a write of its location, or an event that does not read was given one.
    pub fn build(&self) -> Execution {
        let mut execution = Execution::default();
        self.build_into(&mut execution);
        execution
    }

    /// [`Self::build`] into an execution whose memory is used again: nothing is allocated if it has held as many events
    /// and threads before.
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
        // What they hold so far is of no meaning: every event is written below.
        execution.events.resize(count, Self::NOTHING);
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

/// The place of each thread's events: where it begins, and the number of all events at the end.
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

/// The work of [`Execution::from_history`].
struct View<'a> {
    history: &'a History,
    /// The pending compare-and-swaps that are left out, sorted.
    dropped: Vec<OperationId>,
}

impl<'a> View<'a> {
    fn new(history: &'a History) -> Self {
        let mut view = Self { history, dropped: Vec::new() };
        if history.has_calls() {
            view.dropped = view.unread_pending_swaps();
        }
        view
    }

    /// What kind of event an operation is; `None` if it is left out.
    fn kind(&self, id: OperationId) -> Option<Kind> {
        let operation = self.history.operation(id);
        let pending = match operation.outcome {
            Outcome::Instant | Outcome::Ok => false,
            Outcome::Fail => return None,
            Outcome::Info | Outcome::Pending => true,
        };
        match operation.method {
            Method::Read | Method::Rmw if pending => None,
            Method::Cas if !pending && operation.result == Value::FALSE => None,
            Method::Cas if self.dropped.binary_search(&id).is_ok() => None,
            Method::Read | Method::Write | Method::Rmw | Method::Cas | Method::Fence => Some(kind_of(operation.method)),
            _ => None,
        }
    }

    /// The value that an operation reads, if it does.
    fn value_read(&self, id: OperationId) -> Value {
        let operation = self.history.operation(id);
        if operation.method == Method::Cas {
            self.history.expected(id).unwrap_or(Value::NONE)
        } else {
            operation.result
        }
    }

    fn execution(self) -> Result<Execution, ViewError> {
        let history = self.history;
        // Operations on a memory, without calls and returns, all happened. This is the case that has to be fast: there is
        // no branch on what an operation is, for that cannot be predicted: a batch of them is sorted out first.
        let all_happened = history.object == Object::Memory && !history.has_calls();
        let kind_at = |id: OperationId| {
            if all_happened { Some(kind_of(history.operation(id).method)) } else { self.kind(id) }
        };
        let turns = Turns::new(history);
        let mut counts = vec![0; history.processes.len()];
        if all_happened && turns.by_process {
            for range in &turns.ranges {
                counts[history.operations[range.start as usize].process.index()] = range.len() as u32;
            }
        } else {
            for id in (0..history.operations.len() as u32).map(OperationId) {
                counts[history.operation(id).process.index()] += u32::from(kind_at(id).is_some());
            }
        }
        let starts = starts(&counts);
        let count = starts[counts.len()] as usize;
        let mut threads = Vec::with_capacity(count);
        for (thread, &count) in (0..).map(ThreadId).zip(&counts) {
            threads.extend(std::iter::repeat_n(thread, count as usize));
        }

        let mut table = WriteTable::new(count);
        let mut operations = vec![OperationId(0); count];
        let mut writes = [EventId(0); TURN + 1];
        let mut next = starts.clone();
        turns.for_each(|turn| {
            let mut count = 0;
            for id in turn {
                let Some(kind) = kind_at(id) else { continue };
                let next = &mut next[history.operation(id).process.index()];
                let at = EventId(*next);
                *next += 1;
                operations[at.index()] = id;
                writes[count] = at;
                count += usize::from(kind.writes());
            }
            for &write in &writes[..count] {
                let operation = history.operation(operations[write.index()]);
                table.insert(location(operation.key, Kind::Write), operation.argument, write);
            }
        });

        let sources = Sources::new(&self, &starts, &operations, table);
        let mut thin_air = Vec::new();
        let mut faults = Vec::new();
        let mut events = vec![ExecutionBuilder::NOTHING; count];
        let mut reads = [EventId(0); TURN + 1];
        next.copy_from_slice(&starts);
        turns.for_each(|turn| {
            let mut count = 0;
            for id in turn {
                let Some(kind) = kind_at(id) else { continue };
                let operation = history.operation(id);
                let next = &mut next[operation.process.index()];
                let at = EventId(*next);
                *next += 1;
                let location = location(operation.key, kind);
                events[at.index()] = Event { location, source: EventId::NONE, kind, order: operation.order };
                reads[count] = at;
                count += usize::from(kind.reads());
            }
            for &read in &reads[..count] {
                let id = operations[read.index()];
                let event = &mut events[read.index()];
                match sources.of(id, event.location) {
                    Ok(EventId::NONE) => thin_air.push(read),
                    Ok(source) => event.source = source,
                    Err(fault) => faults.push((id, fault)),
                }
            }
        });
        if let Some((_, fault)) = faults.into_iter().min_by_key(|&(id, _)| id) {
            return Err(fault);
        }
        thin_air.sort_unstable();
        let keyless = u32::from(count > 0);
        Ok(Execution {
            events,
            threads,
            starts,
            locations: (history.keys.len() as u32).max(keyless),
            operations,
            thin_air,
        })
    }

    /// The pending compare-and-swaps that no read (of one that stands in) depends on.
    fn unread_pending_swaps(&self) -> Vec<OperationId> {
        let history = self.history;
        let ids = || (0..history.operations.len() as u32).map(OperationId);
        let swap = |id| {
            let operation = history.operation(id);
            operation.method == Method::Cas && matches!(operation.outcome, Outcome::Info | Outcome::Pending)
        };
        let mut dropped: Vec<OperationId> = ids().filter(|&id| swap(id)).collect();
        if dropped.is_empty() {
            return dropped;
        }
        let mut read: rustc_hash::FxHashSet<(KeyId, Value)> = ids()
            .filter(|&id| !swap(id))
            .filter(|&id| self.kind(id).is_some_and(Kind::reads))
            .map(|id| (history.operation(id).key, self.value_read(id)))
            .collect();
        loop {
            let before = dropped.len();
            dropped.retain(|&id| {
                let operation = history.operation(id);
                let stands = read.contains(&(operation.key, operation.argument));
                if stands && let Some(expected) = history.expected(id) {
                    read.insert((operation.key, expected));
                }
                !stands
            });
            if dropped.len() == before {
                return dropped;
            }
        }
    }
}

/// The kind of an operation that happened.
const fn kind_of(method: Method) -> Kind {
    match method {
        Method::Read => Kind::Read,
        Method::Write => Kind::Write,
        Method::Rmw | Method::Cas => Kind::Rmw,
        _ => Kind::Fence,
    }
}

/// A history of a single object has no keys; its accesses are on location zero.
fn location(key: KeyId, kind: Kind) -> LocationId {
    match (kind, key) {
        (Kind::Fence, _) => LocationId::NONE,
        (_, KeyId::NONE) => LocationId(0),
        _ => LocationId(key.0),
    }
}

/// The operations in turns of a few, so that those which may have happened together are looked at together, and what they
/// write and read is still in the cache: in the order of the file, or, if that has first all of one process and then all
/// of the next, in an order in which the processes take turns.
struct Turns {
    /// The operations of each process, or all of them.
    ranges: Vec<Range<u32>>,
    by_process: bool,
}

impl Turns {
    fn new(history: &History) -> Self {
        let operations = &history.operations;
        let mut ranges: Vec<Range<u32>> = Vec::new();
        let mut seen = vec![false; history.processes.len()];
        let mut by_process = true;
        let mut begin = 0;
        while begin < operations.len() && by_process {
            let process = operations[begin].process;
            by_process = !std::mem::replace(&mut seen[process.index()], true);
            let length = operations[begin..].iter().take_while(|operation| operation.process == process).count();
            ranges.push(begin as u32..(begin + length) as u32);
            begin += length;
        }
        if !by_process {
            ranges = vec![0..operations.len() as u32];
        }
        Self { ranges, by_process }
    }

    fn for_each(&self, mut turn: impl FnMut(OperationIds)) {
        let mut ranges = self.ranges.clone();
        while !ranges.is_empty() {
            ranges.retain_mut(|range| {
                let begin = range.start;
                range.start = range.end.min(begin + TURN as u32);
                turn((begin..range.start).map(OperationId));
                range.start < range.end
            });
        }
    }
}

type OperationIds = std::iter::Map<Range<u32>, fn(u32) -> OperationId>;

/// How many operations a turn has.
const TURN: usize = 256;

/// The initial values by location.
struct Inits {
    values: Vec<Value>,
    default: Value,
}

impl Inits {
    fn new(history: &History) -> Self {
        let mut values = vec![history.initial; if history.inits.is_empty() { 0 } else { history.keys.len().max(1) }];
        for &(key, value) in &history.inits {
            values[location(key, Kind::Write).index()] = value;
        }
        Self { values, default: history.initial }
    }

    fn of(&self, location: LocationId) -> Value {
        self.values.get(location.index()).copied().unwrap_or(self.default)
    }
}

/// Finds the source of a read.
struct Sources<'a> {
    view: &'a View<'a>,
    starts: &'a [u32],
    operations: &'a [OperationId],
    table: WriteTable,
    inits: Inits,
    /// Whether there is no doubt: no value was written twice to a location, and the history names no sources.
    single: bool,
}

impl<'a> Sources<'a> {
    fn new(view: &'a View<'a>, starts: &'a [u32], operations: &'a [OperationId], table: WriteTable) -> Self {
        let history = view.history;
        let single = history.object == Object::Memory && history.sources.is_empty() && table.twice.is_empty();
        Self { view, starts, operations, table, inits: Inits::new(history), single }
    }

    /// The source of a read of a location; [`EventId::NONE`] if it reads thin air.
    #[inline]
    fn of(&self, read: OperationId, location: LocationId) -> Result<EventId, ViewError> {
        let value = self.view.history.operation(read).result;
        if self.single
            && let Some(&(of, write)) = self.table.dense(value)
            && of == location
            && self.inits.of(location) != value
        {
            return Ok(write);
        }
        self.search(read, location)
    }

    #[cold]
    fn search(&self, read: OperationId, location: LocationId) -> Result<EventId, ViewError> {
        let history = self.view.history;
        let value = self.view.value_read(read);
        let initial = self.inits.of(location) == value;
        if !history.sources.is_empty()
            && let Some(source) = history.source(read)
        {
            return self.named(read, location, value, source);
        }
        match self.table.find(location, value) {
            (Some(write), None) if !initial => Ok(write),
            (None, _) if initial => Ok(EventId::INIT),
            (None, _) => Ok(EventId::NONE),
            (Some(first), second) => {
                let operation = |write: EventId| self.operations[write.index()];
                let mut writes = [Some(operation(first)), second.map(operation)];
                if initial {
                    writes = [None, writes[0]];
                }
                Err(ViewError::Ambiguous { read, writes })
            }
        }
    }

    /// The source that the history names, if the read can be from it.
    fn named(
        &self,
        read: OperationId,
        location: LocationId,
        value: Value,
        source: Source,
    ) -> Result<EventId, ViewError> {
        let Source::Operation(write) = source else {
            if self.inits.of(location) == value {
                return Ok(EventId::INIT);
            }
            return Err(ViewError::Source { read, write: None, why: SourceFault::OtherValue });
        };
        let fault = |why| Err(ViewError::Source { read, write: Some(write), why });
        let Some(kind) = self.view.kind(write) else { return fault(SourceFault::DidNotHappen) };
        let operation = self.view.history.operation(write);
        if !kind.writes() || write == read {
            return fault(SourceFault::NotAWrite);
        }
        if self::location(operation.key, kind) != location {
            return fault(SourceFault::OtherLocation);
        }
        if operation.argument != value {
            return fault(SourceFault::OtherValue);
        }
        let thread = operation.process.index();
        let start = self.starts[thread];
        let place = self.operations[start as usize..self.starts[thread + 1] as usize].binary_search(&write);
        Ok(EventId(start + place.expect("what happened is an event") as u32))
    }
}

/// Which events write a value to a location.
///
/// Generators and testers number their values, so most are small integers that are written once: `dense` holds the first
/// write of each such value, with its location. Everything else is in the hash map.
struct WriteTable {
    dense: Vec<(LocationId, EventId)>,
    /// Integers from here on are not dense: room in proportion to the events, so that one huge value costs nothing.
    room: u64,
    sparse: FxHashMap<(LocationId, Value), EventId>,
    /// A second write of the same value to the same location.
    twice: FxHashMap<(LocationId, Value), EventId>,
}

impl WriteTable {
    fn new(events: usize) -> Self {
        Self {
            dense: Vec::new(),
            room: 1024 + 4 * events as u64,
            sparse: FxHashMap::default(),
            twice: FxHashMap::default(),
        }
    }

    #[inline]
    fn insert(&mut self, location: LocationId, value: Value, write: EventId) {
        if let Some(n) = value.as_integer().filter(|&n| (n as u64) < self.room) {
            let n = n as usize;
            if n >= self.dense.len() {
                self.dense.resize((n + 1).next_power_of_two(), (LocationId::NONE, EventId::NONE));
            }
            let slot = &mut self.dense[n];
            if slot.1 == EventId::NONE {
                *slot = (location, write);
                return;
            }
        }
        self.insert_sparse(location, value, write);
    }

    /// A write whose value is not dense, or was written before.
    #[cold]
    fn insert_sparse(&mut self, location: LocationId, value: Value, write: EventId) {
        let table = if self.find(location, value).0.is_some() { &mut self.twice } else { &mut self.sparse };
        table.entry((location, value)).or_insert(write);
    }

    /// The first write of the value, to any location, if the value is dense.
    #[inline]
    fn dense(&self, value: Value) -> Option<&(LocationId, EventId)> {
        value.as_integer().and_then(|n| self.dense.get(n as usize))
    }

    /// The first write of the value to the location, and the second.
    fn find(&self, location: LocationId, value: Value) -> (Option<EventId>, Option<EventId>) {
        let first = match self.dense(value) {
            Some(&(of, write)) if of == location => Some(write),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&(location, value)).copied(),
        };
        (first, self.twice.get(&(location, value)).copied())
    }
}
