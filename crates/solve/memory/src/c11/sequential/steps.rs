//! What happens before what in an execution, as `psc` asks for it: all that does not depend on the modification order.
//!
//! Happens-before goes to the next event of a thread, and from a release through what writes carry to an acquire. A
//! *carrier* stands for what a write carries: the release goes to it, it goes to each event that acquires it, and to
//! the carrier of an rmw that reads the write. One pass in an order of `po u rf` gives each event its clock.

use history::Execution;
use history::MemoryOrder::SequentiallyConsistent;
use history::execution::{EventId, Kind};
use model::Model;
use order::Rows;

use super::super::coherence::acquires;
use super::super::happens::publishers;

/// No event.
pub(super) const NONE: u32 = u32::MAX;

/// An execution, and what follows from it at once. Orders that are sequentially consistent are those of the original,
/// elsewhere the execution is [without](Execution::without_sequential_orders) them.
pub(super) struct Steps {
    pub(super) execution: Execution,
    /// By event: whether it is sequentially consistent.
    pub(super) is_sequential: Vec<bool>,
    /// Whether a fence is.
    pub(super) has_fences: bool,
    /// By event: its place in an order of `po u rf` that is near to the order of the file; and that order.
    pub(super) places: Vec<u32>,
    pub(super) line: Vec<u32>,
    /// By event: how many events of each thread happen before it or are the same.
    clocks: Vec<u32>,
    /// The same for `hb;rf;hb?`, if there are fences.
    read_clocks: Vec<u32>,
    /// By event: the first event after it, and the last before it, in its thread that is no access of the same
    /// location.
    pub(super) other: Vec<[u32; 2]>,
    /// By event: the last access of its location before it in its thread.
    pub(super) previous: Vec<u32>,
    /// By event: the last access of its location in each other thread that happens before it.
    pub(super) before: Rows,
    /// By location: its accesses.
    pub(super) accesses: Rows,
    /// By event: whose past it [publishes](publishers).
    publishers: Vec<EventId>,
    /// `rc20` or `rc11`: the model whose happens-before this is.
    pub(super) model: Model,
}

impl Steps {
    /// None if `po u rf` has a cycle. The model is the one whose happens-before counts: `rc20` or `rc11`.
    pub(super) fn new(original: &Execution, execution: Execution, model: Model) -> Option<Self> {
        let count = execution.len();
        let is_sequential: Vec<bool> =
            original.events().iter().map(|event| event.order == SequentiallyConsistent).collect();
        let is_fence = |at: usize| execution.events()[at].kind == Kind::Fence;
        let has_fences = (0..count).any(|at| is_sequential[at] && is_fence(at));
        let is_access = |at: &u32| !is_fence(*at as usize);
        let location = |at: u32| execution.events()[at as usize].location.index();
        let accesses = (0..count as u32).filter(is_access).map(|at| (location(at), at));
        let accesses = Rows::new(execution.location_count(), accesses);
        let publishers = publishers(&execution, model == Model::Rc11);
        let mut steps = Self {
            execution,
            is_sequential,
            has_fences,
            places: vec![NONE; count],
            line: Vec::with_capacity(count),
            clocks: Vec::new(),
            read_clocks: Vec::new(),
            other: Vec::new(),
            previous: vec![NONE; count],
            before: Rows::default(),
            accesses,
            publishers,
            model,
        };
        steps.find_line()?;
        steps.find_clocks();
        steps.find_others();
        steps.find_rows();
        Some(steps)
    }

    /// How many events of each thread happen before an event or are the same.
    pub(super) fn clock(&self, event: u32) -> &[u32] {
        let threads = self.execution.thread_count();
        &self.clocks[event as usize * threads..][..threads]
    }

    /// How many events of each thread are before an event by `hb;rf;hb?`. It is empty if there are no fences.
    pub(super) fn read_clock(&self, event: u32) -> &[u32] {
        let threads = self.execution.thread_count();
        self.read_clocks.get(event as usize * threads..).map_or(&[], |clock| &clock[..threads])
    }

