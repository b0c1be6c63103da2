//! Makes an execution from a history.
//!
//! In the common case every operation is an instant of a memory, and its value is an integer that was written once.
//! This case must be fast: it looks at each operation once. It looks up the source of a read a little later than it
//! sees the read, so that the write has probably been seen by then. If any value was written twice, or some operation
//! may not have happened, all reads are looked up again, by [`Sources`].

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::{Event, EventId, Execution, Kind, LocationId, SourceFault, ThreadId, ViewError, starts};
use crate::history::{History, KeyId, Method, Object, Operation, OperationId, Outcome, Source};
use crate::value::Value;

/// The execution of a history of a memory or of registers.
pub(super) fn execution(history: &History) -> Result<Execution, ViewError> {
    let view = View::new(history);
    let quick = if view.all_happened { Turns::by_process(history) } else { None };
    let quick = quick.and_then(|turns| view.fill(&turns));
    let filled = quick.or_else(|| view.fill(&Turns::in_file_order(history)));
    let Filled { mut execution, table, late } = filled.expect("the order of the file is in program order");
    let sources = if table.twice.is_empty() && view.all_happened && history.sources.is_empty() {
        Sources { view: &view, execution: &execution, table, inits: Inits::new(history) }.of_all(late)
    } else {
        let mut table = WriteTable::new(execution.len());
        let mut reads = Vec::new();
        let mut next = execution.starts.clone();
        for id in view.ids().filter(|&id| view.kind(id).is_some()) {
            let operation = history.operation(id);
            let next = &mut next[operation.process.index()];
            let at = EventId(*next);
            *next += 1;
            let Event { location, kind, .. } = execution.event(at);
            if kind.writes() {
                table.insert(&execution.events, location, operation.argument, at);
            }
            if kind.reads() {
                reads.push(at);
            }
        }
        Sources { view: &view, execution: &execution, table, inits: Inits::new(history) }.of_all(reads)
    };
    for (read, source) in sources? {
        execution.events[read.index()].source = source;
        if source == EventId::NONE {
            execution.thin_air.push(read);
        }
    }
    execution.thin_air.sort_unstable();
    Ok(execution)
}

/// A history, and which of its operations are events.
pub(super) struct View<'a> {
    history: &'a History,
    /// Whether all operations are events.
    all_happened: bool,
    /// The pending compare-and-swaps that are left out, sorted.
    dropped: Vec<OperationId>,
}

/// An execution in which the reads in `late` have no source yet. Every other read has the only write of its value as
/// its source, if no value was written twice.
pub(super) struct Filled {
    pub(super) execution: Execution,
    table: WriteTable,
    late: Vec<EventId>,
}

impl<'a> View<'a> {
    pub(super) fn new(history: &'a History) -> Self {
        let all_happened = history.object == Object::Memory && !history.has_calls();
        let mut view = Self { history, all_happened, dropped: Vec::new() };
        if history.has_calls() {
            view.dropped = view.unread_pending_swaps();
        }
        view
    }

    fn ids(&self) -> impl Iterator<Item = OperationId> + use<> {
        (0..self.history.operations.len() as u32).map(OperationId)
    }

