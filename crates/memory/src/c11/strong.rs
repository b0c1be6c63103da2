//! `sra` with rmws: saturation, then search.
//!
//! `before` is the least order with `po u rf`, the edges of [`super::causal`], and, for each rmw u that reads w and each
//! other write w' of the location (RF Lemma 3.2; atomicity, and `mo` total with `hb u mo` acyclic):
//! - w' before u  implies  w' before w;
//! - w before w'  implies  u before w'.
//!
//! Every `mo` of a witness extends it, so a cycle is a violation. Only the last write of each thread before u, and the
//! first after w, need be looked at. Rounds: clocks of `before`, then the edges that they ask for, until none is new.
//!
//! What saturation leaves open is searched for (RF Theorem 1.3): events are executed one by one, each when everything
//! before it has been; a write only if its location is not waiting for the rmw that reads its last write. The state
//! of the search is the set of executed events, which is a position for each thread, so a set from which there is no
//! way on is remembered and not entered twice. A read, and a write that all remaining writes of its location must
//! come after, are executed at once: they take no way from any other event. The order of execution is the witness.

use std::time::Instant;

use history::Execution;
use history::execution::{EventId, Kind};
use rustc_hash::FxHashSet;

use super::causal::{Causal, OrderEdge};
use super::clocks::{join, width};
use super::coherence::zeroed;
use super::turns::{NOT_PASSED, Turns};
use super::{Found, Stop, Undecided, check_room};

/// Why an edge of `before` was added, and which edges were there when it was.
#[derive(Copy, Clone, Debug)]
pub(super) struct Forced {
    pub edge: OrderEdge,
    /// The edges of smaller numbers than this are what its premise may use.
    pub limit: u32,
}

/// Saturation and search of one execution.
pub(super) struct Strong<'a> {
    execution: &'a Execution,
    deadline: Option<Instant>,
    width: usize,
    /// The edges of `before` other than `po u rf`.
    pub edges: Vec<Forced>,
    /// By event, its predecessors by the edges.
    offsets: Vec<u32>,
    predecessors: Vec<u32>,
    /// By event: the clock of `before`, which counts the event itself.
    clocks: Vec<u32>,
    pub turns: Turns,
    /// The writes by location, thread and program order; and where each location begins.
    writes: Vec<u32>,
    locations: Vec<u32>,
    /// By event: the rmw that reads it, or [`NOBODY`]; then the same for the initial writes.
    updaters: Vec<u32>,
    initial_updaters: Vec<u32>,
}

const NOBODY: u32 = u32::MAX;

impl<'a> Strong<'a> {
    /// On top of a pass that found nothing.
    pub(super) fn new(execution: &'a Execution, causal: &Causal, deadline: Option<Instant>) -> Self {
        let mut locations = vec![0; execution.location_count() + 1];
        let is_write = |&(_, event): &(u32, &history::execution::Event)| event.kind.writes();
        for (_, event) in (0..).zip(execution.events()).filter(is_write) {
            locations[event.location.index() + 1] += 1;
        }
        for location in 1..locations.len() {
            locations[location] += locations[location - 1];
        }
        let mut writes = vec![0; *locations.last().unwrap_or(&0) as usize];
        let mut next = locations.clone();
        let mut updaters = vec![NOBODY; execution.len()];
        let mut initial_updaters = vec![NOBODY; execution.location_count()];
        for (id, event) in (0..).zip(execution.events()).filter(is_write) {
            writes[next[event.location.index()] as usize] = id;
            next[event.location.index()] += 1;
            if event.source == EventId::INIT {
                initial_updaters[event.location.index()] = id;
            } else if event.source.is_event() {
                updaters[event.source.index()] = id;
            }
        }
        Self {
            execution,
            deadline,
            width: width(execution.thread_count()),
            edges: causal.edges.iter().map(|&edge| Forced { edge, limit: 0 }).collect(),
            offsets: Vec::new(),
            predecessors: Vec::new(),
            clocks: Vec::new(),
            turns: Turns::default(),
            writes,
            locations,
            updaters,
            initial_updaters,
        }
    }

    /// The writes of a thread on a location.
    fn writes_of(&self, location: usize, thread: usize) -> &[u32] {
        let all = &self.writes[self.locations[location] as usize..self.locations[location + 1] as usize];
        let [begin, end] = [0, 1].map(|add| {
            let start = self.execution.starts()[thread + add];
            all.partition_point(|&write| write < start)
        });
        &all[begin..end]
    }

    fn thread(&self, event: u32) -> usize {
        self.execution.thread(EventId(event)).index()
    }

