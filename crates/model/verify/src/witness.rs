//! Checks witnesses: orders that explain all reads. An order has each event that it must have, once, extends what the
//! model fixes, and is replayed: each read returns the last write before it.

use history::execution::{EventId, Kind};
use history::{Execution, OperationId};

use super::graph::{Past, Writers};
use super::{Claim, Place, Refusal, fault};

const UNPLACED: u32 = u32::MAX;

/// The place of each event in an order of operations. An operation that is listed twice, or is no event, is a fault.
fn places(claim: &Claim<'_>, place: Place, order: &[OperationId]) -> Result<Vec<u32>, Refusal> {
    let mut places = vec![UNPLACED; claim.execution.len()];
    for (at, &id) in order.iter().enumerate() {
        let Some(event) = claim.event(id) else {
            return fault(place, format!("there is no operation {} in the execution", id.0));
        };
        if places[event.index()] != UNPLACED {
            return fault(place, format!("operation {} is listed twice", id.0));
        }
        places[event.index()] = at as u32;
    }
    Ok(places)
}

/// Checks that an event is listed after every listed event that is causally before it. `topological` is an order of
/// causality.
fn extends_causality(
    execution: &Execution,
    place: Place,
    places: &[u32],
    topological: &[EventId],
) -> Result<(), Refusal> {
    // For each event: the last place, plus one, of the event itself and of the events that are causally before it.
    let mut latest = vec![0u32; execution.len()];
    for &id in topological {
        let mut before = if execution.position(id) > 0 { latest[id.index() - 1] } else { 0 };
        let source = execution.event(id).source;
        if source.is_event() {
            before = before.max(latest[source.index()]);
        }
        let own = places[id.index()];
        if own != UNPLACED {
            if own < before {
                let operation = execution.operation(id).0;
                let what = "is listed before an operation that causally precedes it";
                return fault(place, format!("operation {operation} {what}"));
            }
            before = own + 1;
        }
        latest[id.index()] = before;
    }
    Ok(())
}

/// A topological order of causality, and the causal past of each event.
fn causality<'a>(claim: &Claim<'a>, place: Place) -> Result<(Vec<EventId>, Past<'a>), Refusal> {
    let graph = claim.causality();
    match (graph.topological_order(), graph.past()) {
        (Some(order), Some(past)) => Ok((order, past)),
        _ => fault(place, "causality is cyclic"),
    }
}

/// Checks a witness of `sc`: the order has every operation, keeps program order, and each read reads from the last
/// write of its location before it.
pub fn interleaving(claim: &Claim<'_>, order: &[OperationId]) -> Result<(), Refusal> {
    let place = Place::Interleaving;
    let execution = claim.execution;
    if order.len() != execution.len() {
        return fault(place, "it must list all operations");
    }
    let mut next: Vec<u32> = execution.starts()[..execution.thread_count()].to_vec();
    let mut memory = vec![EventId::INIT; execution.location_count()];
    for &operation in order {
        let Some(id) = claim.event(operation) else {
            return fault(place, format!("there is no operation {} in the execution", operation.0));
        };
        let next = &mut next[execution.thread(id).index()];
        if *next != id.0 {
            return fault(place, format!("operation {} is not the next operation of its process", operation.0));
        }
        *next += 1;
        let event = execution.event(id);
        if event.kind == Kind::Fence {
            continue;
        }
        let cell = &mut memory[event.location.index()];
        if event.kind.reads() && *cell != event.source {
            return fault(place, format!("operation {} does not read the last write before it", operation.0));
        }
        if event.kind.writes() {
            *cell = id;
        }
    }
    Ok(())
}

/// Checks a witness of `ccv`: the order has every write and extends causality. Each read reads from the last, in this
/// order, of the writes of its location that are causally before it.
pub fn write_order(claim: &Claim<'_>, order: &[OperationId]) -> Result<(), Refusal> {
    let place = Place::WriteOrder;
    let execution = claim.execution;
    let places = places(claim, place, order)?;
    for id in execution.ids() {
        if execution.event(id).kind.writes() != (places[id.index()] != UNPLACED) {
            return fault(place, "it must list all writes, and nothing else");
        }
    }
    let (topological, past) = causality(claim, place)?;
    extends_causality(execution, place, &places, &topological)?;
    let writers = Writers::new(execution);
    for read in execution.ids().filter(|&id| execution.event(id).kind.reads()) {
        let source = execution.event(read).source;
        for write in writers.last_before(execution, &past, read) {
            if source == EventId::INIT || places[write.index()] > places[source.index()] {
                let (read, write) = (execution.operation(read).0, execution.operation(write).0);
                let what = format!("between operation {read} and the write that it reads from");
                return fault(place, format!("operation {write} comes {what}"));
            }
        }
    }
    Ok(())
}

/// Checks a witness of `cm`: for each thread, an order of its own events and of the writes that are causally before
/// them. The order extends causality, and each read of the thread reads from the last write of its location in it.
pub fn view_orders(claim: &Claim<'_>, orders: &[Vec<OperationId>]) -> Result<(), Refusal> {
    let execution = claim.execution;
    if orders.len() != execution.thread_count() {
        return fault(Place::ViewOrder(orders.len()), "there must be one order for each process");
    }
    let (topological, past) = causality(claim, Place::ViewOrder(0))?;
    for (thread, order) in orders.iter().enumerate() {
        let place = Place::ViewOrder(thread);
        let places = places(claim, place, order)?;
        let last = (execution.starts()[thread] < execution.starts()[thread + 1])
            .then(|| EventId(execution.starts()[thread + 1] - 1));
        for id in execution.ids() {
            let own = execution.thread(id).index() == thread;
            let known = last.is_some_and(|last| past.contains(last, id));
            if (own || (known && execution.event(id).kind.writes())) != (places[id.index()] != UNPLACED) {
                return fault(
                    place,
                    "it must list the writes that the process knows of and its own operations, and nothing else",
                );
            }
        }
        extends_causality(execution, place, &places, &topological)?;
        let mut memory = vec![EventId::INIT; execution.location_count()];
        for &id in order {
            let Some(id) = claim.event(id) else { continue };
            let event = execution.event(id);
            if event.kind == Kind::Fence {
                continue;
            }
            let cell = &mut memory[event.location.index()];
            if execution.thread(id).index() == thread && event.kind.reads() && *cell != event.source {
                let operation = execution.operation(id).0;
                return fault(place, format!("operation {operation} does not read the last write before it"));
            }
            if event.kind.writes() {
                *cell = id;
            }
        }
    }
    Ok(())
}