    /// The kind of event that an operation is; `None` if the operation is left out.
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
            Method::Read | Method::Write | Method::Rmw | Method::Cas | Method::Fence => {
                Some(Kind::of(operation.method))
            }
            _ => None,
        }
    }

    /// The value that an operation reads; none if it does not read.
    pub(super) fn value_read(&self, id: OperationId) -> Value {
        let operation = self.history.operation(id);
        if operation.method == Method::Cas {
            self.history.expected(id).unwrap_or(Value::NONE)
        } else {
            operation.result
        }
    }

    /// Numbers the events, and looks up most reads on the way. `None` if a range of `turns` has operations of another
    /// process than its first.
    pub(super) fn fill(&self, turns: &Turns) -> Option<Filled> {
        let history = self.history;
        let mut counts = vec![0; history.processes.len()];
        if turns.by_process {
            for range in &turns.ranges {
                counts[history.operations[range.start as usize].process.index()] = range.end - range.start;
            }
        } else {
            for id in self.ids() {
                counts[history.operation(id).process.index()] += u32::from(self.kind(id).is_some());
            }
        }
        let starts = starts(&counts);
        let count = starts[counts.len()] as usize;
        let mut threads = Vec::with_capacity(count);
        for (thread, &count) in (0..).map(ThreadId).zip(&counts) {
            threads.extend(std::iter::repeat_n(thread, count as usize));
        }
        let mut events = vec![Event::NOTHING; count];
        let mut operations = vec![OperationId(0); count];

        let mut table = WriteTable::new(count);
        let inits = Inits::new(history);
        let mut waiting = VecDeque::new();
        let lag = 2 * TURN_LENGTH * turns.ranges.len().min(1024);
        let mut late = Vec::new();
        let mut look_up = |read: Access, events: &mut [Event], table: &WriteTable| match table.dense(events, read.value)
        {
            Some((of, write)) if of == read.location && inits.of(of) != read.value => {
                events[read.at.index()].source = write;
            }
            _ => late.push(read.at),
        };
        // Whether an operation reads or writes cannot be predicted, so no branch depends on it. Each turn is sorted
        // into reads and writes first.
        let (mut reads, mut writes) = ([Access::NONE; TURN_LENGTH + 1], [Access::NONE; TURN_LENGTH + 1]);
        let mut next = starts.clone();
        let mut as_they_say = true;
        turns.for_each(|turn| {
            let (mut read_count, mut write_count) = (0, 0);
            let mut sort_out = |at: EventId, operation: &Operation, kind: Kind| {
                let location = location(operation.key, kind);
                reads[read_count] = Access { at, location, value: operation.result };
                read_count += usize::from(kind.reads());
                writes[write_count] = Access { at, location, value: operation.argument };
                write_count += usize::from(kind.writes());
                Event { location, source: EventId::NONE, kind, order: operation.order }
            };
            let done = &history.operations[turn.start as usize..turn.end as usize];
            let ids = turn.map(OperationId);
            if turns.by_process {
                let process = done[0].process;
                let first = next[process.index()];
                next[process.index()] += done.len() as u32;
                let range = first as usize..first as usize + done.len();
                operations[range.clone()].iter_mut().zip(ids).for_each(|(operation, id)| *operation = id);
                for ((event, operation), at) in events[range].iter_mut().zip(done).zip((first..).map(EventId)) {
                    as_they_say &= operation.process == process;
                    *event = sort_out(at, operation, Kind::of(operation.method));
                }
            } else {
                for (id, operation) in ids.zip(done) {
                    let Some(kind) = self.kind(id) else { continue };
                    let next = &mut next[operation.process.index()];
                    let at = EventId(*next);
                    *next += 1;
                    events[at.index()] = sort_out(at, operation, kind);
                    operations[at.index()] = id;
                }
            }
            for write in &writes[..write_count] {
                table.insert(&events, write.location, write.value, write.at);
            }
            waiting.extend(&reads[..read_count]);
            for read in waiting.drain(..waiting.len().saturating_sub(lag)) {
                look_up(read, &mut events, &table);
            }
        });
        for read in waiting {
            look_up(read, &mut events, &table);
        }
        let locations = (history.keys.len() as u32).max(u32::from(count > 0));
        let execution = Execution { events, threads, starts, locations, operations, thin_air: Vec::new() };
        as_they_say.then_some(Filled { execution, table, late })
    }

    /// The pending compare-and-swaps whose values nobody read. A read counts if it is of an operation that happened, or
    /// of a pending compare-and-swap that is kept.
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

