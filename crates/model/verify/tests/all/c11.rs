//! Violations of the C11 family and of `coherence`.

use crate::common;
use common::*;
use model::{Edge, Evidence, Model, Step};

/// The models whose cycles consist of writes of one location.
const COHERENT: [Model; 4] = [Model::Ra, Model::Rc20, Model::Relaxed, Model::Coherence];
const C11: [Model; 5] = [Model::Wra, Model::Ra, Model::Sra, Model::Rc20, Model::Relaxed];

/// Each thread sees the write of the other after its own.
const CROSSED: &str = "[0] w x 1\n[1] w x 2\n[0] r x 2\n[1] r x 1\n";

/// Two rmws read one write.
const SHARED: &str = "[0] w x 1\n[1] u x 1 2\n[2] u x 1 3\n";

/// Message passing that fails. `write` and `read` say how the flag y is written and read: with a release and an
/// acquire, or without. The locations are x, then y.
fn passing(write: &str, read: &str) -> String {
    format!("[0] w x 1\n[0] {write} y 1\n[1] {read} y 1\n[1] r x 0\n")
}

#[test]
fn a_cycle_of_program_order_and_reads_from() {
    let buffering = "[0] r x 1\n[0] w y 1\n[1] r y 1\n[1] w x 1\n";
    let evidence = cycle(&[], &[po(0, 1), rf(1, 2), po(2, 3), rf(3, 0)]);
    for model in C11 {
        proves(buffering, model, &evidence);
    }
    refutes(buffering, Model::Coherence, &evidence, "the cycle: it must stay on one location");
    let own = "[0] r x 1\n[0] w x 1\n[0] f\n";
    for model in [&C11[..], &[Model::Coherence]].concat() {
        proves(own, model, &cycle(&[], &[po(0, 1), rf(1, 0)]));
        refutes(own, model, &cycle(&[], &[]), "the cycle: it is empty");
    }
    for nothing in [2, 3] {
        let evidence = cycle(&[], &[po(nothing, nothing)]);
        let reason = if nothing == 2 {
            "the cycle: it must stay on one location"
        } else {
            "the cycle: two operations are not in program order"
        };
        refutes(own, Model::Coherence, &evidence, reason);
    }
}

#[test]
fn rc20_does_not_speak_of_sequential_consistency() {
    let reason = "deciding again: rc20 has no sequentially consistent accesses or fences";
    for history in ["[0] r x 1\n[0] w.sc x 1\n", "[0] r x 1\n[0] w x 1\n[0] f.sc\n"] {
        refutes(history, Model::Rc20, &cycle(&[], &[po(0, 1), rf(1, 0)]), reason);
        rejects(history, Model::Rc20, &Evidence::ModificationOrders(vec![ids(&[1])]), reason);
        proves(history, Model::Ra, &cycle(&[], &[po(0, 1), rf(1, 0)]));
    }
}

#[test]
fn coherence_of_two_accesses() {
    // A write before a read, a read before a read, a read before a write, a write before a write: each pair orders the
    // two writes that are written or read.
    let steps = [coherence(0, 2, 0, 1, &[po(0, 2)]), coherence(1, 3, 1, 0, &[po(1, 3)])];
    for model in COHERENT {
        proves(CROSSED, model, &cycle(&steps, &[step(0), step(1)]));
        let reads = "[0] w x 1\n[1] w x 2\n[2] r x 1\n[2] r x 2\n[3] r x 2\n[3] r x 1\n";
        let steps = [coherence(2, 3, 0, 1, &[po(2, 3)]), coherence(4, 5, 1, 0, &[po(4, 5)])];
        proves(reads, model, &cycle(&steps, &[step(0), step(1)]));
        let reads_and_writes = "[0] r x 2\n[0] w x 1\n[1] r x 1\n[1] w x 2\n";
        let steps = [coherence(0, 1, 3, 1, &[po(0, 1)]), coherence(2, 3, 1, 3, &[po(2, 3)])];
        proves(reads_and_writes, model, &cycle(&steps, &[step(0), step(1)]));
        let initial = "[0] w x 1\n[0] r x 0\n";
        let steps = [coherence(0, 1, 0, init(0), &[po(0, 1)])];
        proves(initial, model, &cycle(&steps, &[po(init(0), 0), step(0)]));
        let writes = "[0] w x 1\n[0] w x 2\n[1] r x 2\n[1] r x 1\n";
        let steps = [coherence(0, 1, 0, 1, &[po(0, 1)]), coherence(2, 3, 1, 0, &[po(2, 3)])];
        proves(writes, model, &cycle(&steps, &[step(0), step(1)]));
    }
}

