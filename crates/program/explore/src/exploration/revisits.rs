//! The reads that a write revisits: those that were added after all that has not its canonical source.
//!
//! Let H be what stays if the events from a read on are deleted: the causes of the write, and what was added before the
//! read. Where nothing but coherence counts, the canonical source in H is told by the accesses of its location alone:
//! a chain precedes another one iff some access in H that has the other one as its target knows a value of it
//! ([`Event::known`]). Otherwise H is built in a graph of its own, the *trial*, and asked.

use crate::graph::{Event, Graph, INITIAL, NONE, NOTHING, less};
use crate::model::{Model, Together};
use crate::program::Step;

use super::level::{Level, copy, first_stamp, prepare};
use super::may_read;

/// A part of an event in the order in which events were added.
#[derive(Copy, Clone, Debug)]
pub(super) struct Part {
    stamp: u32,
    slot: u32,
    is_write: bool,
}

/// Finds the reads that a write revisits, the newest last, and adds them to the list of the level.
pub(super) fn find_revisits(
    level: &mut Level,
    write: u32,
    trial: &mut Graph,
    places: &mut Vec<u32>,
    parts: &mut Vec<Part>,
) {
    let Level { graph, list, .. } = level;
    let write = write as usize;
    let Some(location) = graph.events[write].step.location() else { return };
    let value = graph.events[write].written;
    let is_candidate = |event: &Event| {
        matches!(event.step, Step::Read { .. } | Step::Rmw { .. })
            && event.step.location() == Some(location)
            && event.step.until().is_none_or(|until| until.accepts(value))
    };
    let is_deleted = |slot: usize| !graph.stays_for(slot, write);
    // The last write outside of the causes that an earlier event reads. Nothing up to it may be deleted.
    let (mut fixed, mut newest) = (0, None);
    for (slot, event) in graph.events.iter().enumerate() {
        if event.source < NOTHING && is_deleted(event.source as usize) {
            let stamp = graph.events[event.source as usize].stamps[1];
            if event.stamps[0] < stamp {
                fixed = fixed.max(stamp + 1);
            }
        }
        if is_candidate(event) && is_deleted(slot) {
            newest = newest.max(Some(event.stamps[0]));
        }
    }
    if newest.is_none_or(|newest| newest < fixed) {
        return;
    }
    parts.clear();
    for (slot, event) in graph.events.iter().enumerate().filter(|&(slot, _)| is_deleted(slot)) {
        let part = |is_write| Part { stamp: event.stamps[usize::from(is_write)], slot: slot as u32, is_write };
        if !matches!(event.step, Step::Write { .. }) {
            parts.push(part(false));
        }
        if event.writes {
            parts.push(part(true));
        }
    }
    parts.sort_unstable_by_key(|part| part.stamp);
    let mut start = parts.partition_point(|part| part.stamp < fixed);
    if let Some(part) = parts.get(start)
        && part.is_write
        && graph.events[part.slot as usize].stamps[0] < fixed
    {
        start += 1;
    }
    let of_part = |part: &Part| &graph.events[part.slot as usize];
    let is_candidate = |part: &Part| !part.is_write && is_candidate(of_part(part));
    let Some(first) = (start..parts.len()).find(|&at| is_candidate(&parts[at])) else { return };
    // The newest is asked first: most often it is not canonical.
    let bottom = list.len();
    let mut is_decided = true;
    for part in parts[first..].iter().rev().filter(|part| !part.is_write) {
        match is_canonical_in(graph, part.slot as usize, write) {
            Some(true) => list.extend(is_candidate(part).then_some(part.slot)),
            Some(false) => break,
            None => {
                is_decided = false;
                break;
            }
        }
    }
    list[bottom..].reverse();
    if is_decided {
        return;
    }
    list.truncate(bottom);
    let limit = parts[start].stamp;

    // What stays, the causes of the write, and then what would be deleted, one after the other.
    trial.clear();
    prepare(trial, graph, places);
    for slot in 0..graph.events.len() {
        let stays = slot != write && graph.stays_for(slot, write)
            || is_deleted(slot) && first_stamp(&graph.events[slot]) < limit;
        if stays || slot == write && matches!(graph.events[slot].step, Step::Rmw { .. }) {
            let is_allowed = if slot == write {
                let event = &graph.events[slot];
                let source = if event.source == INITIAL { INITIAL } else { places[event.source as usize] };
                trial.push_read(event.thread, &event.step, source, event.stamps[0])
            } else {
                copy(graph, trial, slot, false, places)
            };
            debug_assert!(is_allowed, "a part of a consistent graph is consistent");
        }
    }
    let mut begin = first;
    for (at, part) in parts.iter().enumerate().skip(start) {
        let slot = part.slot as usize;
        let event = &graph.events[slot];
        if part.is_write && matches!(event.step, Step::Rmw { .. }) {
            continue;
        }
        if at >= first && !is_canonical(trial, event, places) {
            begin = at + 1;
        }
        let is_allowed = copy(graph, trial, slot, false, places);
        debug_assert!(is_allowed, "a part of a consistent graph is consistent");
    }
    list.extend(parts[begin.min(parts.len())..].iter().filter(|part| is_candidate(part)).map(|part| part.slot));
}

