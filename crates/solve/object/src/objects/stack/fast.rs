//! Decides a stack. Values can be nested exactly if they can be taken away one after the other, the outermost first.
//!
//! A gap is free if no value that is left is certainly inside there. Every operation that is open at a free gap can
//! take effect there. A value is taken away once there is a free gap for its push and one for its pop. Then the gaps
//! that only this value covered become free. If no value can be taken away and some are left, the history is a
//! violation. For in a linearization, the values can be taken away in the order of their pushes: when a value is pushed
//! or popped, no value that was pushed later is inside.
//!
//! A peek needs a gap at which no value that is left is certainly inside, except its own value. The values that have
//! been taken away before are below it. A value is taken away only when all its peeks have such gaps, too. A gap that
//! suits once suits for ever, so the order in which values are taken away does not matter.
//!
//! The depths of the gaps are in a tree of minima ([`depths`]). The pushes and pops that wait for a gap are sorted by
//! their first gaps, in a tree of the maxima of their last gaps ([`waiting`]). Each gap becomes free once, before that
//! it has a single value inside at most once, and each operation is found once. So the time is `O(n log n)`.
//!
//! The witness: when a value is taken away, its push takes effect at the last free gap before the value is certainly
//! inside, and its pop at the first free gap after. Values that are taken away later do not enclose or cross it, and do
//! not cover the gaps of its peeks.

use model::object::{Core, Linearization, Stay};

use super::peel::{Nest, Peel};
use crate::answer::Answer;
use crate::containers::{NONE, Stays, place_empties};
use crate::gaps::Gaps;

/// Decides a stack.
pub fn check(stays: &Stays, witness: bool) -> Answer {
    let empties = match place_empties(stays) {
        Ok(empties) => empties,
        Err(core) => return Answer::Violation(core),
    };
    let gaps = Gaps::new(stays);
    // The records of the values that are certainly inside at some gap.
    let count = stays.times.len();
    let mut records = Vec::with_capacity(count);
    let mut nest = Nest { gaps: gaps.count(), values: Vec::with_capacity(count), peeks: Vec::new() };
    for (record, times) in (0..).zip(&stays.times).filter(|(_, times)| times.is_present()) {
        let ends = gaps.ends(times);
        if ends[1] < ends[2] {
            let value = records.len() as u32;
            nest.peeks.extend(stays.peeks_of(record).map(|(_, peek)| (value, gaps.seen(times, peek))));
            nest.values.push(ends);
            records.push(record);
        }
    }
    // The gaps take much memory, and are needed again only for evidence.
    drop(gaps);
    let mut peel = Peel::new(&nest, witness);
    peel.run();
    if peel.left > 0 {
        let left = records.iter().enumerate().filter(|(value, _)| peel.is_left(*value)).map(|(_, &record)| record);
        return Answer::Violation(core(stays, &Gaps::new(stays), left.collect()));
    }
    Answer::Linearizable(witness.then(|| linearize(stays, &Gaps::new(stays), &peel, &records, &empties)))
}

/// A value, with those of its peeks that count.
#[derive(Clone)]
struct Item {
    record: u32,
    peeks: Vec<u32>,
}

/// A core of the values that cannot be taken away: a few of them that cannot be nested.
fn core(stays: &Stays, gaps: &Gaps, mut left: Vec<u32>) -> Core {
    // The values before a free gap and those after it are independent.
    let ends = |record: u32| gaps.ends(&stays.times[record as usize]);
    left.sort_unstable_by_key(|&record| ends(record)[1]);
    let mut clusters: Vec<&[u32]> = Vec::new();
    let (mut start, mut reached) = (0, 0);
    for (at, &record) in left.iter().enumerate() {
        let [_, from, to, _] = ends(record);
        if at > start && from > reached {
            clusters.push(&left[start..at]);
            start = at;
        }
        reached = reached.max(to);
    }
    clusters.push(&left[start..]);
    let cluster = clusters.into_iter().min_by_key(|cluster| cluster.len()).unwrap_or_default();
    let with_peeks = |&record: &u32| Item { record, peeks: stays.peeks_of(record).map(|(at, _)| at).collect() };

    // Leave out values that are not needed, and then peeks.
    let mut effort = stays.part.knobs.stack.shrink_steps;
    let items: Vec<Item> = cluster.iter().map(with_peeks).collect();
    let items = shrink(items, &mut effort, |items| is_tangled(stays, gaps, items));
    let peeks = items.iter().flat_map(|item| item.peeks.iter().map(|&peek| (item.record, peek))).collect();
    let with = |peeks: &[(u32, u32)]| -> Vec<Item> {
        let of = |record: u32| peeks.iter().filter(|&&(of, _)| of == record).map(|&(_, peek)| peek).collect();
        items.iter().map(|&Item { record, .. }| Item { record, peeks: of(record) }).collect()
    };
    let peeks = if is_tangled(stays, gaps, &with(&[])) {
        Vec::new()
    } else {
        shrink(peeks, &mut effort, |peeks| is_tangled(stays, gaps, &with(peeks)))
    };
    let stay = |item: Item| Stay {
        peeks: item.peeks.into_iter().map(|at| stays.operation(at)).collect(),
        ..stays.stay(item.record)
    };
    // A pending push certainly happened only if an operation saw its value.
    let is_inside = |item: &Item| stays.times_with(item.record, &item.peeks).is_inside();
    Core::Tangled(with(&peeks).into_iter().filter(is_inside).map(stay).collect())
}

