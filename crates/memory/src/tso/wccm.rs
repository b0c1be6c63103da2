//! Weak convergent causal memory: `wccm` (GCC section 4.1, with conflicts over the whole `rf`).
//!
//! For p in {`ppo`, `po-loc`}, `co^p = (p u rfe)+`, and `hb_o^p` is the least transitive relation that has `co^p` on the past of o, and (w', w) whenever
//! w' `hb_o^p` r for a read r of w that is o or p-before it, w' another write of the location. `hb^p` is the closure of the union over all o, and `whb`
//! that of `hb^ppo u hb^po-loc`. `wccm` holds iff with `wpww = (whb_WW u cf[hb^po-loc] u cf[hb^ppo])+` both `p u rfe u wpww u rw[wpww]` are acyclic.
//! What `wpww` orders, every store order that `tso` asks for does: `wtso` implies `wccm`.
//!
//! One view for each thread and p finds the pairs of all `hb_o^p`: take all reads of the thread at once, and all events for the past.
//! By induction on how the pairs (w', w) are found, w' is in the past of a read of the thread, so it needs no event outside the past of the thread's last
//! read; and what a smaller o finds, that one does.
//!
//! `po-loc` is taken location by location: nothing there leads from one to another. Where any of these relations is cyclic, so is one of the last two: a cycle
//! has a pair (w', w), which is in `wpww`, or is in `p u rfe`; of `po-loc`, only a write before a read is not in `ppo`, and a way out of that read in
//! `ppo` is one out of the write, too.
//!
//! The evidence of both verdicts is to decide again.

use history::Execution;
use history::execution::{EventId, ExecutionBuilder};
use order::saturation::{Derived, NONE, Rules};
use order::{Failure, Saturation, schedule};

use super::buffers;
use crate::Interrupt;
use crate::store::Stop;
use crate::store::frame::{Frame, Lists, Relaxation};

/// No rules: an order is closed under transitivity alone.
struct Free;

impl Rules for Free {
    fn entered(&mut self, _: &Saturation, _: u32, _: &mut Vec<Derived>) {}
    fn grown(&mut self, _: &Saturation, _: u32, _: usize, _: u32, _: u32, _: &mut Vec<Derived>) {}
}

/// Closes an order under an edge.
fn insert(order: &mut Saturation, from: u32, to: u32) -> Result<(), Stop> {
    order.insert(Derived { from, to, reason: 0 }, &mut Free).map_err(|_| Stop::Violation)
}

/// `p` and `rfe` of some events, for one p.
struct Base {
    frame: Frame<'static>,
    /// The writes of each location.
    writes: Vec<Vec<u32>>,
    /// `co^p`, then `hb^p`.
    order: Saturation,
    /// The pairs (w', w) of all views.
    edges: Vec<(u32, u32)>,
}

impl Base {
    /// `hb^p`.
    fn new(frame: Frame<'static>, interrupt: Interrupt) -> Result<Self, Stop> {
        let execution = frame.execution();
        let mut writes = vec![Vec::new(); execution.location_count()];
        for id in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
            writes[execution.event(id).location.index()].push(id.0);
        }
        let order = base_order(&frame, interrupt)?;
        let mut this = Self { frame, writes, order, edges: Vec::new() };
        this.views(interrupt)?;
        for &(from, to) in &this.edges {
            insert(&mut this.order, from, to)?;
        }
        Ok(this)
    }

    /// The pairs of all views.
    fn views(&mut self, interrupt: Interrupt) -> Result<(), Stop> {
        let Self { frame, writes, order, edges } = self;
        let events = frame.execution().events();
        let mut reads: Vec<u32> = (0..events.len() as u32).filter(|&id| events[id as usize].kind.reads()).collect();
        reads.sort_by_key(|&read| frame.owner(read));
        order.record();
        let mark = order.mark();
        for own in reads.chunk_by(|&a, &b| frame.owner(a) == frame.owner(b)) {
            if interrupt.is_due() {
                return Err(Stop::Interrupted);
            }
            let mut view = View { frame, writes, owner: frame.owner(own[0]), edges };
            let mut found = Vec::new();
            for &read in own {
                for chain in 0..frame.execution().thread_count() {
                    let end = order.clock(read)[chain];
                    view.look(order, read, order.start(chain), end, &mut found);
                }
            }
            for edge in found {
                order.insert(edge, &mut view).map_err(|_| Stop::Violation)?;
            }
            order.undo(mark);
        }
        Ok(())
    }

    /// The pairs of `cf[hb^p]`, of each chain the last.
    fn conflicts(&self, mut add: impl FnMut(u32, u32) -> Result<(), Stop>) -> Result<(), Stop> {
        let execution = self.frame.execution();
        for id in execution.ids().filter(|&id| execution.event(id).kind.reads()) {
            let source = execution.event(id).source;
            for write in self.last_writes(id.0).filter(|&write| write != source.0) {
                if source == EventId::INIT {
                    return Err(Stop::Violation);
                }
                add(write, source.0)?;
            }
        }
        Ok(())
    }

    /// For each chain, the last write of an event's location that is before the event, and is another.
    fn last_writes(&self, event: u32) -> impl Iterator<Item = u32> + '_ {
        let location = self.frame.execution().events()[event as usize].location;
        (0..self.frame.execution().thread_count()).filter_map(move |chain| {
            let end = self.order.clock(event)[chain];
            let end = if self.order.chain(event) == chain { end - 1 } else { end };
            last_write(self.writes.get(location.index())?, self.order.start(chain), end)
        })
    }
}

