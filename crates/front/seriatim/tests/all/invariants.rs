//! The invariants of a history hold, whoever made it: a parser, a recorder, a generator, or random calls of a builder.
//! The module `history::history` states these invariants. This test has a copy of its own, without the builder.

use std::collections::HashSet;
use std::path::Path;

use format::{ReadOptions, open};
use history::{
    Call, CallEnd, History, HistoryBuilder, HistoryEvent, KeyId, Method, Object, OperationId, Outcome, ProcessId,
    Replay, Source, Value,
};
use workload::memory::MemoryMachine;
use workload::random::SplitMix64;

/// Panics if an invariant is broken.
fn check_invariants(history: &History) {
    let operations = history.operations();
    let count = operations.len();
    let is_known = |value: Value| value.as_word().is_none_or(|word| word < history.words().count());
    let is_operation = |id: OperationId| id.index() < count;
    for names in [history.processes(), history.keys()] {
        assert!(names.iter().all(|&name| name.is_some() && is_known(name)));
        assert_eq!(
            names.iter().map(|name| name.bits()).collect::<HashSet<_>>().len(),
            names.len(),
            "names are distinct"
        );
    }
    assert!(is_known(history.initial()));
    for &(key, value) in history.inits().iter().chain(history.finals()) {
        assert!(key.index() < history.keys().len() && is_known(value));
    }
    for operation in operations {
        assert!(operation.process.index() < history.processes().len());
        assert!(operation.key == KeyId::NONE || operation.key.index() < history.keys().len());
        assert!(is_known(operation.argument) && is_known(operation.result));
        assert!(matches!(operation.outcome, Outcome::Instant | Outcome::Ok) || operation.result.is_none());
    }
    check_time(history);
    assert!(history.times().is_empty() || history.times().len() == count);
    check_table(history.expected_values());
    check_table(history.labels());
    check_table(history.sources());
    check_table(history.program_indices());
    assert!(history.expected_values().iter().all(|&(id, value)| is_operation(id) && is_known(value)));
    assert!(history.labels().iter().all(|&(id, label)| is_operation(id) && is_known(label)));
    assert!(history.program_indices().iter().all(|&(id, _)| is_operation(id)));
    for &(id, source) in history.sources() {
        assert!(matches!(history.operation(id).method, Method::Read | Method::Rmw | Method::Cas));
        assert!(!matches!(source, Source::Operation(write) if !is_operation(write)));
    }
    let labels: HashSet<u64> = history.labels().iter().map(|(_, label)| label.bits()).collect();
    assert_eq!(labels.len(), history.labels().len(), "labels are distinct");
}

/// A sparse table is sorted, each operation once.
fn check_table<T>(table: &[(OperationId, T)]) {
    assert!(table.is_sorted_by(|a, b| a.0 < b.0));
}

/// The invariants of the moments, and of the operations of each process.
fn check_time(history: &History) {
    let operations = history.operations();
    if history.moments().is_empty() {
        assert!(operations.iter().all(|operation| operation.outcome == Outcome::Instant));
        return;
    }
    assert_eq!(history.moments().len(), operations.len());
    assert!(history.moments().is_sorted_by_key(|&[call, _]| call), "operations are in the order of their calls");
    let mut moments = HashSet::new();
    let mut infos = 0;
    // By process, the return of the last operation; `NEVER` if nothing may follow.
    let mut free = vec![0; history.processes().len()];
    for (operation, &[call, end]) in operations.iter().zip(history.moments()) {
        let free = &mut free[operation.process.index()];
        assert!(*free != History::NEVER && *free <= call, "a process has at most one operation open");
        *free = end;
        assert!(moments.insert(call));
        match operation.outcome {
            Outcome::Instant => assert_eq!(call, end),
            Outcome::Ok | Outcome::Fail => assert!(call < end && end != History::NEVER && moments.insert(end)),
            Outcome::Info | Outcome::Pending => assert_eq!(end, History::NEVER),
        }
        infos += u32::from(operation.outcome == Outcome::Info);
    }
    let last = moments.iter().max().map_or(0, |last| last + 1);
    assert!(last - moments.len() as u32 <= infos, "only an `info` leaves no moment");
}

#[test]
fn what_generators_make() {
    for machine in [
        MemoryMachine::Sc,
        MemoryMachine::Tso,
        MemoryMachine::Pso,
        MemoryMachine::ReleaseAcquire,
        MemoryMachine::Rc20,
        MemoryMachine::Relaxed,
    ] {
        let config = workload::memory::MemoryConfig { machine, rmws: 10, fences: 5, perturb: 3, ..Default::default() };
        check_invariants(&workload::memory::history(&config, workload::memory::generate(&config)));
    }
    for object in Object::ALL.into_iter().filter(|&object| object != Object::Memory) {
        for seed in 0..200 {
            check_invariants(&workload::object::small_with_duplicates(object, seed));
        }
    }
    let mut random = SplitMix64::new(3);
    for execution in workload::small::executions(4).take(200) {
        check_invariants(&workload::small::add_finals(workload::to_history(&execution), &mut random));
    }
}

