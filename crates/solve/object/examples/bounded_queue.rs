//! A bounded queue, with calls in memory. A put into a full queue waits; an offer to a full queue gives up.

use std::collections::VecDeque;

use model::Verdict;
use object::{ObjectOptions, Sequential, Timed, check_calls};
use verify::specification;

/// A queue with room for this many values.
pub(crate) struct BoundedQueue(pub(crate) usize);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Waits for room.
    Put(u32),
    /// Returns whether there was room.
    Offer(u32),
    /// Returns nothing if it is empty.
    Poll,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Accepted(bool),
    Value(Option<u32>),
}

impl Sequential for BoundedQueue {
    type State = VecDeque<u32>;
    type Operation = Action;
    type Return = Answer;

    fn initial(&self) -> VecDeque<u32> {
        VecDeque::new()
    }

    fn steps(&self, inside: &VecDeque<u32>, action: &Action) -> impl IntoIterator<Item = (VecDeque<u32>, Answer)> {
        let mut inside = inside.clone();
        let has_room = inside.len() < self.0;
        let answer = match *action {
            Action::Put(_) if !has_room => return None,
            Action::Offer(_) if !has_room => Answer::Accepted(false),
            Action::Put(value) | Action::Offer(value) => {
                inside.push_back(value);
                Answer::Accepted(true)
            }
            Action::Poll => Answer::Value(inside.pop_front()),
        };
        Some((inside, answer))
    }
}

pub(crate) fn main() {
    let queue = BoundedQueue(1);
    let calls = [
        Timed::returned(Action::Put(1), [0, 1], Answer::Accepted(true)),
        // There is no room for 2 before 1 is taken out, so this call waits.
        Timed::returned(Action::Put(2), [2, 5], Answer::Accepted(true)),
        Timed::returned(Action::Poll, [3, 4], Answer::Value(Some(1))),
        Timed::returned(Action::Offer(3), [6, 7], Answer::Accepted(false)),
        Timed::returned(Action::Poll, [8, 9], Answer::Value(Some(2))),
    ];
    let decision = check_calls(&queue, &calls, &ObjectOptions { witness: true, ..ObjectOptions::default() });
    assert_eq!(decision.verdict, Verdict::Consistent);
    let evidence = decision.evidence.expect("a witness was asked for");
    specification::verify(&queue, &calls, decision.verdict, &evidence).expect("the order is one of the queue");
    println!("in this order: {evidence:?}");
}
