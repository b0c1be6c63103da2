//! Decides a priority queue. Each removal and each peek needs a free instant: one at which no larger value is certainly
//! inside. Each `empty` needs an instant at which no value is. The instant of a peek lies between the call of the
//! insert and the return of the removal of its value.
//!
//! Calls are visited from the last to the first. The first free instant after a call, if there is any, comes right
//! after some call that ends the stay of a larger value. Of these instants, only those are kept at which fewer larger
//! values are inside than at all earlier ones ([`Sweep`]).
//!
//! The witness: each removal takes effect at the first free instant from its call on. Each insert takes effect as late
//! as it can: right before the first return of an operation on its value, or at the last free instant before the first
//! return of a peek if that is earlier (larger values cover the instants between). Then a value is inside only while
//! it, or a larger one, is certainly inside, so nothing smaller is removed or seen meanwhile. Each peek takes effect at
//! the first free instant from its call and from the insert on. This is in time: the last free instant before its
//! return is no earlier than the insert, and the first free instant from its call on is no later than the removal.

use std::collections::BinaryHeap;

use history::Method;
use model::object::{Core, Linearization};

use crate::answer::Answer;
use crate::containers::{NONE, Stays, Times, covered, place_empties};
use crate::view::ValueId;

/// How many calls are looked up together.
const BLOCK: usize = 64;

/// Visits instants from the last to the first, and finds the nearest free one.
#[derive(Default)]
struct Sweep {
    /// The values that are certainly inside, each with the beginning of that time. Values whose time has ended are
    /// removed later.
    inside: BinaryHeap<(u32, u32)>,
    /// Instants, each right after a moment, with one more than the largest value inside (0 if none is). The later the
    /// instant, the smaller this value.
    free: Vec<(u32, u32)>,
}

impl Sweep {
    /// Goes to the instant right after a moment.
    fn visit(&mut self, moment: u32) {
        while self.inside.peek().is_some_and(|&(_, begin)| begin > moment) {
            self.inside.pop();
        }
        let largest = self.inside.peek().map_or(0, |&(value, _)| value + 1);
        while self.free.last().is_some_and(|&(_, other)| other >= largest) {
            self.free.pop();
        }
        self.free.push((moment, largest));
    }

    /// The nearest instant at which nothing larger is inside; [`NONE`] if there is none.
    fn nearest(&self, value: ValueId) -> u32 {
        // Usually it is one of the last.
        let is_free = |&(_, largest): &(u32, u32)| largest <= value.0 + 1;
        let mut step = 1;
        let mut end = self.free.len();
        while step < end && !is_free(&self.free[end - step]) {
            end -= step;
            step *= 2;
        }
        let start = end.saturating_sub(step);
        let at = start + self.free[start..end].partition_point(is_free);
        at.checked_sub(1).map_or(NONE, |at| self.free[at].0)
    }

    /// From here back to a moment, the value is certainly inside.
    fn enter(&mut self, value: ValueId, begin: u32) {
        self.inside.push((value.0, begin));
    }
}

/// When the operations take effect, right after a moment.
struct Places {
    /// The removals, by record.
    removed: Vec<u32>,
    /// The peeks, as in [`Stays::peeks`].
    seen: Vec<u32>,
}

/// A peek: the moment from which on its value can be inside, its place among the peeks, and the record.
type Wait = (u32, u32, u32);

fn waits(stays: &Stays) -> Vec<Wait> {
    let mut waits = Vec::with_capacity(stays.peeks.places().len());
    for (record, times) in (0..).zip(&stays.times) {
        for at in stays.peeks.range(record) {
            let call = stays.part.calls[stays.peeks.places()[at] as usize].call;
            waits.push((call.max(times.insert_call), at as u32, record));
        }
    }
    waits.sort_unstable();
    waits
}

/// Decides a priority queue.
pub fn check(stays: &Stays, witness: bool) -> Answer {
    match decide(stays, witness) {
        Ok(linearization) => Answer::Linearizable(linearization),
        Err(core) => Answer::Violation(core),
    }
}

