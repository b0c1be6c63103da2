//! Independent parts take turns, so that a part whose search takes long does not keep the others from being decided.
//!
//! In each round, the search of every part that is not decided begins anew, and may take so many steps; in the next
//! round, it may take more. The first violation ends all. If only one part is left, its steps are not limited. Since
//! steps are counted, the verdict and the part that is blamed do not depend on the speed of the machine. All rounds but
//! the last take a fraction of the steps that the last takes. Only one search is under way at a time. So all of them
//! together need no more memory than one, and what a search held is given back when its turn is over.
//!
//! A part whose search finds no room, or remembers too much, gets no more turns. The other parts go on: one of them may
//! still be a violation.

use std::ops::ControlFlow;

use ::search::{Turn, Turns};
use model::object::Core;

use crate::answer::Answer;
use crate::search::{Budget, GaveUp, Limits};

/// What came of it.
pub enum Outcome {
    /// A part is not linearizable.
    Violation(Core),
    /// All parts are decided, and none is a violation. The answers are in the order of the parts.
    Decided(Vec<Answer>),
    /// Some part could not be decided, and no part is known to be a violation.
    GaveUp(GaveUp),
}

/// Decides all parts by `search`.
pub fn decide<'b, P>(
    parts: &[P],
    turns: Turns,
    budget: &'b Budget,
    mut search: impl FnMut(&P, Limits<'b>) -> Result<Answer, GaveUp>,
) -> Outcome {
    let mut answers: Vec<Result<Answer, GaveUp>> = parts.iter().map(|_| Err(GaveUp::Steps)).collect();
    let ended = turns.take((0..parts.len()).collect(), u64::MAX, |&mut part, steps| {
        match search(&parts[part], Limits { budget, steps }) {
            Ok(Answer::Violation(core)) => return ControlFlow::Break(Outcome::Violation(core)),
            Err(why) if why.ends_all() => return ControlFlow::Break(Outcome::GaveUp(why)),
            answer => answers[part] = answer,
        }
        ControlFlow::Continue(if answers[part] == Err(GaveUp::Steps) { Turn::Paused } else { Turn::Over })
    });
    match ended {
        ControlFlow::Break(outcome) => outcome,
        ControlFlow::Continue(_) => {
            answers.into_iter().collect::<Result<_, _>>().map_or_else(Outcome::GaveUp, Outcome::Decided)
        }
    }
}

#[cfg(test)]
mod tests {
    use history::OperationId;

    use super::*;
    use crate::knobs::PartKnobs;

    /// Parts that need so many steps. A part that needs an odd number is a violation.
    fn outcome(needs: &[u64]) -> (Outcome, u64) {
        let mut taken = 0_u64;
        let outcome = decide(needs, PartKnobs::DEFAULT.turns(), &Budget::UNLIMITED, |&needs, limits| {
            taken = needs.min(limits.steps).saturating_add(taken);
            match needs {
                _ if needs > limits.steps => Err(GaveUp::Steps),
                u64::MAX => Err(GaveUp::Places),
                _ if needs % 2 == 1 => Ok(Answer::Violation(Core::Stuck(OperationId(needs as u32)))),
                _ => Ok(Answer::Linearizable(None)),
            }
        });
        (outcome, taken)
    }

    #[test]
    fn a_hard_part_does_not_keep_an_easy_one_waiting() {
        let (found, taken) = outcome(&[1 << 40, 1 << 50, 5001, 5003]);
        assert!(matches!(found, Outcome::Violation(Core::Stuck(OperationId(5001)))));
        assert!(taken < 100_000, "{taken}");
    }

    #[test]
    fn the_rounds_before_the_last_cost_little() {
        let (found, taken) = outcome(&[1 << 20, 1 << 20]);
        assert!(matches!(found, Outcome::Decided(parts) if parts.len() == 2));
        assert!(taken < 3 << 20, "{taken}");
    }

    #[test]
    fn a_part_that_finds_no_room_does_not_end_the_others() {
        assert!(matches!(outcome(&[u64::MAX, 2]).0, Outcome::GaveUp(GaveUp::Places)));
        let found = outcome(&[u64::MAX, 2, 1_000_001]).0;
        assert!(matches!(found, Outcome::Violation(Core::Stuck(OperationId(1_000_001)))));
    }
}