/// Whether an event has its canonical source, or its canonical choice, among the events that stay if it is deleted for
/// the sake of a write. None if that is not told by the accesses of its location.
fn is_canonical_in(graph: &Graph, slot: usize, write: usize) -> Option<bool> {
    let event = &graph.events[slot];
    let (location, orders) = match event.step {
        Step::Choice(_) => return Some(event.read == 0),
        Step::Read { .. } | Step::Rmw { .. } if event.step.until().is_some() => return Some(event.waits()),
        Step::Read { location, order, .. } => (location, [order; 2]),
        Step::Rmw { location, order, failure, .. } => (location, [order, failure]),
        _ => return Some(true),
    };
    let until = event.stamps[0];
    // Of the write itself, only the read of an rmw stays.
    let stays = |other: usize| {
        if graph.stays_for(other, write) {
            other != write || matches!(graph.events[other].step, Step::Rmw { .. })
        } else {
            first_stamp(&graph.events[other]) < until
        }
    };
    let is_local = match graph.together {
        Together::Nothing => graph.model() != Model::Wra,
        Together::Psc => {
            !orders.iter().any(|order| order.is_sequential())
                && !graph.sequential.iter().any(|&other| stays(other as usize))
        }
        Together::Order(_) => false,
    };
    let of = &graph.locations[location as usize];
    if !is_local || of.writes.len() > u64::BITS as usize {
        return None;
    }
    let mut known = 0;
    for access in of.rows.iter().flatten() {
        if stays(access.slot as usize) {
            known |= graph.events[access.slot as usize].known;
        }
    }
    let is_there = |number: usize| {
        let slot = of.writes[number] as usize;
        number == 0 || slot != write && stays(slot)
    };
    let place = |top: &usize| (*top > 0).then(|| graph.place(of.writes[*top]));
    let is_top = |top: &usize| of.tops[*top] as usize == *top && known >> *top & 1 == 0 && is_there(*top);
    let mut end = (0..of.writes.len()).filter(is_top).max_by_key(place)?;
    while of.updaters[end] != NONE && is_there(of.updaters[end] as usize) {
        end = of.updaters[end] as usize;
    }
    Some(graph.write_number(event.source) as usize == end)
}

/// Whether an event has its canonical source, or its canonical choice, in this graph.
fn is_canonical(graph: &mut Graph, event: &Event, places: &[u32]) -> bool {
    let (location, orders) = match event.step {
        Step::Choice(_) => return event.read == 0,
        Step::Read { .. } | Step::Rmw { .. } if event.step.until().is_some() => return event.waits(),
        Step::Read { location, order, .. } => (location, [order; 2]),
        Step::Rmw { location, order, failure, .. } => (location, [order, failure]),
        _ => return true,
    };
    let source = if event.source == INITIAL { INITIAL } else { places[event.source as usize] };
    let place = |graph: &Graph, source: u32| match source {
        INITIAL => None,
        slot => Some((graph.events[slot as usize].thread, graph.events[slot as usize].index)),
    };
    let is_local = match graph.together {
        Together::Nothing => graph.model() != Model::Wra,
        Together::Psc => graph.sequential.is_empty() && !orders.iter().any(|order| order.is_sequential()),
        Together::Order(_) => false,
    };
    let of = &graph.locations[location as usize];
    if is_local {
        let is_last = |end: &usize| graph.relations.row(less(location as usize), *end).iter().all(|&word| word == 0);
        let top = |end: &usize| place(graph, of.writes[of.tops[*end] as usize]);
        let end = (0..of.writes.len()).filter(is_last).max_by_key(top);
        return end.map(|end| of.writes[end]) == Some(source);
    }
    let mine = place(graph, source);
    (0..of.writes.len()).all(|write| {
        let other = graph.locations[location as usize].writes[write];
        place(graph, other) <= mine || !may_read(graph, event.thread, event.step, other)
    })
}
