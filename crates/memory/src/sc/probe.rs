//! probe
#![allow(missing_docs, clippy::all, clippy::pedantic)]
use std::time::Instant;
use history::Execution;
use order::saturation::*;
use super::rules::*;
use super::schedule::*;

pub fn probe(execution: &Execution) {
    let t0 = Instant::now();
    let events = execution.events();
    let source = |e: u32| { let s = events[e as usize].source; if s.is_event() { s.0 } else { NONE } };
    let mut order = Saturation::new(execution.starts(), source);
    let mut rules = StoreRules::new(execution, &order);
    let t1 = Instant::now();
    let end = schedule(execution, |e, gone| { let s = source(e); if s != NONE && !gone.contains(s) { Some(s) } else { None } },
        |e| order.enter(e, source(e), &mut rules));
    let t2 = Instant::now();
    println!("setup {:?} saturate {:?} end {:?} edges {} joins {}", t1-t0, t2-t1, match &end { End::Complete(f) => format!("complete forced {f}"), End::Stuck(_) => "stuck".into(), End::Stopped(c) => format!("{c:?}") }, order.edge_count(), order.joins);
    if !matches!(end, End::Complete(_)) { return; }
    // second schedule
    let mut line = Vec::with_capacity(execution.len());
    let end: End<()> = schedule(execution, |e, gone| {
        let s = source(e); if s != NONE && !gone.contains(s) { return Some(s) }
        order.edges_in(e).map(|n| order.edge(n).from).find(|&p| !gone.contains(p))
    }, |e| { line.push(e); Ok(()) });
    let t3 = Instant::now();
    println!("second schedule {:?} {}", t3-t2, match &end { End::Complete(f) => format!("complete forced {f}"), End::Stuck(_) => "stuck".into(), End::Stopped(c) => format!("{c:?}") });
    order.record();
    let j0 = order.joins;
    let mut chains: Vec<Vec<u32>> = vec![Vec::new(); execution.location_count()];
    let (mut decisions, mut refused, mut dead) = (0, 0, 0);
    for &w in &line {
        if !events[w as usize].kind.writes() { continue; }
        let chain = &mut chains[events[w as usize].location.index()];
        let mut i = chain.len();
        while i > 0 {
            let c = chain[i-1];
            if order.before(c, w) { break; }
            if order.before(w, c) { i -= 1; continue; }
            decisions += 1;
            let mark = order.mark();
            if order.insert(Derived { from: c, to: w, reason: DECIDED }, &mut rules).is_ok() { break; }
            order.undo(mark);
            refused += 1;
            if order.insert(Derived { from: w, to: c, reason: REFUTED }, &mut rules).is_err() { dead += 1; order.undo(mark); println!("dead at decision {decisions}"); return; }
            i -= 1;
        }
        chain.insert(i, w);
    }
    let t4 = Instant::now();
    println!("decide {:?} decisions {decisions} refused {refused} dead {dead} joins {}", t4-t3, order.joins - j0);
    println!("total {:?}", t4 - t0);
}