#[test]
fn what_coherence_must_be() {
    for model in COHERENT {
        let refutes = |step: Step, reason: &str| {
            refutes(CROSSED, model, &cycle(&[step], &[Edge::Derived(0)]), &format!("step 0: {reason}"));
        };
        let ends = "the ends of the step are not the writes that the two accesses make or read from";
        refutes(coherence(0, 2, 1, 0, &[po(0, 2)]), ends);
        refutes(coherence(1, 2, 0, 1, &[po(0, 2)]), ends);
        refutes(coherence(0, 3, 0, 1, &[po(0, 2)]), ends);
        refutes(coherence(0, 2, 0, 0, &[po(0, 2)]), "the rule needs two different writes of one location");
        refutes(coherence(0, 2, 0, 1, &[]), "a path is empty");
        refutes(
            coherence(0, 2, 0, 1, &[po(0, 2), po(1, 3)]),
            "a path is broken: an edge does not begin where the one before it ends",
        );
        refutes(coherence(0, 9, 0, 1, &[po(0, 2)]), "an operation that should read from a write does not");
        refutes(coherence(9, 2, 0, 1, &[po(0, 2)]), "an operation that should read from a write does not");
        refutes(coherence(0, init(0), 0, 1, &[po(0, 2)]), "an operation that should read from a write does not");
        refutes(coherence(0, 2, 0, 1, &[step(0)]), "a premise may use earlier steps only");
        refutes(coherence(0, 2, 0, 1, &[step(1)]), "a premise may use earlier steps only");
        for other in [cf(0, 1, 2, &[po(0, 2)]), ww(0, 1, &[po(0, 2)]), assume(0, 1), lemma(0, 0, 1, &[])] {
            refutes(other, &format!("this is no rule of {model}"));
        }
    }
    let premise = "step 1: the premise uses an edge that is not in the happens-before of this model";
    for model in COHERENT {
        let steps = [coherence(0, 2, 0, 1, &[po(0, 2)]), coherence(0, 2, 0, 1, &[step(0), rf(1, 2)])];
        refutes(CROSSED, model, &cycle(&steps, &[step(0)]), premise);
    }
}

#[test]
fn what_happens_before() {
    let step_by = |path: &[Edge]| cycle(&[coherence(0, 3, 0, init(0), path)], &[po(init(0), 0), step(0)]);
    let by_reading = step_by(&[po(0, 1), rf(1, 2), po(2, 3)]);
    let by_synchronising = step_by(&[po(0, 1), sw(1, 1, 2, 2), po(2, 3)]);
    let premise = "step 0: the premise uses an edge that is not in the happens-before of this model";
    for (write, read) in [("w", "r"), ("w.rel", "r.acq"), ("w.rlx", "r.rlx")] {
        proves(&passing(write, read), Model::Ra, &by_reading);
        for model in [Model::Rc20, Model::Relaxed, Model::Coherence] {
            refutes(&passing(write, read), model, &by_reading, premise);
        }
        for model in [Model::Ra, Model::Relaxed, Model::Coherence] {
            refutes(&passing(write, read), model, &by_synchronising, premise);
        }
    }
    proves(&passing("w.rel", "r.acq"), Model::Rc20, &by_synchronising);
    for (write, read) in [("w", "r"), ("w", "r.acq"), ("w.rlx", "r.acq")] {
        refutes(&passing(write, read), Model::Rc20, &by_synchronising, "step 0: there is no release");
    }
    for (write, read) in [("w.rel", "r"), ("w.rel", "r.rlx")] {
        refutes(&passing(write, read), Model::Rc20, &by_synchronising, "step 0: there is no acquire");
    }
}

