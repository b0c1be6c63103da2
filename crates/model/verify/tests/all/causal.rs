//! The causal family: `cc`, `ccv`, `cm`, `ccm`. What each rule allows, and each refusal.

use crate::common;
use common::*;
use model::{Evidence, Model, Step, Verdict};
use verify::verify;

const CAUSAL: [Model; 4] = [Model::Cc, Model::Ccv, Model::Cm, Model::Ccm];

/// The last read returns what its causal past has overwritten.
const OVERWRITTEN: &str = "[0] w x 1\n[0] w x 2\n[0] w y 1\n[1] r y 1\n[1] r x 1\n";

/// Each thread sees the write of the other after its own.
const CROSSED: &str = "[0] w x 1\n[1] w x 2\n[0] r x 2\n[1] r x 1\n";

/// One thread sees two writes in both orders.
const BACK_AND_FORTH: &str = "[0] w x 1\n[1] w x 2\n[2] r x 1\n[2] r x 2\n[2] r x 1\n";

/// Two readers disagree on which of two writes came first. The locations are x, then y.
const IRIW: &str = "[0] w x 1\n[1] w y 1\n[2] r x 1\n[2] r y 0\n[3] r y 1\n[3] r x 0\n";

/// A read of what the thread itself writes later.
const FUTURE: &str = "[0] r x 1\n[0] w x 1\n";

fn overwritten(view: Option<u32>) -> Evidence {
    let path = [po(1, 2), rf(2, 3), po(3, 4)];
    let conflict = view.map_or(cf(1, 0, 4, &path), |view| cf_in(view, 1, 0, 4, &path));
    cycle(&[conflict], &[po(0, 1), step(0)])
}

#[test]
fn an_overwritten_value() {
    for model in [Model::Cc, Model::Ccv, Model::Ccm, Model::Wsc, Model::Sc, Model::Wra] {
        proves(OVERWRITTEN, model, &overwritten(None));
    }
    for model in [Model::Cm, Model::Ccm] {
        proves(OVERWRITTEN, model, &overwritten(Some(1)));
    }
}

#[test]
fn conflicts_with_and_without_a_view_are_rules_of_different_models() {
    refutes(OVERWRITTEN, Model::Cm, &overwritten(None), "step 0: this is no rule of cm");
    for model in [Model::Cc, Model::Ccv, Model::Wsc, Model::Sc] {
        refutes(OVERWRITTEN, model, &overwritten(Some(1)), &format!("step 0: this is no rule of {model}"));
    }
}

#[test]
fn rules_that_no_causal_model_has() {
    for model in CAUSAL {
        let foreign = format!("step 0: this is no rule of {model}");
        let path = [po(0, 1)];
        for other in [coherence(0, 1, 0, 1, &path), atomicity(0, 1, &path), assume(0, 1), lemma(0, 0, 1, &[])] {
            refutes(OVERWRITTEN, model, &cycle(&[other], &[po(0, 1)]), &foreign);
        }
        if model != Model::Ccm {
            refutes(OVERWRITTEN, model, &cycle(&[ww(0, 1, &path)], &[po(0, 1)]), &foreign);
            refutes(OVERWRITTEN, model, &cycle(&[rw(4, 1, &path)], &[po(0, 1)]), &foreign);
        }
    }
}

#[test]
fn a_cycle_of_program_order_and_reads_from() {
    for model in CAUSAL {
        proves(FUTURE, model, &cycle(&[], &[po(0, 1), rf(1, 0)]));
        proves(FUTURE, model, &cycle(&[], &[rf(1, 0), po(0, 1)]));
    }
}

