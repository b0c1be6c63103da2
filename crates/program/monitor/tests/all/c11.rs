//! `ra`, `rc20`, `relaxed` and `wra` by values: after every event, the monitor says what the offline checker and the
//! axioms say.

use format::stream::SourceName;
use history::execution::Kind;
use history::execution::ViewError;
use history::{Execution, History, HistoryBuilder, MemoryOrder, Method, OperationId, Replay, Source, Value};
use model::Model;
use monitor::{Access, C11, Monitor, Progress};
use workload::memory::{MemoryConfig, MemoryMachine, generate};
use workload::random::SplitMix64;
use workload::{cases, small, to_history};

/// The event for an operation of a history. Labels are those of the history.
fn access(history: &History, id: OperationId) -> Access {
    let operation = history.operation(id);
    let source = match history.source(id) {
        None => SourceName::None,
        Some(Source::Init) => SourceName::Init,
        Some(Source::Operation(write)) => SourceName::Label(history.label(write).expect("sources have labels")),
    };
    Access {
        thread: operation.process.0,
        kind: Kind::of(operation.method),
        location: if operation.method == Method::Fence { 0 } else { operation.key.0 },
        order: operation.order,
        read: operation.result,
        written: operation.argument,
        label: history.label(id).unwrap_or(Value::NONE),
        source,
    }
}

/// The first operations of a history.
fn prefix(history: &History, count: usize) -> History {
    let mut replay = Replay::new(history);
    for event in history.events().take(count) {
        replay.play(event).expect("a prefix of a history");
    }
    replay.finish().expect("a history")
}

/// A history of instants, in a random order of its threads' operations. Values may be written twice or never.
fn history(random: &mut SplitMix64) -> History {
    let shape = small::Shape {
        threads: random.between(1, 4),
        events: random.between(3, 12),
        locations: random.between(1, 3),
        writes: random.pick(&[20, 35, 50]),
        rmws: random.pick(&[0, 15, 30]),
        fences: random.pick(&[0, 10]),
        orders: random.percent(60),
        perturb: random.between(0, 3),
    };
    let execution = small::execution(&shape, random.next());
    let history = to_history(&execution);
    // A value that is read too early, never written, or written twice.
    if random.percent(15) {
        let at = random.below(history.operations().len() as u64) as usize;
        let value = Value::integer(i64::from(random.between(0, 6))).expect("small");
        let id = OperationId(at as u32);
        let operation = *history.operation(id);
        let mut builder = HistoryBuilder::from(history);
        if operation.method == Method::Read {
            builder.set_result(id, value).expect("it has no call");
        } else if operation.argument.is_some() {
            builder.set_argument(id, value).expect("a value");
        }
        return builder.finish().expect("a history");
    }
    history
}

/// The monitors, and the models that they follow.
fn monitors() -> [(C11, oracle::Model); 4] {
    [
        (C11::ra(), oracle::Model::Ra),
        (C11::rc20(), oracle::Model::Rc20),
        (C11::relaxed(), oracle::Model::Relaxed),
        (C11::wra(), oracle::Model::Wra),
    ]
}

/// The expected answer for a prefix: allowed, not allowed, or refused.
fn expected(history: &History, model: oracle::Model) -> Option<bool> {
    match Execution::from_history(history) {
        Err(ViewError::Ambiguous { .. } | ViewError::Source { .. }) => None,
        Err(error) => panic!("{error}"),
        Ok(execution) if !model.applies(&execution) => None,
        Ok(execution) => {
            let allowed = oracle::allowed(model, &execution);
            let mut checker = memory::c11::C11Checker::new();
            let of = Model::from_name(model.name()).expect("a model of the table");
            assert_eq!(checker.allows(of, &execution), Ok(allowed));
            Some(allowed)
        }
    }
}

fn is_ambiguous(history: &History) -> bool {
    matches!(Execution::from_history(history), Err(ViewError::Ambiguous { .. }))
}

