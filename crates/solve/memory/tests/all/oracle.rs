//! Every engine against the oracle, and every certificate against the verifier.

use crate::common;
use std::collections::BTreeMap;

use common::{show, verified_certificates};
use history::Execution;
use model::{Model, Verdict};
use workload::random::SplitMix64;
use workload::small::{self, Shape};
use workload::{cases, to_history};

#[test]
fn engines_agree_with_the_oracle_on_small_executions() {
    let mut seen = BTreeMap::new();
    for (case, execution) in small::executions(1).take(cases(6_000) as usize).enumerate() {
        let history = to_history(&execution);
        for certificate in verified_certificates(&history, &case) {
            let model = certificate.model;
            let oracle_model = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
            let allowed = oracle::allowed(oracle_model, &execution);
            let verdict = if allowed { Verdict::Consistent } else { Verdict::Violation };
            assert_eq!(certificate.verdict, verdict, "case {case}, {model}:\n{}", show(&execution));
            *seen.entry((model, verdict.name())).or_insert(0u64) += 1;
        }
    }
    all_kinds_seen(&seen, 100);
}

#[test]
fn engines_agree_with_the_oracle_on_final_values() {
    let mut random = SplitMix64::new(9);
    let mut seen = BTreeMap::new();
    for (case, execution) in small::executions(8).take(cases(2_000) as usize).enumerate() {
        let history = small::add_finals(to_history(&execution), &mut random);
        let execution = Execution::from_history(&history).expect("values are unique");
        for certificate in verified_certificates(&history, &case) {
            let model = certificate.model;
            let oracle_model = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
            let allowed = oracle::allowed(oracle_model, &execution);
            let verdict = if allowed { Verdict::Consistent } else { Verdict::Violation };
            assert_eq!(certificate.verdict, verdict, "case {case}, {model}:\n{}", show(&execution));
            *seen.entry((model, verdict.name())).or_insert(0u64) += 1;
        }
    }
    all_kinds_seen(&seen, 30);
}

/// These executions are too large for the oracle. But a verdict is right if its certificate is verified. So it is
/// enough that every verdict has a certificate, and that the verdicts agree with the lattice.
#[test]
fn every_verdict_on_larger_executions_is_proved() {
    let mut seen = BTreeMap::new();
    for case in 0..cases(400) {
        let shape = Shape {
            threads: [2, 3, 5, 8][case as usize % 4],
            events: [40, 80, 160][case as usize % 3],
            locations: [1, 2, 4, 8, 16][case as usize % 5],
            writes: 35,
            rmws: [0, 5][case as usize % 2],
            fences: 2,
            orders: false,
            perturb: case as u32 % 3,
        };
        let execution = small::execution(&shape, case);
        let certificates = verified_certificates(&to_history(&execution), &case);
        for stronger in &certificates {
            for weaker in &certificates {
                let broken = stronger.verdict == Verdict::Consistent && weaker.verdict == Verdict::Violation;
                let implied = model::implies(stronger.model, weaker.model);
                assert!(!(broken && implied), "case {case}: {} without {}", stronger.model, weaker.model);
            }
            *seen.entry((stronger.model, stronger.verdict.name())).or_insert(0u64) += 1;
        }
    }
    all_kinds_seen(&seen, 20);
}

/// A generator that made only one kind of execution would test nothing.
fn all_kinds_seen(seen: &BTreeMap<(Model, &str), u64>, at_least: u64) {
    for model in Model::ALL {
        for verdict in [Verdict::Consistent, Verdict::Violation] {
            let count = seen.get(&(model, verdict.name())).copied().unwrap_or(0);
            assert!(count >= cases(at_least), "only {count} executions with {model}: {}", verdict.name());
        }
    }
}
