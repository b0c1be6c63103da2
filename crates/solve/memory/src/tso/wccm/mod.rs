//! Weak convergent causal memory: `wccm`. (Section 4.1 of GCC, *Gradual Consistency Checking*. Here the conflicts and
//! the condition of `po-loc` are over the whole `rf`.)
//!
//! For p in {`ppo`, `po-loc`}, `co^p = (p u rfe)+`, and `hb_o^p` is the least transitive relation that has `co^p` on
//! the past of o, and (w', w) whenever w' `hb_o^p` r for a read r of w that is o or p-before it, w' another write of
//! the location. `hb^p` is the closure of the union over all o, and `whb` that of `hb^ppo u hb^po-loc`. `wccm` holds
//! iff with `wpww = (whb_WW u cf[hb^po-loc] u cf[hb^ppo])+` both `ppo u rfe u wpww u rw[wpww]` and `po-loc u rf u wpww
//! u rw[wpww]` are acyclic. Every store order that `tso` asks for has all pairs of `wpww`. `wtso` implies `wccm`.
//!
//! A read of its own thread's later write, or an rmw of itself, is a cycle of `po-loc u rf`. Such cycles are looked for
//! first. After that, every other `rf` edge within a thread is in `po-loc`, so it is enough to look at `rfe`.
//!
//! One view for each thread and p finds the pairs of all `hb_o^p`: take all reads of the thread at once, and all events
//! for the past. By induction on how the pairs (w', w) are found, w' is in the past of a read of the thread, so no
//! event outside the past of the thread's last read is needed. And the pairs that a smaller o finds, the last read
//! finds, too.
//!
//! `po-loc` is computed location by location, since no edge of `po-loc u rf` leads from one location to another. Only
//! those pairs of `po-loc` are not in `ppo` that have a pure write w before a pure read r. They are needed only in
//! `hb^po-loc`. An edge out of r may lead on in its thread, to an event that is after w in `ppo`, too. So, between
//! writes, `whb` is the closure of `ppo u rfe` and the pairs of all views. Or an edge out of r is of `rw[wpww]`, and
//! leads to a write that is after the source of r in `wpww`. Then w is that source, or is before it by `cf[hb^po-loc]`.
//! So if `ppo u rfe u wpww u rw[wpww]` is acyclic, and no read after a write returns an initial value, the relation for
//! `po-loc` is acyclic as well.
//!
//! If `co^p`, a view, `hb^p`, `whb` or `wpww` is cyclic, so is one of the last two relations, because all further edges
//! beyond p and `rfe` are in `wpww`. So any such cycle is a violation, and [`derive`] finds its reasons. The evidence
//! for `consistent` is to decide the model again.

mod derive;
pub(super) mod from_ccv;
mod views;

use history::Execution;
use history::execution::{EventId, ExecutionBuilder, LocationId};
use model::GaveUp;
use order::saturation::{Derived, NONE};
use order::{Failure, Rows, Saturation, schedule};

use super::buffers;
use crate::causal::Halt;
use crate::store::frame::{Frame, Relaxation};
use crate::writes::{OpenReaders, Readers};
use derive::Deriver;
use model::Budget;
use views::{Base, NoRules};

/// The events of one location, a chain for each thread, and their numbers in the frame of `ppo`.
struct Location {
    /// `po-loc u rfe`.
    base: Base,
    events: Vec<u32>,
}

impl Location {
    /// All locations, given the number of each event in the frame of `ppo`.
    fn all(execution: &Execution, numbers: &[u32], budget: &Budget) -> Result<Vec<Self>, Halt> {
        let mut members = vec![Vec::new(); execution.location_count()];
        let mut places = vec![NONE; execution.len()];
        for id in execution.ids() {
            if let Some(members) = members.get_mut(execution.event(id).location.index()) {
                places[id.index()] = members.len() as u32;
                members.push(id);
            }
        }
        let mut builder = ExecutionBuilder::new();
        let mut all = Vec::with_capacity(members.len());
        for (location, members) in (0..).map(LocationId).zip(&members) {
            builder.clear();
            let mut external = Vec::new();
            for &id in members {
                let event = execution.event(id);
                if event.source.is_event()
                    && event.source >= id
                    && execution.thread(event.source) == execution.thread(id)
                {
                    return Err(Halt::Violation(buffers::reads_later(execution, id, event.source)));
                }
                let at = builder.push(execution.thread(id).0, event.kind, 0);
                if event.source.is_event() {
                    let source = places[event.source.index()];
                    builder.read_from(at, Some(source as usize));
                    if execution.thread(event.source) != execution.thread(id) {
                        external.push((at, source));
                    }
                }
            }
            let part = builder.build();
            let owners = (0..part.thread_count() as u32).collect();
            let frame = Frame::split(part, Relaxation::Nothing, Rows::new(members.len(), external.into_iter()), owners);
            let events = members.iter().map(|id| numbers[id.index()]).collect();
            let operations = members.iter().map(|&id| execution.operation(id)).collect();
            all.push(Self { base: Base::new(frame, operations, Some(location), budget)?, events });
        }
        Ok(all)
    }
}

