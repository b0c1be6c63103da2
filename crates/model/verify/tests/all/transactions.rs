//! The verifier of isolation levels: what proves a verdict, and what is refused, by its words.

use history::{KeyId, OperationId, TransactionId};
use model::transaction::{
    Anomaly, Bad, TransactionDerivation, TransactionEdge, TransactionEvidence, TransactionNode, TransactionRule,
    TransactionStep,
};
use model::{Certificate, Model, Verdict};
use verify::verify;

/// Write skew: T0 reads y and writes x, T1 reads x and writes y.
const SKEW: &str = "[a] begin\n[b] begin\n[a] r y 0\n[a] w x 1\n[b] r x 0\n[b] w y 1\n[a] commit\n[b] commit\n";
/// T0 writes x, T1 reads it.
const SERIAL: &str = "# @object transactions\n[a] w x 1\n[b] r x 1\n[a] w x 2\n";

fn t(id: u32) -> TransactionNode {
    TransactionNode::Transaction(TransactionId(id))
}

fn judge(text: &str, model: Model, verdict: Verdict, evidence: &TransactionEvidence) -> Result<(), String> {
    let history = format::parse(text).unwrap();
    let evidence = model::Evidence::of_transactions(evidence.clone());
    let certificate = Certificate::of(0, &history, model, verdict, evidence);
    let line = certificate.to_json(&history);
    let read = Certificate::from_json(&line, &history).unwrap();
    assert_eq!(read, certificate);
    verify(&read, &history).map_err(|refusal| refusal.to_string())
}

fn commits(order: &[u32]) -> TransactionEvidence {
    TransactionEvidence::CommitOrder(order.iter().copied().map(TransactionId).collect())
}

fn anti(from: u32, to: u32, read: u32) -> TransactionStep {
    TransactionStep {
        rule: TransactionRule::AntiDependency { read: OperationId(read) },
        from: t(from),
        to: t(to),
        path: vec![TransactionEdge::Session(TransactionNode::Init, t(to))],
        others: Vec::new(),
    }
}

fn skew() -> TransactionDerivation {
    TransactionDerivation {
        steps: vec![anti(0, 1, 0), anti(1, 0, 2)],
        cycle: vec![TransactionEdge::Derived(0), TransactionEdge::Derived(1)],
    }
}

#[test]
fn a_commit_order_is_replayed() {
    let consistent = |order: &[u32]| judge(SERIAL, Model::Serializable, Verdict::Consistent, &commits(order));
    assert_eq!(consistent(&[0, 1, 2]), Ok(()));
    let refused = |order: &[u32], words: &str| {
        assert_eq!(consistent(order).unwrap_err(), format!("the commit order: {words}"));
    };
    refused(&[0, 2, 1], "operation 1 does not read the last version");
    refused(&[0, 1], "transaction 2 counts, and does not occur often enough");
    refused(&[0, 1, 2, 2], "transaction 2 occurs too often");
    refused(&[0, 1, 2, 7], "transaction 7 does not count");
    refused(&[2, 0, 1], "transaction 2 is before one that is before it in its session");
    refused(&[1, 0, 2], "transaction 1 is not after one that it reads from");
    let strict = judge(SERIAL, Model::StrictSerializable, Verdict::Consistent, &commits(&[0, 1, 2]));
    assert_eq!(strict, Ok(()));
}

#[test]
fn a_cycle_needs_the_axioms_of_its_level() {
    let violation = |model| judge(SKEW, model, Verdict::Violation, &TransactionEvidence::Cycle(skew()));
    assert_eq!(violation(Model::Serializable), Ok(()));
    assert_eq!(violation(Model::SessionlessSerializable), Ok(()));
    assert_eq!(violation(Model::StrictSerializable), Ok(()));
    // There the edges lead from reads to writes, and do not meet.
    assert_eq!(violation(Model::SnapshotIsolation).unwrap_err(), "the cycle: a path has a gap");
    let none = "step 0: the read is not of the begin, or the end does not write its key";
    assert_eq!(violation(Model::Causal).unwrap_err(), none);
    let kind = "this kind of evidence does not prove consistent under serializable";
    let claimed = judge(SKEW, Model::Serializable, Verdict::Consistent, &TransactionEvidence::Cycle(skew()));
    assert_eq!(claimed.unwrap_err(), kind);
}

