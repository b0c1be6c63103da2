//! Executions that never end, against brute force on random small programs with loops.
//!
//! The brute force knows no loops that wait. It grows all graphs in which a thread has at most so many events. In a
//! graph with some final memory, each thread runs on alone and reads that memory: if it comes to a state twice without
//! a write of another value, it goes round for ever. If all threads that have not ended do so, nothing ends them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use explore::Order::{Acquire, AcquireRelease, Relaxed, Release, SequentiallyConsistent as Sc};
use explore::litmus::{Limits, Report, Test};
use explore::{Model, Next, Order, Step, Update, Value};

use crate::common::axioms::Execution;
use crate::common::{Class, Code, Line, Random, cases, grown};

const MODELS: [Model; 6] = [Model::C20, Model::Rc11, Model::Ra, Model::Relaxed, Model::Tso, Model::Sc];
const REGISTERS: usize = 2;

fn order_name(order: Order) -> &'static str {
    match order {
        Acquire => "memory_order_acquire",
        Release => "memory_order_release",
        AcquireRelease => "memory_order_acq_rel",
        Sc => "memory_order_seq_cst",
        _ => "memory_order_relaxed",
    }
}

/// The program as a litmus test. A `Back` ends the loop that begins as many lines before.
fn text(code: &Code, locations: u32) -> String {
    let place = |location: u32| ["x", "y"][location as usize];
    let mut text = "C t\n{}\n".to_owned();
    let mut all: Vec<String> = (0..locations).map(|location| place(location).to_owned()).collect();
    for (thread, lines) in code.threads.iter().enumerate() {
        let parameters: Vec<String> =
            (0..locations).map(|location| format!("atomic_int* {}", place(location))).collect();
        let _ = write!(text, "P{thread} ({}) {{ int r0 = 0; int r1 = 0; ", parameters.join(", "));
        for (at, line) in lines.iter().enumerate() {
            let begins = |(end, line): (usize, &Line)| matches!(*line, Line::Back(.., back) if end - back == at);
            if lines.iter().enumerate().any(begins) {
                text.push_str("do { ");
            }
            let _ = match *line {
                Line::Load(into, x, order) => {
                    write!(text, "r{into} = atomic_load_explicit({}, {}); ", place(x), order_name(order))
                }
                Line::Store(x, order, value) => {
                    write!(text, "atomic_store_explicit({}, {value}, {}); ", place(x), order_name(order))
                }
                Line::Rmw(into, x, order, _, Update::Set(value)) => {
                    write!(text, "r{into} = atomic_exchange_explicit({}, {value}, {}); ", place(x), order_name(order))
                }
                // The expected value becomes the one that was read.
                Line::Rmw(into, x, order, failure, Update::CompareExchange { expected, new }) => write!(
                    text,
                    "r{into} = {expected}; atomic_compare_exchange_strong_explicit({}, &r{into}, {new}, {}, {}); ",
                    place(x),
                    order_name(order),
                    order_name(failure)
                ),
                Line::Back(register, is_equal, value, _) => {
                    write!(text, "}} while (r{register} {} {value}); ", if is_equal { "==" } else { "!=" })
                }
                _ => unreachable!("the programs have no such lines"),
            };
        }
        text.push_str("}\n");
        all.extend((0..REGISTERS).map(|register| format!("{thread}:r{register}")));
    }
    let _ = writeln!(text, "locations [{}]\nexists true", all.join("; "));
    text
}

/// Two or three threads, of which most have a loop, and some the pieces of a lock.
fn program(random: &mut Random) -> (Code, u32) {
    let locations = 1 + random.below(2) as u32;
    let count = if random.below(5) == 0 { 3 } else { 2 };
    let thread = |random: &mut Random| {
        let mut lines = Vec::new();
        let step = |random: &mut Random, may_store: bool| {
            let location = random.below(locations as usize) as u32;
            let register = random.below(REGISTERS);
            let value = random.below(3) as Value;
            let failure = random.pick(&[Relaxed, Acquire]);
            let both = random.pick(&[Relaxed, AcquireRelease, Sc]);
            match random.below(if may_store { 8 } else { 4 }) {
                0 | 1 => Line::Load(register, location, random.pick(&[Relaxed, Acquire, Sc])),
                2 => Line::Rmw(register, location, both, failure, Update::Set(1)),
                3 => {
                    let update = Update::CompareExchange { expected: value, new: random.below(3) as Value };
                    Line::Rmw(register, location, both, failure, update)
                }
                _ => Line::Store(location, random.pick(&[Relaxed, Release, Sc]), value),
            }
        };
        let has_loop = random.below(3) > 0;
        for _ in 0..random.below(if has_loop { 2 } else { 3 }) {
            lines.push(step(random, true));
        }
        if has_loop {
            let steps = 1 + usize::from(count == 2 && random.below(3) == 0);
            for _ in 0..steps {
                lines.push(step(random, false));
            }
            let (Some(Line::Load(register, ..) | Line::Rmw(register, ..)), is_equal) =
                (lines.last(), random.below(2) == 0)
            else {
                unreachable!("every step of a loop reads")
            };
            lines.push(Line::Back(*register, is_equal, random.below(3) as Value, steps));
        }
        if lines.is_empty() || random.below(3) == 0 {
            lines.push(step(random, true));
        }
        lines
    };
    (Code::new((0..count).map(|_| thread(random)).collect()), locations)
}

