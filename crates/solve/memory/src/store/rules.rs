//! The two rules of wSC, over the saturation engine and any [`Frame`]. (Section 3 of *Boosting Sequential Consistency
//! Checking using Saturation*.)
//!
//! For a read `r` of `w` and another write `w'` on the same location:
//! - (a) `w'` before `r` implies `w'` before `w`;
//! - (b) `w` before `w'` implies `r` before `w'`.
//!
//! Of each thread only the last write on the location that comes before an event matters: earlier writes of the thread
//! come before it, and so do their readers, by (b). Each rule depends on the clock of one event alone: rule (a) on that
//! of the read, rule (b) on that of the later write. So an event has to be looked at again only when its clock has
//! grown, and only the writes that the growth added matter.
//!
//! If chains are not threads, a read of a write of its own thread may enter before that write. Then nothing follows
//! from its source yet, and rule (a) is applied when the source enters.

use history::Execution;
use history::execution::{Event, EventId, Kind, LocationId};
use order::Rows;
use order::lanes::{Lane, blocks, lanes_larger, lanes_where, larger};
use order::saturation::{Derived, NONE, Rules, Saturation};

use super::frame::Frame;

/// [`Derived::reason`] of an edge by rule (b). The reason of an edge by rule (a) is the read.
pub const READ_WRITE: u32 = NONE - 1;

/// A source that is not a write of the execution: the initial write.
const INIT: u32 = EventId::INIT.0;

/// To scan at most so many events is cheaper than to search for a write.
const MAX_SCANNED_EVENTS: u32 = 24;

/// So many steps back are cheaper than a search for an event.
const MAX_STEPS_BACK: usize = 6;

/// How many numbers of a sorted list are below a limit.
fn below(list: &[u32], limit: u32) -> usize {
    if list.len() <= MAX_STEPS_BACK {
        return list.iter().take_while(|&&event| event < limit).count();
    }
    list.partition_point(|&event| event < limit)
}

/// Splits the accesses of one thread to one location, up to `last`, into those for which `early` holds and, after them,
/// those for which it does not. The answer is the last of the former and the first of the latter, or [`NONE`].
/// `previous` tells the access before an access, `list` has all accesses of the location, and `start` is where the
/// thread begins.
fn split(previous: &[u32], list: &[u32], start: u32, last: u32, early: impl Fn(u32) -> bool) -> (u32, u32) {
    let (mut at, mut after) = (last, NONE);
    for _ in 0..MAX_STEPS_BACK {
        if at == NONE || early(at) {
            return (at, after);
        }
        (at, after) = (previous[at as usize], at);
    }
    if at == NONE {
        return (at, after);
    }
    let list = &list[below(list, start)..below(list, at + 1)];
    let count = list.partition_point(|&event| early(event));
    (count.checked_sub(1).map_or(NONE, |last| list[last]), list.get(count).copied().unwrap_or(after))
}

/// The events of some kinds by location, those of each in the order of their numbers.
fn by_location(execution: &Execution, is_one: impl Fn(Kind) -> bool + Copy) -> Rows {
    let events = (0u32..).zip(execution.events()).filter(move |(_, event)| is_one(event.kind));
    Rows::new(execution.location_count(), events.map(|(number, event)| (event.location.index(), number)))
}

/// The rules, and the data that they need of the events that have entered.
#[derive(Clone, Debug)]
pub struct StoreRules<'a, L = u32> {
    frame: &'a Frame<'a>,
    events: &'a [Event],
    lanes: usize,
    /// The row of events without a location. It stands behind the rows of the locations.
    nowhere: usize,
    writes: Rows,
    reads: Rows,
    /// By location and thread, as an entry of a clock that knows of it: the last write (read) that has entered. Zero if
    /// none has.
    last_write: Vec<L>,
    last_read: Vec<L>,
    /// By location: the write that entered last, or [`NONE`]. By event: whether a write that entered before it is now
    /// after it in the order.
    latest_write: Vec<u32>,
    is_overtaken: Vec<bool>,
    /// The write (read) before a write (read) on the same location in the same thread, or [`NONE`].
    previous_write: Vec<u32>,
    previous_read: Vec<u32>,
}