    /// Whether `a` is before `b`, or `b` itself.
    fn is_before(&self, a: u32, b: u32) -> bool {
        let thread = self.thread(a);
        self.clocks[b as usize * self.width + thread] > a - self.execution.starts()[thread]
    }

    /// Adds edges until no rule asks for one that is new.
    pub(super) fn saturate(&mut self) -> Result<(), Stop> {
        loop {
            self.compute_clocks()?;
            let limit = self.edges.len() as u32;
            for at in 0..self.execution.len() as u32 {
                if self.execution.events()[at as usize].kind == Kind::Rmw {
                    self.apply_rules(at, limit)?;
                }
            }
            if self.edges.len() as u32 == limit {
                return Ok(());
            }
            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(Stop::Undecided(Undecided::OutOfTime));
            }
        }
    }

    /// Both rules for one rmw.
    fn apply_rules(&mut self, rmw: u32, limit: u32) -> Result<(), Stop> {
        let event = self.execution.events()[rmw as usize];
        let source = event.source;
        for thread in 0..self.execution.thread_count() {
            let start = self.execution.starts()[thread];
            let writes = self.writes_of(event.location.index(), thread);
            let known = self.clocks[rmw as usize * self.width + thread];
            let before = writes.partition_point(|&write| write - start < known);
            let last = writes[..before].iter().rev().copied().find(|&write| write != rmw);
            let after =
                if source.is_event() { writes.partition_point(|&write| !self.is_before(source.0, write)) } else { 0 };
            let first = writes[after..].iter().copied().find(|&write| write != rmw && write != source.0);
            if let Some(last) = last.filter(|&last| last != source.0) {
                if !source.is_event() {
                    return Err(Stop::Found(Found::UpdateOfInit { write: EventId(last), rmw: EventId(rmw) }));
                }
                if !self.is_before(last, source.0) {
                    self.edges.push(Forced { edge: OrderEdge { from: last, to: source.0, by: rmw }, limit });
                }
            }
            if let Some(first) = first.filter(|&first| !self.is_before(rmw, first)) {
                self.edges.push(Forced { edge: OrderEdge { from: rmw, to: first, by: rmw }, limit });
            }
        }
        Ok(())
    }

    fn index_edges(&mut self) {
        zeroed(&mut self.offsets, self.execution.len() + 1);
        for Forced { edge, .. } in &self.edges {
            self.offsets[edge.to as usize] += 1;
        }
        let mut total = 0;
        for offset in &mut self.offsets {
            total += *offset;
            *offset = total;
        }
        zeroed(&mut self.predecessors, self.edges.len());
        for Forced { edge, .. } in &self.edges {
            let offset = &mut self.offsets[edge.to as usize];
            *offset -= 1;
            self.predecessors[*offset as usize] = edge.from;
        }
    }

    /// What an event must come after by the edges.
    fn predecessors(&self, event: u32) -> &[u32] {
        &self.predecessors[self.offsets[event as usize] as usize..self.offsets[event as usize + 1] as usize]
    }

    /// Something that an event must wait for: its source or a predecessor that was not passed.
    pub(super) fn wait_of(&self, at: u32) -> Option<u32> {
        let source = self.execution.events()[at as usize].source;
        let open = |event: &u32| self.turns.marks[*event as usize] & NOT_PASSED != 0;
        Some(source.0)
            .filter(|_| source.is_event())
            .filter(open)
            .or_else(|| self.predecessors(at).iter().copied().find(open))
    }

    fn compute_clocks(&mut self) -> Result<(), Stop> {
        self.index_edges();
        let width = self.width;
        check_room(self.execution.len().saturating_mul(width))?;
        zeroed(&mut self.clocks, self.execution.len() * width);
        self.turns.start(self.execution);
        let mut clock = vec![0; width];
        while let Some(turn) = self.turns.next(self.execution, self.deadline)? {
            let begin = self.execution.starts()[turn.thread];
            let mut at = turn.at;
            let blocked = loop {
                if at == turn.end {
                    break false;
                }
                if let Some(needed) = self.wait_of(at) {
                    self.turns.wait(turn.thread, at, needed);
                    break true;
                }
                clock.fill(0);
                if at > begin {
                    join(&mut clock, &self.clocks[(at as usize - 1) * width..][..width]);
                }
                let source = self.execution.events()[at as usize].source;
                let sources = Some(source.0).filter(|_| source.is_event());
                for from in self.predecessors(at).iter().copied().chain(sources) {
                    join(&mut clock, &self.clocks[from as usize * width..][..width]);
                }
                clock[turn.thread] = at - begin + 1;
                self.clocks[at as usize * width..][..width].copy_from_slice(&clock);
                self.turns.pass(at, 0);
                at += 1;
            };
            if !blocked {
                self.turns.finish(self.execution, turn.thread, at);
            }
        }
        if self.turns.is_done(self.execution) { Ok(()) } else { Err(Stop::Found(Found::StoreCycle)) }
    }

    /// An order of all writes that is a witness, if there is one. After [`Self::saturate`].
    pub(super) fn search(&self) -> Result<Option<Vec<u32>>, Stop> {
        let threads = self.execution.thread_count();
        let mut state = State {
            next: self.execution.starts()[..threads].to_vec(),
            awaited: self.initial_updaters.clone(),
            trail: Vec::new(),
        };
        let mut dead: FxHashSet<Box<[u32]>> = FxHashSet::default();
        // For each choice that was made: how long the trail was, and which threads were not tried yet.
        let mut choices: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut steps = 0u32;
        loop {
            self.run_ahead(&mut state);
            if state.next.iter().zip(&self.execution.starts()[1..]).all(|(next, end)| next == end) {
                let writes =
                    |&(event, _): &(u32, u32)| self.execution.events()[event as usize].kind.writes().then_some(event);
                return Ok(Some(state.trail.iter().filter_map(writes).collect()));
            }
            if !dead.contains(&state.next[..]) {
                let open = (0..threads).rev().filter(|&thread| self.is_executable(&state, thread)).collect();
                choices.push((state.trail.len(), open));
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1024) {
                if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                    return Err(Stop::Undecided(Undecided::OutOfTime));
                }
                check_room(dead.len().saturating_mul(threads + 8))?;
            }
            loop {
                let Some((length, open)) = choices.last_mut() else {
                    return Ok(None);
                };
                self.undo(&mut state, *length);
                if let Some(thread) = open.pop() {
                    self.execute(&mut state, thread);
                    break;
                }
                dead.insert(state.next.clone().into_boxed_slice());
                choices.pop();
            }
        }
    }

    fn is_executed(&self, state: &State, event: u32) -> bool {
        event < state.next[self.thread(event)]
    }

    /// Whether the next event of a thread may be executed.
    fn is_executable(&self, state: &State, thread: usize) -> bool {
        let at = state.next[thread];
        if at == self.execution.starts()[thread + 1] {
            return false;
        }
        let event = self.execution.events()[at as usize];
        let ready = !event.source.is_event() || self.is_executed(state, event.source.0);
        ready
            && (!event.kind.writes() || {
                let awaited = state.awaited[event.location.index()];
                (awaited == NOBODY || awaited == at)
                    && self.predecessors(at).iter().all(|&event| self.is_executed(state, event))
            })
    }

    /// Whether executing the next event of a thread, which is executable, takes no way from any other.
    fn is_harmless(&self, state: &State, thread: usize) -> bool {
        let at = state.next[thread];
        let event = self.execution.events()[at as usize];
        !event.kind.writes()
            || state.awaited[event.location.index()] == at
            || (0..self.execution.thread_count()).filter(|&other| other != thread).all(|other| {
                let writes = self.writes_of(event.location.index(), other);
                let next = writes.partition_point(|&write| write < state.next[other]);
                writes.get(next).is_none_or(|&write| self.is_before(at, write))
            })
    }

    fn run_ahead(&self, state: &mut State) {
        loop {
            let before = state.trail.len();
            for thread in 0..state.next.len() {
                while self.is_executable(state, thread) && self.is_harmless(state, thread) {
                    self.execute(state, thread);
                }
            }
            if state.trail.len() == before {
                return;
            }
        }
    }

    fn execute(&self, state: &mut State, thread: usize) {
        let at = state.next[thread];
        let event = self.execution.events()[at as usize];
        state.next[thread] += 1;
        let mut awaited = NOBODY;
        if event.kind.writes() {
            awaited = std::mem::replace(&mut state.awaited[event.location.index()], self.updaters[at as usize]);
        }
        state.trail.push((at, awaited));
    }

    fn undo(&self, state: &mut State, length: usize) {
        for (at, awaited) in state.trail.drain(length..).rev() {
            let event = self.execution.events()[at as usize];
            state.next[self.thread(at)] = at;
            if event.kind.writes() {
                state.awaited[event.location.index()] = awaited;
            }
        }
    }
}

/// What was executed.
struct State {
    /// The next event of each thread.
    next: Vec<u32>,
    /// By location: the rmw that must be its next write, or [`NOBODY`].
    awaited: Vec<u32>,
    /// The executed events, each with what its location awaited before.
    trail: Vec<(u32, u32)>,
}
