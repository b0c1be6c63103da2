//! A counter as an object of your own, with calls in memory: their moments, the verdict and its certificate.

use model::Verdict;
use object::{ObjectOptions, Sequential, Timed, check_calls};
use verify::specification;

/// `Some(n)` adds n and returns the sum after it; `None` returns the sum.
pub(crate) struct Counter;

impl Sequential for Counter {
    type State = i64;
    type Operation = Option<i64>;
    type Return = i64;

    fn initial(&self) -> i64 {
        0
    }

    fn steps(&self, sum: &i64, added: &Option<i64>) -> impl IntoIterator<Item = (i64, i64)> {
        let after = sum + added.unwrap_or(0);
        Some((after, after))
    }

    fn observes(&self, added: &Option<i64>, _: &i64) -> bool {
        added.is_none()
    }
}

pub(crate) fn main() {
    // Both add 1 at the same time, and both see 1.
    let calls = [Timed::returned(Some(1), [0, 2], 1), Timed::returned(Some(1), [1, 3], 1)];
    let decision = check_calls(&Counter, &calls, &ObjectOptions::default());
    assert_eq!(decision.verdict, Verdict::Violation);
    let evidence = decision.evidence.expect("a violation has evidence");
    specification::verify(&Counter, &calls, decision.verdict, &evidence).expect("it proves the violation");
    println!("one of the two was lost: {evidence:?}");
}