fn decide(stays: &Stays, witness: bool) -> Result<Option<Linearization>, Core> {
    let empties = place_empties(stays)?;
    let mut waits = if stays.peeks.is_empty() { Vec::new() } else { waits(stays) };
    let mut places = Places {
        removed: vec![NONE; if witness { stays.times.len() } else { 0 }],
        seen: vec![NONE; if witness { stays.peeks.places().len() } else { 0 }],
    };
    let mut sweep = Sweep::default();
    let never_largest = |times: &Times, at: u32, time: [u32; 2]| {
        covered(stays, at, time, |other| stays.value(other) > stays.value(times))
    };
    // A value that no returned operation removed is inside up to the call of a pending removal, or for ever.
    let mut removable: Vec<(u32, u32)> = Vec::new();
    for (record, times) in (0..).zip(&stays.times) {
        if times.is_present() && times.remove_return >= stays.end {
            if times.remove_call > stays.end {
                sweep.enter(stays.value(times), times.insert_return);
            } else {
                removable.push((times.remove_call, record));
            }
        }
    }
    removable.sort_unstable();
    let mut ending = Vec::new();
    let mut inserts = stays.times.len() as u32;
    let mut returned = stays.returned.iter().copied().rev();
    let mut records = Vec::with_capacity(BLOCK);
    for block in stays.part.calls.rchunks(BLOCK) {
        // The records of a block are read before they are used, since they are far apart in memory.
        records.clear();
        records.extend(block.iter().rev().map(|call| {
            let is_insert = call.method == Method::Insert;
            inserts -= u32::from(is_insert);
            let record = if is_insert {
                inserts
            } else if call.result.is_index() {
                returned.next().unwrap_or(NONE)
            } else {
                NONE
            };
            let is_last = |times: &Times| times.is_present() && times.remove_call == call.call;
            if stays.times.get(record as usize).is_some_and(is_last) { record } else { NONE }
        }));
        for (call, &record) in block.iter().rev().zip(&records) {
            // The values of which this is the last call: the value of the call, or those that a pending removal may
            // have taken.
            ending.clear();
            ending.extend(Some(record).filter(|&record| record != NONE));
            while let Some((last, record)) = removable.pop_if(|&mut (last, _)| last >= call.call) {
                if last == call.call && call.method == Method::DeleteMax {
                    ending.push(record);
                }
            }
            let value = if call.method == Method::Insert { call.argument } else { call.result };
            let value_of = |times: &Times| if value.is_index() { value } else { stays.value(times) };
            let mut waiting = || waits.pop_if(|&mut (from, ..)| from == call.call);
            let mut wait = waiting();
            if ending.is_empty() && wait.is_none() {
                continue;
            }
            sweep.visit(call.call);
            for &record in &ending {
                let times = &stays.times[record as usize];
                let place = sweep.nearest(value_of(times));
                if times.remove_return <= stays.end && place >= times.remove_return {
                    return Err(never_largest(times, times.remove, [times.remove_call, times.remove_return]));
                }
                if witness {
                    places.removed[record as usize] = place;
                }
            }
            while let Some((from, at, record)) = wait {
                let times = &stays.times[record as usize];
                let peek = stays.peeks.places()[at as usize];
                let to = stays.part.calls[peek as usize].ret.min(times.remove_return);
                let place = sweep.nearest(stays.value(times));
                if place >= to {
                    return Err(never_largest(times, peek, [from, to]));
                }
                if witness {
                    places.seen[at as usize] = place;
                }
                wait = waiting();
            }
            for times in ending.iter().map(|&record| &stays.times[record as usize]).filter(|times| times.is_inside()) {
                sweep.enter(value_of(times), times.insert_return);
            }
        }
    }
    Ok(witness.then(|| linearize(stays, &places, &empties)))
}

/// For each record with peeks: the moment right after the last free instant before the first return of a peek; 0 if
/// there is none. This is the same sweep, with time reversed.
fn last_free(stays: &Stays) -> Vec<u32> {
    let mut last = vec![0; stays.times.len()];
    let turn = |moment: u32| stays.end + 2 - moment;
    let mut sweep = Sweep::default();
    for record in stays.by_first_return() {
        let times = &stays.times[record as usize];
        let value = stays.value(times);
        sweep.visit(turn(times.insert_return));
        let nearest = sweep.nearest(value);
        last[record as usize] = if nearest == NONE { 0 } else { turn(nearest) };
        if times.is_inside() {
            sweep.enter(value, turn(times.remove_call));
        }
    }
    last
}

fn linearize(stays: &Stays, places: &Places, empties: &[u32]) -> Linearization {
    // Sorted by instant. At each instant come first the removals, the largest value first, each right after the insert
    // and the peeks of its value, if these are here, too. Then come `empty`, and then the inserts of the values that
    // stay, the smallest value first, each with its peeks.
    let mut effects: Vec<(u32, u8, u32, u8, u32)> = Vec::new();
    let last_free = if stays.peeks.is_empty() { Vec::new() } else { last_free(stays) };
    for (record, times) in (0..).zip(&stays.times).filter(|(_, times)| times.is_present()) {
        let removed = places.removed[record as usize];
        let value = stays.value(times).0;
        let peeks = stays.peeks.range(record);
        // Right before the first return, or earlier.
        let last = match last_free.get(record as usize) {
            Some(&moment) if !peeks.is_empty() && moment > times.insert_call => moment - 1,
            _ => times.insert_return - 1,
        };
        let is_at_once = removed < times.insert_return;
        let inserted = if is_at_once { removed } else { last };
        let effect = |moment: u32, step: u8, at: u32| {
            if moment == removed { (moment, 0, u32::MAX - value, step, at) } else { (moment, 2, value, step, at) }
        };
        effects.push(effect(inserted, 0, times.insert));
        for at in peeks {
            let seen = if is_at_once { removed } else { places.seen[at].max(inserted) };
            effects.push(effect(seen, 1, stays.peeks.places()[at]));
        }
        if times.remove != NONE {
            effects.push(effect(removed, 2, times.remove));
        }
    }
    effects.extend(empties.iter().zip(&stays.empties).map(|(&moment, &at)| (moment, 1, 0, 0, at)));
    effects.sort_unstable();
    stays.linearization(effects.into_iter().map(|(.., at)| at))
}