#[test]
fn fences_and_chains_of_rmws_synchronise() {
    let fenced = |release: &str, acquire: &str| {
        format!("[0] w x 1\n[0] {release}\n[0] w y 1\n[1] r y 1\n[1] {acquire}\n[1] r x 0\n")
    };
    let step_by = |edge: Edge, from: u32, to: u32| {
        cycle(&[coherence(0, 5, 0, init(0), &[po(0, from), edge, po(to, 5)])], &[po(init(0), 0), step(0)])
    };
    let whole = step_by(sw(1, 2, 3, 4), 1, 4);
    for fence in ["f", "f.acqrel"] {
        proves(&fenced(fence, fence), Model::Rc20, &whole);
    }
    proves(&fenced("f.rel", "f.acq"), Model::Rc20, &whole);
    refutes(&fenced("f.acq", "f.acq"), Model::Rc20, &whole, "step 0: there is no release");
    refutes(&fenced("f.rel", "f.rel"), Model::Rc20, &whole, "step 0: there is no acquire");
    // A fence after the write is no release, and a fence before the read is no acquire.
    let turned = "[0] w x 1\n[0] w y 1\n[0] f\n[1] f\n[1] r y 1\n[1] r x 0\n";
    refutes(turned, Model::Rc20, &step_by(sw(2, 1, 4, 3), 2, 3), "step 0: there is no release");
    let acquired = "[0] w x 1\n[0] f\n[0] w y 1\n[1] f\n[1] r y 1\n[1] r x 0\n";
    refutes(acquired, Model::Rc20, &step_by(sw(1, 2, 4, 3), 1, 3), "step 0: there is no acquire");
    // A release write does not make another write of its thread a release.
    let other = "[0] w x 1\n[0] w.rel z 1\n[0] w y 1\n[1] r y 1\n[1] r.acq z 1\n[1] r x 0\n";
    refutes(other, Model::Rc20, &step_by(sw(1, 2, 3, 4), 1, 4), "step 0: there is no release");
    refutes(other, Model::Rc20, &step_by(sw(1, 1, 3, 4), 1, 4), "step 0: there is no acquire");
    proves(other, Model::Rc20, &step_by(sw(1, 1, 4, 4), 1, 4));
    // A fence instead of the write, a fence instead of the read, an initial write.
    let through = "step 0: synchronisation needs a write and a read";
    refutes(&fenced("f", "f"), Model::Rc20, &step_by(sw(1, 1, 3, 4), 1, 4), through);
    refutes(&fenced("f", "f"), Model::Rc20, &step_by(sw(1, 2, 4, 4), 1, 4), through);
    let initial = "step 0: an initial write does not synchronise";
    refutes(&fenced("f", "f"), Model::Rc20, &step_by(sw(init(1), init(1), 3, 4), 1, 4), initial);
    refutes(&fenced("f", "f"), Model::Rc20, &step_by(sw(1, 9, 3, 4), 1, 4), initial);
    let apart = "step 0: the read does not read from the write, directly or through rmws";
    refutes(&fenced("f", "f").replace("w y 1", "w z 1\n[2] w y 1"), Model::Rc20, &apart_step(), apart);
}

/// A synchronisation through a write of z and a read of y.
fn apart_step() -> Evidence {
    cycle(&[coherence(0, 6, 0, init(0), &[po(0, 1), sw(1, 2, 4, 5), po(5, 6)])], &[po(init(0), 0), step(0)])
}

#[test]
fn a_release_sequence() {
    let sequence =
        |second: &str| format!("[0] w x 1\n[0] w.rel y 1\n[2] u y 1 2\n[3] {second}\n[1] r.acq y 3\n[1] r x 0\n");
    let step_by =
        cycle(&[coherence(0, 5, 0, init(0), &[po(0, 1), sw(1, 1, 4, 4), po(4, 5)])], &[po(init(0), 0), step(0)]);
    proves(&sequence("u y 2 3"), Model::Rc20, &step_by);
    let apart = "step 0: the read does not read from the write, directly or through rmws";
    refutes(&sequence("w y 3"), Model::Rc20, &step_by, apart);
    let initial = "[0] w x 1\n[0] w.rel y 1\n[2] u z 1 2\n[3] w z 1\n[1] r.acq y 0\n[1] r x 0\n";
    refutes(initial, Model::Rc20, &step_by, apart);
}

