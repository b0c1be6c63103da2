//! Deadlines and tokens are the budget's own.

use std::thread;
use std::time::{Duration, Instant};

use budget::{Budget, Cancel, GaveUp};

#[test]
fn a_clone_is_the_same_budget_and_another_is_another() {
    let [mine, yours] = [(); 2].map(|()| Cancel::new());
    let [my_budget, your_budget] = [&mine, &yours].map(|cancel| Budget::default().cancel(cancel));
    let (token, copy) = (mine.clone(), my_budget.clone());
    thread::spawn(move || token.cancel()).join().expect("it does not panic");
    assert!(mine.is_cancelled() && !yours.is_cancelled());
    for budget in [&my_budget, &copy, &copy.clone().timeout(Duration::ZERO)] {
        assert_eq!(budget.check(), Err(GaveUp::Cancelled));
        assert_eq!(budget.why(), GaveUp::Cancelled);
    }
    assert_eq!(your_budget.check(), Ok(()));
}

#[test]
fn the_earliest_deadline_counts() {
    let now = Instant::now();
    let [soon, late] = [1, 1000].map(|seconds| now.checked_add(Duration::from_secs(seconds)));
    for order in [[soon, late, None], [late, None, soon], [None, soon, late]] {
        let budget = order.into_iter().fold(Budget::default(), Budget::until);
        assert_eq!(budget.deadline(), soon);
    }
    assert_eq!(Budget::default().timeout(Duration::MAX).deadline(), None, "too far away for the clock");
    assert_eq!(Budget::default().timeout(Duration::ZERO).check(), Err(GaveUp::Time));
    assert!(!Budget::UNLIMITED.is_limited() && !Budget::default().until(None).is_limited());
}
