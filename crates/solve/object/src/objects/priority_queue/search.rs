//! A priority queue for the search. It limits the steps of pending removals.
//!
//! The search suffices if few operations overlap. Where more do, a SAT solver (`absence`) is often faster, if there is
//! one and no peek returned a value. So the two take turns.
//!
//! Without pending removals, the contents follow from the operations that are done, so there are no more states than
//! frontiers. With pending removals, two kinds of steps cannot help, and are left out here:
//! - a pending removal of a value, if other removals remove all copies of the value that may be inserted;
//! - an insertion right after pending removals, if its value is not larger than the value that the last of them took.
//!   The insertion can as well come before them, and they still take the same values. So pending removals wait until
//!   another operation needs them.

#[cfg(feature = "sat")]
use std::ops::ControlFlow;

#[cfg(feature = "sat")]
use ::search::{Turn, Turns};
use history::Method;
use model::object::{Core, Linearization};

#[cfg(feature = "sat")]
use super::absence;
use super::{PriorityQueue, counts};
use crate::answer::Answer;
#[cfg(feature = "sat")]
use crate::knobs::PriorityQueueKnobs;
use crate::objects::{Machine, Specification};
use crate::search::{self, GaveUp, Limits};
use crate::view::{Call, Part, ValueId};

/// Decides a priority queue. The [counts] often show a violation that the search would take long to find.
pub fn check(part: &Part, limits: Limits) -> Result<Answer, GaveUp> {
    if part.calls.len() > part.knobs.priority_queue.few_calls
        && let Some(blamed) = counts::violation(part)
    {
        return Ok(Answer::Violation(Core::Stuck(blamed)));
    }
    Ok(search::answer(part, linearize(part, limits)?, limits, linearize))
}

/// A linearization; none if there is none. The search and the solver take turns, and each begins anew in its turn.
fn linearize(part: &Part, limits: Limits) -> Result<Option<Linearization>, GaveUp> {
    #[cfg(feature = "sat")]
    if absence::applies(part) {
        type Way = fn(&Part, Limits) -> Result<Option<Linearization>, GaveUp>;
        let PriorityQueueKnobs { first_turn, turn_growth, solver_share, .. } = part.knobs.priority_queue;
        let turns = Turns { first: (first_turn * part.calls.len() as u64).max(1), growth: turn_growth };
        let mut gave_up = GaveUp::Steps;
        let ways: Vec<(Way, u64)> = vec![(search, 1), (absence::linearize, solver_share)];
        let ended = turns.take(ways, limits.steps, |&mut (way, share), steps| {
            match way(part, Limits { steps: steps.saturating_mul(share), ..limits }) {
                Err(GaveUp::Steps) => ControlFlow::Continue(Turn::Paused),
                Err(why) if !why.ends_all() => {
                    gave_up = why;
                    ControlFlow::Continue(Turn::Over)
                }
                found => ControlFlow::Break(found),
            }
        });
        return match ended {
            ControlFlow::Break(found) => found,
            ControlFlow::Continue(_) => Err(gave_up),
        };
    }
    search(part, limits)
}

fn search(part: &Part, limits: Limits) -> Result<Option<Linearization>, GaveUp> {
    match search::check(part, &mut Lazy::new(part), limits)? {
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