/// Why `wpww` has a direct edge from a write to another of its location.
#[derive(Copy, Clone)]
enum Reason {
    /// `whb` orders the two writes.
    StoreOrder,
    /// The write comes before this read of the other write in `hb^ppo`.
    Conflict(u32),
    /// The write comes before this read of the other write in `hb^po-loc`. The read is given by its number at the
    /// location.
    LocalConflict(u32),
}

/// A write, another write of its location that it comes before, and the reason.
type StoreConflict = (u32, u32, Reason);

/// The writes of one location, a chain for each thread, with `wpww`.
struct Stores {
    /// Their numbers in the frame of `ppo`.
    writes: Vec<u32>,
    starts: Vec<u32>,
    order: Saturation,
    /// The reasons of its edges.
    reasons: Vec<Reason>,
}

impl Stores {
    /// The writes of one location. None of them has entered yet.
    fn new(frame: &Frame<'_>, events: &[u32]) -> Self {
        let kind = |event: u32| frame.execution().events()[event as usize].kind;
        let writes: Vec<u32> = events.iter().copied().filter(|&event| kind(event).writes()).collect();
        let mut starts = vec![0];
        starts.extend((1..writes.len() as u32).filter(|&at| {
            let owner = |at: u32| frame.owner(writes[at as usize]);
            owner(at - 1) != owner(at)
        }));
        starts.push(writes.len() as u32);
        let order = Saturation::new(&starts, |_| std::iter::empty());
        Self { writes, starts, order, reasons: Vec::new() }
    }

    /// Enters the next write of a chain.
    fn enter(&mut self, number: u32) {
        let entered = self.order.enter(number, std::iter::empty(), &mut NoRules);
        debug_assert!(entered.is_ok(), "without rules nothing is derived");
    }

    fn insert(&mut self, from: u32, to: u32, reason: Reason) -> Result<(), Fault> {
        if self.order.before(from, to) {
            return Ok(());
        }
        self.reasons.push(reason);
        let edge = Derived { from, to, reason: self.reasons.len() as u32 - 1 };
        self.order.insert(edge, &mut NoRules).map_err(|_| Fault::Stores(to))
    }

    /// For each chain, the last write that is before a given write. Both are given by their numbers in the frame of
    /// `ppo`.
    fn last_before(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        self.starts.windows(2).zip(self.order.clock(number)).filter_map(move |(chain, &end)| {
            let end = if (chain[0]..chain[1]).contains(&number) { end - 1 } else { end };
            (end > chain[0]).then(|| self.writes[end as usize - 1])
        })
    }
}

/// Why there is no `wpww`.
enum Fault {
    GaveUp(GaveUp),
    /// A cycle of `whb` through this event.
    Happens(u32),
    /// A cycle of `wpww` through this write of the location.
    Stores(u32),
    /// A write comes before the initial write. The reason is a conflict.
    Overwritten(u32, Reason),
}

/// `wpww`.
pub(crate) struct PartialStoreOrder {
    /// The frame of `ppo`, and `whb`.
    base: Base,
    readers: Readers,
    locations: Vec<Location>,
    stores: Vec<Stores>,
    /// By event of the frame: if it writes, its number among the writes of its location.
    numbers: Vec<u32>,
}

impl PartialStoreOrder {
    /// Computes it.
    pub(crate) fn new(execution: &Execution, budget: &Budget) -> Result<Self, Halt> {
        let (frame, in_frame) = buffers::preserved(execution);
        let locations = Location::all(execution, &in_frame, budget)?;
        let operations = frame.execution().operations().to_vec();
        let base = Base::new(frame, operations, None, budget)?;
        let stores: Vec<Stores> = locations.iter().map(|location| Stores::new(&base.frame, &location.events)).collect();
        let mut numbers = vec![NONE; execution.len()];
        for stores in &stores {
            for (number, &write) in (0..).zip(&stores.writes) {
                numbers[write as usize] = number;
            }
        }
        let readers = Readers::new(base.frame.execution());
        let mut this = Self { base, readers, locations, stores, numbers };
        let Err((location, fault)) = this.saturate(budget) else { return Ok(this) };
        let deriver = Deriver::new(&this);
        Err(match fault {
            Fault::GaveUp(why) => Halt::GaveUp(why),
            Fault::Happens(event) => Halt::Violation(deriver.circle(event)),
            Fault::Stores(write) => Halt::Violation(deriver.store_circle(location, write)),
            Fault::Overwritten(write, reason) => Halt::Violation(deriver.overwritten(write, reason)),
        })
    }

