//! Parts take turns: a part that no search finishes does not hide the violation of another, whichever comes first.
//! Within a memory limit, it gives up and gives its memory back.

use std::fmt::Write;
use std::io::Cursor;

use budget::{Budget, ram};
use format::{Format, ReadOptions, read};
use history::History;
use model::object::Core;
use model::{Decided, Evidence, Verdict};
use object::{ObjectHistory, ObjectOptions, check};

/// Additions of even amounts that overlap, and a read of an odd sum: each subset of them is tried.
fn counter(key: &str, additions: u32) -> String {
    let mut text = String::new();
    let mut sum = 0;
    for at in 0..additions {
        let amount = 1000 + 2 * at * at;
        sum += amount;
        writeln!(text, "[{key}{at}] call add {amount} key={key}").expect("to memory");
    }
    writeln!(text, "[{key}r] call read key={key}\n[{key}r] return {}", sum / 4 * 2 + 1).expect("to memory");
    text
}

fn history(counters: &[String]) -> History {
    let text = format!("# @object counter\n{}", counters.concat());
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    let mut histories = read(Box::new(Cursor::new(text)), &options);
    histories.next().expect("one history").expect("a good history")
}

fn decide(history: &History, budget: &Budget) -> Decided {
    let options = ObjectOptions { budget: budget.clone(), ..ObjectOptions::default() };
    check(&ObjectHistory::new(history).expect("calls and returns"), &options)
}

/// Checks that the blamed operation is on this key.
fn assert_blames(history: &History, budget: &Budget, key: &str) {
    let decision = decide(history, budget);
    assert_eq!(decision.verdict, Verdict::Violation);
    let Some(Evidence::Core(Core::Stuck(blamed))) = decision.evidence else { panic!("{decision:?}") };
    let of_blamed = history.keys()[history.operation(blamed).key.0 as usize];
    assert_eq!(history.show(of_blamed), key);
}

/// One test, since the memory is the process's.
#[test]
fn a_hard_part_does_not_hide_an_easy_one() {
    let (hard, harder, easy) = (counter("a", 60), counter("b", 100), counter("c", 6));
    for order in [[&hard, &harder, &easy], [&easy, &hard, &harder], [&harder, &easy, &hard]] {
        assert_blames(&history(&order.map(Clone::clone)), &Budget::UNLIMITED, "c");
    }
    // Two that are as easy: the first.
    let other = counter("d", 6);
    assert_blames(&history(&[hard.clone(), easy.clone(), other.clone()]), &Budget::UNLIMITED, "c");
    assert_blames(&history(&[other, hard.clone(), easy.clone()]), &Budget::UNLIMITED, "d");

    let limit = ram::resident() + (48 << 20);
    let budget = Budget::default().memory(limit);
    let decision = decide(&history(&[hard, harder]), &budget);
    assert_eq!(decision.verdict, Verdict::Unknown);
    let reason = decision.reason.expect("a reason");
    assert!(reason.contains("memory limit"), "{reason}");
    let peak = ram::peak();
    assert!(peak.is_none_or(|peak| peak < limit + limit / 10), "{peak:?} of {limit}");
    assert_blames(&history(&[easy]), &budget, "c");
}
