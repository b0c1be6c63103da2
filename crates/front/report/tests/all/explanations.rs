//! Explanations word by word, of derivations made by hand.

use format::{Format, ReadOptions, read};
use history::execution::LocationId;
use history::{History, OperationId, ProcessId};
use model::object::Core;
use model::{Derivation, Edge, Evidence, EvidenceKind, Model, Node, Rule, Step};

fn history(text: &'static str) -> History {
    let options = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    read(Box::new(text.as_bytes()), &options).next().unwrap().unwrap()
}

/// The operation on that line.
fn at(history: &History, line: u32) -> Node {
    let index = history.operations().iter().position(|operation| operation.line == line).unwrap();
    Node::Operation(OperationId(index as u32))
}

#[track_caller]
fn assert_told(history: &History, model: Model, evidence: &Evidence, expected: &str) {
    let lines = report::explain(history, model, evidence);
    let told = lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    assert_eq!(told, expected, "\n{told}");
}

const MESSAGE_PASSING: &str = "\
[0] w x 1
[0] w x 2
[0] w y 5
[1] w z 9
[2] r y 5
[2] r z 9
[2] r x 1
";

/// Message passing violates `cc`: the last read is stale.
fn stale_read(history: &History) -> Derivation {
    let node = |line| at(history, line);
    let path = vec![Edge::Po(node(2), node(3)), Edge::Rf(node(3), node(5)), Edge::Po(node(5), node(7))];
    let step = Step { rule: Rule::Conflict { read: node(7), view: None }, from: node(2), to: node(1), path };
    Derivation { steps: vec![step], cycle: vec![Edge::Derived(0), Edge::Po(node(1), node(2))] }
}

/// Every violation is told in words, whatever its model and its evidence.
#[test]
fn every_kind_of_violation_has_an_explanation() {
    let memory = history(MESSAGE_PASSING);
    let calls = history("# @object queue\n[0] call dequeue\n[0] return 1\n");
    let evidence = |kind| match kind {
        EvidenceKind::ThinAir => Evidence::ThinAir(OperationId(6)),
        EvidenceKind::Cycle => Evidence::Cycle(stale_read(&memory)),
        EvidenceKind::Refutation => Evidence::Refutation(vec![stale_read(&memory)]),
        EvidenceKind::DecideAgain => Evidence::DecideAgain,
        EvidenceKind::Constraints => Evidence::Constraints(vec![OperationId(0), OperationId(6)]),
        EvidenceKind::Core => Evidence::Core(Core::NeverInserted(OperationId(0))),
        kind => panic!("give an example of a violation with the evidence {kind:?}, which has its words"),
    };
    for model in Model::ALL.into_iter().chain([Model::ScObserved, Model::Linearizable]) {
        for &kind in model.row().violation {
            let history = if model == Model::Linearizable { &calls } else { &memory };
            let told = report::explain(history, model, &evidence(kind));
            assert!(!told.is_empty(), "`explain` has no words for a violation of {model} with the evidence {kind:?}");
        }
    }
}

#[test]
fn a_stale_read_is_one_chain() {
    let history = history(MESSAGE_PASSING);
    assert_told(
        &history,
        Model::Cc,
        &Evidence::Cycle(stale_read(&history)),
        "\
stale read: line 7 [2] r x 1 returns the value of line 1 [0] w x 1, which line 2 [0] w x 2 had overwritten:
  line 1  [0] w x 1
  line 2  [0] w x 2  later in thread 0
  line 3  [0] w y 5  later in thread 0
  line 5  [2] r y 5  reads from line 3
  line 7  [2] r x 1  later in thread 2
",
    );
}

