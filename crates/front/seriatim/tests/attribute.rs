//! `#[seriatim::test]`: tests that pass, that fail and say how to repeat it, and that are repeated.

use seriatim::programs::sync::Arc;
use seriatim::programs::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use seriatim::programs::sync::atomic::{AtomicBool, AtomicUsize};
use seriatim::programs::{Trial, hint, thread};

fn publish(order: seriatim::programs::sync::atomic::Ordering) {
    let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
    let other = Arc::clone(&shared);
    thread::spawn(move || {
        other.0.store(1, Relaxed);
        other.1.store(true, order);
    });
    if shared.1.load(Acquire) {
        assert_eq!(shared.0.load(Relaxed), 1, "stale");
    }
}

#[seriatim::test]
fn all_executions() {
    publish(Release);
}

#[seriatim::test(model = "tso", max_steps = 10, max_executions = 1_000, seconds = 600)]
fn another_model() {
    publish(Relaxed);
}

#[seriatim::test(mode = "uniform", seeds = 0..50)]
fn random_runs() {
    publish(Release);
}

#[seriatim::test]
#[should_panic(expected = "to repeat it: #[seriatim::test(replay = \"c20/")]
fn a_failure_says_how_to_repeat_it() {
    publish(Relaxed);
}

#[seriatim::test(mode = "pct", seeds = 0..1_000, depth = 2)]
#[should_panic(expected = "to repeat it: #[seriatim::test(replay = \"c20/")]
fn a_random_failure_does_so_too() {
    publish(Relaxed);
}

#[seriatim::test(max_executions = 1)]
fn a_bound_is_no_failure() {
    publish(Release);
}

#[seriatim::test(max_steps = 2)]
#[should_panic(expected = "more than 2 steps")]
fn too_many_steps_are_a_failure() {
    thread::spawn(|| {
        let count = AtomicUsize::new(0);
        while count.fetch_add(1, Relaxed) < 5 {}
    });
}

/// The last write may be the wrong one: then a fair scheduler does not end the wait.
#[seriatim::test]
#[should_panic(expected = "deadlock")]
fn a_wait_that_need_not_end() {
    let flag = Arc::new(AtomicUsize::new(0));
    for value in [1, 2] {
        let flag = Arc::clone(&flag);
        thread::spawn(move || flag.store(value, Relaxed));
    }
    while flag.load(Relaxed) != 1 {
        hint::spin_loop();
    }
}

/// The line that a failing test prints repeats it, and nothing else.
#[test]
fn the_line_repeats_it() {
    let message = |trial: Trial| {
        let failed = std::panic::catch_unwind(|| trial.run(|| publish(Relaxed))).unwrap_err();
        failed.downcast_ref::<String>().unwrap().clone()
    };
    let first = message(Trial::default());
    let token = first.split('"').rev().nth(1).unwrap().to_owned();
    let again = message(Trial { replay: Some(token.clone().leak()), ..Trial::default() });
    assert!(first.contains("stale") && again.contains("stale") && again.contains(&token), "{first}\n{again}");
    // Code that is mended has no such execution.
    let mended = Trial { replay: Some(token.leak()), ..Trial::default() };
    let told = std::panic::catch_unwind(|| mended.run(|| publish(Release))).unwrap_err();
    assert!(told.downcast_ref::<String>().unwrap().starts_with("the test has no such execution (any more)"));
}

#[test]
fn wrong_arguments_are_told() {
    for (trial, expected) in [
        (Trial { model: "x86", ..Trial::default() }, "`model` is one of c20, "),
        (Trial { mode: "some", ..Trial::default() }, "`mode` is one of all, "),
        (Trial { replay: Some("nonsense"), ..Trial::default() }, "no such execution"),
    ] {
        let failed = std::panic::catch_unwind(|| trial.run(|| publish(Release))).unwrap_err();
        assert!(failed.downcast_ref::<String>().unwrap().contains(expected));
    }
}
