//! Queue: a violation is a pair of values, one inserted before the other and removed after it; or an `empty` that is
//! always covered.
//!
//! Values are visited by the calls of their inserts, after those whose insert returned before; of these only the one
//! matters whose removal is called last.
//!
//! The witness: a value comes before another if its insert or its removal precedes the other's; without a violation, these
//! two orders together have no cycle. Values in such an order, all that could be gone by an `empty` before it and all
//! others after it; each operation as early as this allows.

use std::cmp::Ordering;

use certificate::object::{Core, Linearization};

use super::Answer;
use super::containers::{NONE, Stays, Times, place_empties};
use super::gaps::Gaps;

/// Decides a queue.
pub fn check(stays: &Stays, witness: bool) -> Answer {
    if let Some(core) = overtaken(stays) {
        return Answer::Violation(core);
    }
    let mut empties = Vec::new();
    if !stays.empties.is_empty() {
        let gaps = Gaps::new(stays);
        match place_empties(stays, &gaps) {
            Ok(places) => empties = moments(stays, &gaps, &places),
            Err(core) => return Answer::Violation(core),
        }
    }
    Answer::Linearizable(witness.then(|| linearize(stays, &empties)))
}

fn overtaken(stays: &Stays) -> Option<Core> {
    let mut returned = vec![NONE; stays.end as usize + 3];
    for (value, times) in stays.times.iter().enumerate() {
        if times.is_present() {
            returned[times.insert_return as usize] = value as u32;
        }
    }
    let (mut latest, mut at) = (NONE, 0);
    let mut latest_call = 0;
    for call in stays.part.calls {
        let Some(times) = stays.times.get(call.argument.index()).filter(|times| times.is_present()) else {
            continue;
        };
        while at < call.call {
            let value = returned[at as usize];
            if value != NONE && stays.times[value as usize].remove_call >= latest_call {
                latest = value;
                latest_call = stays.times[value as usize].remove_call;
            }
            at += 1;
        }
        if times.remove_return < latest_call {
            let first = stays.stay(&stays.times[latest as usize]);
            return Some(Core::Overtaken { first, second: stays.stay(times) });
        }
    }
    None
}

/// The moment right before each of these gaps: a call.
fn moments(stays: &Stays, gaps: &Gaps, places: &[u32]) -> Vec<u32> {
    let mut moment = 0;
    let after = |&gap: &u32| {
        while moment < stays.end && gaps.to(moment + 1) <= gap {
            moment += 1;
        }
        moment
    };
    places.iter().map(after).collect()
}

fn linearize(stays: &Stays, empties: &[u32]) -> Linearization {
    let order = value_order(stays);
    // What is gone by an empty at that moment; the values of a segment stay in order.
    let mut bounds: Vec<u32> = empties.to_vec();
    bounds.dedup();
    let segment = |times: &Times| bounds.partition_point(|&moment| moment < times.remove_call) as u32;
    let mut order: Vec<(u32, u32)> =
        order.into_iter().map(|value| (segment(&stays.times[value as usize]), value)).collect();
    order.sort_by_key(|&(segment, _)| segment);

    // Twice the moment at which each operation takes effect, and one more for what waits for an empty.
    let mut effects: Vec<(u64, u32)> = Vec::new();
    let mut removals: Vec<(u64, u32)> = Vec::new();
    let (mut inserting, mut removing) = (0, 0);
    for (segment, value) in order {
        let times = &stays.times[value as usize];
        let start = if segment == 0 { 0 } else { 2 * u64::from(bounds[segment as usize - 1]) + 2 };
        inserting = start.max(inserting).max(2 * u64::from(times.insert_call));
        removing = inserting.max(removing).max(2 * u64::from(times.remove_call));
        effects.push((inserting, times.insert));
        if times.remove != NONE {
            removals.push((removing, times.remove));
        }
    }
    let empties = empties.iter().zip(&stays.empties).map(|(&moment, &at)| (2 * u64::from(moment) + 1, at));
    // Inserts before removals of the same moment; both lists are in order.
    effects.extend(removals);
    effects.extend(empties);
    effects.sort_by_key(|&(moment, _)| moment);
    stays.linearization(effects.into_iter().map(|(_, at)| at))
}

/// The values, each after all those whose insert or removal precedes its own.
fn value_order(stays: &Stays) -> Vec<u32> {
    let size = stays.end as usize + 3;
    // By moment: the value whose insert is called or returns there, or whose removal returns.
    let mut insert_calls = vec![NONE; size];
    let (mut insert_returns, mut remove_returns) = (vec![NONE; size], vec![NONE; size]);
    // Several pending removals return at the end; those that never came precede nothing.
    let mut pending = 0;
    let mut waits = vec![0_u8; stays.times.len()];
    for (value, times) in stays.times.iter().enumerate().filter(|(_, times)| times.is_present()) {
        insert_calls[times.insert_call as usize] = value as u32;
        insert_returns[times.insert_return as usize] = value as u32;
        waits[value] = 2;
        match times.remove_return.cmp(&stays.end) {
            Ordering::Less => remove_returns[times.remove_return as usize] = value as u32,
            Ordering::Equal => pending += 1,
            Ordering::Greater => {}
        }
    }
    let mut by_removal: Vec<u32> =
        (0..stays.times.len() as u32).filter(|&value| stays.times[value as usize].is_present()).collect();
    by_removal.sort_by_key(|&value| stays.times[value as usize].remove_call);

    let mut order = Vec::with_capacity(by_removal.len());
    let mut is_placed = vec![false; stays.times.len()];
    let mut ready: Vec<u32> = Vec::new();
    let (mut inserted, mut insert_limit, mut removed, mut remove_limit) = (0, 0, 0, 0);
    loop {
        // What is left returns no earlier than the limits.
        let is_passed = |value: u32| value == NONE || is_placed[value as usize];
        while insert_limit < size && is_passed(insert_returns[insert_limit]) {
            insert_limit += 1;
        }
        while remove_limit < size
            && is_passed(remove_returns[remove_limit])
            && (remove_limit != stays.end as usize || pending == 0)
        {
            remove_limit += 1;
        }
        let mut satisfy = |value: u32, ready: &mut Vec<u32>| {
            waits[value as usize] -= 1;
            if waits[value as usize] == 0 {
                ready.push(value);
            }
        };
        while inserted < size && inserted <= insert_limit {
            if insert_calls[inserted] != NONE {
                satisfy(insert_calls[inserted], &mut ready);
            }
            inserted += 1;
        }
        while removed < by_removal.len() && stays.times[by_removal[removed] as usize].remove_call < remove_limit as u32
        {
            satisfy(by_removal[removed], &mut ready);
            removed += 1;
        }
        let Some(value) = ready.pop() else {
            break;
        };
        is_placed[value as usize] = true;
        pending -= u32::from(stays.times[value as usize].remove_return == stays.end);
        order.push(value);
    }
    order
}
