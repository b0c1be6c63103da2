//! The two rules of wSC (section 3 of the paper), over the saturation engine.
//!
//! For a read `r` of `w` and another write `w'` on the same location:
//! - (a) `w'` before `r` implies `w'` before `w`;
//! - (b) `w` before `w'` implies `r` before `w'`.
//!
//! Of each thread only the last write on the location that comes before an event matters: earlier writes of the
//! thread come before it, and so do their readers, by (b). Both rules hang on the clock of one event alone: (a) on that
//! of the read, (b) on that of the later write. So they need to look at an event again only when its clock grew, and
//! only at the writes that came in by the growth.

use history::Execution;
use history::execution::{EventId, LocationId};
use order::saturation::{Derived, NONE, Rules, Saturation};

/// [`Derived::reason`] of an edge by rule (b). The reason of an edge by rule (a) is the read.
pub const READ_WRITE: u32 = NONE - 1;
/// [`Derived::reason`] of an edge that was assumed, not derived.
pub const ASSUMED: u32 = NONE - 2;
/// [`Derived::reason`] of an edge whose opposite was refuted: a lemma.
pub const LEMMA: u32 = NONE - 3;

/// A source that is not a write of the execution: the initial write.
const INIT: u32 = EventId::INIT.0;

/// Scanning this many events is cheaper than searching for a write.
const SCAN: u32 = 24;

/// The rules, and what they must know of the events that are in.
#[derive(Clone, Debug)]
pub struct StoreRules<'a> {
    execution: &'a Execution,
    lanes: usize,
    /// The location that an event writes, or [`NONE`].
    written: Vec<u32>,
    /// Events by location, the writes of each in the order of their numbers.
    write_starts: Vec<u32>,
    writes: Vec<u32>,
    /// By location and thread: one beyond the last write (read) that is in; zero if none is.
    last_write: Vec<u32>,
    last_read: Vec<u32>,
    /// The write (read) before a write (read) on the same location in the same thread, or [`NONE`].
    previous_write: Vec<u32>,
    previous_read: Vec<u32>,
}

impl<'a> StoreRules<'a> {
    /// The rules for an execution, none of whose events is in.
    pub fn new(execution: &'a Execution, order: &Saturation) -> Self {
        let events = execution.events();
        let mut write_starts = vec![0u32; execution.location_count() + 1];
        let mut written = vec![NONE; events.len()];
        for (event, written) in events.iter().zip(&mut written) {
            if event.kind.writes() {
                *written = event.location.0;
                write_starts[event.location.index() + 1] += 1;
            }
        }
        for location in 0..execution.location_count() {
            write_starts[location + 1] += write_starts[location];
        }
        let mut next = write_starts.clone();
        let mut writes = vec![0u32; write_starts.last().copied().unwrap_or(0) as usize];
        for (event, &location) in written.iter().enumerate() {
            if location != NONE {
                writes[next[location as usize] as usize] = event as u32;
                next[location as usize] += 1;
            }
        }
        let rows = execution.location_count() * order.lanes();
        Self {
            execution,
            lanes: order.lanes(),
            written,
            write_starts,
            writes,
            last_write: vec![0; rows],
            last_read: vec![0; rows],
            previous_write: vec![NONE; events.len()],
            previous_read: vec![NONE; events.len()],
        }
    }

