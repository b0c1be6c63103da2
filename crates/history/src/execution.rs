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
//!   an error, [`ViewError::Ambiguous`].

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
    /// The operation that the error is about.
    pub fn operation(&self) -> Option<OperationId> {
        match self {
            Self::NotMemory(_) => None,
            Self::Ambiguous { read, .. } | Self::Source { read, .. } => Some(*read),
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
        View::new(history).execution()
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
    events: Vec<Event>,
    threads: Vec<ThreadId>,
}

impl ExecutionBuilder {
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
    pub fn push_ordered(&mut self, thread: u32, kind: Kind, location: u32, order: MemoryOrder) -> usize {
        self.threads.push(ThreadId(thread));
        self.events.push(Event {
            location: if kind == Kind::Fence { LocationId::NONE } else { LocationId(location) },
            source: if kind.reads() { EventId::INIT } else { EventId::NONE },
            kind,
            order,
        });
        self.events.len() - 1
    }

    /// Sets the source of a read to the event of that number, or to the initial write. The source must be a write of
    /// the same location: this is checked by [`Self::build`].
    pub fn read_from(&mut self, read: usize, source: Option<usize>) {
        self.events[read].source = source.map_or(EventId::INIT, |source| EventId(source as u32));
    }

    /// The execution.
    ///
    /// # Panics
    /// If a read's source is not a write of its location, or an event that does not read was given one.
    pub fn build(&self) -> Execution {
        let operations = (0..self.events.len() as u32).map(OperationId).collect();
        let execution = arrange(&self.events, &self.threads, operations, 0, 0);
        for event in &execution.events {
            assert_eq!(event.kind.reads(), event.source != EventId::NONE, "exactly the reads have a source");
            if event.source.is_event() {
                let source = execution.event(event.source);
                assert!(source.kind.writes() && source.location == event.location, "a source writes the location");
            }
        }
        execution
    }
}

/// Sorts events, given in any order that respects program order, by thread. Sources are numbers of insertion.
fn arrange(
    events: &[Event],
    threads: &[ThreadId],
    operations: Vec<OperationId>,
    thread_count: usize,
    location_count: usize,
) -> Execution {
    let thread_count = threads.iter().map(|t| t.index() + 1).max().unwrap_or(0).max(thread_count);
    let locations = events.iter().filter(|e| e.location != LocationId::NONE).map(|e| e.location.0 + 1);
    let locations = locations.max().unwrap_or(0).max(location_count as u32);
    let mut starts = vec![0u32; thread_count + 1];
    for thread in threads {
        starts[thread.index() + 1] += 1;
    }
    for thread in 0..thread_count {
        starts[thread + 1] += starts[thread];
    }
    if threads.is_sorted() {
        return Execution {
            events: events.to_vec(),
            threads: threads.to_vec(),
            starts,
            locations,
            operations,
            thin_air: Vec::new(),
        };
    }
    let mut next = starts.clone();
    let place: Vec<u32> = threads
        .iter()
        .map(|thread| {
            let at = next[thread.index()];
            next[thread.index()] += 1;
            at
        })
        .collect();
    let none =
        Event { location: LocationId::NONE, source: EventId::NONE, kind: Kind::Fence, order: MemoryOrder::Plain };
    let mut execution = Execution {
        events: vec![none; events.len()],
        threads: vec![ThreadId(0); events.len()],
        starts,
        locations,
        operations: vec![OperationId(0); events.len()],
        thin_air: Vec::new(),
    };
    for (from, &to) in place.iter().enumerate() {
        let mut event = events[from];
        if event.source.is_event() {
            event.source = EventId(place[event.source.index()]);
        }
        execution.events[to as usize] = event;
        execution.threads[to as usize] = threads[from];
        execution.operations[to as usize] = operations[from];
    }
    execution
}

/// The work of [`Execution::from_history`].
struct View<'a> {
    history: &'a History,
    /// What each operation writes and reads, or nothing if it is left out; only where that is not obvious.
    writes: WriteTable,
}

/// An operation as the memory sees it.
#[derive(Copy, Clone)]
struct Access {
    kind: Kind,
    read: Value,
    written: Value,
}

