//! A graph: the events of an execution and the sources of its reads, with all that tells whether a model allows it.
//!
//! Events are numbered in the order in which they were pushed, which respects program order and reads-from. So all that
//! happens before an event is known when it is pushed and never changes, and an event is taken back by popping it.
//!
//! *Coherence.* Writes of a location are numbered from 1 in the order of their arrival; 0 is the initial write. A write
//! and the rmws that update it in turn are a *chain*. The relation `less` of a location is closed, and holds what every
//! modification order must have: chains are ordered as wholes, and the initial chain comes first. An access knows, of
//! each thread, the value of the last access of the location that happens before it. It may read a write iff the write
//! is less than none of the values that it knows. Then these values' chains precede the chain of the write. (This is
//! the contracted form of `memory::c11`; the orders that extend `less` chain by chain are exactly the coherent ones.)
//!
//! *Together.* Some models ask more of the modification orders of all locations ([`psc`](super::psc),
//! [`linear`](super::linear)). What follows is derived at each push; [`Graph::holds`] then looks for orders that
//! satisfy all of it, and remembers them as the *witness*. An event that reads the last write of the witness needs no
//! search, and a witness of a graph is one of every earlier graph.
//!
//! *An rmw* is pushed as a read, and its write is added at once or taken back by itself.

mod alike;
mod coherence;
mod push;
mod races;
mod straight;

use crate::bits::Relations;
use crate::model::{Model, Synchronization, Together};
use crate::program::{Order, Step, Value};
use straight::Straight;

/// The source of a read of the initial write.
pub(crate) const INITIAL: u32 = u32::MAX;
/// The source of an event that reads nothing, or that waits.
pub(crate) const NOTHING: u32 = u32::MAX - 1;
/// No number.
pub(crate) const NONE: u32 = u32::MAX;

/// The clocks of an event, in the order in which they are stored. The first four continue those of the thread.
pub(crate) const HAPPENS: usize = 0;
const PENDING: usize = 1;
const PUBLISHED: usize = 2;
pub(crate) const CAUSES: usize = 3;
const CARRIED: usize = 4;
const OWN: usize = 5;
const CLOCKS: usize = 6;
/// One more clock, where threads are alike ([`alike`]).
const ORDERED: usize = 6;

/// The relation of the events, or of the sequentially consistent ones.
pub(crate) const REACH: usize = 0;

/// The relation `less` of a location.
pub(crate) const fn less(location: usize) -> usize {
    1 + 2 * location
}

/// The sets that belong to the writes of a location.
pub(crate) const fn sets(location: usize) -> usize {
    2 + 2 * location
}

/// The rows of [`sets`] that each write has, if `psc` is to be acyclic.
pub(crate) const ROWS: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) thread: u32,
    /// The place in the thread, from 1.
    pub(crate) index: u32,
    pub(crate) step: Step,
    pub(crate) source: u32,
    /// What it read or chose.
    pub(crate) read: Value,
    /// What it wrote, or would write.
    pub(crate) written: Value,
    /// Whether its write is in the graph.
    pub(crate) writes: bool,
    /// The number of its write.
    pub(crate) write: u32,
    /// When it was added to the exploration, and when its write was.
    pub(crate) stamps: [u32; 2],
    /// Where the accesses of one location begin that end with this event, and that location.
    pub(crate) run: u32,
    run_location: u32,
    /// The chains of the values that it knew when it was pushed, without that of its target: bits, by the number of the
    /// first write. Numbers beyond 63 are left out.
    pub(crate) known: u64,
    /// Its number among the sequentially consistent events.
    pub(crate) sequential: u32,
    /// The lower threads of its kind that had the same steps before it: bits, by the number of the thread.
    twins: u64,
    /// The trail before it was pushed, and before its write was.
    marks: [u32; 2],
    /// How many races were known before it was pushed, and before its write was.
    races: [u32; 2],
    was_unsettled: [bool; 2],
    has_row: bool,
}

impl Event {
    /// Whether the event waits for a value.
    pub(crate) fn waits(&self) -> bool {
        self.source == NOTHING && self.step.until().is_some()
    }

