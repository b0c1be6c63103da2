//! A priority queue for the search. It limits the steps of pending removals.
//!
//! The search is given few steps, which suffice if few operations overlap. Then a SAT solver (`absence`) decides, if
//! there is one and no peek returned a value. If not, the search goes on.
//!
//! Without pending removals, the contents follow from the operations that are done, so there are no more states than
//! frontiers. With pending removals, two kinds of steps cannot help, and are left out here:
//! - a pending removal of a value, if other removals remove all copies of the value that may be inserted;
//! - an insertion right after pending removals, if its value is not larger than the value that the last of them took.
//!   The insertion can as well come before them, and they still take the same values. So pending removals wait until
//!   another operation needs them.

use certificate::object::{Core, Linearization};
use history::Method;

#[cfg(feature = "sat")]
use super::absence;
use super::{GaveUp, Limits, certain};
use crate::builtin::Machine;
use crate::builtin::priority_queue::PriorityQueue;
use crate::fast::Answer;
use crate::view::{Call, Part, ValueId};

/// How many calls a part has at most for which the search comes first: it blames the first operation that cannot
/// return.
const FEW_CALLS: usize = 256;

/// How many steps the search takes before the solver decides: the first number, and the second for each call.
#[cfg(feature = "sat")]
const FEW_STEPS: (u64, u64) = (1 << 12, 2);

/// Decides a priority queue. The [counts](certain) often show a violation that the search would take long to find.
pub fn check(part: &Part, limits: Limits) -> Result<Answer, GaveUp> {
    if part.calls.len() > FEW_CALLS
        && let Some(blamed) = certain::priority_queue(part)
    {
        return Ok(Answer::Violation(Core::Stuck(blamed)));
    }
    Ok(super::answer(part, linearize(part, limits)?, limits, linearize))
}

/// A linearization; none if there is none.
fn linearize(part: &Part, limits: Limits) -> Result<Option<Linearization>, GaveUp> {
    #[cfg(feature = "sat")]
    if absence::applies(part) {
        let steps = limits.steps.min(FEW_STEPS.0 + FEW_STEPS.1 * part.calls.len() as u64);
        return match search(part, Limits { steps, ..limits }) {
            Err(GaveUp::Steps) => absence::linearize(part, limits),
            answer => answer,
        };
    }
    search(part, limits)
}

fn search(part: &Part, limits: Limits) -> Result<Option<Linearization>, GaveUp> {
    match super::check(part, &mut Lazy::new(part), limits)? {
        Answer::Linearizable(linearization) => Ok(linearization),
        _ => Ok(None),
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
