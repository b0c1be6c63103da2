//! Tests of the simulated memories.

use super::*;

const MACHINES: [MemoryMachine; 9] = [
    MemoryMachine::Sc,
    MemoryMachine::Tso,
    MemoryMachine::Pso,
    MemoryMachine::ReleaseAcquire,
    MemoryMachine::Rc20,
    MemoryMachine::Relaxed,
    MemoryMachine::Causal,
    MemoryMachine::Convergent,
    MemoryMachine::CausalMemory,
];

fn configs() -> impl Iterator<Item = MemoryConfig> {
    MACHINES.into_iter().flat_map(|machine| {
        (0..40).map(move |seed| MemoryConfig {
            machine,
            threads: 1 + seed as u32 % 5,
            operations: 50 * seed as u32,
            locations: 1 + seed as u32 % 7,
            writes: 10 * (seed as u32 % 6),
            rmws: 5 * (seed as u32 % 7),
            fences: seed as u32 % 11,
            sequential: 0,
            delay: seed as u32 % 13,
            stale: 5 * (seed as u32 % 21),
            perturb: 0,
            distance: None,
            seed,
        })
    })
}

/// The reads that do not return what was written last.
fn stale_reads(config: &MemoryConfig) -> usize {
    let mut memory = vec![0; config.locations as usize];
    let mut stale = 0;
    for step in generate(config) {
        let cell = &mut memory[step.location as usize];
        stale += usize::from(step.value_read().is_some_and(|value| value != *cell));
        *cell = step.value_written().unwrap_or(*cell);
    }
    stale
}

#[test]
fn an_atomic_memory_is_one_without_delay() {
    for config in
        configs().filter(|config| matches!(config.machine, MemoryMachine::Sc | MemoryMachine::Tso | MemoryMachine::Pso))
    {
        let config = if config.machine == MemoryMachine::Sc { config } else { MemoryConfig { delay: 0, ..config } };
        assert_eq!(stale_reads(&config), 0, "{config:?}");
        assert_eq!(generate(&config).count(), config.operations as usize);
    }
}

#[test]
fn a_weak_memory_is_weak() {
    for machine in MACHINES.into_iter().filter(|&machine| machine != MemoryMachine::Sc) {
        let config = MemoryConfig { machine, operations: 2000, ..MemoryConfig::default() };
        assert!(stale_reads(&config) > 50, "{machine:?}");
    }
}

/// Only the thread that writes sees a write while it is in the buffer, and that thread always sees its own writes.
#[test]
fn a_thread_reads_its_own_stores_from_the_buffer() {
    for machine in [MemoryMachine::Tso, MemoryMachine::Pso] {
        let config =
            MemoryConfig { machine, locations: 3, operations: 5000, rmws: 5, delay: 20, ..MemoryConfig::default() };
        let mut own = vec![[0; 3]; config.threads as usize];
        let (mut forwarded, mut overtaken) = (0, 0);
        for step in generate(&config) {
            let own = &mut own[step.thread as usize][step.location as usize];
            if let Some(value) = step.value_read() {
                forwarded += usize::from(value == *own && value > 0);
                overtaken += usize::from(value != *own);
            }
            *own = step.value_written().unwrap_or(*own);
        }
        assert!(forwarded > 500 && overtaken > 300, "{machine:?}: {forwarded}, {overtaken}");
    }
}

#[test]
fn exactly_the_wanted_number_of_reads_is_perturbed() {
    for config in configs().filter(|config| config.operations >= 500 && (10..50).contains(&config.writes)) {
        for perturb in [1, 2, 20] {
            let perturbed = MemoryConfig { perturb, ..config };
            let changed: Vec<_> = generate(&config).zip(generate(&perturbed)).filter(|(a, b)| a != b).collect();
            assert_eq!(changed.len(), perturb as usize, "{config:?}");
            assert!(changed.iter().all(|&(a, b)| MemoryStep { read: b.read, ..a } == b), "{config:?}");
        }
        let all = MemoryConfig { perturb: u32::MAX, ..config };
        let changed = generate(&config).zip(generate(&all)).filter(|(a, b)| a != b).count();
        assert!(changed > 20 && changed < config.operations as usize);
    }
}

#[test]
fn the_same_seed_gives_the_same_history_and_another_seed_another() {
    for config in configs().filter(|config| config.operations >= 100) {
        assert!(generate(&config).eq(generate(&config)));
        assert!(!generate(&config).eq(generate(&MemoryConfig { seed: config.seed + 1000, ..config })));
    }
}

