//! The monitors against the definition, event by event, on thousands of small histories near the boundary.

use history::event::{Action, ProcessEvent};
use history::{History, HistoryBuilder, Method, Object, OperationId, Outcome, Replay, Value};
use model::object::Core;
use model::{Certificate, Decided, Evidence, Model, Verdict};
use monitor::linearizable::OnlineAlgorithm;
use monitor::{Linearizable, Monitor, Progress, Violation};
use object::ObjectHistory;
use verify::verify;
use workload::cases;
use workload::object::{Fault, ObjectConfig};

/// A history as text, for messages.
fn text(history: &History) -> String {
    let mut writer = format::Writer::new(Vec::new(), format::Format::Text);
    writer.write(history).expect("writing to memory");
    String::from_utf8(writer.finish().expect("writing to memory")).expect("text")
}

/// The events of a history in the order of time, each with its moment.
fn events(history: &History) -> Vec<(u32, ProcessEvent)> {
    let mut events = Vec::new();
    for (at, operation) in history.operations().iter().enumerate() {
        let [call, ret] = history.moments()[at];
        let process = operation.process.0;
        let expected = history.expected(OperationId(at as u32)).unwrap_or(Value::NONE);
        let (key, method, argument) = (operation.key, operation.method, operation.argument);
        events.push((call, ProcessEvent { process, action: Action::Call { key, method, argument, expected } }));
        match operation.outcome {
            Outcome::Ok => events.push((ret, ProcessEvent { process, action: Action::Return(operation.result) })),
            Outcome::Fail => events.push((ret, ProcessEvent { process, action: Action::Fail })),
            // Some operations end in `info`: they will never be heard of again.
            Outcome::Pending if at % 2 == 0 => events.push((call, ProcessEvent { process, action: Action::Info })),
            _ => {}
        }
    }
    events.sort_by_key(|&(moment, _)| moment);
    events
}

/// The history up to and including a moment.
fn prefix(history: &History, moment: u32) -> History {
    let mut replay = Replay::new(history);
    for event in history.events().take(moment as usize + 1) {
        replay.play(event).expect("a prefix of a history");
    }
    replay.finish().expect("a history")
}

fn monitor(history: &History, algorithm: OnlineAlgorithm) -> Linearizable {
    let mut monitor = Linearizable::new(history.object(), algorithm).expect("a monitor");
    monitor.set_capacity(history.capacity().unwrap_or(1));
    monitor.set_initial(None, history.initial());
    for &(key, value) in history.inits() {
        monitor.set_initial(Some(key), value);
    }
    monitor
}

/// The answer of a monitor to a history.
enum Answer {
    Possible,
    ViolationAt(u32, Violation),
    GaveUp,
}

fn run(history: &History, algorithm: OnlineAlgorithm) -> Answer {
    let mut monitor = monitor(history, algorithm);
    for (moment, event) in events(history) {
        match monitor.push(event) {
            Ok(Progress::Possible) => {}
            Ok(Progress::GaveUp(_)) => return Answer::GaveUp,
            Ok(Progress::Refused(reason)) => panic!("{reason}\n{}", text(history)),
            Err(violation) => return Answer::ViolationAt(moment, violation),
        }
    }
    Answer::Possible
}

/// The first moment at which the prefix is not linearizable.
fn first_violation(history: &History) -> Option<u32> {
    let is_end = |&(_, event): &(u32, ProcessEvent)| !matches!(event.action, Action::Call { .. });
    let ends: Vec<u32> = events(history).into_iter().filter(is_end).map(|(moment, _)| moment).collect();
    // A prefix that is not linearizable stays so, unless an operation turns out not to have happened. Even then, the
    // first such prefix counts.
    let is_bad = |&moment: &u32| !oracle::object::linearizable(&prefix(history, moment));
    ends.iter().copied().find(is_bad)
}

/// Whether a monitor finds a violation. It must speak at the first prefix that is refused, with evidence that is
/// verified. None if it gives up.
fn is_exactly_a_violation(history: &History, algorithm: OnlineAlgorithm, context: &dyn Fn() -> String) -> Option<bool> {
    match run(history, algorithm) {
        Answer::GaveUp => None,
        Answer::Possible => {
            assert_eq!(first_violation(history), None, "{}", context());
            Some(false)
        }
        Answer::ViolationAt(moment, violation) => {
            assert_eq!(first_violation(history), Some(moment), "{}", context());
            verify_core(&prefix(history, moment), &violation, context);
            Some(true)
        }
    }
}