#[test]
fn what_a_cycle_must_be() {
    for model in CAUSAL {
        let refutes = |evidence: &Evidence, reason: &str| refutes(FUTURE, model, evidence, reason);
        refutes(&cycle(&[], &[]), "the cycle: it is empty");
        refutes(&cycle(&[], &[step(0)]), "the cycle: it uses a step that does not exist");
        refutes(&cycle(&[], &[po(0, 1)]), "the cycle: a path does not end where it should");
        refutes(&cycle(&[], &[sw(0, 1, 0, 1)]), "the cycle: this model has no synchronisation edges");
        let broken = "the cycle: a path is broken: an edge does not begin where the one before it ends";
        refutes(&cycle(&[], &[po(0, 1), po(0, 1)]), broken);
        let unordered = "the cycle: two operations are not in program order";
        for (from, to) in [(1, 0), (0, 0), (0, 2), (2, 0)] {
            refutes(&cycle(&[], &[po(from, to), rf(to, from)]), unordered);
        }
        refutes(&cycle(&[], &[po(0, init(0))]), unordered);
        refutes(&cycle(&[], &[po(init(0), init(0))]), unordered);
        refutes(&cycle(&[], &[po(init(0), 2)]), unordered);
        refutes(&cycle(&[], &[po(0, 1), rf(0, 0)]), broken);
        refutes(&cycle(&[], &[rf(0, 0)]), "the cycle: a read does not read from the write that the edge names");
        refutes(&cycle(&[], &[rf(init(0), 0)]), "the cycle: a read does not read from the write that the edge names");
        let no_read = "the cycle: an operation that should read from a write does not";
        refutes(&cycle(&[], &[rf(0, 1)]), no_read);
        refutes(&cycle(&[], &[rf(0, 2)]), no_read);
        refutes(&cycle(&[], &[rf(0, init(0))]), no_read);
    }
    let other_thread = "the cycle: two operations are not in program order";
    refutes(CROSSED, Model::Cc, &cycle(&[], &[po(0, 1), po(1, 0)]), other_thread);
}

#[test]
fn what_a_conflict_must_be() {
    let refutes = |conflict: Step, reason: &str| {
        refutes(OVERWRITTEN, Model::Cc, &cycle(&[conflict], &[po(0, 1), step(0)]), &format!("step 0: {reason}"));
    };
    let path = [po(1, 2), rf(2, 3), po(3, 4)];
    refutes(cf(1, 0, 4, &[]), "a path is empty");
    refutes(cf(1, 0, 4, &path[..2]), "a path does not end where it should");
    refutes(cf(1, 0, 4, &path[1..]), "a path is broken: an edge does not begin where the one before it ends");
    refutes(cf(1, 0, 4, &[po(1, 4)]), "two operations are not in program order");
    refutes(cf(1, 0, 4, &[po(1, 2), rf(2, 4)]), "a read does not read from the write that the edge names");
    refutes(cf(1, 0, 4, &[sw(1, 2, 3, 4)]), "this model has no synchronisation edges");
    refutes(cf(1, 0, 3, &path), "the read does not read from the write that the step leads to");
    refutes(cf(1, init(0), 4, &path), "the read does not read from the write that the step leads to");
    for no_read in [2, 9] {
        refutes(cf(1, 0, no_read, &path), "an operation that should read from a write does not");
    }
    refutes(cf(1, 0, init(0), &path), "an operation that should read from a write does not");
    for not_another_write_of_x in [0, 2, 3, 9] {
        let conflict = cf(not_another_write_of_x, 0, 4, &path);
        refutes(conflict, "the rule needs two different writes of one location");
    }
    refutes(cf(init(1), 0, 4, &path), "the rule needs two different writes of one location");
}

#[test]
fn an_rmw_does_not_come_before_itself() {
    let updated = "[0] w x 1\n[1] u x 1 2\n";
    let reason = "step 0: an operation cannot come before itself";
    refutes(updated, Model::Ccv, &cycle(&[cf(1, 0, 1, &[rf(0, 1)])], &[rf(0, 1), step(0)]), reason);
    refutes(updated, Model::Sc, &cycle(&[cf(1, 0, 1, &[rf(0, 1)])], &[rf(0, 1), step(0)]), reason);
    refutes(updated, Model::Sc, &cycle(&[rw(1, 1, &[rf(0, 1)])], &[step(0)]), reason);
    refutes(updated, Model::Ccm, &cycle(&[rw(1, 1, &[rf(0, 1)])], &[step(0)]), reason);
}

