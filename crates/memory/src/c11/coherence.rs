//! `ra` and `rc20`: one pass that collects what every modification order must agree with, then a look for a cycle.
//!
//! An rf-chain is a write and the rmws that read from it, from the first of them, and so on. By atomicity a chain is
//! contiguous in any modification order, so the chains of a location are ordered as wholes. The initial write heads
//! the first chain. Let the *target* of an access be the write it reads from, or itself if it does not read, and its
//! *value* be itself if it writes, else the write it reads from. By Wcoh and Rcoh (RF Lemma 3.2), if access a happens
//! before access e on the same location, then the value of a is not after the target of e:
//! - in one chain, the value of a must not be later in the chain than the target of e;
//! - in different chains, the chain of the former precedes the chain of the latter.
//!
//! The execution is allowed if that holds and the precedence is acyclic (RF Lemma 4.4; spec 6, 'contracted'): any
//! topological order of the chains, each in its rf order, is then a witness.
//!
//! It suffices to look, for each access e and thread u, at the *last* access of u on the location that happens before
//! e: the earlier ones of u come before that one by the same rule. And it may be left out if it happens before the
//! source of e, or before the access on the location that was passed last if that one happens before e: then it is
//! ordered before the target of e through them. So most accesses have one or two edges, not one a thread.
//!
//! In `ra` a write happens before whoever reads it, and so before whatever a read of it happens before: what a read
//! would say, the write says. So only writes are remembered, and 'access' above means a write where it is the earlier
//! one; but what happens before the read that was passed last may be left out in the same way, its source aside.
//!
//! Happens-before is kept as one clock a thread and one a write that is still to be read; for `rc20` also what a
//! later acquire fence will learn (`pending`) and what a release fence has published (`published`), as spec 6 says.

use certificate::Interrupt;
use history::execution::{EventId, Kind};
use history::{Execution, MemoryOrder};
use order::Width;

use super::acyclic::Edges;
use super::clocks::{self, MAX_COUNT, copy, join, with_width};
use super::pool::Pool;
use super::rows::Rows;
use super::turns::{EVENTS_PER_TURN, NOT_PASSED, Turns};
use super::{Found, Stop, check_count, check_room};

/// The memory of the pass.
#[derive(Debug, Default)]
pub(super) struct Coherence {
    pub turns: Turns,
    rows: Rows,
    pool: Pool,
    /// By thread: what happens before its next event. A thread knows all of itself: its own lane is [`OWN`], and is set
    /// to the position of the event where the clock is copied. (A lane that was written cannot be read as part of a
    /// whole clock at once without a stall, so the lane is not counted up with each event.)
    current: Vec<u32>,
    /// By thread: what an acquire fence would add.
    pending: Vec<u32>,
    /// By thread: what happened before its last release fence.
    published: Vec<u32>,
    /// By location, if rows are dense: the clock of the access that was passed last, which does not count itself.
    last_clocks: Vec<u32>,
    /// By location: the thread and position of that access.
    last: Vec<[u32; 2]>,
    /// By chain: the place of its last write. The chain of an initial write has the number of its location. There are
    /// zeros for chains to come.
    ends: Vec<u32>,
    /// By chain: its first write, but for those of initial writes. There is room for chains to come.
    tops: Vec<u32>,
    /// How many chains there are.
    pub chains: usize,
    /// The chain of each pair precedes the other.
    pub edges: Edges,
}

/// Room is made for so many chains at a time.
const CHAINS_PER_GROWTH: usize = 1024;

/// The lane of a thread in its own clock.
pub(super) const OWN: u32 = MAX_COUNT;

/// Whether an access or fence of this order is an acquire; `plain` if it has none.
pub(super) fn acquires(order: MemoryOrder, plain: bool) -> bool {
    match order {
        MemoryOrder::Acquire | MemoryOrder::AcquireRelease => true,
        MemoryOrder::Plain => plain,
        _ => false,
    }
}

/// Whether an access or fence of this order is a release; `plain` if it has none.
pub(super) fn releases(order: MemoryOrder, plain: bool) -> bool {
    match order {
        MemoryOrder::Release | MemoryOrder::AcquireRelease => true,
        MemoryOrder::Plain => plain,
        _ => false,
    }
}

impl Coherence {
    /// The pass. With `ORDERS` the orders count as written (`rc20`), else every access is release and acquire (`ra`).
    /// What is left to check is that the edges are acyclic.
    pub(super) fn pass<const ORDERS: bool>(&mut self, execution: &Execution, interrupt: Interrupt) -> Result<(), Stop> {
        check_count(execution)?;
        let width = clocks::width(execution.thread_count());
        check_room(3 * width * execution.thread_count())?;
        self.start::<ORDERS>(execution, width);
        with_width!(width, width => self.run::<ORDERS, _>(width, execution, interrupt))
    }

    fn run<const ORDERS: bool, W: Width>(
        &mut self,
        width: W,
        execution: &Execution,
        interrupt: Interrupt,
    ) -> Result<(), Stop> {
        let Self { turns, rows, pool, current, pending, published, last_clocks, last, ends, tops, chains, edges } =
            self;
        let events = execution.events();
        let locations = execution.location_count() as u32;
        let dense = rows.is_dense();
        // Where many threads meet at few locations, the last write passed seldom happens before the next access.
        let reads_count = !ORDERS && dense && execution.location_count() <= execution.thread_count();

        while let Some(turn) = turns.next(execution, interrupt)? {
            let thread = turn.thread;
            let begin = execution.starts()[thread];
            let clock = width.clock_mut(current, thread);
            pool.reserve(width, EVENTS_PER_TURN as usize)?;
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
                // There is no branch on what an access is where that can be avoided, for it cannot be predicted. One
                // that does not read is as if it read the initial write, which knows nothing.
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
                    // Nothing precedes the chain of the initial write; that it precedes all others goes without saying.
                    let is_edge = (from != chain) & (from >= locations) & (chain >= locations);
                    edges.push([from, chain], is_edge);
                    if from == chain { place <= index } else { chain >= locations }
                });
                if !coherent {
                    return Err(Stop::Found(Found::Incoherent(EventId(at))));
                }

                if event.kind.writes() {
                    // So far this is the end of its chain, or nothing of it.
                    let end = &mut ends[chain as usize];
                    if *end != index {
                        return Err(Stop::Found(Found::SharedSource(EventId(at))));
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
                    // The read is not remembered, so its source must still be looked at.
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
        if turns.is_done(execution) { Ok(()) } else { Err(Stop::Found(Found::ThinAirCycle)) }
    }

    /// The first write of each chain, beyond those of initial writes.
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
            // As if an access before all had been passed.
            self.last.resize(locations, [0, 0]);
        }
        zeroed(&mut self.ends, locations);
        self.chains = locations;
        // What grows is copied to memory that was never touched; what is reserved and not used, costs nothing.
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
