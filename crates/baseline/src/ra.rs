//! Two algorithms for `ra` that are older than RF. The engine is measured against them, and they are a second opinion
//! in its tests.
//!
//! - [`writes_before`]: the cubic construction of a *writes-before* order over all writes (Lahav and Vafeiadis 2015),
//!   as model checkers used it. Relations are matrices of bits, closed by Warshall's algorithm. The rules of atomicity
//!   are repeated until they add nothing.
//! - [`closed_order`]: a modification order that is kept transitively closed, event by event, as online testers have
//!   it.

use history::Execution;
use history::execution::{EventId, Kind};

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

/// Whether `ra` allows an execution without thin-air reads, by the cubic construction.
pub fn writes_before(execution: &Execution) -> bool {
    let events = execution.len();
    // The initial writes come after the events.
    let size = events + execution.location_count();
    let node = |at: usize| match execution.events()[at].source {
        EventId::INIT => events + execution.events()[at].location.index(),
        source => source.index(),
    };
    let location = |at: usize| if at < events { execution.events()[at].location.0 } else { (at - events) as u32 };
    let writes = |at: usize| at >= events || execution.events()[at].kind.writes();
    let mut hb = Matrix::new(size);
    for id in execution.ids() {
        if execution.position(id) > 0 {
            hb.add(id.index() - 1, id.index());
        }
        for init in events..size {
            hb.add(init, id.index());
        }
        if execution.event(id).kind.reads() {
            hb.add(node(id.index()), id.index());
        }
    }
    hb.close();
    if !hb.is_irreflexive() {
        return false;
    }
    let mut wb = Matrix::new(size);
    for from in (0..size).filter(|&at| writes(at)) {
        for to in (0..events).filter(|&to| to != from && hb.has(from, to) && location(to) == location(from)) {
            let event = execution.events()[to];
            if event.kind.writes() {
                wb.add(from, to);
            }
            if event.kind.reads() && node(to) != from {
                wb.add(from, node(to));
            }
        }
    }
    loop {
        wb.close();
        let mut new = false;
        for rmw in (0..events).filter(|&at| execution.events()[at].kind == Kind::Rmw) {
            let source = node(rmw);
            for other in (0..size).filter(|&other| other != rmw && other != source) {
                if writes(other) && location(other) == location(rmw) {
                    new |= wb.has(other, rmw) && wb.add(other, source);
                    new |= wb.has(source, other) && wb.add(rmw, other);
                }
            }
        }
        if !new {
            break;
        }
    }
    let shared = |a: usize, b: usize| a != b && node(a) == node(b);
    let rmws: Vec<usize> = (0..events).filter(|&at| execution.events()[at].kind == Kind::Rmw).collect();
    wb.is_irreflexive() && !rmws.iter().any(|&a| rmws.iter().any(|&b| shared(a, b)))
}

/// Whether `ra` allows an execution without thin-air reads, by an order that is kept transitively closed.
pub fn closed_order(execution: &Execution) -> bool {
    let Some(order) = order_of_execution(execution) else { return false };
    let events = execution.len();
    let size = events + execution.location_count();
    let threads = execution.thread_count();
    let node = |at: usize| match execution.events()[at].source {
        EventId::INIT => events + execution.events()[at].location.index(),
        source => source.index(),
    };
    let mut clocks = vec![0u32; events * threads];
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
        let mut clock = vec![0; threads];
        let mut join = |other: usize| {
            for (lane, &count) in clock.iter_mut().zip(&clocks[other * threads..(other + 1) * threads]) {
                *lane = u32::max(*lane, count);
            }
        };
        if execution.position(id) > 0 {
            join(at - 1);
        }
        if event.source.is_event() {
            join(event.source.index());
        }
        if event.kind == Kind::Fence {
            clock[thread] = execution.position(id) + 1;
            clocks[at * threads..(at + 1) * threads].copy_from_slice(&clock);
            continue;
        }
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
        clock[thread] = execution.position(id) + 1;
        clocks[at * threads..(at + 1) * threads].copy_from_slice(&clock);
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
