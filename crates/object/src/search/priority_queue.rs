//! A priority queue for the search: what a pending removal can do is told by what returned.
//!
//! Without pending removals, what is inside follows from which operations are done: there are no more states than frontiers.
//! With them, two things cannot help and are no steps here:
//! - a pending removal of a value of which all that may be inserted are removed by others;
//! - an insertion right after pending removals that is not of a larger value than the last of them took: it can come before
//!   them, and they take the same. So these wait until something needs them.

use certificate::object::Core;
use history::Method;

use super::{GaveUp, Interrupt, first_failure};
use crate::builtin::Machine;
use crate::builtin::priority_queue::PriorityQueue;
use crate::fast::Answer;
use crate::view::{Call, Part, ValueId};

/// Decides a priority queue.
pub fn check(part: &Part, interrupt: Interrupt) -> Result<Answer, GaveUp> {
    let decide = |part: &Part| super::check(part, &mut Lazy::new(part), interrupt);
    match decide(part)? {
        // What is removed later may have told, so it is not where the search failed.
        Answer::Violation(_) => {
            let blamed = first_failure(part, |prefix| Ok(matches!(decide(prefix)?, Answer::Linearizable(_))));
            Ok(Answer::Violation(Core::Stuck(blamed)))
        }
        answer => Ok(answer),
    }
}

/// See the module.
#[derive(Clone, Debug)]
struct Lazy {
    queue: PriorityQueue,
    /// For each value, how many more are inserted than removals return it.
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
    /// What is inside; and what a pending removal took, if that was the last step.
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
