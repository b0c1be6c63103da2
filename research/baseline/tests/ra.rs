//! The algorithms of RF, and those that it compares with, against the oracle and the engine.

use baseline::ra::printed::{Text, algorithm1, algorithm2, algorithm3, algorithm4};
use baseline::ra::{self, Algorithm5, MoGraph, Online};
use history::Execution;
use memory::c11::{C11Checker, Incremental};
use model::Model;
use workload::memory::{self as machine, MemoryMachine};

/// Executions near the boundary of a model, decided by both offline baselines and by the engine.
fn the_offline_baselines_agree(model: Model, machine: MemoryMachine, fences: u32) {
    let mut checker = C11Checker::new();
    let mut allowed = [0; 2];
    for seed in 0..workload::cases(1500) {
        let config = machine::MemoryConfig {
            machine: [machine, MemoryMachine::Relaxed][seed as usize % 2],
            threads: 2 + seed as u32 % 4,
            operations: 10 + seed as u32 % 60,
            locations: 1 + seed as u32 % 3,
            writes: 30,
            rmws: 10 * (seed as u32 % 4),
            fences: fences * (seed as u32 % 3),
            stale: 30,
            perturb: seed as u32 % 3,
            seed,
            ..machine::MemoryConfig::default()
        };
        let execution = machine::execution(&config);
        let expected = checker.allows(model, &execution).unwrap();
        assert_eq!(ra::writes_before(&execution, model), expected, "{config:?}");
        assert_eq!(ra::closed_order(&execution, model), expected, "{config:?}");
        allowed[usize::from(expected)] += 1;
    }
    assert!(allowed.iter().all(|&count| count * 10 > allowed[0] + allowed[1]), "{allowed:?}");
}

#[test]
fn the_offline_baselines_agree_with_ra() {
    the_offline_baselines_agree(Model::Ra, MemoryMachine::ReleaseAcquire, 0);
}

#[test]
fn the_offline_baselines_agree_with_rc20() {
    the_offline_baselines_agree(Model::Rc20, MemoryMachine::Rc20, 5);
}

/// Event by event: what is refused is left out, and the rest goes on.
#[test]
fn the_online_baselines_agree_with_ra() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..workload::cases(1500) {
        let config = machine::MemoryConfig {
            machine: [MemoryMachine::ReleaseAcquire, MemoryMachine::Relaxed][seed as usize % 2],
            threads: 2 + seed as u32 % 4,
            operations: 10 + seed as u32 % 90,
            locations: 1 + seed as u32 % 3,
            writes: 30,
            rmws: 10 * (seed as u32 % 5),
            stale: 40,
            perturb: seed as u32 % 8,
            seed,
            ..machine::MemoryConfig::default()
        };
        let mut engine = Incremental::ra();
        let mut online: [Box<dyn Online>; 2] = [Box::new(Algorithm5::new()), Box::new(MoGraph::new())];
        // The names of the writes, by value: the engine's and those of the others.
        let mut names = vec![(None, [None; 2])];
        for (at, step) in machine::generate(&config).enumerate() {
            let source = step.value_read().and_then(|value| names.get(value as usize)).copied();
            // What reads a write that was left out is left out, too.
            let is_lost = source.is_some_and(|(engine, _)| engine.is_none()) && step.read > 0;
            let (source, sources) = source.unwrap_or_default();
            let mut given = (None, [None; 2]);
            if !is_lost {
                let expected = engine.push(step.thread, step.kind, step.location, step.order, source);
                for (online, (given, source)) in online.iter_mut().zip(given.1.iter_mut().zip(sources)) {
                    let answer = online.push(step.thread, step.kind, step.location, source);
                    assert_eq!(answer.is_ok(), expected.is_ok(), "{config:?}: step {at}: {step:?}");
                    *given = answer.ok().flatten();
                }
                given.0 = expected.ok().flatten();
                accepted += u32::from(expected.is_ok());
                refused += u32::from(expected.is_err());
            }
            if step.kind.writes() {
                names.push(given);
            }
        }
    }
    assert!(accepted > 20_000 && refused > 1000, "{accepted} {refused}");
}

