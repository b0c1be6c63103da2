//! The classification of an execution has the verdicts of all models, with fewer runs.

use std::time::Duration;

use history::Execution;
use memory::classify::classify;
use memory::{MemoryOptions, c11, check};
use model::classification::{Basis, Classification};
use model::{Budget, Model, Verdict, implies};
use workload::memory::{MemoryConfig, MemoryMachine};
use workload::{cases, small};

fn assert_classified(execution: &Execution, what: &dyn std::fmt::Debug) -> Classification {
    let classification = classify(execution, None, Budget::default);
    assert!(classification.standings.iter().map(|standing| standing.model).eq(Model::ALL));
    for standing in &classification.standings {
        let model = standing.model;
        if model == Model::Rc20 && c11::without_sequential_accesses(execution).is_err() {
            assert!(standing.verdict.is_none() && matches!(standing.basis, Basis::Inapplicable));
            continue;
        }
        let expected = check(model, execution, &MemoryOptions::default()).verdict;
        assert_eq!(standing.verdict, Some(expected), "{what:?}: {model}");
        let runs = classification.runs.iter().filter(|&&run| run == model).count();
        assert_eq!(runs, usize::from(matches!(standing.basis, Basis::Run(..))), "{what:?}: {model}");
    }
    let verdict = |model: Model| classification.standings.iter().find(|it| it.model == model).and_then(|it| it.verdict);
    for (extremes, verdict_of_them) in [
        (classification.strongest_satisfied(), Verdict::Consistent),
        (classification.weakest_broken(), Verdict::Violation),
    ] {
        // Each model with that verdict is beyond one of the extremes, and no extreme is beyond another.
        let beyond = |extreme, model| match verdict_of_them {
            Verdict::Consistent => implies(extreme, model),
            _ => implies(model, extreme),
        };
        for model in Model::ALL {
            let reached = extremes.iter().any(|&extreme| beyond(extreme, model));
            assert!(
                verdict(model).is_none() || reached == (verdict(model) == Some(verdict_of_them)),
                "{what:?}: {model}"
            );
        }
        assert!(extremes.iter().all(|&a| extremes.iter().all(|&b| a == b || !beyond(a, b))));
    }
    classification
}

#[test]
fn the_lattice_is_that_of_the_oracle() {
    let oracle = |model: Model| oracle::Model::from_name(model.name()).expect("the oracle knows every model");
    for a in Model::ALL {
        for b in Model::ALL {
            assert_eq!(implies(a, b), oracle::implies(oracle(a), oracle(b)), "{a} => {b}");
        }
    }
    // No stated implication follows from others.
    for (from, to) in model::implications() {
        let between = |via: &Model| ![from, to].contains(via) && implies(from, *via) && implies(*via, to);
        assert!(!Model::ALL.iter().any(between), "{from} => {to}");
    }
}

#[test]
fn a_classification_is_what_all_models_say() {
    let (mut runs, mut total) = (0, 0);
    for (case, execution) in small::executions(23).take(cases(3000) as usize).enumerate() {
        let classification = assert_classified(&execution, &case);
        runs += classification.runs.len();
        total += classification.standings.len();
        if classification.strongest_satisfied() == [Model::Sc] {
            assert_eq!(classification.runs, [Model::Sc]);
        }
    }
    assert!(2 * runs < total, "{runs} runs for {total} verdicts");
}

#[test]
fn the_corpus_is_classified_as_it_says() {
    for entry in oracle::corpus::corpus() {
        let classification = assert_classified(&entry.execution, &entry.name);
        for standing in classification.standings {
            let expected = match standing.verdict {
                Some(Verdict::Consistent) => "yes",
                Some(Verdict::Violation) => "no",
                _ => "error",
            };
            assert_eq!(entry.expected(standing.model.name()), Some(expected), "{}: {}", entry.name, standing.model);
        }
    }
}

#[test]
fn larger_executions_are_classified_as_well() {
    let machines = [
        MemoryMachine::Sc,
        MemoryMachine::Tso,
        MemoryMachine::Pso,
        MemoryMachine::ReleaseAcquire,
        MemoryMachine::Rc20,
        MemoryMachine::Relaxed,
    ];
    for seed in 0..cases(60) {
        let config = MemoryConfig {
            machine: machines[seed as usize % 6],
            operations: 200,
            rmws: 5 * (seed as u32 % 2),
            fences: 2,
            perturb: seed as u32 / 6 % 2,
            seed,
            ..MemoryConfig::default()
        };
        assert_classified(&workload::memory::execution(&config), &config);
    }
}

/// A model that needs time is `unknown` without it, with the reason. The engine of each model still runs at most once.
#[test]
fn without_time_models_are_unknown() {
    let config = MemoryConfig { machine: MemoryMachine::Tso, operations: 3000, ..MemoryConfig::default() };
    let execution = workload::memory::execution(&config);
    let classification = classify(&execution, None, || Budget::default().timeout(Duration::ZERO));
    let mut runs = classification.runs.clone();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), classification.runs.len());
    assert!(classification.with_verdict(Verdict::Unknown).any(|standing| standing.model == Model::Sc));
    for standing in classification.with_verdict(Verdict::Unknown) {
        assert!(matches!(&standing.basis, Basis::Run(decision, _) if decision.reason.is_some()));
    }
}

/// What was decided before is not decided again, nor is what follows from it.
#[test]
fn what_is_known_needs_no_time() {
    let config = MemoryConfig { machine: MemoryMachine::Tso, operations: 3000, ..MemoryConfig::default() };
    let execution = workload::memory::execution(&config);
    let decision = check(Model::Tso, &execution, &MemoryOptions::default());
    assert_eq!(decision.verdict, Verdict::Consistent);
    let classification =
        classify(&execution, Some((Model::Tso, &decision)), || Budget::default().timeout(Duration::ZERO));
    assert_eq!(classification.runs.first(), Some(&Model::Tso));
    let unknown: Vec<Model> = classification.with_verdict(Verdict::Unknown).map(|standing| standing.model).collect();
    assert!(unknown.contains(&Model::Sc) && !unknown.iter().any(|&model| implies(Model::Tso, model)), "{unknown:?}");
}
