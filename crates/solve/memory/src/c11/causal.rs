//! `wra`, and the base of `sra`: one pass with `hb = (po u rf)+`.
//!
//! In `wra`, a read of w must not know of a write w' of the location that knows of w. In `sra`, every other write w' of
//! the location that the read knows of is before w in modification order (RF, Corollary 4.2 and Algorithm 2). Only the
//! last write of each thread that happens before the read has to be looked at, and only if it does not happen before w.
//!
//! For `sra`, each such pair of writes is an edge. Without rmws the execution is allowed if `po u rf` and these edges
//! are acyclic (RF Lemma 4.3), and then any topological order, restricted to the writes, is a witness.

use history::Execution;
use history::execution::{EventId, Kind};
use model::Budget;
use order::Entries;

use super::clocks::{join, width};
use super::coherence::{OWN, zeroed};
use super::po_rf_pass::{NOT_PASSED, PoRfPass};
use super::rows::AccessRows;
use super::{Ended, Found, check_count, check_room};

/// `from` is before `to` in every modification order, because `by` reads `to` and knows of `from`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct OrderEdge {
    pub from: u32,
    pub to: u32,
    pub by: u32,
}

/// The memory of the pass.
#[derive(Debug, Default)]
pub(super) struct Causal {
    /// The mark of a write is its number, in the order of the pass, from one.
    pub turns: PoRfPass,
    rows: AccessRows,
    /// By thread: the clock of what happens before its next event. The lane of the thread itself is [`OWN`].
    current: Vec<u32>,
    /// The clocks of the writes, by number. Clock 0 is that of the initial writes.
    clocks: Vec<u32>,
    /// By number, the event of a write.
    pub writes: Vec<u32>,
    /// Whether some rmw reads the write of that number. Behind these, the same for the initial writes, by location.
    updated: Vec<bool>,
    initial_updated: Vec<bool>,
    pub edges: Vec<OrderEdge>,
    /// Whether some edge leads to a write that was passed earlier.
    pub backward: bool,
    /// Whether there are rmws.
    pub rmws: bool,
    /// The predecessors of each write by the edges, while an order is looked for.
    predecessors: order::Rows,
    /// By write: where the first of its predecessors is that may not have been passed.
    nexts: Vec<u32>,
}

impl Causal {
    /// The pass; with `EDGES` it collects the edges of `sra`.
    pub(super) fn pass<const EDGES: bool>(&mut self, execution: &Execution, budget: &Budget) -> Result<(), Ended> {
        let width = width(execution.thread_count());
        check_count(execution)?;
        check_room(budget, width * execution.thread_count())?;
        self.start(execution, width);
        let Self { turns, rows, current, clocks, writes, updated, initial_updated, edges, backward, rmws, .. } = self;
        let events = execution.events();
        while let Some(turn) = turns.next(execution, budget)? {
            let thread = turn.thread;
            let begin = execution.starts()[thread];
            let clock = &mut current[thread * width..(thread + 1) * width];
            let mut at = turn.at;
            let blocked = loop {
                if at == turn.end {
                    break false;
                }
                let event = events[at as usize];
                if event.kind == Kind::Fence {
                    at += 1;
                    continue;
                }
                let location = event.location.index();
                let position = at - begin + 1;
                if event.kind.reads() {
                    let mut number = 0;
                    if event.source.is_event() {
                        number = turns.marks[event.source.index()];
                        if number & NOT_PASSED != 0 {
                            turns.wait(thread, at, event.source.0);
                            break true;
                        }
                    }
                    let source = &clocks[number as usize * width..][..width];
                    join(clock, source);
                    let read = EventId(at);
                    let mut last = read;
                    let allowed = rows.visit(Entries(width), location, clock, [source, source], 0, |[found, write]| {
                        last = EventId(write);
                        if number == 0 {
                            return false;
                        }
                        let writer = execution.thread(event.source).index();
                        let known = clocks[found as usize * width + writer];
                        if known > event.source.0 - execution.starts()[writer] {
                            return false;
                        }
                        if EDGES {
                            *backward |= found > number;
                            edges.push(OrderEdge { from: write, to: event.source.0, by: at });
                        }
                        true
                    });
                    if !allowed {
                        return Err(Ended::Found(Found::Overwritten { read, write: last }));
                    }
                    if event.kind == Kind::Rmw {
                        *rmws = true;
                        let updated =
                            if number == 0 { &mut initial_updated[location] } else { &mut updated[number as usize] };
                        if std::mem::replace(updated, true) {
                            return Err(Ended::Found(Found::SharedSource(read)));
                        }
                    }
                }
                if event.kind.writes() {
                    let number = writes.len() as u32;
                    writes.push(at);
                    updated.push(false);
                    if clocks.len() + width > clocks.capacity() {
                        check_room(budget, 2 * clocks.len())?;
                    }
                    clocks.extend_from_slice(clock);
                    clocks[number as usize * width + thread] = position;
                    turns.pass(at, number);
                    rows.pass(rows.entry(location, thread), at, position, [number, at]);
                }
                at += 1;
            };
            if !blocked {
                turns.finish(execution, thread, at);
            }
        }
        if turns.is_done(execution) { Ok(()) } else { Err(Ended::Found(Found::ThinAirCycle)) }
    }

    fn start(&mut self, execution: &Execution, width: usize) {
        self.turns.start(execution);
        self.rows.lay_out(execution, width, Kind::writes);
        zeroed(&mut self.current, execution.thread_count() * width);
        for thread in 0..execution.thread_count() {
            self.current[thread * width + thread] = OWN;
        }
        zeroed(&mut self.clocks, width);
        self.writes.clear();
        self.writes.push(EventId::INIT.0);
        self.updated.clear();
        self.updated.push(false);
        self.initial_updated.clear();
        self.initial_updated.resize(execution.location_count(), false);
        self.edges.clear();
        self.backward = false;
        self.rmws = false;
    }

    /// Whether `po u rf` and the edges have an order; the writes are then in `writes` in such an order.
    pub(super) fn order(&mut self, execution: &Execution, budget: &Budget) -> Result<(), Ended> {
        if !self.backward {
            return Ok(());
        }
        let Self { turns, writes, edges, predecessors, nexts, .. } = self;
        predecessors.fill(execution.len(), edges.iter().rev().map(|edge| (edge.to as usize, edge.from)));
        let (starts, predecessors) = (predecessors.starts(), predecessors.items());
        nexts.clear();
        nexts.extend_from_slice(starts);
        turns.start(execution);
        writes.truncate(1);
        while let Some(turn) = turns.next(execution, budget)? {
            let mut at = turn.at;
            let blocked = loop {
                if at == turn.end {
                    break false;
                }
                let event = execution.events()[at as usize];
                if event.source.is_event() && turns.marks[event.source.index()] & NOT_PASSED != 0 {
                    turns.wait(turn.thread, at, event.source.0);
                    break true;
                }
                if event.kind.writes() {
                    // Predecessors that were passed need not be looked at again.
                    let (next, end) = (&mut nexts[at as usize], starts[at as usize + 1]);
                    while *next < end && turns.marks[predecessors[*next as usize] as usize] & NOT_PASSED == 0 {
                        *next += 1;
                    }
                    if *next < end {
                        turns.wait(turn.thread, at, predecessors[*next as usize]);
                        break true;
                    }
                    turns.pass(at, writes.len() as u32);
                    writes.push(at);
                }
                at += 1;
            };
            if !blocked {
                turns.finish(execution, turn.thread, at);
            }
        }
        if turns.is_done(execution) { Ok(()) } else { Err(Ended::Found(Found::StoreCycle)) }
    }
}
