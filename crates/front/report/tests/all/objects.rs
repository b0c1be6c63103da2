//! Explanations of violations of linearizability word by word, of cores made by hand.

use format::{Format, ReadOptions, read};
use history::{History, OperationId};
use model::object::{Core, Stay, Zone};
use model::{Evidence, Model};

fn history(text: &'static str) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    read(Box::new(text.as_bytes()), &options).next().unwrap().unwrap()
}

const fn id(number: u32) -> OperationId {
    OperationId(number)
}

fn stay(insert: u32, remove: Option<u32>, peeks: &[u32]) -> Stay {
    Stay { insert: id(insert), remove: remove.map(id), peeks: peeks.iter().map(|&peek| id(peek)).collect() }
}

#[track_caller]
fn assert_told(text: &'static str, core: Core, expected: &str) {
    let lines = report::explain(&history(text), Model::Linearizable, &Evidence::Core(core));
    let told = lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    assert_eq!(told, expected, "\n{told}");
}

/// Operations one after the other: 0, 1, 2, ... on lines 2, 4, 6, ...
const QUEUE: &str = "\
# @object queue
[0] call enqueue 1
[0] return
[0] call enqueue 2
[0] return
[1] call peek
[1] return 2
[1] call dequeue
[1] return 2
[1] call dequeue
[1] return 1
[1] call peek
[1] return 1
[1] call dequeue
[1] return empty
[1] call dequeue
[1] return 2
";

#[test]
fn values_that_cannot_be_there() {
    assert_told(
        "# @object queue\n[0] call dequeue\n[0] return 7\n",
        Core::NeverInserted(id(0)),
        "\
value from nowhere: line 2 [0] dequeue => 7 returns 7, which nobody enqueued
",
    );
    assert_told(
        "# @object register\n[0] call read key=3\n[0] return 7\n",
        Core::NeverInserted(id(0)),
        "\
value from nowhere: line 2 [0] read => 7 key=3 returns 7, which nobody wrote in the register 3
1 read returns 7, which nobody wrote: if that is the initial value, use `--initial 7`
",
    );
    assert_told(
        QUEUE,
        Core::RemovedTwice { insert: id(1), removes: [id(3), id(7)] },
        "\
removed twice: line 4 [0] enqueue 2 is the only insertion of its value:
  line 4   [0] enqueue 2
  line 8   [1] dequeue => 2  removed what line 4 enqueued
  line 16  [1] dequeue => 2  removed what line 4 enqueued
  • the queue would have to contain 2 twice, and it was enqueued once
",
    );
    assert_told(
        "# @object stack\n[0] call pop\n[0] return 1\n[0] call push 1\n[0] return\n",
        Core::TooEarly { insert: id(1), remove: id(0) },
        "\
value from the future: line 2 [0] pop => 1 returned before the only operation that pushed its value was called:
  line 2  [0] pop => 1  removed what line 4 pushed
  line 4  [0] push 1    called after line 2 returned
  • for line 2 [0] pop => 1, the stack would have to contain 1 on top, and only line 4 [0] push 1, which came \
    later, brought it
",
    );
    assert_told(
        QUEUE,
        Core::TooLate { insert: id(0), remove: id(4), peek: id(5) },
        "\
value from the past: line 12 [1] peek => 1 was called after its value, which was inserted only once, had been removed:
  line 2   [0] enqueue 1
  line 10  [1] dequeue => 1  removed what line 2 enqueued
  line 12  [1] peek => 1     saw what line 2 enqueued; called after line 10 returned
  • for line 12 [1] peek => 1, the queue would have to contain 1 in front, and line 10 [1] dequeue => 1 had removed it
",
    );
}

#[test]
fn a_queue_out_of_order() {
    let told = |first: Stay, second: Stay, expected| assert_told(QUEUE, Core::Overtaken { first, second }, expected);
    told(
        stay(0, Some(4), &[]),
        stay(1, Some(3), &[]),
        "\
out of order: 1 was enqueued before 2, and dequeued after it:
  line 2   [0] enqueue 1
  line 4   [0] enqueue 2     called after line 2 returned
  line 8   [1] dequeue => 2  removed what line 4 enqueued
  line 10  [1] dequeue => 1  removed what line 2 enqueued; called after line 8 returned
  • the queue would have to contain, the front first: 1, 2, and 1 again behind them
  • for line 8 [1] dequeue => 2, the queue would have to contain 2 in front
",
    );
    told(
        stay(0, Some(4), &[]),
        stay(1, Some(3), &[2]),
        "\
out of order: 1 was enqueued before 2, and dequeued after 2 was in front:
  line 2   [0] enqueue 1
  line 4   [0] enqueue 2     called after line 2 returned
  line 6   [1] peek => 2     saw what line 4 enqueued
  line 8   [1] dequeue => 2
  line 10  [1] dequeue => 1  removed what line 2 enqueued; called after line 6 returned
  • the queue would have to contain, the front first: 1, 2, and 1 again behind them
  • for line 6 [1] peek => 2, the queue would have to contain 2 in front
  • while line 6 is open, before it takes effect, it contains, the front first: 1, 2
",
    );
    told(
        stay(0, None, &[]),
        stay(1, None, &[2]),
        "\
out of order: 1 was enqueued before 2, and 2 was in front while 1 was still inside:
  line 2  [0] enqueue 1
  line 4  [0] enqueue 2  called after line 2 returned
  line 6  [1] peek => 2  saw what line 4 enqueued
  • the queue would have to contain, the front first: 1, 2, and 1 again behind them
  • for line 6 [1] peek => 2, the queue would have to contain 2 in front
  • while line 6 is open, before it takes effect, it contains, the front first: 1, 2
",
    );
    assert_told(
        QUEUE,
        Core::Circle(vec![stay(1, Some(7), &[2]), stay(0, Some(4), &[])]),
        "\
no order of the values: 2, 1 must be in the queue in this order, and 2 again after that:
  line 2   [0] enqueue 1
  line 4   [0] enqueue 2     called after line 2 returned
  line 6   [1] peek => 2     saw what line 4 enqueued
  line 10  [1] dequeue => 1  removed what line 2 enqueued; called after line 6 returned
  line 16  [1] dequeue => 2
  • the queue would have to contain, the front first: 2, 1, and 2 again behind them
  • for line 6 [1] peek => 2, the queue would have to contain 2 in front
  • while line 6 is open, before it takes effect, it contains, the front first: 1, 2
",
    );
}

