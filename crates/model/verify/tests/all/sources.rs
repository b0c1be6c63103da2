//! Histories that leave sources open: chosen sources, cases, and each refusal.

use crate::common;
use common::*;
use history::OperationId;
use model::{Because, Case, Choice, Evidence, Model, Node};

/// Operation 4 is from operation 0 or from operation 2; neither explains operations 3 and 5.
const BACK_AND_FORTH: &str = "[0] w x 1\n[0] w x 2\n[0] w x 1\n[1] r x 2\n[1] r x 1\n[1] r x 2\n";

/// Operation 2 is from operation 0 or from operation 1.
const TWICE: &str = "[0] w x 1\n[1] w x 1\n[2] r x 1\n";

/// The compare-and-swap, operation 2, is pending. Operation 3 is from it or from operation 0, and it is from operation
/// 1 or from the initial write.
const PENDING: &str = "# @object register\n[0] call write 2 key=x\n[0] return\n[1] call write 0 key=x\n[1] return\n\
    [2] call cas 0 2 key=x\n[3] call read key=x\n[3] return 2\n";

/// As before, but the thread of the read wrote to the location before it. So the read is from the compare-and-swap.
const NEEDED: &str = "# @object register\n[0] call write 2 key=x\n[0] return\n[1] call write 0 key=x\n[1] return\n\
    [2] call cas 0 2 key=x\n[0] call write 0 key=x\n[0] return\n[0] call read key=x\n[0] return 2\n";

fn choice(read: u32, source: impl Named) -> Choice {
    Choice { read: OperationId(read), source: source.node() }
}

fn refuted(choices: &[Choice], evidence: Evidence) -> Case {
    Case { choices: choices.to_vec(), because: Because::Violation(evidence) }
}

fn none_left(choices: &[Choice], read: u32, cases: &[u32]) -> Case {
    let because = Because::NoneLeft { read: OperationId(read), cases: cases.to_vec() };
    Case { choices: choices.to_vec(), because }
}

/// Why operation 4 of `BACK_AND_FORTH` is from neither operation 0 nor operation 2.
fn cases() -> [Case; 3] {
    let early = cycle(&[cf(1, 0, 4, &[rf(1, 3), po(3, 4)])], &[po(0, 1), step(0)]);
    let late = cycle(&[cf(2, 1, 5, &[rf(2, 4), po(4, 5)])], &[po(1, 2), step(0)]);
    [refuted(&[choice(4, 0)], early), refuted(&[choice(4, 2)], late), none_left(&[], 4, &[0, 1])]
}

fn sources(chosen: &[Choice], order: &[u32]) -> Evidence {
    Evidence::Sources(chosen.to_vec(), Box::new(Evidence::Interleaving(ids(order))))
}

#[test]
fn cases_that_leave_nothing() {
    for model in [Model::Cc, Model::Ccv, Model::Wsc, Model::Sc, Model::Wra] {
        proves(BACK_AND_FORTH, model, &Evidence::Cases(cases().to_vec()));
    }
    // The kind of evidence of a case must be one of the model.
    let wrong = "case 0: this kind of evidence does not prove violation under cc";
    let again = [refuted(&[choice(4, 0)], Evidence::DecideAgain)];
    refutes(BACK_AND_FORTH, Model::Cc, &Evidence::Cases(again.to_vec()), wrong);
    let nested = [refuted(&[choice(4, 0)], Evidence::Cases(cases().to_vec()))];
    refutes(BACK_AND_FORTH, Model::Cc, &Evidence::Cases(nested.to_vec()), wrong);
}

#[test]
fn cases_that_leave_something() {
    let [early, late, last] = cases();
    let refuses =
        |cases: &[Case], reason: &str| refutes(BACK_AND_FORTH, Model::Cc, &Evidence::Cases(cases.to_vec()), reason);
    refuses(&[], "the last case: it must be there and have no choices");
    refuses(&[early.clone(), late.clone()], "the last case: it must be there and have no choices");
    refuses(&[early.clone(), none_left(&[], 4, &[0])], "case 1: a candidate of operation 4 is left");
    refuses(&[early.clone(), none_left(&[], 4, &[0, 1])], "case 1: case 1 is not an earlier one");
    refuses(&[none_left(&[], 5, &[])], "case 0: operation 5 is no read whose source is open");
    refuses(&[none_left(&[], 9, &[])], "case 0: operation 9 is no read whose source is open");
    // The evidence of a case must hold with its choices, and only with these.
    let unchosen = Case { choices: Vec::new(), ..early.clone() };
    refuses(&[unchosen], "case 0: step 0: an operation that should read from a write does not");
    let swapped = Case { choices: late.choices.clone(), ..early.clone() };
    refuses(&[swapped], "case 0: step 0: the read does not read from the write that the step leads to");
    refuses(
        &[early.clone(), late.clone(), last.clone(), early.clone()],
        "the last case: it must be there and have no choices",
    );
}

#[test]
fn choices_that_cannot_be() {
    let refuses = |choices: &[Choice], reason: &str| {
        let case = refuted(choices, cycle(&[], &[]));
        refutes(BACK_AND_FORTH, Model::Cc, &Evidence::Cases(vec![case]), &format!("case 0: {reason}"));
    };
    refuses(&[choice(4, 1)], "operation 4 cannot have that source");
    refuses(&[choice(4, 7)], "operation 4 cannot have that source");
    refuses(&[choice(4, init(0))], "operation 4 cannot have that source");
    refuses(&[choice(3, 1)], "operation 3 is no read whose source is open");
    refuses(&[choice(4, 0), choice(4, 2)], "two sources are chosen for operation 4");
}

