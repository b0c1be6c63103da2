//! `ccm`: `po u rf u pww u rw[pww]` is acyclic, where `pww = (hb_WW u cf[hb])+` and `hb` is the closure of the union of
//! the orders `hb_o` of `cm`.
//!
//! The algorithm has four steps. Each takes O(n k), on top of the views of [`cm`](super::cm):
//!
//! 1. the clocks of `hb`: causality and the view edges of all threads, in an order of execution;
//! 2. for each write w and each thread that writes its location, the last write of that thread that is before w by
//!    `hb_WW` or by `cf[hb]` directly: a row of [`PartialStoreOrder`];
//! 3. the rows of each location closed under transitivity, in an order of `pww`;
//! 4. an order of execution in which each read comes after its source. Each write w comes after the last write of each
//!    thread that is before w by the row of w, and after all readers of that write (`rw`). Readers of still earlier
//!    writes of the thread come before that write.
//!
//! A step that cannot be completed has found a cycle. Steps 1 and 3 fail only where step 4 would fail, too: view edges
//! and rows are in `pww`.

use std::cell::Cell;

use history::Execution;
use history::execution::{EventId, LocationId};
use model::{Edge, GaveUp};
use order::{Clocks, Failure, Hop, path};

use super::bounds::Bounds;
use super::cm::all_view_edges;
use super::derive::{Deriver, ViewEdge};
use super::{Answer, Causality, Halt};
use crate::writes::{Cursors, OpenReaders, Readers, Writes};
use crate::{Budget, Limits};

/// Decides `ccm`, which includes the other three.
pub fn check(causality: &Causality<'_>, limits: &Limits) -> Answer {
    let partial = PartialStoreOrder::new(causality, limits)?;
    partial.check_acyclic(&limits.budget)?;
    Ok(None)
}

/// The clocks of `hb`: in full width, or as [lists](super::many). They are filled event by event, in an order of `hb`.
pub trait Happens {
    /// An event that an event still has to wait for because of a view edge, when the events below `cursors` are done.
    fn blocker(&self, event: u32, cursors: &[u32]) -> Option<u32>;

    /// Adds what is before an event, the next of its thread, to the running clock of the thread: its source, and the
    /// view edges into it.
    fn arrive(&mut self, event: u32, thread: usize, source: EventId) -> Result<(), GaveUp>;

    /// For each thread, visits the last write of a location that is before an event, the next of its thread: the
    /// segment of the write, and the write.
    fn last_writes(
        &mut self,
        writes: &Writes,
        location: LocationId,
        event: u32,
        thread: usize,
        visit: impl FnMut(usize, u32),
    );

    /// Keeps the running clock of a thread as that of its last event.
    fn keep(&mut self, event: u32, thread: usize);

    /// The entry of a thread in the clock of an event that was kept.
    fn end(&self, event: u32, of: usize) -> u32;
}

/// `hb` in full width.
pub struct FullWidth {
    clocks: Clocks,
    bounds: Bounds,
    cursors: Cursors,
}

impl Happens for FullWidth {
    fn blocker(&self, event: u32, cursors: &[u32]) -> Option<u32> {
        self.bounds.blocker(event, cursors)
    }

    fn arrive(&mut self, event: u32, thread: usize, source: EventId) -> Result<(), GaveUp> {
        if source.is_event() {
            self.clocks.join(thread, source.0);
        }
        for &bound in self.bounds.of(event).iter().filter(|&&bound| bound > 0) {
            self.clocks.join(thread, bound - 1);
        }
        Ok(())
    }

    fn last_writes(
        &mut self,
        writes: &Writes,
        location: LocationId,
        event: u32,
        thread: usize,
        mut visit: impl FnMut(usize, u32),
    ) {
        let range = writes.segment_range(location);
        self.cursors.seek(writes, range.clone(), |of| self.clocks.before(event, thread, of as usize));
        for (segment, _, write) in self.cursors.last(range) {
            visit(segment, write);
        }
    }

    fn keep(&mut self, event: u32, thread: usize) {
        self.clocks.keep(event, thread);
    }

    fn end(&self, event: u32, of: usize) -> u32 {
        self.clocks.of(event)[of]
    }
}

