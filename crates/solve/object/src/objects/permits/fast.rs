//! Decides a mutex or a semaphore, by counting how many are held.
//!
//! An operation takes effect when it returns. If it cannot (an acquisition when all are held, or a release when none
//! is), an open operation of the other kind takes effect first. Of these, the one that returns first is taken, since
//! any other can take effect later just as well. If there is none, the history is a violation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use history::Method;
use model::object::{Core, Linearization};

use crate::answer::Answer;
use crate::view::{Endpoint, Part};

/// Decides a mutex or a semaphore.
pub fn check(part: &Part, witness: bool) -> Answer {
    let mut held = 0_u64;
    let mut is_served = vec![false; part.calls.len()];
    // The open releases and the open acquisitions, sorted by their returns.
    let mut open: [BinaryHeap<Reverse<(u32, u32)>>; 2] = [BinaryHeap::new(), BinaryHeap::new()];
    let mut order = Vec::new();
    let acquires = |at: u32| matches!(part.calls[at as usize].method, Method::Lock | Method::Acquire);
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(at) => {
                let call = &part.calls[at as usize];
                let others = &mut open[usize::from(acquires(at))];
                // An operation that has returned took effect, and is dropped. Only open operations are kept.
                while others.peek().is_some_and(|Reverse((ret, _))| *ret < call.call) {
                    others.pop();
                }
                others.push(Reverse((call.ret, at)));
            }
            Endpoint::Return(at) if is_served[at as usize] => {}
            Endpoint::Return(at) => {
                let stuck = Answer::Violation(Core::Stuck(part.calls[at as usize].operation));
                let is_blocked = if acquires(at) { held >= part.capacity } else { held == 0 };
                if is_blocked {
                    let others = &mut open[usize::from(!acquires(at))];
                    let other = loop {
                        match others.pop() {
                            Some(Reverse((_, other))) if is_served[other as usize] => {}
                            Some(Reverse((_, other))) => break Some(other),
                            None => break None,
                        }
                    };
                    let Some(other) = other.filter(|_| part.capacity > 0) else {
                        return stuck;
                    };
                    is_served[other as usize] = true;
                    held = if acquires(other) { held + 1 } else { held - 1 };
                    order.push(other);
                }
                is_served[at as usize] = true;
                held = if acquires(at) { held + 1 } else { held - 1 };
                order.push(at);
            }
        }
    }
    Answer::Linearizable(witness.then(|| Linearization {
        order: order.iter().map(|&at| part.calls[at as usize].operation).collect(),
        results: Vec::new(),
    }))
}
