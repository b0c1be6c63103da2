//! Decides again whether an operation on a stack can return, level by level.
//!
//! Between the push of a value and its pop, only this value can be seen, not those below it. So what can happen between
//! them depends only on the operations that are done, and on the value. This is a level. The search finds once how a
//! level can be left, by a pop of its value; all that enter the level by a push continue from there. Only on the lowest
//! level can an operation return `empty`. The search tries every level with every set of done operations that can be
//! reached.
//!
//! Two rules save time: an operation that changes nothing takes effect as soon as it can; and of operations with the
//! same method, argument and result, the first to return goes first, and pending ones go in the order of their calls.

use std::collections::{HashMap, HashSet};

use history::{Method, OperationId, Value};

use super::super::{Place, Refusal, fault};
use super::again::{CAN_RETURN, TOO_MANY};
use super::lockstep::{Done, LockstepOperation, Side, operations};
use super::{Claim, END};

#[derive(Default)]
struct Level {
    /// The bits of the value on top; none on the lowest level.
    top: Option<u64>,
    /// The levels from which this level was entered.
    below: HashSet<usize>,
    /// The sets of done operations with which this level was left.
    left: HashSet<Done>,
}

/// Checks that the operations up to the return of the blamed operation have no order that a stack allows.
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
            return fault(Place::Core, CAN_RETURN);
        }
        if seen.len() > most {
            return fault(Place::Core, TOO_MANY);
        }
        let top = levels[level].top;
        let sees = |operation: &LockstepOperation| match top {
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
            let LockstepOperation { method, value, .. } = side.operations[at];
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