#[test]
fn a_case_with_choices_that_another_does_not_make() {
    // Operations 2 and 3 are both open; what refutes a choice for one of them says nothing without the other.
    let history = "[0] w x 1\n[1] w x 1\n[2] r x 1\n[2] r x 1\n";
    let first = none_left(&[choice(2, 0)], 2, &[]);
    let refuses = |cases: &[Case], reason: &str| refutes(history, Model::Cc, &Evidence::Cases(cases.to_vec()), reason);
    refuses(&[first], "case 0: a candidate of operation 2 is left");
}

#[test]
fn what_is_known_without_choices() {
    let history = "[0] w x 1\n[1] w x 1\n[2] r x 1\n[3] r y 7\n";
    proves(history, Model::Sc, &Evidence::ThinAir(OperationId(3)));
    rejects(
        history,
        Model::Sc,
        &sources(&[choice(2, 0)], &[0, 2, 1, 3]),
        "the thin-air read: a read returned a value that nobody wrote, so no model allows the history",
    );
}

#[test]
fn no_candidates_at_all() {
    let history = "[0] r x 1\n[0] w x 1\n[0] w x 1\n";
    for model in Model::ALL {
        proves(history, model, &Evidence::Cases(vec![none_left(&[], 0, &[])]));
    }
}

#[test]
fn chosen_sources() {
    witnesses(TWICE, Model::Sc, &sources(&[choice(2, 0)], &[0, 2, 1]));
    witnesses(TWICE, Model::Sc, &sources(&[choice(2, 1)], &[0, 1, 2]));
    let stale = "the order of all operations: operation 2 does not read the last write before it";
    rejects(TWICE, Model::Sc, &sources(&[choice(2, 0)], &[0, 1, 2]), stale);
    let none = "the sources: no source is chosen for operation 2";
    rejects(TWICE, Model::Sc, &sources(&[], &[0, 1, 2]), none);
    rejects(TWICE, Model::Sc, &Evidence::Interleaving(ids(&[0, 1, 2])), none);
    rejects(
        TWICE,
        Model::Sc,
        &sources(&[choice(2, 2)], &[0, 1, 2]),
        "the sources: operation 2 cannot have that source",
    );
    let wrong = "this kind of evidence does not prove consistent under ccv";
    rejects(TWICE, Model::Ccv, &sources(&[choice(2, 0)], &[0, 2, 1]), wrong);
    refutes(
        TWICE,
        Model::Sc,
        &sources(&[choice(2, 0)], &[0, 2, 1]),
        "this kind of evidence does not prove violation under sc",
    );
}

#[test]
fn sources_of_a_history_that_leaves_none_open() {
    let history = "[0] w x 1\n[1] r x 1\n";
    let wrong = "this kind of evidence does not prove consistent under sc";
    rejects(history, Model::Sc, &sources(&[], &[0, 1]), wrong);
    let wrong = "this kind of evidence does not prove violation under sc";
    refutes(history, Model::Sc, &Evidence::Cases(vec![none_left(&[], 1, &[])]), wrong);
}

#[test]
fn a_pending_compare_and_swap() {
    // It did not happen: as a write that nobody reads it may stand anywhere.
    witnesses(PENDING, Model::Sc, &sources(&[choice(3, 0)], &[0, 3, 1, 2]));
    // It happened, after the write of 0.
    witnesses(PENDING, Model::Sc, &sources(&[choice(2, 1), choice(3, 2)], &[0, 1, 2, 3]));
    witnesses(PENDING, Model::Sc, &sources(&[choice(2, init(0)), choice(3, 2)], &[2, 3, 0, 1]));
    let none = "the sources: no source is chosen for operation 2";
    rejects(PENDING, Model::Sc, &sources(&[choice(3, 2)], &[0, 1, 2, 3]), none);
    let unneeded = "case 0: operation 2 needs no source, since no choice is from it";
    refutes(PENDING, Model::Sc, &Evidence::Cases(vec![none_left(&[], 2, &[])]), unneeded);
    let left = "case 0: a candidate of operation 2 is left";
    refutes(PENDING, Model::Sc, &Evidence::Cases(vec![none_left(&[choice(3, 2)], 2, &[])]), left);
    witnesses(NEEDED, Model::Sc, &sources(&[choice(2, 1)], &[0, 3, 1, 2, 4]));
}

#[test]
fn the_initial_write_of_another_location() {
    let history = "[0] w x 0\n[0] w y 0\n[1] r x 0\n[1] r y 0\n";
    let choices = |x: Node, y: Node| sources(&[choice(2, x), choice(3, y)], &[2, 3, 0, 1]);
    witnesses(history, Model::Sc, &choices(init(0), init(1)));
    rejects(history, Model::Sc, &choices(init(1), init(1)), "the sources: operation 2 cannot have that source");
}

#[test]
fn rc20_does_not_speak_of_sequentially_consistent_accesses() {
    let history = "[0] w x 1\n[1] w x 1\n[2] r.sc x 1\n";
    let evidence = Evidence::Sources(vec![choice(2, 0)], Box::new(Evidence::ModificationOrders(vec![ids(&[0, 1])])));
    rejects(history, Model::Rc20, &evidence, "deciding again: rc20 does not speak of sequentially consistent accesses");
    witnesses(history, Model::Ra, &evidence);
}
