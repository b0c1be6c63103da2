//! The checks of all objects keep to the memory limit and to the time limit: what the process takes at its peak exceeds
//! the limit by a few megabytes at most, and an answer comes at most two seconds late. A check that wants more says
//! `unknown`.

use std::fs;
use std::time::{Duration, Instant};

use certificate::Verdict;
use history::{Object, ram};
use object::{Interrupt, ObjectHistory, Options, check};
use workload::object::{Config, history};

/// The limit in bytes. It is little more than what the largest history takes, so that searches reach it.
const LIMIT: usize = 40 << 20;
/// How many bytes more a process may fill before it asks again. It is less than a tenth of any limit above 80 MiB.
const MORE: usize = 8 << 20;
/// How long a check may take.
const TIME: Duration = Duration::from_secs(2);
/// How late an answer may be.
const LATE: Duration = Duration::from_secs(2);

/// Begins to measure the peak anew. The answer is whether the system can do that.
fn restart_peak() -> bool {
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The most bytes that this process has had in use since the last restart.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

// One test: others in this process would take memory, too.
#[test]
fn no_check_takes_much_more_than_the_limits() {
    if !restart_peak() {
        eprintln!("skipped: the system does not measure the peak of memory");
        return;
    }
    ram::set_limit(LIMIT);
    for object in Object::ALL {
        for (threads, operations, pending) in [(32, 20_000, 0), (8, 60_000, 2)] {
            let config = Config { threads, operations, pending, values: 10, seed: 1, ..Config::new(object) };
            // A memory has no calls, some objects have no values, and so on.
            let Some(config) = [config, Config { values: 0, ..config }].into_iter().find(|it| it.misfit().is_none())
            else {
                continue;
            };
            let history = history(&config);
            let calls = ObjectHistory::new(&history).expect("calls and returns");
            restart_peak();
            let start = Instant::now();
            let interrupt = Interrupt { deadline: start.checked_add(TIME) };
            let decision = check(&calls, &Options { witness: true, interrupt, ..Options::default() });
            let (time, peak) = (start.elapsed(), peak());
            let what = format!("{}, {threads} threads, {pending} of 1,000 pending", object.name());
            println!("{what}: {} MiB, {time:.2?}, {:?}, {:?}", peak >> 20, decision.verdict, decision.reason);
            assert_ne!(decision.verdict, Verdict::Violation, "{what}");
            assert!(peak <= LIMIT + MORE, "{what}: {} MiB", peak >> 20);
            assert!(time <= TIME + LATE, "{what}: {time:?}");
        }
    }
}
