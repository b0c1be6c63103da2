//! `sc-observed`: the order in which operations were performed.

use crate::common;
use common::*;
use model::{Evidence, Model};

const OBSERVED: Model = Model::ScObserved;

/// Thread 0 performed its second operation first, and thread 1 saw that: load buffering, as it was performed.
const EARLY: &str = "[0] w y 1 po=1\n[1] r y 1 po=0\n[1] w x 1 po=1\n[0] r x 1 po=0\n[2] f\n";

#[test]
fn a_cycle_of_constraints() {
    let constraints = |numbers: &[u32]| Evidence::Constraints(ids(numbers));
    proves(EARLY, OBSERVED, &constraints(&[3, 0, 1, 2]));
    proves(EARLY, OBSERVED, &constraints(&[0, 1, 2, 3]));
    let refutes = |numbers: &[u32], reason: &str| {
        refutes(EARLY, OBSERVED, &constraints(numbers), &format!("the cycle: {reason}"));
    };
    refutes(&[], "it is empty");
    refutes(&[0, 1, 2, 9], "it names an operation that the history does not have");
    refutes(&[9], "it names an operation that the history does not have");
    refutes(&[0], "nothing puts operation 0 before operation 0");
    // Program order leads one way, and a conflict the other way. Neither leads both ways.
    refutes(&[0, 1], "nothing puts operation 1 before operation 0");
    refutes(&[3, 0], "nothing puts operation 0 before operation 3");
    // Two locations, two threads, a fence.
    refutes(&[0, 2, 3], "nothing puts operation 0 before operation 2");
    refutes(&[0, 4], "nothing puts operation 0 before operation 4");
}

#[test]
fn two_reads_are_no_conflict() {
    let history = "[0] w x 1\n[1] r x 1\n[2] r x 1\n";
    let reason = "the cycle: nothing puts operation 1 before operation 2";
    refutes(history, OBSERVED, &Evidence::Constraints(ids(&[1, 2])), reason);
}

#[test]
fn an_order_of_what_was_performed() {
    let history = "[0] w x 1 po=1\n[1] r x 1\n[0] r y 0 po=0\n[1] f\n[2] w x 2\n";
    let order = |numbers: &[u32]| Evidence::Interleaving(ids(numbers));
    witnesses(history, OBSERVED, &order(&[2, 0, 1, 3, 4]));
    witnesses(history, OBSERVED, &order(&[2, 0, 1, 4, 3]));
    let rejects = |numbers: &[u32], reason: &str| {
        rejects(history, OBSERVED, &order(numbers), &format!("the order of all operations: {reason}"));
    };
    rejects(&[2, 0, 1, 3], "an operation is missing");
    rejects(&[2, 0, 1, 3, 9], "it names an operation that the history does not have");
    rejects(&[2, 0, 1, 3, 3, 4], "operation 3 is listed twice");
    rejects(&[0, 2, 1, 3, 4], "operation 2 comes after a later one of its thread");
    rejects(&[2, 0, 3, 1, 4], "operation 1 comes after a later one of its thread");
    rejects(&[2, 1, 0, 3, 4], "operation 0 comes after a conflicting operation that was performed later");
    rejects(&[2, 0, 4, 1, 3], "operation 1 comes after a conflicting operation that was performed later");
    rejects(&[2, 4, 0, 1, 3], "operation 0 comes after a conflicting operation that was performed later");
}

#[test]
fn histories_that_were_not_performed() {
    let order = Evidence::Interleaving(Vec::new());
    let queue = "# @object queue\n[0] enqueue 1\n";
    let reason = "this model is about reads and writes, and this is a history of a queue";
    rejects(queue, OBSERVED, &order, reason);
    let called = "[0] call w x 1\n[0] return\n";
    let reason = "an operation with call and return does not say when it was performed";
    rejects(called, OBSERVED, &order, reason);
    let twice = "[0] w x 1 po=3\n[0] w x 2 po=3\n";
    let reason = "an operation of this thread with the same index in program order was performed before";
    rejects(twice, OBSERVED, &order, reason);
}
