//! Linearizability: linearizations of every object, and the pairs of an exchanger.

use crate::common;
use common::*;
use history::OperationId;
use model::object::Linearization;
use model::{Evidence, Model};

const LINEARIZABLE: Model = Model::Linearizable;

/// A history of one thread: each operation returns before the next is called. It is `method argument => result`.
fn sequence(object: &str, operations: &[&str]) -> String {
    let mut text = format!("# @object {object}\n");
    for operation in operations {
        let (call, result) = operation.split_once(" => ").unwrap_or((operation, ""));
        text.extend([format!("[0] call {call}\n"), format!("[0] return {result}\n")]);
    }
    text
}

fn orders(all: &[&[u32]]) -> Evidence {
    let order = |order: &&[u32]| Linearization { order: ids(order), results: Vec::new() };
    Evidence::Linearizations(all.iter().map(order).collect())
}

/// Asserts that a sequence of operations is a run of the object; or, with `fails`, that this operation cannot return
/// its result.
#[track_caller]
fn runs(object: &str, operations: &[&str], fails: Option<u32>) {
    let all: Vec<u32> = (0..operations.len() as u32).collect();
    match fails {
        None => witnesses(&sequence(object, operations), LINEARIZABLE, &orders(&[&all])),
        Some(at) => {
            let reason =
                format!("the linearization: operation {at} cannot return its result at its place in the order");
            rejects(&sequence(object, operations), LINEARIZABLE, &orders(&[&all]), &reason);
        }
    }
}

#[test]
fn registers() {
    runs("register", &["read => 0", "write 1", "read => 1"], None);
    runs("register", &["read => 1"], Some(0));
    runs("register", &["write 1", "read => 0"], Some(1));
    runs("register", &["write 1", "cas 1 2 => true", "cas 1 3 => false", "read => 2"], None);
    runs("register", &["cas 1 2 => true"], Some(0));
    runs("register", &["cas 0 2 => false"], Some(0));
    runs("memory", &["w x 1", "u x 2 => 1", "r x => 2"], None);
    runs("memory", &["w x 1", "u x 2 => 0"], Some(1));
}

#[test]
fn containers() {
    runs("queue", &["enqueue 1", "enqueue 2", "peek => 1", "dequeue => 1", "dequeue => 2", "dequeue => empty"], None);
    runs("queue", &["enqueue 1", "enqueue 2", "dequeue => 2"], Some(2));
    runs("queue", &["enqueue 1", "enqueue 2", "peek => 2"], Some(2));
    runs("queue", &["enqueue 1", "dequeue => empty"], Some(1));
    runs("queue", &["peek => empty", "dequeue => 1"], Some(1));
    runs("stack", &["push 1", "push 2", "peek => 2", "pop => 2", "pop => 1", "peek => empty", "pop => empty"], None);
    runs("stack", &["push 1", "push 2", "pop => 1"], Some(2));
    runs("stack", &["push 1", "push 2", "peek => 1"], Some(2));
    runs("stack", &["push 1", "pop => empty"], Some(1));
    let largest = ["insert 1", "insert 3", "insert 3", "peek => 3", "delete-max => 3", "delete-max => 3"];
    runs("pqueue", &largest, None);
    runs("pqueue", &[&largest[..], &["delete-max => 1", "peek => empty", "delete-max => empty"]].concat(), None);
    runs("pqueue", &[&largest[..], &["delete-max => 3"]].concat(), Some(6));
    runs("pqueue", &["insert 1", "insert 3", "delete-max => 1"], Some(2));
    runs("pqueue", &["insert 1", "insert 3", "peek => 1"], Some(2));
    runs("pqueue", &["insert 1", "delete-max => empty"], Some(1));
}

