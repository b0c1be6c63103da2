//! Witnesses of the C11 family: a modification order of each location, checked against the axioms of RF Figure 2.
//!
//! The rank of a write is its place in the order of its location; the initial write has rank zero. Let `known(e)` be
//! the largest rank that is written or read by an access of the location that happens before e. Write coherence says
//! that the rank of a write e is above `known(e)`. Read coherence says that the rank of the source of a read e is not
//! below `known(e)`. Atomicity says that the rank of an rmw is one more than that of its source. `sra` also asks that
//! `hb u mo` is acyclic.

use std::collections::HashMap;

use history::OperationId;
use history::execution::{EventId, Kind};

use super::c11::{is_acquire, is_release, no_sequential_access};
use super::{Claim, Place, Refusal, fault};
use model::Model;

/// Checks the orders of all locations.
pub fn modification_orders(claim: &Claim<'_>, model: Model, orders: &[Vec<OperationId>]) -> Result<(), Refusal> {
    if model == Model::Rc20 {
        no_sequential_access(claim)?;
    }
    let ranks = ranks(claim, orders)?;
    let rank = |write: EventId| if write == EventId::INIT { 0 } else { ranks[write.index()] };
    if model == Model::Coherence {
        return check_ranks(claim, &ranks, &known_in_thread(claim, rank));
    }
    let Some(order) = claim.causality().topological_order() else {
        return fault(Place::Again, "the history is not allowed: po and rf have a cycle");
    };
    if model == Model::Sra {
        let mut graph = claim.causality();
        for order in orders {
            let events: Vec<EventId> = order.iter().filter_map(|&id| claim.event(id)).collect();
            for pair in events.windows(2) {
                graph.add_again(pair[0], pair[1]);
            }
        }
        if graph.topological_order().is_none() {
            return fault(Place::Again, "the orders of the locations form a cycle with po and rf");
        }
    }
    check_ranks(claim, &ranks, &known_ranks(claim, model, &order, rank))
}

/// Checks coherence and atomicity, given `known` of each access.
fn check_ranks(claim: &Claim<'_>, ranks: &[u32], known: &[u32]) -> Result<(), Refusal> {
    let execution = claim.execution;
    let rank = |write: EventId| if write == EventId::INIT { 0 } else { ranks[write.index()] };
    for id in execution.ids() {
        let event = execution.event(id);
        let place = Place::ModificationOrder(event.location.index());
        let known = known[id.index()];
        let coherent = match event.kind {
            Kind::Fence => true,
            Kind::Write => ranks[id.index()] > known,
            Kind::Rmw if ranks[id.index()] != rank(event.source) + 1 => {
                return fault(place, "an rmw does not stand right after the write that it reads from");
            }
            Kind::Read | Kind::Rmw => rank(event.source) >= known,
        };
        if !coherent {
            let operation = execution.operation(id).0;
            let what = "knows of a write that is later in this order than the one it writes or reads from";
            return fault(place, format!("operation {operation} {what}"));
        }
    }
    Ok(())
}

/// The rank of each write: its place in the order of its location, counted from one.
fn ranks(claim: &Claim<'_>, orders: &[Vec<OperationId>]) -> Result<Vec<u32>, Refusal> {
    let execution = claim.execution;
    let mut ranks = vec![0; execution.len()];
    if orders.len() != execution.location_count() {
        return fault(Place::WriteOrder, "there must be one order for each location");
    }
    for (location, order) in orders.iter().enumerate() {
        let place = Place::ModificationOrder(location);
        for (rank, &id) in (1..).zip(order) {
            match claim.event(id) {
                Some(id) if execution.event(id).kind.writes() && execution.event(id).location.index() == location => {
                    if std::mem::replace(&mut ranks[id.index()], rank) != 0 {
                        return fault(place, "a write is listed twice");
                    }
                }
                _ => return fault(place, "it lists an operation that does not write the location"),
            }
        }
    }
    match execution.ids().find(|&id| execution.event(id).kind.writes() && ranks[id.index()] == 0) {
        Some(id) => fault(
            Place::ModificationOrder(execution.event(id).location.index()),
            format!("operation {} is missing", execution.operation(id).0),
        ),
        None => Ok(ranks),
    }
}

