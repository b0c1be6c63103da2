//! The recorder itself: what it records, and what it does when an operation fails, panics or blocks.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use format::{Format, ReadOptions, Writer, read};
use history::event::Action;
use history::{Method, Object, Outcome, Value};
use monitor::{Linearizable, Monitor};
use record::{Invoke, Live, Recorder, Thread};

#[test]
fn operations_of_a_thread_follow_one_another_and_results_are_kept() {
    let recorder = Recorder::new(Object::Register);
    let mut thread = recorder.thread();
    thread.record((Method::Write, 3_u32), || ());
    assert_eq!(thread.record(Method::Read, || 3_u32), 3);
    assert!(thread.record((Method::Cas, 4_u32).expecting(3_u32), || true));
    drop(thread);
    let history = recorder.finish();
    let integer = |n| Value::integer(n).expect("small");
    assert_eq!(history.moments(), [[0, 1], [2, 3], [4, 5]]);
    assert_eq!(history.operations()[1].result, integer(3));
    assert_eq!(history.operations()[2].result, Value::TRUE);
    assert_eq!(history.expected(history::OperationId(2)), Some(integer(3)));
}

/// The operations of a thread in both recorders, as text, since the number of a word has a meaning in its history only.
fn written_and_read(program: impl Fn(&mut Thread)) -> Vec<[String; 3]> {
    let texts = |history: &history::History| {
        let text = |(id, operation): (u32, &history::Operation)| {
            let expected = history.expected(history::OperationId(id)).unwrap_or(Value::NONE);
            [operation.argument, operation.result, expected].map(|value| history.show(value))
        };
        (0..).zip(history.operations()).map(text).collect::<Vec<_>>()
    };
    let recorder = Recorder::new(Object::Register);
    // Another thread has other words first.
    let mut other = recorder.thread();
    other.record((Method::Write, "other"), || ());
    let mut thread = recorder.thread();
    program(&mut thread);
    drop((thread, other));
    let recorded = texts(&recorder.finish());
    let live = Live::new(Object::Register, |events| {
        events.keep();
        events.for_each(drop);
        events.history()
    });
    let mut other = live.thread();
    other.record((Method::Write, "other"), || ());
    program(&mut live.thread());
    drop(other);
    assert_eq!(texts(&live.finish()), recorded);
    assert_eq!(recorded[0], ["other", "", ""]);
    recorded[1..].to_vec()
}

#[test]
fn values_are_integers_strings_booleans_and_options() {
    let told = written_and_read(|thread| {
        thread.record((Method::Write, i8::MIN), || u8::MAX);
        thread.record((Method::Write, i64::MIN), || i64::MAX);
        thread.record((Method::Write, u64::MAX), || 7_u64);
        thread.record((Method::Write, usize::MAX), || -7_isize);
        thread.record((Method::Write, i128::MIN), || u128::MAX);
        thread.record((Method::Write, 5_i128), || 5_u128);
        thread.record((Method::Write, "a b"), || "b".to_owned());
        thread.record((Method::Write, &String::from("b")), || Some("a b"));
        thread.record((Method::Write, true), || None::<bool>);
        thread.record((Method::Write, None::<u32>), || Some(3_u16));
        thread.record((Method::Cas, "new").expecting("old"), || false);
        thread.record_as(Method::Read, || std::cell::Cell::new(4_u32), std::cell::Cell::get);
    });
    let expected = [
        ["-128", "255", ""],
        ["-9223372036854775808", "9223372036854775807", ""],
        ["18446744073709551615", "7", ""],
        ["18446744073709551615", "-7", ""],
        ["-170141183460469231731687303715884105728", "340282366920938463463374607431768211455", ""],
        ["5", "5", ""],
        ["a b", "b", ""],
        ["b", "a b", ""],
        ["true", "null", ""],
        ["null", "3", ""],
        ["new", "false", "old"],
        ["", "4", ""],
    ];
    assert_eq!(told, expected);
}

/// Equal strings of different threads are the same value, and a file has them as they were recorded.
#[test]
fn strings_of_all_threads_are_compared() {
    let recorder = Recorder::new(Object::Queue);
    let (mut one, mut other) = (recorder.thread(), recorder.thread());
    one.record((Method::Enqueue, "apple"), || ());
    one.record((Method::Enqueue, "pear"), || ());
    other.record(Method::Dequeue, || Some("pear"));
    other.record(Method::Dequeue, || Some("apple".to_owned()));
    other.record(Method::Dequeue, || None::<&str>);
    drop((one, other));
    let history = recorder.finish();
    assert_eq!(history.operations()[0].argument, history.operations()[3].result);
    assert_eq!(history.operations()[4].result, Value::EMPTY);
    let view = object::ObjectHistory::new(&history).expect("an object history");
    let decision = object::check(&view, &object::ObjectOptions::default());
    let lines = report::explain(&history, model::Model::Linearizable, &decision.evidence.expect("evidence"));
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert!(
        text.iter().any(|line| line.contains("operation 1 ") && line.contains("[0] enqueue apple (at 0.")),
        "{text:?}"
    );
    assert!(!text.iter().any(|line| line.contains("line ")), "{text:?}");
}