#[test]
fn sets_locks_and_strings() {
    let element = ["add 1 => true", "add 1 => false", "contains 1 => true", "remove 1 => true", "remove 1 => false"];
    runs("set", &element, None);
    runs("set", &[&element[..], &["contains 1 => false"]].concat(), None);
    runs("set", &["add 1 => false"], Some(0));
    runs("set", &["remove 1 => true"], Some(0));
    runs("set", &["contains 1 => true"], Some(0));
    runs("mutex", &["lock", "try-lock => false", "unlock", "try-lock => true", "unlock"], None);
    runs("mutex", &["lock", "lock"], Some(1));
    runs("mutex", &["unlock"], Some(0));
    runs("mutex", &["lock", "try-lock => true"], Some(1));
    runs("mutex", &["try-lock => false"], Some(0));
    runs("semaphore\n# @capacity 2", &["acquire", "acquire", "release", "acquire", "release", "release"], None);
    runs("semaphore\n# @capacity 2", &["acquire", "acquire", "acquire"], Some(2));
    runs("semaphore\n# @capacity 2", &["release"], Some(0));
    runs("kv", &["put a", "append b", "get => ab", "put c", "get => c"], None);
    runs("kv", &["put a", "get => b"], Some(1));
}

/// Two enqueues that overlap, a dequeue after both, a pending dequeue, and a peek that failed.
const QUEUE: &str = "# @object queue\n[0] call enqueue 1\n[1] call enqueue 2\n[0] return\n[1] return\n\
                     [0] call dequeue\n[0] return 2\n[1] call dequeue\n[0] call peek\n[0] fail\n";

#[test]
fn a_linearization() {
    witnesses(QUEUE, LINEARIZABLE, &orders(&[&[1, 0, 2]]));
    witnesses(QUEUE, LINEARIZABLE, &orders(&[&[1, 0, 2, 3]]));
    witnesses(QUEUE, LINEARIZABLE, &orders(&[&[], &[1, 0, 2], &[]]));
    let rejects = |all: &[&[u32]], reason: &str| {
        rejects(QUEUE, LINEARIZABLE, &orders(all), &format!("the linearization: {reason}"));
    };
    rejects(&[], "operation 0 returned and is in no order");
    rejects(&[&[1, 0]], "operation 2 returned and is in no order");
    rejects(&[&[0, 1, 2]], "operation 2 cannot return its result at its place in the order");
    rejects(&[&[1, 2, 0]], "operation 0 returned before the call of an operation that stands before it");
    rejects(&[&[1, 0, 2, 2]], "operation 2 takes effect twice");
    rejects(&[&[1, 0, 2, 4]], "operation 4 did not happen");
    rejects(&[&[4]], "operation 4 did not happen");
    rejects(&[&[9]], "operation 9 did not happen");
    rejects(&[&[1, 0, 2, 9]], "operation 9 did not happen");
    rejects(&[&[1, 0], &[2]], "there are two orders of the operations on one object");
}

#[test]
fn objects_of_several_keys() {
    let keys = sequence("queue", &["enqueue 1 key=a", "enqueue 2 key=b", "dequeue => 2 key=b"])
        .replace("[0] return 2 key=b", "[0] return 2")
        .replace("[0] call dequeue\n", "[0] call dequeue key=b\n");
    witnesses(&keys, LINEARIZABLE, &orders(&[&[0], &[1, 2]]));
    witnesses(&keys, LINEARIZABLE, &orders(&[&[1, 2], &[0]]));
    let reason = "the linearization: operation 1 is on another object";
    rejects(&keys, LINEARIZABLE, &orders(&[&[0, 1, 2]]), reason);
    let elements = sequence("set", &["add 1 => true", "add 2 => true"]);
    witnesses(&elements, LINEARIZABLE, &orders(&[&[1], &[0]]));
    rejects(&elements, LINEARIZABLE, &orders(&[&[0, 1]]), reason);
}

#[test]
fn results_of_pending_operations() {
    let history = parse(QUEUE);
    let (one, two) = (history.operation(OperationId(0)).argument, history.operation(OperationId(1)).argument);
    let order = |results: &[(u32, history::Value)]| {
        let results = results.iter().map(|&(id, value)| (OperationId(id), value)).collect();
        Evidence::Linearizations(vec![Linearization { order: ids(&[1, 0, 2, 3]), results }])
    };
    let outcome = |evidence: &Evidence| {
        let certificate = certificate(&history, LINEARIZABLE, model::Verdict::Consistent, evidence);
        verify::verify(&certificate, &history).map_err(|refusal| refusal.to_string())
    };
    assert_eq!(outcome(&order(&[(3, one)])), Ok(()));
    let wrong = "the linearization: operation 3 cannot return its result at its place in the order";
    assert_eq!(outcome(&order(&[(3, two)])), Err(wrong.to_owned()));
    let chosen = "the linearization: operation 2 has returned, so the certificate must not choose its result";
    assert_eq!(outcome(&order(&[(2, two), (3, one)])), Err(chosen.to_owned()));
}

