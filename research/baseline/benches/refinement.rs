//! The experiments of MR (see the front page of the crate): how many steps each checker goes through in a time limit
//! (Figure 12), how that grows at a constant capacity (Figure 13), and which share of the violations each finds (Figure
//! 14).
//!
//! `cargo bench -p seriatim-baseline --bench refinement [-- SECONDS]`. SECONDS is the longest time limit for each
//! checker and history; it is 1 by default, and 100 in the paper. The histories are runs of a simulated queue. If
//! `SERIATIM_SHARED_DATA` names a folder with the histories of violin, there are also runs of the Michael-Scott queue
//! of Scal, and the small Scal histories for Figure 14. A step is a return at which the checker says whether the
//! history so far is still possible.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baseline::refinement::{
    Checker, ENUMERATE, Finding, Options, SATURATE, SYMBOLIC, Step, counting, invocation, monitor, scan,
};
use format::{ReadOptions, open};
use history::{History, Object};
use object::{Budget, Endpoint, ObjectHistory, Part};
use workload::object::{Fault, ObjectConfig};

const CHECKERS: [(&str, Checker, bool); 7] = [
    ("ENUMERATE", ENUMERATE, false),
    ("COUNTING(4)", counting(4), false),
    ("COUNTING(2)", counting(2), false),
    ("SYMBOLIC", SYMBOLIC, false),
    ("SYMBOLIC + R", SYMBOLIC, true),
    ("SATURATE", SATURATE, false),
    ("SATURATE + R", SATURATE, true),
];
/// The time limits, as fractions of the longest. In the paper they are 5, 25, 50, 75 and 100 seconds.
const LIMITS: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 1.0];
const HISTORIES: u64 = 5;

fn main() {
    let longest = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1.0_f64);
    let violin = std::env::var_os("SERIATIM_SHARED_DATA").map(|data| Path::new(&data).join("violin/generated"));

    let simulated: Vec<History> = (0..HISTORIES).map(|seed| queue(10_000, 50, seed)).collect();
    println!(
        "Figure 12: median steps (least, most) of {HISTORIES} runs of a simulated queue, 10000 operations, 4 threads"
    );
    steps(&simulated, longest);
    if let Some(files) = violin.as_ref().map(|folder| files(&folder.join("big/ScalObject-msq"))) {
        let histories: Vec<History> = files.iter().take(HISTORIES as usize).map(|file| read(file)).collect();
        println!("Figure 12: the same of {} runs of Scal's Michael-Scott queue", histories.len());
        steps(&histories, longest);
    }
    growth();
    completeness(violin.as_deref());
}

