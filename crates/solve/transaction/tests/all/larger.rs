//! Beyond the oracle's reach a verdict is right if its certificate verifies: larger histories of simulated databases.

use crate::common;
use common::{cases, checker, decide};
use history::History;
use model::Verdict;
use model::{Isolation, Sessions};
use workload::transactions::{Store, TransactionConfig, history, small};

/// Decides every level, verifies every certificate, and checks the implications.
fn all_levels(history: &History, what: &str) -> Vec<(Isolation, bool)> {
    let checker = checker(history).unwrap_or_else(|| panic!("{what}: the sources are known"));
    let fits = |it: &Isolation| it.sessions != Sessions::RealTime || !history.is_untimed();
    let verdicts: Vec<(Isolation, bool)> = Isolation::all()
        .filter(fits)
        .map(|isolation| {
            let decision = decide(history, &checker, isolation.model());
            assert_ne!(decision.verdict, Verdict::Unknown, "{what}: {}", isolation.model());
            (isolation, decision.verdict == Verdict::Consistent)
        })
        .collect();
    for &(isolation, holds) in &verdicts {
        for weaker in isolation.model().row().implies {
            let weaker = verdicts.iter().find(|(other, _)| other.model() == *weaker);
            assert!(!holds || weaker.is_none_or(|(_, holds)| *holds), "{what}: {}", isolation.model());
        }
    }
    verdicts
}

#[test]
fn simulated_databases_keep_their_level() {
    for seed in 0..cases(6) {
        for store in Store::ALL {
            for (lists, rmws) in [(false, 0), (false, 100), (true, 30)] {
                for perturb in [0, 2] {
                    let keys = if seed % 2 == 0 { 3 } else { 12 };
                    let config = TransactionConfig {
                        store,
                        sessions: 5,
                        operations: 300,
                        keys,
                        lists,
                        rmws,
                        ..TransactionConfig::default()
                    };
                    let config =
                        TransactionConfig { aborts: 5, unknown: 3, untimed: seed % 3 == 0, perturb, seed, ..config };
                    let what = format!("{config:?}");
                    let verdicts = all_levels(&history(&config), &what);
                    let (_, holds) = verdicts.iter().find(|(it, _)| it.model().name() == store.name()).unwrap();
                    // A store in which transactions do not wait for each other shows several orders of a list.
                    let is_loose = lists && !matches!(store, Store::Serializable | Store::SnapshotIsolation);
                    assert!(perturb > 0 || is_loose || *holds, "{what}");
                }
            }
        }
    }
}

/// The small histories of the generator, compared with the oracle, too.
#[test]
fn small_histories_agree_with_the_axioms() {
    let mut compared = 0;
    for history in small(5).take(cases(600) as usize) {
        let counted = history.transaction_count();
        if counted > 7 || checker(&history).is_none() {
            continue;
        }
        let expected = oracle::transaction::verdicts(&history).expect("the sources are known");
        for (isolation, holds) in all_levels(&history, "small") {
            let expected = expected.all()[isolation.sessions as usize][isolation.level as usize];
            assert_eq!(Some(holds), expected, "{}", isolation.model());
        }
        compared += 1;
    }
    assert!(compared > 300, "{compared}");
}
