//! `hb^p` for one p, as the [module above](super) defines it: the base `p u rfe`, and the pairs of all views.
//!
//! Invariant: each pair of a view follows from the base and the earlier pairs of that view. The order is closed under
//! transitivity: first it is `co^p`, and once all pairs are in it, `hb^p`.

use std::ops::Range;

use history::OperationId;
use history::execution::{EventId, LocationId};
use model::GaveUp;
use order::saturation::{Conflict, Derived, NONE, Rules};
use order::{Failure, Saturation, schedule};

use super::derive;
use crate::causal::Halt;
use crate::causal::derive::ViewEdge;
use crate::store::frame::Frame;
use model::Budget;

/// No rules: an order is closed under transitivity alone.
pub struct NoRules;

impl Rules for NoRules {
    fn entered(&mut self, _: &Saturation, _: u32, _: &mut Vec<Derived>) {}
    fn grown(&mut self, _: &Saturation, _: u32, _: usize, _: u32, _: u32, _: &mut Vec<Derived>) {}
}

/// `p` and `rfe` of some events, for one p, and its views.
pub struct Base {
    pub frame: Frame<'static>,
    /// The operation of each event.
    pub operations: Vec<OperationId>,
    /// The location, if all events are of one location. This location is the first in the frame.
    only: Option<LocationId>,
    /// The writes of each location.
    writes: Vec<Vec<u32>>,
    /// `co^p`, then `hb^p`.
    pub order: Saturation,
    /// The pairs of all views that do not follow from earlier pairs, view by view, in the order in which they were
    /// found. Each follows from the base and the earlier pairs of its view.
    pub edges: Vec<ViewEdge>,
}

/// Why `hb^p` is cyclic. The range has the pairs of views that the order may have so far, beside the base.
enum Fault {
    GaveUp(GaveUp),
    /// There is a cycle through this event.
    Cycle(u32, Range<u32>),
    /// A write comes before a read of the initial value.
    Overwritten {
        write: u32,
        read: u32,
        edges: Range<u32>,
    },
}

impl From<GaveUp> for Fault {
    fn from(why: GaveUp) -> Self {
        Self::GaveUp(why)
    }
}