    /// Computes `wpww`, and turns `hb^ppo` into `whb`. An error names the location of the fault.
    ///
    /// Edges are inserted in an order of their targets that extends `whb`. So they seldom have to be propagated.
    fn saturate(&mut self, budget: &Budget) -> Result<(), (usize, Fault)> {
        let mut conflicts = self.conflicts()?;
        let Self { base, locations, stores, numbers, .. } = self;
        let pause = |at: usize, count: usize| {
            let checked = if count.is_multiple_of(256) { budget.check() } else { Ok(()) };
            checked.map_err(|why| (at, Fault::GaveUp(why)))
        };
        for (at, location) in locations.iter().enumerate() {
            for (count, edge) in location.base.edges.iter().enumerate() {
                pause(at, count)?;
                let [from, to] = [edge.from, edge.to].map(|event| location.events[event as usize]);
                let inserted = base.order.insert(Derived { from, to, reason: NONE }, &mut NoRules);
                inserted.map_err(|_| (at, Fault::Happens(to)))?;
            }
        }
        for (at, stores) in stores.iter_mut().enumerate() {
            let mut writes: Vec<(u64, u32)> =
                (0..).zip(&stores.writes).map(|(number, &write)| (base.size(write), number)).collect();
            writes.sort_unstable();
            for (count, (_, number)) in writes.into_iter().enumerate() {
                pause(at, count)?;
                stores.enter(number);
                for write in base.last_writes(stores.writes[number as usize]) {
                    let inserted = stores.insert(numbers[write as usize], number, Reason::StoreOrder);
                    inserted.map_err(|fault| (at, fault))?;
                }
            }
        }
        conflicts.sort_by_cached_key(|&(_, source, _)| base.size(source));
        for (count, (write, source, reason)) in conflicts.into_iter().enumerate() {
            let at = base.location(write).index();
            pause(at, count)?;
            let inserted = stores[at].insert(numbers[write as usize], numbers[source as usize], reason);
            inserted.map_err(|fault| (at, fault))?;
        }
        Ok(())
    }

    /// `cf[hb^po-loc] u cf[hb^ppo]`, without the pairs that are in `whb`.
    fn conflicts(&self) -> Result<Vec<StoreConflict>, (usize, Fault)> {
        let mut conflicts = Vec::new();
        let mut add = |base: &Base, event: &dyn Fn(u32) -> u32, reason: fn(u32) -> Reason| {
            for (write, read) in base.conflicts() {
                let source = base.frame.source(read);
                if source == NONE {
                    let write = event(write);
                    return Err((self.base.location(write).index(), Fault::Overwritten(write, reason(read))));
                }
                if !base.order.before(write, source) {
                    conflicts.push((event(write), event(source), reason(read)));
                }
            }
            Ok(())
        };
        for location in &self.locations {
            add(&location.base, &|place| location.events[place as usize], Reason::LocalConflict)?;
        }
        add(&self.base, &|event| event, Reason::Conflict)?;
        Ok(conflicts)
    }

    /// Whether a write comes before another of its location, by their numbers in a frame of `tso`.
    #[cfg(feature = "research")]
    pub(crate) fn before(&self, first: u32, second: u32) -> bool {
        let order = &self.stores[self.base.location(first).index()].order;
        first != second && order.before(self.numbers[first as usize], self.numbers[second as usize])
    }

    /// Checks that `ppo u rfe u wpww u rw[wpww]` is acyclic. For that, it looks for an order of execution in which each
    /// write w comes after the last write of each thread that is before w in `wpww`, and after the readers of that
    /// write. Readers of still earlier writes of the thread come before that write.
    pub(super) fn check_acyclic(&self, budget: &Budget) -> Result<(), Halt> {
        let Self { base, readers, stores, numbers, .. } = self;
        let execution = base.frame.execution();
        let chain_of = |event: u32| base.order.chain(event);
        let mut open = OpenReaders::new(readers);
        let outcome = schedule(
            execution.starts(),
            chain_of,
            || budget.is_due(),
            |cursors, _, id| {
                let event = execution.event(EventId(id));
                let is_open = |needed: u32| needed >= cursors[chain_of(needed)];
                if let Some(needed) = base.frame.predecessors(id).find(|&needed| is_open(needed)) {
                    return Some(needed);
                }
                if event.kind.writes() {
                    let before = stores[event.location.index()].last_before(numbers[id as usize]);
                    if let Some(blocker) = open.blocker(id, event, before, is_open) {
                        return Some(blocker);
                    }
                }
                open.done(event);
                None
            },
        );
        outcome.map_err(|failure| match failure {
            Failure::Interrupted => Halt::GaveUp(budget.why()),
            Failure::Stuck(stuck) => Halt::Violation(Deriver::new(self).last_circle(&stuck)),
        })
    }
}
