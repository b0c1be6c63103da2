//! Transactions through the front door: checking, forms of a level, classification, shrinking.

use seriatim::workload::transactions::{Store, TransactionConfig, history, small};
use seriatim::{Checker, Model, Options, Verdict, check, classify, shrink, verify};

const LEVELS: [Model; 6] = [
    Model::SessionlessPl2,
    Model::ReadCommitted,
    Model::Causal,
    Model::Prefix,
    Model::SnapshotIsolation,
    Model::Serializable,
];

/// Without any one transaction, together with the reads of what it wrote, a minimal history is consistent: so no
/// transaction is in it for nothing.
#[test]
fn a_shrunk_history_violates_the_level_and_is_small() {
    let options = Options::default();
    let (mut shrunk_count, mut largest) = (0, 0);
    let long = (0..12).map(|seed| {
        let store = [Store::ReadCommitted, Store::SnapshotIsolation, Store::Causal][seed as usize % 3];
        history(&TransactionConfig {
            store,
            operations: 200,
            perturb: 3,
            lists: seed % 2 == 1,
            seed,
            ..TransactionConfig::default()
        })
    });
    for history in small(3).take(80).chain(long) {
        for model in LEVELS {
            let Ok(shrunk) = shrink(&history, model, &options) else { continue };
            shrunk_count += 1;
            largest = largest.max(shrunk.history.transaction_count());
            assert_eq!(shrunk.decision.verdict, Verdict::Violation);
            assert!(shrunk.history.operations().len() <= history.operations().len());
            let certificate = shrunk.decision.certificate(0, &shrunk.history).unwrap();
            verify(&certificate, &shrunk.history).unwrap();
            // Shrinking again finds nothing to remove.
            let again = shrink(&shrunk.history, model, &options).unwrap();
            assert_eq!(again.history.operations().len(), shrunk.history.operations().len(), "{model}");
        }
    }
    assert!(shrunk_count > 60 && largest < 40, "{shrunk_count} shrunk, the largest has {largest} transactions");
}

#[test]
fn a_level_that_fails_because_of_an_order_says_which_form_holds() {
    let forms = [
        ("[a] w x 1\n[b] r x 0\n", Model::StrictSerializable, Some(Model::Serializable)),
        ("[a] w x 1\n[a] r x 0\n", Model::StrictSerializable, Some(Model::SessionlessSerializable)),
        ("[a] w x 1\n[a] r x 0\n", Model::Causal, Some(Model::SessionlessCausal)),
        ("[a] r x 7\n", Model::StrictSerializable, None),
    ];
    for (lines, model, form) in forms {
        let history = format::parse(&format!("# @object transactions\n{lines}")).unwrap();
        let decision = check(&history, model, &Options::default()).unwrap();
        assert_eq!((decision.verdict, decision.weaker_form), (Verdict::Violation, form), "{lines}");
    }
}

#[test]
fn a_classification_agrees_with_the_checks() {
    for history in small(4).take(60) {
        let place = classify(&history, &Options::default()).unwrap();
        let mut checker = Checker::new(&history, &Options::default());
        for standing in &place.standings {
            let checked = checker.check(standing.model);
            assert_eq!(standing.verdict, checked.ok().map(|decision| decision.verdict), "{}", standing.model);
        }
    }
}
