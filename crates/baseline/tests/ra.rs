//! The algorithms for `ra` against the engine.

use baseline::ra;
use certificate::Model;
use memory::c11::Checker;
use workload::memory::{self as machine, Machine};

#[test]
fn the_baselines_agree_with_ra() {
    let mut checker = Checker::new();
    let mut allowed = [0; 2];
    for seed in 0..workload::cases(1500) {
        let config = machine::Config {
            machine: [Machine::ReleaseAcquire, Machine::Relaxed][seed as usize % 2],
            threads: 2 + seed as u32 % 4,
            operations: 10 + seed as u32 % 60,
            locations: 1 + seed as u32 % 3,
            writes: 30,
            rmws: 10 * (seed as u32 % 4),
            stale: 30,
            perturb: seed as u32 % 3,
            seed,
            ..machine::Config::default()
        };
        let execution = machine::execution(&config);
        let expected = checker.allows(Model::Ra, &execution).unwrap();
        assert_eq!(ra::writes_before(&execution), expected, "{config:?}");
        assert_eq!(ra::closed_order(&execution), expected, "{config:?}");
        allowed[usize::from(expected)] += 1;
    }
    assert!(allowed.iter().all(|&count| count * 10 > allowed[0] + allowed[1]), "{allowed:?}");
}
