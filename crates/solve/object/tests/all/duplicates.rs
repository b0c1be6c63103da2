//! Values that are inserted more than once, and pending removals. A search that tries all orders would take too long.

use crate::common;
use std::fmt::Write;
use std::io::Cursor;

use common::text;
use format::{Format, ReadOptions, read};
use history::{History, Object, Replay};
use model::{Certificate, Decided, Model, Verdict};
use object::{Algorithm, ObjectHistory, ObjectOptions, check};
use verify::verify;
use workload::object::{Fault, ObjectConfig};

const OBJECTS: [Object; 4] = [Object::Queue, Object::Stack, Object::PriorityQueue, Object::Exchanger];

fn decide(history: &History, algorithm: Algorithm) -> Decided {
    let view = ObjectHistory::new(history).expect("an object history");
    check(&view, &ObjectOptions { witness: true, algorithm, ..ObjectOptions::default() })
}

/// The verdict, with a certificate that the verifier accepts.
fn verified(history: &History, algorithm: Algorithm) -> Verdict {
    let decision = decide(history, algorithm);
    let certificate = Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{refusal}: {algorithm:?}, {decision:?}\n{}", text(history));
    }
    decision.verdict
}

#[test]
fn they_agree_with_the_definition() {
    let cases = workload::small::cases(12_000);
    for object in OBJECTS {
        let mut violations = 0;
        for seed in 0..cases {
            let history = workload::object::small_with_duplicates(object, seed);
            let is_linearizable = oracle::object::linearizable(&history);
            let expected = if is_linearizable { Verdict::Consistent } else { Verdict::Violation };
            violations += u64::from(!is_linearizable);
            for algorithm in [Algorithm::Auto, Algorithm::Search] {
                assert_eq!(verified(&history, algorithm), expected, "{seed}, {algorithm:?}\n{}", text(&history));
            }
        }
        assert!(violations > cases / 10 && violations < cases * 9 / 10, "{object:?}: {violations} violations");
    }
}

/// The history up to a moment.
fn before(history: &History, end: u32) -> History {
    let mut replay = Replay::new(history);
    for event in history.events().take(end as usize) {
        replay.play(event).expect("a prefix of a history");
    }
    replay.finish().expect("a history")
}

/// A run that was cut off: a few pending removals could have taken any of many values.
#[test]
fn pending_removals_of_different_values() {
    for object in [Object::Queue, Object::Stack, Object::PriorityQueue] {
        for seed in 0..20 {
            let run = ObjectConfig { operations: 5000, threads: 8, seed, ..ObjectConfig::new(object) };
            let cut = before(&workload::object::history(&run), 1000);
            assert_eq!(verified(&cut, Algorithm::Auto), Verdict::Consistent, "{object:?} {seed}");
            assert_eq!(verified(&cut, Algorithm::Search), Verdict::Consistent, "{object:?} {seed}");
        }
        let run = ObjectConfig { operations: 10_000, threads: 8, pending: 5, seed: 2, ..ObjectConfig::new(object) };
        let history = workload::object::history(&run);
        assert_eq!(verified(&history, Algorithm::Auto), Verdict::Consistent, "{object:?}");
    }
}

/// Many pending removals from a priority queue. Mostly the fast algorithm guesses the values that they took. If it does
/// not, the search has the same verdict.
#[test]
fn pending_removals_are_guessed() {
    let (mut guessed, mut violations) = (0, 0);
    let cases = workload::small::cases(300);
    for seed in 0..cases {
        let config = ObjectConfig {
            threads: 2 + (seed % 5) as u32,
            operations: 40,
            peeks: [0, 20][(seed / 5 % 2) as usize],
            pending: 80,
            fault: [None, None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost)][(seed % 4) as usize],
            seed,
            ..ObjectConfig::new(Object::PriorityQueue)
        };
        let history = workload::object::history(&config);
        let expected = verified(&history, Algorithm::Search);
        violations += u64::from(expected == Verdict::Violation);
        assert_eq!(verified(&history, Algorithm::Auto), expected, "{config:?}\n{}", text(&history));
        guessed += u64::from(decide(&history, Algorithm::Fast).verdict != Verdict::Unknown);
    }
    assert!(guessed > cases * 8 / 10 && guessed < cases, "{guessed} guessed");
    assert!(violations > cases / 10 && violations < cases * 9 / 10, "{violations} violations");
    for pending in [5, 30] {
        let run = ObjectConfig { operations: 100_000, pending, seed: 1, ..ObjectConfig::new(Object::PriorityQueue) };
        assert_eq!(verified(&workload::object::history(&run), Algorithm::Fast), Verdict::Consistent, "{pending}");
    }
}

