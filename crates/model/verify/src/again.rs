//! Decides again, for models without a short witness. The code follows the definitions. Of each thread, only the last
//! write before an event is looked at. Least fixpoints are computed by repetition, until nothing is new.

use std::collections::HashMap;

use history::execution::{EventId, LocationId, ThreadId};

use super::graph::{ChainGraph, Past, Writers};
use super::{Claim, Place, Refusal, buffered, c11, fault};
use model::{Model, Verdict};

/// Decides whether the model allows the execution.
pub fn decide(claim: &Claim<'_>, model: Model) -> Result<(), Refusal> {
    match model {
        Model::Wra => c11::no_shared_source(claim).and_then(|()| cc(claim)),
        Model::Cc => cc(claim),
        Model::Ccm => ccm(claim),
        Model::Wccm => wccm(claim),
        Model::Wsc => saturates(claim, [claim.causality()]),
        Model::Wtso | Model::Wpso => saturates(claim, buffered::bases(claim.execution, model)),
        _ => Err(Refusal::WrongKind { model, verdict: Verdict::Consistent }),
    }
}

fn cyclic<T>(what: &str) -> Result<T, Refusal> {
    fault(Place::Again, format!("the history is not allowed: {what} is cyclic"))
}

fn past<'a>(graph: &ChainGraph<'a>, what: &str) -> Result<Past<'a>, Refusal> {
    graph.past().map_or_else(|| cyclic(what), Ok)
}

/// `cc`: never w co w' co r for a read r of w.
fn cc(claim: &Claim<'_>) -> Result<(), Refusal> {
    let execution = claim.execution;
    let past = past(&claim.causality(), "causality")?;
    let writers = Writers::new(execution);
    for read in execution.ids().filter(|&id| execution.event(id).kind.reads()) {
        let source = execution.event(read).source;
        for write in writers.last_before(execution, &past, read) {
            if write != source && (source == EventId::INIT || past.contains(write, source)) {
                let operation = execution.operation(read).0;
                return fault(Place::Again, format!("operation {operation} reads an overwritten value"));
            }
        }
    }
    Ok(())
}

/// The conflict edges into the source of a read that are not yet there. A read of an initial value must have none.
fn conflicts(
    claim: &Claim<'_>,
    past: &Past<'_>,
    writers: &Writers,
    read: EventId,
) -> Result<Vec<(EventId, EventId)>, Refusal> {
    let source = claim.execution.event(read).source;
    let writes: Vec<EventId> =
        writers.last_before(claim.execution, past, read).filter(|&write| write != source).collect();
    if source == EventId::INIT && !writes.is_empty() {
        let operation = claim.execution.operation(read).0;
        return fault(Place::Again, format!("operation {operation} reads an initial value that was overwritten"));
    }
    Ok(writes.into_iter().map(|write| (write, source)).collect())
}

/// `ccm`, step by step as it is defined.
fn ccm(claim: &Claim<'_>) -> Result<(), Refusal> {
    let execution = claim.execution;
    let writers = Writers::new(execution);
    let reads =
        |thread: usize| execution.thread_events(ThreadId(thread as u32)).filter(|&id| execution.event(id).kind.reads());

    // hb: the union of the views.
    let mut happens_before = claim.causality();
    for thread in 0..execution.thread_count() {
        let mut view = claim.causality();
        loop {
            let past = past(&view, "the view of a process")?;
            let mut new = false;
            for read in reads(thread) {
                for (write, source) in conflicts(claim, &past, &writers, read)? {
                    if !past.contains(source, write) {
                        new |= view.add(write, source);
                        happens_before.add(write, source);
                    }
                }
            }
            if !new {
                break;
            }
        }
    }
    let past_hb = past(&happens_before, "happens-before")?;

    // pww orders the writes of one location. No edge leads from one location to another, so one graph serves all
    // locations. Program order is not in this graph: it would lead from one location to another.
    let mut direct: Vec<Vec<EventId>> = vec![Vec::new(); execution.len()];
    for id in execution.ids() {
        let event = execution.event(id);
        if event.kind.writes() {
            direct[id.index()].extend(writers.last_before(execution, &past_hb, id));
        }
        if event.kind.reads() {
            for (write, source) in conflicts(claim, &past_hb, &writers, id)? {
                direct[source.index()].push(write);
            }
        }
    }
    let closed = close(execution.thread_count(), &direct, |id| (execution.thread(id).index(), execution.position(id)))
        .map_or_else(|| cyclic("the partial store order"), Ok)?;

    if is_acyclic_with(claim, claim.causality(), &closed) {
        return Ok(());
    }
    cyclic("program order with reads-from, pww and rw")
}

/// Whether a base with a partial store order and its `rw` is acyclic. `closed` gives the partial store order: for each
/// write and each thread, how many events the thread has up to its last write before that write.
fn is_acyclic_with(claim: &Claim<'_>, mut all: ChainGraph<'_>, closed: &[Vec<u32>]) -> bool {
    let execution = claim.execution;
    let mut readers: Vec<Vec<EventId>> = vec![Vec::new(); execution.len()];
    let mut init_readers: Vec<Vec<EventId>> = vec![Vec::new(); execution.location_count()];
    for read in execution.ids().filter(|&id| execution.event(id).kind.reads()) {
        match execution.event(read).source {
            EventId::INIT => init_readers[execution.event(read).location.index()].push(read),
            source => readers[source.index()].push(read),
        }
    }
    // If a write comes before another, it also comes before the next write of the other's thread on the location, by
    // program order.
    let mut known: HashMap<(ThreadId, LocationId), &[u32]> = HashMap::new();
    for id in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
        let location = execution.event(id).location;
        let known = known.insert((execution.thread(id), location), &closed[id.index()]);
        if known.is_none() {
            for &read in init_readers[location.index()].iter().filter(|&&read| read != id) {
                all.add_again(read, id);
            }
        }
        for (thread, &count) in closed[id.index()].iter().enumerate().filter(|&(_, &count)| count > 0) {
            if known.is_some_and(|known| known.get(thread) == Some(&count)) {
                continue;
            }
            let before = EventId(execution.starts()[thread] + count - 1);
            all.add_again(before, id);
            for &read in readers[before.index()].iter().filter(|&&read| read != id) {
                all.add_again(read, id);
            }
        }
    }
    all.topological_order().is_some()
}

