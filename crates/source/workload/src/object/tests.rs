//! Tests of the simulated objects.

use super::*;

const LOCKS: [Object; 4] = [Object::Mutex, Object::Semaphore, Object::TaggedMutex, Object::TaggedSemaphore];

fn calls(config: &ObjectConfig) -> usize {
    events(config).filter(|event| matches!(event.action, Action::Call { .. })).count()
}

/// A thread releases the lock that it holds. When threads released a lock at random, a run of several locks came to a
/// standstill after a few operations.
#[test]
fn a_run_of_several_locks_makes_all_its_calls() {
    for object in LOCKS {
        for seed in 0..40 {
            let (threads, keys) = (1 + seed as u32 % 5, seed as u32 % 4);
            let swaps = 50 * (seed as u32 % 2);
            let config = ObjectConfig { threads, keys, swaps, operations: 200, seed, ..ObjectConfig::new(object) };
            assert_eq!(calls(&config), 200, "{config:?}");
            let pending = ObjectConfig { pending: 100, ..config };
            assert_eq!(calls(&pending), 200, "{pending:?}");
        }
    }
}

/// A run with a fault that is to show also makes calls at random: it does not begin with the calls of the plan.
#[test]
fn a_fault_of_several_locks_shows_in_the_middle_of_a_run() {
    for object in LOCKS {
        let config = ObjectConfig {
            keys: 3,
            operations: 200,
            fault: Some(Fault::Duplicated),
            shows: true,
            seed: 5,
            ..ObjectConfig::new(object)
        };
        assert_eq!(config.hides(), None);
        let first = events(&config).take(20);
        let threads: BTreeSet<u32> = first.map(|event| event.process).collect();
        assert!(threads.len() > 1, "{object:?}");
        assert_eq!(calls(&config), 200, "{object:?}");
    }
}
