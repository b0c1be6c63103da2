//! The algorithms of RF, and those for `ra` and `rc20` that it compares with. The engine is measured against them, and
//! they are a second opinion in its tests.
//!
//! RF's own, offline: [`printed`] has Algorithms 1 to 4.
//!
//! What RF compares with, offline, as model checkers use them:
//! - [`writes_before`]: the cubic construction of a *writes-before* order (Lahav and Vafeiadis 2015), which TruSt uses.
//!   Happens-before is given by clocks; for each location, the writes have a matrix of bits that is closed by
//!   Warshall's algorithm. The rules of atomicity are repeated until they add nothing.
//! - [`closed_order`]: a modification order over all writes that is kept transitively closed, event by event.
//!
//! Online, as testers use them, for `ra` only:
//! - [`Algorithm5`]: RF's, as printed, with the corrections that it needs;
//! - [`MoGraph`]: C11Tester's graph of modification order, with a clock for each write.

mod algorithm5;
mod mo_graph;
pub mod printed;

use history::execution::{EventId, Kind};
use history::{Execution, MemoryOrder};
use model::Model;

pub use algorithm5::Algorithm5;
pub use mo_graph::MoGraph;

/// An algorithm that gets an execution event by event, in an order in which each event comes after the write that it
/// reads.
pub trait Online {
    /// Appends a read, write or rmw to its thread. `source` is the name of the write that it reads; `None` is the
    /// initial one. The answer is the name of the event if it writes, or [`Refused`] if `ra` does not allow it. Then
    /// nothing has changed.
    fn push(&mut self, thread: u32, kind: Kind, location: u32, source: Option<u32>) -> Result<Option<u32>, Refused>;
}

/// An event that the model does not allow.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Refused;

