//! The accesses of an execution by location.
//!
//! For each location, the index has the threads that write it, each with its writes in program order. For each write,
//! it has the events that read from it. The chain rules of all models ask 'the last write of thread u on x before
//! here', so every saturation uses this index. Its size is linear in the events, whatever the number of threads and
//! locations.

use std::ops::Range;

use history::Execution;
use history::execution::{Event, EventId, LocationId};
use order::Rows;

/// The writes of one thread on one location.
#[derive(Copy, Clone, Debug)]
pub struct Segment {
    /// The thread.
    pub thread: u32,
    /// Its writes are `all[start..end]` of the index.
    start: u32,
    end: u32,
}

/// The writes of every location. See the [module](self).
#[derive(Clone, Debug)]
pub struct Writes {
    /// By location and then thread and program order.
    all: Vec<u32>,
    segments: Vec<Segment>,
    /// Where the segments of each location begin.
    locations: Vec<u32>,
}

impl Writes {
    /// The index of an execution.
    pub fn new(execution: &Execution) -> Self {
        let count = execution.location_count();
        let events = (0u32..).zip(execution.events()).filter(|(_, event)| event.kind.writes());
        // Events are numbered by thread and then program order.
        let rows = Rows::new(count, events.map(|(id, event)| (event.location.index(), id)));
        let (starts, writes) = (rows.starts(), rows.items());
        let mut segments = Vec::new();
        let mut locations = vec![0; count + 1];
        for location in 0..count {
            let mut start = starts[location];
            let end = starts[location + 1];
            while start < end {
                let thread = execution.thread(EventId(writes[start as usize])).0;
                let past_thread = execution.starts()[thread as usize + 1];
                let length = writes[start as usize..end as usize].partition_point(|&write| write < past_thread);
                segments.push(Segment { thread, start, end: start + length as u32 });
                start += length as u32;
            }
            locations[location + 1] = segments.len() as u32;
        }
        Self { all: rows.into_items(), segments, locations }
    }

    /// The segments of a location, by thread.
    pub fn segments(&self, location: LocationId) -> &[Segment] {
        &self.segments[self.segment_range(location)]
    }

    /// The numbers of the segments of a location, among all segments.
    pub fn segment_range(&self, location: LocationId) -> Range<usize> {
        self.locations[location.index()] as usize..self.locations[location.index() + 1] as usize
    }

    /// The writes of a segment, in program order.
    pub fn of(&self, segment: Segment) -> &[u32] {
        &self.all[segment.start as usize..segment.end as usize]
    }

    /// The last write of a segment below a frontier of its thread.
    pub fn last_before(&self, segment: Segment, frontier: u32) -> Option<u32> {
        let writes = self.of(segment);
        let count = writes.partition_point(|&write| write < frontier);
        count.checked_sub(1).map(|at| writes[at])
    }

    /// All writes, by location and then thread and program order. The rank of a write is its place in this list.
    pub fn all(&self) -> &[u32] {
        &self.all
    }

    /// Where each segment begins in [`Self::all`], and the number of all writes at the end: the segments as chains.
    pub fn chains(&self) -> Vec<u32> {
        self.segments.iter().map(|segment| segment.start).chain([self.all.len() as u32]).collect()
    }
}

/// A place in each segment, to find the last write before a frontier without searching the whole segment.
///
/// If events are visited in an order of execution or along one thread, consecutive frontiers lie close together. So a
/// place moves by a few steps at most. Mostly it does not move, and then no list is touched. All segments of a location
/// are looked up at once, in plain arrays, so that the compiler can compare several at a time.
#[derive(Clone, Debug)]
pub struct Cursors {
    threads: Vec<u32>,
    /// How many writes of each segment are before its place.
    counts: Vec<u32>,
    /// The last write before each place, plus one; zero if there is none.
    after: Vec<u32>,
    /// The first write that is not before each place; the largest number if there is none.
    next: Vec<u32>,
    frontiers: Vec<u32>,
}

impl Cursors {
    /// Every place is at the beginning of its segment.
    pub fn new(writes: &Writes) -> Self {
        let count = writes.segments.len();
        Self {
            threads: writes.segments.iter().map(|segment| segment.thread).collect(),
            counts: vec![0; count],
            after: vec![0; count],
            next: writes.segments.iter().map(|segment| writes.of(*segment)[0]).collect(),
            frontiers: Vec::new(),
        }
    }

    /// Moves the places of the segments in `range`, those of one location, to the frontiers of their threads in
    /// `clock`.
    #[inline]
    pub fn seek(&mut self, writes: &Writes, range: Range<usize>, frontier: impl Fn(u32) -> u32) {
        self.frontiers.clear();
        self.frontiers.extend(self.threads[range.clone()].iter().map(|&thread| frontier(thread)));
        let places = self.after[range.clone()].iter().zip(&self.next[range.clone()]);
        let moved = places
            .zip(&self.frontiers)
            .fold(false, |moved, ((&after, &next), &frontier)| moved | (after > frontier) | (next < frontier));
        if moved {
            for (at, frontier) in range.zip(0..) {
                let frontier = self.frontiers[frontier];
                if self.after[at] > frontier || self.next[at] < frontier {
                    self.move_to(at, writes.of(writes.segments[at]), frontier);
                }
            }
        }
    }