impl<'a> View<'a> {
    fn new(history: &'a History) -> Self {
        Self { history, writes: WriteTable::default() }
    }

    /// What operation `id` does to the memory; `None` if it is left out. A pending compare-and-swap or rmw is decided
    /// by the caller.
    fn access(&self, id: OperationId) -> Option<Access> {
        let operation = self.history.operation(id);
        let pending = match operation.outcome {
            Outcome::Instant | Outcome::Ok => false,
            Outcome::Fail => return None,
            Outcome::Info | Outcome::Pending => true,
        };
        let access = |kind, read, written| Some(Access { kind, read, written });
        match operation.method {
            Method::Write => access(Kind::Write, Value::NONE, operation.argument),
            Method::Read if !pending => access(Kind::Read, operation.result, Value::NONE),
            Method::Rmw if !pending => access(Kind::Rmw, operation.result, operation.argument),
            Method::Cas if !pending && operation.result == Value::FALSE => None,
            Method::Cas => access(Kind::Rmw, self.history.expected(id).unwrap_or(Value::NONE), operation.argument),
            Method::Fence => access(Kind::Fence, Value::NONE, Value::NONE),
            _ => None,
        }
    }

    fn is_pending(&self, id: OperationId) -> bool {
        matches!(self.history.operation(id).outcome, Outcome::Info | Outcome::Pending)
    }

    fn execution(mut self) -> Result<Execution, ViewError> {
        let history = self.history;
        let count = history.operations.len();
        let ids = || (0..count as u32).map(OperationId);
        let dropped_swaps = self.unread_pending_swaps();

        let mut accesses = Vec::with_capacity(count);
        let mut events = Vec::with_capacity(count);
        let mut threads = Vec::with_capacity(count);
        let mut operations = Vec::with_capacity(count);
        for id in ids() {
            let Some(access) = self.access(id) else {
                continue;
            };
            if dropped_swaps.binary_search(&id).is_ok() {
                continue;
            }
            let operation = history.operation(id);
            let location = location(operation.key, access.kind);
            if access.kind.writes() {
                self.writes.insert(location, access.written, operations.len() as u32, &events);
            }
            events.push(Event { location, source: EventId::NONE, kind: access.kind, order: operation.order });
            threads.push(ThreadId(operation.process.0));
            accesses.push(access.read);
            operations.push(id);
        }

        let inits = Inits::new(history);
        let mut thin_air = Vec::new();
        for (at, &read) in accesses.iter().enumerate() {
            if !events[at].kind.reads() {
                continue;
            }
            let location = events[at].location;
            let id = operations[at];
            let explicit = if history.sources.is_empty() { None } else { history.source(id) };
            let source = if let Some(source) = explicit {
                Self::explicit(source, id, location, read, &inits, &events, &operations, |write| {
                    self.access(write).is_some_and(|access| access.written == read)
                })?
            } else {
                let found = self.writes.find(location, read, &events);
                let initial = inits.of(location) == read;
                let writes = match found {
                    Found::None if initial => {
                        events[at].source = EventId::INIT;
                        continue;
                    }
                    Found::None => {
                        thin_air.push(at as u32);
                        continue;
                    }
                    Found::One(write) if !initial => {
                        events[at].source = EventId(write);
                        continue;
                    }
                    Found::One(write) => [None, Some(operations[write as usize])],
                    Found::Two(_, _) if initial => [None, None],
                    Found::Two(a, b) => [Some(operations[a as usize]), Some(operations[b as usize])],
                };
                let writes = match (found, writes) {
                    (Found::Two(a, _), [None, None]) => [None, Some(operations[a as usize])],
                    _ => writes,
                };
                return Err(ViewError::Ambiguous { read: id, writes });
            };
            events[at].source = source;
        }

        let mut execution = arrange(&events, &threads, operations, history.processes.len(), history.keys.len());
        if execution.locations == 0 && !execution.is_empty() {
            execution.locations = 1;
        }
        execution.thin_air = if thin_air.is_empty() {
            Vec::new()
        } else {
            execution
                .ids()
                .filter(|&id| execution.event(id).kind.reads() && execution.event(id).source == EventId::NONE)
                .collect()
        };
        Ok(execution)
    }

