//! What the verifier asks of every certificate: the history that it is about, and evidence that can prove its verdict.

use crate::common;
use common::*;
use history::{OperationId, ViewError};
use model::object::{Core, Linearization};
use model::{Certificate, Decided, Evidence, Model, Verdict, digest};
use verify::{Refusal, verify};

const CONSISTENT: &str = "[0] w x 1\n[1] r x 1\n";
const THIN_AIR: &str = "[0] w x 1\n[1] r x 2\n[1] u x 3 4\n[0] r x 1\n";

/// All models but the isolation levels, whose evidence is their own (`transactions.rs`).
fn models() -> impl Iterator<Item = Model> {
    Model::every().filter(|model| model.isolation().is_none())
}

#[test]
fn a_certificate_belongs_to_its_history() {
    let history = parse(CONSISTENT);
    let other = parse("[0] w x 1\n[1] r x 0\n");
    let certificate = certificate(&history, Model::Sc, Verdict::Consistent, &Evidence::Interleaving(ids(&[0, 1])));
    assert_eq!(verify(&certificate, &history), Ok(()));
    let (claimed, actual) = (digest(&history), digest(&other));
    assert_ne!(claimed, actual);
    let refusal = verify(&certificate, &other).unwrap_err();
    assert_eq!(refusal, Refusal::OtherHistory { claimed: claimed.clone(), actual: actual.clone() });
    let words = "the certificate belongs to another history: its digest is";
    assert_eq!(refusal.to_string(), format!("{words} {claimed}, and that of this history is {actual}"));
    for model in models() {
        let stale = Certificate { digest: String::new(), model, ..certificate.clone() };
        assert!(matches!(verify(&stale, &history), Err(Refusal::OtherHistory { .. })), "{model}");
    }
}

#[test]
fn a_digest_is_of_all_that_a_history_says() {
    let all = [
        "[0] w x 1\n",
        "[1] w x 1\n",
        "[0] w y 1\n",
        "[0] w x 2\n",
        "[0] w x one\n",
        "[0] w x \"1\"\n",
        "[0] w.rel x 1\n",
        "[0] r x 1\n",
        "[0] u x 1 1\n",
        "[0] w x 1 po=4\n",
        "# @initial 5\n[0] w x 1\n",
        "# @init x 5\n[0] w x 1\n",
        "# @init y 5\n[0] w x 1\n",
        "# @final x 1\n[0] w x 1\n",
        "[0] w x 1\n[0] f\n",
        "[0] call w x 1\n[0] return\n",
        "[0] call w x 1\n",
        "[0] call w x 1\n[0] fail\n",
        "[0] call w x 1\n[0] info\n",
        "[0] w x 1 id=a\n[1] r x 1 from=a\n",
        "[0] w x 1 id=a\n[1] r x 1\n",
        "[0] w x 0 id=a\n[1] r x 0 from=a\n",
        "[0] w x 0 id=a\n[1] r x 0 from=init\n",
        "# @object register\n[0] cas 1 2 => true\n",
        "# @object register\n[0] cas 2 2 => true\n",
        "# @object register\n[0] cas 1 2 => false\n",
        "# @object queue\n[0] enqueue 1\n",
        "# @object queue\n[0] call enqueue 1\n[1] call dequeue\n[0] return\n[1] return 1\n",
        "# @object queue\n[0] call enqueue 1\n[0] return\n[1] call dequeue\n[1] return 1\n",
        "# @object semaphore\n# @capacity 2\n[0] acquire\n",
        "# @object semaphore\n# @capacity 3\n[0] acquire\n",
    ];
    let digests: std::collections::HashSet<String> = all.iter().map(|text| digest(&parse(text))).collect();
    assert_eq!(digests.len(), all.len());
    // How the history is written does not count.
    let spelled = "# @name a name\n\n# a remark\n[0]  write x 1 id=label\n";
    assert_eq!(digest(&parse(all[0])), digest(&parse(spelled)));
    let one = "# @init x 5\n# @init y 6\n[0] w x 1\n[0] w y 1\n";
    let other = "# @init y 6\n# @init x 5\n[0] w x 1\n[0] w y 1\n";
    assert_eq!(digest(&parse(one)), digest(&parse(other)));
}

#[test]
fn a_history_that_no_memory_model_speaks_of() {
    let queue = parse("# @object queue\n[0] enqueue 1\n");
    for model in Model::ALL {
        let certificate = |history| certificate(history, model, Verdict::Violation, &cycle(&[], &[]));
        let refusal = verify(&certificate(&queue), &queue).unwrap_err();
        assert_eq!(refusal, Refusal::NotAnExecution(ViewError::NotMemory(history::Object::Queue)));
        assert_eq!(refusal.to_string(), "a memory model speaks of reads and writes, and this is a history of a queue");
    }
}

#[test]
fn a_value_out_of_thin_air() {
    let none = "the thin-air read: the operation does not read a value that nobody wrote";
    for model in Model::ALL {
        for read in [1, 2] {
            proves(THIN_AIR, model, &Evidence::ThinAir(OperationId(read)));
        }
        for other in [0, 3, 9] {
            refutes(THIN_AIR, model, &Evidence::ThinAir(OperationId(other)), none);
        }
    }
}

/// A piece of evidence of each kind; it need not prove anything.
fn kinds() -> Vec<(&'static str, Evidence)> {
    vec![
        ("thin air", Evidence::ThinAir(OperationId(0))),
        ("cycle", cycle(&[], &[])),
        ("constraints", Evidence::Constraints(Vec::new())),
        ("refutation", Evidence::Refutation(Vec::new())),
        ("interleaving", Evidence::Interleaving(Vec::new())),
        ("memory order", Evidence::MemoryOrder(Vec::new())),
        ("write order", Evidence::WriteOrder(Vec::new())),
        ("view orders", Evidence::ViewOrders(Vec::new())),
        ("modification orders", Evidence::ModificationOrders(Vec::new())),
        ("again", Evidence::DecideAgain),
        ("linearizations", Evidence::Linearizations(vec![Linearization::default()])),
        ("pairs", Evidence::Pairs(Vec::new())),
        ("core", Evidence::Core(Core::Stuck(OperationId(0)))),
    ]
}