#[test]
fn what_parsers_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testing/corpus");
    let mut histories = 0;
    let mut folders = vec![corpus];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the corpus is a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(reader) = open(&path, &ReadOptions::default()) {
                for history in reader.flatten() {
                    check_invariants(&history);
                    histories += 1;
                }
            }
        }
    }
    assert!(histories > 10, "{histories}");
    let text = "# @object queue\n[0] enqueue 1\n[1] call enqueue 2\n[1] info\n[0] call dequeue\n[1] call dequeue\n\
                [1] fail\n[1] call dequeue\n[0] return 2\n";
    let history = format::parse(text).expect("a history");
    check_invariants(&history);
    assert_eq!(history.moments(), [[0; 2], [1, History::NEVER], [3, 7], [4, 5], [6, History::NEVER]]);
    assert_eq!(history.process_name(ProcessId(2)), "1'", "another process goes on for one that crashed");
}

#[test]
fn what_recorders_record() {
    let recorder = record::Recorder::new(Object::Queue);
    let queue = std::sync::Mutex::new(std::collections::VecDeque::new());
    std::thread::scope(|scope| {
        for number in 0..3_u32 {
            let (mut thread, queue) = (recorder.thread(), &queue);
            scope.spawn(move || {
                for value in 0..100 {
                    thread.record((Method::Enqueue, 100 * number + value), || queue.lock().unwrap().push_back(value));
                    // An operation that panics may have happened or not.
                    let dequeue = || {
                        assert!(value % 10 != 9, "as planned");
                        queue.lock().unwrap().pop_front()
                    };
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        thread.record(Method::Dequeue, dequeue)
                    }));
                }
            });
        }
    });
    let history = recorder.finish();
    check_invariants(&history);
    assert_eq!(history.operations().len(), 600);
    let infos = history.operations().iter().filter(|operation| operation.outcome == Outcome::Info).count();
    assert_eq!((infos, history.processes().len()), (30, 3 + 27), "each crash but the last of a thread has a successor");
}

/// A builder that gets random calls, most of them wrong.
#[test]
fn what_anybody_builds() {
    let mut random = SplitMix64::new(1);
    let (mut refused, mut taken) = (0, 0);
    for _ in 0..workload::cases(2000) {
        let mut builder = HistoryBuilder::new(random.pick(&[Object::Memory, Object::Register]));
        for name in ["a", "b", "7"] {
            builder.process(name);
            builder.key(name);
        }
        for _ in 0..random.below(60) {
            let told = tell(&mut builder, &mut random);
            *(if told { &mut taken } else { &mut refused }) += 1;
        }
        let Ok(history) = builder.finish() else { continue };
        check_invariants(&history);
        let mut replay = Replay::new(&history);
        let events: Vec<HistoryEvent> = history.events().collect();
        for &event in &events {
            replay.play(event).expect("the events of a history make one");
        }
        let again = replay.finish().expect("a history");
        assert_eq!(again.operations(), history.operations());
        assert_eq!(again.moments(), history.moments());
        assert_eq!(again.sources(), history.sources());
        assert_eq!(again.events().collect::<Vec<_>>(), events);
        let mut shuffled = Replay::new(&history);
        for _ in 0..events.len() {
            let _ = shuffled.play(random.pick(&events));
        }
        shuffled.finish().iter().for_each(check_invariants);
    }
    assert!(refused > 1000 && taken > 1000, "{refused} {taken}");
}

/// Makes a random call of the builder. Returns whether the builder accepted it.
fn tell(builder: &mut HistoryBuilder, random: &mut SplitMix64) -> bool {
    let process = ProcessId(random.between(0, 4));
    let key = random.pick(&[KeyId::NONE, KeyId(0), KeyId(1), KeyId(2), KeyId(3)]);
    let value = random.pick(&[Value::NONE, Value::ZERO, Value::TRUE, Value::word(6), Value::word(70)]);
    let id = OperationId(random.between(0, 12));
    let method = random.pick(&[Method::Read, Method::Write, Method::Cas]);
    let call = Call::new(process, method).key(key).argument(value);
    match random.below(12) {
        0 | 1 => builder.call(&call.expected(value)).is_ok(),
        2 => builder.call(&call.result(value)).is_ok(),
        3 => builder.instant(&call.result(value)).is_ok(),
        4 | 5 => builder
            .end(process, random.pick(&[CallEnd::Ok(value), CallEnd::Ok(Value::NONE), CallEnd::Fail, CallEnd::Info]))
            .is_ok(),
        6 => builder.set_label(id, value).is_ok(),
        7 => builder.set_source(id, random.pick(&[Source::Init, Source::Operation(OperationId(3))])).is_ok(),
        8 => random.percent(20) && builder.set_source_label(id, value).is_ok(),
        9 => builder.set_program_index(id, random.next()).is_ok(),
        10 => builder.set_call_time(id, 5).is_ok() && builder.set_return_time(id, 6).is_ok(),
        _ => match random.below(4) {
            0 => builder.set_final(key, value).is_ok(),
            1 => builder.set_result(id, value).is_ok(),
            2 => builder.set_failed(id).is_ok(),
            _ => builder.set_argument(id, value).is_ok(),
        },
    }
}