/// Many pending pops of a stack: no search is needed to find what they took; and where it is, it says the same.
#[test]
fn pending_pops_are_guessed() {
    let (mut guessed, mut violations) = (0, 0);
    let cases = workload::small::cases(300);
    for seed in 0..cases {
        let config = ObjectConfig {
            threads: 2 + (seed % 4) as u32,
            operations: 30,
            peeks: [0, 20][(seed / 5 % 2) as usize],
            pending: [20, 80][(seed / 2 % 2) as usize],
            fault: [None, None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost)][(seed % 4) as usize],
            seed,
            ..ObjectConfig::new(Object::Stack)
        };
        let history = workload::object::history(&config);
        let expected = verified(&history, Algorithm::Search);
        violations += u64::from(expected == Verdict::Violation);
        assert_eq!(verified(&history, Algorithm::Auto), expected, "{config:?}\n{}", text(&history));
        guessed += u64::from(decide(&history, Algorithm::Fast).verdict != Verdict::Unknown);
    }
    assert!(guessed > cases * 8 / 10 && guessed < cases, "{guessed} guessed");
    assert!(violations > cases / 20 && violations < cases * 9 / 10, "{violations} violations");
    for (pending, seed) in [(5, 1), (5, 2), (30, 1)] {
        let run = ObjectConfig { operations: 100_000, threads: 16, pending, seed, ..ObjectConfig::new(Object::Stack) };
        assert_eq!(verified(&workload::object::history(&run), Algorithm::Fast), Verdict::Consistent, "{pending}");
    }
}

/// A priority queue whose values repeat: no search is needed to find which copy each removal took.
#[test]
fn copies_are_guessed() {
    let (mut guessed, mut linearizable) = (0, 0);
    for seed in 0..workload::small::cases(3000) {
        let history = workload::object::small_with_duplicates(Object::PriorityQueue, seed);
        let verdict = decide(&history, Algorithm::Fast).verdict;
        if oracle::object::linearizable(&history) {
            linearizable += 1;
            guessed += u64::from(verdict == Verdict::Consistent);
            assert_ne!(verdict, Verdict::Violation, "{seed}\n{}", text(&history));
        } else {
            assert_ne!(verdict, Verdict::Consistent, "{seed}\n{}", text(&history));
        }
    }
    assert!(guessed > linearizable / 2, "{guessed} of {linearizable}");
    for (threads, values, seed) in [(8, 2, 1), (16, 10, 2), (32, 10, 1), (32, 1000, 3)] {
        let run =
            ObjectConfig { threads, values, operations: 20_000, seed, ..ObjectConfig::new(Object::PriorityQueue) };
        let history = workload::object::history(&run);
        assert_eq!(verified(&history, Algorithm::Fast), Verdict::Consistent, "{run:?}");
    }
}

/// Rounds of two insertions that overlap, one of 1 and one of 2. Then come removals, one after the other.
fn rounds(object: Object, rounds: usize, removals: impl Iterator<Item = u32>) -> History {
    let (insert, remove) = if object == Object::Queue { ("enqueue", "dequeue") } else { ("push", "pop") };
    let mut text = format!("# @object {}\n", object.name());
    for _ in 0..rounds {
        write!(text, "[0] call {insert} 1\n[1] call {insert} 2\n[0] return\n[1] return\n").expect("to memory");
    }
    for value in removals {
        write!(text, "[0] call {remove}\n[0] return {value}\n").expect("to memory");
    }
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut histories = read(Box::new(Cursor::new(text)), &options);
    histories.next().expect("one history").expect("a good history")
}

/// Two processes, two values, 2^24 orders of the insertions.
#[test]
fn few_processes_and_few_values() {
    for object in [Object::Queue, Object::Stack] {
        for count in [8, 24, 500] {
            let removals = |last: [u32; 2]| [1, 2].into_iter().cycle().take(2 * count - 2).chain(last);
            let good = rounds(object, count, removals([2, 1]));
            let bad = rounds(object, count, removals([2, 2]));
            for algorithm in [Algorithm::Auto, Algorithm::Search] {
                assert_eq!(verified(&good, algorithm), Verdict::Consistent, "{object:?} {count}");
                assert_eq!(verified(&bad, algorithm), Verdict::Violation, "{object:?} {count}");
            }
        }
    }
}

/// An exchange has many possible partners, and each choice is as good as any other.
#[test]
fn exchanges_of_few_values() {
    for seed in 0..10 {
        let run =
            ObjectConfig { operations: 50_000, values: 5, pending: 2, seed, ..ObjectConfig::new(Object::Exchanger) };
        let history = workload::object::history(&run);
        assert_eq!(verified(&history, Algorithm::Auto), Verdict::Consistent, "{seed}");
        let wrong = ObjectConfig { operations: 1000, fault: Some(Fault::Lost), faults: 20, ..run };
        let history = workload::object::history(&wrong);
        assert_eq!(verified(&history, Algorithm::Auto), Verdict::Violation, "{seed}");
    }
}