    fn move_to(&mut self, at: usize, list: &[u32], frontier: u32) {
        let mut count = self.counts[at] as usize;
        while count < list.len() && list[count] < frontier {
            count += 1;
        }
        while count > 0 && list[count - 1] >= frontier {
            count -= 1;
        }
        self.counts[at] = count as u32;
        self.next[at] = list.get(count).copied().unwrap_or(u32::MAX);
        self.after[at] = count.checked_sub(1).map_or(0, |last| list[last] + 1);
    }

    /// The segments in `range` that have a write before their place: `(segment, thread, write)`.
    pub fn last(&self, range: Range<usize>) -> impl Iterator<Item = (usize, usize, u32)> + use<'_> {
        range.filter(|&at| self.after[at] > 0).map(|at| (at, self.threads[at] as usize, self.after[at] - 1))
    }
}

/// Who reads from each write.
#[derive(Clone, Debug)]
pub struct Readers {
    /// The readers of each event, and then those of each location's initial write.
    rows: Rows,
    events: usize,
}

impl Readers {
    /// The readers of every event and of every initial write.
    pub fn new(execution: &Execution) -> Self {
        let count = execution.len();
        let source = |event: &Event| match event.source {
            EventId::INIT => Some(count + event.location.index()),
            EventId::NONE => None,
            write => Some(write.index()),
        };
        let reads = (0u32..).zip(execution.events()).filter_map(|(id, event)| Some((source(event)?, id)));
        Self { rows: Rows::new(count + execution.location_count(), reads), events: count }
    }

    /// The events that read from a write, by thread and program order.
    pub fn of(&self, write: u32) -> &[u32] {
        self.slot(write as usize)
    }

    /// The slot of the initial write of a location: one number for events and initial writes alike. The slot of an
    /// event is its own number.
    pub fn slot_of_init(&self, location: LocationId) -> usize {
        self.events + location.index()
    }

    /// How many slots there are.
    pub fn slot_count(&self) -> usize {
        self.rows.count()
    }

    /// The readers of the write of that slot.
    pub fn slot(&self, slot: usize) -> &[u32] {
        self.rows.of(slot)
    }
}

/// The open readers of each write: those that have not been done yet.
///
/// `from` and `to` only move towards each other, past readers that are done, so all searches together are linear.
#[derive(Clone, Debug)]
pub struct OpenReaders<'a> {
    readers: &'a Readers,
    counts: Vec<u32>,
    ranges: Vec<(u32, u32)>,
}

impl<'a> OpenReaders<'a> {
    /// All readers are open.
    pub fn new(readers: &'a Readers) -> Self {
        let counts: Vec<u32> = (0..readers.slot_count()).map(|slot| readers.slot(slot).len() as u32).collect();
        Self { readers, ranges: counts.iter().map(|&count| (0, count)).collect(), counts }
    }

    /// Notes that an access has been done. If it reads, the write that it reads has one open reader less.
    pub fn done(&mut self, event: Event) {
        match event.source {
            EventId::INIT => self.counts[self.readers.slot_of_init(event.location)] -= 1,
            EventId::NONE => {}
            source => self.counts[source.index()] -= 1,
        }
    }

    /// An event that a write waits for, if the write must come after the writes `before` it, after the readers of
    /// these, and after the readers of the initial write.
    pub fn blocker(
        &mut self,
        id: u32,
        event: Event,
        before: impl IntoIterator<Item = u32>,
        is_open: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let init = self.readers.slot_of_init(event.location);
        self.other_than(init, id, event.source == EventId::INIT, &is_open).or_else(|| {
            before.into_iter().find_map(|write| {
                if is_open(write) {
                    return Some(write);
                }
                self.other_than(write as usize, id, event.source.0 == write, &is_open)
            })
        })
    }

    /// An open reader other than `event`. `is_reader` tells whether `event` is a reader, too.
    fn other_than(&mut self, slot: usize, event: u32, is_reader: bool, is_open: impl Fn(u32) -> bool) -> Option<u32> {
        if self.counts[slot] <= u32::from(is_reader) {
            return None;
        }
        let list = self.readers.slot(slot);
        let (from, to) = &mut self.ranges[slot];
        while !is_open(list[*from as usize]) {
            *from += 1;
        }
        while !is_open(list[*to as usize - 1]) {
            *to -= 1;
        }
        [list[*from as usize], list[*to as usize - 1]].into_iter().find(|&read| read != event)
    }
}
