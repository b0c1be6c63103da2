//! Strings and registers with compare-and-swap against the definition, with texts that can be put together in several
//! ways, and values that are written twice. Every certificate is verified.

use crate::common;
use std::fmt::Write;
use std::io::Cursor;

use common::text;
use format::{Format, ReadOptions, read};
use history::{History, HistoryBuilder, Method, Object, OperationId, Outcome, Replay, Value};
use model::object::Core;
use model::{Certificate, Decided, Evidence, Model, Verdict};
use object::{Algorithm, ObjectHistory, ObjectOptions, check};
use verify::verify;
use workload::object::{Fault, ObjectConfig};
use workload::random::SplitMix64;

const FAULTS: [Option<Fault>; 4] = [None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost), Some(Fault::LateEmpty)];

fn decide(history: &History, algorithm: Algorithm) -> Decided {
    let view = ObjectHistory::new(history).expect("an object history");
    check(&view, &ObjectOptions { witness: true, algorithm, ..ObjectOptions::default() })
}

/// The verdict, with a certificate that the verifier accepts. None if the algorithm does not apply.
fn verified(history: &History, algorithm: Algorithm) -> Option<Verdict> {
    let decision = decide(history, algorithm);
    if decision.verdict == Verdict::Unknown {
        return None;
    }
    let certificate = Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{refusal}: {algorithm:?}, {decision:?}\n{}", text(history));
    }
    Some(decision.verdict)
}

/// Claims that no order is left when an operation returns. The verifier accepts that if it is so, and only if the
/// history is a violation. (It may look at the results of operations that return later.)
fn claim_stuck(history: &History, random: &mut SplitMix64) {
    let ids = (0..history.operations().len() as u32).map(OperationId);
    let returned: Vec<OperationId> = ids.filter(|&id| history.operation(id).outcome == Outcome::Ok).collect();
    if returned.is_empty() || !history.keys().is_empty() {
        return;
    }
    let id = random.pick(&returned);
    let mut replay = Replay::new(history);
    for event in history.events().take(history.moments()[id.index()][1] as usize + 1) {
        replay.play(event).expect("a prefix of a history");
    }
    let is_stuck = !oracle::object::linearizable(&replay.finish().expect("a history"));
    let evidence = Some(Evidence::Core(Core::Stuck(id)));
    let decision = Decided { verdict: Verdict::Violation, strategy: "search", reason: None, evidence };
    let certificate = Certificate::new(0, history, Model::Linearizable, &decision).expect("evidence");
    let is_accepted = verify(&certificate, history).is_ok();
    assert!(is_accepted || !is_stuck, "{id:?}\n{}", text(history));
    assert!(!is_accepted || !oracle::object::linearizable(history), "{id:?}\n{}", text(history));
}

/// The verifier has algorithms of its own for these objects.
#[test]
fn only_right_claims_are_accepted() {
    for object in [Object::KeyValue, Object::Register, Object::Counter, Object::MaxRegister] {
        for seed in 0..workload::small::cases(4000) {
            claim_stuck(&workload::object::small(object, seed), &mut SplitMix64::new(seed));
        }
    }
}

/// Compares all algorithms with the definition. Returns whether the history is a violation, and whether the fast
/// algorithm decided it.
fn compare(history: &History) -> [bool; 2] {
    let is_linearizable = oracle::object::linearizable(history);
    let expected = if is_linearizable { Verdict::Consistent } else { Verdict::Violation };
    for algorithm in [Algorithm::Auto, Algorithm::Search] {
        assert_eq!(verified(history, algorithm), Some(expected), "{algorithm:?}\n{}", text(history));
    }
    let fast = verified(history, Algorithm::Fast);
    assert!(fast.is_none_or(|fast| fast == expected), "{}", text(history));
    [!is_linearizable, fast.is_some()]
}

/// The history of a string with other texts for its pieces.
fn with_pieces(history: &History, pieces: &[&str]) -> History {
    let mut changed = String::new();
    for line in text(history).lines() {
        let (start, value) = line.rsplit_once(' ').unwrap_or((line, ""));
        if !value.contains(';') {
            writeln!(changed, "{line}").expect("to memory");
            continue;
        }
        let numbers = value.trim_matches('"').split_terminator(';').map(|n| n.parse::<usize>().expect("a number"));
        let other: String = numbers.map(|n| pieces[n % pieces.len()]).collect();
        writeln!(changed, "{start} \"{other}\"").expect("to memory");
    }
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut histories = read(Box::new(Cursor::new(changed)), &options);
    histories.next().expect("one history").expect("a good history")
}

