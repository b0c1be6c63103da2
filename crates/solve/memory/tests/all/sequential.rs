//! `c20` and `rc11` against the oracle, where many events are sequentially consistent, and every certificate against
//! the verifier.

use history::MemoryOrder::{Acquire, AcquireRelease, Relaxed, Release, SequentiallyConsistent};
use history::execution::{Event, Kind};
use history::{Execution, ExecutionBuilder};
use memory::{MemoryOptions, check};
use model::{Certificate, Evidence, Model, Verdict};
use verify::verify;
use workload::memory::{MemoryConfig, MemoryMachine, execution as run};
use workload::random::SplitMix64;
use workload::small::{self, Shape};
use workload::{cases, to_history};

/// An execution, with one line for each event.
fn show(execution: &Execution) -> String {
    let history = to_history(execution);
    let line = |id| format!("{}\n", format::render_operation(&history, execution.operation(id)));
    execution.ids().map(line).collect()
}

/// The same execution, where so many of a hundred events are sequentially consistent, fences always.
fn made_sequential(execution: &Execution, percent: u8, random: &mut SplitMix64) -> Execution {
    let mut made = Execution::default();
    let mut order = |event: Event| match event.kind {
        Kind::Fence if random.percent(80) => SequentiallyConsistent,
        _ if random.percent(percent) => SequentiallyConsistent,
        _ => event.order,
    };
    let events: Vec<_> = execution
        .ids()
        .map(|id| {
            let event = execution.event(id);
            (execution.thread(id), Event { order: order(event), ..event }, execution.operation(id))
        })
        .collect();
    made.refill(execution.thread_count(), events.into_iter());
    made
}

/// The verdict, whose certificate was verified, and whether it took lemmas.
fn verified(model: Model, execution: &Execution, case: u64) -> (bool, bool) {
    let history = to_history(execution);
    let decision = check(model, execution, &MemoryOptions { witness: true, ..MemoryOptions::default() });
    let certificate = Certificate::new(0, &history, model, &decision).expect("every verdict has a certificate");
    if let Err(refusal) = verify(&certificate, &history) {
        panic!("case {case}: refused: {refusal}\n{certificate:?}\n{}", show(execution));
    }
    let json = certificate.to_json(&history);
    assert_eq!(Certificate::from_json(&json, &history).expect("it was just written"), certificate);
    let is_allowed = decision.verdict == Verdict::Consistent;
    (is_allowed, matches!(decision.evidence, Some(Evidence::Refutation(_))))
}

/// A small execution in which every read reads any write of its location. Most of the programs are rings, as the litmus
/// tests are: each thread accesses its own location and then that of its neighbour, some with a fence between. With
/// `sequences`, many writes are followed by another one of their thread and location.
fn any_sources(case: u64, sequences: bool, random: &mut SplitMix64) -> Execution {
    let threads = random.between(2, 4);
    let is_ring = random.percent(75);
    let locations = if is_ring { threads } else { random.between(1, threads) };
    let mut builder = ExecutionBuilder::new();
    let mut writes: Vec<Vec<_>> = vec![Vec::new(); locations as usize];
    let mut reads = Vec::new();
    let percent = [30, 60, 95][case as usize % 3];
    for thread in 0..threads {
        let places: Vec<u32> = if is_ring {
            vec![thread % locations, (thread + 1) % locations]
        } else {
            (0..random.between(1, 3)).map(|_| random.between(0, locations - 1)).collect()
        };
        for (at, &location) in places.iter().enumerate() {
            if at > 0 && random.percent(25) {
                let order = if random.percent(75) { SequentiallyConsistent } else { AcquireRelease };
                builder.push_ordered(thread, Kind::Fence, 0, order);
            }
            let (read, write, rmw) = (Kind::Read, Kind::Write, Kind::Rmw);
            let kind = match at {
                0 => random.pick(&[write, write, write, write, write, read, read, rmw]),
                _ => random.pick(&[read, read, read, read, write, write, rmw]),
            };
            let weak = match kind {
                Kind::Read => [Relaxed, Acquire],
                Kind::Write => [Relaxed, Release],
                _ => [Relaxed, AcquireRelease],
            };
            let order = if random.percent(percent) { SequentiallyConsistent } else { random.pick(&weak) };
            let event = builder.push_ordered(thread, kind, location, order);
            if kind.reads() {
                reads.push((event, location));
            }
            if kind.writes() {
                writes[location as usize].push(event);
            }
            if sequences && kind.writes() && random.percent(50) {
                let kind = random.pick(&[write, write, rmw]);
                let later = builder.push_ordered(thread, kind, location, Relaxed);
                if kind.reads() {
                    reads.push((later, location));
                }
                writes[location as usize].push(later);
            }
        }
    }
    for (read, location) in reads {
        let candidates: Vec<_> = writes[location as usize].iter().copied().filter(|&write| write != read).collect();
        let source = if random.percent(40) { usize::MAX } else { random.below(candidates.len() as u64 + 1) as usize };
        builder.read_from(read, candidates.get(source).copied());
    }
    builder.build()
}

