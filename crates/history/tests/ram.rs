//! The memory limit. It holds for the whole process, so this test is alone in its own.

use std::hint::black_box;
use std::thread::sleep;
use std::time::Duration;

use history::ram;

/// Longer than the time for which an answer of the system is remembered.
const A_WHILE: Duration = Duration::from_millis(20);

#[test]
fn a_process_knows_how_much_it_takes() {
    let before = ram::resident();
    if before == 0 {
        eprintln!("skipped: this system does not say how much memory a process takes");
        return;
    }
    assert_eq!(ram::limit(), None);
    assert!(!ram::is_exceeded());
    assert!(ram::has_room(1 << 20));
    assert!(!ram::has_room(1 << 60), "no machine has so much");

    ram::set_limit(before + (64 << 20));
    assert_eq!(ram::limit(), Some(before + (64 << 20)));
    assert!(!ram::is_exceeded());
    assert!(ram::has_room(32 << 20));
    assert!(!ram::has_room(96 << 20));

    let table = black_box(vec![1u8; 96 << 20]);
    sleep(A_WHILE);
    assert!(ram::resident() >= before + (90 << 20));
    assert!(ram::is_exceeded());
    assert!(!ram::has_room(1), "even little is too much");
    assert_eq!(ram::left(), Some(0));
    drop(table);
    sleep(A_WHILE);
    assert!(!ram::is_exceeded());

    ram::set_limit_to_half();
    assert!(!ram::is_exceeded());
    let limit = ram::limit().expect("the system says how much is free");
    assert_eq!(ram::limit(), Some(limit), "the limit is found out once");
    assert!(ram::most().is_some_and(|most| most == limit));
}
