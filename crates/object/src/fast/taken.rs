//! Which values the pending removals of a priority queue took: a guess, that mostly is right where there is a right one.
//!
//! A value that no operation removed that returned is *left*. If a pending removal takes it, it is certainly inside only
//! up to the call of that. Each removal, peek and `empty` needs an instant at which nothing larger is inside; so all larger
//! values that are left and have entered by then must have been taken, by as many pending removals that were called.
//! These need no instant of their own: nothing larger is inside there.
//!
//! To be early means that fewer values must be taken, to be late that more pending removals have been called. In the order
//! of the returns, each gets the instant for which the fewest more values must be taken, and of these the latest, such that
//! at no time more must have been taken than removals were called. Then the first that is taken goes to the first pending removal,
//! and so on. This is not exact, as what is best for one may hinder another: with these removals the history is decided
//! again, and if that fails it is for the search.

use std::collections::{BTreeMap, BinaryHeap};

use super::containers::Stays;

/// Steps for each moment of the history before the guess is given up.
const EFFORT: usize = 64;

/// A removal, a peek or an `empty`: it needs an instant right after one of these moments at which everything inside is
/// less than the bound.
struct Need {
    from: u32,
    to: u32,
    bound: u32,
}

/// A value that must have been taken by an instant, right after a moment.
struct Taken {
    at: u32,
    entered: u32,
    value: u32,
    record: u32,
}

impl Taken {
    /// Whether it is taken only after an instant at which what is inside must be less than a bound.
    const fn is_in_the_way(&self, at: u32, bound: u32) -> bool {
        self.value >= bound && self.entered <= at && at < self.at
    }
}

/// Whether pending removals that were `called` suffice if at an instant so many more values are taken, and also what is taken
/// later and would be in the way.
fn has_room(called: &[u32], taken: &[Taken], at: u32, bound: u32, count: usize) -> bool {
    let start = taken.partition_point(|taken| taken.at <= at);
    let later = &taken[start..];
    let is_enough = |at: u32, count: usize| called.partition_point(|&call| call <= at) >= count;
    let mut more = count + later.iter().filter(|other| other.is_in_the_way(at, bound)).count();
    (more == 0 || is_enough(at, start + more))
        && (start + 1..).zip(later).all(|(before, other)| {
            more -= usize::from(other.is_in_the_way(at, bound));
            more == 0 || is_enough(other.at, before + more)
        })
}

/// Records that are left, each with the place of a pending removal that may have taken it; none if there is no guess.
pub fn guess(stays: &Stays) -> Option<Vec<(u32, u32)>> {
    let covered = covered(stays);
    let is_left = |record: &u32| stays.is_left(&stays.times[*record as usize]);
    let mut entering = stays.by_first_return().filter(is_left).peekable();
    // What is left, has entered, and is not taken: when it entered, and the record, by value.
    let mut inside: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    let called: Vec<u32> = stays.pending.iter().map(|&at| stays.part.calls[at as usize].call).collect();
    let mut taken: Vec<Taken> = Vec::new();
    let mut above = Vec::new();
    let mut effort = EFFORT * covered.len();
    for need in needs(stays) {
        while let Some(record) = entering.next_if(|&record| stays.times[record as usize].insert_return < need.to) {
            let times = &stays.times[record as usize];
            inside.insert(stays.value(times).0, (times.insert_return, record));
        }
        above.clear();
        above.extend(inside.range(need.bound..).map(|(&value, &(entered, record))| (entered, value, record)));
        above.sort_unstable();
        let late = taken.partition_point(|taken| taken.at <= need.from);
        let (count, at) = (0..=above.len()).find_map(|count| {
            let first = if count == 0 { need.from } else { need.from.max(above[count - 1].0) };
            let end = above.get(count).map_or(need.to, |&(entered, ..)| need.to.min(entered));
            effort = effort.checked_sub((1 + taken.len() - late) * end.saturating_sub(first) as usize)?;
            let is_free = |at: u32| covered[at as usize] <= need.bound;
            let fits = |&at: &u32| is_free(at) && has_room(&called, &taken, at, need.bound, count);
            (first..end).rev().find(fits).map(|at| (count, at))
        })?;
        effort = effort.checked_sub(1 + above.len())?;
        for other in &mut taken[late..] {
            if other.is_in_the_way(at, need.bound) {
                other.at = at;
            }
        }
        taken.extend(above[..count].iter().map(|&(entered, value, record)| Taken { at, entered, value, record }));
        taken[late..].sort_by_key(|taken| taken.at);
        for (_, value, _) in &above[..count] {
            inside.remove(value);
        }
    }
    Some(taken.iter().map(|taken| taken.record).zip(stays.pending.iter().copied()).collect())
}

/// By moment: one more than the largest value that is certainly inside right after it, whatever is taken; 0 if none is.
fn covered(stays: &Stays) -> Vec<u32> {
    let mut entering = stays.by_first_return().map(|record| (record, &stays.times[record as usize])).peekable();
    let mut inside: BinaryHeap<(u32, u32)> = BinaryHeap::new();
    let moment = |moment: u32| {
        while let Some((record, times)) = entering.next_if(|(_, times)| times.insert_return <= moment) {
            let last_peek = || stays.peeks_of(record).last().map_or(0, |(_, peek)| peek.call);
            let end = if stays.is_left(times) { last_peek() } else { times.remove_call };
            inside.push((stays.value(times).0 + 1, end));
        }
        while inside.peek().is_some_and(|&(_, end)| end <= moment) {
            inside.pop();
        }
        inside.peek().map_or(0, |&(value, _)| value)
    };
    (0..stays.end).map(moment).collect()
}

/// What needs an instant, by its end.
fn needs(stays: &Stays) -> Vec<Need> {
    let calls = stays.part.calls;
    let mut needs = Vec::with_capacity(calls.len() - stays.times.len());
    for (record, times) in (0..).zip(&stays.times).filter(|(_, times)| times.is_present()) {
        let bound = stays.value(times).0 + 1;
        if !stays.is_left(times) {
            needs.push(Need { from: times.remove_call, to: times.remove_return, bound });
        }
        for (_, peek) in stays.peeks_of(record) {
            let from = peek.call.max(times.insert_call);
            needs.push(Need { from, to: peek.ret.min(times.remove_return), bound });
        }
    }
    let empty = stays.empties.iter().map(|&at| &calls[at as usize]);
    needs.extend(empty.map(|call| Need { from: call.call, to: call.ret, bound: 0 }));
    needs.sort_unstable_by_key(|need| (need.to, need.from));
    needs
}
