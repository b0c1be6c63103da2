//! Priority queue: each removal needs an instant at which no larger value is certainly inside, and each `empty` one at
//! which none is.
//!
//! Values are visited from the largest; the gaps that the stays of larger ones cover are joined, so that the first one
//! that is free after a moment is found in almost constant time.
//!
//! The witness: each removal at the first free gap from its call on, each insert as late as it can be. A value is then
//! inside only while it, or a larger one, is certainly inside, so nothing smaller is removed meanwhile.

use certificate::object::Linearization;

use super::Answer;
use super::containers::{NONE, Stays, covered};
use super::gaps::Gaps;

/// The gaps that are covered, as a forest: the root of a gap is the first free one from it on.
struct Cover {
    next: Vec<u32>,
}

impl Cover {
    fn new(count: u32) -> Self {
        Self { next: (0..=count).collect() }
    }

    fn free(&mut self, from: u32) -> u32 {
        let mut at = from;
        while self.next[at as usize] != at {
            let next = self.next[at as usize];
            self.next[at as usize] = self.next[next as usize];
            at = next;
        }
        at
    }

    fn cover(&mut self, [from, to]: [u32; 2]) {
        let mut at = self.free(from);
        while at < to {
            self.next[at as usize] = at + 1;
            at = self.free(at + 1);
        }
    }
}

/// Decides a priority queue.
pub fn check(stays: &Stays, witness: bool) -> Answer {
    let gaps = Gaps::new(stays);
    let mut cover = Cover::new(gaps.count());
    // The gap at which each value is removed.
    let mut removed = vec![NONE; if witness { stays.times.len() } else { 0 }];
    for (value, times) in stays.times.iter().enumerate().rev().filter(|(_, times)| times.is_present()) {
        let place = cover.free(gaps.from(times.remove_call));
        if times.remove_return <= stays.end && place >= gaps.to(times.remove_return) {
            return Answer::Violation(covered(stays, times.remove, times.remove_call, stays.times[value + 1..].iter()));
        }
        if witness {
            removed[value] = place;
        }
        cover.cover(gaps.inside(times));
    }
    let mut empties = Vec::with_capacity(stays.empties.len());
    for &at in &stays.empties {
        let call = &stays.part.calls[at as usize];
        let place = cover.free(gaps.from(call.call));
        if place >= gaps.to(call.ret) {
            return Answer::Violation(covered(stays, at, call.call, stays.times.iter()));
        }
        empties.push(place);
    }
    Answer::Linearizable(witness.then(|| linearize(stays, &gaps, &removed, &empties)))
}

fn linearize(stays: &Stays, gaps: &Gaps, removed: &[u32], empties: &[u32]) -> Linearization {
    // By gap; at each, first the removals, the largest value first and each right after its insert if that is here too,
    // then `empty`, then the inserts of what stays.
    let mut effects: Vec<(u32, u8, u32, u8, u32)> = Vec::new();
    for (value, times) in stays.times.iter().enumerate().filter(|(_, times)| times.is_present()) {
        let gap = removed[value];
        let last = gaps.to(times.insert_return) - 1;
        let descending = u32::MAX - value as u32;
        if gap <= last {
            effects.push((gap, 0, descending, 0, times.insert));
        } else {
            effects.push((last, 2, 0, 0, times.insert));
        }
        if times.remove != NONE {
            effects.push((gap, 0, descending, 1, times.remove));
        }
    }
    effects.extend(empties.iter().zip(&stays.empties).map(|(&gap, &at)| (gap, 1, 0, 0, at)));
    effects.sort_unstable();
    stays.linearization(effects.into_iter().map(|(.., at)| at))
}