/// The last of a sorted list within a range.
fn last_write(writes: &[u32], start: u32, end: u32) -> Option<u32> {
    let count = writes.partition_point(|&write| write < end);
    writes[..count].last().copied().filter(|&write| write >= start)
}

/// The closure of the base of a frame.
fn base_order(frame: &Frame<'_>, interrupt: Interrupt) -> Result<Saturation, Stop> {
    let execution = frame.execution();
    let chain_of = |event: u32| execution.threads()[event as usize].index();
    let mut order = Saturation::new(execution.starts(), |event| frame.predecessors(event));
    let outcome = schedule(
        execution.starts(),
        chain_of,
        || interrupt.is_due(),
        |done, event| {
            let missing = frame.predecessors(event).find(|&predecessor| predecessor >= done[chain_of(predecessor)]);
            if missing.is_none() {
                let entered = order.enter(event, frame.predecessors(event), &mut Free);
                debug_assert!(entered.is_ok(), "without rules nothing is derived");
            }
            missing
        },
    );
    match outcome {
        Ok(()) => Ok(order),
        Err(Failure::Stuck(_)) => Err(Stop::Violation),
        Err(Failure::Interrupted) => Err(Stop::Interrupted),
    }
}

/// The rule of one view: whatever comes before a read of its thread, another write of the location, comes before the source.
struct View<'a> {
    frame: &'a Frame<'a>,
    writes: &'a [Vec<u32>],
    owner: u32,
    edges: &'a mut Vec<(u32, u32)>,
}

impl View<'_> {
    /// The pair of the last write among the events `start..end` of one chain, which are before a read.
    fn look(&mut self, order: &Saturation, read: u32, start: u32, end: u32, derived: &mut Vec<Derived>) {
        let event = self.frame.execution().events()[read as usize];
        let end = if (start..end).contains(&read) { read } else { end };
        let Some(write) = last_write(&self.writes[event.location.index()], start, end) else { return };
        if event.source == EventId::INIT {
            derived.push(Derived { from: write, to: NONE, reason: read });
        } else if write != event.source.0 {
            self.edges.push((write, event.source.0));
            if !order.before(write, event.source.0) {
                derived.push(Derived { from: write, to: event.source.0, reason: read });
            }
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

/// The events of one location, a chain for each thread, and their numbers in the frame of `ppo`.
struct Location {
    /// `po-loc u rfe`.
    base: Base,
    events: Vec<u32>,
}

impl Location {
    /// All locations, given the number of each event in the frame of `ppo`.
    fn all(execution: &Execution, numbers: &[u32], interrupt: Interrupt) -> Result<Vec<Self>, Stop> {
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
        for members in &members {
            builder.clear();
            let mut external = Vec::new();
            for &id in members {
                let event = execution.event(id);
                let at = builder.push(execution.thread(id).0, event.kind, 0);
                if event.source.is_event() {
                    let source = places[event.source.index()];
                    builder.read_from(at, Some(source as usize));
                    if execution.thread(event.source) != execution.thread(id) {
                        external.push((at as u32, source));
                    }
                }
            }
            let part = builder.build();
            let owners = (0..part.thread_count() as u32).collect();
            let frame = Frame::split(part, Relaxation::Nothing, Lists::new(members.len(), &external), owners);
            let events = members.iter().map(|id| numbers[id.index()]).collect();
            all.push(Self { base: Base::new(frame, interrupt)?, events });
        }
        Ok(all)
    }
}

/// The writes of one location, a chain for each thread, with `wpww`.
struct Stores {
    /// Their numbers in the frame of `ppo`.
    writes: Vec<u32>,
    starts: Vec<u32>,
    order: Saturation,
}

impl Stores {
    /// Nothing but program order yet.
    fn new(frame: &Frame<'_>, events: &[u32]) -> Self {
        let kind = |event: u32| frame.execution().events()[event as usize].kind;
        let writes: Vec<u32> = events.iter().copied().filter(|&event| kind(event).writes()).collect();
        let mut starts = vec![0];
        starts.extend((1..writes.len() as u32).filter(|&at| {
            let owner = |at: u32| frame.owner(writes[at as usize]);
            owner(at - 1) != owner(at)
        }));
        starts.push(writes.len() as u32);
        let mut order = Saturation::new(&starts, |_| std::iter::empty());
        for number in 0..writes.len() as u32 {
            let entered = order.enter(number, std::iter::empty(), &mut Free);
            debug_assert!(entered.is_ok(), "without rules nothing is derived");
        }
        Self { writes, starts, order }
    }

    /// For each write the last one of each chain that is before it.
    fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.writes.len() as u32).flat_map(move |number| {
            let clock = self.order.clock(number);
            self.starts.windows(2).zip(clock).filter_map(move |(chain, &end)| {
                let end = if (chain[0]..chain[1]).contains(&number) { end - 1 } else { end };
                (end > chain[0]).then(|| (self.writes[end as usize - 1], self.writes[number as usize]))
            })
        })
    }
}

