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

use std::collections::hash_map::Entry;

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

    /// The same events with every thread split into chains, which are the threads of the result. `chains` tells the chain
    /// of each event, below `count`; the events of a chain keep their order. Operations stay what they are. Also tells the new
    /// number of each event.
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
            events: vec![ExecutionBuilder::NOTHING; self.len()],
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
        let ids = || (0..history.operations.len() as u32).map(OperationId);
        // Operations on a memory, without calls and returns, all happened. This is the case that has to be fast: there is no
        // branch on what an operation is, for that cannot be predicted.
        let all_happened = history.object == Object::Memory && !history.has_calls();
        let mut counts = vec![0; history.processes.len()];
        for id in ids() {
            if all_happened || self.kind(id).is_some() {
                counts[history.operation(id).process.index()] += 1;
            }
        }
        let starts = starts(&counts);
        let count = starts[counts.len()] as usize;

        let none =
            Event { location: LocationId::NONE, source: EventId::NONE, kind: Kind::Fence, order: MemoryOrder::Plain };
        let mut events = vec![none; count];
        let mut threads = vec![ThreadId(0); count];
        let mut operations = vec![OperationId(0); count];
        let (mut reads, mut read_count) = (vec![EventId(0); count], 0);
        let (mut writes, mut write_count) = (vec![EventId(0); count], 0);
        let mut next = starts.clone();
        for id in ids() {
            let operation = history.operation(id);
            let kind = if all_happened { Some(kind_of(operation.method)) } else { self.kind(id) };
            let Some(kind) = kind else { continue };
            let at = EventId(next[operation.process.index()]);
            next[operation.process.index()] += 1;
            let location = location(operation.key, kind);
            events[at.index()] = Event { location, source: EventId::NONE, kind, order: operation.order };
            threads[at.index()] = ThreadId(operation.process.0);
            operations[at.index()] = id;
            reads[read_count] = at;
            read_count += usize::from(kind.reads());
            writes[write_count] = at;
            write_count += usize::from(kind.writes());
        }
        reads.truncate(read_count);
        writes.truncate(write_count);
        let mut table = WriteTable::new(count);
        for &write in &writes {
            let value = history.operation(operations[write.index()]).argument;
            table.insert(events[write.index()].location, value, write);
        }

        let inits = Inits::new(history);
        let mut thin_air = Vec::new();
        for &read in &reads {
            let location = events[read.index()].location;
            let id = operations[read.index()];
            let value = self.value_read(id);
            let explicit = if history.sources.is_empty() { None } else { history.source(id) };
            events[read.index()].source = match explicit {
                Some(Source::Init) if inits.of(location) == value => EventId::INIT,
                Some(Source::Init) => {
                    return Err(ViewError::Source { read: id, write: None, why: SourceFault::OtherValue });
                }
                Some(Source::Operation(write)) => {
                    let fault = |why| Err(ViewError::Source { read: id, write: Some(write), why });
                    let Some(kind) = self.kind(write) else { return fault(SourceFault::DidNotHappen) };
                    let thread = history.operation(write).process.index();
                    let range = starts[thread] as usize..starts[thread + 1] as usize;
                    let place = operations[range.clone()].binary_search(&write).expect("what happened is an event");
                    let source = range.start + place;
                    if !kind.writes() || write == id {
                        return fault(SourceFault::NotAWrite);
                    }
                    if events[source].location != location {
                        return fault(SourceFault::OtherLocation);
                    }
                    if history.operation(write).argument != value {
                        return fault(SourceFault::OtherValue);
                    }
                    EventId(source as u32)
                }
                None => match (table.find(location, value), inits.of(location) == value) {
                    ((None, _), true) => EventId::INIT,
                    ((None, _), false) => {
                        thin_air.push(read);
                        EventId::NONE
                    }
                    ((Some(write), None), false) => write,
                    ((Some(first), second), initial) => {
                        let operation = |write: EventId| operations[write.index()];
                        let mut writes = [Some(operation(first)), second.map(operation)];
                        if initial {
                            writes = [None, writes[0]];
                        }
                        return Err(ViewError::Ambiguous { read: id, writes });
                    }
                },
            };
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

/// Which events write a value to a location.
///
/// Generators and testers number their values, so most are small integers that are written once: `dense` holds the first
/// write of each such value, with its location. Everything else is in the hash map.
struct WriteTable {
    dense: Vec<(LocationId, EventId)>,
    /// Integers from here on are not dense: room in proportion to the events, so that one huge value costs nothing.
    room: i64,
    sparse: FxHashMap<(LocationId, Value), EventId>,
    /// A second write of the same value to the same location.
    twice: FxHashMap<(LocationId, Value), EventId>,
}

impl WriteTable {
    fn new(events: usize) -> Self {
        Self {
            dense: Vec::new(),
            room: 1024 + 4 * events as i64,
            sparse: FxHashMap::default(),
            twice: FxHashMap::default(),
        }
    }

    fn dense_index(&self, value: Value) -> Option<usize> {
        value.as_integer().filter(|n| (0..self.room).contains(n)).map(|n| n as usize)
    }

    fn insert(&mut self, location: LocationId, value: Value, event: EventId) {
        if let Some(n) = self.dense_index(value) {
            if n >= self.dense.len() {
                self.dense.resize((n + 1).next_power_of_two(), (LocationId::NONE, EventId::NONE));
            }
            let slot = &mut self.dense[n];
            if slot.1 == EventId::NONE {
                *slot = (location, event);
                return;
            }
            if slot.0 == location {
                self.twice.entry((location, value)).or_insert(event);
                return;
            }
        }
        match self.sparse.entry((location, value)) {
            Entry::Vacant(entry) => {
                entry.insert(event);
            }
            Entry::Occupied(_) => {
                self.twice.entry((location, value)).or_insert(event);
            }
        }
    }

    /// The first write of the value to the location, and the second.
    fn find(&self, location: LocationId, value: Value) -> (Option<EventId>, Option<EventId>) {
        let dense = self.dense_index(value).and_then(|n| self.dense.get(n));
        let first = match dense {
            Some(&(of, event)) if of == location => Some(event),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&(location, value)).copied(),
        };
        let second = if self.twice.is_empty() { None } else { self.twice.get(&(location, value)).copied() };
        (first, second)
    }
}
