//! A run that shows its fault is a violation, whatever its size, its threads and its random choices.

use crate::common;
use std::time::Duration;

use common::{objects, text};
use history::{Method, Object, Operation, Value};
use model::Verdict;
use object::{Budget, ObjectHistory, ObjectOptions};
use workload::object::{Fault, ObjectConfig, events, history};

const FAULTS: [Fault; 6] = [
    Fault::OutOfOrder(1),
    Fault::OutOfOrder(2),
    Fault::OutOfOrder(4),
    Fault::Lost,
    Fault::Duplicated,
    Fault::LateEmpty,
];

fn verdict(config: &ObjectConfig) -> Verdict {
    let history = history(config);
    assert!(history.operations().len() <= config.operations as usize, "{config:?}");
    let view = ObjectHistory::new(&history).expect("an object history");
    let budget = Budget::default().timeout(Duration::from_secs(60));
    let decision = object::check(&view, &ObjectOptions { budget, ..ObjectOptions::default() });
    assert_ne!(decision.verdict, Verdict::Unknown, "{:?}: {config:?}", decision.reason);
    decision.verdict
}

#[track_caller]
fn assert_shown(config: &ObjectConfig) {
    let faulty = |fault| ObjectConfig { fault: Some(fault), shows: true, ..*config };
    for fault in FAULTS.map(faulty) {
        if fault.hides().is_none() {
            let hint = "`plan` in workload/src/object/shown.rs has the calls that show a fault of an object";
            assert_eq!(verdict(&fault), Verdict::Violation, "{hint}\n{fault:?}\n{}", text(&history(&fault)));
        }
    }
}

#[test]
fn every_fault_shows_in_runs_of_any_size() {
    for object in objects() {
        for seed in 0..workload::cases(60) {
            for operations in [1, 2, 3, 4, 5, 6, 7, 10, 20, 60] {
                let threads = [1, 2, 3, 8, 40][seed as usize % 5];
                let progress = [10, 40, 66, 100][seed as usize / 5 % 4];
                assert_shown(&ObjectConfig { threads, operations, progress, seed, ..ObjectConfig::new(object) });
            }
        }
    }
}

/// The runs have many insertions or few, several objects, calls that never return, swaps and peeks.
#[test]
fn every_fault_shows_whatever_the_calls_are() {
    for object in objects() {
        for seed in 0..workload::cases(150) {
            let of = |choices: &[u32], stride: u64| choices[(seed / stride) as usize % choices.len()];
            assert_shown(&ObjectConfig {
                threads: of(&[4, 1, 2, 6], 1),
                operations: of(&[40, 15, 80], 2),
                progress: of(&[66, 20, 90], 3),
                inserts: of(&[50, 10, 90, 100, 0], 1),
                swaps: of(&[0, 30], 5),
                peeks: if of(&[50, 10, 90, 100, 0], 1) == 50 { of(&[0, 50], 7) } else { 0 },
                keys: of(&[0, 0, 3], 4),
                capacity: of(&[2, 0, 1, 5], 3),
                pending: of(&[0, 100, 400], 2),
                faults: of(&[1, 3], 6),
                seed,
                ..ObjectConfig::new(object)
            });
        }
    }
}

#[test]
fn every_fault_shows_where_values_repeat() {
    for object in objects() {
        for seed in 0..workload::cases(150) {
            let of = |choices: &[u32], stride: u64| choices[(seed / stride) as usize % choices.len()];
            assert_shown(&ObjectConfig {
                threads: of(&[3, 1, 2], 1),
                operations: of(&[6, 12, 16], 2),
                values: of(&[1, 2, 3], 1),
                pending: of(&[0, 0, 100], 3),
                seed,
                ..ObjectConfig::new(object)
            });
        }
    }
}

#[test]
fn a_fault_that_may_not_show_says_so() {
    let hides = |config: ObjectConfig| config.hides();
    let queue = ObjectConfig { fault: Some(Fault::OutOfOrder(4)), shows: true, ..ObjectConfig::new(Object::Queue) };
    assert_eq!(hides(queue), None);
    assert_eq!(hides(ObjectConfig { fault: None, operations: 0, ..queue }), None);
    for hidden in [
        ObjectConfig { operations: 3, ..queue },
        ObjectConfig { values: 1, ..queue },
        ObjectConfig { faults: 0, ..queue },
    ] {
        assert!(hides(hidden).is_some(), "{hidden:?}");
        assert_eq!(verdict(&ObjectConfig { faults: 0, ..hidden }), Verdict::Consistent);
    }
    let semaphore =
        ObjectConfig { fault: Some(Fault::Duplicated), capacity: u32::MAX, ..ObjectConfig::new(Object::Semaphore) };
    assert!(hides(semaphore).is_some());
    // Without operations there is no fault.
    for object in objects() {
        for fault in FAULTS {
            let config = ObjectConfig { operations: 0, fault: Some(fault), shows: true, ..ObjectConfig::new(object) };
            assert!(hides(config).is_some(), "{config:?}");
            assert_eq!(events(&config).count(), 0);
        }
    }
}

/// The flag that asks for a visible fault changes nothing in a run without faults.
#[test]
fn runs_without_faults_stay_as_they_are() {
    for object in objects() {
        for seed in 0..20 {
            let config = ObjectConfig { pending: 20, operations: 100, seed, ..ObjectConfig::new(object) };
            assert!(events(&config).eq(events(&ObjectConfig { shows: true, ..config })), "{config:?}");
            assert_eq!(verdict(&ObjectConfig { shows: true, ..config }), Verdict::Consistent, "{config:?}");
        }
    }
}

/// The fault is not always at the same place, and all operations are called.
#[test]
fn the_fault_comes_anywhere() {
    let mut thirds = [0; 3];
    for seed in 0..60 {
        let config =
            ObjectConfig { fault: Some(Fault::LateEmpty), shows: true, seed, ..ObjectConfig::new(Object::Queue) };
        let history = history(&config);
        assert_eq!(history.operations().len(), 1000);
        let shows = |calls: &[Operation]| {
            calls[0].method == Method::Enqueue
                && calls[1].result == Value::EMPTY
                && calls[2].result == calls[0].argument
                && calls.iter().all(|call| call.process == calls[0].process)
        };
        let at = history.operations().windows(3).position(shows).expect("it is shown");
        thirds[at * 3 / 1000] += 1;
    }
    assert!(thirds.iter().all(|&count| count >= 8), "{thirds:?}");
}