fn queue(operations: u32, inserts: u32, seed: u64) -> History {
    workload::object::history(&ObjectConfig { operations, inserts, seed, ..ObjectConfig::new(Object::Queue) })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn read(file: &Path) -> History {
    let mut reader = open(file, &ReadOptions::default()).expect("a file that can be read");
    reader.next().expect("one history").expect("a good history")
}

/// The moments at which a checker had gone through its first, second, ... return.
fn run(part: &Part, checker: Checker, remove_matches: bool, limit: Option<Duration>) -> Vec<Duration> {
    let begin = Instant::now();
    let budget = Budget::default().until(limit.map(|limit| begin + limit));
    let mut monitor = monitor(part, checker, Options { remove_matches, budget: budget.clone() }).expect("a queue");
    let mut times = Vec::new();
    for event in part.events() {
        match event {
            Endpoint::Nothing => {}
            Endpoint::Call(at) => monitor.call(at, invocation(&part.calls[at as usize])),
            Endpoint::Return(at) => {
                if budget.is_due() || monitor.return_(at, part.calls[at as usize].result) != Step::Possible {
                    break;
                }
                times.push(begin.elapsed());
            }
        }
    }
    times
}

fn steps(histories: &[History], longest: f64) {
    print!("{:14}", "");
    for part in LIMITS {
        print!("{:>24}", format!("{:.2} s", part * longest));
    }
    println!();
    for (name, checker, remove_matches) in CHECKERS {
        let mut counts = vec![Vec::new(); LIMITS.len()];
        for history in histories {
            let view = ObjectHistory::new(history).expect("an object history");
            let part = view.parts().next().expect("one object");
            let times = run(&part, checker, remove_matches, Some(Duration::from_secs_f64(longest)));
            for (counts, limit) in counts.iter_mut().zip(LIMITS) {
                let limit = Duration::from_secs_f64(limit * longest);
                counts.push(times.partition_point(|&time| time <= limit));
            }
        }
        print!("{name:14}");
        for counts in &mut counts {
            counts.sort_unstable();
            let median = counts[counts.len() / 2];
            print!("{:>24}", format!("{median} ({}, {})", counts[0], counts[counts.len() - 1]));
        }
        println!();
    }
}

/// The average number of values inside a container.
fn capacity(part: &Part) -> f64 {
    let (mut inside, mut sum) = (0_i64, 0_i64);
    let mut returns = 0_i64;
    for event in part.events() {
        if let Endpoint::Return(at) = event {
            let call = &part.calls[at as usize];
            let inserts = call.argument.is_index();
            inside += i64::from(inserts) - i64::from(!inserts && call.result.is_index());
            sum += inside;
            returns += 1;
        }
    }
    sum as f64 / returns.max(1) as f64
}

fn growth() {
    println!("Figure 13: SATURATE with removal at constant capacity");
    for object in [
        Object::Queue,
        Object::Stack,
        Object::PriorityQueue,
        Object::Register,
        Object::Set,
        Object::Mutex,
        Object::Semaphore,
        Object::Exchanger,
    ] {
        let mut before: Option<Duration> = None;
        for operations in [10_000, 20_000, 40_000] {
            let values = u32::from(object == Object::Set);
            let config = ObjectConfig { operations, inserts: 45, values, seed: 3, ..ObjectConfig::new(object) };
            let history = workload::object::history(&config);
            let view = ObjectHistory::new(&history).expect("an object history");
            let part = view.parts().next().expect("one object");
            let times = (0..3).map(|_| run(&part, SATURATE, true, None));
            let time = times.filter_map(|times| times.last().copied()).min().unwrap_or_default();
            let ratio = before.replace(time).map_or_else(String::new, |before| {
                format!(", {:.2} times the half", time.as_secs_f64() / before.as_secs_f64())
            });
            let each = time.as_secs_f64() * 1e6 / f64::from(operations);
            let is_container = matches!(object, Object::Queue | Object::Stack | Object::PriorityQueue);
            let average =
                if is_container { format!(", average capacity {:.1}", capacity(&part)) } else { String::new() };
            println!(
                "  {:10} {operations:>7} operations{average}: {time:.2?}, {each:.2} us a step{ratio}",
                object.name()
            );
        }
    }
}

fn completeness(violin: Option<&Path>) {
    let small: Vec<(String, Vec<History>)> = match violin {
        Some(violin) => files(&violin.join("small"))
            .into_iter()
            .map(|folder| {
                let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
                (name, files(&folder).iter().map(|file| read(file)).collect())
            })
            .collect(),
        None => [Object::Queue, Object::Stack]
            .into_iter()
            .map(|object| {
                let run = |seed| {
                    let fault = Some(Fault::OutOfOrder(4));
                    let config = ObjectConfig { operations: 10, fault, seed, ..ObjectConfig::new(object) };
                    workload::object::history(&config)
                };
                (format!("{} with reordering", object.name()), (0..100).map(run).collect())
            })
            .collect(),
    };
    println!("Figure 14: violations found");
    for (name, histories) in small {
        let mut found = [0; CHECKERS.len()];
        for history in &histories {
            let view = ObjectHistory::new(history).expect("an object history");
            for (found, (_, checker, remove_matches)) in found.iter_mut().zip(CHECKERS) {
                let options = Options { remove_matches, ..Options::default() };
                let finding = |part: Part| scan(&part, checker, options.clone()).finding;
                let is_violation = |part: Part| matches!(finding(part), Finding::Violation(_));
                *found += u32::from(view.parts().any(is_violation));
            }
        }
        let found: Vec<String> =
            CHECKERS.iter().zip(found).map(|((checker, ..), found)| format!("{checker} {found}")).collect();
        println!("  {name}: of {} histories {}", histories.len(), found.join(", "));
    }
}
