//! The algorithms for `ra` that RF compares with, as multiples of the engine. `cargo bench -p seriatim-baseline`.

use std::time::{Duration, Instant};

use baseline::ra;
use memory::c11::C11Checker;
use model::Model;
use workload::memory::{self as machine, MemoryConfig, MemoryMachine};

/// The best time of so many runs.
fn best(runs: usize, mut allows: impl FnMut() -> bool) -> Duration {
    let time = |_| {
        let start = Instant::now();
        assert!(allows(), "the machine yields what the model allows");
        start.elapsed()
    };
    (0..runs).map(time).min().expect("at least one run")
}

fn main() {
    println!("baselines for ra, 8 threads, 20 locations; times the engine:");
    let mut checker = C11Checker::new();
    for events in [500, 1000, 2000, 4000] {
        let config = MemoryConfig {
            machine: MemoryMachine::ReleaseAcquire,
            threads: 8,
            operations: events,
            locations: 20,
            rmws: 20,
            writes: 30,
            ..MemoryConfig::default()
        };
        let execution = machine::execution(&config);
        let engine = best(50, || checker.allows(Model::Ra, &execution) == Ok(true)).as_secs_f64();
        let cubic = best(2, || ra::writes_before(&execution, Model::Ra)).as_secs_f64();
        let closed = best(2, || ra::closed_order(&execution, Model::Ra)).as_secs_f64();
        println!(
            "  {events} events: {:.0} us; cubic writes-before x {:.0}, transitively closed mo x {:.0}",
            engine * 1e6,
            cubic / engine,
            closed / engine
        );
    }
}
