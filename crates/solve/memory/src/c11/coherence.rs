//! `ra` and `rc20`: one pass collects the edges that every modification order must agree with. Then the edges are
//! searched for a cycle.
//!
//! An rf-chain is a write, the rmw that reads from it, the rmw that reads from that rmw, and so on. By atomicity a
//! chain is contiguous in any modification order, so the chains of a location are ordered as wholes. The initial write
//! heads the first chain. Let the *target* of an access be the write it reads from, or itself if it does not read, and
//! its *value* be itself if it writes, else the write it reads from. By Wcoh and Rcoh (RF Lemma 3.2), if access a
//! happens before access e on the same location, then the value of a is not after the target of e:
//! - in one chain, the value of a must not be later in the chain than the target of e;
//! - in different chains, the chain of the former precedes the chain of the latter.
//!
//! The execution is allowed if that holds and the precedence is acyclic (RF, Lemma 4.4; section 6 of the specification,
//! 'contracted'): any topological order of the chains, each in its rf order, is then a witness.
//!
//! It suffices to look, for each access e and thread u, at the *last* access of u on the location that happens before
//! e: the earlier ones of u come before that one by the same rule. This last access may be left out if it happens
//! before the source of e. It may also be left out if it happens before the access on the location that was passed
//! last, and that one happens before e. In both cases the order before the target of e follows through the other
//! access. So most accesses have one or two edges, not one for each thread.
//!
//! In `ra` a write happens before every event that reads it, and so before every event that such a read happens before.
//! So the edges of a read follow from those of the write that it reads, and only writes are remembered: the earlier
//! access of each pair above is a write. Accesses that happen before the read that was passed last may be left out in
//! the same way, except for the source of that read.
//!
//! Happens-before is kept as one clock for each thread, and one for each write that is still to be read. For `rc20`
//! each thread has two more clocks: what a later acquire fence will learn (`pending`), and what a release fence has
//! published (`published`), as section 6 of the specification says.

use history::execution::{EventId, Kind};
use history::{Execution, MemoryOrder};
use model::Budget;
use order::Width;

use super::acyclic::Edges;
use super::clocks::{self, MAX_COUNT, copy, join, with_width};
use super::po_rf_pass::{EVENTS_PER_TURN, NOT_PASSED, PoRfPass};
use super::pool::Pool;
use super::rows::AccessRows;
use super::{Ended, Found, check_count, check_room};

/// The memory of the pass.
#[derive(Debug, Default)]
pub(super) struct Coherence {
    pub turns: PoRfPass,
    rows: AccessRows,
    pool: Pool,
    /// By thread: the clock of what happens before its next event. A thread knows all its own events, so the lane of
    /// the thread itself is [`OWN`]. Where the clock is copied, the lane of the copy is set to the position of the
    /// event. (The lane is not counted up with each event: to read a whole clock right after one lane was written makes
    /// the processor wait.)
    current: Vec<u32>,
    /// By thread: the clock that an acquire fence would add.
    pending: Vec<u32>,
    /// By thread: the clock of what happened before its last release fence.
    published: Vec<u32>,
    /// By location, if rows are dense: the clock of the access that was passed last, which does not count itself.
    last_clocks: Vec<u32>,
    /// By location: the thread and position of that access.
    last: Vec<[u32; 2]>,
    /// By chain: the place of its last write. The chain of an initial write has the number of its location. Behind
    /// these are zeros, for chains to come.
    ends: Vec<u32>,
    /// By chain: its first write. The chains of initial writes have none. There is room for chains to come.
    tops: Vec<u32>,
    /// How many chains there are.
    pub chains: usize,
    /// Pairs of chains: the first must precede the second.
    pub edges: Edges,
}

/// By how many chains the memory grows at a time.
const CHAINS_PER_GROWTH: usize = 1024;

/// The lane of a thread in its own clock.
pub(super) const OWN: u32 = MAX_COUNT;