const EXACT: [Object; 5] = [Object::Queue, Object::Register, Object::Set, Object::Mutex, Object::Semaphore];

/// Some operations fail, and some do not say what they returned.
fn forget_some(history: History, seed: u64) -> History {
    let mut state = seed;
    let object = history.object();
    let operations = history.operations().to_vec();
    let mut builder = HistoryBuilder::from(history);
    for (id, operation) in (0..).map(OperationId).zip(operations) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if operation.outcome == Outcome::Ok && (state >> 33).is_multiple_of(10) {
            let says = object == Object::Set || operation.method == Method::TryLock;
            if says && (state >> 40).is_multiple_of(2) {
                builder.set_result(id, Value::NONE).expect("it returned");
            } else {
                builder.set_failed(id).expect("it returned");
            }
        }
    }
    builder.finish().expect("a history")
}

#[test]
fn exact_monitors_are_exact_at_every_return() {
    for object in EXACT {
        let (mut violations, mut gave_up, mut failed_tries) = (0, 0, 0);
        for seed in 0..cases(6000) {
            let tries = object == Object::Mutex && seed % 2 == 0;
            let small = if tries { workload::object::small_with_peeks } else { workload::object::small };
            let mut history = small(object, seed);
            if seed % 3 == 0 {
                history = forget_some(history, seed);
            }
            failed_tries += history.operations().iter().filter(|operation| is_failed_try(operation)).count();
            let context = || format!("seed {seed}\n{}", text(&history));
            match is_exactly_a_violation(&history, OnlineAlgorithm::Fast, &context) {
                None => gave_up += 1,
                Some(is_violation) => violations += u32::from(is_violation),
            }
        }
        println!("{}: {violations} violations, gave up {gave_up} of {}", object.name(), cases(6000));
        assert!(violations > 500);
        assert!(
            object != Object::Mutex || failed_tries > 500 && gave_up < cases(6000) / 10,
            "{failed_tries} {gave_up}"
        );
    }
}

/// Every object that the search knows, but the exchanger: only SATURATE knows that one.
fn searched() -> impl Iterator<Item = Object> {
    let is_known = |object: &Object| Linearizable::new(*object, OnlineAlgorithm::Search).is_ok();
    Object::ALL.into_iter().filter(is_known).filter(|object| !matches!(object, Object::Memory | Object::Exchanger))
}

/// With pending operations, failures, unknown results, peeks, and values that repeat.
#[test]
fn the_search_is_exact_at_every_return_whatever_repeats() {
    for object in searched() {
        let mut violations = 0;
        for seed in 0..cases(2000) {
            let small = match seed % 3 {
                0 => workload::object::small,
                1 => workload::object::small_with_peeks,
                _ => workload::object::small_with_duplicates,
            };
            let mut history = small(object, seed);
            if history.operations().iter().any(|operation| operation.method == Method::ReadAll) {
                continue;
            }
            if seed % 4 == 0 {
                history = forget_some(history, seed);
            }
            let context = || format!("{object:?}, seed {seed}\n{}", text(&history));
            let is_violation = is_exactly_a_violation(&history, OnlineAlgorithm::Search, &context);
            violations += u64::from(is_violation.unwrap_or_else(|| panic!("it gives up: {}", context())));
        }
        println!("{}: {violations} violations of {}", object.name(), cases(2000));
        assert!(violations > cases(100), "{object:?}: {violations}");
    }
}

/// The monitor that the command takes by itself. It speaks at the first prefix that is refused, or gives up before it.
/// (The exchanger has SATURATE alone; see below.)
#[test]
fn the_monitor_of_every_object_speaks_at_the_first_prefix_that_is_refused() {
    for object in searched() {
        let (mut violations, mut gave_up) = (0, 0);
        for seed in 0..cases(2000) {
            let small = match seed % 4 {
                0 => workload::object::small_with_peeks,
                1 | 2 => workload::object::small_with_duplicates,
                _ => workload::object::small,
            };
            let mut history = small(object, 1_000_000 + seed);
            if seed % 5 == 0 {
                history = forget_some(history, seed);
            }
            let context = || format!("{object:?}, seed {seed}\n{}", text(&history));
            match is_exactly_a_violation(&history, OnlineAlgorithm::Auto, &context) {
                None => gave_up += 1,
                Some(is_violation) => violations += u64::from(is_violation),
            }
        }
        println!("{}: {violations} violations, gave up {gave_up} of {}", object.name(), cases(2000));
        assert!(violations > cases(100), "{object:?}: {violations}");
    }
}

