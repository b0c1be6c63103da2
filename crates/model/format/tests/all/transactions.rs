//! Histories of transactions: the data model, the builder and the text format.

use format::stream::{Item, Stream, What};
use format::{Format, ReadOptions, Writer, render_operation};
use history::{History, HistoryBuilder, Method, Object, OperationId, Outcome, Source, Status, TransactionId, Value};

fn text(history: &History) -> String {
    let mut writer = Writer::new(Vec::new(), Format::Text);
    writer.write(history).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn parse(text: &str) -> History {
    format::parse(text).unwrap()
}

fn message(text: &str) -> String {
    format::parse(text).unwrap_err().to_string()
}

#[test]
fn the_example_of_the_specification() {
    let history = parse(
        "# @object transactions\n[a] begin\n[a] w x 1\n[a] r y 0\n[a] a l 5\n[a] r l [3,5]\n[a] commit\n[b] r x 1\n",
    );
    assert!(history.is_of_transactions());
    assert_eq!(history.transaction_count(), 2);
    let all: Vec<_> = history.transactions().map(|(_, transaction)| transaction.status).collect();
    assert_eq!(all, [Status::Committed; 2]);
    assert_eq!(history.transaction_moments(), [[0, 1], [2, 2]]);
    assert_eq!(history.operation_range(TransactionId(0)), 0..4);
    assert_eq!(history.list(history.operations()[3].result), [Value::small(3), Value::small(5)]);
    assert_eq!(render_operation(&history, OperationId(3)), "[a] r l [3,5]");
    assert_eq!(history.transaction_of(OperationId(4)), TransactionId(1));
    assert_eq!(history.operations()[4].line, 8);
    assert_eq!(history.transaction(TransactionId(0)).line, 2);
}

#[test]
fn operations_stand_transaction_by_transaction() {
    let history = parse(
        "[a] begin\n[b] begin\n[b] w x 2 id=p\n[a] w x 1 id=q\n[c] begin\n[c] commit\n[b] r x 1 from=q\n\
         [a] r x 2 from=p\n[b] abort\n[a] info\n[a] begin\n[a] r y 0\n",
    );
    let lines: Vec<u32> = history.operations().iter().map(|operation| operation.line).collect();
    assert_eq!(lines, [4, 8, 3, 7, 12]);
    assert_eq!(history.transaction_moments(), [[0, History::NEVER], [1, 4], [2, 3], [5, History::NEVER]]);
    let statuses: Vec<Status> = history.transactions().map(|(_, transaction)| transaction.status).collect();
    assert_eq!(statuses, [Status::Indeterminate, Status::Aborted, Status::Committed, Status::Indeterminate]);
    assert_eq!(history.source(OperationId(3)), Some(Source::Operation(OperationId(0))));
    assert_eq!(history.source(OperationId(1)), Some(Source::Operation(OperationId(2))));
    assert_eq!(history.transaction_of(OperationId(2)), TransactionId(1));
    assert_eq!(history.transaction_of(OperationId(4)), TransactionId(3));
    assert_eq!(history.operations()[2].outcome, Outcome::Fail);
    assert!(history.operations_of(TransactionId(2)).is_empty());
}

#[test]
fn what_is_written_is_read_again() {
    for input in [
        "# @object transactions\n[a] begin\n[b] begin\n[b] w x 2\n[b] commit\n[a] w x 1\n[a] r x 2\n[a] commit\n",
        "# @object transactions\n# @realtime none\n[a] begin\n[a] w x 1\n[a] r x 2\n[a] abort\n[b] r x 1\n",
        "# @object transactions\n# @initial null\n# @init x 5\n[a] begin\n[a] r x 5\n[a] info\n\
         [b] r x null from=init\n",
        "# @object transactions\n[\"a b\"] begin time=3\n[\"a b\"] a l \"x,y\"\n[\"a b\"] r l [\"x,y\",\"5\",5]\n\
         [\"a b\"] commit time=9\n[c] w k 1 id=w1 time=10:11\n",
        "# @object transactions\n[a] begin\n[a] commit\n",
    ] {
        assert_eq!(text(&parse(input)), input);
    }
}

#[test]
fn versions_of_a_list_share_their_elements() {
    let history =
        parse("[a] begin\n[a] r l []\n[a] r l [1,2]\n[a] r l [1]\n[a] r l [1,2,3]\n[a] r l [1,3]\n[a] commit\n");
    let chains: Vec<_> = history.operations().iter().map(|operation| operation.result.as_list().unwrap()).collect();
    assert_eq!(chains, [(0, 0), (0, 2), (0, 1), (0, 3), (1, 2)]);
    assert_eq!(history.list(history.operations()[4].result), [Value::small(1), Value::small(3)]);
}

#[test]
fn accesses_before_the_first_begin_are_transactions() {
    let history = parse("[b] w x 1\n[b] r x 1\n[a] begin\n[a] r x 1\n[a] commit\n");
    assert_eq!(history.transaction_count(), 3);
    assert!(message("[b] u x 1 2\n[a] begin\n").contains("the operations above are of a memory"));
    assert!(message("# @object memory\n[b] w x 1\n[a] begin\n").contains("are of a memory"));
}

#[test]
fn errors_have_a_place() {
    for (input, expected) in [
        ("[a] begin\n[a] begin\n", "line 2, column 1: session a begins again before its transaction of line 1 ended"),
        ("[a] begin\n[a] commit\n[a] commit\n", "line 3, column 1: session a has no transaction open"),
        ("[a] begin\n[a] a x 1\n[a] w x 1\n", "line 3, column 1: the key x is a register here, and a list in line 2"),
        ("[a] begin\n[a] r x [1\n", "line 2, column 11: the list has no end"),
        ("[a] begin\n[a] w x [1]\n", "line 2, column 9: only a read has a list for a value"),
        ("[a] begin\n[a] q x 1\n", "line 2, column 5: a transaction has no operation `q`"),
        ("[a] begin\n[a] w x\n", "line 2, column 8: a value is missing"),
        ("[a] begin\n[a] r x 1 from=b\n", "no operation of this history has the label `b`"),
        ("[a] begin\n[a] w x 1 from=b\n", "an operation that does not read has no source"),
        ("# @realtime some\n[a] begin\n", "line 1, column 13: `some` is not understood here"),
    ] {
        assert!(message(input).contains(expected), "{input}: {}", message(input));
    }
}

#[test]
fn a_builder_makes_transactions_and_nothing_else() {
    let mut builder = HistoryBuilder::new(Object::Transactions);
    let (a, x) = (builder.process("a"), builder.key("x"));
    assert!(builder.instant(&history::Call::new(a, Method::Write).key(x).argument(Value::small(1))).is_err());
    builder.set_untimed();
    builder.begin_transaction(a).unwrap();
    let write = builder.write(a, x, Value::small(1)).unwrap();
    assert!(builder.read(a, x, Value::NONE).is_err());
    let read = builder.read(a, x, Value::small(1)).unwrap();
    builder.set_source(read, Source::Operation(write)).unwrap();
    builder.end_transaction(a, Status::Committed).unwrap();
    let history = builder.finish().unwrap();
    assert!(history.is_untimed() && history.transaction_moments().is_empty());
    assert!(HistoryBuilder::new(Object::Memory).begin_transaction(a).is_err());
    // A finished history can be opened again.
    let mut builder = HistoryBuilder::from(history);
    builder.write(a, x, Value::small(2)).unwrap();
    builder.begin_transaction(a).unwrap();
    builder.end_transaction(a, Status::Aborted).unwrap();
    assert_eq!(builder.finish().unwrap().transaction_count(), 3);
    let mut builder = HistoryBuilder::from(parse("[a] begin\n[a] w x 1\n[a] commit\n"));
    builder.begin_transaction(a).unwrap();
    builder.end_transaction(a, Status::Committed).unwrap();
    assert_eq!(builder.finish().unwrap().transaction_moments(), [[0, 1], [2, 3]]);
}

#[test]
fn a_part_of_a_history_keeps_its_order_in_time() {
    let history =
        parse("[a] begin\n[b] begin\n[c] w x 5 id=c\n[b] w x 2\n[b] commit\n[a] r x 5 from=c\n[a] w x 1\n[a] commit\n");
    let part = history.restricted(|id| id.0 != 1, |id| id.0 != 1).unwrap();
    assert_eq!(part.transaction_moments(), [[0, 2], [1, 1]]);
    assert_eq!(part.operations().len(), 2);
    assert_eq!(part.source(OperationId(0)), Some(Source::Operation(OperationId(1))));
    assert!(history.restricted(|id| id.0 == 0, |_| true).is_err());
}

#[test]
fn a_stream_hands_out_operations_and_ends() {
    let mut stream = Stream::new(&ReadOptions::default()).unwrap();
    let mut lines = &b"# @object transactions\n[a] begin\n[a] w x 1 id=p\n[b] r x 1 from=p\n[a] abort\n"[..];
    let mut events = Vec::new();
    while let Some(item) = stream.next(&mut lines) {
        if let Item::Event(event) = item.unwrap() {
            events.push((event.what, event.operation.process.0, event.operation.outcome));
        }
    }
    let fine = Outcome::Instant;
    assert_eq!(
        events,
        [
            (What::Begin, 0, Outcome::Pending),
            (What::Instant, 0, fine),
            (What::Begin, 1, Outcome::Pending),
            (What::Instant, 1, fine),
            (What::End, 1, fine),
            (What::End, 0, Outcome::Fail),
        ]
    );
}
