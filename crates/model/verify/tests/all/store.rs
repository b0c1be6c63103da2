//! Store orders: `sc`, `wsc`, and refutations by lemmas, which `tso`, `pso` and `sra` have, too.

use crate::common;
use common::*;
use model::{Derivation, Evidence, Model};

/// Each thread sees the write of the other after its own.
const CROSSED: &str = "[0] w x 1\n[1] w x 2\n[0] r x 2\n[1] r x 1\n";

/// The locations are x, then y.
const STORE_BUFFERING: &str = "[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n";

const REFUTED: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::Sra];

#[test]
fn the_rules_of_sc() {
    let steps = [
        ww(init(1), 2, &[po(init(1), 2)]),
        rw(1, 2, &[step(0)]),
        ww(init(0), 0, &[po(init(0), 0)]),
        rw(3, 0, &[step(2)]),
    ];
    let evidence = cycle(&steps, &[step(1), po(2, 3), step(3), po(0, 1)]);
    for model in [Model::Sc, Model::Wsc] {
        proves(STORE_BUFFERING, model, &evidence);
        // A premise of rw may be program order itself.
        let direct = [rw(1, 2, &[po(init(1), 2)]), rw(3, 0, &[po(init(0), 0)])];
        proves(STORE_BUFFERING, model, &cycle(&direct, &[step(0), po(2, 3), step(1), po(0, 1)]));
        // The premise of every rule may use steps of every other rule.
        let conflicts = [
            cf(0, 1, 2, &[po(0, 2)]),
            rw(3, 1, &[step(0)]),
            ww(0, 1, &[rf(0, 3), step(1)]),
            cf(0, 1, 2, &[step(2), rf(1, 2)]),
            cf(1, 0, 3, &[po(1, 3)]),
        ];
        proves(CROSSED, model, &cycle(&conflicts, &[step(3), step(4)]));
        for other in
            [coherence(0, 2, 0, 1, &[po(0, 2)]), atomicity(0, 1, &[step(0)]), assume(0, 1), lemma(0, 0, 1, &[])]
        {
            let evidence = cycle(&[conflicts[0].clone(), other], &[step(0)]);
            refutes(CROSSED, model, &evidence, &format!("step 1: this is no rule of {model}"));
        }
        let synchronised = cycle(&[ww(0, 1, &[sw(0, 0, 3, 1)])], &[step(0)]);
        refutes(CROSSED, model, &synchronised, "step 0: this model has no synchronisation edges");
    }
}

/// Two lemmas. The first says that x = 1 does not come before x = 2. The second uses that x = 1 comes after x = 2, and
/// has a cycle.
fn lemmas() -> Vec<Derivation> {
    vec![
        derivation(&[assume(0, 1), cf(1, 0, 3, &[po(1, 3)])], &[step(0), step(1)]),
        derivation(&[lemma(0, 1, 0, &[]), cf(0, 1, 2, &[po(0, 2)])], &[step(0), step(1)]),
    ]
}

#[test]
fn a_refutation() {
    for model in REFUTED {
        proves(CROSSED, model, &Evidence::Refutation(lemmas()));
        let reason = "the last lemma: there must be one, and it must assume nothing";
        refutes(CROSSED, model, &Evidence::Refutation(Vec::new()), reason);
        refutes(CROSSED, model, &Evidence::Refutation(lemmas()[..1].to_vec()), reason);
        let mut turned = lemmas();
        turned.swap(0, 1);
        refutes(
            CROSSED,
            model,
            &Evidence::Refutation(turned),
            "step 0: the step names a lemma that is not an earlier one",
        );
    }
}

/// The first lemma of [`lemmas`], and a lemma with these steps. Its cycle is the first two steps.
#[track_caller]
fn refuses_lemma(steps: &[model::Step], reason: &str) {
    for model in REFUTED {
        let second = derivation(steps, &[step(0), step(1)]);
        refutes(CROSSED, model, &Evidence::Refutation(vec![lemmas().remove(0), second]), reason);
    }
}

#[test]
fn a_step_by_a_lemma() {
    let conflict = cf(0, 1, 2, &[po(0, 2)]);
    refuses_lemma(
        &[lemma(1, 1, 0, &[]), conflict.clone()],
        "step 0: the step names a lemma that is not an earlier one",
    );
    let opposite = "step 0: the lemma does not assume the opposite of the step";
    refuses_lemma(&[lemma(0, 0, 1, &[]), conflict.clone()], opposite);
    refuses_lemma(&[lemma(0, 1, 2, &[]), conflict.clone()], opposite);
    let earlier = "step 0: a step by a lemma may name earlier steps only";
    for edge in [step(0), step(1), step(9), po(1, 3), rf(1, 2)] {
        refuses_lemma(&[lemma(0, 1, 0, &[edge]), conflict.clone()], earlier);
    }
    // A step may name more steps than the lemma needs.
    for model in REFUTED {
        let steps = [conflict.clone(), lemma(0, 1, 0, &[step(0)])];
        let second = derivation(&steps, &[step(0), step(1)]);
        proves(CROSSED, model, &Evidence::Refutation(vec![lemmas().remove(0), second]));
    }
}

