//! A priority queue for the search. It limits the steps of pending removals.
//!
//! Without pending removals, the contents follow from the operations that are done, so there are no more states than
//! frontiers. With pending removals, two kinds of steps cannot help, and are left out here:
//! - a pending removal of a value, if other removals remove all copies of the value that may be inserted;
//! - an insertion right after pending removals, if its value is not larger than the value that the last of them took.
//!   The insertion can as well come before them, and they still take the same values. So pending removals wait until
//!   another operation needs them.

use certificate::object::Core;
use history::Method;

use super::{GaveUp, Limits, certain, first_failure};
use crate::builtin::Machine;
use crate::builtin::priority_queue::PriorityQueue;
use crate::fast::Answer;
use crate::view::{Call, Part, ValueId};

/// How many calls a part has at most for which the search comes first: it blames the first operation that cannot
/// return.
const FEW_CALLS: usize = 256;

/// Decides a priority queue. The [counts](certain) often show a violation that the search would take long to find.
pub fn check(part: &Part, limits: Limits) -> Result<Answer, GaveUp> {
    if part.calls.len() > FEW_CALLS
        && let Some(blamed) = certain::priority_queue(part)
    {
        return Ok(Answer::Violation(Core::Stuck(blamed)));
    }
    let decide = |part: &Part, limits: Limits| super::check(part, &mut Lazy::new(part), limits);
    match decide(part, limits)? {
        // This specification knows which values are removed later. So the return at which its search failed may be too
        // early, and the right one is searched for.
        Answer::Violation(_) => {
            let unlimited = limits.interrupt.into();
            let blamed =
                first_failure(part, |prefix| Ok(matches!(decide(prefix, unlimited)?, Answer::Linearizable(_))));
            Ok(Answer::Violation(Core::Stuck(blamed)))
        }
        answer => Ok(answer),
    }
}

/// A priority queue whose pending removals wait until another operation needs them: see the module.
#[derive(Clone, Debug)]
struct Lazy {
    queue: PriorityQueue,
    /// For each value: how many more copies are inserted than returned by removals.
    spare: Vec<i64>,
    scratch: Vec<(u32, ValueId)>,
}

impl Lazy {
    fn new(part: &Part) -> Self {
        let mut spare = vec![0; part.values.len()];
        for call in part.calls {
            match call.method {
                Method::Insert => spare[call.argument.index()] += 1,
                Method::DeleteMax if call.result.is_index() => spare[call.result.index()] -= 1,
                _ => {}
            }
        }
        Self { queue: PriorityQueue::new(part), spare, scratch: Vec::new() }
    }
}

impl Machine for Lazy {
    /// The contents; and, if the last step was a pending removal, the value that it took.
    type State = (u32, ValueId);

    fn initial(&mut self) -> Self::State {
        (self.queue.initial(), ValueId::NONE)
    }

    fn steps(&mut self, &(inside, taken): &Self::State, call: &Call, next: &mut Vec<(Self::State, ValueId)>) {
        if call.method == Method::Insert && taken != ValueId::NONE && call.argument <= taken {
            return;
        }
        self.scratch.clear();
        self.queue.steps(&inside, call, &mut self.scratch);
        for &(after, result) in &self.scratch {
            if call.method == Method::DeleteMax && call.is_pending() {
                if result.is_index() && self.spare[result.index()] > 0 {
                    next.push(((after, result), result));
                }
            } else {
                next.push(((after, ValueId::NONE), result));
            }
        }
    }

    fn observes(&self, call: &Call) -> bool {
        self.queue.observes(call)
    }
}
