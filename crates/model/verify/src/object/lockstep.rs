//! Decides again whether an operation on a queue can return: enqueues and dequeues in lockstep.
//!
//! The i-th dequeue takes the value that the i-th enqueue put. So a linearization is two sequences: one of the
//! enqueues, and one of the removals, which are here the dequeues and the peeks. Three conditions hold:
//! 1. each sequence agrees with real time;
//! 2. the i-th dequeue returned the value of the i-th enqueue, and a peek returned the value of the next dequeue;
//! 3. no removal returned before the call of the enqueue of its value, or before the call of an earlier enqueue.
//!
//! Two such sequences can always be merged into a linearization. Suppose that they cannot. Then there is a circle of
//! operations, each of which must come before the next. Somewhere on the circle, a removal x returned before the call
//! of an enqueue e. The circle goes on to an enqueue e', which is e or stands after e. From e' it comes back to a
//! removal y, which is x or stands before x. There are two reasons why e' must come before y:
//! - y returned the value of e'. Then x returned that value or the value of a later enqueue. This contradicts the third
//!   condition, since x returned before the call of e.
//! - e' returned before the call of y. Since the enqueues agree with real time, e was called before e' returned. So x
//!   returned before the call of y. This contradicts the first condition.
//!
//! An `empty` stands where both sequences have the same length, and where no operation that comes later returned before
//! the call of an operation that came earlier.
//!
//! What can follow depends only on the operations that are done in each sequence, and on the value in front, if its
//! enqueue is done and its dequeue is not. The search enqueues a value only when its removals come next. It tries all
//! states that can be reached.

use std::collections::HashSet;

use history::{Method, OperationId, Value};

use super::super::{Place, Refusal, fault};
use super::again::{CAN_RETURN, TOO_MANY};
use super::{Claim, END};

#[derive(Copy, Clone)]
pub(super) struct LockstepOperation {
    pub(super) call: u64,
    /// The moment of its return; [`END`] if it has not returned when the blamed operation returns. Then it need not
    /// happen.
    pub(super) ret: u64,
    pub(super) method: Method,
    /// The value that it puts, takes or sees; none if any value will do.
    pub(super) value: Value,
}

/// The operations of one of the two sequences, sorted by their returns.
pub(super) struct Side {
    pub(super) operations: Vec<LockstepOperation>,
    /// For each operation: the operations that return no earlier than this operation, and are called before this
    /// operation returns.
    open: Vec<Vec<usize>>,
    /// For each operation: the last call of the operations before it in this list.
    last_call: Vec<u64>,
}

impl Side {
    pub(super) fn new(mut operations: Vec<LockstepOperation>) -> Self {
        operations.sort_by_key(|operation| (operation.ret, operation.call));
        let count = operations.len();
        let mut by_call: Vec<usize> = (0..count).collect();
        by_call.sort_by_key(|&at| operations[at].call);
        let mut called = by_call.into_iter().peekable();
        let mut now: Vec<usize> = Vec::new();
        let mut open = Vec::new();
        let mut last_call = vec![0];
        for (at, operation) in operations.iter().enumerate() {
            while let Some(other) = called.next_if(|&other| operations[other].call < operation.ret) {
                now.push(other);
            }
            now.retain(|&other| other >= at);
            now.sort_unstable();
            open.push(now.clone());
            last_call.push(operation.call.max(last_call[at]));
        }
        open.push(Vec::new());
        Self { operations, open, last_call }
    }

    /// The first return of the operations that are not done.
    pub(super) fn next_return(&self, done: &Done) -> u64 {
        self.operations.get(done.first).map_or(END, |operation| operation.ret)
    }

    /// The last call of the operations that are done.
    fn last_call(&self, done: &Done) -> u64 {
        done.others.iter().map(|&at| self.operations[at].call).fold(self.last_call[done.first], u64::max)
    }

    /// The operations of this sequence that can be next in it.
    pub(super) fn free(&self, done: &Done) -> impl Iterator<Item = usize> {
        self.open[done.first].iter().copied().filter(|at| !done.others.contains(at))
    }
}

/// A set of operations of a side that are done.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Done {
    /// The first operation that is not done.
    first: usize,
    /// The operations after it that are done, sorted.
    others: Vec<usize>,
}