/// Leaves out items, in large pieces first, as long as the rest suffices.
fn shrink<T: Clone>(mut items: Vec<T>, effort: &mut usize, mut will_do: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut piece = items.len() / 2;
    while piece > 0 && *effort > 0 {
        let mut at = 0;
        while at < items.len() && *effort > 0 {
            let mut fewer = items.clone();
            fewer.drain(at..(at + piece).min(items.len()));
            *effort = effort.saturating_sub(64 + 16 * fewer.len());
            if !fewer.is_empty() && will_do(&fewer) {
                items = fewer;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    items
}

/// Whether these values alone cannot be nested. Only the gaps at their bounds are looked at, so the time depends only
/// on how many values there are.
fn is_tangled(stays: &Stays, gaps: &Gaps, items: &[Item]) -> bool {
    let mut nest = Nest { gaps: 0, values: Vec::new(), peeks: Vec::new() };
    for item in items {
        let times = stays.times_with(item.record, &item.peeks);
        let ends = gaps.ends(&times);
        if ends[1] < ends[2] {
            let value = nest.values.len() as u32;
            let seen = |&peek: &u32| (value, gaps.seen(&times, &stays.part.calls[peek as usize]));
            nest.peeks.extend(item.peeks.iter().map(seen));
            nest.values.push(ends);
        }
    }
    // Between two bounds all gaps are alike, so one of them suffices.
    let of_peeks = nest.peeks.iter().flat_map(|(_, ends)| ends);
    let mut bounds: Vec<u32> = nest.values.iter().flatten().chain(of_peeks).copied().collect();
    bounds.sort_unstable();
    bounds.dedup();
    let rank = |gap: &mut u32| *gap = bounds.partition_point(|&bound| bound < *gap) as u32;
    nest.values.iter_mut().flatten().for_each(rank);
    nest.peeks.iter_mut().flat_map(|(_, ends)| ends).for_each(rank);
    nest.gaps = bounds.len() as u32;
    let mut peel = Peel::new(&nest, false);
    peel.run();
    peel.left > 0
}

fn linearize(stays: &Stays, gaps: &Gaps, peel: &Peel, records: &[u32], empties: &[u32]) -> Linearization {
    // Sorted by gap. At each gap come first the pops, the last pushed first; then `empty`, or the peeks of the value
    // that is inside before and after; then the values that are pushed and popped here; then the pushes, the last
    // popped first. Other peeks come next to the push or the pop of their value. If the order is still open, the value
    // that was taken away first is outermost.
    let mut effects: Vec<(u32, u8, u32, u32, u8, u32)> = Vec::new();
    let mut place = |record: u32, [push, pop, turn]: [u32; 3], seen: &mut dyn FnMut(u32) -> u32| {
        let times = &stays.times[record as usize];
        let mut effect = |gap: u32, step: u8, at: u32| {
            effects.push(match gap {
                _ if push == pop => (gap, 2, turn, 0, step, at),
                _ if gap == push => (gap, 3, u32::MAX - pop, turn, step, at),
                _ if gap == pop => (gap, 0, u32::MAX - push, u32::MAX - turn, step, at),
                _ => (gap, 1, 0, 0, step, at),
            });
        };
        effect(push, 0, times.insert);
        for (at, _) in stays.peeks_of(record) {
            effect(seen(at).clamp(push, pop), 1, at);
        }
        if times.remove != NONE {
            effect(pop, 2, times.remove);
        }
    };
    let mut next_seen = peel.seen.iter().copied();
    for (&record, &places) in records.iter().zip(&peel.places) {
        place(record, places, &mut |_| next_seen.next().unwrap_or(0));
    }
    for (record, times) in (0..).zip(&stays.times).filter(|(_, times)| times.is_present()) {
        let [_, from, to, _] = gaps.ends(times);
        if from >= to {
            // All at one gap, or at two with none between.
            let [push, pop] = if to < from { [to, to] } else { [from - 1, from] };
            let places = [push, pop, records.len() as u32 + record];
            place(record, places, &mut |at| gaps.seen(times, &stays.part.calls[at as usize])[0]);
        }
    }
    effects.extend(empties.iter().zip(&stays.empties).map(|(&moment, &at)| (gaps.after(moment), 1, 0, 0, 0, at)));
    effects.sort_unstable();
    stays.linearization(effects.into_iter().map(|(.., at)| at))
}
