//! The algorithms as the papers write them, against the oracle and against the engines.

use baseline::literal::{Algorithm, partial_store_order};
use history::{Execution, History};
use memory::research::{Causality, Limits, PartialStoreOrder};
use memory::{Budget, MemoryOptions};
use model::{Model, Verdict};
use workload::hard::{self, HardShape};
use workload::{cases, memory as atomic, small};

fn execution(history: &History) -> Execution {
    Execution::from_history(history).expect("generated histories are executions")
}

#[test]
fn all_algorithms_agree_with_the_oracle() {
    let mut allowed_by = [[0u64; 2]; Algorithm::ALL.len()];
    let count = cases(2_000);
    for (case, execution) in small::executions(11).take(count as usize).enumerate() {
        for (algorithm, seen) in Algorithm::ALL.into_iter().zip(&mut allowed_by) {
            let known = oracle::Model::from_name(algorithm.model().name()).expect("the oracle knows every model");
            let allowed = oracle::allowed(known, &execution);
            assert_eq!(algorithm.decide(&execution, &Budget::UNLIMITED), Ok(allowed), "case {case}, {algorithm:?}");
            seen[usize::from(allowed)] += 1;
        }
    }
    assert!(allowed_by.iter().flatten().all(|&seen| seen >= count / 20), "{allowed_by:?}");
}

/// The last algorithms try too many choices on larger histories.
fn quick(algorithm: Algorithm) -> bool {
    !matches!(algorithm, Algorithm::ScCcmEnum | Algorithm::TsoCcmEnum)
}

#[test]
fn algorithms_agree_with_the_engines_on_larger_histories() {
    let mut seen = [0, 0];
    for seed in 0..cases(40) {
        let config = atomic::MemoryConfig {
            threads: 3 + seed as u32 % 3,
            operations: 90,
            locations: 4,
            rmws: 10 * (seed as u32 % 2),
            perturb: seed as u32 % 3,
            seed,
            ..atomic::MemoryConfig::default()
        };
        let execution = execution(&atomic::history(&config, atomic::thread_by_thread(&config)));
        for algorithm in Algorithm::ALL.into_iter().filter(|&algorithm| quick(algorithm)) {
            let verdict = memory::check(algorithm.model(), &execution, &MemoryOptions::default()).verdict;
            let found = algorithm.decide(&execution, &Budget::UNLIMITED);
            assert_eq!(found, Ok(verdict == Verdict::Consistent), "seed {seed}, {algorithm:?}");
            seen[usize::from(verdict == Verdict::Consistent)] += 1;
        }
    }
    assert!(seen.iter().all(|&seen| seen > 50), "{seen:?}");
}

/// `pww` by its definition, and by the engine of `ccm`.
#[test]
fn the_partial_store_order_is_that_of_the_engine() {
    let mut pairs = 0;
    for seed in 0..cases(60) {
        let config = atomic::MemoryConfig {
            threads: 2 + seed as u32 % 4,
            operations: 60,
            locations: 3,
            rmws: 10 * (seed as u32 % 2),
            seed,
            ..atomic::MemoryConfig::default()
        };
        let execution = execution(&atomic::history(&config, atomic::thread_by_thread(&config)));
        let literal = partial_store_order(&execution, &Budget::UNLIMITED).unwrap().expect("the memory is atomic");
        let causality = Causality::new(&execution, &Budget::UNLIMITED).unwrap();
        let order = PartialStoreOrder::new(&causality, &Limits::default()).unwrap();
        let writes: Vec<_> = execution.ids().filter(|&id| execution.event(id).kind.writes()).collect();
        for &a in &writes {
            for &b in writes.iter().filter(|&&b| a != b && execution.event(a).location == execution.event(b).location) {
                assert_eq!(literal.store_order.has(a.0, b.0), order.before(a, b), "seed {seed}");
                pairs += 1;
            }
        }
    }
    assert!(pairs > 1000);
}

/// What saturation leaves open is still decided.
#[test]
fn the_hard_shapes_are_decided() {
    for shape in [HardShape::OneGuess, HardShape::LongConflict, HardShape::TwoGuesses] {
        for violating in [false, true] {
            let config = hard::HardConfig { shape, copies: 1, side_by_side: false, violating };
            let execution = execution(&hard::history(&config));
            for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.model() == Model::Sc) {
                let found = algorithm.decide(&execution, &Budget::UNLIMITED);
                assert_eq!(found, Ok(!violating), "{config:?}, {algorithm:?}");
            }
        }
    }
}

/// 500 operations are not refused, and the time limit is kept.
#[test]
fn an_algorithm_stops_in_time() {
    let config = atomic::MemoryConfig { threads: 4, operations: 500, ..atomic::MemoryConfig::default() };
    let execution = execution(&atomic::history(&config, atomic::thread_by_thread(&config)));
    for algorithm in Algorithm::ALL {
        let limit = std::time::Duration::from_millis(20);
        let start = std::time::Instant::now();
        let answer = algorithm.decide(&execution, &Budget::default().until(Some(start + limit)));
        assert!(matches!(answer, Ok(true) | Err(model::GaveUp::Time)), "{algorithm:?}: {answer:?}");
        assert!(start.elapsed() < limit * 50, "{algorithm:?} took {:?}", start.elapsed());
    }
}