/// `wpww`.
pub(super) struct PartialStoreOrder {
    /// The frame of `ppo`, and `whb`.
    base: Base,
    locations: Vec<Location>,
    stores: Vec<Stores>,
    /// By event of the frame, if it writes: its number among the stores of its location.
    numbers: Vec<u32>,
}

impl PartialStoreOrder {
    /// Computes it.
    pub(super) fn new(execution: &Execution, interrupt: Interrupt) -> Result<Self, Stop> {
        let (frame, in_frame) = buffers::preserved(execution);
        let locations = Location::all(execution, &in_frame, interrupt)?;
        let base = Base::new(frame, interrupt)?;
        let stores: Vec<Stores> = locations.iter().map(|location| Stores::new(&base.frame, &location.events)).collect();
        let mut numbers = vec![NONE; execution.len()];
        for stores in &stores {
            for (number, &write) in (0..).zip(&stores.writes) {
                numbers[write as usize] = number;
            }
        }
        let mut this = Self { base, locations, stores, numbers };
        this.add_conflicts()?;
        this.add_program_order()?;
        let execution = this.base.frame.execution();
        for id in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
            let order = &mut this.stores[execution.event(id).location.index()].order;
            for write in this.base.last_writes(id.0) {
                insert(order, this.numbers[write as usize], this.numbers[id.index()])?;
            }
        }
        Ok(this)
    }

    /// `cf[hb^po-loc] u cf[hb^ppo]`.
    fn add_conflicts(&mut self) -> Result<(), Stop> {
        let Self { base, locations, stores, numbers } = self;
        for (location, stores) in locations.iter().zip(&mut *stores) {
            let number = |event: u32| numbers[location.events[event as usize] as usize];
            location.base.conflicts(|from, to| insert(&mut stores.order, number(from), number(to)))?;
        }
        base.conflicts(|from, to| {
            let location = base.frame.execution().events()[to as usize].location.index();
            insert(&mut stores[location].order, numbers[from as usize], numbers[to as usize])
        })
    }

    /// Makes `whb` of `hb^ppo`.
    fn add_program_order(&mut self) -> Result<(), Stop> {
        let Base { frame, order, .. } = &mut self.base;
        for location in &self.locations {
            let number = |event: u32| location.events[event as usize];
            for &(from, to) in &location.base.edges {
                insert(order, number(from), number(to))?;
            }
            for pair in location.events.windows(2) {
                if frame.in_program_order(pair[0], pair[1]) {
                    insert(order, pair[0], pair[1])?;
                }
            }
        }
        Ok(())
    }

    /// Whether a write comes before another of its location, by their numbers in a frame of `tso`.
    pub(super) fn before(&self, first: u32, second: u32) -> bool {
        let location = self.base.frame.execution().events()[first as usize].location.index();
        let order = &self.stores[location].order;
        first != second && order.before(self.numbers[first as usize], self.numbers[second as usize])
    }

    /// That both `p u rfe u wpww u rw[wpww]` are acyclic.
    pub(super) fn check_acyclic(&self, interrupt: Interrupt) -> Result<(), Stop> {
        let frame = &self.base.frame;
        let events = frame.execution().events();
        let mut ppo = base_order(frame, interrupt)?;
        let mut local = vec![NONE; events.len()];
        for (location, stores) in self.locations.iter().zip(&self.stores) {
            let mut po_loc = base_order(&location.base.frame, interrupt)?;
            for (number, &event) in (0..).zip(&location.events) {
                local[event as usize] = number;
            }
            let mut add = |from: u32, to: u32| {
                if from == to {
                    return Ok(());
                }
                insert(&mut ppo, from, to)?;
                insert(&mut po_loc, local[from as usize], local[to as usize])
            };
            for (first, second) in stores.pairs() {
                add(first, second)?;
                for &read in frame.readers(&self.base.order, first) {
                    add(read, second)?;
                }
            }
            let initial = location.events.iter().filter(|&&event| events[event as usize].source == EventId::INIT);
            for &read in initial {
                for chain in stores.starts.windows(2).filter(|chain| chain[0] < chain[1]) {
                    add(read, stores.writes[chain[0] as usize])?;
                }
            }
        }
        Ok(())
    }
}
