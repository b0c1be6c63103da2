//! The simulated databases and replicated memories of `workload` keep the models that they are named after, and their
//! anomalies violate the levels that they say.

use seriatim::format::{Format, Writer};
use seriatim::{Checker, History, Model, Options, Verdict};
use workload::memory::{self, MemoryMachine};
use workload::transactions::{InjectedAnomaly, Store, TransactionConfig, history};

fn verdict(history: &History, level: &str) -> Verdict {
    let model = Model::from_name(level).unwrap();
    Checker::new(history, &Options::default()).check(model).unwrap().verdict
}

/// The levels, the weakest first, without `prefix` and `parallel-snapshot-isolation`, which are incomparable.
const CHAIN: [&str; 7] =
    ["pl-2", "read-committed", "repeatable-read", "read-atomic", "causal", "snapshot-isolation", "serializable"];

#[test]
fn a_store_keeps_its_level() {
    let mut violated = [false; 5];
    for (at, store) in Store::ALL.into_iter().enumerate() {
        for case in 0..40 {
            let config = TransactionConfig {
                store,
                sessions: 1 + case % 6,
                operations: 120,
                keys: 2 + case % 5,
                length: 1 + case % 5,
                rmws: [0, 50, 100][case as usize % 3],
                lists: case % 2 == 1,
                zipf: case % 4 == 3,
                aborts: [0, 10][case as usize / 20],
                unknown: [0, 10][case as usize / 20],
                seed: u64::from(case),
                ..TransactionConfig::default()
            };
            let made = history(&config);
            assert_eq!(verdict(&made, store.name()), Verdict::Consistent, "{config:?}");
            if store == Store::Serializable {
                assert_eq!(verdict(&made, "strict-serializable"), Verdict::Consistent, "{config:?}");
            }
            // A store is not stronger than its name.
            let place = CHAIN.iter().position(|&level| level == store.name()).unwrap();
            if let Some(stronger) = CHAIN.get(place + 1) {
                violated[at] |= verdict(&made, stronger) == Verdict::Violation;
            }
        }
    }
    assert_eq!(violated, [false, true, true, true, true]);
}

#[test]
fn an_anomaly_violates_its_level_and_no_weaker_one() {
    for anomaly in InjectedAnomaly::ALL {
        for lists in [false, true] {
            let config = TransactionConfig {
                lists,
                anomaly: Some(anomaly),
                operations: 60,
                seed: 5,
                ..TransactionConfig::default()
            };
            if config.fault().is_some() {
                continue;
            }
            let made = history(&config);
            assert_eq!(verdict(&made, anomaly.violates()), Verdict::Violation, "{anomaly:?}, lists {lists}");
            let weaker = match anomaly.violates() {
                "prefix" => "parallel-snapshot-isolation",
                "parallel-snapshot-isolation" => "prefix",
                level => match CHAIN.iter().position(|&known| known == level) {
                    Some(0) | None => continue,
                    Some(place) => CHAIN[place - 1],
                },
            };
            assert_eq!(verdict(&made, weaker), Verdict::Consistent, "{anomaly:?}, lists {lists}");
        }
    }
}

/// Long runs of replicas. Small ones are compared with the oracle.
#[test]
fn replicas_keep_their_models_and_no_stronger_one() {
    for (machine, own, others) in [
        (MemoryMachine::Causal, "cc", ["ccv", "cm"]),
        (MemoryMachine::Convergent, "ccv", ["cm", "ccm"]),
        (MemoryMachine::CausalMemory, "cm", ["ccv", "ccm"]),
    ] {
        let mut violated = [0; 2];
        for seed in 0..30 {
            let config = memory::MemoryConfig {
                machine,
                threads: 2 + seed as u32 % 7,
                operations: 300,
                locations: 1 + seed as u32 % 5,
                rmws: [0, 10][seed as usize % 2],
                delay: seed as u32 % 10,
                seed,
                ..memory::MemoryConfig::default()
            };
            let made = memory::history(&config, memory::generate(&config));
            assert_eq!(verdict(&made, own), Verdict::Consistent, "{config:?}");
            for (violated, other) in violated.iter_mut().zip(others) {
                *violated += u32::from(verdict(&made, other) == Verdict::Violation);
            }
        }
        assert!(violated.iter().all(|&count| count > 0), "{own}: {others:?} violated {violated:?}");
    }
}

#[test]
fn what_is_generated_is_a_function_of_the_seed() {
    let config =
        TransactionConfig { operations: 500, lists: true, perturb: 3, seed: 9, ..TransactionConfig::default() };
    let text = |history: &History| {
        let mut writer = Writer::new(Vec::new(), Format::Text);
        writer.write(history).unwrap();
        String::from_utf8(writer.finish().unwrap()).unwrap()
    };
    assert_eq!(text(&history(&config)), text(&history(&config)));
    assert_ne!(text(&history(&config)), text(&history(&TransactionConfig { perturb: 0, ..config })));
    assert_eq!(history(&config).operations().len(), 500);
    let count = workload::transactions::small(3)
        .take(300)
        .filter(|history| verdict(history, "serializable") == Verdict::Violation)
        .count();
    assert!((30..270).contains(&count), "{count} of 300 violate serializability");
}