#[test]
fn values_are_unique_and_written_before_they_are_read() {
    for config in configs() {
        let mut values = vec![vec![0]; config.locations as usize];
        let mut written = 0;
        for step in generate(&config) {
            let values = &mut values[step.location as usize];
            assert!(step.value_read().is_none_or(|value| values.contains(&value)), "{config:?}");
            if let Some(value) = step.value_written() {
                written += 1;
                assert_eq!(value, written);
                values.push(value);
            }
        }
    }
}

#[test]
fn both_orders_hold_the_same_history() {
    for config in configs().map(|config| MemoryConfig { perturb: 3, ..config }) {
        let mut sorted: Vec<MemoryStep> = generate(&config).collect();
        sorted.sort_by_key(|step| step.thread);
        assert_eq!(thread_by_thread(&config).collect::<Vec<_>>(), sorted);
    }
}

#[test]
fn the_execution_is_that_of_the_history() {
    for config in configs().map(|config| MemoryConfig { perturb: 2, ..config }) {
        let direct = execution(&config);
        let viewed = Execution::from_history(&history(&config, generate(&config))).unwrap();
        assert_eq!(direct.events(), viewed.events(), "{config:?}");
        assert_eq!(direct.operations(), viewed.operations());
        assert!(viewed.thin_air().is_empty());
    }
}

#[test]
fn faults_are_named() {
    for machine in MACHINES {
        let config = MemoryConfig { machine, ..MemoryConfig::default() };
        assert!(config.fault().is_none());
        assert!(MemoryConfig { threads: 0, ..config }.fault().is_some());
        assert!(MemoryConfig { locations: 0, ..config }.fault().is_some());
        assert!(MemoryConfig { writes: 90, rmws: 20, ..config }.fault().is_some());
        assert!(MemoryConfig { stale: 101, ..config }.fault().is_some());
    }
    let many = MemoryConfig { operations: 500_000, locations: 100_000, threads: 16, ..MemoryConfig::default() };
    assert!(
        many.fault().is_none() && MemoryConfig { machine: MemoryMachine::ReleaseAcquire, ..many }.fault().is_some()
    );
    assert!(MemoryConfig { machine: MemoryMachine::Rc20, operations: 1_000, ..many }.fault().is_none());
    assert!(MemoryConfig { machine: MemoryMachine::Relaxed, threads: 20_000, ..many }.fault().is_some());
    assert!(MemoryConfig { machine: MemoryMachine::Causal, threads: 20_000, ..many }.fault().is_some());
    let config = MemoryConfig { operations: u32::MAX, ..MemoryConfig::default() };
    assert!(config.fault().is_none() && MemoryConfig { machine: MemoryMachine::Relaxed, ..config }.fault().is_some());
}

/// A perturbed read of an atomic memory returns one of the last values that were overwritten, and all of them in turn.
#[test]
fn a_perturbed_read_looks_back_as_far_as_the_distance() {
    for distance in [1, 3, 9] {
        let config =
            MemoryConfig { operations: 4000, perturb: 500, distance: Some(distance), ..MemoryConfig::default() };
        let mut before = vec![vec![0]; config.locations as usize];
        let mut seen = vec![0; distance as usize + 1];
        for step in generate(&config) {
            let values = &mut before[step.location as usize];
            if let Some(value) = step.value_read() {
                let back = values.iter().rev().position(|&it| it == value).expect("a value that was written");
                assert!(back <= distance as usize, "{back} writes back");
                seen[back] += 1;
            }
            values.extend(step.value_written());
        }
        assert!(seen[1..].iter().all(|&count| count > 10), "{seen:?}");
        assert_eq!(seen[1..].iter().sum::<u32>(), 500);
    }
    // A machine with views knows more values than the last; all the same, some distances are enough for all.
    for machine in [MemoryMachine::ReleaseAcquire, MemoryMachine::Relaxed] {
        let config = MemoryConfig { machine, operations: 500, perturb: 50, ..MemoryConfig::default() };
        let steps = |distance| generate(&MemoryConfig { distance, ..config }).collect::<Vec<_>>();
        assert_eq!(steps(None), steps(Some(100)));
        assert_ne!(steps(None), steps(Some(1)));
    }
    assert!(MemoryConfig { distance: Some(0), ..MemoryConfig::default() }.fault().is_some());
}
