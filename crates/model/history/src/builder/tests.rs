//! Tests of the builder: what it takes, and what it refuses.

use super::*;
use crate::history::Source;

fn register() -> (HistoryBuilder, ProcessId, ProcessId) {
    let mut builder = HistoryBuilder::new(Object::Register);
    let (a, b) = (builder.process("a"), builder.process("b"));
    (builder, a, b)
}

fn read(process: ProcessId) -> Call {
    Call::new(process, Method::Read)
}

#[test]
fn a_process_has_one_operation_open() {
    let (mut builder, a, b) = register();
    let first = builder.call(&read(a).line(3)).unwrap();
    let again = BuildError::CallsAgain { process: "a".to_owned(), operation: Which { id: first, line: 3 } };
    assert_eq!(builder.call(&read(a)), Err(again.clone()));
    assert_eq!(builder.instant(&read(a)), Err(again.clone()));
    assert_eq!(again.to_string(), "process a calls again before its operation of line 3 returned");
    let second = builder.call(&read(b)).unwrap();
    let error = builder.call(&read(b)).unwrap_err();
    assert_eq!(error.to_string(), "process b calls again before its operation 2 returned");
    assert_eq!(builder.end(a, CallEnd::Ok(Value::ZERO)), Ok(first));
    assert_eq!(builder.end(a, CallEnd::Fail), Err(BuildError::NotOpen { process: "a".to_owned() }));
    assert_eq!(builder.end(b, CallEnd::Info), Ok(second));
    let ended = BuildError::EndedUnknown { process: "b".to_owned(), operation: Which { id: second, line: 0 } };
    assert_eq!(builder.end(b, CallEnd::Fail), Err(ended));
    let history = builder.finish().unwrap();
    assert_eq!(history.moments(), [[0, 2], [1, History::NEVER]]);
}

#[test]
fn an_instant_before_the_first_call_has_a_moment() {
    let (mut builder, a, b) = register();
    builder.instant(&read(a)).unwrap();
    builder.instant(&read(b)).unwrap();
    builder.call(&read(a)).unwrap();
    builder.instant(&read(b)).unwrap();
    builder.end(a, CallEnd::Fail).unwrap();
    assert_eq!(builder.finish().unwrap().moments(), [[0; 2], [1; 2], [2, 4], [3; 2]]);
}

#[test]
fn another_process_goes_on_for_one_that_crashed() {
    let (mut builder, a, _) = register();
    for _ in 0..3 {
        builder.call(&read(a)).unwrap();
        builder.end(a, CallEnd::Info).unwrap();
    }
    let last = builder.call(&read(a)).unwrap();
    let named = builder.process("a");
    assert_eq!(builder.operation(last).process, named);
    assert_eq!(builder.end(a, CallEnd::Ok(Value::ZERO)), Ok(last));
    let history = builder.finish().unwrap();
    let names = history.operations().iter().map(|operation| history.process_name(operation.process));
    assert_eq!(names.collect::<Vec<_>>(), ["a", "a'", "a''", "a'''"]);
}

#[test]
fn what_is_of_another_builder_is_refused() {
    let (mut builder, a, _) = register();
    let id = builder.instant(&read(a)).unwrap();
    let word = Value::word(99);
    assert_eq!(builder.call(&read(ProcessId(2))), Err(BuildError::UnknownProcess(ProcessId(2))));
    assert_eq!(builder.end(ProcessId(2), CallEnd::Fail), Err(BuildError::UnknownProcess(ProcessId(2))));
    assert_eq!(builder.call(&read(a).key(KeyId(0))), Err(BuildError::UnknownKey(KeyId(0))));
    assert_eq!(builder.set_init(KeyId(0), Value::ZERO), Err(BuildError::UnknownKey(KeyId(0))));
    for call in [read(a).argument(word), read(a).result(word), read(a).expected(word)] {
        assert_eq!(builder.instant(&call), Err(BuildError::UnknownWord(word)));
    }
    assert_eq!(builder.set_initial(word), Err(BuildError::UnknownWord(word)));
    assert_eq!(builder.process_named(word), Err(BuildError::UnknownWord(word)));
    assert_eq!(builder.key_named(word), Err(BuildError::UnknownWord(word)));
    assert_eq!(builder.set_label(id, word), Err(BuildError::UnknownWord(word)));
    assert_eq!(builder.set_source_label(id, word), Err(BuildError::UnknownWord(word)));
    assert_eq!(builder.set_result(id, word), Err(BuildError::UnknownWord(word)));
    assert_eq!(builder.set_argument(id, word), Err(BuildError::UnknownWord(word)));
    let none = OperationId(1);
    let unknown = Err(BuildError::UnknownOperation(none));
    assert_eq!(builder.set_call_time(none, 1), unknown);
    assert_eq!(builder.set_return_time(none, 1), unknown);
    assert_eq!(builder.set_program_index(none, 1), unknown);
    assert_eq!(builder.set_label(none, Value::ZERO), unknown);
    assert_eq!(builder.set_source(none, Source::Init), unknown);
    assert_eq!(builder.set_source(id, Source::Operation(none)), unknown);
    assert_eq!(builder.set_failed(none), unknown);
}