/// A relation over `0..size` as rows of bits.
#[derive(Clone, PartialEq, Eq)]
struct Matrix {
    size: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Matrix {
    fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Self { size, words, bits: vec![0; size * words] }
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Adds a pair. The answer is whether it was new.
    fn add(&mut self, from: usize, to: usize) -> bool {
        let word = &mut self.bits[from * self.words + to / 64];
        let before = *word;
        *word |= 1 << (to % 64);
        *word != before
    }

    /// Adds that `from` precedes everything that `to` precedes.
    fn add_row(&mut self, from: usize, to: usize) {
        for word in 0..self.words {
            self.bits[from * self.words + word] |= self.bits[to * self.words + word];
        }
    }

    fn close(&mut self) {
        for via in 0..self.size {
            for from in 0..self.size {
                if self.has(from, via) {
                    self.add_row(from, via);
                }
            }
        }
    }

    fn is_irreflexive(&self) -> bool {
        (0..self.size).all(|at| !self.has(at, at))
    }
}

/// By event: how many events of each thread happen before it, itself included. Under `ra` every access synchronizes;
/// under `rc20` those do whose orders say so.
fn happens_before(execution: &Execution, model: Model, order: &[EventId]) -> Vec<u32> {
    let threads = execution.thread_count();
    let is_ra = model == Model::Ra;
    let join = |into: &mut [u32], from: &[u32]| {
        into.iter_mut().zip(from).for_each(|(lane, &count)| *lane = (*lane).max(count));
    };
    let mut clocks = vec![0; execution.len() * threads];
    // By event: what a read of it may learn.
    let mut messages = vec![0; execution.len() * threads];
    let [mut current, mut pending, mut published] = [(); 3].map(|()| vec![vec![0_u32; threads]; threads]);
    for &id in order {
        let (at, thread, event) = (id.index(), execution.thread(id).index(), execution.event(id));
        let (acquires, releases) = match event.order {
            _ if is_ra => (event.kind.reads(), event.kind.writes()),
            MemoryOrder::Plain => (event.kind == Kind::Fence, event.kind == Kind::Fence),
            MemoryOrder::Relaxed => (false, false),
            MemoryOrder::Acquire => (true, false),
            MemoryOrder::Release => (false, true),
            MemoryOrder::AcquireRelease | MemoryOrder::SequentiallyConsistent => (true, true),
        };
        let mut clock = std::mem::take(&mut current[thread]);
        clock[thread] = execution.position(id) + 1;
        let learnt: Vec<u32> = match event.source {
            source if source.is_event() => messages[source.index() * threads..(source.index() + 1) * threads].to_vec(),
            _ => vec![0; threads],
        };
        match event.kind {
            Kind::Fence => {
                if acquires {
                    join(&mut clock, &pending[thread]);
                }
                if releases {
                    published[thread].clone_from(&clock);
                }
            }
            _ if acquires => join(&mut clock, &learnt),
            _ => join(&mut pending[thread], &learnt),
        }
        if event.kind.writes() {
            let message = &mut messages[at * threads..(at + 1) * threads];
            message.copy_from_slice(if releases { &clock } else { &published[thread] });
            join(message, &learnt);
        }
        clocks[at * threads..(at + 1) * threads].copy_from_slice(&clock);
        current[thread] = clock;
    }
    clocks
}

/// Whether the model, `ra` or `rc20`, allows an execution without thin-air reads, by the cubic construction.
pub fn writes_before(execution: &Execution, model: Model) -> bool {
    let Some(order) = order_of_execution(execution) else { return false };
    let threads = execution.thread_count();
    let clocks = happens_before(execution, model, &order);
    let mut accesses: Vec<Vec<EventId>> = vec![Vec::new(); execution.location_count()];
    for id in execution.ids().filter(|&id| execution.event(id).kind != Kind::Fence) {
        accesses[execution.event(id).location.index()].push(id);
    }
    // By event: its number among the writes of its location. The initial write has number zero.
    let mut numbers = vec![0; execution.len()];
    accesses.iter().all(|accesses| {
        let mut size = 1;
        for &id in accesses.iter().filter(|&&id| execution.event(id).kind.writes()) {
            numbers[id.index()] = size;
            size += 1;
        }
        let node = |source: EventId| if source.is_event() { numbers[source.index()] } else { 0 };
        let mut wb = Matrix::new(size);
        for write in 1..size {
            wb.add(0, write);
        }
        // For each rmw: its source and itself.
        let mut rmws = Vec::new();
        for &to in accesses {
            let event = execution.event(to);
            if event.kind == Kind::Rmw {
                wb.add(node(event.source), node(to));
                rmws.push((node(event.source), node(to)));
            }
            let targets = [event.kind.reads().then(|| node(event.source)), event.kind.writes().then(|| node(to))];
            for &from in accesses.iter().filter(|&&from| from != to) {
                let known = clocks[to.index() * threads + execution.thread(from).index()];
                if execution.position(from) < known {
                    let before = execution.event(from);
                    let value = if before.kind.writes() { node(from) } else { node(before.source) };
                    for target in targets.into_iter().flatten().filter(|&target| target != value) {
                        wb.add(value, target);
                    }
                }
            }
        }
        loop {
            wb.close();
            let mut new = false;
            for &(source, rmw) in &rmws {
                for other in (0..size).filter(|&other| other != rmw && other != source) {
                    new |= wb.has(other, rmw) && wb.add(other, source);
                    new |= wb.has(source, other) && wb.add(rmw, other);
                }
            }
            if !new {
                break;
            }
        }
        rmws.sort_unstable();
        wb.is_irreflexive() && rmws.windows(2).all(|pair| pair[0].0 != pair[1].0)
    })
}

/// Whether the model, `ra` or `rc20`, allows an execution without thin-air reads, by an order that is kept transitively
/// closed.
pub fn closed_order(execution: &Execution, model: Model) -> bool {
    let Some(order) = order_of_execution(execution) else { return false };
    let events = execution.len();
    let size = events + execution.location_count();
    let threads = execution.thread_count();
    let node = |at: usize| match execution.events()[at].source {
        EventId::INIT => events + execution.events()[at].location.index(),
        source => source.index(),
    };
    let clocks = happens_before(execution, model, &order);
    let mut mo = Matrix::new(size);
    // By location and thread: the accesses so far.
    let mut accesses: Vec<Vec<EventId>> = vec![Vec::new(); execution.location_count() * threads];
    let mut updated = vec![false; size];
    // An rmw stands right after the write that it reads.
    let add = |mo: &mut Matrix, from: usize, to: usize| {
        if from == to || mo.has(from, to) {
            return true;
        }
        if mo.has(to, from) {
            return false;
        }
        for before in 0..size {
            if before == from || mo.has(before, from) {
                mo.add(before, to);
                mo.add_row(before, to);
            }
        }
        true
    };
    for id in order {
        let (at, thread) = (id.index(), execution.thread(id).index());
        let event = execution.event(id);
        if event.kind == Kind::Fence {
            continue;
        }
        let clock = &clocks[at * threads..(at + 1) * threads];
        let target = if event.kind.reads() { node(at) } else { at };
        let top = |write: usize| {
            let mut write = write;
            while write < events && execution.events()[write].kind == Kind::Rmw {
                write = node(write);
            }
            write
        };
        let init = events + event.location.index();
        for other in 0..threads {
            let list = &accesses[event.location.index() * threads + other];
            let known = list.partition_point(|&before| execution.position(before) < clock[other]);
            let Some(&before) = list[..known].last() else { continue };
            let value = if execution.event(before).kind.writes() { before.index() } else { node(before.index()) };
            let ordered = if top(value) == top(target) {
                value == target || !mo.has(target, value)
            } else {
                top(target) != init && add(&mut mo, value, top(target)) && !mo.has(target, value)
            };
            if !ordered {
                return false;
            }
        }
        if event.kind == Kind::Rmw {
            if std::mem::replace(&mut updated[target], true) || !add(&mut mo, target, at) {
                return false;
            }
            // Every write that comes after the source comes after the rmw.
            for other in (0..size).filter(|&other| other != at) {
                if mo.has(target, other) && !add(&mut mo, at, other) {
                    return false;
                }
            }
        } else if event.kind == Kind::Write && !add(&mut mo, init, at) {
            return false;
        }
        accesses[event.location.index() * threads + thread].push(id);
    }
    // Chains are ordered as wholes: a write that precedes or follows one write of a chain precedes or follows all of
    // them.
    loop {
        let before = mo.clone();
        for rmw in execution.ids().filter(|&id| execution.event(id).kind == Kind::Rmw).map(EventId::index) {
            let source = node(rmw);
            for other in (0..size).filter(|&other| other != rmw && other != source) {
                if mo.has(source, other) && !add(&mut mo, rmw, other)
                    || mo.has(other, rmw) && !add(&mut mo, other, source)
                {
                    return false;
                }
            }
        }
        if mo == before {
            break;
        }
    }
    mo.is_irreflexive()
}

/// The events in an order of `po u rf`, if there is one.
fn order_of_execution(execution: &Execution) -> Option<Vec<EventId>> {
    let mut next = execution.starts()[..execution.thread_count()].to_vec();
    let mut order = Vec::with_capacity(execution.len());
    loop {
        let before = order.len();
        for thread in 0..next.len() {
            while next[thread] < execution.starts()[thread + 1] {
                let source = execution.events()[next[thread] as usize].source;
                if source.is_event() && source.0 >= next[execution.thread(source).index()] {
                    break;
                }
                order.push(EventId(next[thread]));
                next[thread] += 1;
            }
        }
        if order.len() == before {
            return (order.len() == execution.len()).then_some(order);
        }
    }
}