    /// The order of the event. For an rmw it depends on the value that was read.
    pub(crate) fn order(&self) -> Order {
        order_of(self.step, self.read)
    }
}

#[inline]
pub(crate) fn order_of(step: Step, read: Value) -> Order {
    match step {
        Step::Read { order, .. } | Step::Write { order, .. } | Step::Fence(order) => order,
        Step::Rmw { order, failure, update, .. } => {
            if update.apply(read).is_some() {
                order
            } else {
                failure
            }
        }
        _ => Order::NonAtomic,
    }
}

/// An access in a row: one location, one thread.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Access {
    pub(crate) index: u32,
    pub(crate) slot: u32,
    /// The write that it read or wrote.
    pub(crate) value: u32,
    pub(crate) writes: bool,
    pub(crate) is_atomic: bool,
    /// The last write of the row up to here, or [`NONE`].
    pub(crate) wrote: u32,
}

/// How many items at the start of a list satisfy a condition that none after them satisfies. It is most often all, or
/// all but a few, so the search begins at the end: what it costs depends on how far it goes back, not on the list.
#[inline]
pub(crate) fn count_within<T>(list: &[T], is_within: impl Fn(&T) -> bool) -> usize {
    let (mut end, mut step) = (list.len(), 1);
    while end > 0 {
        let at = end.saturating_sub(step);
        if is_within(&list[at]) {
            return at + 1 + list[at + 1..end].partition_point(is_within);
        }
        end = at;
        step *= 2;
    }
    0
}

/// The last access of a row among the first `limit` events of its thread. It is one of the last few most often.
#[inline]
pub(crate) fn last_within(row: &[Access], limit: u32) -> Option<&Access> {
    const FEW: usize = 4;
    let near = row.iter().rev().take(FEW).find(|access| access.index <= limit);
    if near.is_some() || row.len() <= FEW {
        return near;
    }
    let within = count_within(&row[..row.len() - FEW], |access| access.index <= limit);
    within.checked_sub(1).map(|last| &row[last])
}

#[derive(Debug, Default)]
pub(crate) struct Location {
    pub(crate) initial: Value,
    /// By number of a write: its event.
    pub(crate) writes: Vec<u32>,
    /// By number of a write: the first write of its chain.
    pub(crate) tops: Vec<u32>,
    /// By number of the first write of a chain: the last one.
    pub(crate) ends: Vec<u32>,
    /// By number of a write: the rmw that updates it.
    pub(crate) updaters: Vec<u32>,
    /// By thread: its accesses.
    pub(crate) rows: Vec<Vec<Access>>,
    /// By thread: the index of its last access that is not atomic.
    plain: Vec<u32>,
    /// Whether an access may be not atomic.
    has_plain: bool,
    /// The writes in a modification order of the witness.
    pub(crate) witness: Vec<u32>,
}

/// Where a read got its value from.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The event reads nothing, or it waits.
    Nothing,
    /// The initial write.
    Initial,
    /// The write of a thread, and its place in the thread, from 0.
    Write(u32, u32),
}

/// The events of an execution, the sources of its reads, and their values.
#[derive(Debug)]
pub struct Graph {
    model: Model,
    pub(crate) synchronization: Synchronization,
    pub(crate) together: Together,
    /// How many lanes a clock has.
    pub(crate) width: usize,
    pub(crate) events: Vec<Event>,
    /// By thread: its events.
    pub(crate) threads: Vec<Vec<u32>>,
    /// By thread: the event that spawned it.
    pub(crate) spawned: Vec<u32>,
    /// By thread: its kind ([`alike`]), or [`NONE`]. Empty if no thread has one.
    kinds: Vec<u32>,
    /// How many clocks an event has.
    clock_count: usize,
    /// Whether an event may be added that makes the execution one that is visited under another name.
    is_free: bool,
    pub(crate) locations: Vec<Location>,
    clocks: Vec<u32>,
    pub(crate) relations: Relations,
    /// Pairs of `less` that are new: location, write, write.
    pub(crate) pairs: Vec<(u32, u32, u32)>,
    /// The values that the event at hand knows.
    known: Vec<u32>,
    /// The sequentially consistent events.
    pub(crate) sequential: Vec<u32>,
    /// The sets of [`psc`](super::psc), by event, and how many words each has.
    pub(crate) event_sets: Vec<u64>,
    pub(crate) set_words: usize,
    pub(crate) set_scratch: Vec<u64>,
    /// Whether the witness may be none of this graph.
    pub(crate) is_unsettled: bool,
    /// How many writes there are, of all locations.
    pub(crate) write_count: u32,
    races: Vec<(u32, u32)>,
    /// In a random run: whether a thread goes on at once where it does not read. Nobody can tell when it has done so.
    pub(crate) is_eager: bool,
    /// If this is one long run that is never taken back: what it keeps instead of relations.
    straight: Option<Box<Straight>>,
}