/// `pww`: what every store order that makes the execution sequentially consistent must contain.
pub struct PartialStoreOrder<'a, H = FullWidth> {
    execution: &'a Execution,
    writes: &'a Writes,
    readers: Readers,
    views: Vec<ViewEdge>,
    /// The clocks of `hb`.
    happens: H,
    /// The rank of each write in [`Writes::all`].
    ranks: Vec<u32>,
    /// The segment of each rank.
    segments: Vec<u32>,
    /// Where each segment begins among the ranks.
    chains: Vec<u32>,
    /// For each rank a row with one entry for each segment of its location: the writes of the segment that are ranked
    /// below the entry are before the write.
    rows: Vec<u32>,
    /// Where the row of each rank begins.
    row_starts: Vec<u32>,
}

impl<'a> PartialStoreOrder<'a> {
    /// Steps 1 to 3, with clocks of full width.
    pub fn new(causality: &'a Causality<'_>, limits: &Limits) -> Result<Self, Halt> {
        Self::with_views(causality, all_view_edges(causality, limits)?, limits)
    }

    /// The same without the views: `hb` is `co`. This is the partial store order `(co_WW u cf[co])+` of `ccv`.
    #[cfg(feature = "sat")]
    pub fn of_causality(causality: &'a Causality<'_>, limits: &Limits) -> Result<Self, Halt> {
        Self::with_views(causality, Vec::new(), limits)
    }

    fn with_views(causality: &'a Causality<'_>, views: Vec<ViewEdge>, limits: &Limits) -> Result<Self, Halt> {
        let Causality { execution, writes, .. } = causality;
        let mut bounds = Bounds::new(execution);
        for edge in &views {
            bounds.raise(edge.to, edge.from, causality.thread(edge.from));
        }
        let clocks = Clocks::new(execution.starts(), execution.len());
        let happens = FullWidth { clocks, bounds, cursors: Cursors::new(writes) };
        Self::of(execution, writes, views, happens, limits)
    }
}

impl<'a, H: Happens> PartialStoreOrder<'a, H> {
    /// Steps 1 to 3, given the view edges and empty clocks for `hb`.
    pub fn of(
        execution: &'a Execution,
        writes: &'a Writes,
        views: Vec<ViewEdge>,
        happens: H,
        limits: &Limits,
    ) -> Result<Self, Halt> {
        let chains = writes.chains();
        let entries: usize = (0..execution.location_count() as u32)
            .map(|location| writes.segment_range(LocationId(location)))
            .map(|range| (chains[range.end] - chains[range.start]) as usize * range.len())
            .sum();
        limits.budget.check_room(entries.saturating_mul(size_of::<u32>()))?;
        let mut ranks = vec![0; execution.len()];
        let mut segments = vec![0; writes.all().len()];
        let mut row_starts = Vec::with_capacity(writes.all().len() + 1);
        let mut size = 0u32;
        for location in (0..execution.location_count() as u32).map(LocationId) {
            let range = writes.segment_range(location);
            for segment in range.clone() {
                for rank in chains[segment]..chains[segment + 1] {
                    ranks[writes.all()[rank as usize] as usize] = rank;
                    segments[rank as usize] = segment as u32;
                    row_starts.push(size);
                    size += range.len() as u32;
                }
            }
        }
        row_starts.push(size);
        let rows = vec![0; size as usize];
        let readers = Readers::new(execution);
        let mut this = Self { execution, writes, readers, views, happens, ranks, segments, chains, rows, row_starts };
        this.fill_rows(&limits.budget)?;
        this.close_rows(&limits.budget)?;
        Ok(this)
    }

    /// Whether `pww` orders two writes of one location.
    pub fn before(&self, first: EventId, second: EventId) -> bool {
        let rank = self.ranks[first.index()];
        let segment = self.segments[rank as usize] as usize;
        let at = segment - self.writes.segment_range(self.execution.event(first).location).start;
        rank < self.row(self.ranks[second.index()])[at]
    }

    fn row(&self, rank: u32) -> &[u32] {
        &self.rows[self.row_starts[rank as usize] as usize..self.row_starts[rank as usize + 1] as usize]
    }

    fn thread(&self, event: u32) -> usize {
        self.execution.thread(EventId(event)).index()
    }