#[test]
fn a_location_that_is_not_there() {
    // Such an initial write has no name, so the evidence cannot come from JSON.
    let history = parse(OVERWRITTEN);
    let no_order = "the cycle: two operations are not in program order";
    let no_write = "step 0: the rule needs two different writes of one location";
    for (evidence, reason) in [
        (cycle(&[], &[po(init(7), 0)]), no_order),
        (cycle(&[ww(init(7), 0, &[po(init(7), 0)])], &[po(init(7), 0)]), no_write),
        (cycle(&[cf(init(7), 0, 4, &[po(init(7), 4)])], &[po(init(7), 0)]), no_write),
    ] {
        let certificate = certificate(&history, Model::Ccm, Verdict::Violation, &evidence);
        assert_eq!(verify(&certificate, &history).unwrap_err().to_string(), reason);
    }
}

#[test]
fn cc_has_one_conflict_and_ccv_has_more() {
    let crossed = cycle(&[cf(0, 1, 2, &[po(0, 2)]), cf(1, 0, 3, &[po(1, 3)])], &[step(0), step(1)]);
    proves(CROSSED, Model::Ccv, &crossed);
    refutes(CROSSED, Model::Cc, &crossed, "the cycle: it uses more than one conflict step");
    let round = "the cycle: it uses more than one conflict step";
    refutes(OVERWRITTEN, Model::Cc, &cycle(&twice(&overwritten(None)), &[po(0, 1), step(0), po(0, 1), step(1)]), round);
}

/// The only step of the evidence, twice.
fn twice(evidence: &Evidence) -> [Step; 2] {
    let Evidence::Cycle(derivation) = evidence else { panic!("a cycle") };
    [derivation.steps[0].clone(), derivation.steps[0].clone()]
}

#[test]
fn a_conflict_of_cc_and_ccv_stands_on_no_step() {
    let steps = [cf(0, 1, 3, &[rf(0, 2), po(2, 3)]), cf(0, 1, 3, &[step(0), rf(1, 3)])];
    for model in [Model::Cc, Model::Ccv] {
        let evidence = cycle(&steps, &[step(0)]);
        refutes(BACK_AND_FORTH, model, &evidence, "step 1: the premise uses a step that the rule does not allow");
    }
}

#[test]
fn a_premise_uses_earlier_steps_only() {
    for (model, conflict) in [
        (Model::Cc, cf(0, 1, 3, &[step(0), rf(1, 3)])),
        (Model::Ccv, cf(0, 1, 3, &[step(1), rf(1, 3)])),
        (Model::Cm, cf_in(2, 0, 1, 3, &[step(0), rf(1, 3)])),
        (Model::Ccm, cf_in(2, 0, 1, 3, &[step(7), rf(1, 3)])),
        (Model::Ccm, ww(0, 1, &[step(0)])),
        (Model::Ccm, rw(2, 1, &[step(0)])),
        (Model::Wsc, ww(0, 1, &[step(0)])),
        (Model::Sc, rw(2, 1, &[step(1)])),
        (Model::Sc, cf(0, 1, 3, &[step(0), rf(1, 3)])),
    ] {
        let evidence = cycle(&[conflict], &[step(0)]);
        refutes(BACK_AND_FORTH, model, &evidence, "step 0: a premise may use earlier steps only");
    }
}

