//! `wccm`, which has two bases.

use crate::common;
use common::*;
use model::{Evidence, Model, Step};

const WCCM: Model = Model::Wccm;

/// Each thread sees the write of the other after its own.
const CROSSED: &str = "[0] w x 1\n[1] w x 2\n[0] r x 2\n[1] r x 1\n";

/// One thread sees two writes in both orders.
const BACK_AND_FORTH: &str = "[0] w x 1\n[1] w x 2\n[2] r x 1\n[2] r x 2\n[2] r x 1\n";

/// Two readers disagree. The locations are x, then y.
const IRIW: &str = "[0] w x 1\n[1] w y 1\n[2] r x 1\n[2] r y 0\n[3] r y 1\n[3] r x 0\n";

/// The conflicts of [`CROSSED`], in the views of the two threads.
fn views() -> [Step; 2] {
    [cf_in(0, 0, 1, 2, &[po(0, 2)]), cf_in(1, 1, 0, 3, &[po(1, 3)])]
}

#[test]
fn conflicts_in_views() {
    proves(CROSSED, WCCM, &cycle(&views(), &[step(0), step(1)]));
    let first = cf_in(2, 0, 1, 3, &[rf(0, 2), po(2, 3)]);
    let second = cf_in(2, 1, 0, 4, &[rf(1, 3), po(3, 4)]);
    proves(BACK_AND_FORTH, WCCM, &cycle(&[first.clone(), second.clone()], &[step(0), step(1)]));
    // The premise of a step may use a step in the same view.
    let third = cf_in(2, 0, 1, 3, &[step(0), rf(1, 3)]);
    proves(BACK_AND_FORTH, WCCM, &cycle(&[first, second.clone(), third], &[step(2), step(1)]));
    let other = cf_in(0, 0, 1, 3, &[rf(0, 2), po(2, 3)]);
    let reason = "step 0: the step is in the view of one process, and its read is of another";
    refutes(BACK_AND_FORTH, WCCM, &cycle(&[other, second], &[step(0), step(1)]), reason);
}

#[test]
fn steps_that_stand_on_steps() {
    let steps = [
        views().as_slice(),
        &[
            cf(0, 1, 2, &[step(0), rf(1, 2)]),
            ww(0, 1, &[step(0)]),
            ww(1, 0, &[step(1)]),
            rw(3, 1, &[step(3)]),
            rw(2, 0, &[step(4)]),
            rw(3, 1, &[step(2)]),
            rw(3, 1, &[step(0)]),
        ],
    ]
    .concat();
    proves(CROSSED, WCCM, &cycle(&steps, &[step(2), step(4)]));
    let with = |last: Step| cycle(&[steps.as_slice(), &[last]].concat(), &[step(2), step(4)]);
    let refutes = |last: Step, reason: &str| refutes(CROSSED, WCCM, &with(last), &format!("step 9: {reason}"));
    for last in [
        cf(0, 1, 2, &[step(2), rf(1, 2)]),
        cf(0, 1, 2, &[step(3), rf(1, 2)]),
        cf_in(0, 0, 1, 2, &[step(2), rf(1, 2)]),
        cf_in(0, 0, 1, 2, &[step(0), step(1), po(0, 2)]),
        ww(0, 1, &[step(2)]),
        ww(0, 1, &[step(3)]),
        ww(0, 1, &[rf(0, 3), step(5)]),
    ] {
        refutes(last, "the premise uses a step that the rule does not allow");
    }
    for last in [rw(3, 1, &[rf(0, 3), step(5)]), rw(3, 1, &[po(0, 2)])] {
        refutes(last, "the premise of rw may use only steps that order writes");
    }
    for last in [cf_in(0, 0, 1, 2, &[step(9)]), cf(0, 1, 2, &[step(12)]), ww(0, 1, &[step(9)]), rw(3, 1, &[step(9)])] {
        refutes(last, "a premise may use earlier steps only");
    }
    for last in [coherence(0, 2, 0, 1, &[po(0, 2)]), atomicity(0, 1, &[step(2)]), assume(0, 1), lemma(0, 0, 1, &[])] {
        refutes(last, "this is no rule of wccm");
    }
    refutes(ww(0, 1, &[sw(0, 0, 3, 1)]), "this model has no synchronisation edges");
    refutes(ww(0, 1, &[]), "a path is empty");
    refutes(ww(0, 0, &[step(0)]), "the rule needs two different writes of one location");
    refutes(cf(0, 1, 3, &[step(0)]), "the read does not read from the write that the step leads to");
    refutes(cf(0, 1, 0, &[step(0)]), "an operation that should read from a write does not");
    refutes(rw(0, 1, &[step(0)]), "an operation that should read from a write does not");
}