#[test]
fn c20_agrees_with_the_oracle() {
    let mut random = SplitMix64::new(20);
    let mut seen = [0; 2];
    // Executions that `rc20` allows without sequentially consistent orders, and `c20` forbids.
    let mut forbidden = 0;
    for case in 0..cases(16_000) {
        let execution = any_sources(case, case % 3 == 0, &mut random);
        let weak = execution.without_sequential_orders();
        let is_weak = check(Model::Rc20, &weak, &MemoryOptions::default()).verdict == Verdict::Consistent;
        // Most of the others are no question of `psc`.
        if !is_weak && case % 8 > 0 {
            continue;
        }
        let allowed = oracle::allowed(oracle::Model::C20, &execution);
        assert_eq!(verified(Model::C20, &execution, case).0, allowed, "case {case}:\n{}", show(&execution));
        seen[usize::from(allowed)] += 1;
        forbidden += u64::from(!allowed && is_weak);
    }
    assert!(seen.iter().all(|&count| count > cases(300)) && forbidden > cases(150), "{seen:?} {forbidden}");
}

/// The same for `rc11`. It differs where a release goes on over later writes.
#[test]
fn rc11_agrees_with_the_oracle() {
    let mut random = SplitMix64::new(24);
    let (mut seen, mut differ, mut without) = ([0; 2], 0, 0);
    for case in 0..cases(16_000) {
        let execution = any_sources(case, true, &mut random);
        let weak = execution.without_sequential_orders();
        let is_weak = check(Model::Rc20, &weak, &MemoryOptions::default()).verdict == Verdict::Consistent;
        if !is_weak && case % 8 > 0 {
            continue;
        }
        let allowed = oracle::allowed(oracle::Model::Rc11, &execution);
        assert_eq!(verified(Model::Rc11, &execution, case).0, allowed, "case {case}:\n{}", show(&execution));
        seen[usize::from(allowed)] += 1;
        if is_weak && !allowed {
            // Where nothing is sequentially consistent, only release sequences tell the two apart.
            differ +=
                u64::from(check(Model::C20, &execution, &MemoryOptions::default()).verdict == Verdict::Consistent);
            without += u64::from(check(Model::Rc11, &weak, &MemoryOptions::default()).verdict == Verdict::Violation);
        }
    }
    let is_enough = seen.iter().all(|&count| count > cases(300)) && differ > cases(10) && without > cases(10);
    assert!(is_enough, "{seen:?} {differ} {without}");
}

/// The same for executions that are nearly those of a machine with store buffers.
#[test]
fn c20_agrees_with_the_oracle_on_runs() {
    let mut random = SplitMix64::new(23);
    for case in 0..cases(2_000) {
        let shape = Shape {
            threads: 2 + (case % 3) as u32,
            events: 5 + (case % 5) as u32,
            locations: 1 + (case / 3 % 3) as u32,
            writes: 45,
            rmws: [0, 10, 25][case as usize % 3],
            fences: [0, 15, 25][case as usize / 5 % 3],
            orders: true,
            perturb: (case % 2) as u32,
        };
        let execution = made_sequential(&small::execution(&shape, case), [30, 60, 95][case as usize % 3], &mut random);
        let allowed = oracle::allowed(oracle::Model::C20, &execution);
        assert_eq!(verified(Model::C20, &execution, case).0, allowed, "case {case}:\n{}", show(&execution));
    }
}

