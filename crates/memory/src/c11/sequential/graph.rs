//! The graph whose cycles are those of `psc`, for one modification order.
//!
//! A path of the graph from one sequentially consistent event to the next is one edge of `psc`. A vertex is an event in
//! a *phase*, which says how much of the definition the path has been through:
//!
//! | phase | a path is here after |
//! | --- | --- |
//! | `NODE` | whole edges of `psc` |
//! | `FROM` | `[Fsc];hb` |
//! | `START` | `[SC] u [Fsc];hb?`: here `scb` begins |
//! | `PO` | `po`, or `po!=;hb;po!=` |
//! | `OTHER`, `THROUGH` | `po!=`, and then `po!=;hb` |
//! | `ROW` | nothing: the event is an access of the same thread and location before it |
//! | `ORDER` | `mo u fr`: the write is the one that was overtaken first, or a later one of those up to the end |
//! | `END` | `scb` |
//! | `INTO` | `scb;hb` |
//! | `ECO`, `READERS`, `GOT`, `AFTER` | `[Fsc];hb;eco`, as writes of the order, all readers of a write, at its end, `hb` |
//!
//! Happens-before is made of steps to the next event of the thread and of steps through what writes carry
//! ([`Steps::next`]), so its phases have room for carriers, too. The graph has a fixed number of vertices for each
//! event, and as many edges, and besides an edge for each thread (`hb` between accesses of one location).

use history::execution::{EventId, Kind};
use order::{Cycles, Rows};

use super::steps::{NONE, Steps};

pub(super) const NODE: usize = 0;
pub(super) const START: usize = 1;
pub(super) const PO: usize = 2;
pub(super) const OTHER: usize = 3;
pub(super) const ROW: usize = 4;
pub(super) const END: usize = 5;
pub(super) const ORDER: usize = 6;
pub(super) const ECO: usize = 7;
pub(super) const READERS: usize = 8;
pub(super) const GOT: usize = 9;
/// These have room for carriers.
pub(super) const FROM: usize = 10;
pub(super) const THROUGH: usize = 12;
pub(super) const INTO: usize = 14;
pub(super) const AFTER: usize = 16;
const PHASES: usize = 18;

/// How many vertices all searches for a shortest cycle may look at, about; the first one may look at all.
const PATIENCE: usize = 1 << 20;

/// A vertex, taken apart: its phase, its event, and whether it is the carrier of that write.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Vertex {
    pub(super) phase: usize,
    pub(super) event: u32,
    pub(super) is_carrier: bool,
}

/// The edges that do not depend on the modification order, and the memory for all.
pub(super) struct Graph<'a> {
    steps: &'a Steps<'a>,
    fixed: Vec<(usize, u32)>,
    edges: Rows,
    open: Vec<u32>,
    queue: Vec<u32>,
    cycles: Cycles,
}

impl<'a> Graph<'a> {
    pub(super) fn new(steps: &'a Steps<'a>) -> Self {
        let count = steps.execution.len();
        let mut graph = Self {
            steps,
            fixed: Vec::new(),
            edges: Rows::default(),
            open: Vec::new(),
            queue: Vec::new(),
            cycles: Cycles::new(PHASES * count),
        };
        graph.add_fixed();
        graph
    }

    fn vertex(&self, phase: usize, event: u32) -> usize {
        phase * self.steps.execution.len() + event as usize
    }

    pub(super) fn apart(&self, vertex: u32) -> Vertex {
        let count = self.steps.execution.len();
        let (phase, event) = (vertex as usize / count, (vertex as usize % count) as u32);
        if phase > FROM && phase % 2 == 1 {
            return Vertex { phase: phase - 1, event, is_carrier: true };
        }
        Vertex { phase, event, is_carrier: false }
    }

    fn add(&mut self, from: (usize, u32), to: (usize, u32)) {
        self.fixed.push((self.vertex(from.0, from.1), self.vertex(to.0, to.1) as u32));
    }

    /// Happens-before in a phase; from another phase where that one begins.
    fn add_steps(&mut self, phase: usize, begin: impl Fn(u32) -> Option<usize>) {
        let count = self.steps.execution.len() as u32;
        for at in 0..2 * count {
            for &to in self.steps.next.of(at as usize) {
                self.add((phase, at), (phase, to));
                if let Some(begin) = (at < count).then(|| begin(at)).flatten() {
                    self.add((begin, at), (phase, to));
                }
            }
        }
    }