impl Graph {
    pub(crate) fn new(model: Model) -> Self {
        let mut relations = Relations::default();
        relations.reserve(1);
        Self {
            model,
            synchronization: model.synchronization(),
            together: model.together(),
            width: 4,
            events: Vec::with_capacity(32),
            threads: Vec::new(),
            spawned: Vec::new(),
            kinds: Vec::new(),
            clock_count: CLOCKS,
            is_free: false,
            locations: Vec::new(),
            clocks: Vec::with_capacity(32 * CLOCKS * 4),
            relations,
            pairs: Vec::new(),
            known: Vec::new(),
            sequential: Vec::new(),
            event_sets: Vec::new(),
            set_words: 1,
            set_scratch: Vec::new(),
            is_unsettled: false,
            write_count: 0,
            races: Vec::new(),
            is_eager: false,
            straight: None,
        }
    }

    /// A graph for one long run that is never taken back.
    pub(crate) fn straight(model: Model) -> Self {
        Self { straight: Some(Box::default()), ..Self::new(model) }
    }

    pub(crate) fn is_straight(&self) -> bool {
        self.straight.is_some()
    }

    /// The model under which the graph is consistent.
    pub fn model(&self) -> Model {
        self.model
    }

    /// How many threads there are.
    pub fn thread_count(&self) -> u32 {
        self.threads.len() as u32
    }

    /// How many steps a thread has.
    #[inline]
    pub fn len(&self, thread: u32) -> u32 {
        self.threads.get(thread as usize).map_or(0, |events| events.len() as u32)
    }

    /// Whether a thread has no steps.
    #[inline]
    pub fn is_empty(&self, thread: u32) -> bool {
        self.len(thread) == 0
    }

    /// How many steps all threads have.
    #[inline]
    pub fn size(&self) -> usize {
        self.events.len()
    }

    /// The step with this number in the order in which steps were added, which respects program order and reads-from: a
    /// thread, and the place in it, from 0.
    #[inline]
    pub fn added(&self, number: usize) -> (u32, u32) {
        let event = &self.events[number];
        (event.thread, event.index - 1)
    }

    #[inline]
    pub(crate) fn event(&self, thread: u32, index: u32) -> &Event {
        &self.events[self.threads[thread as usize][index as usize] as usize]
    }

    /// A step of a thread.
    #[inline]
    pub fn step(&self, thread: u32, index: u32) -> Step {
        self.event(thread, index).step
    }

    /// What a step read or chose; 0 if it does neither.
    #[inline]
    pub fn value(&self, thread: u32, index: u32) -> Value {
        self.event(thread, index).read
    }

    /// What a step wrote, if it did.
    pub fn written(&self, thread: u32, index: u32) -> Option<Value> {
        let event = self.event(thread, index);
        event.writes.then_some(event.written)
    }

    /// Where a step read from.
    pub fn source(&self, thread: u32, index: u32) -> Source {
        match self.event(thread, index).source {
            NOTHING => Source::Nothing,
            INITIAL => Source::Initial,
            slot => {
                let event = &self.events[slot as usize];
                Source::Write(event.thread, event.index - 1)
            }
        }
    }

    /// The step that spawned a thread: its thread, and its place in it, from 0.
    pub(crate) fn spawner(&self, thread: u32) -> Option<(u32, u32)> {
        let slot = self.spawned.get(thread as usize).copied().filter(|&slot| slot != NONE)?;
        let event = &self.events[slot as usize];
        Some((event.thread, event.index - 1))
    }

