//! Decides again whether an operation on a stack can return, level by level.
//!
//! Between the push of a value and its pop only this value can be seen. So what can happen from a push on until its pop
//! depends on what is done, and on the value alone: this is a level. Where it can be left, after a pop of its value, is
//! found once for all that enter it with a push; they go on from there. On the lowest level `empty` can be answered. All
//! that can be reached is tried; that is at most a level and what is done, for each.
//!
//! An operation that changes nothing takes place as soon as it can; of those that do and return the same, the first to
//! return goes first, pending ones by their calls.

use std::collections::{HashMap, HashSet};

use history::{Method, OperationId, Value};

use super::super::{Place, Refusal, fault};
use super::again::TOO_MANY;
use super::lockstep::{Done, Operation, Side, operations};
use super::{Claim, END};

#[derive(Default)]
struct Level {
    /// The bits of the value on top; none on the lowest level.
    top: Option<u64>,
    /// The levels that entered it.
    below: HashSet<usize>,
    /// What was done when it was left.
    left: HashSet<Done>,
}

/// That no order of what happened up to the return of an operation on a stack is one of a stack.
pub(super) fn stuck(claim: Claim, blamed: OperationId, most: usize) -> Result<(), Refusal> {
    let side = Side::new(operations(claim, blamed));
    let mut levels = vec![Level::default()];
    let mut numbers: HashMap<(Done, u64), usize> = HashMap::new();
    let mut seen: HashSet<(usize, Done)> = HashSet::new();
    let mut tasks = vec![(0, Done::default())];
    while let Some((level, done)) = tasks.pop() {
        if !seen.insert((level, done.clone())) {
            continue;
        }
        if side.next_return(&done) == END {
            return fault(Place::Core, "the operation can return: there is an order of what happened up to there");
        }
        if seen.len() > most {
            return fault(Place::Core, TOO_MANY);
        }
        let top = levels[level].top;
        let sees = |operation: &Operation| match top {
            None => operation.value == Value::EMPTY,
            Some(top) => operation.method == Method::Peek && operation.value.bits() == top,
        };
        let free: Vec<usize> = side.free(&done).collect();
        if let Some(&at) = free.iter().find(|&&at| sees(&side.operations[at])) {
            tasks.push((level, done.with(at)));
            continue;
        }
        let mut tried: Vec<(Method, u64)> = Vec::new();
        for at in free {
            let Operation { method, value, .. } = side.operations[at];
            if tried.contains(&(method, value.bits())) {
                continue;
            }
            tried.push((method, value.bits()));
            let after = done.with(at);
            if method == Method::Push {
                let next = levels.len();
                let above = *numbers.entry((after.clone(), value.bits())).or_insert(next);
                if above == next {
                    levels.push(Level { top: Some(value.bits()), ..Level::default() });
                    tasks.push((above, after));
                }
                if levels[above].below.insert(level) {
                    tasks.extend(levels[above].left.iter().map(|left| (level, left.clone())));
                }
            } else if method == Method::Pop
                && top.is_some_and(|top| value.is_none() || value.bits() == top)
                && levels[level].left.insert(after.clone())
            {
                tasks.extend(levels[level].below.iter().map(|&below| (below, after.clone())));
            }
        }
    }
    Ok(())
}