#[test]
fn an_assumption() {
    let assumed = |path: &[model::Edge]| {
        let mut lemmas = lemmas();
        lemmas[0].steps[0].path = path.to_vec();
        Evidence::Refutation(lemmas)
    };
    for model in REFUTED {
        refutes(CROSSED, model, &assumed(&[po(0, 2)]), "step 0: an assumption must have no premise");
        for (from, to) in [(0, 0), (0, 2), (0, 9)] {
            let lemma = derivation(&[assume(from, to)], &[step(0)]);
            let reason = "step 0: the rule needs two different writes of one location";
            refutes(CROSSED, model, &Evidence::Refutation(vec![lemma]), reason);
        }
    }
}

#[test]
fn a_lemma_with_two_assumptions() {
    // The order of y does not matter. But the lemma assumes it, so every use of the lemma must show that it holds.
    let history = "[0] w x 1\n[1] w x 2\n[0] r x 2\n[1] r x 1\n[0] w y 1\n[1] w y 2\n";
    let both = derivation(&[assume(0, 1), assume(4, 5), cf(1, 0, 3, &[po(1, 3)])], &[step(0), step(2)]);
    let conflict = cf(0, 1, 2, &[po(0, 2)]);
    let with = |steps: &[model::Step], last: u32| {
        Evidence::Refutation(vec![
            both.clone(),
            derivation(&[assume(4, 5), conflict.clone(), lemma(0, 1, 0, &[step(0)])], &[step(1), step(2)]),
            derivation(steps, &[step(last - 1), step(last)]),
        ])
    };
    for model in REFUTED {
        // The second lemma says that y = 2 comes first. So the assumption of the first lemma does not hold, and the
        // first lemma says nothing about x.
        let from_both = [lemma(1, 5, 4, &[]), conflict.clone(), cf(1, 0, 3, &[po(1, 3)])];
        proves(history, model, &with(&from_both, 2));
        let reason = "step 2: another assumption of the lemma is not among the steps that are named";
        let unnamed = [lemma(1, 5, 4, &[]), conflict.clone(), lemma(0, 1, 0, &[step(0)])];
        refutes(history, model, &with(&unnamed, 2), reason);
        let unnamed = [lemma(1, 5, 4, &[]), conflict.clone(), lemma(0, 1, 0, &[])];
        refutes(history, model, &with(&unnamed, 2), reason);
    }
}

#[test]
fn an_interleaving() {
    let history = "[0] w x 1\n[1] f\n[1] u x 1 2\n[0] r x 2\n";
    let order = |numbers: &[u32]| Evidence::Interleaving(ids(numbers));
    for model in [Model::Sc, Model::Wsc, Model::Cc, Model::Ccm, Model::Wccm, Model::Wtso, Model::Wpso, Model::Wra] {
        witnesses(history, model, &order(&[0, 1, 2, 3]));
        witnesses(history, model, &order(&[1, 0, 2, 3]));
        let rejects = |numbers: &[u32], reason: &str| {
            rejects(history, model, &order(numbers), &format!("the order of all operations: {reason}"));
        };
        rejects(&[0, 1, 2], "it must list all operations");
        rejects(&[0, 1, 2, 3, 3], "it must list all operations");
        rejects(&[0, 1, 2, 9], "there is no operation 9 in the execution");
        rejects(&[0, 2, 1, 3], "operation 2 is not the next operation of its process");
        rejects(&[0, 1, 1, 2], "operation 1 is not the next operation of its process");
        rejects(&[0, 1, 3, 2], "operation 3 does not read the last write before it");
        rejects(&[1, 2, 0, 3], "operation 2 does not read the last write before it");
    }
}

#[test]
fn wsc_is_decided_again() {
    witnesses("[0] w x 1\n[1] r x 1\n[1] r x 1\n[0] w x 2\n", Model::Wsc, &Evidence::DecideAgain);
    let rejects = |history: &str, reason: &str| {
        rejects(history, Model::Wsc, &Evidence::DecideAgain, &format!("deciding again: {reason}"));
    };
    rejects("[0] w x 1\n[0] r x 0\n", "operation 1 reads an initial value that was overwritten");
    for violation in [CROSSED, STORE_BUFFERING, "[0] r x 1\n[0] w x 1\n"] {
        rejects(violation, "the history is not allowed: happens-before is cyclic");
    }
}