/// Three values are larger than the one that is removed, and only one other removal is open. No single step of
/// SATURATE says so: it takes a count.
#[test]
fn a_priority_queue_that_skips_more_than_is_open() {
    let inserts: String = [10, 20, 30, 40, 70].map(|value| format!("[0] call insert {value}\n[0] return\n")).concat();
    let rest = "[1] call delete-max\n[2] call delete-max\n[1] return 20\n[1] call delete-max\n[2] return 20\n";
    let history = format::parse(&format!("# @object priority-queue\n{inserts}{rest}")).expect("a history");
    let Answer::ViolationAt(moment, violation) = run(&history, OnlineAlgorithm::Auto) else { panic!("no violation") };
    assert_eq!((moment, first_violation(&history)), (12, Some(12)));
    verify_core(&prefix(&history, moment), &violation, &|| text(&history));
}

/// If too much can have happened, the search ends. Then SATURATE goes on alone, where it can.
#[test]
fn the_search_has_a_limit() {
    let begin = |process, method, argument| ProcessEvent { process, action: call(method, argument) };
    let end = |process| ProcessEvent { process, action: Action::Return(Value::NONE) };
    for (object, method, is_known) in
        [(Object::Stack, Method::Push, true), (Object::TaggedSemaphore, Method::AcquireAs, false)]
    {
        let mut monitor = Linearizable::new(object, OnlineAlgorithm::Auto).expect("a monitor");
        monitor.set_capacity(5);
        let events = (0..10).map(|process| begin(process, method, process + 1)).chain((0..10).map(end));
        let said: Vec<_> = events.map(|event| monitor.push(event)).collect();
        if is_known {
            assert!(said.iter().all(|said| *said == Ok(Progress::Possible)), "{said:?}");
            assert!(!monitor.is_exact());
            assert_eq!(monitor.push(begin(0, Method::Pop, 0)), Ok(Progress::Possible));
            let wrong = ProcessEvent { process: 0, action: Action::Return(Value::small(11)) };
            assert_eq!(monitor.push(wrong).expect_err("nobody pushed it").event, 21);
        } else {
            assert!(said.iter().any(|said| said.is_err() || matches!(said, Ok(Progress::GaveUp(_)))), "{said:?}");
        }
    }
}

fn is_failed_try(operation: &history::Operation) -> bool {
    operation.method == Method::TryLock && operation.result == Value::FALSE
}

#[test]
fn saturate_does_not_know_tries_to_lock() {
    let mut monitor = Linearizable::new(Object::Mutex, OnlineAlgorithm::Saturate).expect("a monitor");
    let (key, argument, expected) = (history::KeyId::NONE, Value::NONE, Value::NONE);
    let call = |method| ProcessEvent { process: 0, action: Action::Call { key, method, argument, expected } };
    assert_eq!(monitor.push(call(Method::Lock)), Ok(Progress::Possible));
    assert_eq!(monitor.push(ProcessEvent { process: 0, action: Action::Return(Value::NONE) }), Ok(Progress::Possible));
    let Ok(Progress::GaveUp(reason)) = monitor.push(call(Method::TryLock)) else { panic!("it does not give up") };
    assert!(reason.contains("try-lock"), "{reason}");
}

fn has_repetitions(history: &History) -> bool {
    let mut seen = std::collections::HashSet::new();
    let brings = |operation: &&history::Operation| operation.argument.is_some();
    history.operations().iter().filter(brings).any(|operation| !seen.insert((operation.key, operation.argument)))
}

/// The core of a violation is a certificate of the prefix, as long as values are unique.
fn verify_core(prefix: &History, violation: &Violation, context: &dyn Fn() -> String) {
    let Some(evidence) = violation.evidence.as_deref() else {
        // The impossible result was seen before the operation was said not to have happened.
        assert!(prefix.operations().iter().any(|operation| operation.outcome == Outcome::Fail), "{}", context());
        return;
    };
    let by_values = matches!(prefix.object(), Object::Queue | Object::Register);
    let is_by_values = by_values && !matches!(evidence, Evidence::Core(Core::Stuck(_)));
    if is_by_values && has_repetitions(prefix) {
        return;
    }
    let evidence = Some(evidence.clone());
    let decision = Decided { verdict: Verdict::Violation, strategy: "monitor", reason: None, evidence };
    let certificate = Certificate::new(0, prefix, Model::Linearizable, &decision).expect("evidence");
    if let Err(refusal) = verify(&certificate, prefix) {
        panic!("{refusal} {certificate:?}: {}", context());
    }
}