#[test]
fn a_final_value_is_read_in_the_end() {
    let history = history("# @final x 1\n[0] w x 1\n[0] w x 2\n");
    let node = |number| Node::Operation(OperationId(number));
    let path = vec![Edge::Po(node(1), node(2))];
    let step = Step { rule: Rule::Conflict { read: node(2), view: None }, from: node(1), to: node(0), path };
    let cycle = vec![Edge::Derived(0), Edge::Po(node(0), node(1))];
    assert_told(
        &history,
        Model::Cc,
        &Evidence::Cycle(Derivation { steps: vec![step], cycle }),
        "\
stale read: the end [0] r x 1 returns the value of line 2 [0] w x 1, which line 3 [0] w x 2 had overwritten:
  line 2   [0] w x 1
  line 3   [0] w x 2  later in thread 0
  the end  [0] r x 1  later in thread 0
",
    );
}

#[test]
fn program_order_is_told_in_one_step() {
    let history = history(MESSAGE_PASSING);
    let node = |line| at(&history, line);
    let path = vec![
        Edge::Po(node(2), node(3)),
        Edge::Rf(node(3), node(5)),
        Edge::Po(node(5), node(6)),
        Edge::Po(node(6), node(7)),
    ];
    let step = Step { rule: Rule::Conflict { read: node(7), view: None }, from: node(2), to: node(1), path };
    let cycle = vec![Edge::Po(node(1), node(2)), Edge::Derived(0)];
    let evidence = Evidence::Cycle(Derivation { steps: vec![step], cycle });
    let lines = report::explain(&history, Model::Cc, &evidence);
    assert_eq!(lines.last().unwrap().to_string(), "  line 7  [2] r x 1  later in thread 2");
    assert_eq!(lines.len(), 6);
}

#[test]
fn an_initial_value_goes_without_a_line() {
    let history = history("[alice] w row 1\n[alice] w flag 1\n[bob] r flag 1\n[bob] r row 0\n");
    let node = |line| at(&history, line);
    let init = Node::Init(LocationId(0));
    let path = vec![Edge::Po(node(1), node(2)), Edge::Rf(node(2), node(3)), Edge::Po(node(3), node(4))];
    let step = Step { rule: Rule::Conflict { read: node(4), view: None }, from: node(1), to: init, path };
    let cycle = vec![Edge::Po(init, node(1)), Edge::Derived(0)];
    let evidence = Evidence::Cycle(Derivation { steps: vec![step], cycle });
    assert_told(
        &history,
        Model::Cc,
        &evidence,
        "\
stale read: line 4 [bob] r row 0 returns the initial value of row, which line 1 [alice] w row 1 had overwritten:
  line 1  [alice] w row 1
  line 2  [alice] w flag 1  later in thread alice
  line 3  [bob] r flag 1    reads from line 2
  line 4  [bob] r row 0     later in thread bob
",
    );
}

#[test]
fn a_circle_of_causality_has_no_steps() {
    let history = history("[0] r x 1\n[0] w y 1\n[1] r y 1\n[1] w x 1\n");
    let node = |line| at(&history, line);
    let cycle = vec![
        Edge::Rf(node(2), node(3)),
        Edge::Po(node(3), node(4)),
        Edge::Rf(node(4), node(1)),
        Edge::Po(node(1), node(2)),
    ];
    assert_told(
        &history,
        Model::Cc,
        &Evidence::Cycle(Derivation { steps: Vec::new(), cycle }),
        "\
causality in a circle: each of these comes before the next:
  line 1  [0] r x 1
  line 2  [0] w y 1  later in thread 0
  line 3  [1] r y 1  reads from line 2
  line 4  [1] w x 1  later in thread 1
  line 1  [0] r x 1  reads from line 4
",
    );
}

