//! The trial of the heuristics of the engine of objects.
//!
//! `cargo bench -p seriatim-object --bench trial`: at each point, a simulated run, every contender decides: the
//! default, and the default without one heuristic. `-- KNOB=VALUE ...` compares the default with these knobs instead.
//! Contenders take turns. The least time of the processor of three counts, without the making of the history; where a
//! contender takes longer than the limit, it shows `>`.
//!
//! A heuristic stays if it wins 1.5 times at some point, and loses nowhere more than 1.1 times.

use std::time::Duration;

use history::{History, Object};
use object::{Budget, Knobs, ObjectHistory, Options, check};
use workload::object::{Fault, ObjectConfig, history};

/// How long a decision may take.
const LIMIT: Duration = Duration::from_secs(20);
/// Less than so many milliseconds cannot be told from noise: the system counts the time of the processor in ticks.
const NOISE: f64 = 10.0;
/// How often each contender decides, unless it takes long.
const ROUNDS: usize = 3;

/// A heuristic, and what switches it off.
const HEURISTICS: [(&str, &str, &str); 7] = [
    ("guess of copies (stack)", "stack.guess_share", "0"),
    ("guess of pending pops", "stack.pending_guesses", "0"),
    ("counts (stack)", "stack.counted_events", "0"),
    ("guess of copies (priority queue)", "priority_queue.rounds", "0"),
    ("guess of pending removals", "priority_queue.taken_steps", "0"),
    ("counts (priority queue)", "priority_queue.few_calls", "18446744073709551615"),
    ("nearby gaps", "priority_queue.reach", "0"),
];

fn points() -> Vec<ObjectConfig> {
    let of = |object, threads, operations, values| ObjectConfig {
        threads,
        operations,
        values,
        seed: 1,
        ..ObjectConfig::new(object)
    };
    let stack = |threads, operations, values| of(Object::Stack, threads, operations, values);
    let queue = |threads, operations, values| of(Object::PriorityQueue, threads, operations, values);
    let lost = |config| ObjectConfig { fault: Some(Fault::Lost), shows: true, ..config };
    vec![
        stack(16, 1_000_000, 0),
        ObjectConfig { pending: 5, ..stack(16, 25_000, 0) },
        ObjectConfig { pending: 30, ..stack(16, 100_000, 0) },
        stack(8, 50_000, 10),
        stack(32, 20_000, 10),
        stack(16, 20_000, 1000),
        stack(4, 20_000, 100),
        lost(stack(16, 5000, 10)),
        ObjectConfig { fault: Some(Fault::OutOfOrder(4)), shows: true, ..stack(4, 2000, 3) },
        queue(32, 20_000, 10),
        queue(16, 20_000, 100),
        lost(queue(16, 5000, 10)),
        ObjectConfig { pending: 5, ..queue(16, 20_000, 0) },
        ObjectConfig { pending: 30, peeks: 20, ..queue(16, 20_000, 0) },
        ObjectConfig { pending: 20, ..queue(4, 2000, 3) },
        ObjectConfig { pending: 5, ..queue(8, 20_000, 10) },
        ObjectConfig { pending: 5, ..queue(16, 5000, 10) },
        ObjectConfig { pending: 5, fault: Some(Fault::Lost), ..queue(8, 5000, 10) },
    ]
}

fn shown(config: &ObjectConfig) -> String {
    let ObjectConfig { object, threads, operations, values, pending, peeks, .. } = config;
    let fault = if config.fault.is_some() { ", wrong" } else { "" };
    format!("{} {threads} x {operations} x {values}, {pending} pending, {peeks} peeks{fault}", object.name())
}

/// The time of the processor that this thread has used, in milliseconds.
fn used() -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanoseconds: f64 = statistics.split(' ').next().and_then(|first| first.parse().ok()).expect("a number");
    nanoseconds / 1e6
}

/// The time of a decision, and what it was.
fn decide(history: &History, knobs: Knobs) -> (f64, String) {
    let view = ObjectHistory::new(history).expect("calls and returns");
    let options = Options { budget: Budget::default().timeout(LIMIT), knobs, ..Options::default() };
    let before = used();
    let decision = check(&view, &options);
    (used() - before, format!("{} ({})", decision.verdict.name(), decision.strategy))
}

fn main() {
    let settings: Vec<String> = std::env::args().skip(1).filter(|argument| argument.contains('=')).collect();
    let mut contenders = vec![("default".to_owned(), Knobs::DEFAULT)];
    if settings.is_empty() {
        contenders.extend(HEURISTICS.map(|(name, knob, off)| {
            let mut knobs = Knobs::DEFAULT;
            knobs.set(knob, off).expect("a knob");
            (format!("no {name}"), knobs)
        }));
    } else {
        let mut knobs = Knobs::DEFAULT;
        for setting in &settings {
            let (name, value) = setting.split_once('=').expect("KNOB=VALUE");
            knobs.set(name, value).unwrap_or_else(|error| panic!("{error}"));
        }
        contenders.push((settings.join(" "), knobs));
    }
    for config in points() {
        let history = history(&config);
        let mut times = vec![f64::INFINITY; contenders.len()];
        let mut said = vec![String::new(); contenders.len()];
        for _ in 0..ROUNDS {
            for (at, (_, knobs)) in contenders.iter().enumerate() {
                if times[at].is_infinite() || times[at] < 1000.0 {
                    let (time, answer) = decide(&history, *knobs);
                    times[at] = times[at].min(time);
                    said[at] = answer;
                }
            }
        }
        println!("{}: {:.1} ms, {}", shown(&config), times[0], said[0]);
        for (at, (name, _)) in contenders.iter().enumerate().skip(1) {
            let ratio = times[at] / times[0].max(1.0);
            if !(0.9..=1.1).contains(&ratio) && times[at].max(times[0]) > NOISE || said[at] != said[0] {
                println!("    {name}: {:.1} ms = {ratio:.2} times, {}", times[at], said[at]);
            }
        }
    }
}
