//! Litmus tests of which no execution ends: they say so, and show one.

use explore::litmus::{Endless, Limits, Report, Test};
use explore::{Model, RandomStrategy};

fn explored(threads: &str, workers: usize) -> Report {
    let text = format!("C t\n{{}}\n{threads}");
    let test = Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    test.explore(Model::C20, Limits { steps: 12, workers, ..Limits::default() }).unwrap()
}

/// What the threads do for ever, and whether that is certain.
#[test]
fn what_goes_on_is_shown() {
    for (threads, expected, is_certain) in [
        // It waits for what nobody writes.
        ("P0 (atomic_int* x) { while (atomic_load(x) == 0) {} }", &["P0 waits until x != 0"][..], true),
        (
            "P0 (atomic_int* x) { atomic_store(x, 2); while ((atomic_load(x) & 1) != 1) {} int r = 1; }\nP1 () { }",
            &["P0 w.sc x 2; then it waits until x & 1 = 1", "P1 ends"],
            true,
        ),
        // Each waits for the other.
        (
            "P0 (atomic_int* x, atomic_int* y) { while (atomic_load(x) == 0) {} atomic_store(y, 1); }\n\
             P1 (atomic_int* x, atomic_int* y) { while (atomic_load(y) == 0) {} atomic_store(x, 1); }",
            &["P0 waits until x != 0", "P1 waits until y != 0"],
            true,
        ),
        // It writes in each round.
        (
            "P0 (atomic_int* x) { atomic_store(x, 7); while (1) { atomic_store(x, 1); atomic_load(x); } }",
            &["P0 w.sc x 7; then it goes round: w.sc x 1; r.sc x 1"],
            true,
        ),
        // A lock that nobody gives back.
        (
            "P0 (atomic_int* x) { int r; do { r = atomic_exchange(x, 1); } while (r == 1); }\n\
             P1 (atomic_int* x) { int r; do { r = atomic_exchange(x, 1); } while (r == 1); }",
            &["P0 u.sc x 0 -> 1; then it ends", "P1 goes round: u.sc x 1 -> 1"],
            true,
        ),
        // Who knows what it does after a thousand rounds.
        (
            "P0 (atomic_int* x) { int r = 0; while (atomic_load(x) == 0) r = r + 1; }",
            &["P0 goes round: r.sc x 0"],
            false,
        ),
        // It ends after more steps than it may have.
        ("P0 (atomic_int* x) { for (int i = 0; i < 50; i++) *x = i; }", &["P0 "], false),
        ("P0 (atomic_int* x) { while (1) {} }", &["P0 goes"], false),
    ] {
        let report = explored(threads, 1);
        let Some(Endless { threads: told, is_certain: certain }) = report.endless.clone() else {
            panic!("{threads}: {report:?}")
        };
        assert_eq!(certain, is_certain, "{threads}: {told:?}");
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{threads}: {told} and not {expected}");
        }
        // Whatever the number of workers.
        assert_eq!(explored(threads, 3).endless, report.endless);
    }
}

/// Where some execution ends, or fails, there is nothing to tell.
#[test]
fn what_ends_is_not_endless() {
    for threads in [
        "P0 (atomic_int* x) { while (atomic_load(x) == 0) {} }\nP1 (atomic_int* x) { atomic_store(x, 1); }",
        "P0 (atomic_int* x) { int r = 0; while (atomic_load(x) == 0) r++; }\n\
         P1 (atomic_int* x) { atomic_store(x, 1); }",
        "P0 (atomic_int* x) { int r = 1 / 0; }",
        "P0 (atomic_int* x) { if (atomic_load(x) == 0) { while (1) atomic_store(x, 2); } }\n\
         P1 (atomic_int* x) { atomic_store(x, 1); }",
    ] {
        assert_eq!(explored(threads, 1).endless, None, "{threads}");
    }
}

/// Runs at random are not all there are, so nothing is certain.
#[test]
fn random_runs_tell_it_too() {
    let test = Test::parse(b"C t\n{}\nP0 (atomic_int* x) { while (1) atomic_store(x, 1); }").unwrap();
    let report = test.sample(Model::C20, Limits::default(), RandomStrategy::Uniform, 0..3).unwrap();
    let endless = report.endless.unwrap();
    assert_eq!((&endless.threads[..], endless.is_certain), (&["P0 goes round: w.sc x 1".to_owned()][..], false));
}