    fn add_fixed(&mut self) {
        let steps = self.steps;
        let is_fence = |at: u32| steps.is_sequential[at as usize] && steps.is_fence(at);
        let has_fences = (0..steps.execution.len() as u32).any(is_fence);
        self.add_steps(THROUGH, |_| Some(OTHER));
        if has_fences {
            self.add_steps(FROM, |at| is_fence(at).then_some(NODE));
            self.add_steps(INTO, |_| Some(END));
            self.add_steps(AFTER, |_| Some(GOT));
        }
        for at in 0..steps.execution.len() as u32 {
            let event = steps.execution.events()[at as usize];
            if steps.is_sequential[at as usize] {
                self.add((NODE, at), (START, at));
                self.add((END, at), (NODE, at));
            }
            if is_fence(at) {
                for phase in [FROM, INTO, AFTER] {
                    self.add((phase, at), (NODE, at));
                }
            }
            if has_fences {
                self.add((FROM, at), (START, at));
            }
            self.add((PO, at), (END, at));
            if steps.execution.threads().get(at as usize + 1) == Some(&steps.execution.threads()[at as usize]) {
                self.add((START, at), (PO, at + 1));
                self.add((PO, at), (PO, at + 1));
            }
            let other = steps.other[at as usize];
            if other != NONE {
                self.add((START, at), (OTHER, other));
                self.add((THROUGH, at), (PO, other));
            }
            if event.kind == Kind::Fence {
                continue;
            }
            self.add((START, at), (ROW, at));
            if steps.row[at as usize][1] != NONE {
                self.add((ROW, at), (ROW, steps.row[at as usize][1]));
            }
            for &before in steps.before.of(at as usize) {
                self.add((ROW, before), (END, at));
            }
            if event.kind.writes() {
                self.add((ORDER, at), (END, at));
                if has_fences {
                    self.add((ECO, at), (GOT, at));
                    self.add((ECO, at), (READERS, at));
                    self.add((FROM, at), (READERS, at));
                    for &reader in steps.readers.of(at as usize) {
                        self.add((READERS, at), (GOT, reader));
                    }
                }
            }
        }
    }

    /// A shortest cycle, if there is any. `after` gives the next write of the modification order, by write, and behind
    /// these the first one, by location. The list begins and ends with the same vertex in the phase `NODE`.
    pub(super) fn cycle(&mut self, after: &[u32]) -> Option<Vec<Vertex>> {
        let (steps, count) = (self.steps, self.steps.execution.len());
        let next = |at: usize| {
            let event = steps.execution.events()[at];
            if event.kind == Kind::Fence {
                return None;
            }
            let value = match event.source {
                _ if event.kind.writes() => at,
                EventId::INIT => count + event.location.index(),
                source => source.index(),
            };
            Some(after[value]).filter(|&next| next != NONE)
        };
        let of_event = |at: usize| {
            let is_write = steps.execution.events()[at].kind.writes();
            let from = [(START, ORDER), (FROM, ECO), (ORDER, ORDER), (ECO, ECO)];
            let from = from.into_iter().filter(move |&(phase, _)| is_write || matches!(phase, START | FROM));
            next(at).into_iter().flat_map(move |next| {
                from.clone().map(move |(from, to)| (from * count + at, (to * count + next as usize) as u32))
            })
        };
        let order = (0..count).flat_map(of_event);
        self.edges.fill(PHASES * count, self.fixed.iter().copied().chain(order));
        if self.is_acyclic() {
            return None;
        }
        let Self { edges, open, cycles, .. } = self;
        let mut best: Option<Vec<u32>> = None;
        let mut patience = PATIENCE / (PHASES * count) + 1;
        for node in (0..count as u32).filter(|&node| open[node as usize] > 0) {
            if let Some(cycle) = cycles.shortest(node, |at| edges.of(at as usize)) {
                if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                    best = Some(cycle);
                }
                patience -= 1;
                if patience == 0 {
                    break;
                }
            }
        }
        let best = best?;
        let first = *best.last()?;
        Some(std::iter::once(first).chain(best).map(|vertex| self.apart(vertex)).collect())
    }

    /// Whether the graph has no cycle. If it has one, the vertices of `open` that are not 0 are on cycles, or behind
    /// them.
    fn is_acyclic(&mut self) -> bool {
        let Self { edges, open, queue, .. } = self;
        let count = edges.count();
        open.clear();
        open.resize(count, 0);
        for vertex in 0..count {
            edges.of(vertex).iter().for_each(|&to| open[to as usize] += 1);
        }
        queue.clear();
        queue.extend((0..count as u32).filter(|&vertex| open[vertex as usize] == 0));
        let mut passed = 0;
        while let Some(vertex) = queue.pop() {
            passed += 1;
            for &to in edges.of(vertex as usize) {
                open[to as usize] -= 1;
                if open[to as usize] == 0 {
                    queue.push(to);
                }
            }
        }
        passed == count
    }
}