#[test]
fn the_view_of_one_process() {
    let first = cf_in(2, 0, 1, 3, &[rf(0, 2), po(2, 3)]);
    let second = cf_in(2, 1, 0, 4, &[rf(1, 3), po(3, 4)]);
    for model in [Model::Cm, Model::Ccm] {
        proves(BACK_AND_FORTH, model, &cycle(&[first.clone(), second.clone()], &[step(0), step(1)]));
        // The premise of a step may use a step in the same view.
        let third = cf_in(2, 0, 1, 3, &[step(0), rf(1, 3)]);
        proves(BACK_AND_FORTH, model, &cycle(&[first.clone(), third, second.clone()], &[step(1), step(2)]));
        let other = cf_in(0, 0, 1, 3, &[rf(0, 2), po(2, 3)]);
        let reason = "step 0: the step is in the view of one process, and its read is of another";
        refutes(BACK_AND_FORTH, model, &cycle(&[other, second.clone()], &[step(0), step(1)]), reason);
    }
}

#[test]
fn views_of_several_processes() {
    let views = [cf_in(0, 0, 1, 2, &[po(0, 2)]), cf_in(1, 1, 0, 3, &[po(1, 3)])];
    let both = cycle(&views, &[step(0), step(1)]);
    refutes(CROSSED, Model::Cm, &both, "the cycle: it mixes the views of several processes");
    proves(CROSSED, Model::Ccm, &both);
    // The premise of a step may not use a step in the view of another process.
    let foreign = cf_in(1, 1, 0, 3, &[step(1), step(0), po(1, 3)]);
    for model in [Model::Cm, Model::Ccm] {
        let evidence = cycle(&[views.as_slice(), std::slice::from_ref(&foreign)].concat(), &[step(1)]);
        refutes(CROSSED, model, &evidence, "step 2: the premise uses a step that the rule does not allow");
    }
}

#[test]
fn store_orders_of_ccm() {
    // Conflicts in the views of the two threads, a conflict for all, a store order, and a read before a write.
    let steps = [
        cf_in(0, 0, 1, 2, &[po(0, 2)]),
        cf_in(1, 1, 0, 3, &[po(1, 3)]),
        cf(0, 1, 2, &[step(0), rf(1, 2)]),
        ww(0, 1, &[step(0)]),
        ww(1, 0, &[step(1)]),
        rw(3, 1, &[step(3)]),
        rw(2, 0, &[step(4)]),
        rw(3, 1, &[step(2)]),
        rw(3, 1, &[step(0)]),
    ];
    let with = |last: Step| cycle(&[steps.as_slice(), &[last]].concat(), &[step(2), step(4)]);
    proves(CROSSED, Model::Ccm, &cycle(&steps, &[step(2), step(4)]));
    let forbidden = "step 9: the premise uses a step that the rule does not allow";
    for premise in [cf(0, 1, 2, &[step(2), rf(1, 2)]), cf(0, 1, 2, &[step(3), rf(1, 2)]), ww(0, 1, &[step(2)])] {
        refutes(CROSSED, Model::Ccm, &with(premise), forbidden);
    }
    for premise in [ww(0, 1, &[step(3)]), ww(0, 1, &[rf(0, 3), step(5)]), cf_in(0, 0, 1, 2, &[step(2), rf(1, 2)])] {
        refutes(CROSSED, Model::Ccm, &with(premise), forbidden);
    }
    let not_a_store_order = "step 9: the premise of rw may use only steps that order writes";
    refutes(CROSSED, Model::Ccm, &with(rw(3, 1, &[rf(0, 3), step(5)])), not_a_store_order);
    refutes(CROSSED, Model::Ccm, &with(rw(3, 1, &[po(0, 2)])), not_a_store_order);
}

