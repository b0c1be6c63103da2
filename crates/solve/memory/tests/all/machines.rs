//! Runs of all machines that are too long for the oracle. The verifier checks every verdict, and the lattice of models
//! checks all verdicts together.

use crate::common;
use std::collections::BTreeSet;

use common::verified_certificates;
use model::{Model, Verdict, implies};
use workload::cases;
use workload::memory::{MemoryConfig, MemoryMachine, history, thread_by_thread};

const MACHINES: [(MemoryMachine, Model); 6] = [
    (MemoryMachine::Sc, Model::Sc),
    (MemoryMachine::Tso, Model::Tso),
    (MemoryMachine::Pso, Model::Pso),
    (MemoryMachine::ReleaseAcquire, Model::Ra),
    (MemoryMachine::Rc20, Model::Rc20),
    (MemoryMachine::Relaxed, Model::Relaxed),
];

#[test]
fn verdicts_about_runs_of_machines_hold() {
    let mut refuted = BTreeSet::new();
    for seed in 0..cases(600) {
        let choose = |among: &[u32], divisor: u64| among[(seed / divisor) as usize % among.len()];
        let (machine, model) = MACHINES[seed as usize % MACHINES.len()];
        let config = MemoryConfig {
            machine,
            threads: choose(&[2, 3, 4, 8], 1),
            operations: choose(&[30, 60, 120, 200], 2),
            locations: choose(&[1, 3, 8, 24], 3),
            writes: choose(&[20, 40], 5),
            rmws: choose(&[0, 10, 25], 7),
            fences: choose(&[0, 5], 11),
            perturb: choose(&[0, 0, 1, 2], 13),
            seed,
            ..MemoryConfig::default()
        };
        let history = history(&config, thread_by_thread(&config));
        let certificates = verified_certificates(&history, &format_args!("{config:?}"));
        let verdict = |model| certificates.iter().find(|found| found.model == model).map(|found| found.verdict);
        if config.perturb == 0 {
            assert_eq!(verdict(model), Some(Verdict::Consistent), "{config:?}");
        }
        for weaker in certificates.iter().filter(|weaker| weaker.verdict == Verdict::Violation) {
            refuted.insert(weaker.model.name());
            for stronger in certificates.iter().filter(|stronger| implies(stronger.model, weaker.model)) {
                assert_eq!(stronger.verdict, Verdict::Violation, "{}, {}: {config:?}", stronger.model, weaker.model);
            }
        }
    }
    let kept: Vec<_> = Model::ALL.into_iter().filter(|model| !refuted.contains(model.name())).collect();
    assert!(kept.is_empty(), "no violation of {kept:?}");
}