#[test]
fn something_is_inside() {
    assert_told(
        QUEUE,
        Core::Covered { removal: id(6), by: vec![stay(1, Some(7), &[])] },
        "\
not empty: line 14 [1] dequeue => empty: 2 was inside all the time
  line 4   [0] enqueue 2
  line 14  [1] dequeue => empty  called after line 4 returned
  line 16  [1] dequeue => 2      removed what line 4 enqueued; called after line 14 returned
  • from the return of line 4 to the call of line 16, the queue certainly contains 2
  • for line 14 [1] dequeue => empty, the queue would have to be empty
",
    );
    assert_told(
        "# @object pqueue\n[0] call insert 1\n[0] return\n[0] call insert 5\n[0] return\n[0] call peek\n[0] return 1\n",
        Core::Covered { removal: id(2), by: vec![stay(1, None, &[])] },
        "\
not the largest: line 6 [0] peek => 1: 5 was inside all the time
  line 4  [0] insert 5
  line 6  [0] peek => 1  called after line 4 returned
  • from the return of line 4 on, the pqueue certainly contains 5
  • for line 6 [0] peek => 1, the pqueue would have to contain 1, and nothing larger
",
    );
    assert_told(
        "# @object stack\n[0] call push 1\n[0] return\n[0] call push 2\n[0] return\n[0] call pop\n[0] return 1\n",
        Core::Tangled(vec![stay(0, Some(2), &[]), stay(1, None, &[])]),
        "\
not last in, first out: the times of 1, 2 in the stack cannot be nested:
  line 2  [0] push 1
  line 4  [0] push 2    called after line 2 returned
  line 6  [0] pop => 1  removed what line 2 pushed; called after line 4 returned
  • the stack would have to contain 1, 2 in an order in which each leaves before those below it
  • never popped: 2
  • for line 6 [0] pop => 1, the stack would have to contain 1 on top
  • while line 6 is open, before it takes effect, it contains, the top last: 1, 2
",
    );
}

#[test]
fn registers_exchangers_and_the_rest() {
    let zone = |write: Option<u32>, returned: Option<u32>, called: u32| Zone {
        write: write.map(id),
        returned: returned.map(id),
        called: id(called),
    };
    assert_told(
        "# @object register\n[0] call write 1\n[0] return\n[1] call read\n[1] return 0\n",
        Core::Zones([zone(None, None, 1), zone(Some(0), Some(0), 0)]),
        "\
no order of the values: 0 must come before 1 and 1 before 0, and each is written only once:
          the initial value
  line 2  [0] write 1    the initial value was there before
  line 4  [1] read => 0  called after line 2 returned
  • the register would have to contain 0, then 1, and then 0 again, and 0 was there only once
  • for line 4 [1] read => 0, the register would have to contain 0
  • while line 4 is open, before it takes effect, it contains: 1
",
    );
    assert_told(
        "# @object exchanger\n[0] call exchange 1\n[0] return 2\n",
        Core::Unpaired(id(0)),
        "\
no partner: line 2 [0] exchange 1 => 2 returned 2, and no exchange of 2 that overlaps it returned 1 or is pending
  • for line 2 [0] exchange 1 => 2, the exchanger would have to offer 2 at the same time
",
    );
    assert_told(
        "# @object mutex\n[0] call lock\n[0] return\n[1] call lock\n[2] call lock\n[1] return\n",
        Core::Stuck(id(1)),
        "\
no order is left: line 4 [1] lock cannot have returned that, in whichever order the operations took effect
  line 2  [0] lock
  line 4  [1] lock            called after line 2 returned
  line 5  [2] lock (pending)  called after line 2 returned
  • for line 4 [1] lock, the mutex would have to have room for one more
  • while line 4 is open, before it takes effect, it contains: 1
",
    );
}