#[test]
fn what_a_cycle_must_be() {
    let refutes = |last: &[model::Edge], reason: &str| {
        refutes(CROSSED, WCCM, &cycle(&views(), last), &format!("the cycle: {reason}"));
    };
    refutes(&[], "it is empty");
    refutes(&[step(2)], "it uses a step that does not exist");
    refutes(&[step(0)], "a path does not end where it should");
    refutes(&[sw(0, 0, 3, 1), step(1)], "this model has no synchronisation edges");
}

#[test]
fn a_conflict_keeps_to_one_base() {
    // Program order between two locations is in ppo, and program order on one location is in po-loc: each in one base.
    let both = "[0] w x 1\n[0] w y 1\n[0] r y 1\n[1] r y 1\n[1] r x 2\n[2] w x 2\n";
    proves_step(both, &cf_in(1, 0, 5, 4, &[po(0, 1), rf(1, 3), po(3, 4)]));
    proves_step("[0] w x 1\n[0] r x 2\n[1] w x 2\n", &cf_in(0, 0, 2, 1, &[po(0, 1)]));
    // Program order from a write to a read of another location is in neither base.
    let history = "[0] w x 1\n[0] r y 0\n[0] w y 3\n[1] r y 3\n[1] r x 2\n[2] w x 2\n";
    for conflict in [
        cf_in(1, 0, 5, 4, &[po(0, 1), po(1, 2), rf(2, 3), po(3, 4)]),
        cf(0, 5, 4, &[po(0, 1), po(1, 2), rf(2, 3), po(3, 4)]),
    ] {
        let refusal = refusal_of(history, &conflict);
        assert!(refusal.starts_with("step 0: the premise is neither in ppo and rfe nor in po-loc and rf"), "{refusal}");
    }
    // The path goes from x = 1 to the read of it, in po-loc, and on to the write of y, in ppo. So it is in no base.
    let mixed = "[0] w x 1\n[0] r x 2\n[0] w y 1\n[1] r y 1\n[1] r x 3\n[2] w x 2\n[3] w x 3\n";
    let refusal = refusal_of(mixed, &cf(0, 6, 4, &[po(0, 1), po(1, 2), rf(2, 3), po(3, 4)]));
    assert!(refusal.starts_with("step 0: the premise is neither in ppo and rfe nor in po-loc and rf"), "{refusal}");
    // The premise of a store order may change from one base to the other.
    let history = "[0] w x 1\n[0] r x 2\n[0] w x 3\n[1] w x 2\n";
    proves_step(history, &ww(0, 2, &[po(0, 1), po(1, 2)]));
    let history = "[0] w x 1\n[0] r y 0\n[0] w x 3\n[1] w y 2\n";
    let refusal = refusal_of(history, &ww(0, 2, &[po(0, 1), po(1, 2)]));
    assert!(refusal.starts_with("step 0: an edge of the premise is not in ppo, po-loc or rf"), "{refusal}");
}

/// What the verifier says about a single step. The step closes no cycle.
fn refusal_of(history: &str, step: &Step) -> String {
    let history = parse(history);
    let evidence = cycle(std::slice::from_ref(step), &[]);
    let certificate = certificate(&history, WCCM, model::Verdict::Violation, &evidence);
    verify::verify(&certificate, &history).unwrap_err().to_string()
}

/// Asserts that a step holds, although it closes no cycle.
#[track_caller]
fn proves_step(history: &str, step: &Step) {
    assert_eq!(refusal_of(history, step), "the cycle: it is empty");
}