    /// Whether the last step of a thread waits for a value.
    #[inline]
    pub fn is_waiting(&self, thread: u32) -> bool {
        let last = self.threads.get(thread as usize).and_then(|events| events.last());
        last.is_some_and(|&slot| self.events[slot as usize].waits())
    }

    /// The first data race that was found: two accesses, each a thread and a place in it, from 0.
    #[inline]
    pub fn race(&self) -> Option<[(u32, u32); 2]> {
        self.races.first().map(|&(one, other)| [one, other].map(|slot| self.added(slot as usize)))
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.threads.iter_mut().for_each(Vec::clear);
        self.spawned.fill(NONE);
        self.clocks.clear();
        self.relations.clear();
        self.sequential.clear();
        self.event_sets.clear();
        self.races.clear();
        self.is_unsettled = false;
        self.write_count = 0;
        if let Some(straight) = &mut self.straight {
            straight.clear();
        }
        for location in 0..self.locations.len() {
            self.reset(location);
        }
    }

    /// Makes a location as it is before the first access.
    fn reset(&mut self, location: usize) {
        let of = &mut self.locations[location];
        of.rows.iter_mut().for_each(Vec::clear);
        of.plain.fill(0);
        of.has_plain = false;
        for list in [&mut of.tops, &mut of.ends, &mut of.witness] {
            list.clear();
            list.push(0);
        }
        of.writes.clear();
        of.writes.push(INITIAL);
        of.updaters.clear();
        of.updaters.push(NONE);
        self.push_write_rows(location);
    }

    fn push_write_rows(&mut self, location: usize) {
        self.relations.push_row(less(location));
        self.push_set_rows(location);
    }

    /// Makes rows for the sets of all writes of a location. If there are no sequentially consistent events, the sets
    /// of `psc` are empty, and have no rows.
    pub(crate) fn push_set_rows(&mut self, location: usize) {
        if self.is_local() {
            return;
        }
        let count = self.set_row_count(location);
        while self.relations.rows(sets(location)) < count {
            self.relations.push_row(sets(location));
        }
    }

    fn pop_write_rows(&mut self, location: usize) {
        self.relations.pop_row(less(location));
        let count = self.set_row_count(location);
        while self.relations.rows(sets(location)) > count {
            self.relations.pop_row(sets(location));
        }
    }

    fn set_row_count(&self, location: usize) -> usize {
        let of_write = match self.together {
            Together::Nothing => 0,
            Together::Psc => ROWS,
            Together::Order(_) => 1,
        };
        self.locations[location].writes.len() * of_write
    }

    /// Makes room for a thread.
    #[inline]
    pub(crate) fn admit_thread(&mut self, thread: u32) {
        if self.threads.len() <= thread as usize {
            self.make_thread(thread);
        }
    }

    #[cold]
    fn make_thread(&mut self, thread: u32) {
        let count = thread as usize + 1;
        self.threads.resize_with(count, Vec::new);
        self.spawned.resize(count, NONE);
        if count > self.width {
            let (old, new) = (self.width, count.next_power_of_two());
            let mut clocks = vec![0; self.events.len() * self.clock_count * new];
            for clock in 0..self.events.len() * self.clock_count {
                clocks[clock * new..][..old].copy_from_slice(&self.clocks[clock * old..][..old]);
            }
            (self.clocks, self.width) = (clocks, new);
            if let Some(straight) = &mut self.straight {
                straight.widen(old, new);
            }
        }
    }

    /// How many locations there is room for.
    pub(crate) fn location_count(&self) -> u32 {
        self.locations.len() as u32
    }

    /// Makes room for one more location.
    pub(crate) fn admit_location(&mut self, initial: Value) {
        let location = self.locations.len();
        self.locations.push(Location { initial, ..Location::default() });
        self.relations.reserve(1 + 2 * (location + 1));
        self.reset(location);
    }

    #[inline]
    pub(crate) fn clock(&self, slot: usize, which: usize) -> &[u32] {
        &self.clocks[(slot * self.clock_count + which) * self.width..][..self.width]
    }