#[test]
fn texts_of_any_pieces() {
    let sets: [&[&str]; 5] =
        [&["a", "b", "ab", "ba"], &["", "a", "b", "c"], &["a", "aa"], &["xy", "x", "y", ""], &["é", "è", "éè"]];
    for pieces in sets {
        let (mut violations, mut fast) = (0, 0);
        let cases = workload::small::cases(1500);
        for seed in 0..cases {
            let history = workload::object::small(Object::KeyValue, seed);
            let history = with_pieces(&history, pieces);
            claim_stuck(&history, &mut SplitMix64::new(seed));
            let [is_violation, is_fast] = compare(&history);
            violations += u64::from(is_violation);
            fast += u64::from(is_fast);
        }
        assert!(violations > cases / 10 && violations < cases * 9 / 10, "{pieces:?}: {violations} violations");
        assert!(fast > cases / 5 && fast < cases, "{pieces:?}: {fast} by the fast algorithm");
    }
}

/// The history with another result of one compare-and-swap.
fn with_other_answer(history: History, random: &mut SplitMix64) -> History {
    let is_swap = |&id: &OperationId| {
        let operation = history.operation(id);
        operation.method == Method::Cas && operation.outcome == Outcome::Ok
    };
    let swaps: Vec<OperationId> = (0..history.operations().len() as u32).map(OperationId).filter(is_swap).collect();
    if swaps.is_empty() {
        return history;
    }
    let id = random.pick(&swaps);
    let answer = history.operation(id).result == Value::FALSE;
    let mut builder = HistoryBuilder::from(history);
    builder.set_result(id, Value::boolean(answer)).expect("it returned");
    builder.finish().expect("a result is no label")
}

#[test]
fn registers_with_many_swaps() {
    let (mut violations, mut fast) = (0, 0);
    let cases = workload::small::cases(12_000);
    for seed in 0..cases {
        let mut random = SplitMix64::new(seed);
        let config = ObjectConfig {
            threads: random.between(2, 4),
            operations: random.between(3, 8),
            progress: random.pick(&[20, 40, 66]),
            inserts: random.pick(&[10, 30]),
            swaps: random.pick(&[30, 60, 80]),
            values: random.pick(&[0, 0, 0, 3]),
            pending: random.pick(&[0, 100, 300]),
            fault: random.pick(&FAULTS),
            faults: 2,
            seed,
            ..ObjectConfig::new(Object::Register)
        };
        let mut history = workload::object::history(&config);
        if random.percent(40) {
            history = with_other_answer(history, &mut random);
        }
        claim_stuck(&history, &mut random);
        let [is_violation, is_fast] = compare(&history);
        violations += u64::from(is_violation);
        fast += u64::from(is_fast);
    }
    assert!(violations > cases / 10 && violations < cases * 9 / 10, "{violations} violations");
    assert!(fast > cases / 2 && fast < cases, "{fast} by the fast algorithm");
}

/// Larger than the oracle can decide: the same as the search says.
#[test]
fn they_agree_with_the_search() {
    for object in [Object::KeyValue, Object::Register, Object::Counter, Object::MaxRegister] {
        let (mut violations, mut fast) = (0, 0);
        let cases = workload::small::cases(600);
        for seed in 0..cases {
            let mut random = SplitMix64::new(seed);
            let config = ObjectConfig {
                threads: random.between(2, 4),
                operations: 40,
                progress: random.pick(&[20, 40, 66]),
                swaps: random.pick(&[0, 30, 60]),
                values: random.pick(&[0, 0, 0, 5]),
                pending: random.pick(&[0, 50]),
                fault: random.pick(&FAULTS),
                faults: 2,
                seed,
                ..ObjectConfig::new(object)
            };
            let history = workload::object::history(&config);
            let [auto, search, by_fast] =
                [Algorithm::Auto, Algorithm::Search, Algorithm::Fast].map(|algorithm| verified(&history, algorithm));
            assert_eq!(auto, search, "{config:?}\n{}", text(&history));
            assert!(by_fast.is_none() || by_fast == search, "{config:?}\n{}", text(&history));
            violations += u64::from(search == Some(Verdict::Violation));
            fast += u64::from(by_fast.is_some());
        }
        assert!(violations > cases / 10 && violations < cases * 9 / 10, "{object:?}: {violations} violations");
        assert!(fast > cases / 2, "{object:?}: {fast} by the fast algorithm");
    }
}

/// Histories that a search of all orders would not finish, good and bad.
#[test]
fn long_histories_of_many_threads() {
    for (object, swaps) in
        [(Object::KeyValue, 0), (Object::Register, 30), (Object::Counter, 0), (Object::MaxRegister, 0)]
    {
        for seed in 0..10 {
            let config = ObjectConfig { threads: 16, operations: 4000, swaps, seed, ..ObjectConfig::new(object) };
            let good = workload::object::history(&config);
            assert_eq!(verified(&good, Algorithm::Auto), Some(Verdict::Consistent), "{config:?}");
            let config = ObjectConfig { fault: Some(Fault::OutOfOrder(3)), shows: true, ..config };
            let bad = workload::object::history(&config);
            assert_eq!(verified(&bad, Algorithm::Auto), Some(Verdict::Violation), "{config:?}");
        }
    }
}