    /// Steps 1 and 2 together, in an order of `hb`.
    fn fill_rows(&mut self, budget: &Budget) -> Result<(), Halt> {
        let Self { execution, writes, happens, ranks, row_starts, rows, .. } = self;
        let threads = execution.threads();
        let chain_of = |event: u32| threads[event as usize].index();
        let row_start = |write: u32| row_starts[ranks[write as usize] as usize] as usize;
        let (overwritten, gave_up) = (Cell::new(None), Cell::new(None));
        let stop = || overwritten.get().is_some() || gave_up.get().is_some() || budget.is_due();
        let outcome = order::schedule(execution.starts(), chain_of, stop, |done, thread, id| {
            let event = execution.event(EventId(id));
            let source = event.source;
            if source.is_event() && source.0 >= done[chain_of(source.0)] {
                return Some(source.0);
            }
            if let Some(blocker) = happens.blocker(id, done) {
                return Some(blocker);
            }
            if let Err(why) = happens.arrive(id, thread, source) {
                gave_up.set(Some(why));
            }
            if event.location != LocationId::NONE {
                let first = writes.segment_range(event.location).start;
                happens.last_writes(writes, event.location, id, thread, |at, write| {
                    let after = ranks[write as usize] + 1;
                    let mut raise = |row: usize| {
                        let entry = &mut rows[row + at - first];
                        *entry = (*entry).max(after);
                    };
                    if event.kind.writes() {
                        raise(row_start(id));
                    }
                    if source == EventId::INIT {
                        overwritten.set(overwritten.get().or(Some((id, write))));
                    } else if source.is_event() && write != source.0 {
                        // The source itself is the last write of its thread. Its own row has the writes before it.
                        raise(row_start(source.0));
                    }
                });
            }
            happens.keep(id, thread);
            None
        });
        if let Some(why) = gave_up.get() {
            return Err(Halt::GaveUp(why));
        }
        match (outcome, overwritten.get()) {
            (_, Some((read, write))) => Err(Halt::Violation(self.deriver().overwritten_init(read, write))),
            (Ok(()), _) => Ok(()),
            (Err(Failure::Interrupted), _) => Err(Halt::GaveUp(budget.why())),
            (Err(Failure::Stuck(stuck)), _) => {
                let (_, event) = stuck.cycle(chain_of)[0];
                Err(Halt::Violation(self.deriver().cycle_through(event, true)))
            }
        }
    }