#[test]
fn reads_before_writes_close_a_cycle_of_ccm() {
    let steps = [
        ww(init(1), 1, &[po(init(1), 1)]),
        rw(3, 1, &[step(0)]),
        ww(init(0), 0, &[po(init(0), 0)]),
        rw(5, 0, &[step(2)]),
    ];
    let round = [step(1), rf(1, 4), po(4, 5), step(3), rf(0, 2), po(2, 3)];
    for model in [Model::Ccm, Model::Wccm, Model::Wsc, Model::Sc, Model::Wtso, Model::Tso, Model::Wpso, Model::Pso] {
        proves(IRIW, model, &cycle(&steps, &round));
    }
    let not_a_read = cycle(&[ww(init(1), 1, &[po(init(1), 1)]), rw(1, 1, &[step(0)])], &round);
    let not_a_write = cycle(&[ww(init(1), 1, &[po(init(1), 1)]), rw(3, 2, &[step(0)])], &round);
    for model in [Model::Ccm, Model::Wccm, Model::Wsc, Model::Sc, Model::Tso, Model::Pso] {
        refutes(IRIW, model, &not_a_read, "step 1: an operation that should read from a write does not");
        refutes(IRIW, model, &not_a_write, "step 1: the rule needs two different writes of one location");
        let same = cycle(&[ww(0, 0, &[po(0, 0)])], &round);
        refutes(IRIW, model, &same, "step 0: the rule needs two different writes of one location");
        let elsewhere = cycle(&[ww(0, 1, &[po(0, 1)])], &round);
        refutes(IRIW, model, &elsewhere, "step 0: the rule needs two different writes of one location");
    }
}

#[test]
fn an_order_of_writes_for_ccv() {
    let history = "[0] w x 1\n[1] w x 2\n[0] r x 1\n[1] r x 1\n[0] f\n";
    let order = |numbers: &[u32]| Evidence::WriteOrder(ids(numbers));
    witnesses(history, Model::Ccv, &order(&[1, 0]));
    let rejects = |numbers: &[u32], reason: &str| {
        rejects(history, Model::Ccv, &order(numbers), &format!("the order of writes: {reason}"));
    };
    rejects(&[0, 1], "operation 1 comes between operation 3 and the write that it reads from");
    rejects(&[1, 0, 1], "operation 1 is listed twice");
    rejects(&[1, 0, 9], "there is no operation 9 in the execution");
    rejects(&[1], "it must list all writes, and nothing else");
    rejects(&[1, 0, 2], "it must list all writes, and nothing else");
}

#[test]
fn an_order_of_writes_extends_causality() {
    let history = "[0] w x 1\n[1] r x 1\n[1] w y 1\n[1] w y 2\n";
    witnesses(history, Model::Ccv, &Evidence::WriteOrder(ids(&[0, 2, 3])));
    for order in [[2, 0, 3], [0, 3, 2]] {
        let late = if order[0] == 2 { 2 } else { 3 };
        let reason =
            format!("the order of writes: operation {late} is listed before an operation that causally precedes it");
        rejects(history, Model::Ccv, &Evidence::WriteOrder(ids(&order)), &reason);
    }
    rejects(FUTURE, Model::Ccv, &Evidence::WriteOrder(ids(&[1])), "the order of writes: causality is cyclic");
    let initial = "[0] w x 1\n[0] r x 0\n";
    let reason = "the order of writes: operation 0 comes between operation 1 and the write that it reads from";
    rejects(initial, Model::Ccv, &Evidence::WriteOrder(ids(&[0])), reason);
}