#[test]
fn derived_edges_are_numbered_and_told_below() {
    let history = history("[0] w x 1\n[0] r x 2\n[1] w x 2\n[1] r x 1\n");
    let node = |line| at(&history, line);
    let step =
        |from, to, read| Step { rule: Rule::Conflict { read, view: None }, from, to, path: vec![Edge::Po(from, read)] };
    let steps = vec![step(node(3), node(1), node(4)), step(node(1), node(3), node(2))];
    let evidence = Evidence::Cycle(Derivation { steps, cycle: vec![Edge::Derived(0), Edge::Derived(1)] });
    assert_told(
        &history,
        Model::Ccv,
        &evidence,
        "\
no one order of the writes explains all reads: each of these must come before the next, in a circle:
  line 1  [0] w x 1
  line 3  [1] w x 2  by (1)
  line 1  [0] w x 1  by (2)
  (1) line 2 [0] r x 2 reads from line 3 [1] w x 2 and comes after line 1 [0] w x 1 in thread 0, so line 1 comes \
    before line 3
  (2) line 4 [1] r x 1 reads from line 1 [0] w x 1 and comes after line 3 [1] w x 2 in thread 1, so line 3 comes \
    before line 1
",
    );
}

#[test]
fn store_orders_are_told_in_place_and_initial_values_need_no_path() {
    let history = history("[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n");
    let node = |line| at(&history, line);
    let (x, y) = (Node::Init(LocationId(0)), Node::Init(LocationId(1)));
    let store = |init, write| Step { rule: Rule::StoreOrder, from: init, to: write, path: vec![Edge::Po(init, write)] };
    let read_write =
        |read, write, of| Step { rule: Rule::ReadWrite, from: read, to: write, path: vec![Edge::Derived(of)] };
    let steps =
        vec![store(x, node(1)), store(y, node(3)), read_write(node(2), node(3), 1), read_write(node(4), node(1), 0)];
    let cycle = vec![Edge::Po(node(1), node(2)), Edge::Derived(2), Edge::Po(node(3), node(4)), Edge::Derived(3)];
    assert_told(
        &history,
        Model::Ccm,
        &Evidence::Cycle(Derivation { steps, cycle }),
        "\
no one order of the writes explains all reads: each of these must come before the next, in a circle:
  line 1  [0] w x 1
  line 2  [0] r y 0  later in thread 0
  line 3  [1] w y 1  by (1)
  line 4  [1] r x 0  later in thread 1
  line 1  [0] w x 1  by (2)
  (1) line 2 [0] r y 0 reads the initial value of y, which line 3 [1] w y 1 overwrites, so line 2 comes before line 3
  (2) line 4 [1] r x 0 reads the initial value of x, which line 1 [0] w x 1 overwrites, so line 4 comes before line 1
",
    );
}

#[test]
fn a_view_is_named() {
    let history = history("[0] w x 1\n[1] w x 2\n[2] r x 1\n[2] r x 2\n[2] r x 1\n");
    let node = |line| at(&history, line);
    let view = Some(ProcessId(2));
    let step = |from, to, read, path| Step { rule: Rule::Conflict { read, view }, from, to, path };
    let steps = vec![
        step(node(1), node(2), node(4), vec![Edge::Rf(node(1), node(3)), Edge::Po(node(3), node(4))]),
        step(node(2), node(1), node(5), vec![Edge::Rf(node(2), node(4)), Edge::Po(node(4), node(5))]),
    ];
    let evidence = Evidence::Cycle(Derivation { steps, cycle: vec![Edge::Derived(1), Edge::Derived(0)] });
    assert_told(
        &history,
        Model::Cm,
        &evidence,
        "\
no order explains all reads of thread 2: for it, each of these must come before the next, in a circle:
  line 1  [0] w x 1
  line 2  [1] w x 2  by (1)
  line 1  [0] w x 1  by (2)
  (1) line 4 [2] r x 2 reads from line 2 [1] w x 2 and comes after line 1 [0] w x 1, so line 1 comes before line 2
      line 1  [0] w x 1
      line 3  [2] r x 1  reads from line 1
      line 4  [2] r x 2  later in thread 2
  (2) line 5 [2] r x 1 reads from line 1 [0] w x 1 and comes after line 2 [1] w x 2, so line 2 comes before line 1
      line 2  [1] w x 2
      line 4  [2] r x 2  reads from line 2
      line 5  [2] r x 1  later in thread 2
",
    );
}