/// Every object that has a monitor.
fn monitored() -> impl Iterator<Item = Object> {
    Object::ALL
        .into_iter()
        .filter(|&object| Linearizable::new(object, OnlineAlgorithm::Saturate).is_ok() && object != Object::Memory)
}

/// SATURATE never reports too early. Counts how often it reports at all, and how often at the first possible moment.
#[test]
fn saturate_is_sound_at_every_return() {
    for object in monitored() {
        let (mut violations, mut found, mut in_time) = (0, 0, 0);
        for seed in 0..cases(3000) {
            let mut history = workload::object::small(object, seed);
            if seed % 3 == 0 {
                history = forget_some(history, seed);
            }
            let context = || format!("seed {seed}\n{}", text(&history));
            let said = run(&history, OnlineAlgorithm::Saturate);
            let first = first_violation(&history);
            if let Answer::ViolationAt(moment, violation) = &said {
                assert!(first.is_some_and(|first| first <= *moment), "{}", context());
                verify_core(&prefix(&history, *moment), violation, &context);
                found += 1;
                in_time += u64::from(first == Some(*moment));
            }
            violations += u64::from(first.is_some() && !matches!(said, Answer::GaveUp));
        }
        println!("{}: {violations} violations, SATURATE found {found}, {in_time} at the first moment", object.name());
        assert!(found * 100 >= violations * 97, "{object:?}: {found} of {violations}");
    }
}

/// Longer runs with more operations in flight, against the checkers of whole histories at every return.
#[test]
fn exact_monitors_agree_with_the_checkers_on_longer_runs() {
    let faults = [None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost), Some(Fault::Duplicated), Some(Fault::LateEmpty)];
    let searched = [Object::Stack, Object::PriorityQueue].map(|object| (object, OnlineAlgorithm::Auto));
    for (object, algorithm) in EXACT.map(|object| (object, OnlineAlgorithm::Fast)).into_iter().chain(searched) {
        let mut violations = 0;
        for seed in 0..cases(60) {
            let config = ObjectConfig {
                threads: 3 + seed as u32 % 3,
                operations: 24,
                progress: [10, 30, 66][seed as usize % 3],
                inserts: [30, 50][seed as usize / 2 % 2],
                values: if object == Object::Set { 2 } else { 0 },
                pending: [0, 0, 60][seed as usize / 3 % 3],
                capacity: 1 + seed as u32 % 2,
                fault: faults[seed as usize % 5],
                faults: 3,
                seed,
                ..ObjectConfig::new(object)
            };
            let history = workload::object::history(&config);
            let expected = events(&history).iter().map(|&(moment, _)| moment).find(|&moment| {
                let prefix = prefix(&history, moment);
                let view = ObjectHistory::new(&prefix).expect("an object history");
                object::check(&view, &object::ObjectOptions::default()).verdict == Verdict::Violation
            });
            let said = match run(&history, algorithm) {
                Answer::Possible => None,
                Answer::GaveUp => panic!("values are unique: seed {seed}"),
                Answer::ViolationAt(moment, violation) => {
                    verify_core(&prefix(&history, moment), &violation, &|| format!("seed {seed}\n{}", text(&history)));
                    Some(moment)
                }
            };
            assert_eq!(said, expected, "{object:?}, seed {seed}\n{}", text(&history));
            violations += u64::from(said.is_some());
        }
        println!("{}: {violations} violations of {}", object.name(), cases(60));
        assert!(violations > 10);
    }
}

/// Long runs: most of the events are forgotten when the violation comes.
#[test]
fn what_was_forgotten_changes_no_answer() {
    let faults = [None, Some(Fault::OutOfOrder(3)), Some(Fault::Lost), Some(Fault::Duplicated), Some(Fault::LateEmpty)];
    for object in [Object::Queue, Object::Register] {
        let mut late = 0;
        for seed in 0..cases(100) {
            let config = ObjectConfig {
                threads: [2, 4, 8, 16][seed as usize % 4],
                operations: 800,
                progress: [30, 66][seed as usize / 4 % 2],
                inserts: [40, 50][seed as usize / 2 % 2],
                fault: faults[seed as usize % 5],
                faults: 1,
                seed,
                ..ObjectConfig::new(object)
            };
            let history = workload::object::history(&config);
            let verdict = |history: &History| {
                let view = ObjectHistory::new(history).expect("an object history");
                object::check(&view, &object::ObjectOptions::default()).verdict
            };
            let context = || format!("{object:?}, seed {seed}");
            match run(&history, OnlineAlgorithm::Fast) {
                Answer::Possible => assert_eq!(verdict(&history), Verdict::Consistent, "{}", context()),
                Answer::GaveUp => panic!("values are unique: {}", context()),
                Answer::ViolationAt(moment, violation) => {
                    let found = prefix(&history, moment);
                    assert_eq!(verdict(&found), Verdict::Violation, "{}", context());
                    assert_eq!(verdict(&prefix(&history, moment - 1)), Verdict::Consistent, "{}", context());
                    verify_core(&found, &violation, &context);
                    late += u64::from(found.operations().len() > 100);
                }
            }
        }
        println!("{}: {late} late violations of {}", object.name(), cases(100));
        assert!(late > 10);
    }
}

