//! An execution of which some sources are open: values were written twice, and the history does not say which write a
//! read is from.
//!
//! A read is *open* if it has several candidates. The candidates of a read are the writes of its value to its location,
//! and the initial write if it has that value, without those that every memory model forbids:
//!
//! - a later write of the read's own thread, or the read itself;
//! - a write of the read's own thread, or the initial write, if the thread wrote the location again before the read.
//!
//! Every model forbids these, since each implies `coherence` or `cc`. A read with one candidate is no longer open: the
//! candidate is its source. A read without a candidate stays open, and no source can be chosen for it. A read of a
//! value that only one write has is as in an [`Execution`]: that write is its source, and models refuse it if they
//! must.
//!
//! A history satisfies a model exactly if the execution of some choice of sources does. A partial choice is an
//! execution, too: a read without a source is left out. An rmw (read-modify-write) without a source is a write. What
//! is left out constrains nothing, since in every model fewer reads give smaller relations. So if a partial choice is
//! a violation, every choice that extends it is one.
//!
//! A pending compare-and-swap happened only if some read is from it. So its read is *optional*: it needs a source only
//! if the compare-and-swap is the source of another read. Otherwise it counts as a pending write, which constrains
//! nothing. If a read that is not open is from it, it happened, and its read is not optional.

use rustc_hash::FxHashMap;

use super::view::{Inits, Sources, Turns, View, WriteTable};
use super::{Event, EventId, Execution, Kind, LocationId, ViewError};
use crate::history::{History, MemoryOrder, Outcome};
use crate::value::Value;

/// An execution with open reads. See the [module](self).
#[derive(Clone, Debug)]
pub struct OpenExecution {
    /// The open reads are left out.
    execution: Execution,
    /// In the order of their events.
    reads: Vec<OpenRead>,
    /// The classes of accesses: a class is a value of a location. These are its writes, in the order of their events.
    writes: Vec<Vec<EventId>>,
    /// The class that each event writes, or [`Self::NO_CLASS`].
    written: Vec<u32>,
    /// The class of the initial value of each location.
    initial: Vec<u32>,
}

/// A read whose source is open.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OpenRead {
    /// The event that reads.
    pub event: EventId,
    /// The class of the value that it reads.
    pub class: u32,
    /// Whether it needs a source only if another read is from it: it is of a pending compare-and-swap.
    pub is_optional: bool,
    /// The event with its read. Its source is [`EventId::NONE`].
    whole: Event,
    /// The last write to the location that its thread did before, or [`EventId::NONE`].
    own: EventId,
    /// The first event of its thread, and the first of the next thread.
    thread: [u32; 2],
    /// The source that the history names, of an optional read.
    named: Option<EventId>,
}

impl OpenExecution {
    /// The class of an event that does not write.
    pub const NO_CLASS: u32 = u32::MAX;