/// RF's Algorithms 1 to 4, each with the model that it decides, and whether it speaks of an execution.
type Printed = (oracle::Model, fn(&Execution, Text) -> bool);
const PRINTED: [Printed; 5] = [
    (oracle::Model::Wra, algorithm1),
    (oracle::Model::Sra, |execution, _| algorithm2(execution)),
    (oracle::Model::Ra, |execution, text| algorithm3(execution, Model::Ra, text)),
    (oracle::Model::Rc20, |execution, text| algorithm3(execution, Model::Rc20, text)),
    (oracle::Model::Relaxed, |execution, _| algorithm4(execution)),
];

fn speaks_of(model: oracle::Model, execution: &Execution) -> bool {
    let has_rmws = execution.ids().any(|id| execution.event(id).kind == history::execution::Kind::Rmw);
    model.applies(execution) && execution.thin_air().is_empty() && (model != oracle::Model::Sra || !has_rmws)
}

#[test]
fn the_algorithms_as_printed_agree_with_the_axioms() {
    let count = workload::cases(3000);
    let mut allowed_by = [[0u64; 2]; PRINTED.len()];
    let mut wrong_by = [0u64; PRINTED.len()];
    for (case, execution) in workload::small::executions(17).take(count as usize).enumerate() {
        for (at, (model, algorithm)) in PRINTED.into_iter().enumerate() {
            if speaks_of(model, &execution) {
                let expected = oracle::allowed(model, &execution);
                assert_eq!(algorithm(&execution, Text::Corrected), expected, "case {case}, {model:?}");
                allowed_by[at][usize::from(expected)] += 1;
                wrong_by[at] += u64::from(algorithm(&execution, Text::Printed) != expected);
            }
        }
    }
    println!("allowed: {allowed_by:?}; wrong as printed: {wrong_by:?} of {count}");
    assert!(allowed_by.iter().flatten().all(|&seen| seen >= count / 60), "{allowed_by:?}");
    // Algorithms 2 and 4 are right as printed; 1 and 3 are not.
    let is_wrong = wrong_by.map(|wrong| wrong > 0);
    assert_eq!(is_wrong, [true, false, true, true, false], "{wrong_by:?}");
}

/// The histories of the corpus that show what is wrong with the text as printed.
#[test]
fn the_slips_of_the_text_show() {
    let corpus = oracle::corpus::corpus();
    let of = |name: &str| &corpus.iter().find(|entry| entry.name == name).expect("an entry").execution;
    let refused = of("rf-erratum-algorithm-1");
    assert!(algorithm1(refused, Text::Printed) && !algorithm1(refused, Text::Corrected));
    let refused = of("rf-erratum-algorithm-3");
    for model in [Model::Ra, Model::Rc20] {
        assert!(algorithm3(refused, model, Text::Printed) && !algorithm3(refused, model, Text::Corrected));
    }
}

/// Larger executions, with many rmws and fences.
#[test]
fn the_algorithms_as_printed_agree_with_the_engine() {
    let mut checker = C11Checker::new();
    let mut allowed = [0; 2];
    for seed in 0..workload::cases(600) {
        let config = machine::MemoryConfig {
            machine: [MemoryMachine::Rc20, MemoryMachine::Relaxed, MemoryMachine::ReleaseAcquire][seed as usize % 3],
            threads: 2 + seed as u32 % 5,
            operations: 10 + seed as u32 % 90,
            locations: 1 + seed as u32 % 3,
            writes: 30,
            rmws: 10 * (seed as u32 % 4),
            fences: 5 * (seed as u32 % 3),
            stale: 30,
            perturb: seed as u32 % 3,
            seed,
            ..machine::MemoryConfig::default()
        };
        let execution = machine::execution(&config);
        if !execution.thin_air().is_empty() {
            continue;
        }
        for (model, answer) in [
            (Model::Wra, algorithm1(&execution, Text::Corrected)),
            (Model::Ra, algorithm3(&execution, Model::Ra, Text::Corrected)),
            (Model::Rc20, algorithm3(&execution, Model::Rc20, Text::Corrected)),
            (Model::Relaxed, algorithm4(&execution)),
        ] {
            assert_eq!(Ok(answer), checker.allows(model, &execution), "{model}: {config:?}");
            allowed[usize::from(answer)] += 1;
        }
    }
    assert!(allowed.iter().all(|&count| count > 200), "{allowed:?}");
}
