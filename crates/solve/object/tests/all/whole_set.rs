//! Sets that are read as a whole, against the definition, on thousands of small histories; every certificate verified.

use crate::common;
use common::text;
use history::{Call, CallEnd, History, HistoryBuilder, Method, Object, Operation, OperationId, Outcome, Value};
use model::{Certificate, Model, Verdict};
use object::{Algorithm, ObjectHistory, ObjectOptions, check};
use verify::verify;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A run of a real set by three processes. Some of their operations never return. In some runs, the result of one read
/// is then changed.
fn run(seed: u64) -> History {
    let random = &mut Random(seed);
    let mut builder = HistoryBuilder::new(Object::Set);
    let processes = ["0", "1", "2"].map(|name| builder.process(name));
    let grows_only = random.below(2) == 0;
    let mut set: Vec<Value> = Vec::new();
    // The open operation of each process, and its result if it has taken effect.
    let mut open: [Option<(OperationId, Option<Value>)>; 3] = [None; 3];
    let count = 3 + random.below(5);
    let mut calls = 0;
    // The reads that returned, and their results.
    let mut reads: Vec<(OperationId, Vec<Value>)> = Vec::new();
    for _ in 0..4 * count {
        let process = random.below(3) as usize;
        match open[process] {
            None if calls < count => {
                let method = match random.below(if grows_only { 4 } else { 6 }) {
                    0 | 1 => Method::Add,
                    2 | 3 => Method::ReadAll,
                    4 => Method::Remove,
                    _ => Method::Contains,
                };
                let argument =
                    if method == Method::ReadAll { Value::NONE } else { Value::small(random.below(3) as u32) };
                let call = Call::new(processes[process], method).argument(argument);
                open[process] = Some((builder.call(&call).expect("the process has no operation open"), None));
                calls += 1;
            }

            Some((id, None)) => {
                let Operation { method, argument, .. } = *builder.operation(id);
                let was_in = set.contains(&argument);
                if matches!(method, Method::Add | Method::Remove) {
                    set.retain(|&element| element != argument);
                    set.extend((method == Method::Add).then_some(argument));
                }
                let result = match method {
                    Method::ReadAll => {
                        reads.push((id, set.clone()));
                        builder.whole_set(set.clone())
                    }
                    Method::Add if grows_only || random.below(2) == 0 => Value::NONE,
                    Method::Add => Value::boolean(!was_in),
                    _ => Value::boolean(was_in),
                };
                open[process] = Some((id, Some(result)));
            }
            Some((_, Some(result))) if random.below(5) > 0 => {
                builder.end(processes[process], CallEnd::Ok(result)).expect("the process has an operation open");
                open[process] = None;
            }
            None | Some(_) => {}
        }
    }
    reads.retain(|&(id, _)| builder.operation(id).outcome == Outcome::Ok);
    if !reads.is_empty() && random.below(2) == 0 {
        let (id, mut elements) = reads.swap_remove(random.below(reads.len() as u64) as usize);
        let element = Value::small(random.below(4) as u32);
        let before = elements.len();
        elements.retain(|&other| other != element);
        if elements.len() == before {
            elements.push(element);
        }
        let result = builder.whole_set(elements);
        builder.set_result(id, result).expect("it returned");
    }
    builder.finish().expect("a history")
}

#[test]
fn whole_sets_agree_with_the_definition() {
    let cases = workload::small::cases(20_000);
    let (mut violations, mut fast) = (0, 0);
    for seed in 0..cases {
        let history = run(seed);
        let expected = if oracle::object::linearizable(&history) { Verdict::Consistent } else { Verdict::Violation };
        violations += u64::from(expected == Verdict::Violation);
        let view = ObjectHistory::new(&history).expect("an object history");
        for algorithm in [Algorithm::Auto, Algorithm::Fast, Algorithm::Search] {
            let decision = check(&view, &ObjectOptions { witness: true, algorithm, ..ObjectOptions::default() });
            if algorithm == Algorithm::Fast && decision.verdict == Verdict::Unknown {
                continue;
            }
            fast += u64::from(algorithm == Algorithm::Fast);
            let context = || format!("seed {seed}, {decision:?}\n{}", text(&history));
            assert_eq!(decision.verdict, expected, "{}", context());
            let certificate = Certificate::new(0, &history, Model::Linearizable, &decision).expect("evidence");
            let json = certificate.to_json(&history);
            let read = Certificate::from_json(&json, &history).expect("its own JSON");
            if let Err(refusal) = verify(&read, &history) {
                panic!("{refusal}: {}", context());
            }
        }
    }
    assert!(violations > cases / 10 && violations < cases * 9 / 10, "{violations} violations");
    assert!(fast > cases / 10, "{fast} by the fast algorithm");
}

/// It is not known whether many of the additions happened. One addition happened, and its element was lost.
#[test]
fn a_lost_element_among_many_that_are_unknown() {
    use std::fmt::Write as _;
    let mut text = "# @object set\n".to_owned();
    for element in 0..100 {
        writeln!(text, "[p{element}] call add {element}").unwrap();
    }
    text.push_str("[q] call add 1000\n[q] return\n[q] call read\n");
    let all: Vec<String> = (0..100).filter(|element| element % 3 == 0).map(|element| element.to_string()).collect();
    for (rest, expected) in [(",1000", Verdict::Consistent), ("", Verdict::Violation)] {
        let text = format!("{text}[q] return {{{}{rest}}}\n", all.join(","));
        let history = format::read(Box::new(std::io::Cursor::new(text)), &format::ReadOptions::default());
        let history = history.map(Result::unwrap).next().unwrap();
        let decision =
            check(&ObjectHistory::new(&history).unwrap(), &ObjectOptions { witness: true, ..ObjectOptions::default() });
        assert_eq!((decision.verdict, decision.strategy), (expected, "fast"));
        let certificate = Certificate::new(0, &history, Model::Linearizable, &decision).unwrap();
        assert_eq!(verify(&certificate, &history), Ok(()));
    }
}

/// Each element alone is linearizable, but the elements together are not.
#[test]
fn what_was_read_was_there_at_one_moment() {
    let text = "# @object set\n[0] call add 1\n[1] call add 2\n[2] call read\n[2] return {1}\n[3] call read\n[3] \
        return {2}\n\
                [0] return\n[1] return\n";
    let history = format::read(Box::new(text.as_bytes()), &format::ReadOptions::default());
    let history = history.map(Result::unwrap).next().unwrap();
    let view = ObjectHistory::new(&history).unwrap();
    let decision = check(&view, &ObjectOptions::default());
    assert_eq!(decision.verdict, Verdict::Violation);
    assert_eq!(history.operation(OperationId(3)).method, Method::ReadAll);
}