#[test]
fn a_step_in_a_view_is_in_the_bases_of_its_premise() {
    // The first conflict is in po-loc only, and the edges after it are in ppo only.
    let history = "[0] w x 1\n[0] r x 2\n[1] w x 2\n[1] w y 1\n[0] r y 1\n[0] r z 2\n[0] w z 1\n[2] w z 2\n";
    let first = cf_in(0, 0, 2, 1, &[po(0, 1)]);
    let both = cycle(&[first.clone(), cf_in(0, 0, 2, 1, &[step(0), rf(2, 1)])], &[]);
    refutes(history, WCCM, &both, "the cycle: it is empty");
    // A conflict for all that uses this conflict must stay in po-loc.
    let history = "[0] w x 1\n[0] r x 2\n[1] w x 2\n[1] w y 1\n[2] r y 1\n[2] r x 3\n[3] w x 3\n";
    let path = [step(0), po(2, 3), rf(3, 4), po(4, 5)];
    let evidence = cycle(&[first, cf(0, 6, 5, &path)], &[]);
    let history = parse(history);
    let certificate = certificate(&history, WCCM, model::Verdict::Violation, &evidence);
    let refusal = verify::verify(&certificate, &history).unwrap_err().to_string();
    assert!(refusal.starts_with("step 1: the premise is neither in ppo and rfe nor in po-loc and rf"), "{refusal}");
}

#[test]
fn the_cycle_keeps_to_one_base() {
    let steps = [
        ww(init(1), 1, &[po(init(1), 1)]),
        rw(3, 1, &[step(0)]),
        ww(init(0), 0, &[po(init(0), 0)]),
        rw(5, 0, &[step(2)]),
    ];
    proves(IRIW, WCCM, &cycle(&steps, &[step(1), rf(1, 4), po(4, 5), step(3), rf(0, 2), po(2, 3)]));
    let buffering = "[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n";
    let steps = [
        ww(init(1), 2, &[po(init(1), 2)]),
        rw(1, 2, &[step(0)]),
        ww(init(0), 0, &[po(init(0), 0)]),
        rw(3, 0, &[step(2)]),
    ];
    let evidence = cycle(&steps, &[step(1), po(2, 3), step(3), po(0, 1)]);
    let reason = "the cycle: a path is neither in ppo and rfe nor in po-loc and rf, under wccm";
    refutes(buffering, WCCM, &evidence, reason);
}

#[test]
fn wccm_is_decided_again() {
    witnesses("[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n", WCCM, &Evidence::DecideAgain);
    witnesses("[0] w x 1\n[0] w x 2\n[0] w y 1\n[1] r y 1\n[1] r x 2\n", WCCM, &Evidence::DecideAgain);
    let rejects = |history: &str, reason: &str| {
        rejects(history, WCCM, &Evidence::DecideAgain, &format!("deciding again: {reason}"));
    };
    let cyclic = |what: &str| format!("the history is not allowed: {what} is cyclic");
    rejects("[0] w x 1\n[0] r x 0\n", "operation 1 reads an initial value that was overwritten");
    rejects(BACK_AND_FORTH, &cyclic("the view of a process"));
    rejects(CROSSED, &cyclic("happens-before"));
    // A cycle needs both bases: x = 2 comes before x = 1 by way of y, and after x = 1 in the view of thread 0.
    rejects("[1] w x 2\n[1] w y 1\n[0] r y 1\n[0] w x 1\n[0] r x 2\n", &cyclic("happens-before"));
    rejects(IRIW, &cyclic("ppo or po-loc with reads-from, wpww and rw"));
    let order = "[0] w z 1\n[0] w x 1\n[1] w x 2\n[2] r x 1\n[2] r x 2\n[3] r x 2\n";
    rejects(&format!("{order}[3] r z 0\n"), "operation 6 reads an initial value that was overwritten");
    rejects(&format!("[4] w z 2\n[0] r z 2\n{order}[3] r z 2\n"), &cyclic("the partial store order"));
}