#[test]
fn rmws_stand_next_to_their_source() {
    for model in COHERENT {
        // Each rmw comes before the other.
        let steps = [rw(1, 2, &[rf(0, 2)]), rw(2, 1, &[rf(0, 1)])];
        proves(SHARED, model, &cycle(&steps, &[step(0), step(1)]));
        // By atomicity, a write that comes after the source of an rmw comes after the rmw.
        let between = "[0] w x 1\n[1] u x 1 2\n[2] w x 3\n[0] r x 3\n[2] r x 2\n";
        let steps = [
            coherence(0, 3, 0, 2, &[po(0, 3)]),
            atomicity(1, 2, &[step(0)]),
            coherence(2, 4, 2, 1, &[po(2, 4)]),
            rw(1, 2, &[step(0)]),
            rw(1, 2, &[rf(0, 1), step(1)]),
        ];
        proves(between, model, &cycle(&steps, &[step(1), step(2)]));
        proves(between, model, &cycle(&steps, &[step(3), step(2)]));
        // Reads-from into an rmw may be an edge of the cycle.
        let before_both = [steps.as_slice(), &[atomicity(2, 0, &[step(2)])]].concat();
        proves(between, model, &cycle(&before_both, &[rf(0, 1), step(1), step(5)]));
        let refutes = |last: Step, reason: &str| {
            let evidence = cycle(&[steps.as_slice(), &[last]].concat(), &[step(1), step(2)]);
            refutes(between, model, &evidence, &format!("step 5: {reason}"));
        };
        for path in [&[][..], &[step(0), step(2)], &[po(0, 3)], &[rf(0, 1)]] {
            refutes(atomicity(1, 2, path), "the premise of atomicity must be one step");
        }
        refutes(
            atomicity(2, 1, &[step(0)]),
            "the two writes are not in the two chains of rmws that the premise orders",
        );
        refutes(
            atomicity(0, 1, &[step(0)]),
            "the two writes are not in the two chains of rmws that the premise orders",
        );
        refutes(atomicity(1, 2, &[step(5)]), "a premise may use earlier steps only");
        refutes(rw(3, 2, &[step(0)]), "the rule needs two different writes of one location");
        refutes(rw(2, 0, &[step(0)]), "the rule needs an rmw");
        refutes(rw(1, 0, &[step(0)]), "the rule needs two different writes of one location");
        refutes(rw(1, 2, &[po(0, 3), rf(2, 3)]), "the edge does not order two writes of one location");
        refutes(rw(1, 2, &[rf(2, 3)]), "the edge does not order two writes of one location");
        refutes(rw(1, 2, &[step(2)]), "a path is broken: an edge does not begin where the one before it ends");
    }
}

#[test]
fn the_cycle_orders_writes() {
    for model in COHERENT {
        let steps = [coherence(0, 2, 0, 1, &[po(0, 2)])];
        let refutes = |last: &[Edge], reason: &str| {
            refutes(CROSSED, model, &cycle(&steps, last), &format!("the cycle: {reason}"));
        };
        refutes(&[], "it is empty");
        refutes(&[step(1)], "it uses a step that does not exist");
        refutes(&[step(0)], "a path does not end where it should");
        refutes(&[step(0), po(1, 3)], "the edge does not order two writes of one location");
        refutes(&[rf(1, 2)], "the edge does not order two writes of one location");
        refutes(&[po(init(0), 2)], "the edge does not order two writes of one location");
        refutes(&[sw(0, 0, 3, 1)], "the edge does not order two writes of one location");
    }
}

#[test]
fn a_cycle_of_rmws_is_no_chain() {
    // Each rmw reads the other, so reads-from alone has a cycle.
    let round = "[0] u x 2 1\n[1] u x 1 2\n[2] w x 3\n[2] r x 1\n";
    for model in [Model::Ra, Model::Rc20, Model::Relaxed, Model::Coherence] {
        proves(round, model, &cycle(&[], &[rf(0, 1), rf(1, 0)]));
        let steps = [coherence(2, 3, 2, 0, &[po(2, 3)]), atomicity(2, 1, &[step(0)])];
        let reason = "step 1: the two writes are not in the two chains of rmws that the premise orders";
        refutes(round, model, &cycle(&steps, &[step(0), step(1)]), reason);
    }
}