/// What can prove that a history is consistent with a model, and what can prove that it is not.
fn allowed(model: Model) -> [&'static [&'static str]; 2] {
    match model {
        Model::Sc => [&["interleaving"], &["thin air", "cycle", "refutation"]],
        Model::Cc | Model::Ccm | Model::Wccm | Model::Wsc => [&["interleaving", "again"], &["thin air", "cycle"]],
        Model::Ccv => [&["write order"], &["thin air", "cycle"]],
        Model::Cm => [&["view orders"], &["thin air", "cycle"]],
        Model::Wtso | Model::Wpso => [&["interleaving", "memory order", "again"], &["thin air", "cycle"]],
        Model::Tso | Model::Pso => [&["memory order"], &["thin air", "cycle", "refutation"]],
        Model::Wra => [&["interleaving", "modification orders", "again"], &["thin air", "cycle"]],
        Model::Sra => [&["modification orders"], &["thin air", "cycle", "refutation", "again"]],
        Model::C20 | Model::Rc11 => [&["interleaving", "modification orders"], &["thin air", "cycle", "refutation"]],
        Model::Ra | Model::Rc20 | Model::Relaxed | Model::Coherence => {
            [&["modification orders"], &["thin air", "cycle"]]
        }
        Model::ScObserved => [&["interleaving"], &["constraints"]],
        Model::Linearizable => [&["linearizations"], &["core"]],
        _ => panic!("say here what can prove {model}"),
    }
}

#[test]
fn each_kind_of_evidence_proves_what_it_can() {
    for model in models() {
        let history = match model {
            Model::Linearizable => parse("[0] call w x 1\n[0] return\n"),
            _ => parse(CONSISTENT),
        };
        let verdicts = [Verdict::Consistent, Verdict::Violation, Verdict::Unknown];
        for (at, verdict) in verdicts.into_iter().enumerate() {
            for (kind, evidence) in kinds() {
                let outcome = verify(&certificate(&history, model, verdict, &evidence), &history);
                let can = allowed(model).get(at).is_some_and(|kinds| kinds.contains(&kind));
                let wrong = outcome == Err(Refusal::WrongKind { model, verdict });
                let hint = "`allowed` in this file, the row of the model, and the arms of verify/mod.rs must agree";
                assert_eq!(wrong, !can, "{kind} for {} under {model}: {outcome:?}: {hint}", verdict.name());
            }
        }
    }
}

#[test]
fn the_words_for_evidence_of_the_wrong_kind() {
    let reason = "this kind of evidence does not prove consistent under sc";
    rejects(CONSISTENT, Model::Sc, &Evidence::DecideAgain, reason);
    let reason = "this kind of evidence does not prove violation under cc";
    refutes(CONSISTENT, Model::Cc, &Evidence::DecideAgain, reason);
}

#[test]
fn nothing_is_consistent_with_thin_air() {
    let reason = "the thin-air read: a read returned a value that nobody wrote, so no model allows the history";
    for model in Model::ALL {
        let [witnesses, _] = allowed(model);
        for (_, evidence) in kinds().into_iter().filter(|(kind, _)| witnesses.contains(kind)) {
            rejects(THIN_AIR, model, &evidence, reason);
        }
    }
    let reason = "this kind of evidence does not prove violation under sra";
    refutes(THIN_AIR, Model::Sra, &Evidence::DecideAgain, reason);
}

#[test]
fn an_empty_history_is_consistent() {
    let history = "# @init x 1\n";
    for (model, evidence) in [
        (Model::Sc, Evidence::Interleaving(Vec::new())),
        (Model::Tso, Evidence::MemoryOrder(Vec::new())),
        (Model::Cc, Evidence::DecideAgain),
        (Model::Linearizable, Evidence::Linearizations(Vec::new())),
        (Model::ScObserved, Evidence::Interleaving(Vec::new())),
    ] {
        witnesses(history, model, &evidence);
    }
}

#[test]
fn final_values_are_reads_in_the_end() {
    // The reads of final values follow the operations of the history: operation 2 is the read of thread 0, operation 3
    // is that of thread 1.
    let history = "# @final x 2\n[0] w x 1\n[1] w x 2\n";
    witnesses(history, Model::Sc, &Evidence::Interleaving(ids(&[0, 1, 2, 3])));
    let reason = "the order of all operations: operation 2 does not read the last write before it";
    rejects(history, Model::Sc, &Evidence::Interleaving(ids(&[1, 0, 2, 3])), reason);
}

#[test]
fn a_certificate_of_a_decision() {
    let history = parse(CONSISTENT);
    let evidence = Evidence::Interleaving(ids(&[0, 1]));
    let decision =
        Decided { verdict: Verdict::Consistent, strategy: "test", reason: None, evidence: Some(evidence.clone()) };
    let made = Certificate::new(3, &history, Model::Sc, &decision).unwrap();
    let expected = certificate(&history, Model::Sc, Verdict::Consistent, &evidence);
    assert_eq!(made, Certificate { history: 3, ..expected });
    let unknown = Decided { verdict: Verdict::Unknown, ..decision.clone() };
    assert_eq!(Certificate::new(0, &history, Model::Sc, &unknown), None);
    let unasked = Decided { evidence: None, ..decision };
    assert_eq!(Certificate::new(0, &history, Model::Sc, &unasked), None);
}