#[test]
fn a_history_without_calls() {
    let instant = "# @object queue\n[0] enqueue 1\n";
    let reason = "the linearization: the history has no calls and returns";
    rejects(instant, LINEARIZABLE, &orders(&[&[0]]), reason);
    // In a history with calls, an operation that was recorded as one event lasts until the next event.
    let mixed = "# @object queue\n[0] call dequeue\n[1] enqueue 1\n[0] return 1\n";
    witnesses(mixed, LINEARIZABLE, &orders(&[&[1, 0]]));
    let mixed = "# @object queue\n[1] enqueue 1\n[1] enqueue 2\n[0] call dequeue\n[0] return 2\n";
    let reason = "the linearization: operation 0 returned before the call of an operation that stands before it";
    rejects(mixed, LINEARIZABLE, &orders(&[&[1, 0, 2]]), reason);
}

/// Two operations exchange their values. One meets nobody, one is pending, and one failed.
const EXCHANGER: &str = "# @object exchanger\n[0] call exchange 1\n[1] call exchange 2\n[2] call exchange 3\n\
                         [0] return 2\n[1] return 1\n[2] return null\n[0] call exchange 4\n[1] call exchange 5\n\
                         [1] fail\n";

fn pairs(all: &[[u32; 2]]) -> Evidence {
    Evidence::Pairs(all.iter().map(|pair| pair.map(OperationId)).collect())
}

#[test]
fn the_pairs_of_an_exchanger() {
    witnesses(EXCHANGER, LINEARIZABLE, &pairs(&[[0, 1]]));
    witnesses(EXCHANGER, LINEARIZABLE, &pairs(&[[1, 0]]));
    let rejects = |all: &[[u32; 2]], reason: &str| {
        rejects(EXCHANGER, LINEARIZABLE, &pairs(all), &format!("the linearization: {reason}"));
    };
    rejects(&[], "operation 0 returned a value and is in no pair");
    rejects(&[[0, 1], [1, 0]], "an operation is in two pairs");
    rejects(&[[0, 4]], "a pair has an operation that did not happen");
    rejects(&[[9, 0]], "a pair has an operation that did not happen");
    rejects(&[[0, 0]], "operations 0 and 0 cannot have exchanged their values");
    rejects(&[[0, 2]], "operations 0 and 2 cannot have exchanged their values");
    rejects(&[[0, 1], [2, 3]], "operations 2 and 3 cannot have exchanged their values");
}

#[test]
fn partners_meet() {
    let partners = "# @object exchanger\n[0] call exchange 1\n[0] return 2\n[1] call exchange 2\n[1] return 1\n";
    let reason = "the linearization: operations 0 and 1 cannot have exchanged their values";
    rejects(partners, LINEARIZABLE, &pairs(&[[0, 1]]), reason);
    rejects(partners, LINEARIZABLE, &pairs(&[[1, 0]]), reason.replace("0 and 1", "1 and 0").as_str());
    let keys =
        "# @object exchanger\n[0] call exchange 1 key=a\n[1] call exchange 2 key=b\n[0] return 2\n[1] return 1\n";
    rejects(keys, LINEARIZABLE, &pairs(&[[0, 1]]), reason);
    // A pending exchange may have a partner.
    let pending = "# @object exchanger\n[0] call exchange 1\n[1] call exchange 2\n[0] return 2\n";
    witnesses(pending, LINEARIZABLE, &pairs(&[[0, 1]]));
}

#[test]
fn orders_are_not_of_an_exchanger_and_pairs_of_nothing_else() {
    let reason = "this kind of evidence does not prove consistent under linearizable";
    rejects(EXCHANGER, LINEARIZABLE, &orders(&[&[0, 1, 2]]), reason);
    rejects(QUEUE, LINEARIZABLE, &pairs(&[[0, 1]]), reason);
}