#[test]
fn strong_release_acquire() {
    let conflicts = [cf(0, 1, 2, &[po(0, 2)]), cf(1, 0, 3, &[po(1, 3)])];
    proves(CROSSED, Model::Sra, &cycle(&conflicts, &[step(0), step(1)]));
    let refutes_last = |last: Step, reason: &str| {
        let evidence = cycle(&[conflicts.as_slice(), &[last]].concat(), &[step(0), step(1)]);
        refutes(CROSSED, Model::Sra, &evidence, &format!("step 2: {reason}"));
    };
    refutes_last(cf(0, 1, 2, &[step(0), rf(1, 2)]), "the premise about a pure read may use only po and rf");
    refutes_last(cf(0, 1, 2, &[step(2)]), "a premise may use earlier steps only");
    refutes_last(cf(0, 1, 2, &[sw(0, 0, 3, 2)]), "this model has no synchronisation edges");
    refutes_last(cf(0, 1, 3, &[po(0, 2)]), "the read does not read from the write that the step leads to");
    for other in [
        cf_in(0, 0, 1, 2, &[po(0, 2)]),
        ww(0, 1, &[step(0)]),
        coherence(0, 2, 0, 1, &[po(0, 2)]),
        atomicity(0, 1, &[step(0)]),
        assume(0, 1),
        lemma(0, 0, 1, &[]),
    ] {
        refutes_last(other, "this is no rule of sra");
    }
    refutes_last(rw(2, 0, &[step(1)]), "the rule needs an rmw");
    let cycle_by = |last: &[Edge]| cycle(&conflicts, last);
    refutes(CROSSED, Model::Sra, &cycle_by(&[]), "the cycle: it is empty");
    refutes(CROSSED, Model::Sra, &cycle_by(&[step(2)]), "the cycle: it uses a step that does not exist");
    let synchronised = "the cycle: this model has no synchronisation edges";
    refutes(CROSSED, Model::Sra, &cycle_by(&[sw(0, 0, 3, 1), step(1)]), synchronised);
}

#[test]
fn rmws_of_strong_release_acquire() {
    proves(SHARED, Model::Sra, &cycle(&[rw(1, 2, &[rf(0, 2)]), rw(2, 1, &[rf(0, 1)])], &[step(0), step(1)]));
    // The premise about an rmw may use steps.
    let history = "[0] w x 1\n[1] w x 2\n[0] r x 2\n[2] u x 2 3\n";
    let steps = [cf(0, 1, 2, &[po(0, 2)]), cf(0, 1, 3, &[step(0), rf(1, 3)])];
    refutes(history, Model::Sra, &cycle(&steps, &[]), "the cycle: it is empty");
    let sync = cycle(&[rw(1, 2, &[sw(0, 0, 2, 2)])], &[step(0)]);
    refutes(SHARED, Model::Sra, &sync, "step 0: this model has no synchronisation edges");
}

#[test]
fn weak_release_acquire() {
    let shared = cycle(&[rw(1, 2, &[rf(0, 2)]), rw(2, 1, &[rf(0, 1)])], &[step(0), step(1)]);
    proves(SHARED, Model::Wra, &shared);
    // Two rmws of the initial write.
    let initial = "[1] u x 0 2\n[2] u x 0 3\n";
    let evidence = cycle(&[rw(0, 1, &[rf(init(0), 1)]), rw(1, 0, &[rf(init(0), 0)])], &[step(0), step(1)]);
    proves(initial, Model::Wra, &evidence);
    let refutes = |steps: &[Step], last: &[Edge], reason: &str| {
        refutes(SHARED, Model::Wra, &cycle(steps, last), reason);
    };
    let [one, other] = [rw(1, 2, &[rf(0, 2)]), rw(2, 1, &[rf(0, 1)])];
    let both = [one.clone(), other.clone()];
    let reason = "step 0: this is no rule of wra, or not between two rmws";
    refutes(&[rw(1, 0, &[rf(0, 2)]), other.clone()], &[step(0), step(1)], reason);
    refutes(&[cf(1, 0, 2, &[rf(0, 2)]), other.clone()], &[step(0), step(1)], reason);
    refutes(&[rw(0, 1, &[rf(0, 1)]), other.clone()], &[step(0), step(1)], "step 0: the rule needs an rmw");
    let same = "step 0: the rule needs two different writes of one location";
    refutes(&[rw(1, 1, &[rf(0, 1)]), other.clone()], &[step(0), step(1)], same);
    let apart = "step 0: the two rmws do not read from the same write";
    for path in [&[po(0, 2)][..], &[step(1)], &[rf(0, 1), rf(0, 2)], &[sw(0, 0, 2, 2)]] {
        refutes(&[rw(1, 2, path), other.clone()], &[step(0), step(1)], apart);
    }
    refutes(&[rw(1, 2, &[rf(0, 1)]), other], &[step(0), step(1)], "step 0: a path does not end where it should");
    refutes(&both, &[step(0), rf(0, 1)], "the cycle: a cycle with rw steps has no other edges");
    refutes(&both, &[step(0), step(2)], "the cycle: it uses a step that does not exist");
    refutes(&both, &[step(0)], "the cycle: a path does not end where it should");
    refutes(&both, &[], "the cycle: it is empty");
}