/// `wccm`, step by step as it is defined.
fn wccm(claim: &Claim<'_>) -> Result<(), Refusal> {
    let execution = claim.execution;
    let [ppo, po_loc] = buffered::bases(execution, Model::Wccm);
    let writers = Writers::new(execution);
    let mut orders = Vec::new();
    for base in [&ppo, &po_loc] {
        let mut happens_before = base.clone();
        for thread in 0..execution.thread_count() as u32 {
            let mut view = base.clone();
            let mut new = true;
            while std::mem::take(&mut new) {
                let past = past(&view, "the view of a process")?;
                let reads = execution.thread_events(ThreadId(thread)).filter(|&id| execution.event(id).kind.reads());
                for read in reads {
                    for (write, source) in conflicts(claim, &past, &writers, read)? {
                        new |= !past.contains(source, write) && view.add(write, source);
                        happens_before.add(write, source);
                    }
                }
            }
        }
        orders.push(happens_before);
    }
    let mut direct: Vec<Vec<EventId>> = vec![Vec::new(); execution.len()];
    for order in &orders {
        let past = past(order, "happens-before")?;
        for read in execution.ids().filter(|&id| execution.event(id).kind.reads()) {
            for (write, source) in conflicts(claim, &past, &writers, read)? {
                direct[source.index()].push(write);
            }
        }
    }
    let mut whb = orders[0].clone();
    whb.include(&orders[1]);
    let past = past(&whb, "happens-before")?;
    for write in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
        direct[write.index()].extend(writers.last_before(execution, &past, write));
    }
    let place = |id| (execution.thread(id).index(), execution.position(id));
    let closed =
        close(execution.thread_count(), &direct, place).map_or_else(|| cyclic("the partial store order"), Ok)?;
    if [ppo, po_loc].into_iter().all(|base| is_acyclic_with(claim, base, &closed)) {
        return Ok(());
    }
    cyclic("ppo or po-loc with reads-from, wpww and rw")
}

/// The weak models with a store order (`wsc`, `wtso`, `wpso`): applies the two rules in each base, again and again,
/// until nothing is new.
fn saturates<const N: usize>(claim: &Claim<'_>, mut bases: [ChainGraph<'_>; N]) -> Result<(), Refusal> {
    let execution = claim.execution;
    let writers = Writers::new(execution);
    let mut readers: HashMap<(LocationId, EventId), Vec<EventId>> = HashMap::new();
    for read in execution.ids().filter(|&id| execution.event(id).kind.reads()) {
        let event = execution.event(read);
        readers.entry((event.location, event.source)).or_default().push(read);
    }
    loop {
        let mut pasts = Vec::new();
        for base in &bases {
            pasts.push(past(base, "happens-before")?);
        }
        let mut new = false;
        // An edge that follows in one base holds in all bases.
        let mut add = |from: EventId, to: EventId| {
            for (base, past) in bases.iter_mut().zip(&pasts) {
                new |= !past.contains(to, from) && base.add(from, to);
            }
        };
        for id in execution.ids() {
            let event = execution.event(id);
            for past in &pasts {
                if event.kind.reads() {
                    for (write, source) in conflicts(claim, past, &writers, id)? {
                        add(write, source);
                    }
                }
                if event.kind.writes() {
                    for before in writers.last_before(execution, past, id).chain([EventId::INIT]) {
                        if before.is_event() {
                            add(before, id);
                        }
                        for &read in readers.get(&(event.location, before)).into_iter().flatten() {
                            if read != id {
                                add(read, id);
                            }
                        }
                    }
                }
            }
        }
        if !new {
            return Ok(());
        }
    }
}

/// The closure of the edges between writes: for each write and each thread, how many events the thread has up to its
/// last write that leads to this write. None if there is a cycle.
fn close(threads: usize, direct: &[Vec<EventId>], place: impl Fn(EventId) -> (usize, u32)) -> Option<Vec<Vec<u32>>> {
    let mut open: Vec<usize> = direct.iter().map(Vec::len).collect();
    let mut successors: Vec<Vec<u32>> = vec![Vec::new(); direct.len()];
    for (id, before) in direct.iter().enumerate() {
        for write in before {
            successors[write.index()].push(id as u32);
        }
    }
    let mut order: Vec<u32> = (0..direct.len() as u32).filter(|&id| open[id as usize] == 0).collect();
    let mut closed: Vec<Vec<u32>> = vec![Vec::new(); direct.len()];
    let mut at = 0;
    while at < order.len() {
        let id = order[at] as usize;
        let mut counts = vec![0; if direct[id].is_empty() { 0 } else { threads }];
        for write in &direct[id] {
            for (entry, &other) in counts.iter_mut().zip(&closed[write.index()]) {
                *entry = u32::max(*entry, other);
            }
            let (thread, position) = place(*write);
            counts[thread] = counts[thread].max(position + 1);
        }
        closed[id] = counts;
        for &after in &successors[id] {
            open[after as usize] -= 1;
            if open[after as usize] == 0 {
                order.push(after);
            }
        }
        at += 1;
    }
    (order.len() == direct.len()).then_some(closed)
}
