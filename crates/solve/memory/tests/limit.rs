//! The engines of all models keep to the memory limit: what the process takes at its peak exceeds the limit by a tenth
//! at most. An engine that wants more says `unknown`.

use std::time::Duration;

use budget::ram;
use history::Execution;
use memory::{Budget, MemoryOptions, check};
use model::{Model, Verdict, View};
use workload::memory::{MemoryConfig, history, thread_by_thread};

/// The limit in bytes. It is well above what the executions take.
const LIMIT: usize = 160 << 20;

// One test: others in this process would take memory, too.
#[test]
fn no_engine_takes_much_more_than_the_limit() {
    if !ram::restart_peak() {
        eprintln!("skipped: the system does not measure the peak of memory");
        return;
    }
    for (threads, operations) in [(64, 250_000), (1000, 60_000)] {
        let config = MemoryConfig { threads, operations, locations: 64, seed: 1, ..MemoryConfig::default() };
        let history = history(&config, thread_by_thread(&config));
        let execution = Execution::from_history(&history).expect("an execution");
        for model in Model::every().filter(|model| model.row().view == View::Execution) {
            ram::restart_peak();
            let budget = Budget::default().memory(LIMIT).timeout(Duration::from_secs(1));
            let decision =
                check(model, &execution, &MemoryOptions { witness: true, budget, ..MemoryOptions::default() });
            assert_ne!(decision.verdict, Verdict::Violation, "{threads} threads, {model}");
            let peak = ram::peak().expect("a peak");
            println!("{threads} threads, {model}: {} MiB, {:?}, {:?}", peak >> 20, decision.verdict, decision.reason);
            assert!(peak <= LIMIT + LIMIT / 10, "{threads} threads, {model}: {} MiB", peak >> 20);
        }
    }
}
