//! The steps of which happens-before and `psc` are made, all that does not depend on the modification order.

use history::Execution;
use history::MemoryOrder::SequentiallyConsistent;
use history::execution::{EventId, Kind};
use order::Rows;

use super::super::coherence::{acquires, releases};

/// No event.
pub(super) const NONE: u32 = u32::MAX;

/// An execution, and what follows from it at once. Orders that are sequentially consistent are those of the original,
/// elsewhere the execution is [without](Execution::without_sequential_orders) them.
pub(super) struct Steps<'a> {
    pub(super) execution: &'a Execution,
    /// By event: whether it is sequentially consistent.
    pub(super) is_sequential: Vec<bool>,
    /// By event: its readers, if it writes. The readers of initial writes are behind those, by location.
    pub(super) readers: Rows,
    /// By event and by write: where happens-before leads at once. A *carrier* stands for what a write carries: it has
    /// the number of the write behind the events.
    pub(super) next: Rows,
    /// By event: how many events of each thread happen before it or are the same.
    clocks: Vec<u32>,
    /// By event: the first event after it in its thread that is no access of the same location.
    pub(super) other: Vec<u32>,
    /// By event: the accesses of its location in its thread, the last before it and the first after it.
    pub(super) row: Vec<[u32; 2]>,
    /// By event: the last access of its location in each other thread that happens before it.
    pub(super) before: Rows,
}

impl<'a> Steps<'a> {
    /// None if `po u rf` has a cycle.
    pub(super) fn new(original: &Execution, execution: &'a Execution) -> Option<Self> {
        let count = execution.len();
        let is_sequential = original.events().iter().map(|event| event.order == SequentiallyConsistent).collect();
        let location = |at: u32| execution.events()[at as usize].location.index();
        let read = |(at, event): (u32, &history::execution::Event)| match event.source {
            EventId::INIT => Some((count + event.location.index(), at)),
            source if source.is_event() => Some((source.index(), at)),
            _ => None,
        };
        let reads = (0..).zip(execution.events()).filter_map(read);
        let readers = Rows::new(count + execution.location_count(), reads);
        let ends = |at: u32| execution.starts()[execution.threads()[at as usize].index() + 1];
        let mut other = vec![NONE; count];
        for at in (0..count as u32).rev().filter(|&at| at + 1 < ends(at)) {
            let kinds = [at, at + 1].map(|at| execution.events()[at as usize].kind);
            let is_same = !kinds.contains(&Kind::Fence) && location(at) == location(at + 1);
            other[at as usize] = if is_same { other[at as usize + 1] } else { at + 1 };
        }
        let next = next(execution, &readers);
        let clocks = clocks(execution, &next)?;
        let mut steps =
            Self { execution, is_sequential, readers, next, clocks, other, row: Vec::new(), before: Rows::default() };
        steps.find_rows();
        Some(steps)
    }

    /// How many events of each thread happen before an event or are the same.
    pub(super) fn clock(&self, event: u32) -> &[u32] {
        let threads = self.execution.thread_count();
        &self.clocks[event as usize * threads..][..threads]
    }

    pub(super) fn is_fence(&self, event: u32) -> bool {
        self.execution.events()[event as usize].kind == Kind::Fence
    }

    /// The accesses of each location by thread, and for each access those that happen before it.
    fn find_rows(&mut self) {
        let execution = self.execution;
        let (threads, count) = (execution.thread_count(), execution.len());
        let is_access = |at: &u32| execution.events()[*at as usize].kind != Kind::Fence;
        let accesses = (0..count as u32).filter(is_access);
        let of_location = |at: u32| execution.events()[at as usize].location.index();
        let rows = Rows::new(execution.location_count(), accesses.map(|at| (of_location(at), at)));
        self.row = vec![[NONE; 2]; count];
        let mut before = Vec::new();
        for location in 0..execution.location_count() {
            let row = rows.of(location);
            // Events are numbered thread by thread, so each thread has a part of the row.
            let mut starts = vec![row.len(); threads + 1];
            for (at, &event) in row.iter().enumerate().rev() {
                starts[execution.threads()[event as usize].index()] = at;
            }
            for thread in (0..threads).rev() {
                starts[thread] = starts[thread].min(starts[thread + 1]);
            }
            for pair in row.windows(2) {
                if execution.threads()[pair[0] as usize] == execution.threads()[pair[1] as usize] {
                    self.row[pair[0] as usize][1] = pair[1];
                    self.row[pair[1] as usize][0] = pair[0];
                }
            }
            for &event in row {
                let own = execution.threads()[event as usize].index();
                for thread in (0..threads).filter(|&thread| thread != own && starts[thread] < starts[thread + 1]) {
                    let end = execution.starts()[thread] + self.clock(event)[thread];
                    let part = &row[starts[thread]..starts[thread + 1]];
                    let known = part.partition_point(|&other| other < end);
                    if known > 0 {
                        before.push((event as usize, part[known - 1]));
                    }
                }
            }
        }
        self.before = Rows::new(count, before.iter().copied());
    }
}

