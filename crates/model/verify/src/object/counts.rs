//! Shows by counts alone that an operation on a stack or a priority queue cannot return. This needs no search, however
//! often values are inserted.
//!
//! **Stack.** A pop that returned a value took the copy of some push of that value, the *source*. A push Q cannot be
//! the source of the pop P for one of four reasons:
//! 1. Q was called after P returned.
//! 2. An `empty` was called and returned between Q and P. (The copy was inside then.)
//! 3. Take a moment after the return of Q. Every push that was called after this moment, and returned before the call
//!    of P, put a copy above that of Q. A pop took that copy before P. This pop was called before P returned, and
//!    returned after the moment. It returned the value of the push, or it is pending. There are fewer such pops than
//!    such pushes.
//! 4. Every pop that was called after the return of Q, and returned before the call of P, took a copy that was put
//!    above that of Q. So the push of that copy returned after the call of Q. There are fewer such pushes of some value
//!    than such pops of it.
//!
//! If no push can be the source of some pop, there is no order.
//!
//! **Priority queue.** An instant is what lies between two moments. Values are looked at from the largest to the
//! smallest. A removal, or a peek, of a value takes effect at an instant at which no larger value is inside. So a copy
//! of a value is certainly inside, at an instant, if more inserts of the value returned before it than removals of the
//! value can have taken effect before it, pending removals included. An operation that has no instant left cannot
//! return.

use std::collections::{BTreeMap, HashMap};

use history::{Method, OperationId, Value};

use super::lockstep::{LockstepOperation, operations};
use super::run::priority;
use super::{Claim, END};

/// How many events are looked at, at most.
const MOST_EVENTS: usize = 1 << 28;

/// Whether counts show that the operations on a stack, up to the return of the blamed one, have no order.
pub(super) fn stack_has_no_order(claim: Claim, blamed: OperationId) -> bool {
    let operations = operations(claim, blamed);
    let mut events: Vec<(u64, usize)> = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        events.extend([operation.call, operation.ret].into_iter().filter(|&moment| moment != END).map(|m| (m, at)));
    }
    events.sort_unstable();
    let is_pending = |operation: &&LockstepOperation| operation.method == Method::Pop && operation.value.is_none();
    let pending = operations.iter().filter(is_pending).count() as i64;
    let mut counts = Counts { operations: &operations, events: &events, pending, looked_at: 0 };
    let mut open: Vec<usize> = Vec::new();
    for (place, &(moment, at)) in events.iter().enumerate() {
        let operation = operations[at];
        if moment == operation.ret {
            open.retain(|&other| other != at);
            continue;
        }
        if takes(&operation) && operation.ret != END && !counts.has_source(place, &open) {
            return true;
        }
        if counts.looked_at > MOST_EVENTS {
            return false;
        }
        open.push(at);
    }
    false
}

/// Whether an operation took a copy of a value that is known.
fn takes(operation: &LockstepOperation) -> bool {
    operation.method == Method::Pop && operation.value != Value::EMPTY && !operation.value.is_none()
}

/// By value, how many operations need a partner, less the partners. And how many lack one, all values together.
#[derive(Clone, Default)]
struct Lack {
    by_value: HashMap<u64, i64>,
    all: i64,
}

impl Lack {
    fn add(&mut self, value: Value, change: i64) {
        let count = self.by_value.entry(value.bits()).or_insert(0);
        self.all -= (*count).max(0);
        *count += change;
        self.all += (*count).max(0);
    }
}

struct Counts<'a> {
    /// The operations on the stack.
    operations: &'a [LockstepOperation],
    /// The moments of calls and returns, in the order of time, each with its operation.
    events: &'a [(u64, usize)],
    /// How many pops may have taken any value.
    pending: i64,
    looked_at: usize,
}

