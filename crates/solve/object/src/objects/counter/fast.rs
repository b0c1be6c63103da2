//! Decides a counter to which every addition adds the same positive number, or nothing. Amounts may repeat, then: only
//! how many additions came before a read matters, not which. (If the amounts differ, a read asks which of the open
//! additions make up its sum. That is the problem of subset sums, which is NP-hard.)
//!
//! The sum is kept as small as it can be. An addition takes effect when it returns; or earlier, when a read returns
//! that saw a larger sum: then open additions take effect until the sum is right, first those that return first. A read
//! takes effect at the first moment between its call and its return at which the sum is what it saw.
//!
//! Why this is exact: at every moment, the sum here is the least of all linearizations of what happened so far. It only
//! grows when it must, and of the open additions those are taken that would have to take effect soonest anyway. The sum
//! grows by single additions. So if it was not larger than what a read saw at the call of the read, and is not smaller
//! at its return, it was right at some moment between. If a read saw less than the sum at its call, it saw less than
//! the least possible sum. If it saw more than the sum and all open additions, it saw more than the largest possible
//! one.
//!
//! If amounts differ, or one is negative, the algorithm declines. It still finds that a read saw less than all that was
//! added before its call, or more than all that was called before its return, if no amount is negative.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use history::Method;
use model::object::{Core, Linearization};

use crate::answer::Answer;
use crate::view::{Call, Endpoint, Part};

/// Decides a counter.
pub fn check(part: &Part, witness: bool) -> Answer {
    let numbers = part.numbers();
    let amount = |call: &Call| numbers[call.argument.index()];
    let mut amounts = part.calls.iter().filter(|call| call.method == Method::Increase).map(amount).filter(|&n| n != 0);
    let unit = amounts.next().unwrap_or(1);
    let is_same = amounts.clone().all(|amount| amount == unit);
    if unit < 0 || amounts.any(|amount| amount < 0) {
        return Answer::Declined("an addition is negative");
    }
    if !is_same {
        let stuck = out_of_bounds(part, &numbers);
        let declined = Answer::Declined("additions of different amounts");
        return stuck.map_or(declined, |at| Answer::Violation(Core::Stuck(part.calls[at as usize].operation)));
    }
    let mut sweep = Sweep { is_done: vec![false; part.calls.len()], ..Sweep::default() };
    // The open additions, sorted by their returns.
    let mut open: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(at) => {
                let call = &part.calls[at as usize];
                if call.method != Method::Increase {
                    match call.result.is_index().then(|| numbers[call.result.index()]) {
                        Some(seen) if seen != sweep.sum => sweep.reads.entry(seen).or_default().push(at),
                        _ => sweep.take(at, 0),
                    }
                } else if amount(call) == 0 {
                    if !call.is_pending() {
                        sweep.take(at, 0);
                    }
                } else {
                    // Those that have returned took effect, and are dropped.
                    while open.peek().is_some_and(|Reverse((ret, _))| *ret < call.call) {
                        open.pop();
                    }
                    open.push(Reverse((call.ret, at)));
                }
            }
            Endpoint::Return(at) if sweep.is_done[at as usize] => {}
            Endpoint::Return(at) => {
                let call = &part.calls[at as usize];
                if call.method == Method::Increase {
                    sweep.take(at, unit);
                    continue;
                }
                while sweep.sum < numbers[call.result.index()] {
                    let Some(Reverse((_, next))) = open.pop() else { break };
                    if !sweep.is_done[next as usize] {
                        sweep.take(next, unit);
                    }
                }
                if !sweep.is_done[at as usize] {
                    return Answer::Violation(Core::Stuck(call.operation));
                }
            }
        }
    }
    Answer::Linearizable(witness.then(|| {
        let order = sweep.order.iter().map(|&at| part.calls[at as usize].operation).collect();
        Linearization { order, results: Vec::new() }
    }))
}

#[derive(Default)]
struct Sweep {
    sum: i128,
    is_done: Vec<bool>,
    /// The open reads that wait for each sum.
    reads: BTreeMap<i128, Vec<u32>>,
    order: Vec<u32>,
}

impl Sweep {
    /// Lets an operation take effect that adds so much, and the reads that see the new sum.
    fn take(&mut self, at: u32, amount: i128) {
        self.is_done[at as usize] = true;
        self.order.push(at);
        if amount > 0 {
            self.sum += amount;
            for read in self.reads.remove(&self.sum).into_iter().flatten() {
                self.is_done[read as usize] = true;
                self.order.push(read);
            }
        }
    }
}

/// The first read that returned a sum that no order can explain: less than all that returned before its call added, or
/// less than another read saw that returned before its call; or more than all that was called before its return adds.
fn out_of_bounds(part: &Part, numbers: &[i128]) -> Option<u32> {
    let (mut returned, mut called, mut seen) = (0, 0, 0);
    let mut least = vec![0; part.calls.len()];
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(at) => {
                least[at as usize] = returned.max(seen);
                let call = &part.calls[at as usize];
                if call.method == Method::Increase {
                    called += numbers[call.argument.index()];
                }
            }
            Endpoint::Return(at) => {
                let call = &part.calls[at as usize];
                if call.method == Method::Increase {
                    returned += numbers[call.argument.index()];
                } else if call.result.is_index() {
                    let result = numbers[call.result.index()];
                    if result < least[at as usize] || result > called {
                        return Some(at);
                    }
                    seen = seen.max(result);
                }
            }
        }
    }
    None
}