#[test]
fn a_view_that_others_need_not_share_is_named_where_it_matters() {
    let history = history("[0] w x 1\n[0] w x 2\n[1] w x 3\n[1] r x 1\n[1] r x 2\n[1] r x 3\n");
    let node = |line| at(&history, line);
    let view = Some(ProcessId(1));
    let step = |from, to, read, path| Step { rule: Rule::Conflict { read, view }, from, to, path };
    let steps = vec![
        step(node(2), node(3), node(6), vec![Edge::Rf(node(2), node(5)), Edge::Po(node(5), node(6))]),
        step(node(2), node(1), node(4), vec![Edge::Derived(0), Edge::Po(node(3), node(4))]),
    ];
    let cycle = vec![Edge::Po(node(1), node(2)), Edge::Derived(1)];
    assert_told(
        &history,
        Model::Ccm,
        &Evidence::Cycle(Derivation { steps, cycle }),
        "\
no one order of the writes explains all reads: each of these must come before the next, in a circle:
  line 2  [0] w x 2
  line 3  [1] w x 3  by (1)
  line 4  [1] r x 1  later in thread 1
  line 2  [0] w x 2  by (2)
  (1) line 6 [1] r x 3 reads from line 3 [1] w x 3 and comes after line 2 [0] w x 2, so line 2 comes before line 3
      line 2  [0] w x 2
      line 5  [1] r x 2  reads from line 2
      line 6  [1] r x 3  later in thread 1
  (2) line 4 [1] r x 1 reads line 1 [0] w x 1, which line 2 [0] w x 2 overwrites, so line 4 comes before line 2
",
    );
}

#[test]
fn a_view_behind_store_buffers_is_named_and_told() {
    let history = history(
        "[0] w x 2\n[1] r x 2\n[1] w x 1\n[1] w y 1\n[1] w f 1\n[2] w y 2\n[2] w z 1\n\
         [3] r z 1\n[3] r x 2\n[3] r f 1\n[3] r y 2\n",
    );
    let node = |line| at(&history, line);
    let po = |from, to| Edge::Po(node(from), node(to));
    let rf = |from, to| Edge::Rf(node(from), node(to));
    let step = |read, from, to, path| {
        let rule = Rule::Conflict { read: node(read), view: Some(ProcessId(3)) };
        Step { rule, from: node(from), to: node(to), path }
    };
    let steps = vec![
        step(11, 4, 6, vec![po(4, 5), rf(5, 10), po(10, 11)]),
        step(9, 3, 1, vec![po(3, 4), Edge::Derived(0), po(6, 7), rf(7, 8), po(8, 9)]),
    ];
    assert_told(
        &history,
        Model::Wccm,
        &Evidence::Cycle(Derivation { steps, cycle: vec![Edge::Derived(1), rf(1, 2), po(2, 3)] }),
        "\
no one order of the writes explains all reads: each of these must come before the next, in a circle:
  line 3  [1] w x 1
  line 4  [1] w y 1  later in thread 1
  line 6  [2] w y 2  by (1)
  line 7  [2] w z 1  later in thread 2
  line 8  [3] r z 1  reads from line 7
  line 9  [3] r x 2  later in thread 3
  line 3  [1] w x 1  by (2)
  (1) line 11 [3] r y 2 reads from line 6 [2] w y 2 and comes after line 4 [1] w y 1, so line 4 comes before line 6
      line 4   [1] w y 1
      line 5   [1] w f 1  later in thread 1
      line 10  [3] r f 1  reads from line 5
      line 11  [3] r y 2  later in thread 3
  (2) line 9 [3] r x 2 reads line 1 [0] w x 2, which line 3 [1] w x 1 overwrites, so line 9 comes before line 3
      line 1  [0] w x 2
      line 2  [1] r x 2  reads from line 1
      line 3  [1] w x 1  later in thread 1
",
    );
}