    /// Whether coherence is all that the model asks of the events so far.
    #[inline]
    pub(crate) fn is_local(&self) -> bool {
        match self.together {
            Together::Nothing => true,
            Together::Psc => self.sequential.is_empty(),
            Together::Order(_) => false,
        }
    }

    #[inline]
    fn join(&mut self, into: (usize, usize), from: (usize, usize)) {
        let (width, count) = (self.width, self.clock_count);
        let [into, from] = [into, from].map(|(slot, which)| (slot * count + which) * width);
        let (one, other) = if from < into {
            let (before, after) = self.clocks.split_at_mut(into);
            (&mut after[..width], &before[from..from + width])
        } else {
            let (before, after) = self.clocks.split_at_mut(from);
            (&mut before[into..into + width], &after[..width])
        };
        // The width is a multiple of four.
        for (lanes, others) in one.as_chunks_mut::<4>().0.iter_mut().zip(other.as_chunks::<4>().0) {
            *lanes = std::array::from_fn(|lane| lanes[lane].max(others[lane]));
        }
    }

    /// Whether an event is among the causes of another, or the same.
    pub(crate) fn is_cause(&self, slot: usize, of: usize) -> bool {
        let event = &self.events[slot];
        self.clock(of, CAUSES)[event.thread as usize] >= event.index
    }

    /// Whether an event happens before another, or is the same.
    pub(crate) fn is_before(&self, slot: u32, other: u32) -> bool {
        let event = &self.events[slot as usize];
        self.clock(other as usize, HAPPENS)[event.thread as usize] >= event.index
    }

    /// Whether a thread knows of a write: it is the value of an access that happens before the thread's next event.
    pub(crate) fn knows(&self, thread: u32, location: usize, source: u32) -> bool {
        let value = self.write_number(source);
        let Some(&last) = self.threads[thread as usize].last() else { return value == 0 };
        let rows = self.locations[location].rows.iter().zip(self.clock(last as usize, HAPPENS));
        let mut known = rows.filter_map(|(row, &limit)| last_within(row, limit)).peekable();
        if known.peek().is_none() { value == 0 } else { known.any(|access| access.value == value) }
    }

    /// The thread of an event, and its place in the thread, from 1.
    pub(crate) fn place(&self, slot: u32) -> (u32, u32) {
        let event = &self.events[slot as usize];
        (event.thread, event.index)
    }

    /// The number of a source among the writes of its location.
    #[inline]
    pub(crate) fn write_number(&self, source: u32) -> u32 {
        if source == INITIAL { 0 } else { self.events[source as usize].write }
    }

    #[inline]
    pub(crate) fn value_of(&self, location: u32, source: u32) -> Value {
        match source {
            INITIAL => self.locations[location as usize].initial,
            slot => self.events[slot as usize].written,
        }
    }

    /// What the models that look at all locations together derive from a new event.
    #[inline]
    fn extend(&mut self, slot: usize, may_be_sequential: bool) -> bool {
        self.is_local() && !may_be_sequential || self.extend_together(slot)
    }

    fn extend_together(&mut self, slot: usize) -> bool {
        match self.together {
            Together::Nothing => true,
            Together::Psc => self.extend_psc(slot),
            Together::Order(frame) => self.extend_order(slot, frame),
        }
    }

    /// The same for its write.
    #[inline]
    fn extend_write(&mut self, slot: usize) -> bool {
        match self.together {
            Together::Nothing => true,
            Together::Psc => self.extend_psc_write(slot),
            Together::Order(frame) => self.extend_order_write(slot, frame),
        }
    }

    /// Derives what follows from the new pairs of `less`.
    #[inline]
    pub(crate) fn propagate(&mut self) -> bool {
        if self.pairs.is_empty() && !matches!(self.together, Together::Order(_)) {
            return true;
        }
        self.propagate_pairs()
    }

    fn propagate_pairs(&mut self) -> bool {
        let is_allowed = match self.together {
            Together::Nothing => true,
            Together::Psc => self.propagate_psc(),
            Together::Order(frame) => self.propagate_order(frame),
        };
        self.pairs.clear();
        is_allowed
    }
}
