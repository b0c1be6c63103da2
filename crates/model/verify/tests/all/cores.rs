//! Violations of linearizability: cores of operations that contradict each other, made by hand.

use crate::common;
use common::*;
use history::OperationId;
use model::object::{Core, Stay, Zone};
use model::{Evidence, Model};

/// A history from its events: `p method argument` is a call by process p, `p = result` its return.
fn events(object: &str, events: &[&str]) -> String {
    let mut text = format!("# @object {object}\n");
    for event in events {
        let (process, rest) = event.split_once(' ').expect("a process");
        let line = match rest.strip_prefix('=') {
            Some(" fail") => "fail".to_owned(),
            Some(result) => format!("return{result}"),
            None => format!("call {rest}"),
        };
        text.extend([format!("[{process}] {line}\n")]);
    }
    text
}

/// Operations one after the other: each returns before the next is called. Each is `method argument => result`.
fn sequence(object: &str, operations: &[&str]) -> String {
    let mut all = Vec::new();
    for operation in operations {
        let (call, result) = operation.split_once(" => ").unwrap_or((operation, ""));
        all.extend([format!("0 {call}"), format!("0 = {result}")]);
    }
    events(object, &all.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn cannot_be(history: &str, core: Core) {
    proves(history, Model::Linearizable, &Evidence::Core(core));
}

#[track_caller]
fn refuses(history: &str, core: Core, reason: &str) {
    refutes(history, Model::Linearizable, &Evidence::Core(core), &format!("the operations: {reason}"));
}

fn id(number: u32) -> OperationId {
    OperationId(number)
}

fn stay(insert: u32, remove: u32) -> Stay {
    Stay::new(id(insert), Some(id(remove)))
}

/// A value that nobody removes.
fn stays(insert: u32) -> Stay {
    Stay::new(id(insert), None)
}

fn seen(insert: u32, remove: Option<u32>, peeks: &[u32]) -> Stay {
    Stay { insert: id(insert), remove: remove.map(id), peeks: ids(peeks).into() }
}

#[test]
fn a_value_that_nobody_inserted() {
    let never = |number| Core::NeverInserted(id(number));
    let queue = sequence("queue", &["enqueue 1", "dequeue => 2", "peek => 3", "dequeue => 1", "dequeue => empty"]);
    cannot_be(&queue, never(1));
    cannot_be(&queue, never(2));
    refuses(&queue, never(3), "the value has a source");
    refuses(&queue, never(4), "operation 4 returned no value");
    refuses(&queue, never(0), "operation 0 returned no value");
    refuses(&queue, never(9), "operation 9 did not return");
    cannot_be(&sequence("register", &["write 1", "read => 2"]), never(1));
    refuses(&sequence("register", &["write 1", "read => 0"]), never(1), "the value has a source");
    refuses(&sequence("register", &["cas 0 1 => false", "read => 1"]), never(1), "the value has a source");
    // An rmw does not read what it writes itself.
    cannot_be(&sequence("memory", &["u x 1 => 1"]), never(0));
    // The value was written to another key. The insertion of the value failed.
    cannot_be(&sequence("memory", &["w x 1", "r y => 1"]), never(1));
    cannot_be(&events("queue", &["0 enqueue 1", "0 = fail", "0 dequeue", "0 = 1"]), never(1));
    let pending = events("queue", &["0 enqueue 1", "1 dequeue", "1 = 1", "1 dequeue"]);
    refuses(&pending, never(1), "the value has a source");
    refuses(&pending, never(2), "operation 2 did not return");
}

#[test]
fn a_value_that_was_removed_twice() {
    let twice = |insert, one, other| Core::RemovedTwice { insert: id(insert), removes: [id(one), id(other)] };
    let queue =
        sequence("queue", &["enqueue 1", "dequeue => 1", "dequeue => 1", "peek => 1", "enqueue 2", "dequeue => 2"]);
    cannot_be(&queue, twice(0, 1, 2));
    refuses(&queue, twice(0, 1, 1), "these are not two removals of one value");
    refuses(&queue, twice(0, 1, 5), "these are not two removals of one value");
    refuses(&queue, twice(0, 1, 3), "these are not both removals");
    refuses(&queue, twice(4, 1, 2), "operation 4 is not the only source of its value");
    refuses(&queue, twice(0, 0, 1), "operation 0 returned no value");
    refuses(&queue, twice(0, 1, 9), "operation 9 did not return");
    let again = sequence("queue", &["enqueue 1", "enqueue 1", "dequeue => 1", "dequeue => 1"]);
    refuses(&again, twice(0, 2, 3), "operation 0 is not the only source of its value");
    let keys = sequence("memory", &["w x 1", "r x => 1", "r x => 1"]);
    refuses(&keys, twice(0, 1, 2), "these are not both removals");
}

#[test]
fn a_value_that_was_returned_too_early() {
    let early = |insert, remove| Core::TooEarly { insert: id(insert), remove: id(remove) };
    cannot_be(&sequence("stack", &["pop => 1", "push 1"]), early(1, 0));
    cannot_be(&sequence("register", &["read => 1", "write 1"]), early(1, 0));
    let late = sequence("stack", &["push 1", "pop => 1", "push 2"]);
    refuses(&late, early(0, 1), "the value was not returned too early");
    refuses(&late, early(2, 1), "operation 2 is not the only source of its value");
    refuses(&late, early(1, 0), "operation 0 returned no value");
    let initial = sequence("register", &["read => 0", "write 0"]);
    refuses(&initial, early(1, 0), "operation 1 is not the only source of its value");
    let together = events("stack", &["0 push 1", "1 pop", "1 = 1", "0 = "]);
    refuses(&together, early(0, 1), "the value was not returned too early");
}

#[test]
fn a_value_that_was_seen_too_late() {
    let late = |insert, remove, peek| Core::TooLate { insert: id(insert), remove: id(remove), peek: id(peek) };
    let queue =
        sequence("queue", &["enqueue 1", "peek => 1", "dequeue => 1", "peek => 1", "enqueue 2", "dequeue => 2"]);
    cannot_be(&queue, late(0, 2, 3));
    refuses(&queue, late(0, 2, 1), "the value was not seen too late");
    refuses(&queue, late(0, 5, 3), "these are not operations on one value");
    refuses(&queue, late(0, 3, 2), "these are not a removal and a peek");
    refuses(&queue, late(0, 2, 2), "these are not a removal and a peek");
    refuses(&queue, late(4, 2, 3), "operation 4 is not the only source of its value");
    refuses(&queue, late(0, 2, 0), "operation 0 returned no value");
    refuses(&queue, late(0, 0, 3), "operation 0 returned no value");
}

#[test]
fn a_value_that_was_overtaken() {
    let overtaken = |first: Stay, second: Stay| Core::Overtaken { first, second };
    let queue = sequence("queue", &["enqueue 1", "enqueue 2", "dequeue => 2", "dequeue => 1"]);
    cannot_be(&queue, overtaken(stay(0, 3), stay(1, 2)));
    refuses(&queue, overtaken(stay(1, 2), stay(0, 3)), "the second value does not overtake the first");
    refuses(&queue, overtaken(stay(0, 3), stay(0, 3)), "two stays have the same value");
    refuses(&queue, overtaken(stay(9, 3), stay(1, 2)), "the first insertion did not happen");
    refuses(&queue, overtaken(stay(2, 3), stay(1, 2)), "operation 2 is not an insertion into this object");
    refuses(&queue, overtaken(stay(0, 3), stay(9, 2)), "operation 9 is not an insertion into this object");
    refuses(&queue, overtaken(stay(0, 2), stay(1, 3)), "operation 2 does not remove or see the value of its stay");
    refuses(&queue, overtaken(stay(0, 1), stay(1, 2)), "operation 1 returned no value");
    refuses(
        &queue,
        overtaken(seen(0, None, &[3]), stay(1, 2)),
        "operation 3 does not remove or see the value of its stay",
    );
    refuses(&queue, overtaken(stays(0), stay(1, 2)), "operation 3 removes a value that is said to stay");
    let stack = sequence("stack", &["push 1", "push 2", "pop => 2", "pop => 1"]);
    refuses(&stack, overtaken(stay(0, 3), stay(1, 2)), "such a core proves nothing about a stack");
}

#[test]
fn values_that_stay_or_were_seen() {
    let overtaken = |first: Stay, second: Stay| Core::Overtaken { first, second };
    let left = sequence("queue", &["enqueue 1", "enqueue 2", "dequeue => 2"]);
    cannot_be(&left, overtaken(stays(0), stay(1, 2)));
    let peeked = sequence("queue", &["enqueue 1", "enqueue 2", "peek => 2", "dequeue => 1"]);
    cannot_be(&peeked, overtaken(stay(0, 3), seen(1, None, &[2])));
    refuses(&peeked, overtaken(stay(0, 3), stay(1, 2)), "operation 2 does not remove or see the value of its stay");
    // A pending removal may have taken the first.
    let taken = events("queue", &["0 enqueue 1", "0 = ", "0 enqueue 2", "0 = ", "1 dequeue", "0 dequeue", "0 = 2"]);
    refuses(&taken, overtaken(stays(0), stay(1, 3)), "the second value does not overtake the first");
    // A pending insertion whose value nobody returned need not have happened.
    let pending = events("queue", &["1 enqueue 1", "0 enqueue 2", "0 = ", "0 dequeue", "0 = 2"]);
    let reason = "operation 0 is pending, and nobody returned its value";
    refuses(&pending, overtaken(stays(0), stay(1, 2)), reason);
    let again = sequence("queue", &["enqueue 1", "enqueue 2", "dequeue => 2", "enqueue 1"]);
    refuses(&again, overtaken(stays(0), stay(1, 2)), "a value is inserted more than once");
    // Another key is another queue.
    let keys = "# @object queue\n[0] call enqueue 1 key=a\n[0] return\n[0] call enqueue 2 key=b\n[0] return\n\
                [0] call dequeue key=b\n[0] return 2\n";
    refuses(keys, overtaken(stays(0), stay(1, 2)), "operation 1 is not an insertion into this object");
}

#[test]
fn a_circle_of_values() {
    let queue = sequence("queue", &["enqueue 1", "enqueue 2", "dequeue => 2", "dequeue => 1"]);
    cannot_be(&queue, Core::Circle(vec![stay(0, 3), stay(1, 2)]));
    let three = events(
        "queue",
        &[
            "0 enqueue 1",
            "1 enqueue 2",
            "2 enqueue 3",
            "0 = ",
            "0 enqueue 4",
            "1 = ",
            "2 = ",
            "0 = ",
            "0 dequeue",
            "0 = 4",
            "0 dequeue",
            "0 = 2",
            "0 dequeue",
            "0 = 1",
            "0 dequeue",
            "0 = 3",
        ],
    );
    cannot_be(&three, Core::Circle(vec![stay(0, 6), stay(3, 4), stay(1, 5)]));
    refuses(&three, Core::Circle(vec![stay(0, 6), stay(1, 5), stay(2, 7)]), "a value need not come before the next");
    for few in [vec![], vec![stay(0, 3)], vec![stay(9, 3), stay(1, 2)]] {
        refuses(&queue, Core::Circle(few), "a circle needs at least two values that were inserted");
    }
    refuses(&queue, Core::Circle(vec![stay(0, 3), stay(0, 3)]), "two stays have the same value");
    let right = sequence("queue", &["enqueue 1", "enqueue 2", "dequeue => 1", "dequeue => 2"]);
    let reason = "a value need not come before the next";
    refuses(&right, Core::Circle(vec![stay(0, 2), stay(1, 3)]), reason);
    let stack = sequence("stack", &["push 1", "push 2", "pop => 2", "pop => 1"]);
    refuses(&stack, Core::Circle(vec![stay(0, 3), stay(1, 2)]), "such a core proves nothing about a stack");
}

#[test]
fn an_empty_container_that_is_not() {
    let covered = |removal, by: &[Stay]| Core::Covered { removal: id(removal), by: by.to_vec() };
    for (object, insert, remove) in
        [("queue", "enqueue", "dequeue"), ("stack", "push", "pop"), ("pqueue", "insert", "delete-max")]
    {
        for sees in [remove, "peek"] {
            let one = events(
                object,
                &[&format!("0 {insert} 1"), "0 = ", &format!("1 {sees}"), "1 = empty", &format!("0 {remove}"), "0 = 1"],
            );
            cannot_be(&one, covered(1, &[stay(0, 2)]));
            refuses(&one, covered(1, &[]), "the values do not cover the whole time of the removal");
            refuses(&one, covered(0, &[stay(0, 2)]), "the operation is not a removal or a peek");
            refuses(&one, covered(9, &[stay(0, 2)]), "the removal did not return");
        }
    }
    // Two values one after the other, with and without a gap between them.
    let two = |gap: bool| {
        let (first, second) = if gap { ("0 = 1", "2 enqueue 2") } else { ("2 enqueue 2", "2 = ") };
        let (third, fourth) = if gap { ("2 enqueue 2", "2 = ") } else { ("0 dequeue", "0 = 1") };
        let middle = if gap { vec!["0 dequeue", first, third, fourth] } else { vec![first, second, third, fourth] };
        let ends = [vec!["0 enqueue 1", "0 = ", "1 dequeue"], middle, vec!["1 = empty", "2 dequeue", "2 = 2"]];
        events("queue", &ends.concat())
    };
    cannot_be(&two(false), covered(1, &[stay(0, 3), stay(2, 4)]));
    let gap = "there is a moment at which none of the values is certainly inside";
    refuses(&two(true), covered(1, &[stay(0, 2), stay(3, 4)]), gap);
    refuses(&two(false), covered(1, &[stay(2, 4), stay(0, 3)]), gap);
    refuses(&two(false), covered(1, &[stay(0, 3)]), "the values do not cover the whole time of the removal");
    let pending = events("queue", &["0 enqueue 1", "0 = ", "1 dequeue"]);
    refuses(&pending, covered(1, &[stays(0)]), "the removal did not return");
}

#[test]
fn a_value_that_was_not_the_largest() {
    let covered = |removal, by: &[Stay]| Core::Covered { removal: id(removal), by: by.to_vec() };
    for sees in ["delete-max => 1", "peek => 1"] {
        let smaller = sequence("pqueue", &["insert 2", "insert 1", sees, "delete-max => 2"]);
        cannot_be(&smaller, covered(2, &[stay(0, 3)]));
        refuses(&smaller, covered(2, &[stay(1, 2)]), "a value that is not larger cannot cover the removal");
        refuses(&smaller, covered(2, &[stay(9, 2)]), "a value that is not larger cannot cover the removal");
    }
    let right = sequence("pqueue", &["insert 2", "delete-max => 2", "insert 1", "delete-max => 1"]);
    let gap = "there is a moment at which none of the values is certainly inside";
    refuses(&right, covered(3, &[stay(0, 1)]), gap);
    let queue = sequence("queue", &["enqueue 2", "enqueue 1", "dequeue => 1", "dequeue => 2"]);
    refuses(&queue, covered(2, &[stay(0, 3)]), "such a core proves nothing about a queue");
    // A removal cannot come before the insertion of its value, nor before a peek that saw the value.
    let early = events(
        "pqueue",
        &["1 delete-max", "0 insert 2", "0 = ", "0 insert 1", "0 = ", "1 = 1", "0 delete-max", "0 = 2"],
    );
    cannot_be(&early, covered(0, &[stay(1, 3)]));
    let peeked = events(
        "pqueue",
        &[
            "0 insert 1",
            "0 = ",
            "1 delete-max",
            "0 insert 2",
            "0 = ",
            "0 peek",
            "0 = 1",
            "1 = 1",
            "0 delete-max",
            "0 = 2",
        ],
    );
    cannot_be(&peeked, covered(1, &[stay(2, 4)]));
    // A peek cannot come after the removal of the value that it saw.
    let removed = events(
        "pqueue",
        &[
            "0 insert 1",
            "0 = ",
            "0 insert 2",
            "0 = ",
            "1 peek",
            "0 delete-max",
            "0 = 1",
            "0 delete-max",
            "0 = 2",
            "1 = 1",
        ],
    );
    cannot_be(&removed, covered(2, &[stay(1, 4)]));
    refuses(&removed, covered(2, &[]), "the values do not cover the whole time of the removal");
}

#[test]
fn values_that_cannot_be_nested() {
    let tangled = |stays: &[Stay]| Core::Tangled(stays.to_vec());
    let stack = sequence("stack", &["push 1", "push 2", "pop => 1", "pop => 2"]);
    cannot_be(&stack, tangled(&[stay(0, 2), stay(1, 3)]));
    refuses(&stack, tangled(&[]), "there is no value that was inserted");
    refuses(&stack, tangled(&[stay(9, 2)]), "there is no value that was inserted");
    refuses(&stack, tangled(&[stay(0, 2)]), "the values can be nested");
    refuses(&stack, tangled(&[stay(0, 2), stay(0, 2)]), "two stays have the same value");
    let nested = sequence("stack", &["push 1", "push 2", "pop => 2", "pop => 1"]);
    refuses(&nested, tangled(&[stay(0, 3), stay(1, 2)]), "the values can be nested");
    let queue = sequence("queue", &["enqueue 1", "enqueue 2", "dequeue => 1", "dequeue => 2"]);
    refuses(&queue, tangled(&[stay(0, 2), stay(1, 3)]), "such a core proves nothing about a queue");
    // A peek saw the value below the top.
    let below = sequence("stack", &["push 1", "push 2", "peek => 1", "pop => 2", "pop => 1"]);
    cannot_be(&below, tangled(&[seen(0, Some(4), &[2]), stay(1, 3)]));
    refuses(&below, tangled(&[stay(0, 4), stay(1, 3)]), "the values can be nested");
    let top = sequence("stack", &["push 1", "push 2", "peek => 2", "pop => 2", "pop => 1"]);
    refuses(&top, tangled(&[stay(0, 4), seen(1, Some(3), &[2])]), "the values can be nested");
}

fn zone(write: Option<u32>, returned: Option<u32>, called: u32) -> Zone {
    Zone { write: write.map(id), returned: returned.map(id), called: id(called) }
}

#[test]
fn values_of_a_register() {
    let zones = |first: Zone, second: Zone| Core::Zones([first, second]);
    let register = sequence("register", &["write 1", "write 2", "read => 1", "read => 2"]);
    let one = zone(Some(0), Some(0), 2);
    let two = zone(Some(1), Some(1), 3);
    cannot_be(&register, zones(one, two));
    cannot_be(&register, zones(two, one));
    refuses(&register, zones(one, one), "the values can stand one after the other");
    let reads_back = "the operation that was called last is not on the value";
    refuses(&register, zones(zone(Some(0), Some(0), 3), two), reads_back);
    refuses(&register, zones(one, zone(Some(1), Some(1), 9)), reads_back);
    refuses(&register, zones(zone(Some(0), Some(0), 9), two), "the operation that was called last did not happen");
    let first = "the operation that returned first is not on the value";
    refuses(&register, zones(zone(Some(0), Some(1), 2), two), first);
    refuses(&register, zones(zone(Some(0), None, 2), two), first);
    refuses(&register, zones(zone(Some(2), Some(0), 2), two), "operation 2 is not a write of this register");
    refuses(&register, zones(zone(Some(9), Some(0), 2), two), "operation 9 is not a write of this register");
    let right = sequence("register", &["write 1", "read => 1", "write 2", "read => 2"]);
    let apart = zones(zone(Some(0), Some(0), 1), zone(Some(2), Some(2), 3));
    refuses(&right, apart, "the values can stand one after the other");
    let queue = sequence("queue", &["enqueue 1", "dequeue => 1"]);
    refuses(&queue, zones(one, two), "such a core proves nothing about a queue");
    let again = sequence("register", &["write 1", "write 2", "read => 1", "write 1"]);
    let only = "operation 0 is not the only source of its value";
    refuses(&again, zones(one, zone(Some(1), Some(1), 1)), only);
    // A compare-and-swap may have written nothing.
    let swapped = sequence("register", &["cas 0 1 => true", "write 2", "read => 1"]);
    refuses(&swapped, zones(one, zone(Some(1), Some(1), 1)), "operation 0 is not a write of this register");
}

#[test]
fn the_initial_value_of_a_register() {
    let zones = |first: Zone, second: Zone| Core::Zones([first, second]);
    for (object, key) in [("register", ""), ("memory", " x")] {
        let write = |value: &str| format!("write{key} {value}");
        let read = format!("read{key} => 0");
        let late = sequence(object, &[&write("1"), &read]);
        cannot_be(&late, zones(zone(None, None, 1), zone(Some(0), Some(0), 0)));
        let written = sequence(object, &[&write("1"), &read, &write("0")]);
        let reason = "the initial value is also written";
        refuses(&written, zones(zone(None, None, 1), zone(Some(0), Some(0), 0)), reason);
    }
    let pending = events("register", &["1 write 1", "0 read", "0 = 0"]);
    let reason = "the write is pending, and nobody read it";
    refuses(&pending, zones(zone(None, None, 1), zone(Some(0), Some(0), 0)), reason);
}

#[test]
fn an_exchange_without_a_partner() {
    let unpaired = |number| Core::Unpaired(id(number));
    let exchanger = events(
        "exchanger",
        &[
            "0 exchange 1",
            "1 exchange 2",
            "2 exchange 3",
            "0 = 2",
            "1 = 1",
            "2 = null",
            "0 exchange 4",
            "0 = 1",
            "1 exchange 5",
        ],
    );
    cannot_be(&exchanger, unpaired(3));
    refuses(&exchanger, unpaired(0), "there is an exchange that can be the partner");
    for number in [2, 4, 9] {
        refuses(&exchanger, unpaired(number), "the exchange did not return a value");
    }
    let queue = sequence("queue", &["enqueue 1", "dequeue => 1"]);
    refuses(&queue, unpaired(1), "such a core proves nothing about a queue");
}

#[test]
fn an_operation_that_cannot_return() {
    let can = "the operation can return: there is an order of what happened up to there";
    for (object, good, bad) in [
        ("register", vec!["write 1", "read => 1"], vec!["write 1", "read => 0"]),
        ("register", vec!["cas 0 1 => true", "cas 0 1 => false"], vec!["cas 0 1 => true", "cas 0 1 => true"]),
        ("queue", vec!["enqueue 1", "enqueue 2", "dequeue => 1"], vec!["enqueue 1", "enqueue 2", "dequeue => 2"]),
        ("queue", vec!["enqueue 1", "peek => 1"], vec!["enqueue 1", "peek => empty"]),
        ("queue", vec!["dequeue => empty", "enqueue 1"], vec!["enqueue 1", "dequeue => empty"]),
        ("stack", vec!["push 1", "push 2", "pop => 2"], vec!["push 1", "push 2", "pop => 1"]),
        ("stack", vec!["push 1", "peek => 1"], vec!["push 1", "peek => empty"]),
        ("stack", vec!["push 1", "pop => 1", "pop => empty"], vec!["push 1", "pop => empty"]),
        ("pqueue", vec!["insert 1", "insert 2", "delete-max => 2"], vec!["insert 1", "insert 2", "delete-max => 1"]),
        ("set", vec!["add 1 => true", "contains 1 => true"], vec!["add 1 => true", "contains 1 => false"]),
        ("set", vec!["add 1 => true", "remove 1 => true"], vec!["add 1 => true", "add 1 => true"]),
        ("mutex", vec!["lock", "unlock", "lock"], vec!["lock", "lock"]),
        ("mutex", vec!["lock", "try-lock => false"], vec!["lock", "try-lock => true"]),
        ("semaphore", vec!["acquire", "release"], vec!["release"]),
        ("kv", vec!["put a", "get => a"], vec!["put a", "get => b"]),
    ] {
        let last = |operations: &[&str]| Core::Stuck(id(operations.len() as u32 - 1));
        cannot_be(&sequence(object, &bad), last(&bad));
        refuses(&sequence(object, &good), last(&good), can);
        refuses(&sequence(object, &good), Core::Stuck(id(9)), "the operation did not return");
    }
    let pending = events("queue", &["0 enqueue 1", "1 dequeue", "0 = ", "2 enqueue 2", "2 = fail"]);
    refuses(&pending, Core::Stuck(id(1)), "the operation did not return");
    refuses(&pending, Core::Stuck(id(2)), "the operation did not return");
}

#[test]
fn operations_that_overlap_take_effect_in_any_order() {
    let can = "the operation can return: there is an order of what happened up to there";
    // A pending operation may have taken effect, and then explains what another operation returned.
    for (object, call, other, result) in [
        ("register", "write 1", "read", "1"),
        ("queue", "enqueue 1", "dequeue", "1"),
        ("stack", "push 1", "pop", "1"),
        ("pqueue", "insert 1", "delete-max", "1"),
        ("set", "add 1", "contains 1", "true"),
        ("kv", "put 1", "get", "1"),
    ] {
        let history = events(object, &[&format!("0 {call}"), &format!("1 {other}"), &format!("1 = {result}")]);
        refuses(&history, Core::Stuck(id(1)), can);
        let after = events(object, &[&format!("1 {other}"), &format!("1 = {result}"), &format!("0 {call}")]);
        cannot_be(&after, Core::Stuck(id(0)));
    }
    // Two pending pops of a stack, and two pushes: only one order explains the last operation.
    let stack =
        events("stack", &["0 push 1", "1 push 2", "0 = ", "1 = ", "2 pop", "0 pop", "0 = 1", "1 pop", "1 = empty"]);
    refuses(&stack, Core::Stuck(id(4)), can);
    let queue = events(
        "queue",
        &["0 enqueue 1", "1 enqueue 2", "0 = ", "1 = ", "2 dequeue", "0 dequeue", "0 = 1", "1 dequeue", "1 = empty"],
    );
    refuses(&queue, Core::Stuck(id(4)), can);
    let mutex = events("mutex", &["0 lock", "1 lock", "0 = ", "1 = "]);
    cannot_be(&mutex, Core::Stuck(id(1)));
    let waits = events("mutex", &["0 lock", "1 lock", "0 = ", "0 unlock", "1 = ", "0 = "]);
    refuses(&waits, Core::Stuck(id(1)), can);
}

#[test]
fn exchanges_that_cannot_all_have_partners() {
    let exchanges = events("exchanger", &["0 exchange 1", "1 exchange 2", "2 exchange 1", "0 = 2", "2 = 2", "1 = 1"]);
    cannot_be(&exchanges, Core::Stuck(id(2)));
    refuses(&exchanges, Core::Stuck(id(0)), "the exchanges up to there can all have partners");
}

#[test]
fn a_set_that_is_read_as_a_whole() {
    let can = "the operation can return: there is an order of what happened up to there";
    // Two reads saw different halves. A read saw an element that nobody added, or that was added after the read. A read
    // did not see an element that was added before.
    for operations in [
        &["0 add 1", "1 add 2", "2 read", "2 = {1}", "2 read", "2 = {2}"][..],
        &["0 add 1", "2 read", "2 = {3}"],
        &["2 read", "2 = {1}", "0 add 1"],
        &["0 add 1", "0 = true", "2 read", "2 = {}"],
        &["0 add 1", "0 = true", "0 remove 1", "0 = true", "2 read", "2 = {1}"],
    ] {
        let history = events("set", operations);
        let last = parse(&history).operations().len() as u32 - 1;
        let blamed = if operations[0] == "2 read" { 0 } else { last };
        cannot_be(&history, Core::Stuck(id(blamed)));
    }
    for operations in [
        &["0 add 1", "1 add 2", "2 read", "2 = {1}", "2 read", "2 = {1,2}"][..],
        &["0 add 1", "2 read", "2 = {}"],
        &["0 add 1", "0 = true", "0 remove 1", "0 = true", "2 read", "2 = {}"],
    ] {
        let history = events("set", operations);
        let last = parse(&history).operations().len() as u32 - 1;
        refuses(&history, Core::Stuck(id(last)), can);
    }
}