#[test]
fn two_rmws_of_different_writes_share_nothing() {
    let history = "[0] w x 1\n[1] u x 1 2\n[2] u x 2 3\n";
    let evidence = cycle(&[rw(1, 2, &[rf(1, 2)]), rw(2, 1, &[rf(0, 1)])], &[step(0), step(1)]);
    let reason = "step 0: a path is broken: an edge does not begin where the one before it ends";
    refutes(history, Model::Wra, &evidence, reason);
}

#[test]
fn wra_is_decided_again() {
    witnesses(CROSSED, Model::Wra, &Evidence::DecideAgain);
    let shared = "deciding again: the history is not allowed: two rmws read from the same write";
    rejects(SHARED, Model::Wra, &Evidence::DecideAgain, shared);
    rejects("[1] u x 0 2\n[2] u x 0 3\n", Model::Wra, &Evidence::DecideAgain, shared);
    witnesses("[1] u x 0 2\n[2] u y 0 3\n", Model::Wra, &Evidence::DecideAgain);
    let overwritten = "deciding again: operation 3 reads an overwritten value";
    rejects(&passing("w", "r"), Model::Wra, &Evidence::DecideAgain, overwritten);
}

#[test]
fn a_violation_of_sra_is_decided_again() {
    // Causality has a cycle. An initial value was overwritten. Two rmws read one write. The writes have no order.
    for history in [
        "[0] r x 1\n[0] w x 1\n",
        "[0] w x 1\n[0] r x 0\n",
        SHARED,
        "[1] u x 0 2\n[2] u x 0 3\n",
        CROSSED,
        "[0] w x 1\n[1] u x 1 2\n[2] w x 3\n[0] r x 3\n[2] r x 2\n",
    ] {
        proves(history, Model::Sra, &Evidence::DecideAgain);
    }
    let allowed = "deciding again: the history is allowed: the writes have an order";
    for history in [
        "[0] w x 1\n[1] u x 1 2\n[0] r x 2\n[0] f\n",
        "[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n",
        "[0] u x 0 1\n[1] u x 1 2\n[2] w x 3\n[2] r x 3\n",
    ] {
        refutes(history, Model::Sra, &Evidence::DecideAgain, allowed);
    }
}

#[test]
fn an_rmw_out_of_thin_air_is_of_no_chain() {
    let history = "[0] u x 7 1\n[0] w x 2\n[1] w x 3\n[1] r x 2\n";
    for model in COHERENT {
        let steps = [coherence(0, 1, 0, 1, &[po(0, 1)]), atomicity(0, 1, &[step(0)])];
        let reason = "step 1: the two writes are not in the two chains of rmws that the premise orders";
        refutes(history, model, &cycle(&steps, &[step(0)]), reason);
        let steps = [coherence(2, 3, 2, 1, &[po(2, 3)]), rw(0, 2, &[step(0)])];
        refutes(
            history,
            model,
            &cycle(&steps, &[step(0)]),
            "step 1: an operation that should read from a write does not",
        );
    }
}