impl<'a, L: Lane> StoreRules<'a, L> {
    /// The rules for a frame, of which no event has entered.
    pub fn new(frame: &'a Frame<'a>, order: &Saturation<L>) -> Self {
        let execution = frame.execution();
        let events = execution.events();
        let (writes, reads) = (by_location(execution, Kind::writes), by_location(execution, Kind::reads));
        let rows = (execution.location_count() + 1) * order.lanes();
        Self {
            frame,
            events,
            lanes: order.lanes(),
            nowhere: execution.location_count(),
            writes,
            reads,
            last_write: vec![L::default(); rows],
            last_read: vec![L::default(); rows],
            latest_write: vec![NONE; execution.location_count()],
            is_overtaken: vec![false; events.len()],
            previous_write: vec![NONE; events.len()],
            previous_read: vec![NONE; events.len()],
        }
    }

    /// The last write of a location among the events `old..new` of one thread.
    fn last_write_in(&self, location: u32, old: u32, new: u32) -> Option<u32> {
        if new - old <= MAX_SCANNED_EVENTS {
            let writes = |event: Event| event.kind.writes() && event.location.0 == location;
            return (old..new).rev().find(|&event| writes(self.events[event as usize]));
        }
        let writes = self.writes.of(location as usize);
        let at = writes.partition_point(|&write| write < new);
        writes[..at].last().copied().filter(|&write| write >= old)
    }

    /// Rule (a) for a read whose source enters after it.
    fn entered_source(
        &self,
        order: &Saturation<L>,
        source: u32,
        location: usize,
        read: u32,
        derived: &mut Vec<Derived>,
    ) {
        let (clock, known) = (order.clock(read), order.clock(source));
        for lane in lanes_larger(clock, known) {
            let begin = order.end(known[lane], lane).max(order.start(lane));
            if let Some(write) = self.last_write_in(location as u32, begin, order.end(clock[lane], lane)) {
                derived.push(Derived { from: write, to: source, reason: read });
            }
        }
    }

    fn entered_read(&self, order: &Saturation<L>, read: u32, location: usize, source: u32, derived: &mut Vec<Derived>) {
        let clock = order.clock(read);
        let last_write = &self.last_write[location * self.lanes..][..self.lanes];
        if source == INIT {
            for (lane, &last) in last_write.iter().enumerate() {
                if last == L::default() {
                    continue;
                }
                let writes = self.writes.of(location);
                let first = writes[writes.partition_point(|&write| write < order.start(lane))];
                if first < order.end(clock[lane], lane) {
                    derived.push(Derived { from: first, to: NONE, reason: read });
                } else {
                    derived.push(Derived { from: read, to: first, reason: READ_WRITE });
                }
            }
            return;
        }
        if !order.is_in(source) {
            return;
        }
        let known = order.clock(source);
        // Most often no write comes after the source yet. Then rule (b) derives nothing.
        let is_followed = self.latest_write[location] != source || self.is_overtaken[source as usize];
        let [last_blocks, clock_blocks, known_blocks] = [last_write, clock, known].map(blocks);
        let late = |at: usize| {
            let (last, clock, known) = (&last_blocks[at], &clock_blocks[at], &known_blocks[at]);
            let early = larger(last, known) & larger(clock, known);
            if is_followed { early | larger(last, clock) } else { early }
        };
        for lane in lanes_where(clock_blocks.len(), late) {
            let [last, end, known] = [last_write[lane], clock[lane], known[lane]].map(|entry| order.end(entry, lane));
            if last > known && end > known {
                let list = self.writes.of(location);
                let (write, _) = split(&self.previous_write, list, order.start(lane), last - 1, |write| write < end);
                if write != NONE && write >= known && write != source {
                    derived.push(Derived { from: write, to: source, reason: read });
                }
            }
            if is_followed && last > end {
                let list = self.writes.of(location);
                let (_, first) = split(&self.previous_write, list, order.start(lane), last - 1, |write| {
                    write < end || write == source || !order.before(source, write)
                });
                if first != NONE {
                    derived.push(Derived { from: read, to: first, reason: READ_WRITE });
                }
            }
        }
    }

