//! Guesses which values the pending pops of a stack took.
//!
//! **Definition.** A guess gives a value that is left to some of the pending pops, each value once. It is right if the
//! history is linearizable with it. What is found with a guess is a linearization; what is not found is left to the
//! search.
//!
//! **Invariant.** Each value of the guess has a deadline: a moment at which it must be gone if all values of the guess
//! were taken. A guess only grows, so there are at most as many as values.
//!
//! **What it is worth.** 16 threads, 25,000 operations and 5 pending of 1,000 take 4 ms with the guess, and 100 ms with
//! the search; 100,000 operations and 30 pending 20 ms and more than 12 s.
//!
//! A value that no returned operation popped is *left*. If no pending pop takes it, it stays inside from its push on.
//! Then two kinds of operations contradict it, and each gives a last moment at which the value must be gone:
//! - an `empty` that was called after the push returned;
//! - the pop of a value that was pushed before, and certainly is inside while the value that is left is pushed.
//!
//! A value with such a deadline was taken. The values are sorted by their deadlines, and the pending pops by their
//! calls: the first value goes to the first pending pop, and so on. This order leaves the most time to each value.
//!
//! A guess can be wrong although there is a right one, since more than two values may be in each other's way. So the
//! history is decided again with these pops ([`containers`](crate::containers)). If that fails, the core names the
//! values in question, and [`Guess::learn`] adds one of them.

use history::OperationId;
use model::object::{Core, Stay};
use rustc_hash::FxHashSet;

use super::Stack;
use crate::answer::Answer;
use crate::containers::Stays;
use crate::knobs::StackKnobs;
use crate::view::Call;

/// Guesses which values the pending pops took, and decides with the guess. Each decision that fails adds a value to the
/// guess.
pub fn decide(stays: &mut Stays, witness: bool) -> Option<Answer> {
    let StackKnobs { pending_guesses, pending_guess_calls, .. } = stays.part.knobs.stack;
    let mut guess = Guess::new(stays);
    for _ in 0..pending_guesses.min(1 + pending_guess_calls / stays.part.calls.len()) {
        let pairs = guess.pairs(stays)?;
        match stays.decide_with::<Stack>(&pairs, witness) {
            Answer::Violation(core) if guess.learn(stays, &core) => {}
            answer => return Some(answer),
        }
    }
    None
}

/// The values that pending pops took, each with its deadline.
pub struct Guess {
    /// The deadlines and the records, sorted.
    taken: Vec<(u32, u32)>,
}

impl Guess {
    /// The values that have deadlines.
    pub fn new(stays: &Stays) -> Self {
        let by_empty = deadlines_by_empty(stays);
        let by_pop = deadlines_by_pop(stays);
        let mut taken: Vec<(u32, u32)> = Vec::new();
        for (record, times) in (0..).zip(&stays.times).filter(|(_, times)| stays.is_left(times)) {
            let next = by_empty.partition_point(|&(call, _)| call < times.insert_return);
            let deadline = by_empty.get(next).map_or(Call::NEVER, |&(_, ret)| ret).min(by_pop[record as usize]);
            if deadline != Call::NEVER {
                taken.push((deadline, record));
            }
        }
        taken.sort_unstable();
        Self { taken }
    }

    /// The records that were taken, each with the place of its pending pop. None if there are too few pending pops.
    pub fn pairs(&self, stays: &Stays) -> Option<Vec<(u32, u32)>> {
        let records = self.taken.iter().map(|&(_, record)| record);
        (self.taken.len() <= stays.pending.len()).then(|| records.zip(stays.pending.iter().copied()).collect())
    }

    /// Learns from the core of a decision with these pairs: the last pushed of its values that are left was taken, too,
    /// before the first later removal of the core returned. Returns whether there is such a value.
    pub fn learn(&mut self, stays: &Stays, core: &Core) -> bool {
        let (stays_of_core, removal): (&[Stay], Option<OperationId>) = match core {
            Core::Tangled(by) => (by, None),
            Core::Covered { removal, by } => (by, Some(*removal)),
            _ => return false,
        };
        let left = stays_of_core.iter().filter(|stay| stay.remove.is_none());
        let left: FxHashSet<OperationId> = left.map(|stay| stay.insert).collect();
        let removals: FxHashSet<OperationId> =
            stays_of_core.iter().filter_map(|stay| stay.remove).chain(removal).collect();
        let is_in_core = |&record: &usize| {
            let times = &stays.times[record];
            stays.is_left(times) && left.contains(&stays.operation(times.insert))
        };
        let Some(record) = (0..stays.times.len()).rev().find(is_in_core) else { return false };
        let pushed = stays.times[record].insert_call;
        let record = record as u32;
        let later = stays.part.calls.iter().filter(|call| call.ret > pushed && removals.contains(&call.operation));
        let deadline = later.map(|call| call.ret).min().unwrap_or(stays.end);
        let at = self.taken.partition_point(|&other| other < (deadline, record));
        self.taken.insert(at, (deadline, record));
        true
    }
}

/// The calls of the `empty`s in their order, each with the first return of this `empty` and all later ones.
fn deadlines_by_empty(stays: &Stays) -> Vec<(u32, u32)> {
    let calls = stays.empties.iter().map(|&at| &stays.part.calls[at as usize]);
    let mut deadlines: Vec<(u32, u32)> = calls.map(|call| (call.call, call.ret)).collect();
    let mut first = Call::NEVER;
    for (_, ret) in deadlines.iter_mut().rev() {
        first = first.min(*ret);
        *ret = first;
    }
    deadlines
}

/// For each record that is left: the first return of a pop of a value that was certainly pushed before, and popped
/// after; [`Call::NEVER`] if there is none.
fn deadlines_by_pop(stays: &Stays) -> Vec<u32> {
    let mut deadlines = vec![Call::NEVER; stays.times.len()];
    let mut pops = FirstReturns::new(stays.end);
    let mut entering = stays.by_first_return().peekable();
    for (record, times) in stays.times.iter().enumerate().filter(|(_, times)| stays.is_left(times)) {
        while let Some(other) = entering.next_if(|&other| stays.times[other as usize].insert_return < times.insert_call)
        {
            let other = &stays.times[other as usize];
            if !stays.is_left(other) {
                pops.add(other.remove_call, other.remove_return);
            }
        }
        deadlines[record] = pops.called_after(times.insert_return);
    }
    deadlines
}

/// The pops that have been added, by their calls: a Fenwick tree of the first returns.
struct FirstReturns {
    first: Vec<u32>,
}

impl FirstReturns {
    fn new(end: u32) -> Self {
        Self { first: vec![Call::NEVER; end as usize + 1] }
    }

    fn add(&mut self, call: u32, ret: u32) {
        let mut at = self.first.len() - 1 - call as usize;
        while at < self.first.len() {
            self.first[at] = self.first[at].min(ret);
            at += (at + 1) & (at + 1).wrapping_neg();
        }
    }

    /// The first return of the pops that were called after a moment.
    fn called_after(&self, moment: u32) -> u32 {
        let mut end = (self.first.len() - 1).saturating_sub(moment as usize);
        let mut first = Call::NEVER;
        while end > 0 {
            first = first.min(self.first[end - 1]);
            end &= end - 1;
        }
        first
    }
}
