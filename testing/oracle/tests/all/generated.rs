//! The machines of the generator against the axioms of the model of their name, and of the next stronger one.

use oracle::Model::{Cc, Ccm, Ccv, Cm, Pso, Ra, Rc20, Relaxed, Sc, Sra, Tso, Wra};
use oracle::allowed;
use oracle::machine::{self, runs};
use workload::memory::{MemoryConfig, MemoryMachine, execution};
use workload::triangles;

fn configs(machine: MemoryMachine) -> impl Iterator<Item = MemoryConfig> {
    (0..workload::cases(1000)).map(move |seed| MemoryConfig {
        machine,
        threads: 2 + seed as u32 % 3,
        operations: 10 + seed as u32 % 6,
        locations: 2 + seed as u32 % 2,
        writes: 40,
        rmws: if seed % 4 == 0 { 10 } else { 0 },
        fences: if seed % 3 == 0 { 10 } else { 0 },
        delay: 1 + seed as u32 % 5,
        stale: 50,
        seed,
        ..MemoryConfig::default()
    })
}

#[test]
fn what_a_machine_yields_is_allowed_by_its_model_and_not_always_by_a_stronger_one() {
    for (machine, model, stronger) in [
        (MemoryMachine::Sc, Sc, None),
        (MemoryMachine::Tso, Tso, Some(Sc)),
        (MemoryMachine::Pso, Pso, Some(Tso)),
        (MemoryMachine::ReleaseAcquire, Ra, Some(Sc)),
        (MemoryMachine::Rc20, Rc20, Some(Ra)),
        (MemoryMachine::Relaxed, Relaxed, Some(Ra)),
        (MemoryMachine::Causal, Cc, Some(Ccv)),
        (MemoryMachine::Causal, Cc, Some(Cm)),
        (MemoryMachine::Convergent, Ccv, Some(Ccm)),
        (MemoryMachine::CausalMemory, Cm, Some(Ccv)),
    ] {
        let (mut weak, mut total) = (0, 0);
        for config in configs(machine) {
            let execution = execution(&config);
            assert!(allowed(model, &execution), "{} {config:?}", model.name());
            weak += u64::from(stronger.is_some_and(|stronger| !allowed(stronger, &execution)));
            total += 1;
        }
        assert!(stronger.is_none() || weak * 500 > total, "{machine:?}: {weak} of {total}");
    }
}

/// The same by the operational definitions. Some of the perturbed runs are no runs of the machine any more.
#[test]
fn store_buffers_run_on_the_machines_of_the_oracle() {
    for (machine, runner) in [(MemoryMachine::Tso, machine::Machine::Tso), (MemoryMachine::Pso, machine::Machine::Pso)]
    {
        let (mut refused, mut total) = (0, 0);
        for config in configs(machine) {
            assert!(runs(runner, &execution(&config)), "{config:?}");
            let perturbed = execution(&MemoryConfig { perturb: 1, ..config });
            refused += u64::from(!runs(runner, &perturbed));
            total += 1;
        }
        assert!(refused * 50 > total && refused < total, "{machine:?}: {refused} of {total}");
    }
}

/// Theorem 1.7 of RF: the three models allow the execution of a graph exactly if it has no triangle.
#[test]
fn triangles_are_violations() {
    let mut found = [0; 2];
    for seed in 0..workload::cases(300) {
        let config = triangles::TriangleConfig { nodes: 3 + seed as u32 % 3, edges: 4, violating: seed % 2 == 0, seed };
        let edges = triangles::graph(&config);
        let has = |a, b| edges.contains(&(a, b));
        let is_triangle = |&(a, b): &(u32, u32)| (b + 1..config.nodes).any(|c| has(b, c) && has(a, c));
        let expected = edges.iter().any(is_triangle);
        assert_eq!(expected, config.violating, "{config:?}: {edges:?}");
        let execution = triangles::execution(&config);
        for model in [Wra, Ra, Sra] {
            assert_eq!(allowed(model, &execution), !expected, "{} {config:?}", model.name());
        }
        found[usize::from(expected)] += 1;
    }
    assert!(found.iter().all(|&count| count > 50), "{found:?}");
}