impl Done {
    pub(super) fn with(&self, at: usize) -> Self {
        let mut done = self.clone();
        done.others.push(at);
        done.others.sort_unstable();
        while done.others.first() == Some(&done.first) {
            done.others.remove(0);
            done.first += 1;
        }
        done
    }
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct State {
    enqueued: Done,
    removed: Done,
    /// The bits of the value in front, if its enqueue is done and its dequeue is not. Then both sequences are equally
    /// long, but for that enqueue.
    front: Option<u64>,
}

/// The operations that were called up to the return of the blamed operation.
pub(super) fn operations(claim: Claim, blamed: OperationId) -> Vec<LockstepOperation> {
    let group = claim.group(blamed);
    let limit = claim.ret(blamed);
    let happened =
        |id: &OperationId| claim.may_have_happened(*id) && claim.group(*id) == group && claim.call(*id) <= limit;
    let mut operations = Vec::new();
    for id in claim.ids().filter(happened) {
        let method = claim.history.operation(id).method;
        let ret = if claim.ret(id) <= limit { claim.ret(id) } else { END };
        let operation = |value| LockstepOperation { call: claim.call(id), ret, method, value };
        if matches!(method, Method::Enqueue | Method::Push) {
            operations.push(operation(claim.history.operation(id).argument));
        } else if method != Method::Peek || ret != END {
            operations.push(operation(claim.result(id)));
        }
    }
    operations
}

/// Checks that the operations up to the return of the blamed operation have no order that a queue allows.
pub(super) fn stuck(claim: Claim, blamed: OperationId, most: usize) -> Result<(), Refusal> {
    let (enqueues, removals) =
        operations(claim, blamed).into_iter().partition(|operation| operation.method == Method::Enqueue);
    let lockstep = Lockstep { enqueues: Side::new(enqueues), removals: Side::new(removals) };
    let mut left = vec![State::default()];
    let mut seen: HashSet<State> = HashSet::from([State::default()]);
    let mut next = Vec::new();
    while let Some(state) = left.pop() {
        // The enqueues that are left can follow, since no removal is left that must happen.
        if lockstep.removals.next_return(&state.removed) == END {
            return fault(Place::Core, CAN_RETURN);
        }
        lockstep.steps(&state, &mut next);
        for state in next.drain(..) {
            if seen.insert(state.clone()) {
                left.push(state);
            }
        }
        if seen.len() > most {
            return fault(Place::Core, TOO_MANY);
        }
    }
    Ok(())
}

struct Lockstep {
    enqueues: Side,
    removals: Side,
}

impl Lockstep {
    fn steps(&self, state: &State, next: &mut Vec<State>) {
        let Self { enqueues, removals } = self;
        let remove = |at: usize, front: Option<u64>| State { removed: state.removed.with(at), front, ..state.clone() };
        if let Some(front) = state.front {
            for at in removals.free(&state.removed) {
                let LockstepOperation { method, value, .. } = removals.operations[at];
                if value.bits() == front || (value.is_none() && method == Method::Dequeue) {
                    next.push(remove(at, if method == Method::Peek { Some(front) } else { None }));
                }
            }
            return;
        }
        let returns = [enqueues.next_return(&state.enqueued), removals.next_return(&state.removed)];
        let before = returns[0].min(returns[1]);
        // An `empty` that can take effect here may do so at once, since it changes nothing.
        if removals.last_call(&state.removed) < returns[0] {
            let fits = |at: &usize| {
                let LockstepOperation { call, value, .. } = removals.operations[*at];
                value == Value::EMPTY && call < before
            };
            if let Some(at) = removals.free(&state.removed).find(fits) {
                next.push(remove(at, None));
                return;
            }
        }
        let mut values: Vec<u64> = Vec::new();
        for at in enqueues.free(&state.enqueued) {
            let LockstepOperation { call, value, .. } = enqueues.operations[at];
            // Of operations with the same value, the first to return goes first.
            if call < before && !values.contains(&value.bits()) {
                values.push(value.bits());
                let enqueued = state.enqueued.with(at);
                next.push(State { enqueued, removed: state.removed.clone(), front: Some(value.bits()) });
            }
        }
    }
}