/// A read or a write, with its value.
#[derive(Copy, Clone)]
struct Access {
    at: EventId,
    location: LocationId,
    value: Value,
}

impl Access {
    const NONE: Self = Self { at: EventId::NONE, location: LocationId::NONE, value: Value::NONE };
}

/// The location of a key. A history of a single object has no keys: its accesses are on location zero.
fn location(key: KeyId, kind: Kind) -> LocationId {
    match (kind, key) {
        (Kind::Fence, _) => LocationId::NONE,
        (_, KeyId::NONE) => LocationId(0),
        _ => LocationId(key.0),
    }
}

/// How many operations a turn has, at most.
const TURN_LENGTH: usize = 256;

/// The order in which operations are looked at: in short turns. Operations that may have happened at the same time
/// should come close to each other, so that what they write and read is still in the cache.
pub(super) struct Turns {
    /// The operations of each process; or one range with all operations.
    ranges: Vec<Range<u32>>,
    by_process: bool,
}

impl Turns {
    /// All operations in the order of the file.
    pub(super) fn in_file_order(history: &History) -> Self {
        let all = 0..history.operations.len() as u32;
        Self { ranges: Vec::from([all]), by_process: false }
    }

    /// The processes take turns. `None` if the file does not seem to have first all operations of one process, then all
    /// of the next, and so on. This is a guess: it looks at a few of the operations only.
    fn by_process(history: &History) -> Option<Self> {
        let operations = &history.operations;
        let mut ranges = Vec::new();
        let mut seen = vec![false; history.processes.len()];
        let mut begin = 0;
        while begin < operations.len() {
            let process = operations[begin].process;
            if std::mem::replace(&mut seen[process.index()], true) {
                return None;
            }
            let mut step = 1;
            while operations.get(begin + step).is_some_and(|operation| operation.process == process) {
                step *= 2;
            }
            let within = &operations[begin..operations.len().min(begin + step)];
            let end = begin + within.partition_point(|operation| operation.process == process);
            ranges.push(begin as u32..end as u32);
            begin = end;
        }
        Some(Self { ranges, by_process: true })
    }

    fn for_each(&self, mut turn: impl FnMut(Range<u32>)) {
        let mut ranges = self.ranges.clone();
        while !ranges.is_empty() {
            ranges.retain_mut(|range| {
                let begin = range.start;
                range.start = range.end.min(begin.saturating_add(TURN_LENGTH as u32));
                if begin < range.start {
                    turn(begin..range.start);
                }
                range.start < range.end
            });
        }
    }
}

/// The initial values by location.
pub(super) struct Inits {
    values: Vec<Value>,
    default: Value,
}

impl Inits {
    pub(super) fn new(history: &History) -> Self {
        let mut values = vec![history.initial; if history.inits.is_empty() { 0 } else { history.keys.len().max(1) }];
        for &(key, value) in &history.inits {
            values[location(key, Kind::Write).index()] = value;
        }
        Self { values, default: history.initial }
    }

    pub(super) fn of(&self, location: LocationId) -> Value {
        self.values.get(location.index()).copied().unwrap_or(self.default)
    }
}

/// Finds the source of a read in the general case.
pub(super) struct Sources<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) execution: &'a Execution,
    pub(super) table: WriteTable,
    pub(super) inits: Inits,
}