    /// The execution.
    pub fn execution(&self) -> &'a Execution {
        self.execution
    }

    /// The writes of a location, in the order of their numbers.
    pub fn writes(&self, location: u32) -> &[u32] {
        &self.writes[self.write_starts[location as usize] as usize..self.write_starts[location as usize + 1] as usize]
    }

    /// The last write of a location among the events `old..new` of one thread.
    fn last_write_in(&self, location: u32, old: u32, new: u32) -> Option<u32> {
        if new - old <= SCAN {
            return (old..new).rev().find(|&event| self.written[event as usize] == location);
        }
        let writes = self.writes(location);
        let at = writes.partition_point(|&write| write < new);
        writes[..at].last().copied().filter(|&write| write >= old)
    }

    fn entered_read(&self, order: &Saturation, read: u32, location: usize, source: u32, derived: &mut Vec<Derived>) {
        let clock = order.clock(read);
        let last_write = &self.last_write[location * self.lanes..][..self.lanes];
        if source == INIT {
            for (lane, &last) in last_write.iter().enumerate() {
                if last == 0 {
                    continue;
                }
                let writes = self.writes(location as u32);
                let first = writes[writes.partition_point(|&write| write < order.start(lane))];
                if first < clock[lane] {
                    derived.push(Derived { from: first, to: NONE, reason: read });
                } else {
                    derived.push(Derived { from: read, to: first, reason: READ_WRITE });
                }
            }
            return;
        }
        let known = order.clock(source);
        for lane in 0..self.lanes {
            let last = last_write[lane];
            if last > known[lane] && clock[lane] > known[lane] {
                let mut write = last - 1;
                while write != NONE && write >= clock[lane] {
                    write = self.previous_write[write as usize];
                }
                if write != NONE && write >= known[lane] && write != source {
                    derived.push(Derived { from: write, to: source, reason: read });
                }
            }
            if last > clock[lane] {
                let mut first = NONE;
                let mut write = last - 1;
                while write != NONE && write >= clock[lane] && order.before(source, write) {
                    first = write;
                    write = self.previous_write[write as usize];
                }
                if first != NONE {
                    derived.push(Derived { from: read, to: first, reason: READ_WRITE });
                }
            }
        }
    }

    fn entered_write(&self, order: &Saturation, write: u32, location: usize, derived: &mut Vec<Derived>) {
        let clock = order.clock(write);
        let last_read = &self.last_read[location * self.lanes..][..self.lanes];
        for lane in 0..self.lanes {
            if last_read[lane] > clock[lane] {
                let mut read = last_read[lane] - 1;
                while read != NONE && read >= clock[lane] {
                    let source = self.execution.events()[read as usize].source.0;
                    if source == INIT || (source != write && order.before(source, write)) {
                        derived.push(Derived { from: read, to: write, reason: READ_WRITE });
                        break;
                    }
                    read = self.previous_read[read as usize];
                }
            }
        }
    }
}

impl Rules for StoreRules<'_> {
    fn entered(&mut self, order: &Saturation, event: u32, derived: &mut Vec<Derived>) {
        let access = self.execution.events()[event as usize];
        if access.location == LocationId::NONE {
            return;
        }
        let location = access.location.index();
        let slot = location * self.lanes + order.chain(event);
        if access.kind.reads() {
            self.entered_read(order, event, location, access.source.0, derived);
        }
        if access.kind.writes() {
            self.entered_write(order, event, location, derived);
            self.previous_write[event as usize] = self.last_write[slot].wrapping_sub(1);
            self.last_write[slot] = event + 1;
        }
        if access.kind.reads() {
            self.previous_read[event as usize] = self.last_read[slot].wrapping_sub(1);
            self.last_read[slot] = event + 1;
        }
    }

    fn grown(&mut self, order: &Saturation, event: u32, chain: usize, old: u32, new: u32, derived: &mut Vec<Derived>) {
        let access = self.execution.events()[event as usize];
        if access.location == LocationId::NONE {
            return;
        }
        let old = old.max(order.start(chain));
        let Some(write) = self.last_write_in(access.location.0, old, new).filter(|&write| write != event) else {
            return;
        };
        if access.kind.reads() {
            if access.source == EventId::INIT {
                derived.push(Derived { from: write, to: NONE, reason: event });
            } else if !order.before(write, access.source.0) {
                derived.push(Derived { from: write, to: access.source.0, reason: event });
            }
        }
        if access.kind.writes() {
            let mut chain = usize::MAX;
            for &read in order.base_successors(write).iter().rev() {
                if read == event || !order.is_in(read) || order.chain(read) == chain {
                    continue;
                }
                chain = order.chain(read);
                if !order.before(read, event) {
                    derived.push(Derived { from: read, to: event, reason: READ_WRITE });
                }
            }
        }
    }
}
