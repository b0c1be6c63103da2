//! Windows of any size, against the oracle and against the other tactics.

use history::History;
use model::{Certificate, Decided, Evidence, Model, Verdict};
use verify::verify;
use workload::memory::MemoryMachine;
use workload::{cases, memory as atomic, small, to_history};

use super::*;
use crate::MemoryOptions;

fn execution(history: &History) -> Execution {
    Execution::from_history(history).expect("generated histories are executions")
}

/// Whether `pso` holds, by windows of some size, or `None` if they do not decide. The certificates of `pso` and `wpso`
/// are verified.
fn by_windows(history: &History, execution: &Execution, size: usize) -> Option<bool> {
    let answer = |deadlocks| {
        decide(execution, Relaxation::WriteAny, size, deadlocks, &Limits::default()).expect("there is no limit of time")
    };
    let (verdict, evidence) = match answer(u64::MAX) {
        Answer::Found(line) => {
            let line = line.into_iter().map(|event| execution.operations()[event as usize]).collect();
            (Verdict::Consistent, Evidence::MemoryOrder(line))
        }
        Answer::Refuted(cycle) => (Verdict::Violation, Evidence::Cycle(cycle)),
        Answer::Nothing => return None,
    };
    let decision = Decided { verdict, strategy: "windows", reason: None, evidence: Some(evidence) };
    for model in [Model::Pso, Model::Wpso] {
        let certificate = Certificate::new(0, history, model, &decision).expect("every verdict has a certificate");
        assert_eq!(verify(&certificate, history), Ok(()), "{model}, windows of {size}");
    }
    // Without a search, windows have the same answer or none.
    match answer(0) {
        Answer::Found(..) => assert_eq!(verdict, Verdict::Consistent),
        Answer::Refuted(_) => assert_eq!(verdict, Verdict::Violation),
        Answer::Nothing => {}
    }
    Some(verdict == Verdict::Consistent)
}

/// The windows are so small that the events that were taken are often in a wrong order, or that no window shows the
/// violation.
#[test]
fn windows_of_any_size_say_nothing_wrong() {
    let mut refuted = 0;
    for (case, generated) in small::executions(9).take(cases(5_000) as usize).enumerate() {
        let history = to_history(&generated);
        let execution = execution(&history);
        if !execution.thin_air().is_empty() {
            continue;
        }
        let allowed = oracle::allowed(oracle::Model::Pso, &generated);
        for size in [1, 2, 3, 4, 6, 9] {
            let answer = by_windows(&history, &execution, size);
            let is_right = answer == Some(allowed) || (!allowed && answer.is_none());
            assert!(is_right, "case {case}, windows of {size}: {answer:?}");
            refuted += u64::from(answer == Some(false));
        }
    }
    assert!(refuted > cases(5_000) / 3, "{refuted} refuted");
}

/// A history of some shape, with or without read-modify-writes. Every other one is perturbed. The order of the file is
/// thread by thread, so that it does not help.
fn larger_history(seed: u64, shape: atomic::MemoryConfig) -> History {
    let config = atomic::MemoryConfig { rmws: 10 * (seed as u32 % 3), perturb: seed as u32 % 2, seed, ..shape };
    atomic::history(&config, atomic::thread_by_thread(&config))
}

#[test]
fn windows_decide_larger_histories() {
    let mut verdicts = [0, 0];
    for seed in 0..cases(60) {
        for machine in [MemoryMachine::Sc, MemoryMachine::Tso, MemoryMachine::Pso] {
            let shape = atomic::MemoryConfig {
                machine,
                threads: 2 + seed as u32 % 11,
                operations: 1_000,
                locations: 1 << (seed % 7),
                fences: seed as u32 % 3,
                ..atomic::MemoryConfig::default()
            };
            let history = larger_history(seed, shape);
            let execution = execution(&history);
            let allowed =
                crate::check(Model::Pso, &execution, &MemoryOptions::default()).verdict == Verdict::Consistent;
            verdicts[usize::from(allowed)] += 1;
            for size in [1, 10, 50, 250] {
                let answer = by_windows(&history, &execution, size);
                let is_right = answer == Some(allowed) || (!allowed && answer.is_none());
                assert!(is_right, "seed {seed}, windows of {size}: {answer:?}");
            }
        }
    }
    assert!(verdicts.iter().all(|&count| count > cases(60) / 8), "{verdicts:?}");
}