    /// Whether an event happens before another or is the same.
    pub(super) fn happens(&self, before: u32, after: u32) -> bool {
        let thread = self.thread(before);
        self.execution.starts()[thread] + self.clock(after)[thread] > before
    }

    pub(super) fn thread(&self, event: u32) -> usize {
        self.execution.threads()[event as usize].index()
    }

    /// The events of a thread.
    pub(super) fn events_of(&self, thread: usize) -> std::ops::Range<u32> {
        self.execution.starts()[thread]..self.execution.starts()[thread + 1]
    }

    pub(super) fn kind(&self, event: u32) -> Kind {
        self.execution.events()[event as usize].kind
    }

    pub(super) fn is_fence(&self, event: u32) -> bool {
        self.kind(event) == Kind::Fence
    }

    pub(super) fn location(&self, event: u32) -> usize {
        self.execution.events()[event as usize].location.index()
    }

    /// The last access of a location in a thread that happens before an event or is the same.
    pub(super) fn last_access(&self, location: usize, thread: usize, event: u32) -> Option<u32> {
        let row = self.accesses.of(location);
        let begin = self.execution.starts()[thread];
        let at = row.partition_point(|&access| access < begin + self.clock(event)[thread]);
        at.checked_sub(1).map(|at| row[at]).filter(|&access| access >= begin)
    }

    fn find_line(&mut self) -> Option<()> {
        let (execution, count) = (&self.execution, self.execution.len());
        let sources = || (0..count as u32).filter(|&at| execution.events()[at as usize].source.is_event());
        let readers = Rows::new(count, sources().map(|at| (execution.events()[at as usize].source.index(), at)));
        let mut waits = vec![0_u8; count];
        (0..execution.thread_count()).flat_map(|thread| self.events_of(thread).skip(1)).for_each(|at| {
            waits[at as usize] += 1;
        });
        sources().for_each(|at| waits[at as usize] += 1);
        let key = |at: u32| std::cmp::Reverse((execution.operation(EventId(at)), at));
        let mut ready: std::collections::BinaryHeap<_> =
            (0..count as u32).filter(|&at| waits[at as usize] == 0).map(key).collect();
        while let Some(std::cmp::Reverse((_, at))) = ready.pop() {
            self.places[at as usize] = self.line.len() as u32;
            self.line.push(at);
            let next = Some(at + 1).filter(|&next| next < execution.starts()[self.thread(at) + 1]);
            for to in next.into_iter().chain(readers.of(at as usize).iter().copied()) {
                waits[to as usize] -= 1;
                if waits[to as usize] == 0 {
                    ready.push(key(to));
                }
            }
        }
        (self.line.len() == count).then_some(())
    }