    /// Step 3, location by location.
    fn close_rows(&mut self, budget: &Budget) -> Result<(), Halt> {
        let Self { execution, writes, chains, segments, row_starts, rows, .. } = self;
        let mut closed = Vec::new();
        for location in (0..execution.location_count() as u32).map(LocationId) {
            let range = writes.segment_range(location);
            let (first, width) = (range.start, range.len());
            let chain_of = |rank: u32| segments[rank as usize] as usize - first;
            let chains = &chains[range.start..=range.end];
            let outcome = order::schedule(
                chains,
                chain_of,
                || budget.is_due(),
                |cursors, _, rank| {
                    let start = row_starts[rank as usize] as usize;
                    let row = &rows[start..start + width];
                    if let Some((&after, _)) = row.iter().zip(cursors).find(|(after, cursor)| after > cursor) {
                        return Some(after - 1);
                    }
                    // The rows of earlier writes are closed. If one of them has an entry already, it has the row of
                    // that entry, too.
                    closed.clear();
                    closed.resize(width, 0);
                    for at in 0..width {
                        let last = rows[start + at];
                        if last > chains[at] && last > closed[at] {
                            let from = row_starts[last as usize - 1] as usize;
                            order::join(&mut closed, &rows[from..from + width]);
                            closed[at] = last;
                        }
                    }
                    rows[start..start + width].copy_from_slice(&closed);
                    None
                },
            );
            match outcome {
                Ok(()) => {}
                Err(Failure::Interrupted) => return Err(Halt::GaveUp(budget.why())),
                Err(Failure::Stuck(stuck)) => {
                    let all = writes.all();
                    let event = |(needed, rank): (u32, u32)| (all[needed as usize], all[rank as usize]);
                    let cycle: Vec<(u32, u32)> = stuck.cycle(chain_of).into_iter().map(event).collect();
                    let this = &*self;
                    return Err(Halt::Violation(
                        this.deriver()
                            .waiting_cycle(&cycle, |deriver, needed, write| vec![this.direct(deriver, needed, write)]),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Step 4.
    pub fn check_acyclic(&self, budget: &Budget) -> Result<(), Halt> {
        let Self { execution, writes, readers, chains, .. } = self;
        let events = execution.events();
        let threads = execution.threads();
        let mut open = OpenReaders::new(readers);
        let outcome = order::schedule(
            execution.starts(),
            |event| threads[event as usize].index(),
            || budget.is_due(),
            |cursors, _, id| {
                let event = events[id as usize];
                let is_open = |needed: u32| needed >= cursors[threads[needed as usize].index()];
                if event.source.is_event() && is_open(event.source.0) {
                    return Some(event.source.0);
                }
                if event.kind.writes() {
                    let first = writes.segment_range(event.location).start;
                    let row = self.row(self.ranks[id as usize]).iter().enumerate();
                    let before = row.filter(|&(at, last)| *last > chains[first + at]);
                    let before = before.map(|(_, &last)| writes.all()[last as usize - 1]);
                    if let Some(blocker) = open.blocker(id, event, before, is_open) {
                        return Some(blocker);
                    }
                }
                open.done(event);
                None
            },
        );
        match outcome {
            Ok(()) => Ok(()),
            Err(Failure::Interrupted) => Err(Halt::GaveUp(budget.why())),
            Err(Failure::Stuck(stuck)) => {
                let cycle = stuck.cycle(|event| threads[event as usize].index());
                Err(Halt::Violation(
                    self.deriver()
                        .waiting_cycle(&cycle, |deriver, needed, event| self.explain_wait(deriver, needed, event)),
                ))
            }
        }
    }

    fn deriver(&self) -> Deriver<'a> {
        Deriver::with_views(self.execution, self.views.clone())
    }

    /// The edges because of which `event` waits for `needed`: reads-from, `pww`, or `rw`.
    fn explain_wait(&self, deriver: &mut Deriver<'a>, needed: u32, event: u32) -> Vec<Edge> {
        let (from, to) = (self.execution.event(EventId(needed)), self.execution.event(EventId(event)));
        if to.source.0 == needed {
            return vec![deriver.rf(event)];
        }
        if from.kind.writes() && from.location == to.location && self.before(EventId(needed), EventId(event)) {
            return self.explain_order(deriver, needed, event);
        }
        let path = if from.source == EventId::INIT {
            vec![deriver.store_order_from_init(event)]
        } else {
            self.explain_order(deriver, from.source.0, event)
        };
        vec![deriver.read_write(needed, event, path)]
    }

    /// Why `first` is before `second` in `pww`: a path of direct edges.
    fn explain_order(&self, deriver: &mut Deriver<'a>, first: u32, second: u32) -> Vec<Edge> {
        let Self { execution, writes, readers, chains, segments, .. } = self;
        let all = writes.all();
        let location = execution.event(EventId(first)).location;
        let hops = path(
            chains,
            |rank| segments[rank as usize] as usize,
            self.ranks[first as usize],
            self.ranks[second as usize],
            |rank, edges| {
                let write = all[rank as usize];
                for event in std::iter::once(write).chain(readers.of(write).iter().copied()) {
                    for segment in writes.segments(location) {
                        let of = segment.thread as usize;
                        let frontier = if of == self.thread(event) { event } else { self.happens.end(event, of) };
                        if let Some(before) = writes.last_before(*segment, frontier)
                            && before != write
                        {
                            edges.push((self.ranks[before as usize], ()));
                        }
                    }
                }
            },
        );
        hops.expect("a closed row has a path")
            .into_iter()
            .map(|hop| match hop {
                Hop::Chain(from, to) => deriver.store_order(all[from as usize], all[to as usize]),
                Hop::Edge(from, to, ()) => self.direct(deriver, all[from as usize], all[to as usize]),
            })
            .collect()
    }

    /// A direct edge of `pww`: an edge of `hb_WW` if there is one, else a conflict.
    fn direct(&self, deriver: &mut Deriver<'a>, first: u32, second: u32) -> Edge {
        let thread = self.thread(first);
        let before = |event: u32| event != first && first < self.happens.end(event, thread);
        if before(second) {
            return deriver.store_order(first, second);
        }
        let read = self.readers.of(second).iter().copied().find(|&read| before(read));
        deriver.conflict(first, read.expect("an edge that is not in hb is a conflict"))
    }
}
