//! Every strategy for `sc`, `tso` and `pso`, the papers' and the product's, against the oracle and against each other.

use baseline::Strategy;
use history::{Execution, History};
use memory::{MemoryOptions, Tactic};
use model::{Certificate, Evidence, Model, Verdict};
use verify::verify;
use workload::hard::{self, HardShape};
use workload::{cases, memory as atomic, small, to_history};

/// The models for which a store order is searched.
const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

/// What decides the executions that are not compared with a strategy.
const AUTO: Strategy = Strategy::Product(memory::Strategy::Auto);

fn strategy(name: &str) -> Strategy {
    Strategy::from_name(name).expect("a strategy")
}

/// The strategies that decide every execution, if it is small.
fn exact(model: Model) -> impl Iterator<Item = Strategy> {
    let decides = |strategy: &Strategy| match strategy {
        Strategy::Product(strategy) => strategy.tactic().is_none_or(|tactic| tactic == Tactic::Search),
        Strategy::Paper(way) => way.is_exact(),
    };
    Strategy::all().filter(move |strategy| strategy.speaks_of(model)).filter(decides)
}

/// Decides a model, verifies the certificate, and returns the verdict and the evidence.
fn decide(model: Model, history: &History, execution: &Execution, strategy: Strategy) -> (Verdict, Evidence) {
    let decision = strategy.check(model, execution, &MemoryOptions { witness: true, ..MemoryOptions::default() });
    let certificate = Certificate::new(0, history, model, &decision).expect("every verdict has a certificate");
    if let Err(refusal) = verify(&certificate, history) {
        panic!("{model}, {}: {refusal}\n{certificate:#?}", strategy.name());
    }
    (decision.verdict, certificate.evidence)
}

fn execution(history: &History) -> Execution {
    Execution::from_history(history).expect("generated histories are executions")
}

#[test]
fn all_strategies_agree_with_the_oracle() {
    for model in MODELS {
        let known = oracle::Model::from_name(model.name()).expect("the oracle knows every model");
        let mut consistent = 0;
        let count = cases(2_000);
        for (case, generated) in small::executions(3).take(count as usize).enumerate() {
            let history = to_history(&generated);
            let execution = execution(&history);
            let allowed = oracle::allowed(known, &generated);
            consistent += u64::from(allowed);
            for strategy in exact(model) {
                let (verdict, _) = decide(model, &history, &execution, strategy);
                assert_eq!(verdict == Verdict::Consistent, allowed, "case {case}, {model}, {}", strategy.name());
            }
            // The order of the file is no proof of a violation.
            let recorded = strategy("recorded").check(model, &execution, &MemoryOptions::default()).verdict;
            assert!(recorded == Verdict::Unknown || (allowed && recorded == Verdict::Consistent), "case {case}");
        }
        assert!(consistent >= count / 10 && consistent <= count - count / 10, "{consistent} of {count} are consistent");
    }
}

/// A history of some shape, with or without read-modify-writes. Every other one is perturbed. The order of the file is
/// thread by thread, so that it does not help.
fn larger_history(seed: u64, shape: atomic::MemoryConfig) -> History {
    let config = atomic::MemoryConfig { rmws: 10 * (seed as u32 % 3), perturb: seed as u32 % 2, seed, ..shape };
    atomic::history(&config, atomic::thread_by_thread(&config))
}

#[test]
fn strategies_agree_on_larger_histories() {
    for seed in 0..cases(40) {
        let shape = atomic::MemoryConfig {
            threads: 3 + seed as u32 % 4,
            operations: 120,
            locations: 4,
            writes: 40,
            ..atomic::MemoryConfig::default()
        };
        let history = larger_history(seed, shape);
        let execution = execution(&history);
        for model in MODELS {
            let expected = decide(model, &history, &execution, AUTO).0;
            // There are too many choices, states of the machine and clauses for the other strategies.
            let slow = ["sc-ccm+enum", "tso-ccm+enum", "machine", "sat", "sc-sat", "tso-sat"];
            for strategy in exact(model).filter(|strategy| !slow.contains(&strategy.name())) {
                let found = decide(model, &history, &execution, strategy).0;
                assert_eq!(found, expected, "seed {seed}, {model}, {}", strategy.name());
            }
        }
    }
}

/// Executions of weaker machines that are too large for the oracle. The search over store orders is compared with the
/// search over the states of the machine.
#[test]
fn store_orders_and_machine_runs_agree() {
    let mut seen = [0, 0];
    for case in 0..cases(300) {
        let shape = small::Shape {
            threads: 2 + case as u32 % 3,
            events: 24 + case as u32 % 20,
            locations: 2 + case as u32 % 3,
            writes: 40,
            rmws: [0, 5][case as usize % 2],
            fences: [0, 5][case as usize / 2 % 2],
            orders: false,
            perturb: case as u32 % 2,
        };
        let history = to_history(&small::execution(&shape, case));
        let execution = execution(&history);
        for model in [Model::Tso, Model::Pso] {
            let (expected, _) = decide(model, &history, &execution, AUTO);
            seen[usize::from(expected == Verdict::Consistent)] += 1;
            assert_eq!(decide(model, &history, &execution, strategy("machine")).0, expected, "case {case}, {model}");
        }
    }
    assert!(seen.iter().all(|&seen| seen > 20), "{seen:?}");
}

/// If `wccm` is violated already, its strategies for `tso` have nothing to search. Their verdict still has a
/// derivation.
#[test]
fn a_violation_of_the_partial_store_order_has_a_derivation() {
    let mut violations = 0;
    for entry in oracle::corpus::corpus().iter().filter(|entry| entry.expected("wccm") == Some("no")) {
        let execution = execution(&entry.history);
        for strategy in ["wccm+sat", "tso-ccm+enum", "tso-ccm+sat"].map(strategy) {
            let (verdict, evidence) = decide(Model::Tso, &entry.history, &execution, strategy);
            assert_eq!(verdict, Verdict::Violation, "{}, {}", entry.name, strategy.name());
            let is_told = matches!(evidence, Evidence::Cycle(_) | Evidence::ThinAir(_));
            assert!(is_told, "{}, {}: {evidence:?}", entry.name, strategy.name());
            violations += 1;
        }
    }
    assert!(violations > 20, "the corpus tests nothing");
}

fn hard_configs(copies: u32) -> impl Iterator<Item = hard::HardConfig> {
    [HardShape::OneGuess, HardShape::LongConflict, HardShape::TwoGuesses].into_iter().flat_map(move |shape| {
        [(false, false), (false, true), (true, false), (true, true)].map(|(side_by_side, violating)| hard::HardConfig {
            shape,
            copies,
            side_by_side,
            violating,
        })
    })
}

#[test]
fn what_saturation_leaves_open_is_decided_and_proved() {
    for copies in [1, 2, 7] {
        for config in hard_configs(copies) {
            let history = hard::history(&config);
            let execution = execution(&history);
            let expected = if config.violating { Verdict::Violation } else { Verdict::Consistent };
            // Many threads side by side have too many frontiers.
            for name in ["sat", "wsc+sat", "dbcop"].into_iter().filter(|&name| name != "dbcop" || copies <= 2) {
                let (verdict, evidence) = decide(Model::Sc, &history, &execution, strategy(name));
                assert_eq!(verdict, expected, "{config:?}, {name}");
                assert_eq!(matches!(evidence, Evidence::Refutation(_)), config.violating, "{config:?}");
            }
        }
    }
}
