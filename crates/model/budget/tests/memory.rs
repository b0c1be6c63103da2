//! The limit of memory is the budget's, and the memory is the process's, so this test is alone in its own.

use std::hint::black_box;
use std::thread::sleep;
use std::time::Duration;

use budget::{Budget, GaveUp, ram};

/// Longer than the time for which an answer of the system is remembered.
const A_WHILE: Duration = Duration::from_millis(20);

#[test]
fn limits_of_one_process_do_not_touch_each_other() {
    let before = ram::resident();
    if before == 0 {
        eprintln!("skipped: this system does not say how much memory a process takes");
        return;
    }
    let none = Budget::default();
    assert_eq!(none.check(), Ok(()));
    assert_eq!(none.check_room(1 << 20), Ok(()));
    assert!(none.check_room(1 << 60).is_err(), "no machine has so much");

    let limits = [before + (64 << 20), before + (512 << 20)];
    let [small, large] = limits.map(|limit| Budget::default().memory(limit));
    let exceeded = Err(GaveUp::Memory { limit: limits[0] });
    assert_eq!(small.check(), Ok(()));
    assert_eq!(small.check_room(32 << 20), Ok(()));
    assert_eq!(small.check_room(96 << 20), exceeded);
    assert_eq!(large.check_room(96 << 20), Ok(()));

    let table = black_box(vec![1u8; 96 << 20]);
    sleep(A_WHILE);
    assert!(ram::resident() >= before + (90 << 20));
    assert_eq!(small.check(), exceeded);
    assert_eq!(small.clone().check_room(1), exceeded, "even little is too much");
    assert_eq!(small.left(), Some(0));
    for other in [&none, &large] {
        assert_eq!(other.check(), Ok(()));
        assert_ne!(other.left(), Some(0));
    }
    drop(table);
    assert_eq!(small.check(), Ok(()), "what was exceeded is asked for anew at once");

    let half = ram::half().expect("the system says how much is free");
    assert_eq!(Budget::default().memory(half).check(), Ok(()));
}