/// From a violation that a monitor finds to the history up to it, and to the explanation of a checker.
#[test]
fn a_live_violation_is_explained() {
    let mut monitor =
        Linearizable::new(Object::Queue, monitor::linearizable::OnlineAlgorithm::Auto).expect("a monitor");
    let live = Live::new(Object::Queue, move |events| {
        events.keep();
        let violation = events.map(|event| monitor.push(event)).find_map(Result::err)?;
        Some((violation, events.history()))
    });
    let mut thread = live.thread();
    for value in 0..100_u64 {
        thread.record((Method::Enqueue, value), || ());
    }
    let mut other = live.thread();
    // The first value is overtaken. Nothing is recorded after that.
    other.record(Method::Dequeue, || Some(1_u64));
    other.record(Method::Dequeue, || Some(0_u64));
    drop((thread, other));
    let (violation, history) = live.finish().expect("a violation");
    assert_eq!(violation.event, 201);
    assert_eq!(history.operations().len(), 101);
    assert!(history.times().is_sorted());
    let view = object::ObjectHistory::new(&history).expect("an object history");
    let decision = object::check(&view, &object::ObjectOptions::default());
    let lines = report::explain(&history, model::Model::Linearizable, &decision.evidence.expect("evidence"));
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert!(text.iter().any(|line| line.contains("operation 101  [1] dequeue => 1 (at ")), "{text:?}");
}

/// Both threads are inside an operation at the same time, so neither operation comes first.
#[test]
fn operations_that_overlap_are_recorded_so() {
    let recorder = Recorder::new(Object::Mutex);
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut thread = recorder.thread();
            let barrier = &barrier;
            scope.spawn(move || {
                thread.record(Method::Lock, || {
                    barrier.wait();
                });
            });
        }
    });
    let history = recorder.finish();
    let [first, second] = [history.moments()[0], history.moments()[1]];
    assert!(first[0] < second[0] && second[0] < first[1] && second[0] < second[1]);
}

#[test]
fn what_panics_may_have_happened_and_what_fails_did_not() {
    let recorder = Recorder::new(Object::Queue);
    let mut thread = recorder.thread();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        thread.record::<()>((Method::Enqueue, 1_u32), || std::panic::resume_unwind(Box::new(())));
    }));
    assert!(panic.is_err());
    let _ = thread.record((Method::Enqueue, 2_u32), || Err::<(), ()>(()));
    thread.record(Method::Dequeue, || Some(1_u32));
    drop(thread);
    let history = recorder.finish();
    let outcomes: Vec<Outcome> = history.operations().iter().map(|operation| operation.outcome).collect();
    assert_eq!(outcomes, [Outcome::Info, Outcome::Fail, Outcome::Ok]);
    let view = object::ObjectHistory::new(&history).expect("an object history");
    assert_eq!(object::check(&view, &object::ObjectOptions::default()).verdict.name(), "consistent");

    // The file says the same.
    let mut writer = Writer::new(Vec::new(), Format::Text);
    writer.write(&history).expect("it can be written");
    let bytes = writer.finish().expect("to memory");
    let mut reader = read(Box::new(std::io::Cursor::new(bytes)), &ReadOptions::default());
    let history = reader.next().expect("one").expect("that can be read");
    let again: Vec<Outcome> = history.operations().iter().map(|operation| operation.outcome).collect();
    assert_eq!(again, outcomes);
}

/// Events come in the order of time. None is lost, and none comes twice. This also holds if the consumer is slow, and
/// if a thread is idle.
#[test]
fn live_events_are_merged_in_order_without_loss() {
    const OPERATIONS: u32 = 20_000;
    let counter = AtomicU32::new(0);
    let live = Live::new(Object::Register, |events| {
        let mut calls = 0_u32;
        let mut open = 0_i32;
        let mut newest = 0_i64;
        // The largest value that had returned when each process called.
        let mut at_call = [0_i64; 4];
        for event in events {
            match event.action {
                Action::Call { .. } => {
                    calls += 1;
                    open += 1;
                    at_call[event.process as usize] = newest;
                    if calls.is_multiple_of(4096) {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                }
                Action::Return(value) => {
                    open -= 1;
                    // The object is a counter, so a value that returned before the call is smaller.
                    let value = value.as_integer().unwrap_or(-1);
                    assert!(value > at_call[event.process as usize]);
                    newest = newest.max(value);
                }
                Action::Fail | Action::Info => panic!("nothing fails"),
            }
            assert!((0..=2).contains(&open));
        }
        calls
    });
    let _idle = live.thread();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut thread = live.thread();
            let counter = &counter;
            scope.spawn(move || {
                for _ in 0..OPERATIONS {
                    thread.record(Method::Read, || counter.fetch_add(1, Ordering::SeqCst) + 1);
                }
            });
        }
    });
    assert_eq!(live.finish(), 2 * OPERATIONS);
}

/// A thread that is blocked inside an operation does not delay the others, although they record more events than a ring
/// holds.
#[test]
fn a_blocked_thread_holds_up_nobody() {
    let live = Live::new(Object::Mutex, |events| events.count());
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        let (mut waiting, mut busy) = (live.thread(), live.thread());
        let barrier = &barrier;
        scope.spawn(move || {
            waiting.record(Method::Lock, || {
                barrier.wait();
            });
        });
        scope.spawn(move || {
            for _ in 0..50_000 {
                busy.record(Method::Unlock, || ());
            }
            barrier.wait();
        });
    });
    assert_eq!(live.finish(), 100_002);
}

/// When the consumer has returned, the program continues, and nothing is recorded.
#[test]
fn nobody_waits_for_one_who_has_left() {
    let live = Live::new(Object::Mutex, |events| events.take(3).count());
    let mut thread = live.thread();
    for _ in 0..50_000 {
        thread.record(Method::Lock, || ());
    }
    while !live.is_over() {
        std::thread::yield_now();
    }
    live.thread().record(Method::Lock, || ());
    assert_eq!(live.finish(), 3);
}
