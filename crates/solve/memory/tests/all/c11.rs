//! The C11 family against the enumerated axioms, on thousands of small executions near the boundary. Every certificate
//! is written as JSON, read again and verified.

use history::Execution;
use history::execution::{ExecutionBuilder, Kind};
use memory::c11::C11Checker;
use memory::{MemoryOptions, check};
use model::{Certificate, Model, Verdict};
use verify::verify;
use workload::memory::{self as machine, MemoryMachine};
use workload::small;

const MODELS: [(Model, oracle::Model); 5] = [
    (Model::Relaxed, oracle::Model::Relaxed),
    (Model::Rc20, oracle::Model::Rc20),
    (Model::Wra, oracle::Model::Wra),
    (Model::Ra, oracle::Model::Ra),
    (Model::Sra, oracle::Model::Sra),
];

fn describe(execution: &Execution) -> String {
    let line = |id| format!("{id:?} in {:?}: {:?}\n", execution.thread(id), execution.event(id));
    execution.ids().map(line).collect::<Vec<_>>().concat()
}

/// The same execution with its locations far apart, so that the table of accesses is not dense.
fn spread(execution: &Execution) -> Execution {
    let mut builder = ExecutionBuilder::new();
    for id in execution.ids() {
        let event = execution.event(id);
        let location = if event.kind == Kind::Fence { 0 } else { event.location.0 * 997 + 5 };
        builder.push_ordered(execution.thread(id).0, event.kind, location, event.order);
    }
    for id in execution.ids() {
        let source = execution.event(id).source;
        if source.is_event() {
            builder.read_from(id.index(), Some(source.index()));
        }
    }
    builder.build()
}

#[test]
fn every_model_agrees_with_its_axioms_and_every_certificate_verifies() {
    let mut checker = C11Checker::new();
    let options = MemoryOptions { witness: true, ..MemoryOptions::default() };
    for execution in small::c11_executions(11, 3).take(workload::cases(12_000) as usize) {
        let history = workload::to_history(&execution);
        let execution = Execution::from_history(&history).unwrap();
        for (model, axioms) in MODELS {
            if !axioms.applies(&execution) {
                continue;
            }
            let expected = oracle::allowed(axioms, &execution);
            let context = || format!("{model}\n{}", describe(&execution));
            assert_eq!(checker.allows(model, &execution), Ok(expected), "{}", context());
            assert_eq!(checker.allows(model, &spread(&execution)), Ok(expected), "spread {}", context());
            let decision = check(model, &execution, &options);
            assert_eq!(decision.verdict == Verdict::Consistent, expected, "{}", context());
            let certificate = Certificate::new(0, &history, model, &decision).unwrap();
            let certificate = Certificate::from_json(&certificate.to_json(&history), &history).unwrap();
            assert_eq!(certificate.evidence, decision.evidence.unwrap());
            let verified = verify(&certificate, &history);
            assert!(verified.is_ok(), "{verified:?}\n{:?}\n{}", certificate.evidence, context());
        }
    }
}

#[test]
fn what_a_view_machine_yields_is_allowed_by_its_model() {
    let mut checker = C11Checker::new();
    for seed in 0..workload::cases(600) {
        for (machine, model) in [
            (MemoryMachine::ReleaseAcquire, Model::Ra),
            (MemoryMachine::Rc20, Model::Rc20),
            (MemoryMachine::Relaxed, Model::Relaxed),
        ] {
            let config = machine::MemoryConfig {
                machine,
                threads: 1 + seed as u32 % 9,
                operations: 300,
                locations: 1 + seed as u32 % 5,
                writes: 40,
                fences: 10,
                rmws: 20,
                stale: seed as u32 % 101,
                seed,
                ..machine::MemoryConfig::default()
            };
            let execution = machine::execution(&config);
            assert_eq!(checker.allows(model, &execution), Ok(true), "{config:?}");
        }
    }
}

/// [`C11Checker::allows`] has a method of its own for small executions. [`check`] does not use it.
#[test]
fn small_and_large_executions_are_decided_alike() {
    let mut checker = C11Checker::new();
    let mut verdicts = [0; 2];
    for seed in 0..workload::cases(2000) {
        let config = machine::MemoryConfig {
            machine: [MemoryMachine::ReleaseAcquire, MemoryMachine::Rc20, MemoryMachine::Relaxed][seed as usize % 3],
            // Few lanes, whose number is a constant, and many.
            threads: [1, 2, 3, 4, 5, 6, 8, 11, 15, 30, 40][seed as usize % 11],
            operations: 20 + seed as u32 % 50,
            locations: 1 + seed as u32 % 3,
            writes: 30,
            rmws: 10 * (seed as u32 % 4),
            fences: 10,
            stale: 30,
            perturb: seed as u32 % 3,
            seed,
            ..machine::MemoryConfig::default()
        };
        let execution = machine::execution(&config);
        for model in [Model::Ra, Model::Rc20, Model::Relaxed] {
            let expected = check(model, &execution, &MemoryOptions::default()).verdict == Verdict::Consistent;
            assert_eq!(checker.allows(model, &execution), Ok(expected), "{model} {config:?}");
            verdicts[usize::from(expected)] += 1;
        }
    }
    assert!(verdicts.iter().all(|&count| count * 10 > verdicts[0] + verdicts[1]), "{verdicts:?}");
}

#[test]
fn without_rmws_wra_is_cc_and_sra_is_ccv() {
    let mut verdicts = [0; 4];
    for seed in 0..workload::cases(1000) {
        let config = machine::MemoryConfig {
            machine: [MemoryMachine::ReleaseAcquire, MemoryMachine::Relaxed][seed as usize % 2],
            threads: 2 + seed as u32 % 6,
            operations: 20 + seed as u32 % 200,
            locations: 1 + seed as u32 % 7,
            writes: 40,
            rmws: 0,
            stale: seed as u32 % 60,
            perturb: seed as u32 % 2,
            seed,
            ..machine::MemoryConfig::default()
        };
        let execution = machine::execution(&config);
        for (at, pair) in [[Model::Wra, Model::Cc], [Model::Sra, Model::Ccv]].into_iter().enumerate() {
            // If a witness is wanted, each family uses its own engine.
            let options = MemoryOptions { witness: true, ..MemoryOptions::default() };
            let [ours, theirs] = pair.map(|model| check(model, &execution, &options).verdict);
            assert_eq!(ours, theirs, "{pair:?} {config:?}");
            verdicts[2 * at + usize::from(ours == Verdict::Consistent)] += 1;
        }
    }
    assert!(verdicts.iter().all(|&count| count > 30), "{verdicts:?}");
}