#[test]
fn after_every_event_the_answer_is_that_of_the_prefix() {
    let mut random = SplitMix64::new(17);
    let mut told = [0; 3];
    for _ in 0..cases(4000) {
        let history = history(&mut random);
        for (mut monitor, model) in monitors() {
            let forgets = random.percent(50);
            if forgets {
                monitor.set_threads(history.processes().len() as u32);
            }
            for count in 1..=history.operations().len() {
                if random.percent(10) {
                    let saved = postcard::to_stdvec(&monitor).unwrap();
                    monitor = postcard::from_bytes(&saved).unwrap();
                }
                if forgets && random.percent(20) {
                    monitor.forget();
                }
                let event = access(&history, OperationId(count as u32 - 1));
                let answer = monitor.push(event);
                let prefix = prefix(&history, count);
                match (answer, expected(&prefix, model)) {
                    (Ok(Progress::Possible), Some(true)) => told[0] += 1,
                    (Err(violation), Some(false)) => {
                        assert_eq!(violation.event, count as u64 - 1);
                        told[1] += 1;
                        break;
                    }
                    (Ok(Progress::Refused(_)), None) => {
                        told[2] += 1;
                        break;
                    }
                    // One of two writes of the value was forgotten. Nobody can read that one any more, so the other one
                    // is the source.
                    (_, None) if forgets && is_ambiguous(&prefix) => break,
                    // The read took its value from the only write so far. That another write has the same value later
                    // does not matter.
                    (_, None) if event.kind.writes() => break,
                    (answer, expected) => {
                        panic!("{model:?} {answer:?} but {expected:?} of {:?}", prefix.operations());
                    }
                }
            }
        }
    }
    assert!(told[0] > 5000 && told[1] > 500 && told[2] > 50, "{told:?}");
}

#[test]
fn what_may_be_read_is_told_in_values() {
    let mut monitor = C11::ra();
    let value = |number| Value::integer(number).expect("small");
    monitor.set_initial(0, value(5));
    let event = |thread, kind, location, read, written| Access {
        thread,
        kind,
        location,
        order: MemoryOrder::Plain,
        read,
        written,
        label: Value::NONE,
        source: SourceName::None,
    };
    let none = Value::NONE;
    assert_eq!(monitor.push(event(0, Kind::Write, 0, none, value(1))), Ok(Progress::Possible));
    assert_eq!(monitor.push(event(0, Kind::Write, 1, none, value(1))), Ok(Progress::Possible));
    assert_eq!(monitor.may_read(1, Kind::Read, 0, MemoryOrder::Plain), [value(5), value(1)]);
    assert_eq!(monitor.push(event(1, Kind::Read, 1, value(1), none)), Ok(Progress::Possible));
    assert_eq!(monitor.may_read(1, Kind::Read, 0, MemoryOrder::Plain), [value(1)]);
    let stale = monitor.push(event(1, Kind::Read, 0, value(5), none)).unwrap_err();
    assert_eq!((stale.event, &stale.evidence), (3, &None));
    assert!(stale.reason.contains("event 1 happens before"), "{stale}");
    // A read from an event that was left out is left out, too.
    let thin_air = monitor.push(event(1, Kind::Rmw, 0, value(7), value(8))).unwrap_err();
    assert!(thin_air.evidence.is_some());
    assert_eq!(monitor.push(event(2, Kind::Read, 0, value(8), none)), Ok(Progress::Possible));
}

/// The events of a long run of a machine with views.
fn run(machine: MemoryMachine, operations: u32) -> impl Iterator<Item = Access> {
    let config = MemoryConfig { machine, threads: 8, locations: 16, operations, rmws: 5, ..MemoryConfig::default() };
    let value = |number: u32| Value::integer(i64::from(number)).expect("32 bits");
    generate(&config).map(move |step| Access {
        thread: step.thread,
        kind: step.kind,
        location: step.location,
        order: step.order,
        read: if step.kind.reads() { value(step.read) } else { Value::NONE },
        written: if step.kind.writes() { value(step.written) } else { Value::NONE },
        label: Value::NONE,
        source: SourceName::None,
    })
}

#[test]
fn memory_is_bounded_by_how_far_the_threads_are_apart() {
    let runs = [
        (C11::ra(), MemoryMachine::ReleaseAcquire),
        (C11::rc20(), MemoryMachine::Rc20),
        (C11::wra(), MemoryMachine::ReleaseAcquire),
    ];
    for (mut monitor, machine) in runs {
        monitor.set_threads(8);
        let mut most = 0;
        for access in run(machine, 300_000) {
            assert_eq!(monitor.push(access), Ok(Progress::Possible));
            most = most.max(monitor.size());
        }
        monitor.forget();
        assert!(most <= 1 << 17 && monitor.size() < 1 << 15, "{most} {}", monitor.size());
    }
}

#[test]
fn a_thread_that_begins_after_something_was_forgotten_is_not_judged() {
    let mut monitor = C11::ra();
    for access in run(MemoryMachine::ReleaseAcquire, 10_000) {
        assert_eq!(monitor.push(access), Ok(Progress::Possible));
    }
    monitor.forget();
    let late = Access { thread: 8, ..run(MemoryMachine::ReleaseAcquire, 1).next().expect("one") };
    assert!(matches!(monitor.clone().push(late), Ok(Progress::GaveUp(_))));
    // With 8 threads announced, thread 8 is none of them.
    monitor.set_threads(8);
    assert!(matches!(monitor.push(late), Ok(Progress::Refused(_))));
}
