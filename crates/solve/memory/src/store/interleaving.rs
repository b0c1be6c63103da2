//! An interleaving that is being built: threads (chains of a frame) take turns, and steps can be taken back.
//!
//! An event *goes* when it is appended to the interleaving. It waits for its predecessors in the known order. A write
//! also waits while the last write of its location still has readers to come. As long as no write is
//! [forced](Interleaving::force), the events that went are an interleaving: every read came after its source, if its
//! source is a predecessor, and no other write of the location came between the two. If all threads wait, the caller
//! decides what to do.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use history::Execution;
use history::execution::EventId;
use order::lanes::{BLOCK, Lane, blocks, lanes, lanes_larger, larger};
use order::saturation::NONE;

/// Which events went already.
#[derive(Copy, Clone, Debug)]
pub struct Gone<'a, L = u32> {
    ends: &'a [L],
    execution: &'a Execution,
}

impl<'a, L: Lane> Gone<'a, L> {
    /// Whether an event went.
    #[inline]
    pub fn contains(&self, event: u32) -> bool {
        let thread = self.execution.threads()[event as usize].index();
        event < self.ends[thread].end(|| self.execution.starts()[thread])
    }

    /// The first thread, other than `other_than`, of which a clock has events that did not go.
    #[inline]
    pub fn first_behind(&self, clock: &[L], other_than: usize) -> Option<usize> {
        for (at, (clock, ends)) in blocks(clock).iter().zip(blocks(self.ends)).enumerate() {
            let own = if other_than / BLOCK == at { 1 << (other_than % BLOCK) } else { 0 };
            let mask = larger(clock, ends) & !own;
            if mask != 0 {
                return Some(at * BLOCK + mask.trailing_zeros() as usize);
            }
        }
        None
    }

    /// The threads of which a clock has events that did not go.
    #[inline]
    pub fn behind(&self, clock: &'a [L]) -> impl Iterator<Item = usize> + use<'a, L> {
        lanes_larger(clock, self.ends)
    }
}

/// How urgent a write is that has readers and can go. Of several such writes, the one with the least number goes first.
/// The number of a write is its first number, and for each clock and each event of the clock that did not go, the
/// weight of the clock.
pub trait Urgency<L: Lane = u32> {
    /// The first number of a write.
    fn first(&self, write: u32) -> u64;

    /// The clocks that count for a write, with their weights.
    fn clocks(&self, write: u32) -> impl Iterator<Item = (&[L], u64)>;
}

/// A write that has readers and could go when it was looked at.
#[derive(Copy, Clone, Debug)]
struct Ready {
    thread: u32,
    write: u32,
    /// Its urgency now.
    urgency: u64,
    /// Whether it is in the queue: it did not go, and does not wait again.
    is_queued: bool,
    /// Whether its urgency has changed since it was queued.
    has_changed: bool,
}

/// A clock that counts for a write that is ready.
#[derive(Copy, Clone, Debug)]
struct Counted<L> {
    /// The place of the write in the list.
    ready: u32,
    /// Where the clock's part of the thread ends.
    end: L,
    weight: u64,
}

/// What a thread waits for: an event to come before its next one.
#[derive(Copy, Clone, Debug)]
struct Wait {
    event: u32,
    predecessor: u32,
}

/// The interleaving. See the [module](self).
#[derive(Clone, Debug)]
pub struct Interleaving<'a, L = u32> {
    execution: &'a Execution,
    /// The events that went. With each write stands the write of its location that was the last before it.
    line: Vec<(u32, u32)>,
    /// The place of each event in the line, if it went.
    places: Vec<u32>,
    /// For each thread, the entry of a clock that knows of all that went: it stands for the next event.
    ends: Vec<L>,
    /// By event (writes only): how many readers are still to come.
    readers: Vec<u32>,
    /// By location: how many readers of the initial write are still to come.
    initial_readers: Vec<u32>,
    /// By location, the last write that went; [`NONE`] for the initial one.
    current: Vec<u32>,
    /// Threads to look at.
    active: Vec<u32>,
    /// The writes with readers that could go when they were looked at.
    ready: Vec<Ready>,
    /// The urgency, the thread and the place in the list of each write that is ready. Entries may be out of date.
    queue: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// The places of writes whose urgency has changed since they were queued.
    changed: Vec<u32>,
    /// By thread: the clocks that have events of the thread which did not go. Empty if no clock has counted yet.
    counted: Vec<Vec<Counted<L>>>,
    /// By thread: the last event that it waited for, and with which event it did so.
    waits: Vec<Wait>,
    /// By event: the first thread that waits for it; by thread: the next that waits for the same.
    waiting_for: Vec<u32>,
    next_waiting: Vec<u32>,
    /// By location: the first thread that waits for readers of its last write.
    waiting_at: Vec<u32>,
    /// The events and locations that threads have waited for since the last [`Self::reset`]. Entries may be out of
    /// date.
    awaited: Vec<u32>,
    /// Threads that wait for readers, and the writes with which they wait. The thread that has waited longest comes
    /// first. Entries may be out of date.
    waiting_for_readers: VecDeque<(u32, u32)>,
}