#[test]
fn steps_are_checked() {
    let with = |change: &dyn Fn(&mut TransactionDerivation), words: &str| {
        let mut derivation = skew();
        change(&mut derivation);
        let judged = judge(SKEW, Model::Serializable, Verdict::Violation, &TransactionEvidence::Cycle(derivation));
        assert_eq!(judged.unwrap_err(), words);
    };
    with(&|it| it.cycle.clear(), "the cycle: it is empty");
    with(&|it| it.cycle.truncate(1), "the cycle: a path ends at another place");
    with(&|it| it.cycle[0] = TransactionEdge::Derived(9), "the cycle: a step is used too early");
    with(&|it| it.steps[0].path.clear(), "step 0: a path is empty");
    with(
        &|it| it.steps[0].path = vec![TransactionEdge::Session(t(1), t(0))],
        "step 0: an edge is not of session order",
    );
    with(&|it| it.steps[0].path = vec![TransactionEdge::RealTime(t(0), t(1))], "step 0: an edge is not of real time");
    with(
        &|it| it.steps[0].path = vec![TransactionEdge::Reads(TransactionNode::Init, t(1), OperationId(0))],
        "step 0: an edge is not of reads-from",
    );
    with(
        &|it| it.steps[0].path = vec![TransactionEdge::Version(t(0), t(1), KeyId(0))],
        "step 0: an edge is not of known versions",
    );
    with(&|it| it.steps[0].path = vec![TransactionEdge::Derived(0)], "step 0: a step is used too early");
    with(&|it| it.steps[0].rule = TransactionRule::Assumed, "step 0: this must not be assumed");
    with(&|it| it.steps[0].rule = TransactionRule::Lemma(0), "step 0: there is no such lemma before this one");
    with(&|it| it.steps[0].to = t(0), "step 0: a step has wrong ends");
    with(&|it| it.steps[0].from = TransactionNode::Init, "step 0: a step begins at no transaction");
    let words = "step 0: the level has no such rule, or an end does not write the key";
    with(&|it| it.steps[0].rule = TransactionRule::Conflict { key: KeyId(0) }, words);
    with(
        &|it| it.steps[0].rule = TransactionRule::Overwritten { read: OperationId(1) },
        "step 0: a step names no external read",
    );
}

#[test]
fn lemmas_need_their_assumptions() {
    // Both write x, so one of them is first; assumed is what no cycle refutes.
    let assumed =
        TransactionStep { rule: TransactionRule::Assumed, from: t(0), to: t(2), path: Vec::new(), others: Vec::new() };
    let lemma = TransactionDerivation { steps: vec![assumed], cycle: vec![TransactionEdge::Session(t(0), t(2))] };
    let judged = |lemmas: Vec<TransactionDerivation>| {
        judge(SERIAL, Model::Serializable, Verdict::Violation, &TransactionEvidence::Refutation(lemmas)).unwrap_err()
    };
    assert_eq!(judged(vec![lemma]), "lemma 0: the cycle: a path ends at another place");
    assert_eq!(judged(Vec::new()), "the last lemma: it assumes something");
}

#[test]
fn bad_reads_are_found_again() {
    let history = "[a] begin\n[a] w x 1\n[a] abort\n[b] r x 1\n[b] r x 2\n";
    let bad = |anomaly, read| TransactionEvidence::Bad(Bad { anomaly, read: OperationId(read), other: None });
    for model in [Model::Pl2, Model::SessionlessPl2, Model::SnapshotIsolation, Model::StrictSerializable] {
        let judged = |anomaly, read| judge(history, model, Verdict::Violation, &bad(anomaly, read));
        assert_eq!(judged(Anomaly::G1a, 1), Ok(()));
        assert_eq!(judged(Anomaly::ThinAir, 2), Ok(()));
        let words = "the reads: operation 1 is not a read of the kind thin-air";
        assert_eq!(judged(Anomaly::ThinAir, 1).unwrap_err(), words);
        assert!(judged(Anomaly::G1a, 99).is_err() && judged(Anomaly::IncompatibleOrder, 1).is_err());
    }
    let claimed = judge(history, Model::Pl2, Verdict::Consistent, &commits(&[1, 2]));
    assert_eq!(claimed.unwrap_err(), "the reads: operation 2 is thin-air");
}

#[test]
fn two_reads_clash() {
    let lost = "[a] begin\n[b] begin\n[a] r x 0\n[a] w x 1\n[b] r x 0\n[b] w x 2\n[a] commit\n[b] commit\n";
    let pair = |a, b| [OperationId(a), OperationId(b)];
    let judged = |model, reads| judge(lost, model, Verdict::Violation, &TransactionEvidence::LostUpdate(reads));
    assert_eq!(judged(Model::ParallelSnapshotIsolation, pair(0, 2)), Ok(()));
    let kind = "this kind of evidence does not prove violation under prefix";
    assert_eq!(judged(Model::Prefix, pair(0, 2)).unwrap_err(), kind);
    let words = "the reads: they are not of two transactions that read one version and write the key";
    assert_eq!(judged(Model::Serializable, pair(0, 0)).unwrap_err(), words);
    let words = "the reads: they are not external reads of one key by transactions that count";
    assert_eq!(judged(Model::Serializable, pair(0, 1)).unwrap_err(), words);
    let twice = "[a] begin\n[a] r x 0\n[b] w x 1\n[a] r x 1\n[a] commit\n";
    let judged =
        |reads| judge(twice, Model::RepeatableRead, Verdict::Violation, &TransactionEvidence::Unrepeatable(reads));
    assert_eq!(judged(pair(0, 1)), Ok(()));
    let words = "the reads: they are not of one transaction, or have one source";
    assert_eq!(judged(pair(0, 0)).unwrap_err(), words);
}

#[test]
fn other_histories_have_no_levels() {
    let judged = judge("[0] w x 1\n", Model::Serializable, Verdict::Consistent, &commits(&[]));
    assert_eq!(judged.unwrap_err(), "this is not a history of transactions");
    let untimed = format!("# @realtime none\n{SERIAL}");
    let judged = judge(&untimed, Model::StrictSerializable, Verdict::Consistent, &commits(&[0, 1, 2]));
    assert_eq!(judged.unwrap_err(), "the history has no times");
}
