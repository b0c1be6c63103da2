//! The examples of the format specification, and their meaning.

mod workloads;

use std::io::Cursor;

use format::{Format, InputError, ReadOptions, Writer, read, render_operation};
use history::{
    Execution, History, HistoryBuilder, KeyId, MemoryOrder, Method, Object, OperationId, Outcome, Source, Value,
};

fn all(input: &str, format: Option<Format>) -> Vec<Result<History, InputError>> {
    read(Box::new(Cursor::new(input.to_owned())), &ReadOptions { format, ..ReadOptions::default() }).collect()
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
    (0..history.operations().len() as u32).map(|id| render_operation(history, OperationId(id))).collect()
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
    assert_eq!(history.object(), Object::Memory);
    assert_eq!(history.operations().len(), 9);
    assert!(!history.has_calls());
    assert_eq!((history.processes().len(), history.keys().len()), (3, 2));
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
    assert_eq!(history.object(), Object::Queue);
    assert_eq!(history.moments(), [[0, 2], [1, 3], [4, 6], [5, History::NEVER]]);
    let outcomes: Vec<Outcome> = history.operations().iter().map(|operation| operation.outcome).collect();
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

#[test]
fn text_is_read_leniently() {
    let history = one(
        "\u{feff}# @object atomic-stack\r\n\r\n   [1] call push(a)\r\n\t[1] return  \r\n[2] call pop()\r\n[2] return",
    );
    assert_eq!(rendered(&history), ["[1] push a", "[2] pop => empty"]);
    let history =
        one("# @object register\n[1] call cas( 1 , \"a b\" )\n[1] return true\n[2] call read\n[2] return nil\n");
    assert_eq!(rendered(&history), ["[1] cas 1 \"a b\" => true", "[2] read => null"]);
    let history = one("# @unknown thing\n# a comment\n[0] rmw.sc x 1 2\n[0] fence\n[0] read x 2\n[0] write x nil\n");
    assert_eq!(rendered(&history), ["[0] u.sc x 1 2", "[0] f", "[0] r x 2", "[0] w x null"]);
    let history =
        one("[0] call w x 1\n[1] call r x\n[0] return\n[1] return 1\n[1] call u x 7\n[1] return 1\n[0] call f\n");
    assert_eq!(history.object(), Object::Memory);
    assert_eq!(rendered(&history), ["[0] w x 1", "[1] r x 1", "[1] u x 1 7", "[0] f (pending)"]);
    let history = one("[\"client 1\"] w \"5\" 5\n[0] w 5 \"5\"\n");
    assert_ne!(history.keys()[0], history.keys()[1]);
    assert_eq!(rendered(&history), ["[\"client 1\"] w \"5\" 5", "[0] w 5 \"5\""]);
}

#[test]
fn outcomes_of_jepsen_in_text() {
    let history =
        one("# @object register\n[0] call write 1 key=x\n[0] info\n[0] call write 2\n[0] fail\n[1] read => 1 key=x\n");
    let outcomes: Vec<Outcome> = history.operations().iter().map(|operation| operation.outcome).collect();
    assert_eq!(outcomes, [Outcome::Info, Outcome::Fail, Outcome::Instant]);
    assert_eq!(history.moments(), [[0, History::NEVER], [2, 3], [4, 4]]);
    assert_eq!(rendered(&history), ["[0] write 1 key=x (unknown)", "[0'] write 2 (failed)", "[1] read => 1 key=x"]);
}

#[test]
fn who_crashed_retires() {
    let text = "# @object register\n[0'] read => 0\n[0] call write 1\n[0] info\n[0] call read(1)\n[0] return\n\
        [0] call write 2\n[0] info\n[0] read => 1\n";
    let history = one(text);
    let all =
        ["[0'] read => 0", "[0] write 1 (unknown)", "[0''] read => 1", "[0''] write 2 (unknown)", "[0'''] read => 1"];
    assert_eq!(rendered(&history), all);
    let execution = Execution::from_history(&history).unwrap();
    let threads: Vec<usize> = execution.ids().map(|id| execution.thread(id).index()).collect();
    assert_eq!(threads, [0, 1, 2, 2, 3]);
}

#[test]
fn names_and_returns_as_others_spell_them() {
    let history =
        one("# @object PriorityQueue\n[0] Call insert(2)\n[0] Return ok\n[0] call deleteMax\n[0] return(2)\n");
    assert_eq!(history.object(), Object::PriorityQueue);
    assert_eq!(rendered(&history), ["[0] insert 2", "[0] delete-max => 2"]);
    let history = one("# @object Atomic_Queue\n[0] call enqueue 1\n[0] return true\n[1] call poll\n[1] return(1)\n");
    assert_eq!(rendered(&history), ["[0] enqueue 1", "[1] dequeue => 1"]);
    let history = one("# @object queue\n[0] CALL put ( 1 )\n[0] RETURN ()\n[1] invoke get\n\
        [1] ret (1)\n[1] call deq\n[1] ok EMPTY\n[0] call enq(2)\n[0] return OK\n");
    assert_eq!(rendered(&history), ["[0] enqueue 1", "[1] dequeue => 1", "[1] dequeue => empty", "[0] enqueue 2"]);
    let history = one("# @object set\n[0] call add(1)\n[0] return 1\n[0] call contains 1\n[0] return False\n\
        [0] call remove(1)\n[0] return TRUE\n[0] call remove(1)\n[0] return 0\n");
    let all = ["[0] add 1 => true", "[0] contains 1 => false", "[0] remove 1 => true", "[0] remove 1 => false"];
    assert_eq!(rendered(&history), all);
}

#[test]
fn words_that_look_like_something_else_are_kept_in_quotes() {
    let history = one("# @object queue\n[0] call enqueue \"#\"\n[0] return\n[1] call dequeue\n[1] return \"#\"\n");
    assert_eq!(rendered(&history), ["[0] enqueue \"#\"", "[1] dequeue => \"#\""]);
    assert_eq!(rendered(&one(&written(&history, Format::Text))), rendered(&history));
}

#[test]
fn read_modify_writes_with_their_times() {
    let history = one("# rmw\n0 1 10 READ_MODIFY_WRITE 0 2\n1 2 11 READ_MODIFY_WRITE 2 3\n");
    assert_eq!(history.object(), Object::Register);
    assert_eq!(rendered(&history), ["[0] cas 0 2 => true", "[1] cas 2 3 => true"]);
}

#[test]
fn directives() {
    let text = "# @name a name, with \"quotes\"\n# @object semaphore\n\
        # @capacity 3\n# @init x 5\n# @final x 1\n[0] call acquire\n";
    let history = one(text);
    assert_eq!(history.name(), Some("a name, with \"quotes\""));
    assert_eq!((history.capacity(), history.inits().len(), history.finals().len()), (Some(3), 1, 1));
    assert_eq!(written(&history, Format::Text), text);
    assert_eq!(one("# @initial null\n[0] r x null\n").initial(), Value::NULL);
}

#[test]
fn the_object_is_told_by_the_first_method() {
    for (method, object) in [
        ("enqueue 1", Object::Queue),
        ("deq", Object::Queue),
        ("push 1", Object::Stack),
        ("pop", Object::Stack),
        ("insert 1", Object::PriorityQueue),
        ("contains 1", Object::Set),
        ("lock", Object::Mutex),
        ("exchange 1", Object::Exchanger),
        ("cas 1 2", Object::Register),
        ("read", Object::Register),
        ("append 1", Object::KeyValue),
        ("w x 1", Object::Memory),
    ] {
        assert_eq!(one(&format!("[0] call {method}\n")).object(), object, "{method}");
    }
    let error = fault("[0] call add 1\n");
    assert!(error.expected.unwrap().contains("--object"));
    let options = ReadOptions { object: Some(Object::Queue), ..ReadOptions::default() };
    let forced: Vec<_> = read(Box::new(Cursor::new("# @object stack\n[0] call push 1\n")), &options).collect();
    assert_eq!(forced[0].as_ref().unwrap().operations()[0].method, Method::Enqueue);
}

#[test]
fn json_lines() {
    let history = one("{\"object\":\"queue\"}\n\
        {\"process\":0,\"type\":\"invoke\",\"f\":\"enqueue\",\"value\":5,\"time\":10,\"index\":0,\"more\":[{}]}\n\n\
        {\"process\":1,\"type\":\"invoke\",\"f\":\"dequeue\"}\n\
        {\"process\":0,\"type\":\"ok\",\"f\":\"enqueue\",\"value\":5,\"time\":20}\n\
        {\"process\":1,\"type\":\"ok\",\"f\":\"dequeue\",\"value\":null}\n");
    assert_eq!(rendered(&history), ["[0] enqueue 5", "[1] dequeue => empty"]);
    assert_eq!(history.times(), [[Some(10), Some(20)], [None, None]]);
    // The initial value of a queue has no meaning. That of a register is null here.
    assert_eq!(history.initial(), Value::ZERO);
    let register = one("{\"object\":\"register\"}\n{\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}\n");
    assert_eq!(register.initial(), Value::NULL);
    let history = one("{\"object\":\"memory\",\"init\":{\"x\":5,\"7\":1},\"name\":\"n\",\"final\":{\"x\":1}}\n\
        {\"process\":0,\"f\":\"w\",\"key\":\"x\",\"value\":1,\"order\":\"rel\",\"id\":\"a\"}\n\
        {\"process\":\"0\",\"f\":\"read\",\"key\":\"x\",\"value\":1,\"from\":\"a\"}\n\
        {\"process\":0,\"f\":\"rmw\",\"key\":7,\"value\":[1,2],\"po\":3}\n\
        {\"process\":0,\"f\":\"f\",\"order\":\"sc\"}\n\
        {\"process\":0,\"f\":\"w\",\"key\":\"y\",\"value\":1.5}\n\
        {\"process\":0,\"f\":\"w\",\"key\":\"y\",\"value\":{\"a\": [1, \"b c\"]}}\n");
    assert_eq!(
        rendered(&history),
        [
            "[0] w.rel x 1 id=a",
            "[0] r x 1 from=a",
            "[0] u 7 1 2 po=3",
            "[0] f.sc",
            "[0] w y 1.5",
            "[0] w y \"{\\\"a\\\":[1,\\\"b c\\\"]}\"",
        ]
    );
    assert_eq!(history.initial(), Value::ZERO);
    assert_eq!(history.initial_value(history.operations()[2].key), number(1));
}

#[test]
fn json_lines_without_a_header() {
    let history = one("{\"process\":0,\"f\":\"read\",\"key\":\"x\",\"value\":0}\n");
    assert_eq!((history.object(), history.has_calls()), (Object::Memory, false));
    let history = one("{\"process\":0,\"type\":\"invoke\",\"f\":\"cas\",\"value\":[1,2]}\n\
        {\"process\":0,\"type\":\"fail\",\"f\":\"cas\",\"value\":[1,2]}\n\
        {\"process\":\"nemesis\",\"type\":\"info\",\"f\":\"start\"}\n\
        {\"process\":0,\"type\":\"invoke\",\"f\":\"cas\",\"value\":[1,2]}\n\
        {\"process\":0,\"type\":\"ok\",\"f\":\"cas\",\"value\":false}\n\
        {\"process\":0,\"type\":\"invoke\",\"f\":\"cas\",\"value\":[3,4]}\n\
        {\"process\":0,\"type\":\"ok\",\"f\":\"cas\",\"value\":[3,4]}\n");
    assert_eq!(history.object(), Object::Register);
    assert_eq!(rendered(&history), ["[0] cas 1 2 (failed)", "[0] cas 1 2 => false", "[0] cas 3 4 => true"]);
}

#[test]
fn edn_in_all_its_shapes() {
    let expected = ["[0] write 1", "[1] read => 1", "[0] cas 1 2 => true", "[1] cas 2 3 (unknown)"];
    let maps = "{:process 0, :type :invoke, :f :write, :value 1}\n\
        {:process 1 :type :invoke :f :read :value nil} ; a comment\n\
        {:process :nemesis, :type :info, :f :start, :value {:n1 #{:n2}}}\n\
        #_ {:process 7 :type :ok}\n#jepsen.history.Op{:index 3, :time 5, :type :ok, :process 0, :f :write, :value 1}\n\
        #knossos.op.Op{:process 1, :type :ok, :f :read, :value 1, :error [:a \"b\"]}\n\
        {:process 0 :type :invoke :f :cas :value [1 2]}{:process 0 :type :ok :f :cas :value [1 2]}\n\
        {:process 1 :type :invoke :f :cas :value [2 3]},{:process 1 :type :info :f :cas :value :timed-out}\n";
    for input in [
        maps.to_owned(),
        format!("; first\n[{maps}]"),
        format!("({maps})"),
        format!("[{}]", maps.replace("; a comment\n", " ")),
    ] {
        let history = one(&input);
        assert_eq!(rendered(&history), expected);
        assert_eq!(history.initial(), Value::NULL);
        assert_eq!(history.times()[0], [None, Some(5)]);
    }
    let two = all(&format!("[{maps}] [{maps}]"), None);
    assert_eq!(two.len(), 2);
}

#[test]
fn independent_keys_in_edn() {
    let history =
        one("{:process 0 :type :invoke :f :write :value [:x 1]}\n{:process 0 :type :ok :f :write :value [:x 1]}\n\
        {:process 0 :type :invoke :f :read :value [5 nil]}\n{:process 0 :type :ok :f :read :value [5 [1 2]]}\n\
        {:process 0 :type :invoke :f :cas :value [5 [1 2]]}\n{:process 0 :type :ok :f :cas :value [5 [1 2]]}\n\
        {:process 0 :type :invoke :f :read :value nil}\n{:process 0 :type :ok :f :read :value [5 6]}\n");
    assert_eq!(
        rendered(&history),
        ["[0] write 1 key=x", "[0] read => \"[1 2]\" key=5", "[0] cas 1 2 => true key=5", "[0] read => \"[5 6]\"",]
    );
}

#[test]
fn logs_of_jepsen() {
    let history = one("INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - 1\t:invoke\t:cas\t[1 2]\n\
        INFO  jepsen.core - something else\nINFO  jepsen.util - :nemesis\t:info\t:start\tnil\n\
        INFO  jepsen.util - 0\t:fail\t:read\t:timed-out\nINFO  jepsen.util - 1\t:fail\t:cas\t[1 2]\n\
        INFO  jepsen.util - 1\t:invoke\t:write\t3\nINFO  jepsen.util - 1\t:info\t:write\t:timed-out\n");
    assert_eq!(history.object(), Object::Register);
    assert_eq!(rendered(&history), ["[0] read (failed)", "[1] cas 1 2 => false", "[1] write 3 (unknown)"]);
}

#[test]
fn axe_traces() {
    let text =
        "# SB\n0: M[0] := 1 @ 5:\n0: sync\n0: v1 == 0 @ :9\n1: { v1 == 0; v1 := 2 } @ 1:2\nfinal M[0] == 1\ncheck\n";
    let histories = all(&format!("{text}# next\n0: x:=1\ncheck\n"), None);
    assert_eq!(histories.len(), 2);
    let history = histories[0].as_ref().unwrap();
    assert_eq!(history.name(), Some("SB"));
    assert_eq!(history.times(), [[Some(5), None], [None, None], [None, Some(9)], [Some(1), Some(2)]]);
    assert_eq!(rendered(history), ["[0] w \"M[0]\" 1", "[0] f", "[0] r v1 0", "[1] u v1 0 2"]);
    assert_eq!(written(history, Format::Axe), text);
    assert_eq!(histories[1].as_ref().unwrap().name(), Some("next"));
}

#[test]
fn what_axe_cannot_say() {
    for (text, operation) in [
        ("# @object queue\n[0] call enqueue 1\n", None),
        ("# @init x 1\n[0] r x 1\n", None),
        ("[0] f\n[0] w.rel x 1\n", Some(1)),
        ("[0] w x a\n", Some(0)),
        ("[a] w x 1\n", Some(0)),
        ("[0] w x 1 id=a\n", Some(0)),
        ("[0] r x 1 po=1\n", Some(0)),
        ("[0] call w x 1\n[0] return\n", Some(0)),
    ] {
        let result = Writer::new(Vec::new(), Format::Axe).write(&one(text));
        let Err(format::WriteError::Inexpressible { operation: at, .. }) = result else {
            panic!("{text} was written");
        };
        assert_eq!(at, operation.map(OperationId), "{text}");
    }
}

/// axe reads `v3` and `M[3]` only, and both are one location to it.
#[test]
fn locations_get_names_that_axe_reads() {
    let text = "[0] w x49 1\n[0] w v1 2\n[1] r M[0] 0\n[1] r M[1] 0\n[1] w v02 1\n[1] w 5 1\n[0] r v1234567890 0\n";
    let text = format!("{text}[0] u \"a\\nb\" 0 1\n[0] f\n# @final x49 1\n");
    let expected = "0: v2 := 1\n0: v1 := 2\n1: M[0] == 0\n1: v3 == 0\n1: v4 := 1\n1: v5 := 1\n0: v6 == 0\n\
        0: { v7 == 0; v7 := 1 }\n0: sync\nfinal v2 == 1\n\
        # v2 was x49\n# v3 was M[1]\n# v4 was v02\n# v5 was 5\n# v6 was v1234567890\n# v7 was a\\nb\ncheck\n";
    let history = one(&text);
    assert_eq!(written(&history, Format::Axe), expected);
    // What is read back is the same but for the names, and has no name of its own. Its names stay as they are.
    let again = one(expected);
    assert_eq!(again.name(), None);
    assert_eq!(again.finals(), history.finals());
    for (before, after) in history.operations().iter().zip(again.operations()) {
        let parts = |it: &history::Operation| (it.process, it.key, it.method, it.argument, it.result);
        assert_eq!(parts(before), parts(after));
    }
    assert_eq!(history.operations().len(), again.operations().len());
    let uncommented: String = expected.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
    assert_eq!(written(&again, Format::Axe), uncommented);
}

#[test]
fn sources_without_labels_get_fresh_ones() {
    let mut builder = HistoryBuilder::from(one("[0] w x 1\n[0] w x 2 id=op\n[1] r x 1\n"));
    builder.set_source(OperationId(2), Source::Operation(OperationId(0))).unwrap();
    let history = builder.finish().unwrap();
    for format in [Format::Text, Format::JsonLines, Format::Edn] {
        let again = one(&written(&history, format));
        assert_eq!(again.source(OperationId(2)), Some(Source::Operation(OperationId(0))));
    }
}

#[test]
fn operations_with_their_times() {
    let history = one("# stack\npush 1 1 2\npeek -1 0 3\n\npop 1 2 6\npush 2 4 4\n");
    assert_eq!(history.object(), Object::Stack);
    assert_eq!(rendered(&history), ["[0] peek => empty", "[1] push 1", "[1] pop => 1", "[0] push 2"]);
    // At equal times, a return comes before a call.
    assert_eq!(history.moments(), [[0, 4], [1, 2], [3, 7], [5, 6]]);

    let with_processes = one("# priorityqueue\n3 insert 5 1 2\n4 4 9 POLL 5\n");
    assert_eq!(with_processes.object(), Object::PriorityQueue);
    assert_eq!(rendered(&with_processes), ["[3] insert 5", "[4] delete-max => 5"]);

    let set = one("# set\ninsert 7 1 2\ncontains_false 7 1 3\nremove 7 4 5\n");
    assert_eq!(rendered(&set), ["[0] add 7 => true", "[1] contains 7 => false", "[0] remove 7 => true"]);
    let set = one("# set\n2 0 2 CONTAINS 2 0\n0 3 4 INSERT 2 1\n");
    assert_eq!(rendered(&set), ["[2] contains 2 => false", "[0] add 2 => true"]);

    let error = fault("# queue\nenq 1 5 4\n");
    assert_eq!((error.line, error.column), (2, 7));
    assert!(error.message.contains("returns before it is called"), "{error:?}");
    let error = fault("# queue\n0 enq 1 1 9\n0 deq 1 2 3\n");
    assert_eq!(error.line, 3);
    assert!(error.message.contains("calls again"), "{error:?}");
    assert_eq!(fault("# queue\nenq 1 1 2\nenq 2 3\n").line, 3);
}

#[test]
fn a_call_may_say_what_it_returns() {
    let history = one("# @object register\n[1] call write(a)\n[1] return \n[1] call read(a)\n[1] return\n");
    assert_eq!(rendered(&history), ["[1] write a", "[1] read => a"]);
    let history =
        one("# @object stack\n[1] call push 1\n[1] return\n[1] call pop 1 key=3\n[1] return 1\n[2] call pop(5)\n");
    assert_eq!(rendered(&history)[1..], ["[1] pop => 1 key=3", "[2] pop (pending)"]);
    let error = fault("# @object stack\n[1] call pop(1)\n[1] return 2\n");
    assert_eq!((error.line, error.column), (3, 12));
    assert!(error.message.contains("line 2"), "{error:?}");
}

/// An object that is not built in: names and arguments are plain data, in every format.
#[test]
fn open_objects() {
    let text = "# @object account\n[0] call deposit 5\n[1] call transfer 2 \"key=a\" savings key=k\n[0] return\n\
                [1] return ok\n[0] balance() => 3\n[1] call balance\n";
    let history = one(text);
    assert_eq!((history.object(), history.object_name()), (Object::Open, "account"));
    let calls: Vec<String> = (0..4)
        .map(|at| {
            let id = OperationId(at);
            let arguments: Vec<String> = history.arguments(id).map(|value| history.show(value)).collect();
            let result = history.show(history.operation(id).result);
            format!("{} {arguments:?} {result}", history.method_name(id))
        })
        .collect();
    let expected = ["deposit [\"5\"] ", "transfer [\"2\", \"key=a\", \"savings\"] ok", "balance [] 3", "balance [] "];
    assert_eq!(calls, expected);
    let json = written(&history, Format::JsonLines);
    assert!(json.contains(r#"{"process":1,"type":"invoke","f":"transfer","key":"k","value":[2,"key=a","savings"]}"#));
    assert!(json.contains(r#"{"process":0,"f":"balance","value":[[],3]}"#), "{json}");
}

/// Some texts cannot be the name of an open object or method, and no stream has an open object.
#[test]
fn not_open() {
    for text in [
        "# @object 7up\n",
        "# @object account\n[0] call de=posit 5\n",
        "# @object account\n[0] call Return 5\n",
        "# @object account\n[0] call deposit 5\n# @object lease\n",
        "{\"object\":\"account\"}\n{\"process\":0,\"type\":\"invoke\",\"f\":\"deposit\",\"value\":5}\n\
         {\"process\":0,\"type\":\"ok\",\"f\":\"withdraw\",\"value\":5}\n",
    ] {
        fault(text);
    }
    let mut stream = format::stream::Stream::new(&ReadOptions::default()).unwrap();
    assert!(stream.next(&mut &b"# @object account\n"[..]).is_some_and(|read| read.is_err()));
}

#[test]
fn axe_writes_atomic_operations_in_two_ways() {
    let expected = "# RMW\n0: { v0 == 0; v0 := 2 }\n1: { M[1] == 3; M[1] := 4 } @ 5:9\ncheck\n";
    for text in [expected, "# RMW\n0: < v0 == 0; v0 := 2 >\n1: {M[1]==3;M[1]:=4}@5:9\ncheck\n"] {
        assert_eq!(written(&one(text), Format::Axe), expected);
    }
    for (text, expected) in [("0: { v0 == 0; v0 := 2 >\n", "`}`"), ("0: < v0 == 0; v0 := 2 }\n", "`>`")] {
        assert_eq!(fault(text).expected.as_deref(), Some(expected));
    }
}

#[test]
fn what_is_in_angle_brackets_belongs_together() {
    let history = one("# @object stack\n[1] call push(?<0,0>)\n[1] return\n[2] call pop\n[2] return ?<0,0>\n");
    assert_eq!(history.operation(OperationId(0)).argument, history.operation(OperationId(1)).result);
    assert_eq!(history.show(history.operation(OperationId(0)).argument), "?<0,0>");
    let swap = one("# @object register\n[1] call cas(<1,2>, a<b)\n[1] return true\n");
    assert_eq!(swap.expected(OperationId(0)).map(|value| swap.show(value)).as_deref(), Some("<1,2>"));
    assert_eq!(swap.show(swap.operation(OperationId(0)).argument), "a<b");
    let swap = one("# @object register\n[1] call cas(a<b, c>d)\n");
    assert_eq!(swap.show(swap.operation(OperationId(0)).argument), "c>d");
}

#[test]
fn initial_values() {
    let initial = |text: &str, given: Option<&str>| {
        let options = ReadOptions { initial: given.map(str::to_owned), ..ReadOptions::default() };
        let history = read(Box::new(Cursor::new(text.to_owned())), &options).next().unwrap().unwrap();
        history.show(history.initial())
    };
    let edn = "{:process 0, :type :invoke, :f :read, :value nil}\n";
    let json = "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\",\"value\":null}\n";
    for (text, without) in [("[0] call read\n", "0"), ("[0] r x 1\n", "0"), (edn, "null"), (json, "null")] {
        assert_eq!(initial(text, None), without, "{text}");
        assert_eq!(initial(text, Some("7")), "7", "{text}");
        assert_eq!(initial(text, Some("nil")), "null", "{text}");
        assert_eq!(initial(text, Some("\"a b\"")), "a b", "{text}");
    }
    assert_eq!(initial(&format!("{{:initial 5}}{edn}"), None), "5");
    assert_eq!(initial(&format!("{{\"initial\":5}}\n{json}"), None), "5");
    assert_eq!(initial(&format!("{{\"initial\":5}}\n{json}"), Some("6")), "6");
    assert_eq!(initial("# @initial 5\n[0] r x 5\n", Some("6")), "6");
    let options = ReadOptions { initial: Some("6".to_owned()), ..ReadOptions::default() };
    let text = "# @init x 4\n[0] r x 4\n---\n[0] r x 6\n";
    let histories: Vec<History> = read(Box::new(Cursor::new(text)), &options).map(Result::unwrap).collect();
    assert_eq!(histories[0].initial_value(KeyId(0)), number(4));
    assert_eq!(histories[1].initial_value(KeyId(0)), number(6));
}

#[test]
fn strings_by_key_begin_empty() {
    let text = "# @object kv\n[0] call get key=a\n[0] return \"\"\n";
    let json = "{\"object\":\"kv\"}\n{\"process\":0,\"type\":\"invoke\",\"f\":\"get\",\"key\":\"a\",\"value\":null}\n\
                {\"process\":0,\"type\":\"ok\",\"f\":\"get\",\"key\":\"a\",\"value\":\"\"}\n";
    for input in [text, json] {
        let history = one(input);
        assert_eq!(history.initial(), Value::BLANK);
        assert_eq!(history.operation(OperationId(0)).result, Value::BLANK);
        assert_eq!(written(&history, Format::Text), text);
        assert_eq!(written(&history, Format::JsonLines), json);
    }
}

#[test]
fn errors_speak_the_language_of_the_format() {
    for (text, named) in [
        ("[0] call peek\n", "`# @object queue`"),
        ("{\"process\":0,\"type\":\"invoke\",\"f\":\"peek\"}\n", "`{\"object\":\"queue\"}`"),
        ("{:process 0, :type :invoke, :f :peek}\n", "`{:object :queue}`"),
        ("[0] r x 1 from=a\n", "`id=`"),
        ("{\"process\":0,\"f\":\"r\",\"key\":\"x\",\"value\":1,\"from\":\"a\"}\n", "`id`"),
        ("{:process 0, :f :r, :key \"x\", :value 1, :from \"a\"}\n", "`:id`"),
    ] {
        let expected = fault(text).expected.unwrap();
        assert!(expected.contains(named), "{text}: {expected}");
        assert!(text.starts_with('[') || !expected.contains("# @"), "{text}: {expected}");
    }
}

/// Digests of certificates hold the numbers of methods. Checkpoints of monitors hold the numbers of methods and
/// objects. So a new method comes last, and a new object comes right before `Open`.
#[test]
fn methods_and_objects_keep_their_numbers() {
    let methods = "Read Write Rmw Fence Cas Enqueue Dequeue Push Pop Insert DeleteMax Peek Add Remove Contains ReadAll \
        Lock TryLock Unlock Acquire Release Exchange Get Put Append Count AcquireAs ReleaseAs Open";
    let methods: Vec<&str> = methods.split_whitespace().collect();
    for &(method, _) in Object::ALL.iter().flat_map(|object| object.methods()) {
        let name = format!("{method:?}");
        match methods.iter().position(|known| *known == name) {
            Some(number) => assert_eq!(method as usize, number, "{name}"),
            None => assert!(method as usize >= methods.len(), "{name} comes last"),
        }
    }
    let objects = "Memory Register Queue Stack PriorityQueue Set Mutex Semaphore Exchanger KeyValue Multiset \
        TaggedMutex TaggedSemaphore";
    for (at, name) in objects.split_whitespace().enumerate() {
        assert_eq!((Object::ALL[at] as usize, format!("{:?}", Object::ALL[at])), (at, name.to_owned()));
    }
}