#[test]
fn behind_store_buffers_a_fence_is_told_between_a_write_and_a_read() {
    let history = history("[0] w x 1\n[0] f\n[0] r z 0\n[0] r y 0\n[1] w y 1\n[1] u t 0 1\n[1] r x 0\n");
    let node = |line| at(&history, line);
    let po = |from, to| Edge::Po(node(from), node(to));
    let overwrites = |init: u32, read, write, first| {
        let init = Node::Init(LocationId(init));
        let path = vec![Edge::Po(init, node(write))];
        let store_order = Step { rule: Rule::StoreOrder, from: init, to: node(write), path };
        let path = vec![Edge::Derived(first)];
        [store_order, Step { rule: Rule::ReadWrite, from: node(read), to: node(write), path }]
    };
    let steps = [overwrites(2, 4, 5, 0), overwrites(0, 7, 1, 2)].concat();
    let cycle = vec![po(1, 2), po(2, 3), po(3, 4), Edge::Derived(1), po(5, 6), po(6, 7), Edge::Derived(3)];
    assert_told(
        &history,
        Model::Wccm,
        &Evidence::Cycle(Derivation { steps, cycle }),
        "\
no one order of the writes explains all reads: each of these must come before the next, in a circle:
  line 1  [0] w x 1
  line 2  [0] f        later in thread 0
  line 4  [0] r y 0    later in thread 0
  line 5  [1] w y 1    by (1)
  line 6  [1] u t 0 1  later in thread 1
  line 7  [1] r x 0    later in thread 1
  line 1  [0] w x 1    by (2)
  (1) line 4 [0] r y 0 reads the initial value of y, which line 5 [1] w y 1 overwrites, so line 4 comes before line 5
  (2) line 7 [1] r x 0 reads the initial value of x, which line 1 [0] w x 1 overwrites, so line 7 comes before line 1
",
    );
}

#[test]
fn values_from_nowhere_are_named() {
    let history = history("# @init x 5\n[0] r x 7\n[1] u x 3 3\n");
    assert_told(
        &history,
        Model::Cc,
        &Evidence::ThinAir(OperationId(0)),
        "\
thin-air read: line 2 [0] r x 7 returns 7, which nobody wrote to x (the initial value is 5)
",
    );
    let rmw = at(&history, 3);
    assert_told(
        &history,
        Model::Cc,
        &Evidence::Cycle(Derivation { steps: Vec::new(), cycle: vec![Edge::Rf(rmw, rmw)] }),
        "\
read of its own write: line 3 [1] u x 3 3 reads the value that only it writes itself
",
    );
}

#[test]
fn a_long_cycle_is_cut_short_by_program_order() {
    // Line 1 comes before line 4 in thread 0, whatever the detour through thread 1 says.
    let history = history("[0] w x 1\n[1] r x 1\n[1] w y 1\n[0] r y 1\n[0] w z 1\n[2] r z 1\n[2] r x 0\n");
    let node = |line| at(&history, line);
    let init = Node::Init(LocationId(0));
    let path = vec![
        Edge::Rf(node(1), node(2)),
        Edge::Po(node(2), node(3)),
        Edge::Rf(node(3), node(4)),
        Edge::Po(node(4), node(5)),
        Edge::Rf(node(5), node(6)),
        Edge::Po(node(6), node(7)),
    ];
    let step = Step { rule: Rule::Conflict { read: node(7), view: None }, from: node(1), to: init, path };
    let cycle = vec![Edge::Po(init, node(1)), Edge::Derived(0)];
    assert_told(
        &history,
        Model::Cc,
        &Evidence::Cycle(Derivation { steps: vec![step], cycle }),
        "\
stale read: line 7 [2] r x 0 returns the initial value of x, which line 1 [0] w x 1 had overwritten:
  line 1  [0] w x 1
  line 5  [0] w z 1  later in thread 0
  line 6  [2] r z 1  reads from line 5
  line 7  [2] r x 0  later in thread 2
",
    );
}