/// Whether an access or fence of this order is an acquire. The answer is `plain` if it has no order.
pub(super) fn acquires(order: MemoryOrder, plain: bool) -> bool {
    match order {
        MemoryOrder::Acquire | MemoryOrder::AcquireRelease => true,
        MemoryOrder::Plain => plain,
        _ => false,
    }
}

/// Whether an access or fence of this order is a release. The answer is `plain` if it has no order.
pub(super) fn releases(order: MemoryOrder, plain: bool) -> bool {
    match order {
        MemoryOrder::Release | MemoryOrder::AcquireRelease => true,
        MemoryOrder::Plain => plain,
        _ => false,
    }
}

impl Coherence {
    /// The pass. With `ORDERS` the memory orders count as written (`rc20`), else every access is release and acquire
    /// (`ra`). After the pass, the caller has to check that the edges are acyclic.
    pub(super) fn pass<const ORDERS: bool>(&mut self, execution: &Execution, budget: &Budget) -> Result<(), Ended> {
        check_count(execution)?;
        let width = clocks::width(execution.thread_count());
        check_room(budget, 3 * width * execution.thread_count())?;
        self.start::<ORDERS>(execution, width);
        with_width!(width, width => self.run::<ORDERS, _>(width, execution, budget))
    }

    fn run<const ORDERS: bool, W: Width>(
        &mut self,
        width: W,
        execution: &Execution,
        budget: &Budget,
    ) -> Result<(), Ended> {
        let Self { turns, rows, pool, current, pending, published, last_clocks, last, ends, tops, chains, edges } =
            self;
        let events = execution.events();
        let locations = execution.location_count() as u32;
        let dense = rows.is_dense();
        // Where many threads meet at few locations, the last write passed seldom happens before the next access.
        let reads_count = !ORDERS && dense && execution.location_count() <= execution.thread_count();

        while let Some(turn) = turns.next(execution, budget)? {
            let thread = turn.thread;
            let begin = execution.starts()[thread];
            let clock = width.clock_mut(current, thread);
            pool.reserve(budget, width, EVENTS_PER_TURN as usize)?;
            edges.check_room(budget)?;
            if ends.len() < *chains + EVENTS_PER_TURN as usize {
                ends.resize(*chains + CHAINS_PER_GROWTH, 0);
                tops.resize(ends.len(), 0);
            }
            let mut at = turn.at;
            let blocked = loop {
                if at == turn.end {
                    break false;
                }
                let event = events[at as usize];
                let position = at - begin + 1;
                if event.kind == Kind::Fence {
                    if ORDERS {
                        if acquires(event.order, true) {
                            join(clock, width.clock(pending, thread));
                        }
                        if releases(event.order, true) {
                            let published = width.clock_mut(published, thread);
                            copy(published, clock);
                            published[thread] = position;
                        }
                    }
                    at += 1;
                    continue;
                }
                // The kind of an access cannot be predicted, so there are few branches on it. An access that does not
                // read is treated as if it read the initial write, whose clock is empty.
                let location = event.location.index();
                let source = event.source.index().min(events.len());
                let slot = turns.marks[source];
                if slot & NOT_PASSED != 0 {
                    turns.wait(thread, at, event.source.0);
                    break true;
                }
                if !ORDERS || acquires(event.order, false) {
                    join(clock, pool.clock(width, slot));
                } else {
                    join(width.clock_mut(pending, thread), pool.clock(width, slot));
                }

                // The chain and place of the target: a pure write begins a chain.
                let (is_write, is_rmw) = (event.kind == Kind::Write, event.kind == Kind::Rmw);
                let place = if source < events.len() { pool.place(slot) } else { [location as u32, 0] };
                let [chain, index] = if is_write { [*chains as u32, 0] } else { place };
                let (mut gate, mut last_clock) = (0, pool.clock(width, Pool::INIT));
                if dense {
                    let [last_thread, last_position] = last[location];
                    gate = if clock[last_thread as usize] >= last_position { u32::MAX } else { 0 };
                    last_clock = width.clock(last_clocks, location);
                }
                let bounds = [pool.clock(width, slot), last_clock];
                let coherent = rows.visit(width, location, clock, bounds, gate, |[from, place]| {
                    // Nothing precedes the chain of the initial write, and it precedes all others without an edge.
                    let is_edge = (from != chain) & (from >= locations) & (chain >= locations);
                    edges.push([from, chain], is_edge);
                    if from == chain { place <= index } else { chain >= locations }
                });
                if !coherent {
                    return Err(Ended::Found(Found::Incoherent(EventId(at))));
                }

                if event.kind.writes() {
                    // So far this write is the end of its chain, or the chain is empty.
                    let end = &mut ends[chain as usize];
                    if *end != index {
                        return Err(Ended::Found(Found::SharedSource(EventId(at))));
                    }
                    let value = [chain, index + u32::from(is_rmw)];
                    *end = value[1];
                    tops[*chains] = at;
                    *chains += usize::from(is_write);

                    let taken = pool.take(at, value);
                    let release = !ORDERS || releases(event.order, false);
                    if ORDERS && is_rmw {
                        pool.copy(width, slot, taken);
                    }
                    let carried = pool.clock_mut(width, taken);
                    let known = if release { &*clock } else { width.clock(published, thread) };
                    if ORDERS && is_rmw {
                        join(carried, known);
                    } else {
                        copy(carried, known);
                    }
                    if release {
                        carried[thread] = position;
                    }
                    turns.pass(at, taken);
                }
                if ORDERS || event.kind.writes() {
                    let value = [chain, index + u32::from(is_rmw)];
                    rows.pass(rows.entry(location, thread), at, position, value);
                    if dense {
                        let last_clock = width.clock_mut(last_clocks, location);
                        copy(last_clock, clock);
                        last_clock[thread] = position - 1;
                        last[location] = [thread as u32, position];
                    }
                } else if reads_count {
                    let last_clock = width.clock_mut(last_clocks, location);
                    copy(last_clock, clock);
                    last_clock[thread] = position;
                    last[location] = [thread as u32, position];
                    // The read is not remembered, so later accesses must still look at its source.
                    if source < events.len() {
                        let of = execution.thread(event.source).index();
                        last_clock[of] = last_clock[of].min(event.source.0 - execution.starts()[of]);
                    }
                }
                pool.give_back(source, slot);
                at += 1;
            };
            if !blocked {
                turns.finish(execution, thread, at);
            }
        }
        if turns.is_done(execution) { Ok(()) } else { Err(Ended::Found(Found::ThinAirCycle)) }
    }