/// Where happens-before leads at once, by event and by carrier.
fn next(execution: &Execution, readers: &Rows) -> Rows {
    let count = execution.len();
    let mut pairs = Vec::new();
    for thread in 0..execution.thread_count() {
        let (begin, end) = (execution.starts()[thread], execution.starts()[thread + 1]);
        let mut fence = NONE;
        for at in begin..end {
            let event = execution.events()[at as usize];
            if at + 1 < end {
                pairs.push((at as usize, at + 1));
            }
            if event.kind == Kind::Fence && releases(event.order, true) {
                fence = at;
            }
            let release = if releases(event.order, false) { at } else { fence };
            if event.kind.writes() && release != NONE {
                pairs.push((release as usize, count as u32 + at));
            }
        }
        let mut fence = NONE;
        for at in (begin..end).rev() {
            let event = execution.events()[at as usize];
            if event.kind == Kind::Fence && acquires(event.order, true) {
                fence = at;
            }
            if !event.kind.reads() || !event.source.is_event() {
                continue;
            }
            let carrier = count + event.source.index();
            let acquire = if acquires(event.order, false) { at } else { fence };
            if acquire != NONE {
                pairs.push((carrier, acquire));
            }
            if event.kind == Kind::Rmw {
                pairs.push((carrier, count as u32 + at));
            }
        }
    }
    debug_assert!(readers.count() >= count);
    Rows::new(2 * count, pairs.iter().copied())
}

/// The clocks of all events; none if `po u rf` has a cycle.
fn clocks(execution: &Execution, next: &Rows) -> Option<Vec<u32>> {
    let (count, threads) = (execution.len(), execution.thread_count());
    // Reads wait for their source in any case.
    let mut open = vec![0_u32; 2 * count];
    let sources = || (0..count).filter(|&at| execution.events()[at].source.is_event());
    let mut waiting: Vec<(usize, u32)> = Vec::new();
    for at in sources() {
        waiting.push((execution.events()[at].source.index(), at as u32));
    }
    let waiting = Rows::new(count, waiting.iter().copied());
    for row in 0..2 * count {
        next.of(row).iter().for_each(|&to| open[to as usize] += 1);
    }
    sources().for_each(|at| open[at] += 1);
    let mut clocks = vec![0; 2 * count * threads];
    let mut ready: Vec<u32> = (0..2 * count as u32).filter(|&at| open[at as usize] == 0).collect();
    let mut passed = 0;
    while let Some(at) = ready.pop() {
        passed += 1;
        let at = at as usize;
        if at < count {
            let id = EventId(at as u32);
            clocks[at * threads + execution.thread(id).index()] = execution.position(id) + 1;
            for &to in waiting.of(at) {
                open[to as usize] -= 1;
                if open[to as usize] == 0 {
                    ready.push(to);
                }
            }
        }
        for &to in next.of(at) {
            for thread in 0..threads {
                let value = clocks[at * threads + thread];
                let entry = &mut clocks[to as usize * threads + thread];
                *entry = value.max(*entry);
            }
            open[to as usize] -= 1;
            if open[to as usize] == 0 {
                ready.push(to);
            }
        }
    }
    clocks.truncate(count * threads);
    (passed == 2 * count).then_some(clocks)
}