impl Base {
    /// `hb^p`.
    pub fn new(
        frame: Frame<'static>,
        operations: Vec<OperationId>,
        only: Option<LocationId>,
        budget: &Budget,
    ) -> Result<Self, Halt> {
        let execution = frame.execution();
        let mut writes = vec![Vec::new(); execution.location_count()];
        for id in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
            writes[execution.event(id).location.index()].push(id.0);
        }
        let order = Saturation::new(execution.starts(), |event| frame.predecessors(event));
        let mut this = Self { frame, operations, only, writes, order, edges: Vec::new() };
        match this.saturate(budget) {
            Ok(()) => Ok(this),
            Err(Fault::GaveUp(why)) => Err(Halt::GaveUp(why)),
            Err(Fault::Cycle(event, edges)) => Err(Halt::Violation(derive::cycle(&this, event, edges))),
            Err(Fault::Overwritten { write, read, edges }) => {
                Err(Halt::Violation(derive::overwritten(&this, write, read, edges)))
            }
        }
    }

    fn saturate(&mut self, budget: &Budget) -> Result<(), Fault> {
        self.enter(budget)?;
        self.find_views(budget)?;
        // Edges are inserted in an order of their targets that extends the base. So they seldom have to be propagated.
        let all = 0..self.edges.len() as u32;
        let mut numbers: Vec<u32> = all.clone().collect();
        numbers.sort_by_cached_key(|&number| self.size(self.edges[number as usize].to));
        for (count, reason) in numbers.into_iter().enumerate() {
            if count.is_multiple_of(256) {
                budget.check()?;
            }
            let ViewEdge { from, to, .. } = self.edges[reason as usize];
            self.order.insert(Derived { from, to, reason }, &mut NoRules).map_err(|_| Fault::Cycle(to, all.clone()))?;
        }
        Ok(())
    }

    /// The size of an event's clock, which grows along the order.
    pub fn size(&self, event: u32) -> u64 {
        self.order.clock(event).iter().map(|&entry| u64::from(entry)).sum()
    }

    /// `co^p`.
    fn enter(&mut self, budget: &Budget) -> Result<(), Fault> {
        let Self { frame, order, .. } = self;
        let execution = frame.execution();
        let chain_of = |event: u32| execution.threads()[event as usize].index();
        let outcome = schedule(
            execution.starts(),
            chain_of,
            || budget.is_due(),
            |done, _, event| {
                let missing = frame.predecessors(event).find(|&predecessor| predecessor >= done[chain_of(predecessor)]);
                if missing.is_none() {
                    let entered = order.enter(event, frame.predecessors(event), &mut NoRules);
                    debug_assert!(entered.is_ok(), "without rules nothing is derived");
                }
                missing
            },
        );
        outcome.map_err(|failure| match failure {
            Failure::Stuck(stuck) => Fault::Cycle(stuck.cycle(chain_of)[0].1, 0..0),
            Failure::Interrupted => Fault::GaveUp(budget.why()),
        })
    }

    /// The pairs of all views.
    fn find_views(&mut self, budget: &Budget) -> Result<(), Fault> {
        let Self { frame, writes, order, edges, .. } = self;
        let events = frame.execution().events();
        let mut reads: Vec<u32> = (0..events.len() as u32).filter(|&id| events[id as usize].kind.reads()).collect();
        reads.sort_by_key(|&read| frame.owner(read));
        order.record();
        let mark = order.mark();
        for own in reads.chunk_by(|&a, &b| frame.owner(a) == frame.owner(b)) {
            budget.check()?;
            let first = edges.len() as u32;
            let mut view = View { frame, writes, owner: frame.owner(own[0]), edges };
            let mut found = Vec::new();
            for &read in own {
                for chain in 0..frame.execution().thread_count() {
                    let end = order.clock(read)[chain];
                    view.look(order, read, order.start(chain), end, &mut found);
                }
            }
            for (count, edge) in found.into_iter().enumerate() {
                if count.is_multiple_of(256) {
                    budget.check()?;
                }
                order.insert(edge, &mut view).map_err(|conflict| {
                    let edges = first..view.edges.len() as u32;
                    match conflict {
                        Conflict::Cycle { to, .. } => Fault::Cycle(to, edges),
                        Conflict::Bottom(Derived { from, reason, .. }) => {
                            Fault::Overwritten { write: from, read: reason, edges }
                        }
                    }
                })?;
            }
            order.undo(mark);
        }
        Ok(())
    }

    /// The location of an event.
    pub fn location(&self, event: u32) -> LocationId {
        self.only.unwrap_or(self.frame.execution().events()[event as usize].location)
    }

    /// The pairs of `cf[hb^p]`, as a write and the read that it is before. Of each chain, only the last write is
    /// listed.
    pub fn conflicts(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let events = self.frame.execution().events();
        let reads = (0..).zip(events).filter(|(_, event)| event.kind.reads());
        reads.flat_map(|(read, event)| {
            self.last_writes(read).filter(|&write| write != event.source.0).map(move |write| (write, read))
        })
    }

    /// For each chain, the last write of an event's location that is before the event, and is not the event itself.
    pub fn last_writes(&self, event: u32) -> impl Iterator<Item = u32> + '_ {
        let location = self.frame.execution().events()[event as usize].location;
        (0..self.frame.execution().thread_count()).filter_map(move |chain| {
            let end = self.order.clock(event)[chain];
            let end = if self.order.chain(event) == chain { end - 1 } else { end };
            last_write(self.writes.get(location.index())?, self.order.start(chain), end)
        })
    }
}

/// The last number of a sorted list within a range.
fn last_write(writes: &[u32], start: u32, end: u32) -> Option<u32> {
    let count = writes.partition_point(|&write| write < end);
    writes[..count].last().copied().filter(|&write| write >= start)
}

/// The rule of one view: if another write of the location comes before a read of the view's thread, it comes before the
/// source of the read.
struct View<'a> {
    frame: &'a Frame<'a>,
    writes: &'a [Vec<u32>],
    owner: u32,
    edges: &'a mut Vec<ViewEdge>,
}

impl View<'_> {
    /// Derives the pair of the last write among the events `start..end` of one chain, which are before a read.
    fn look(&mut self, order: &Saturation, read: u32, start: u32, end: u32, derived: &mut Vec<Derived>) {
        let event = self.frame.execution().events()[read as usize];
        let end = if (start..end).contains(&read) { read } else { end };
        let Some(write) = last_write(&self.writes[event.location.index()], start, end) else { return };
        if event.source == EventId::INIT {
            derived.push(Derived { from: write, to: NONE, reason: read });
        } else if write != event.source.0 && !order.before(write, event.source.0) {
            self.edges.push(ViewEdge { from: write, to: event.source.0, read });
            derived.push(Derived { from: write, to: event.source.0, reason: read });
        }
    }
}

impl Rules for View<'_> {
    fn entered(&mut self, _: &Saturation, _: u32, _: &mut Vec<Derived>) {}

    fn grown(&mut self, order: &Saturation, event: u32, chain: usize, old: u32, new: u32, derived: &mut Vec<Derived>) {
        if self.frame.execution().events()[event as usize].kind.reads() && self.frame.owner(event) == self.owner {
            self.look(order, event, old.max(order.start(chain)), new, derived);
        }
    }
}