    /// The first write of each chain, without the chains of initial writes.
    pub(super) fn tops(&self, execution: &Execution) -> &[u32] {
        &self.tops[execution.location_count()..self.chains]
    }

    fn start<const ORDERS: bool>(&mut self, execution: &Execution, width: usize) {
        let locations = execution.location_count();
        self.turns.start(execution);
        self.rows.lay_out(execution, width, |kind| if ORDERS { kind != Kind::Fence } else { kind.writes() });
        self.pool.start(execution, width);
        let lanes = execution.thread_count() * width;
        zeroed(&mut self.current, lanes);
        for thread in 0..execution.thread_count() {
            self.current[thread * width + thread] = OWN;
        }
        if ORDERS {
            zeroed(&mut self.pending, lanes);
            zeroed(&mut self.published, lanes);
        }
        if self.rows.is_dense() {
            zeroed(&mut self.last_clocks, locations * width);
            self.last.clear();
            // This is as if an access before all others had been passed.
            self.last.resize(locations, [0, 0]);
        }
        zeroed(&mut self.ends, locations);
        self.chains = locations;
        // A vector that grows is copied to memory that was never touched. To reserve memory without using it costs
        // nothing.
        self.edges.start(execution.len());
        self.ends.reserve(execution.len());
        // The chains of initial writes have no first write.
        zeroed(&mut self.tops, locations);
        self.tops.reserve(execution.len());
    }
}

/// Makes a vector hold so many zeros.
pub(super) fn zeroed(vector: &mut Vec<u32>, length: usize) {
    vector.clear();
    vector.resize(length, 0);
}