    fn find_clocks(&mut self) {
        let (execution, count, threads) = (&self.execution, self.execution.len(), self.execution.thread_count());
        let mut clocks = Clocks { threads, entries: vec![0; 2 * count * threads] };
        let read_rows = if self.has_fences { 2 * count } else { 0 };
        let mut reads = Clocks { threads, entries: vec![0; read_rows * threads] };
        // By thread: what was read since the last acquire fence.
        let mut pending: Vec<Vec<u32>> = vec![Vec::new(); threads];
        for &at in &self.line {
            let (row, carrier) = (at as usize, count + at as usize);
            let event = execution.events()[row];
            let id = EventId(at);
            let thread = execution.thread(id).index();
            let source = Some(event.source).filter(|source| event.kind.reads() && source.is_event());
            let both = if self.has_fences { &mut [&mut clocks, &mut reads][..] } else { &mut [&mut clocks][..] };
            for clocks in both {
                if execution.position(id) > 0 {
                    clocks.join(row - 1, row);
                }
                if event.kind == Kind::Fence && acquires(event.order, true) {
                    pending[thread].iter().for_each(|&write| clocks.join(count + write as usize, row));
                }
                if let Some(source) = source.filter(|_| acquires(event.order, false)) {
                    clocks.join(count + source.index(), row);
                }
            }
            if let Some(source) = source {
                pending[thread].push(source.0);
            }
            if event.kind == Kind::Fence && acquires(event.order, true) {
                pending[thread].clear();
            }
            clocks.entries[row * threads + thread] = execution.position(id) + 1;
            if let Some(source) = source.filter(|_| self.has_fences) {
                reads.join_from(&clocks, source.index(), row);
            }
            if event.kind.writes() {
                let publisher = self.publishers[row];
                let both = if self.has_fences { &mut [&mut clocks, &mut reads][..] } else { &mut [&mut clocks][..] };
                for clocks in both {
                    if publisher.is_event() {
                        clocks.join(publisher.index(), carrier);
                    }
                    if let Some(source) = source {
                        clocks.join(count + source.index(), carrier);
                    }
                }
            }
        }
        clocks.entries.truncate(count * threads);
        reads.entries.truncate(read_rows / 2 * threads);
        (self.clocks, self.read_clocks) = (clocks.entries, reads.entries);
    }

    fn find_others(&mut self) {
        let differ =
            |one: u32, two: u32| self.is_fence(one) || self.is_fence(two) || self.location(one) != self.location(two);
        let mut other = vec![[NONE; 2]; self.execution.len()];
        for thread in 0..self.execution.thread_count() {
            for at in self.events_of(thread).skip(1) {
                other[at as usize][1] = if differ(at - 1, at) { at - 1 } else { other[at as usize - 1][1] };
            }
            for at in self.events_of(thread).rev().skip(1) {
                other[at as usize][0] = if differ(at, at + 1) { at + 1 } else { other[at as usize + 1][0] };
            }
        }
        self.other = other;
    }

    /// For each access those of its location that happen before it.
    fn find_rows(&mut self) {
        let (execution, threads) = (&self.execution, self.execution.thread_count());
        let mut before = Vec::new();
        let mut parts: Vec<(usize, std::ops::Range<usize>)> = Vec::new();
        for location in 0..execution.location_count() {
            let row = self.accesses.of(location);
            // Events are numbered thread by thread, so each thread has a part of the row.
            parts.clear();
            for (at, &event) in row.iter().enumerate() {
                match parts.last_mut() {
                    Some((thread, part)) if *thread == self.thread(event) => {
                        self.previous[event as usize] = row[at - 1];
                        part.end += 1;
                    }
                    _ => parts.push((self.thread(event), at..at + 1)),
                }
            }
            for &event in row {
                let clock = &self.clocks[event as usize * threads..][..threads];
                for (thread, part) in parts.iter().filter(|(thread, _)| *thread != self.thread(event)) {
                    let part = &row[part.clone()];
                    let end = execution.starts()[*thread] + clock[*thread];
                    if part[0] < end {
                        before.push((event as usize, part[part.partition_point(|&other| other < end) - 1]));
                    }
                }
            }
        }
        self.before = Rows::new(execution.len(), before.iter().copied());
    }
}

/// Clocks by event, and by carrier behind these.
struct Clocks {
    threads: usize,
    entries: Vec<u32>,
}

impl Clocks {
    fn join(&mut self, from: usize, to: usize) {
        for thread in 0..self.threads {
            let value = self.entries[from * self.threads + thread];
            let entry = &mut self.entries[to * self.threads + thread];
            *entry = value.max(*entry);
        }
    }

    fn join_from(&mut self, other: &Self, from: usize, to: usize) {
        for thread in 0..self.threads {
            let entry = &mut self.entries[to * self.threads + thread];
            *entry = other.entries[from * self.threads + thread].max(*entry);
        }
    }
}