/// Whether a thread goes round for ever, alone with this memory.
fn goes_round(code: &Code, thread: u32, mut values: Vec<Value>, memory: &[Value]) -> bool {
    let mut seen = BTreeSet::new();
    loop {
        let Next::Step(step) = code.after(thread, &values, &mut Vec::new()) else { return false };
        if !seen.insert(code.state(thread, &values)) {
            return true;
        }
        match step {
            Step::Read { location, .. } => values.push(memory[location as usize]),
            Step::Rmw { location, update, .. } => {
                let read = memory[location as usize];
                if update.apply(read).is_some_and(|written| written != read) {
                    return false;
                }
                values.push(read);
            }
            _ => return false,
        }
    }
}

/// The final states of the executions that end, and whether one never does, where a thread has at most so many events.
fn by_force(code: &Code, model: Model, locations: u32, most: usize) -> (BTreeSet<Vec<Value>>, bool) {
    let (mut states, mut hangs) = (BTreeSet::new(), false);
    let mut look = |class: &Class, steps: &[Vec<Step>]| {
        if class.iter().any(|nodes| nodes.len() > most) {
            return false;
        }
        let Some(memories) = Execution::new(class, steps).memories(model, locations) else { return false };
        let values = |thread: usize| class[thread].iter().map(|node| node.read).collect::<Vec<Value>>();
        let has_ended =
            |thread: &usize| code.after(*thread as u32, &values(*thread), &mut Vec::new()) == Next::Finished;
        let on_their_way: Vec<usize> = (0..class.len()).filter(|thread| !has_ended(thread)).collect();
        for memory in memories {
            if on_their_way.is_empty() {
                let registers = |thread: usize| code.state(thread as u32, &values(thread)).1[..REGISTERS].to_vec();
                let mut state: Vec<Value> = (0..class.len()).flat_map(registers).collect();
                state.extend(memory);
                states.insert(state);
            } else {
                hangs |= on_their_way.iter().all(|&thread| goes_round(code, thread as u32, values(thread), &memory));
            }
        }
        true
    };
    look(&vec![Vec::new(); code.threads.len()], &vec![Vec::new(); code.threads.len()]);
    grown(code, look);
    (states, hangs)
}

fn explored(test: &Test, model: Model, steps: u32) -> (BTreeSet<Vec<Value>>, bool, Report) {
    let report = test.explore(model, Limits { steps, liveness: true, ..Limits::default() }).unwrap();
    let states = report.outcomes.iter().map(|outcome| outcome.state.clone()).collect();
    let hangs = report.counts.deadlocks > 0;
    assert_eq!(hangs && report.endless.as_ref().is_some_and(|endless| endless.is_certain), hangs, "{report:?}");
    (states, hangs, report)
}

#[test]
fn brute_force_agrees() {
    let mut random = Random(0x11FE);
    let (mut hanging, mut ending, mut undecided) = (0, 0, 0);
    for case in 0..cases(400) {
        let (code, locations) = program(&mut random);
        let text = text(&code, locations);
        let test = Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        let model = MODELS[case % MODELS.len()];
        let most = if code.threads.len() == 2 { 4 } else { 3 };
        let (few_states, few_hang, _) = explored(&test, model, most as u32);
        let (states, hangs, report) = explored(&test, model, 12);
        let (expected, expected_hang) = by_force(&code, model, locations, most);
        assert!(few_states.is_subset(&expected) && expected.is_subset(&states), "case {case}, {model}:\n{text}");
        assert!(few_hang <= expected_hang && expected_hang <= hangs, "case {case}, {model}: {expected_hang}\n{text}");
        hanging += usize::from(hangs);
        ending += usize::from(!hangs && report.is_complete);
        undecided += usize::from(!report.is_complete);
    }
    let enough = cases(400) / 10;
    assert!(hanging > enough && ending > enough && undecided < enough, "{hanging} {ending} {undecided}");
}

fn deadlocks(threads: &str, model: Model, liveness: bool) -> (u64, bool) {
    let test = Test::parse(format!("C t\n{{}}\n{threads}").as_bytes()).unwrap();
    let report = test.explore(model, Limits { liveness, ..Limits::default() }).unwrap();
    (report.counts.deadlocks, report.is_complete)
}

/// The modification order decides whether the last write ends the wait. An old value is no way out under a fair
/// scheduler.
#[test]
fn the_last_write_counts() {
    let threads = "P0 (atomic_int* x) { while (atomic_load_explicit(x, memory_order_relaxed) != 1) {} }
P1 (atomic_int* x) { atomic_store_explicit(x, 1, memory_order_relaxed); }
P2 (atomic_int* x) { atomic_store_explicit(x, 2, memory_order_relaxed); }";
    assert_eq!(deadlocks(threads, Model::C20, false), (0, true));
    assert_eq!(deadlocks(threads, Model::C20, true), (1, true));
    let threads = threads.replace("P2 (atomic_int* x) { atomic_store_explicit(x, 2, memory_order_relaxed); }", "");
    assert_eq!(deadlocks(&threads, Model::C20, true), (0, true));
}

/// Spin locks of every kind are decided.
#[test]
fn spin_locks_are_decided() {
    for lock in [
        "int r; do { r = atomic_exchange(x, 1); } while (r == 1);",
        "int r; do { r = 0; } while (!atomic_compare_exchange_strong(x, &r, 1));",
        "int r; do { while (atomic_load(x) == 1) {} r = atomic_exchange(x, 1); } while (r != 0);",
        "while (atomic_exchange(x, 1)) {}",
    ] {
        for model in MODELS {
            let thread = |number: u32, unlock: &str| format!("P{number} (atomic_int* x) {{ {lock} {unlock} }}\n");
            let both = |unlock: &str| thread(0, "atomic_store(x, 0);") + &thread(1, unlock);
            assert_eq!(deadlocks(&both("atomic_store(x, 0);"), model, true), (0, true), "{lock}, {model}");
            let (count, is_complete) = deadlocks(&both(""), model, true);
            assert!(count > 0 && is_complete, "{lock}, {model}");
        }
    }
}