impl<'a, L: Lane> Interleaving<'a, L> {
    /// An interleaving of all events, of which none went yet.
    pub fn new(execution: &'a Execution) -> Self {
        let mut readers = vec![0; execution.len()];
        let mut initial_readers = vec![0; execution.location_count()];
        for event in execution.events() {
            if event.source.is_event() {
                readers[event.source.index()] += 1;
            } else if event.source == EventId::INIT {
                initial_readers[event.location.index()] += 1;
            }
        }
        let threads = execution.thread_count();
        let mut ends: Vec<L> = execution.starts()[..threads].iter().map(|&start| L::before(start, || start)).collect();
        ends.resize(lanes(threads), L::default());
        Self {
            execution,
            line: Vec::with_capacity(execution.len()),
            places: vec![0; execution.len()],
            ends,
            readers,
            initial_readers,
            current: vec![NONE; execution.location_count()],
            active: (0..threads as u32).rev().collect(),
            ready: Vec::new(),
            queue: BinaryHeap::new(),
            changed: Vec::new(),
            counted: Vec::new(),
            waits: vec![Wait { event: NONE, predecessor: NONE }; threads],
            waiting_for: vec![NONE; execution.len()],
            next_waiting: vec![NONE; threads],
            waiting_at: vec![NONE; execution.location_count()],
            awaited: Vec::new(),
            waiting_for_readers: VecDeque::new(),
        }
    }

    /// Whether all events went.
    pub fn is_complete(&self) -> bool {
        self.line.len() == self.execution.len()
    }

    /// The events that went, in order.
    pub fn line(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.line.iter().map(|&(event, _)| event)
    }