impl Counts<'_> {
    /// Whether some push can be the source of the pop that was called at an event. `open` are the operations that were
    /// open then.
    fn has_source(&mut self, place: usize, open: &[usize]) -> bool {
        let pop = self.operations[self.events[place].1];
        let (mut pushes, mut pops) = (Lack::default(), Lack::default());
        let during = self.events[place + 1..].iter().take_while(|event| event.0 < pop.ret);
        let called = during.filter(|&&(moment, at)| moment == self.operations[at].call).map(|&(_, at)| at);
        for at in open.iter().copied().chain(called) {
            self.looked_at += 1;
            let operation = self.operations[at];
            if operation.method == Method::Push {
                if operation.value == pop.value {
                    return true;
                }
                pops.add(operation.value, -1);
            } else if takes(&operation) {
                pushes.add(operation.value, -1);
            }
        }
        for (place, &(moment, at)) in self.events[..place].iter().enumerate().rev() {
            self.looked_at += 1;
            let operation = self.operations[at];
            if operation.ret > pop.call {
                continue;
            }
            let is_call = moment == operation.call;
            if operation.method == Method::Push {
                if is_call {
                    pushes.add(operation.value, 1);
                } else {
                    if operation.value == pop.value && self.has_pushes(place, &pops) {
                        return true;
                    }
                    pops.add(operation.value, -1);
                }
            } else if operation.value == Value::EMPTY && is_call {
                return false;
            } else if takes(&operation) {
                if is_call { pops.add(operation.value, 1) } else { pushes.add(operation.value, -1) }
            }
            // What was called earlier changes nothing: these pushes lack a pop for each source that returned earlier.
            if pushes.all > self.pending {
                return false;
            }
        }
        false
    }

    /// Whether the pops after a push, which returned at an event, can all have taken copies of pushes that returned
    /// after it was called. `pops` does not count those that returned before it did.
    fn has_pushes(&mut self, place: usize, pops: &Lack) -> bool {
        let push = self.operations[self.events[place].1];
        let mut pops = pops.clone();
        for &(moment, at) in self.events[..place].iter().rev().take_while(|event| event.0 > push.call) {
            self.looked_at += 1;
            let operation = self.operations[at];
            if operation.method == Method::Push && moment == operation.ret {
                pops.add(operation.value, -1);
            }
        }
        pops.all == 0
    }
}

/// Whether counts show that the operations on a priority queue, up to a moment, have no order.
pub(super) fn priority_queue_has_no_order(claim: Claim, members: &[OperationId], limit: u64) -> bool {
    let history = claim.history;
    let mut moments: Vec<u64> = members.iter().flat_map(|&id| [claim.call(id), claim.ret(id)]).collect();
    moments.sort_unstable();
    moments.dedup();
    // Instant `i` lies between the moments `i` and `i + 1`.
    let instant = |moment: u64| moments.partition_point(|&other| other < moment);
    let mut by_value: BTreeMap<Option<i128>, Vec<OperationId>> = BTreeMap::new();
    let mut pending = 0;
    for &id in members.iter().filter(|&&id| claim.call(id) <= limit) {
        let operation = history.operation(id);
        let value = match operation.method {
            Method::Insert => operation.argument,
            _ => claim.result(id),
        };
        if value.is_none() {
            pending += i64::from(operation.method == Method::DeleteMax);
        } else {
            // An `empty` is looked at last.
            let priority = if value == Value::EMPTY { None } else { priority(history, value) };
            by_value.entry(priority).or_default().push(id);
        }
    }
    if by_value.len().saturating_mul(moments.len()) > MOST_EVENTS {
        return false;
    }
    let mut is_covered = vec![false; moments.len()];
    for ids in by_value.values().rev() {
        // Copies that went in, less the removals that can have taken them, by instant at which this changes.
        let mut change = vec![0; moments.len() + 1];
        change[0] = -pending;
        // The first instant from each on at which no larger value is certainly inside.
        let mut free = vec![moments.len(); moments.len() + 1];
        for at in (0..moments.len()).rev() {
            free[at] = if is_covered[at] { free[at + 1] } else { at };
        }
        for &id in ids {
            if history.operation(id).method == Method::Insert {
                change[if claim.ret(id) <= limit { instant(claim.ret(id)) } else { moments.len() }] += 1;
                continue;
            }
            let first = free[instant(claim.call(id))];
            if claim.ret(id) <= limit && first >= instant(claim.ret(id)) {
                return true;
            }
            if history.operation(id).method == Method::DeleteMax {
                change[first] -= 1;
            }
        }
        let mut inside = 0;
        for (at, is_covered) in is_covered.iter_mut().enumerate() {
            inside += change[at];
            *is_covered |= inside > 0;
        }
    }
    false
}