#[test]
fn a_call_does_not_say_what_it_returns() {
    let (mut builder, a, _) = register();
    assert_eq!(builder.call(&read(a).result(Value::ZERO)), Err(BuildError::ResultOfCall));
    let open = builder.call(&read(a)).unwrap();
    let not_returned = Err(BuildError::NotReturned(Which { id: open, line: 0 }));
    assert_eq!(builder.set_result(open, Value::ZERO), not_returned);
    assert_eq!(builder.set_failed(open), not_returned);
    builder.end(a, CallEnd::Ok(Value::ZERO)).unwrap();
    builder.set_failed(open).unwrap();
    assert_eq!(builder.set_result(open, Value::ZERO), not_returned);
    assert_eq!(builder.operation(open).result, Value::NONE);
}

#[test]
fn there_is_an_end_of_events() {
    let (mut builder, a, b) = register();
    builder.call(&read(a)).unwrap();
    builder.events = MOST_EVENTS - 1;
    builder.call(&read(b)).unwrap();
    assert_eq!(builder.end(a, CallEnd::Fail), Err(BuildError::TooManyEvents));
    assert_eq!(builder.end(b, CallEnd::Ok(Value::ZERO)), Err(BuildError::TooManyEvents));
    assert_eq!(builder.open(a), Some(OperationId(0)));
}

#[test]
fn a_key_has_one_initial_and_one_final_value() {
    let mut builder = HistoryBuilder::new(Object::Memory);
    let x = builder.key("x");
    builder.set_init(x, Value::ZERO).unwrap();
    builder.set_init(x, Value::ZERO).unwrap();
    builder.set_final(x, Value::TRUE).unwrap();
    let error = builder.set_init(x, Value::TRUE).unwrap_err();
    assert_eq!(error.to_string(), "the initial value of x is already 0");
    let error = builder.set_final(x, Value::ZERO).unwrap_err();
    assert_eq!(error.to_string(), "the final value of x is already true");
    let history = builder.finish().unwrap();
    assert_eq!((history.inits(), history.finals()), (&[(x, Value::ZERO)][..], &[(x, Value::TRUE)][..]));
}

#[test]
fn labels_name_one_operation_each() {
    let (mut builder, a, b) = register();
    let write = builder.instant(&Call::new(a, Method::Write).argument(Value::ZERO)).unwrap();
    let reads = [a, b].map(|process| builder.instant(&read(process).result(Value::ZERO)).unwrap());
    let [label, init, later] = ["l", "init", "later"].map(|text| builder.word(text));
    assert_eq!(builder.set_label(write, init), Err(BuildError::LabelInit));
    assert_eq!(builder.set_source_label(write, label), Err(BuildError::SourceOfNoRead));
    assert_eq!(builder.set_source(write, Source::Init), Err(BuildError::SourceOfNoRead));
    builder.set_source_label(reads[1], later).unwrap();
    builder.set_label(write, label).unwrap();
    let error = builder.set_label(reads[0], label).unwrap_err();
    assert_eq!(error.to_string(), "operation 1 and operation 2 have the same label `l`");
    builder.set_source_label(reads[0], label).unwrap();
    let unknown = BuildError::UnknownLabel { operation: Which { id: reads[1], line: 0 }, label: "later".to_owned() };
    assert_eq!(builder.clone().finish().unwrap_err(), unknown);
    builder.set_label(write, later).unwrap();
    let history = builder.finish().unwrap();
    assert_eq!(history.sources(), reads.map(|read| (read, Source::Operation(write))));
}

#[test]
fn a_history_that_is_opened_again_goes_on() {
    let (mut builder, a, b) = register();
    builder.call(&read(a)).unwrap();
    builder.call(&read(b)).unwrap();
    builder.end(a, CallEnd::Info).unwrap();
    let mut builder = HistoryBuilder::from(builder.finish().unwrap());
    assert!(matches!(builder.call(&read(b)), Err(BuildError::CallsAgain { .. })));
    builder.end(b, CallEnd::Ok(Value::ZERO)).unwrap();
    let next = builder.call(&read(a)).unwrap();
    assert_ne!(builder.operation(next).process, a);
    let history = builder.finish().unwrap();
    assert_eq!(history.moments(), [[0, History::NEVER], [1, 2], [3, History::NEVER]]);
}
