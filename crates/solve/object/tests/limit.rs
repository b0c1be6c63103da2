//! The checks of all objects keep to the memory limit and to the time limit: what the process takes at its peak exceeds
//! the limit by a few megabytes at most, and an answer comes at most two seconds late. A check that wants more says
//! `unknown`.

use std::time::{Duration, Instant};

use budget::ram;
use history::Object;
use model::Verdict;
use object::{Budget, ObjectHistory, ObjectOptions, check};
use workload::object::{ObjectConfig, history};

/// The limit in bytes. It is little more than what the largest history takes, so that searches reach it.
const LIMIT: usize = 40 << 20;
/// How many bytes more a process may fill before it asks again. It is less than a tenth of any limit above 80 MiB.
const MORE: usize = 8 << 20;
/// How long a check may take.
const TIME: Duration = Duration::from_secs(2);
/// How late an answer may be.
const LATE: Duration = Duration::from_secs(2);

// One test: others in this process would take memory, too.
#[test]
fn no_check_takes_much_more_than_the_limits() {
    if !ram::restart_peak() {
        eprintln!("skipped: the system does not measure the peak of memory");
        return;
    }
    for object in Object::ALL {
        for (threads, operations, pending) in [(32, 20_000, 0), (8, 60_000, 2)] {
            let config =
                ObjectConfig { threads, operations, pending, values: 10, seed: 1, ..ObjectConfig::new(object) };
            // A memory has no calls, some objects have no values, and so on.
            let Some(config) =
                [config, ObjectConfig { values: 0, ..config }].into_iter().find(|it| it.misfit().is_none())
            else {
                continue;
            };
            let history = history(&config);
            let calls = ObjectHistory::new(&history).expect("calls and returns");
            ram::restart_peak();
            let start = Instant::now();
            let budget = Budget::default().memory(LIMIT).timeout(TIME);
            let decision = check(&calls, &ObjectOptions { witness: true, budget, ..ObjectOptions::default() });
            let (time, peak) = (start.elapsed(), ram::peak().expect("a peak"));
            let what = format!("{}, {threads} threads, {pending} of 1,000 pending", object.name());
            println!("{what}: {} MiB, {time:.2?}, {:?}, {:?}", peak >> 20, decision.verdict, decision.reason);
            assert_ne!(decision.verdict, Verdict::Violation, "{what}");
            assert!(peak <= LIMIT + MORE, "{what}: {} MiB", peak >> 20);
            assert!(time <= TIME + LATE, "{what}: {time:?}");
        }
    }
}