    fn entered_write(&self, order: &Saturation<L>, write: u32, location: usize, derived: &mut Vec<Derived>) {
        let clock = order.clock(write);
        let last_read = &self.last_read[location * self.lanes..][..self.lanes];
        for lane in lanes_larger(last_read, clock) {
            let list = self.reads.of(location);
            let [last, end] = [last_read[lane], clock[lane]].map(|entry| order.end(entry, lane));
            let (read, _) = split(&self.previous_read, list, order.start(lane), last - 1, |read| {
                let source = self.events[read as usize].source.0;
                read < end || source == INIT || (source != write && order.before(source, write))
            });
            if read != NONE && read >= end {
                derived.push(Derived { from: read, to: write, reason: READ_WRITE });
            }
        }
    }
}

impl<L: Lane> Rules<L> for StoreRules<'_, L> {
    fn entered(&mut self, order: &Saturation<L>, event: u32, derived: &mut Vec<Derived>) {
        let access = self.events[event as usize];
        if access.location == LocationId::NONE {
            return;
        }
        let location = access.location.index();
        let chain = order.chain(event);
        let slot = location * self.lanes + chain;
        let entry = L::before(event + 1, || order.start(chain));
        let previous = |last: L| if last == L::default() { NONE } else { order.end(last, chain) - 1 };
        if access.kind.reads() {
            self.entered_read(order, event, location, access.source.0, derived);
        }
        if access.kind.writes() {
            self.entered_write(order, event, location, derived);
            // The readers that have entered already are of one chain, and the last of them knows everything that the
            // others know.
            if let Some(&read) = self.frame.readers(order, event).iter().rev().find(|&&read| order.is_in(read)) {
                self.entered_source(order, event, location, read, derived);
            }
            self.previous_write[event as usize] = previous(self.last_write[slot]);
            self.last_write[slot] = entry;
            self.latest_write[location] = event;
        }
        if access.kind.reads() {
            self.previous_read[event as usize] = previous(self.last_read[slot]);
            self.last_read[slot] = entry;
        }
    }

    fn grown(
        &mut self,
        order: &Saturation<L>,
        event: u32,
        chain: usize,
        old: u32,
        new: u32,
        derived: &mut Vec<Derived>,
    ) {
        let access = self.events[event as usize];
        let old = old.max(order.start(chain));
        let Some(write) = self.last_write_in(access.location.0, old, new).filter(|&write| write != event) else {
            return;
        };
        if access.kind.reads() {
            if access.source == EventId::INIT {
                derived.push(Derived { from: write, to: NONE, reason: event });
            } else if order.is_in(access.source.0) && !order.before(write, access.source.0) {
                derived.push(Derived { from: write, to: access.source.0, reason: event });
            }
        }
        if access.kind.writes() {
            self.is_overtaken[write as usize] = true;
            // Of the readers in one thread, only the last that has entered matters.
            let mut readers = self.frame.readers(order, write);
            while let Some(&read) = readers.last() {
                let chain = order.chain(read);
                let begin = below(readers, order.start(chain));
                let entered = &readers[begin..begin + below(&readers[begin..], order.frontier(chain))];
                if let Some(&read) = entered.iter().rev().find(|&&read| read != event)
                    && !order.before(read, event)
                {
                    derived.push(Derived { from: read, to: event, reason: READ_WRITE });
                }
                readers = &readers[..begin];
            }
        }
    }

    /// A clock mostly grows by the latest events, and most often none of them is a write of the location.
    fn watched(&self, event: u32) -> Option<&[L]> {
        let location = self.events[event as usize].location;
        let row = if location == LocationId::NONE { self.nowhere } else { location.index() };
        Some(&self.last_write[row * self.lanes..][..self.lanes])
    }
}