/// Store buffers make executions that only sequentially consistent accesses forbid. If all accesses are, `c20` is `sc`.
#[test]
fn if_all_accesses_are_sequentially_consistent_it_is_sc() {
    let mut random = SplitMix64::new(21);
    let (mut seen, mut by_lemmas) = ([0; 2], 0);
    for case in 0..cases(400) {
        let shape = Shape {
            threads: 2 + (case % 5) as u32,
            events: [12, 24, 40, 80][case as usize % 4],
            locations: 2 + (case / 3 % 4) as u32,
            writes: [50, 70][case as usize % 2],
            rmws: [0, 10][case as usize / 2 % 2],
            fences: 0,
            orders: false,
            perturb: (case % 3) as u32,
        };
        let execution = made_sequential(&small::execution(&shape, 1000 + case), 100, &mut random);
        let (allowed, lemmas) = verified(Model::C20, &execution, case);
        let sc = check(Model::Sc, &execution, &MemoryOptions::default()).verdict == Verdict::Consistent;
        assert_eq!(allowed, sc, "case {case}:\n{}", show(&execution));
        seen[usize::from(allowed)] += 1;
        by_lemmas += u64::from(lemmas);
    }
    assert!(seen.iter().all(|&count| count > cases(50)) && by_lemmas > 0, "{seen:?} {by_lemmas}");
}

/// Executions too large for the oracle: every verdict is proved, and agrees with the models around it.
#[test]
fn larger_executions_are_proved() {
    let mut random = SplitMix64::new(22);
    let mut seen = [0; 2];
    for case in 0..cases(150) {
        let shape = Shape {
            threads: [2, 3, 5, 8][case as usize % 4],
            events: [40, 80, 160][case as usize % 3],
            locations: [2, 4, 8][case as usize % 3],
            writes: 40,
            rmws: [0, 10][case as usize % 2],
            fences: 10,
            orders: true,
            perturb: 0,
        };
        let execution =
            made_sequential(&small::execution(&shape, 5000 + case), [20, 50, 80][case as usize / 2 % 3], &mut random);
        let (allowed, _) = verified(Model::C20, &execution, case);
        let (is_rc11, _) = verified(Model::Rc11, &execution, case);
        assert!(allowed || !is_rc11, "case {case}");
        let weak = execution.without_sequential_orders();
        let holds = |model| check(model, &weak, &MemoryOptions::default()).verdict == Verdict::Consistent;
        assert!(holds(Model::Rc20) || !allowed, "case {case}");
        assert!(!holds(Model::Sc) || allowed, "case {case}");
        seen[usize::from(allowed)] += 1;
    }
    assert!(seen.iter().all(|&count| count > 10), "{seen:?}");
}

/// Machines that know sequentially consistent accesses make what `c20` allows; perturbed, they are proved or refuted.
#[test]
fn runs_of_machines_with_sequential_accesses_are_allowed() {
    let mut seen = [0; 2];
    for case in 0..cases(120) {
        let config = MemoryConfig {
            machine: [MemoryMachine::Sc, MemoryMachine::Tso, MemoryMachine::Pso, MemoryMachine::Rc20]
                [case as usize % 4],
            threads: 2 + (case / 4 % 5) as u32,
            operations: [60, 150, 400][case as usize / 8 % 3],
            locations: 1 + (case / 3 % 6) as u32,
            rmws: [0, 10][case as usize / 4 % 2],
            fences: [0, 0, 10][case as usize / 2 % 3],
            sequential: [15, 50, 85, 100][case as usize / 5 % 4],
            perturb: (case / 16 % 3) as u32,
            seed: case,
            ..MemoryConfig::default()
        };
        let (allowed, _) = verified(Model::C20, &run(&config), case);
        assert!(allowed || config.perturb > 0, "{config:?}");
        seen[usize::from(allowed)] += 1;
    }
    assert!(seen.iter().all(|&count| count > 10), "{seen:?}");
}