fn call(method: Method, argument: u32) -> Action {
    let argument = if argument == 0 { Value::NONE } else { Value::small(argument) };
    Action::Call { key: history::KeyId::NONE, method, argument, expected: Value::NONE }
}

/// A value may be inserted again as soon as nobody can return the first one.
#[test]
fn values_are_unique_only_while_they_matter() {
    let returns = |value| Action::Return(if value == 0 { Value::NONE } else { Value::small(value) });
    let mut register = Linearizable::new(Object::Register, OnlineAlgorithm::Fast).expect("a monitor");
    let mut queue = Linearizable::new(Object::Queue, OnlineAlgorithm::Fast).expect("a monitor");
    let told = |monitor: &mut Linearizable, process, action| monitor.push(ProcessEvent { process, action });
    for value in (1..=5).cycle().take(200) {
        for action in [call(Method::Write, value), returns(0), call(Method::Read, 0), returns(value)] {
            assert_eq!(told(&mut register, 0, action), Ok(Progress::Possible));
        }
        // The insertion ends in `info`, but its value is removed, before or after that.
        let inserts = [(1, call(Method::Enqueue, value)), (1, Action::Info)];
        let removes = [(0, call(Method::Dequeue, 0)), (0, returns(value))];
        let order =
            if value % 2 == 0 { [inserts, removes] } else { [[inserts[0], removes[0]], [removes[1], inserts[1]]] };
        for (process, action) in order.into_iter().flatten() {
            assert_eq!(told(&mut queue, process, action), Ok(Progress::Possible));
        }
    }
    assert!(register.size() < 50 && queue.size() == 0, "{} {}", register.size(), queue.size());
    assert_eq!(told(&mut register, 0, call(Method::Read, 0)), Ok(Progress::Possible));
    assert!(told(&mut register, 0, returns(4)).is_err());
    // The value that the register holds matters.
    assert!(matches!(told(&mut register, 0, call(Method::Write, 5)), Ok(Progress::GaveUp(_))));
}

/// The memory of a monitor does not grow with the run.
#[test]
fn what_is_over_is_forgotten() {
    for object in monitored() {
        for algorithm in [OnlineAlgorithm::Auto, OnlineAlgorithm::Saturate] {
            let sizes = [2_000, 20_000].map(|operations| {
                let values = if object == Object::Set { 3 } else { 0 };
                let config = ObjectConfig { operations, inserts: 45, values, seed: 7, ..ObjectConfig::new(object) };
                let mut monitor = Linearizable::new(object, algorithm).expect("a monitor");
                monitor.set_capacity(u64::from(config.capacity));
                let history = workload::object::history(&config);
                let mut most = 0;
                for (_, event) in events(&history) {
                    assert_eq!(monitor.push(event), Ok(Progress::Possible));
                    most = most.max(monitor.size());
                }
                most
            });
            println!("{}, {algorithm:?}: {} of 2000, {} of 20000", object.name(), sizes[0], sizes[1]);
            assert!(sizes[1] <= 4 * sizes[0] + 64, "{object:?}: {sizes:?}");
        }
    }
}

/// A fence is no operation on a register. It ends like any other operation.
#[test]
fn fences_are_passed_over() {
    let mut monitor = Linearizable::new(Object::Memory, OnlineAlgorithm::Auto).expect("a monitor");
    let call =
        |method| Action::Call { key: history::KeyId::NONE, method, argument: Value::NONE, expected: Value::NONE };
    for action in [call(Method::Fence), Action::Return(Value::NONE), call(Method::Read), Action::Return(Value::ZERO)] {
        assert_eq!(monitor.push(ProcessEvent { process: 0, action }), Ok(Progress::Possible));
    }
}
