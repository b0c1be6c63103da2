//! probe
#![allow(missing_docs, clippy::all, clippy::pedantic)]
use std::time::Instant;
use history::Execution;
use order::saturation::*;
use super::rules::*;
use super::interleaving::*;

pub fn probe(execution: &Execution) {
    let t0 = Instant::now();
    let events = execution.events();
    let source = |e: u32| { let s = events[e as usize].source; if s.is_event() { s.0 } else { NONE } };
    let mut order = Saturation::new(execution.starts(), source);
    let mut rules = StoreRules::new(execution, &order);
    let t1 = Instant::now();
    let mut inter = Interleaving::new(execution);
    let mut forced = 0; let fifo = std::cell::Cell::new(0u64);
    loop {
        let e = match inter.advance(|e, gone| { let s = source(e); if s != NONE && !gone.contains(s) { Some(s) } else { None } }, |_w| { fifo.set(fifo.get()+1); fifo.get() }) {
            Some(e) => e, None => match inter.force() { Some(e) => { forced += 1; e}, None => break } };
        if let Err(c) = order.enter(e, source(e), &mut rules) { println!("{c:?} after {:?} edges {}", t1.elapsed(), order.edge_count()); return; }
        inter.go(e);
    }
    let t2 = Instant::now();
    println!("setup {:?} saturate {:?} forced {forced} edges {} joins {}", t1-t0, t2-t1, order.edge_count(), order.joins);
    if !inter.is_complete() { println!("stuck"); return }
    order.record();
    let j0 = order.joins; let mut lens = [0; 16];
    let (mut decisions, mut refused, mut dead, mut deadlocks, mut rewinds, mut rewound) = (0, 0, 0, 0, 0, 0);
    let mut inter = Interleaving::new(execution);
    loop {
        let e = inter.advance(|e, gone| {
            let s = source(e); if s != NONE && !gone.contains(s) { return Some(s) }
            order.edges_in(e).map(|n| order.edge(n).from).find(|&p| !gone.contains(p))
        }, |w| order.base_successors(w).iter().map(|&r| order.clock(r).iter().map(|&c| u64::from(c)).sum::<u64>()).max().unwrap_or(0));
        if let Some(e) = e { inter.go(e); continue; }
        if inter.is_complete() { break; }
        deadlocks += 1;
        let waiters: Vec<(u32,u32)> = (0..execution.thread_count()).filter(|&t| inter.next()[t] < execution.starts()[t+1]).map(|t| inter.next()[t])
            .filter(|&e| events[e as usize].kind.writes() && { let s = source(e); s == NONE || inter.gone().contains(s) })
            .filter(|&w| !order.edges_in(w).any(|n| !inter.gone().contains(order.edge(n).from)))
            .map(|w| (inter.current(events[w as usize].location.index()), w)).collect();
        let waits = |i: usize, j: usize| order.base_successors(waiters[i].0).iter().any(|&r| !inter.gone().contains(r) && order.before(waiters[j].1, r));
        let m = waiters.len();
        let mut best: Vec<usize> = Vec::new();
        for i in 0..m {
            // shortest cycle through i
            let mut from = vec![usize::MAX; m]; let mut q = std::collections::VecDeque::from([i]);
            'bfs: while let Some(a) = q.pop_front() { for b in 0..m { if a != b && from[b] == usize::MAX && waits(a, b) { from[b] = a; if b == i { break 'bfs; } q.push_back(b); } } }
            if from[i] != usize::MAX { let mut c = vec![i]; let mut at = from[i]; while at != i { c.push(at); at = from[at]; } if best.is_empty() || c.len() < best.len() { best = c; } }
            if best.len() == 2 { break; }
        }
        lens[best.len().min(15)] += 1;
        let mut done = false;
        for at in best {
            let (c, w) = waiters[at];
            if order.before(c, w) { continue; }
            let mark = order.mark();
            let before = order.edge_count();
            decisions += 1;
            if order.insert(Derived { from: c, to: w, reason: DECIDED }, &mut rules).is_err() {
                order.undo(mark);
                refused += 1;
                if order.insert(Derived { from: w, to: c, reason: REFUTED }, &mut rules).is_err() { dead += 1; order.undo(mark); println!("dead at decision {decisions} {dead}"); return; }
            }
            let l0 = inter.line().len();
            for n in before..order.edge_count() {
                let edge = order.edge(n as u32);
                if inter.gone().contains(edge.to) && !inter.gone().contains(edge.from) { inter.rewind(edge.to); done = true; }
            }
            if done { rewinds += 1; rewound += l0 - inter.line().len(); break; }
        }
        assert!(done);
        inter.reset();
    }
    let t4 = Instant::now();
    println!("search {:?} deadlocks {deadlocks} decisions {decisions} refused {refused} dead {dead} rewinds {rewinds} rewound {rewound} joins {}", t4-t2, order.joins - j0);
    println!("{lens:?}"); println!("total {:?}", t4 - t0);
}