    /// The open execution of a history of a memory or of registers.
    ///
    /// ```
    /// use history::{EventId, History, OpenExecution};
    ///
    /// let history = format::parse("[0] w x 1\n[1] w x 1\n[2] r x 1\n")?;
    /// let open = OpenExecution::from_history(&history)?;
    /// let candidates: Vec<EventId> = open.candidates(0).collect();
    /// assert_eq!(candidates, [EventId(0), EventId(1)]);
    ///
    /// let mut execution = open.execution().clone();
    /// open.set_source(&mut execution, 0, Some(EventId(1)));
    /// assert_eq!(execution.event(EventId(2)).source, EventId(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_history(history: &History) -> Result<Self, ViewError> {
        Execution::check_memory(history)?;
        Self::new(&history.observed())
    }

    fn new(history: &History) -> Result<Self, ViewError> {
        let view = View::new(history);
        let filled = view.fill(&Turns::in_file_order(history)).expect("the order of the file is in program order");
        let mut execution = filled.execution;
        let inits = Inits::new(history);
        let mut classes = Classes::default();
        let initial = (0..execution.locations).map(|at| classes.of(LocationId(at), inits.of(LocationId(at)))).collect();
        let mut written = vec![Self::NO_CLASS; execution.len()];
        for id in execution.ids() {
            let Event { location, kind, .. } = execution.event(id);
            if kind.writes() {
                let class = classes.of(location, history.operation(execution.operation(id)).argument);
                classes.writes[class as usize].push(id);
                written[id.index()] = class;
            }
        }
        let mut open =
            Self { execution: Execution::default(), reads: Vec::new(), writes: classes.writes, written, initial };

        // The reads in the order of the file, so that the first error is the one that is told.
        let mut reads: Vec<EventId> = execution.ids().filter(|&id| execution.event(id).kind.reads()).collect();
        reads.sort_unstable_by_key(|&read| execution.operation(read));
        let own = last_own_writes(&execution);
        let mut found = Vec::with_capacity(reads.len());
        {
            let table = WriteTable::new(0);
            let sources = Sources { view: &view, execution: &execution, table, inits };
            for event in reads {
                let operation = execution.operation(event);
                let whole = Event { source: EventId::NONE, ..execution.event(event) };
                let outcome = history.operation(operation).outcome;
                let is_optional = matches!(outcome, Outcome::Info | Outcome::Pending);
                let class = classes.numbers.get(&(whole.location, view.value_read(operation))).copied();
                let class = class.unwrap_or(Self::NO_CLASS);
                let named = sources.named_by(event)?;
                let at = execution.thread(event).index();
                let thread = [execution.starts[at], execution.starts[at + 1]];
                found.push(OpenRead { event, class, is_optional, whole, own: own[event.index()], thread, named });
            }
        }
        open.settle(&mut execution, found);
        open.execution = execution;
        for at in 0..open.reads.len() {
            let OpenRead { event, whole, .. } = open.reads[at];
            open.execution.events[event.index()] = left_out(whole);
        }
        open.execution.thin_air.sort_unstable();
        Ok(open)
    }

    /// Gives a source to every read that is not open. `self.reads` are the others.
    fn settle(&mut self, execution: &mut Execution, found: Vec<OpenRead>) {
        let (optional, mut todo): (Vec<OpenRead>, Vec<OpenRead>) = found.into_iter().partition(|it| it.is_optional);
        let mut optional: FxHashMap<EventId, OpenRead> = optional.into_iter().map(|read| (read.event, read)).collect();
        while let Some(read) = todo.pop() {
            let Some(source) = self.settled(&read) else {
                self.reads.push(OpenRead { is_optional: false, ..read });
                continue;
            };
            execution.events[read.event.index()].source = source;
            if source == EventId::NONE {
                execution.thin_air.push(read.event);
            }
            // What is read from is known to have happened.
            todo.extend(optional.remove(&source));
        }
        self.reads.extend(optional.into_values());
        self.reads.sort_unstable_by_key(|read| read.event);
    }

    /// The only source that a read can have; [`EventId::NONE`] if it reads thin air. `None` if the read is open.
    fn settled(&self, read: &OpenRead) -> Option<EventId> {
        if let Some(named) = read.named {
            return Some(named);
        }
        let Some(writes) = self.writes.get(read.class as usize) else { return Some(EventId::NONE) };
        let is_initial = self.initial[read.whole.location.index()] == read.class;
        match (&writes[..], is_initial) {
            ([], false) => return Some(EventId::NONE),
            ([], true) => return Some(EventId::INIT),
            ([write], false) => return Some(*write),
            _ => {}
        }
        let mut candidates = self.of(read);
        let first = candidates.next()?;
        candidates.next().is_none().then_some(first)
    }

    /// The execution in which all open reads are left out.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// The open reads, in the order of their events.
    pub fn reads(&self) -> &[OpenRead] {
        &self.reads
    }

    /// The number of the open read of an event, if its read is open.
    pub fn find(&self, event: EventId) -> Option<usize> {
        self.reads.binary_search_by_key(&event, |read| read.event).ok()
    }

    /// The candidates of the open read of that number: the initial write first, then writes in the order of events.
    pub fn candidates(&self, read: usize) -> impl Iterator<Item = EventId> + '_ {
        self.of(&self.reads[read])
    }

    /// Whether a source is a candidate of the open read of that number.
    pub fn is_candidate(&self, read: usize, source: EventId) -> bool {
        let read = &self.reads[read];
        let is_of_class = if source.is_event() {
            self.written.get(source.index()) == Some(&read.class)
        } else {
            source == EventId::INIT && self.initial[read.whole.location.index()] == read.class
        };
        is_of_class && read.named.is_none_or(|named| named == source) && read.allows(source)
    }

    /// Gives a source to the open read of that number, or leaves the read out.
    pub fn set_source(&self, execution: &mut Execution, read: usize, source: Option<EventId>) {
        let OpenRead { event, whole, .. } = self.reads[read];
        execution.events[event.index()] = source.map_or(left_out(whole), |source| Event { source, ..whole });
    }

    /// The event of the open read of that number, with its read; its source is [`EventId::NONE`].
    pub fn whole(&self, read: usize) -> Event {
        self.reads[read].whole
    }

    /// The class that an event writes, or [`Self::NO_CLASS`].
    pub fn written(&self, event: EventId) -> u32 {
        self.written[event.index()]
    }

    /// The class of the initial value of a location.
    pub fn initial(&self, location: LocationId) -> u32 {
        self.initial[location.index()]
    }

    fn of<'a>(&'a self, read: &OpenRead) -> impl Iterator<Item = EventId> + use<'a> {
        let read = *read;
        let is_initial = self.initial[read.whole.location.index()] == read.class;
        let writes = self.writes.get(read.class as usize).map_or(&[][..], |writes| writes);
        let all = is_initial.then_some(EventId::INIT).into_iter().chain(writes.iter().copied());
        all.filter(move |&source| read.named.is_none_or(|named| named == source) && read.allows(source))
    }
}