    /// The next event of each thread; the end of the thread if all its events went.
    pub fn next(&self) -> impl Iterator<Item = u32> + '_ {
        self.ends
            .iter()
            .zip(self.execution.starts())
            .take(self.execution.thread_count())
            .map(|(end, &at)| end.end(|| at))
    }

    /// The next event of one thread; its end if all its events went.
    #[inline]
    pub fn next_of(&self, thread: usize) -> u32 {
        self.ends[thread].end(|| self.execution.starts()[thread])
    }

    /// Whether all events of one thread went.
    pub fn is_done(&self, thread: usize) -> bool {
        self.next_of(thread) == self.execution.starts()[thread + 1]
    }

    /// Which events went.
    pub fn gone(&self) -> Gone<'_, L> {
        Gone { ends: &self.ends, execution: self.execution }
    }

    /// The last write that went of a location; [`NONE`] for the initial one.
    pub fn current(&self, location: usize) -> u32 {
        self.current[location]
    }

    /// The place of an event that went.
    pub fn place(&self, event: u32) -> u32 {
        self.places[event as usize]
    }

    /// How many readers of the last write of the event's location are still to come, without the event itself.
    #[inline]
    fn readers_to_come(&self, event: u32) -> u32 {
        let access = self.execution.events()[event as usize];
        let location = access.location.index();
        let current = self.current[location];
        if current == NONE {
            self.initial_readers[location] - u32::from(access.source == EventId::INIT)
        } else {
            self.readers[current as usize] - u32::from(access.source.0 == current)
        }
    }

    /// The next event that can go. The caller must let it [go](Self::go) next. `missing` tells a predecessor of an
    /// event, outside its thread, that did not go yet. If the answer is `None`, all threads wait or all events went.
    ///
    /// Reads, and writes without readers, go as soon as they can: that excludes no interleaving. Of the other writes
    /// that can go, the one with the least `urgency` goes.
    pub fn advance(
        &mut self,
        missing: impl Fn(u32, Gone<'_, L>) -> Option<u32>,
        urgency: &impl Urgency<L>,
    ) -> Option<u32> {
        while let Some(&thread) = self.active.last() {
            let event = self.next_of(thread as usize);
            if event == self.execution.starts()[thread as usize + 1] {
                self.active.pop();
            } else if let Some(predecessor) = missing(event, self.gone()) {
                self.active.pop();
                self.wait_for(thread, Wait { event, predecessor });
            } else if !self.execution.events()[event as usize].kind.writes() {
                return Some(event);
            } else if self.readers_to_come(event) != 0 {
                self.active.pop();
                self.wait_for_readers(thread, event);
            } else if self.readers[event as usize] == 0 {
                return Some(event);
            } else {
                self.active.pop();
                self.make_ready(thread, event, urgency);
            }
        }
        for at in self.changed.drain(..) {
            let ready = &mut self.ready[at as usize];
            ready.has_changed = false;
            self.queue.push(Reverse((ready.urgency, ready.thread, at)));
        }
        while let Some(Reverse((urgency, thread, at))) = self.queue.pop() {
            let ready = &mut self.ready[at as usize];
            if !ready.is_queued || ready.urgency != urgency {
                continue;
            }
            ready.is_queued = false;
            let write = ready.write;
            if self.readers_to_come(write) == 0 {
                self.active.push(thread);
                return Some(write);
            }
            self.wait_for_readers(thread, write);
        }
        None
    }

    /// Notes that the next event of a thread is a write that has readers and can go.
    fn make_ready(&mut self, thread: u32, write: u32, by: &impl Urgency<L>) {
        let at = self.ready.len() as u32;
        let mut urgency = by.first(write);
        for (clock, weight) in by.clocks(write) {
            self.counted.resize_with(self.execution.thread_count(), Vec::new);
            for lane in lanes_larger(clock, &self.ends) {
                urgency += u64::from(clock[lane].growth(self.ends[lane])) * weight;
                self.counted[lane].push(Counted { ready: at, end: clock[lane], weight });
            }
        }
        self.ready.push(Ready { thread, write, urgency, is_queued: true, has_changed: false });
        self.queue.push(Reverse((urgency, thread, at)));
    }

    /// Notes that a thread waits for an event.
    fn wait_for(&mut self, thread: u32, wait: Wait) {
        self.awaited.push(wait.predecessor);
        self.next_waiting[thread as usize] =
            std::mem::replace(&mut self.waiting_for[wait.predecessor as usize], thread);
        self.waits[thread as usize] = wait;
    }

    /// Notes that a thread waits, with its next write, for readers of the last write of the location.
    fn wait_for_readers(&mut self, thread: u32, event: u32) {
        self.waiting_for_readers.push_back((thread, event));
        let location = self.execution.events()[event as usize].location.index();
        self.next_waiting[thread as usize] = std::mem::replace(&mut self.waiting_at[location], thread);
    }

    /// When all threads wait: the writes that wait for readers and for nothing else, by thread.
    pub fn waiting_for_readers(&self) -> Vec<u32> {
        let waiting = self.waiting_for_readers.iter();
        let mut writes: Vec<u32> = waiting
            .filter(|&&(thread, write)| self.next_of(thread as usize) == write)
            .map(|&(_, write)| write)
            .collect();
        writes.sort_unstable();
        writes.dedup();
        writes
    }

    /// When all threads wait: the write that has waited longest for readers and for nothing else. The caller must let
    /// it [go](Self::go) next. If the answer is `None`, the predecessors are cyclic or all events went.
    pub fn force(&mut self) -> Option<u32> {
        while let Some((thread, event)) = self.waiting_for_readers.pop_front() {
            if self.next_of(thread as usize) != event {
                continue;
            }
            let location = self.execution.events()[event as usize].location.index();
            let (mut before, mut at) = (NONE, self.waiting_at[location]);
            while at != thread && at != NONE {
                (before, at) = (at, self.next_waiting[at as usize]);
            }
            if at == thread {
                let after = std::mem::replace(&mut self.next_waiting[thread as usize], NONE);
                match before {
                    NONE => self.waiting_at[location] = after,
                    before => self.next_waiting[before as usize] = after,
                }
                self.active.push(thread);
                return Some(event);
            }
        }
        None
    }

    fn wake(active: &mut Vec<u32>, next_waiting: &mut [u32], first: &mut u32) {
        let mut thread = std::mem::replace(first, NONE);
        while thread != NONE {
            active.push(thread);
            thread = std::mem::replace(&mut next_waiting[thread as usize], NONE);
        }
    }

    /// Lets an event go: the one that [`Self::advance`] or [`Self::force`] returned.
    pub fn go(&mut self, event: u32) {
        let access = self.execution.events()[event as usize];
        let thread = self.execution.threads()[event as usize].index();
        let end = L::before(event + 1, || self.execution.starts()[thread]);
        self.ends[thread] = end;
        let Self { ready, changed, counted, .. } = self;
        if let Some(counted) = counted.get_mut(thread) {
            counted.retain(|counted| {
                let ready = &mut ready[counted.ready as usize];
                ready.urgency -= counted.weight;
                if ready.is_queued && !ready.has_changed {
                    ready.has_changed = true;
                    changed.push(counted.ready);
                }
                ready.is_queued && counted.end > end
            });
        }
        let mut displaced = NONE;
        if access.kind.reads() {
            let location = access.location.index();
            let left = match access.source {
                EventId::INIT => &mut self.initial_readers[location],
                source => &mut self.readers[source.index()],
            };
            *left -= 1;
            // If one reader is to come, and it is an rmw, the rmw may go.
            if *left <= 1 {
                Self::wake(&mut self.active, &mut self.next_waiting, &mut self.waiting_at[location]);
            }
        }
        if access.kind.writes() {
            let location = access.location.index();
            displaced = std::mem::replace(&mut self.current[location], event);
            if self.readers[event as usize] <= 1 {
                Self::wake(&mut self.active, &mut self.next_waiting, &mut self.waiting_at[location]);
            }
        }
        Self::wake(&mut self.active, &mut self.next_waiting, &mut self.waiting_for[event as usize]);
        self.places[event as usize] = self.line.len() as u32;
        self.line.push((event, displaced));
    }

    /// Takes steps back, the last of them that of the event `to`. Afterwards the caller must [reset](Self::reset).
    pub fn rewind(&mut self, to: u32) {
        while self.gone().contains(to)
            && let Some((event, displaced)) = self.line.pop()
        {
            let access = self.execution.events()[event as usize];
            let thread = self.execution.threads()[event as usize].index();
            self.ends[thread] = L::before(event, || self.execution.starts()[thread]);
            if access.kind.reads() {
                match access.source {
                    EventId::INIT => self.initial_readers[access.location.index()] += 1,
                    source => self.readers[source.index()] += 1,
                }
            }
            if access.kind.writes() {
                self.current[access.location.index()] = displaced;
            }
        }
    }

    /// Lets threads try again, except those that wait for an event which did not go, and which `is_before` still has
    /// before their next event.
    pub fn reset(&mut self, is_before: impl Fn(u32, u32) -> bool) {
        for event in self.awaited.drain(..) {
            self.waiting_for[event as usize] = NONE;
        }
        for (_, event) in self.waiting_for_readers.drain(..) {
            self.waiting_at[self.execution.events()[event as usize].location.index()] = NONE;
        }
        self.next_waiting.fill(NONE);
        self.ready.clear();
        self.queue.clear();
        self.changed.clear();
        self.counted.iter_mut().for_each(Vec::clear);
        self.active.clear();
        for thread in (0..self.execution.thread_count()).rev() {
            let wait @ Wait { event, predecessor } = self.waits[thread];
            let waits =
                event == self.next_of(thread) && !self.gone().contains(predecessor) && is_before(predecessor, event);
            if waits { self.wait_for(thread as u32, wait) } else { self.active.push(thread as u32) }
        }
    }
}
