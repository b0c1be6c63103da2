//! The examples of the format specification, and what they mean.

use std::io::Cursor;

use history::format::{Format, InputError, ReadOptions, Writer, read, render_operation};
use history::{History, KeyId, MemoryOrder, Method, Object, OperationId, Outcome, Source, Value};

fn all(input: &str, format: Option<Format>) -> Vec<Result<History, InputError>> {
    read(Box::new(Cursor::new(input.to_owned())), &ReadOptions { format, object: None }).collect()
}

fn one(input: &str) -> History {
    let mut histories = all(input, None);
    assert_eq!(histories.len(), 1);
    histories.remove(0).unwrap_or_else(|error| panic!("{error:?}"))
}

fn fault(input: &str) -> InputError {
    all(input, None).remove(0).expect_err("this is bad input")
}

fn number(n: i64) -> Value {
    Value::integer(n).unwrap()
}

fn rendered(history: &History) -> Vec<String> {
    (0..history.operations.len() as u32).map(|id| render_operation(history, OperationId(id))).collect()
}

fn written(history: &History, format: Format) -> String {
    let mut writer = Writer::new(Vec::new(), format);
    writer.write(history).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

const MEMORY: &str = "\
# @object memory
# @init x 5
[0] w x 1
[0] r y 0
[1] w.rel y 1
[1] u.acqrel x 1 7
[1] f.acqrel
[1] w x 3 id=a
[0] r x 3 from=a
[0] r x 3 po=9
[2] r y 0 from=init
";

#[test]
fn memory_in_text() {
    let history = one(MEMORY);
    assert_eq!(history.object, Object::Memory);
    assert_eq!(history.operations.len(), 9);
    assert!(!history.has_calls());
    assert_eq!((history.processes.len(), history.keys.len()), (3, 2));
    let rmw = history.operation(OperationId(3));
    assert_eq!((rmw.method, rmw.order, rmw.line), (Method::Rmw, MemoryOrder::AcquireRelease, 6));
    assert_eq!((rmw.result, rmw.argument, rmw.outcome), (number(1), number(7), Outcome::Instant));
    assert_eq!(history.operation(OperationId(4)).key, KeyId::NONE);
    assert_eq!(history.initial_value(history.operation(OperationId(0)).key), number(5));
    assert_eq!(history.initial_value(history.operation(OperationId(1)).key), Value::ZERO);
    assert_eq!(history.source(OperationId(6)), Some(Source::Operation(OperationId(5))));
    assert_eq!(history.source(OperationId(8)), Some(Source::Init));
    assert_eq!(history.program_index(OperationId(7)), Some(9));
    let lines: Vec<&str> = MEMORY.lines().skip(2).collect();
    assert_eq!(rendered(&history), lines);
    assert_eq!(written(&history, Format::Text), MEMORY);
}

const QUEUE: &str = "\
# @object atomic-queue
[1] call enqueue 5
[2] call dequeue
[1] return
[2] return 5
[1] call deq
[2] call enq(6)
[1] return
";

#[test]
fn calls_and_returns_in_text() {
    let history = one(QUEUE);
    assert_eq!(history.object, Object::Queue);
    assert_eq!(history.moments, [[0, 2], [1, 3], [4, 6], [5, History::NEVER]]);
    let outcomes: Vec<Outcome> = history.operations.iter().map(|operation| operation.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::Ok, Outcome::Pending]);
    assert_eq!(
        rendered(&history),
        ["[1] enqueue 5", "[2] dequeue => 5", "[1] dequeue => empty", "[2] enqueue 6 (pending)"]
    );
    assert_eq!(
        written(&history, Format::JsonLines),
        "{\"object\":\"queue\"}\n\
         {\"process\":1,\"type\":\"invoke\",\"f\":\"enqueue\",\"value\":5}\n\
         {\"process\":2,\"type\":\"invoke\",\"f\":\"dequeue\",\"value\":null}\n\
         {\"process\":1,\"type\":\"ok\",\"f\":\"enqueue\",\"value\":5}\n\
         {\"process\":2,\"type\":\"ok\",\"f\":\"dequeue\",\"value\":5}\n\
         {\"process\":1,\"type\":\"invoke\",\"f\":\"dequeue\",\"value\":null}\n\
         {\"process\":2,\"type\":\"invoke\",\"f\":\"enqueue\",\"value\":6}\n\
         {\"process\":1,\"type\":\"ok\",\"f\":\"dequeue\",\"value\":\"empty\"}\n"
    );
}