#[test]
fn a_refutation_supposes_and_concludes() {
    let history = history("[0] w x 1\n[0] u x 1 2\n[1] w x 3\n[1] u x 3 4\n");
    let node = |line| at(&history, line);
    let step = |rule, from, to, path| Step { rule, from: node(from), to: node(to), path };
    let update = |number| step(Rule::ReadWrite, 2, 3, vec![Edge::Derived(number)]);
    let supposed = Derivation {
        steps: vec![step(Rule::Assumed, 1, 3, Vec::new()), update(0)],
        cycle: vec![Edge::Derived(1), Edge::Po(node(3), node(2))],
    };
    let concluded = Derivation {
        steps: vec![step(Rule::Lemma(0), 3, 1, Vec::new())],
        cycle: vec![Edge::Derived(0), Edge::Po(node(1), node(3))],
    };
    assert_told(
        &history,
        Model::Sra,
        &Evidence::Refutation(vec![supposed, concluded]),
        "\
no order of the writes agrees with what happens before and with atomicity: whichever way these writes are ordered, \
    a circle follows
[1] suppose that line 1 [0] w x 1 comes before line 3 [1] w x 3; then each of these must come before the next, in a \
    circle:
    line 2  [0] u x 1 2
    line 3  [1] w x 3    by (1)
    line 2  [0] u x 1 2  later in thread 0
    (1) line 2 [0] u x 1 2 reads line 1 [0] w x 1, which line 3 [1] w x 3 overwrites, so line 2 comes before line 3
        line 1  [0] w x 1
        line 3  [1] w x 3  as supposed
[2] in any case, each of these must come before the next, in a circle:
    line 3  [1] w x 3
    line 1  [0] w x 1  by (1)
    line 3  [1] w x 3  later in thread 1
    (1) line 3 [1] w x 3 comes before line 1 [0] w x 1: part 1 refutes the opposite
",
    );
}

#[test]
fn what_is_very_long_is_cut() {
    let count = 400;
    let lines: Vec<String> = (0..count).map(|n| format!("[{n}] u x {n} {}\n", n + 1)).collect();
    let history = history(lines.concat().leak());
    let node = |line| at(&history, line);
    let mut cycle: Vec<Edge> = (1..count).map(|line| Edge::Rf(node(line), node(line + 1))).collect();
    cycle.push(Edge::Rf(node(count), node(1)));
    let lines = report::explain(&history, Model::Cc, &Evidence::Cycle(Derivation { steps: Vec::new(), cycle }));
    assert_eq!(lines.len(), 1 + 40 + 1);
    assert_eq!(lines[21].to_string(), "  ... 361 more ...");
}

#[test]
fn names_do_nothing_to_a_terminal_and_rows_stay_aligned() {
    let history = history("[\u{2066}0] w \u{202e}x 1\n[\u{2066}0] w \u{202e}x 2\n[1] r \u{202e}x 1\n");
    let lines = report::explain(&history, Model::Sc, &Evidence::ThinAir(OperationId(2)));
    assert_eq!(
        lines[0].to_string(),
        "thin-air read: line 3 [1] r \\u{202e}x 1 returns 1, which nobody wrote to \\u{202e}x (the initial value is 0)"
    );
    assert_eq!(lines[0].operations(), [OperationId(2)]);
    let cycle = vec![Edge::Po(at(&history, 1), at(&history, 2)), Edge::Rf(at(&history, 2), at(&history, 1))];
    let evidence = Evidence::Cycle(Derivation { steps: vec![], cycle });
    let lines: Vec<String> = report::explain(&history, Model::Sc, &evidence).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines[1..],
        [
            "  line 1  [\\u{2066}0] w \\u{202e}x 1",
            "  line 2  [\\u{2066}0] w \\u{202e}x 2  later in thread \\u{2066}0",
            "  line 1  [\\u{2066}0] w \\u{202e}x 1  reads from line 2",
        ]
    );
}