impl OpenRead {
    /// Whether the thread of the read by itself allows the source.
    fn allows(&self, source: EventId) -> bool {
        if source == EventId::INIT {
            return self.own == EventId::NONE;
        }
        !(self.thread[0]..self.thread[1]).contains(&source.0) || source == self.own
    }
}

/// An event without its open read. A read becomes a fence that orders nothing.
fn left_out(whole: Event) -> Event {
    let event = whole.without_read();
    if whole.kind == Kind::Read { Event { order: MemoryOrder::Relaxed, ..event } } else { event }
}

/// For each event, the last write to its location that its thread did before, or [`EventId::NONE`].
fn last_own_writes(execution: &Execution) -> Vec<EventId> {
    let mut own = vec![EventId::NONE; execution.len()];
    let mut last: FxHashMap<LocationId, EventId> = FxHashMap::default();
    for thread in 0..execution.thread_count() {
        last.clear();
        for id in (execution.starts[thread]..execution.starts[thread + 1]).map(EventId) {
            let Event { location, kind, .. } = execution.event(id);
            if kind.reads() {
                own[id.index()] = last.get(&location).copied().unwrap_or(EventId::NONE);
            }
            if kind.writes() {
                last.insert(location, id);
            }
        }
    }
    own
}

/// Numbers the classes.
#[derive(Default)]
struct Classes {
    numbers: FxHashMap<(LocationId, Value), u32>,
    writes: Vec<Vec<EventId>>,
}

impl Classes {
    fn of(&mut self, location: LocationId, value: Value) -> u32 {
        let next = self.writes.len() as u32;
        let number = *self.numbers.entry((location, value)).or_insert(next);
        if number == next {
            self.writes.push(Vec::new());
        }
        number
    }
}