#[test]
fn an_order_for_each_view_of_cm() {
    let orders = |all: &[&[u32]]| Evidence::ViewOrders(all.iter().map(|order| ids(order)).collect());
    witnesses(CROSSED, Model::Cm, &orders(&[&[0, 1, 2], &[1, 0, 3]]));
    let rejects = |all: &[&[u32]], reason: &str| rejects(CROSSED, Model::Cm, &orders(all), reason);
    rejects(&[&[0, 1, 2]], "the order of view 1: there must be one order for each process");
    rejects(&[&[0, 1, 2], &[1, 0, 3], &[]], "the order of view 3: there must be one order for each process");
    rejects(&[&[1, 0, 2], &[1, 0, 3]], "the order of view 0: operation 2 does not read the last write before it");
    rejects(&[&[0, 1, 2], &[0, 1, 3]], "the order of view 1: operation 3 does not read the last write before it");
    rejects(&[&[0, 1, 2], &[1, 0, 3, 3]], "the order of view 1: operation 3 is listed twice");
    rejects(&[&[0, 1, 2], &[1, 0, 4]], "the order of view 1: there is no operation 4 in the execution");
    let listed = "it must list the writes that the process knows of and its own operations, and nothing else";
    rejects(&[&[0, 1, 2], &[1, 0]], &format!("the order of view 1: {listed}"));
    rejects(&[&[0, 1, 2, 3], &[1, 0, 3]], &format!("the order of view 0: {listed}"));
    rejects(&[&[0, 2], &[1, 0, 3]], &format!("the order of view 0: {listed}"));
    let reason = "the order of view 0: operation 2 is listed before an operation that causally precedes it";
    rejects(&[&[0, 2, 1], &[1, 0, 3]], reason);
}

#[test]
fn an_order_for_each_view_needs_causality() {
    let orders = Evidence::ViewOrders(vec![ids(&[0, 1])]);
    rejects(FUTURE, Model::Cm, &orders, "the order of view 0: causality is cyclic");
    // A write that the process does not know of is not in its view. A fence of the process is in its view.
    let history = "[0] w x 1\n[1] f\n[1] r y 0\n";
    witnesses(history, Model::Cm, &Evidence::ViewOrders(vec![ids(&[0]), ids(&[1, 2])]));
    let reason = "the order of view 1: it must list the writes that the process knows of and its own operations, \
                  and nothing else";
    rejects(history, Model::Cm, &Evidence::ViewOrders(vec![ids(&[0]), ids(&[0, 1, 2])]), reason);
}

#[test]
fn cc_is_decided_again() {
    witnesses(CROSSED, Model::Cc, &Evidence::DecideAgain);
    witnesses(IRIW, Model::Cc, &Evidence::DecideAgain);
    let cyclic = "deciding again: the history is not allowed: causality is cyclic";
    rejects(FUTURE, Model::Cc, &Evidence::DecideAgain, cyclic);
    rejects(OVERWRITTEN, Model::Cc, &Evidence::DecideAgain, "deciding again: operation 4 reads an overwritten value");
    let initial = "[0] w x 1\n[0] r x 0\n";
    rejects(initial, Model::Cc, &Evidence::DecideAgain, "deciding again: operation 1 reads an overwritten value");
}

#[test]
fn ccm_is_decided_again() {
    let store_buffering = "[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n";
    witnesses(OVERWRITTEN.replace("[1] r x 1", "[1] r x 2").as_str(), Model::Ccm, &Evidence::DecideAgain);
    let rejects = |history: &str, reason: &str| {
        rejects(history, Model::Ccm, &Evidence::DecideAgain, &format!("deciding again: {reason}"));
    };
    let cyclic = |what: &str| format!("the history is not allowed: {what} is cyclic");
    rejects(FUTURE, &cyclic("the view of a process"));
    rejects(BACK_AND_FORTH, &cyclic("the view of a process"));
    rejects("[0] w x 1\n[0] r x 0\n", "operation 1 reads an initial value that was overwritten");
    rejects(CROSSED, &cyclic("happens-before"));
    rejects(IRIW, &cyclic("program order with reads-from, pww and rw"));
    rejects(store_buffering, &cyclic("program order with reads-from, pww and rw"));
    // Thread 2 puts x = 1 before x = 2, so what thread 0 did first happens before what thread 3 reads.
    let order = "[0] w z 1\n[0] w x 1\n[1] w x 2\n[2] r x 1\n[2] r x 2\n[3] r x 2\n";
    rejects(&format!("{order}[3] r z 0\n"), "operation 6 reads an initial value that was overwritten");
    let last = format!("[4] w z 2\n[0] r z 2\n{order}[3] r z 2\n");
    rejects(&last, &cyclic("the partial store order"));
}