    #[allow(clippy::too_many_arguments)]
    fn explicit(
        source: Source,
        read: OperationId,
        location: LocationId,
        value: Value,
        inits: &Inits,
        events: &[Event],
        operations: &[OperationId],
        writes_value: impl Fn(OperationId) -> bool,
    ) -> Result<EventId, ViewError> {
        let Source::Operation(write) = source else {
            if inits.of(location) != value {
                return Err(ViewError::Source { read, write: None, why: SourceFault::OtherValue });
            }
            return Ok(EventId::INIT);
        };
        let fault = |why| Err(ViewError::Source { read, write: Some(write), why });
        let Ok(at) = operations.binary_search(&write) else {
            return fault(SourceFault::DidNotHappen);
        };
        if !events[at].kind.writes() || write == read {
            return fault(SourceFault::NotAWrite);
        }
        if events[at].location != location {
            return fault(SourceFault::OtherLocation);
        }
        if !writes_value(write) {
            return fault(SourceFault::OtherValue);
        }
        Ok(EventId(at as u32))
    }

    /// The pending compare-and-swaps that no read (of one that stands in) depends on.
    fn unread_pending_swaps(&self) -> Vec<OperationId> {
        let history = self.history;
        let ids = || (0..history.operations.len() as u32).map(OperationId);
        if history.expected.is_empty() && !history.has_calls() {
            return Vec::new();
        }
        let swap = |id| matches!(history.operation(id).method, Method::Cas) && self.is_pending(id);
        let mut dropped: Vec<OperationId> = ids().filter(|&id| swap(id)).collect();
        if dropped.is_empty() {
            return dropped;
        }
        let mut read: rustc_hash::FxHashSet<(KeyId, Value)> = ids()
            .filter(|&id| !swap(id))
            .filter_map(|id| Some((history.operation(id).key, self.access(id).filter(|a| a.kind.reads())?.read)))
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
/// write of each such value, whatever its location. Everything else is in the hash map.
#[derive(Default)]
struct WriteTable {
    dense: Vec<u32>,
    sparse: FxHashMap<(LocationId, Value), u32>,
    /// A second write of the same value to the same location.
    twice: FxHashMap<(LocationId, Value), u32>,
}

#[derive(Copy, Clone)]
enum Found {
    None,
    One(u32),
    Two(u32, u32),
}

impl WriteTable {
    const FREE: u32 = u32::MAX;

    fn insert(&mut self, location: LocationId, value: Value, event: u32, events: &[Event]) {
        // Room for the dense table in proportion to the events seen, so that one huge value does not blow it up.
        let room = 1024 + 8 * events.len();
        match value.as_integer() {
            Some(n) if n >= 0 && (n as usize) < room => {
                let n = n as usize;
                if n >= self.dense.len() {
                    self.dense.resize((n + 1).next_power_of_two(), Self::FREE);
                }
                let slot = &mut self.dense[n];
                if *slot == Self::FREE {
                    // The value may have come before, when there was no room for it.
                    if !self.sparse.contains_key(&(location, value)) {
                        *slot = event;
                        return;
                    }
                } else if events[*slot as usize].location == location {
                    self.twice.entry((location, value)).or_insert(event);
                    return;
                }
            }
            _ => {}
        }
        match self.sparse.entry((location, value)) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(event);
            }
            std::collections::hash_map::Entry::Occupied(_) => {
                self.twice.entry((location, value)).or_insert(event);
            }
        }
    }

    fn find(&self, location: LocationId, value: Value, events: &[Event]) -> Found {
        let dense = value
            .as_integer()
            .and_then(|n| self.dense.get(usize::try_from(n).ok()?).copied())
            .filter(|&event| event != Self::FREE && events[event as usize].location == location);
        let first = match dense {
            Some(event) => event,
            None => match self.sparse.get(&(location, value)) {
                Some(&event) => event,
                None => return Found::None,
            },
        };
        if !self.twice.is_empty()
            && let Some(&second) = self.twice.get(&(location, value))
        {
            return Found::Two(first, second);
        }
        Found::One(first)
    }
}