/// What a thread knows: for each thread, how many of its events.
type Clock = Vec<u32>;

fn join(into: &mut Clock, from: &Clock) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = u32::max(*into, *from);
    }
}

/// `known(e)` of each access, where happens-before is `po` on one location: see the module.
///
/// This suffices. Give each write its rank as a number, and each read the number of its source plus a half. Then no
/// edge of `po-loc`, `rf`, `ww` and `rw` leads to a smaller number. An edge between equal numbers leads from a read to
/// a read, and is in `po-loc`. So there is no cycle.
fn known_in_thread(claim: &Claim<'_>, rank: impl Fn(EventId) -> u32) -> Vec<u32> {
    let mut last: HashMap<(u32, u32), u32> = HashMap::new();
    let mut known = vec![0; claim.execution.len()];
    for id in claim.execution.ids() {
        let event = claim.execution.event(id);
        let largest = last.entry((claim.execution.thread(id).0, event.location.0)).or_default();
        known[id.index()] = *largest;
        if event.kind != Kind::Fence {
            *largest = u32::max(*largest, rank(if event.kind.writes() { id } else { event.source }));
        }
    }
    known
}

/// `known(e)` of each access: see the module. `order` respects `po u rf`.
fn known_ranks(claim: &Claim<'_>, model: Model, order: &[EventId], rank: impl Fn(EventId) -> u32) -> Vec<u32> {
    let execution = claim.execution;
    let threads = execution.thread_count();
    // For each location and thread: the accesses so far, each with the largest rank up to it.
    let mut accesses: HashMap<u32, Vec<Vec<(u32, u32)>>> = HashMap::new();
    let zero = vec![0; threads];
    let mut current = vec![zero.clone(); threads];
    let mut to_acquire = vec![zero.clone(); threads];
    let mut released = vec![zero.clone(); threads];
    let mut carried: HashMap<EventId, Clock> = HashMap::new();
    // `rc11`, by thread and location: what the last release knew.
    let mut sequences: HashMap<(usize, u32), Clock> = HashMap::new();
    let has_orders = matches!(model, Model::Rc20 | Model::Rc11);
    let mut known = vec![0; execution.len()];
    for &id in order {
        let event = execution.event(id);
        let thread = execution.thread(id).index();
        let release = if has_orders { is_release(event) } else { model != Model::Relaxed };
        let acquire = if has_orders { is_acquire(event) } else { model != Model::Relaxed };
        let source = carried.get(&event.source).unwrap_or(&zero).clone();
        if event.kind.reads() {
            join(if acquire { &mut current[thread] } else { &mut to_acquire[thread] }, &source);
        }
        if event.kind == Kind::Fence && has_orders {
            if acquire {
                let learnt = to_acquire[thread].clone();
                join(&mut current[thread], &learnt);
            }
            if release {
                released[thread].clone_from(&current[thread]);
                released[thread][thread] = execution.position(id) + 1;
            }
        }
        if event.kind != Kind::Fence {
            let lists = accesses.entry(event.location.0).or_insert_with(|| vec![Vec::new(); threads]);
            known[id.index()] = (0..threads)
                .filter_map(|other| {
                    let within = |&(position, _): &(u32, u32)| position < current[thread][other];
                    let last = lists[other].partition_point(within).checked_sub(1)?;
                    Some(lists[other][last].1)
                })
                .max()
                .unwrap_or(0);
            let own = rank(if event.kind.writes() { id } else { event.source });
            let largest = lists[thread].last().map_or(0, |&(_, largest)| largest).max(own);
            lists[thread].push((execution.position(id), largest));
        }
        current[thread][thread] = execution.position(id) + 1;
        if event.kind.writes() {
            let mut clock = if release { current[thread].clone() } else { released[thread].clone() };
            if event.kind == Kind::Rmw && has_orders {
                join(&mut clock, &source);
            }
            if model == Model::Rc11 {
                let sequence = sequences.entry((thread, event.location.0)).or_insert_with(|| zero.clone());
                if release {
                    sequence.clone_from(&current[thread]);
                }
                join(&mut clock, sequence);
            }
            carried.insert(id, clock);
        }
    }
    known
}