impl Sources<'_> {
    /// The sources of these reads, or the first error in the order of the file.
    fn of_all(&self, mut reads: Vec<EventId>) -> Result<Vec<(EventId, EventId)>, ViewError> {
        reads.sort_unstable_by_key(|&read| self.execution.operation(read));
        reads.into_iter().map(|read| Ok((read, self.of(read)?))).collect()
    }

    /// The source of a read; [`EventId::NONE`] if it reads thin air.
    fn of(&self, event: EventId) -> Result<EventId, ViewError> {
        if let Some(source) = self.named_by(event)? {
            return Ok(source);
        }
        let location = self.execution.event(event).location;
        let read = self.execution.operation(event);
        let value = self.view.value_read(read);
        let initial = self.inits.of(location) == value;
        match self.table.find(&self.execution.events, location, value) {
            (Some(write), None) if !initial => Ok(write),
            (None, _) if initial => Ok(EventId::INIT),
            (None, _) => Ok(EventId::NONE),
            (Some(first), second) => {
                let operation = |write| self.execution.operation(write);
                let mut writes = [Some(operation(first)), second.map(operation)];
                if initial {
                    writes = [None, writes[0]];
                }
                Err(ViewError::Ambiguous { read, writes })
            }
        }
    }

    /// The source that the history names, if it names one.
    pub(super) fn named_by(&self, event: EventId) -> Result<Option<EventId>, ViewError> {
        let history = self.view.history;
        if history.sources.is_empty() {
            return Ok(None);
        }
        let read = self.execution.operation(event);
        let Some(source) = history.source(read) else { return Ok(None) };
        self.named(read, self.execution.event(event).location, self.view.value_read(read), source).map(Some)
    }

    /// The source that the history names, if the read can read from it.
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
        let start = self.execution.starts[thread];
        let place =
            self.execution.operations[start as usize..self.execution.starts[thread + 1] as usize].binary_search(&write);
        Ok(EventId(start + place.expect("what happened is an event") as u32))
    }
}

/// The events that write a value to a location.
///
/// Generators and testers number their values, so most values are small integers that are written once. `dense` holds
/// the first write of each such value. `sparse` holds the first write of every other value. To touch memory for the
/// first time costs more than the work on it. So an entry of `dense` is one word; the location of the write is in its
/// event.
pub(super) struct WriteTable {
    dense: Vec<EventId>,
    /// Integers from here on are not dense. The limit is in proportion to the number of events, so that one huge value
    /// costs no memory.
    room: u64,
    sparse: FxHashMap<(LocationId, Value), EventId>,
    /// The second write of the same value to the same location.
    twice: FxHashMap<(LocationId, Value), EventId>,
}

impl WriteTable {
    pub(super) fn new(events: usize) -> Self {
        Self {
            dense: Vec::with_capacity(events),
            room: 1024 + 4 * events as u64,
            sparse: FxHashMap::default(),
            twice: FxHashMap::default(),
        }
    }

    #[inline]
    fn insert(&mut self, events: &[Event], location: LocationId, value: Value, write: EventId) {
        if let Some(n) = value.as_integer().filter(|&n| (n as u64) < self.room) {
            let n = n as usize;
            if n >= self.dense.len() {
                self.dense.resize((n + 1).next_multiple_of(64), EventId::NONE);
            }
            let slot = &mut self.dense[n];
            if *slot == EventId::NONE {
                *slot = write;
                return;
            }
        }
        self.insert_sparse(events, location, value, write);
    }

    /// Inserts a write whose value is not dense, or was written before.
    #[cold]
    fn insert_sparse(&mut self, events: &[Event], location: LocationId, value: Value, write: EventId) {
        let table = if self.find(events, location, value).0.is_some() { &mut self.twice } else { &mut self.sparse };
        table.entry((location, value)).or_insert(write);
    }

    /// The first write of a dense value to any location, and that location.
    #[inline]
    fn dense(&self, events: &[Event], value: Value) -> Option<(LocationId, EventId)> {
        let &write = value.as_integer().and_then(|n| self.dense.get(n as usize))?;
        events.get(write.index()).map(|event| (event.location, write))
    }

    /// The first write of the value to the location, and the second.
    fn find(&self, events: &[Event], location: LocationId, value: Value) -> (Option<EventId>, Option<EventId>) {
        let first = match self.dense(events, value) {
            Some((of, write)) if of == location => Some(write),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&(location, value)).copied(),
        };
        (first, self.twice.get(&(location, value)).copied())
    }
}
