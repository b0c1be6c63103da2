//! The algorithms for `ra` and `rc20` against the engine.

use baseline::ra::{self, Algorithm5, MoGraph, Online};
use memory::c11::{Checker, Incremental};
use model::Model;
use workload::memory::{self as machine, Machine};

/// Executions near the boundary of a model, decided by both offline baselines and by the engine.
fn the_offline_baselines_agree(model: Model, machine: Machine, fences: u32) {
    let mut checker = Checker::new();
    let mut allowed = [0; 2];
    for seed in 0..workload::cases(1500) {
        let config = machine::MemoryConfig {
            machine: [machine, Machine::Relaxed][seed as usize % 2],
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
    the_offline_baselines_agree(Model::Ra, Machine::ReleaseAcquire, 0);
}

#[test]
fn the_offline_baselines_agree_with_rc20() {
    the_offline_baselines_agree(Model::Rc20, Machine::Rc20, 5);
}

/// Event by event: what is refused is left out, and the rest goes on.
#[test]
fn the_online_baselines_agree_with_ra() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..workload::cases(1500) {
        let config = machine::MemoryConfig {
            machine: [Machine::ReleaseAcquire, Machine::Relaxed][seed as usize % 2],
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
