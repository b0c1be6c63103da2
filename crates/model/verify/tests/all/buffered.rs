//! Store buffers: `tso`, `pso`, `wtso`, `wpso`.

use crate::common;
use common::*;
use model::{Evidence, Model};

const BUFFERED: [Model; 4] = [Model::Tso, Model::Wtso, Model::Pso, Model::Wpso];

/// The locations are x, then y.
const STORE_BUFFERING: &str = "[0] w x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n";

/// The same with an operation between the write and the read of each thread: operations 1 and 4.
fn store_buffering_with(middle: &str) -> String {
    format!("[0] w x 1\n[0] {middle}\n[0] r y 0\n[1] w y 1\n[1] {middle}\n[1] r x 0\n")
}

/// The cycle of [`store_buffering_with`]. In each thread it takes two edges of program order, or one.
fn round(steps_of_a_thread: usize) -> Evidence {
    let steps = [rw(2, 3, &[po(init(1), 3)]), rw(5, 0, &[po(init(0), 0)])];
    let all = if steps_of_a_thread == 2 {
        vec![step(0), po(3, 4), po(4, 5), step(1), po(0, 1), po(1, 2)]
    } else {
        vec![step(0), po(3, 5), step(1), po(0, 2)]
    };
    cycle(&steps, &all)
}

fn neither(place: &str, model: Model) -> String {
    format!("{place}: a path is neither in ppo and rfe nor in po-loc and rf, under {model}")
}

#[test]
fn a_write_may_wait_until_after_a_read() {
    let steps = [rw(1, 2, &[po(init(1), 2)]), rw(3, 0, &[po(init(0), 0)])];
    let evidence = cycle(&steps, &[step(0), po(2, 3), step(1), po(0, 1)]);
    for model in BUFFERED {
        refutes(STORE_BUFFERING, model, &evidence, &neither("the cycle", model));
    }
}

#[test]
fn what_keeps_a_write_before_a_read() {
    for model in BUFFERED {
        for fence in ["f", "f.sc"] {
            proves(&store_buffering_with(fence), model, &round(2));
            refutes(&store_buffering_with(fence), model, &round(1), &neither("the cycle", model));
        }
        for fence in ["f.acq", "f.rel", "f.acqrel"] {
            refutes(&store_buffering_with(fence), model, &round(2), &neither("the cycle", model));
        }
    }
    // In tso, an rmw of another location is a fence.
    for model in [Model::Tso, Model::Wtso] {
        let history = "[0] w x 1\n[0] u z 0 1\n[0] r y 0\n[1] w y 1\n[1] u v 0 1\n[1] r x 0\n";
        let steps = [rw(2, 3, &[po(init(2), 3)]), rw(5, 0, &[po(init(0), 0)])];
        proves(history, model, &cycle(&steps, &[step(0), po(3, 4), po(4, 5), step(1), po(0, 1), po(1, 2)]));
    }
}

#[test]
fn writes_of_two_locations_are_kept_in_order_by_tso_alone() {
    let passing = "[0] w x 1\n[0] w y 1\n[1] r y 1\n[1] r x 0\n";
    let evidence = cycle(&[rw(3, 0, &[po(init(0), 0)])], &[po(0, 1), rf(1, 2), po(2, 3), step(0)]);
    for model in [Model::Tso, Model::Wtso] {
        proves(passing, model, &evidence);
    }
    for model in [Model::Pso, Model::Wpso] {
        refutes(passing, model, &evidence, &neither("the cycle", model));
        let fenced = "[0] w x 1\n[0] f\n[0] w y 1\n[1] r y 1\n[1] r x 0\n";
        let steps = [rw(4, 0, &[po(init(0), 0)])];
        proves(fenced, model, &cycle(&steps, &[po(0, 1), po(1, 2), rf(2, 3), po(3, 4), step(0)]));
    }
}

#[test]
fn a_path_keeps_to_one_base() {
    let back = "[0] w x 1\n[0] r x 0\n";
    for model in BUFFERED {
        // po-loc: a thread does not read what it has overwritten.
        let evidence = cycle(&[rw(1, 0, &[po(init(0), 0)])], &[po(0, 1), step(0)]);
        proves(back, model, &evidence);
        // po-loc with reads-from within a thread.
        proves("[0] r x 1\n[0] w x 1\n", model, &cycle(&[], &[po(0, 1), rf(1, 0)]));
        // Reads-from within a thread is in the base of po-loc only. Program order from location to location is in the
        // base of ppo only. So this path from x = 1 to the read of y is in neither base.
        let history = "[0] w x 1\n[0] r x 1\n[0] r y 0\n[1] w y 1\n[1] r x 0\n";
        let steps = [rw(2, 3, &[po(init(1), 3)]), rw(4, 0, &[po(init(0), 0)])];
        let evidence = cycle(&steps, &[step(0), po(3, 4), step(1), rf(0, 1), po(1, 2)]);
        refutes(history, model, &evidence, &neither("the cycle", model));
    }
    // The same for a premise: the path from x = 1 to x = 2 has a read of the own buffer.
    let history = "[0] w x 1\n[0] r x 1\n[0] u y 0 1\n[1] u y 1 2\n[1] w x 2\n";
    for model in BUFFERED {
        let order = cycle(&[ww(0, 4, &[rf(0, 1), po(1, 2), rf(2, 3), po(3, 4)])], &[step(0)]);
        refutes(history, model, &order, &neither("step 0", model));
    }
    for model in BUFFERED {
        let synchronised = cycle(&[ww(0, 4, &[sw(0, 2, 3, 4)])], &[step(0)]);
        refutes(history, model, &synchronised, "step 0: this model has no synchronisation edges");
        refutes(history, model, &cycle(&[], &[sw(0, 2, 3, 0)]), "the cycle: this model has no synchronisation edges");
    }
}

#[test]
fn a_memory_order() {
    let order = |numbers: &[u32]| Evidence::MemoryOrder(ids(numbers));
    for model in BUFFERED {
        // Both writes leave the buffers after the reads.
        witnesses(STORE_BUFFERING, model, &order(&[1, 3, 0, 2]));
        let rejects = |history: &str, numbers: &[u32], reason: &str| {
            rejects(history, model, &order(numbers), &format!("the memory order: {reason}"));
        };
        rejects(STORE_BUFFERING, &[1, 3, 0], "it must list all operations");
        rejects(STORE_BUFFERING, &[1, 3, 0, 7], "there is no operation 7 in the execution");
        rejects(STORE_BUFFERING, &[0, 2, 1, 3], "operation 1 does not find the value that it read");
        rejects(STORE_BUFFERING, &[1, 1, 0, 2], "operation 1 is not the next operation of its process");
        rejects(STORE_BUFFERING, &[1, 0, 0, 3], "operation 0 is not the oldest in its store buffer");
        // A read finds the newest write of its location in the buffer of its thread.
        let own = "[0] w x 1\n[0] w x 2\n[0] r x 2\n";
        witnesses(own, model, &order(&[2, 0, 1]));
        witnesses(own, model, &order(&[0, 2, 1]));
        rejects(own, &[2, 1, 0], "operation 1 is not the oldest in its store buffer");
        let older = "[0] w x 1\n[0] w x 2\n[0] r x 1\n";
        rejects(older, &[2, 0, 1], "operation 2 does not find the value that it read");
        // The reads of a thread keep their order.
        let reads = "[0] r x 0\n[0] r y 0\n[0] w x 1\n";
        witnesses(reads, model, &order(&[0, 1, 2]));
        rejects(reads, &[1, 0, 2], "operation 1 comes before an earlier one of its process");
        rejects(reads, &[2, 0, 1], "operation 2 comes before an earlier one of its process");
    }
}

#[test]
fn fences_and_rmws_empty_the_buffer() {
    let order = |numbers: &[u32]| Evidence::MemoryOrder(ids(numbers));
    for model in BUFFERED {
        for fence in ["f", "f.sc"] {
            let history = format!("[0] w x 1\n[0] {fence}\n");
            witnesses(&history, model, &order(&[0, 1]));
            let reason = "the memory order: the store buffer is not empty when operation 1 executes";
            rejects(&history, model, &order(&[1, 0]), reason);
        }
        for fence in ["f.acq", "f.rel", "f.acqrel"] {
            witnesses(&format!("[0] w x 1\n[0] {fence}\n"), model, &order(&[1, 0]));
        }
        let updated = "[0] w x 1\n[0] u x 1 2\n[1] r x 2\n";
        witnesses(updated, model, &order(&[0, 1, 2]));
        rejects(
            updated,
            model,
            &order(&[0, 2, 1]),
            "the memory order: operation 2 does not find the value that it read",
        );
    }
    let history = "[0] w x 1\n[0] u y 0 2\n";
    for model in [Model::Tso, Model::Wtso] {
        let reason = "the memory order: the store buffer is not empty when operation 1 executes";
        rejects(history, model, &order(&[1, 0]), reason);
    }
}

#[test]
fn buffers_of_one_thread_and_of_one_location() {
    let order = Evidence::MemoryOrder(ids(&[1, 0]));
    for model in [Model::Pso, Model::Wpso] {
        witnesses("[0] w x 1\n[0] w y 1\n", model, &order);
    }
    for model in [Model::Tso, Model::Wtso] {
        let reason = "the memory order: operation 1 is not the oldest in its store buffer";
        rejects("[0] w x 1\n[0] w y 1\n", model, &order, reason);
    }
}

#[test]
fn the_weak_forms_are_decided_again() {
    let cyclic = "deciding again: the history is not allowed: happens-before is cyclic";
    for model in [Model::Wtso, Model::Wpso] {
        witnesses(STORE_BUFFERING, model, &Evidence::DecideAgain);
        witnesses(&store_buffering_with("f.acqrel"), model, &Evidence::DecideAgain);
        for fence in ["f", "f.sc"] {
            rejects(&store_buffering_with(fence), model, &Evidence::DecideAgain, cyclic);
        }
        rejects("[0] r x 1\n[0] w x 1\n", model, &Evidence::DecideAgain, cyclic);
        let initial = "deciding again: operation 1 reads an initial value that was overwritten";
        rejects("[0] w x 1\n[0] r x 0\n", model, &Evidence::DecideAgain, initial);
        rejects("[0] w x 1\n[1] w x 2\n[0] r x 2\n[1] r x 1\n", model, &Evidence::DecideAgain, cyclic);
    }
    let passing = "[0] w x 1\n[0] w y 1\n[1] r y 1\n[1] r x 0\n";
    witnesses(passing, Model::Wpso, &Evidence::DecideAgain);
    let initial = "deciding again: operation 3 reads an initial value that was overwritten";
    rejects(passing, Model::Wtso, &Evidence::DecideAgain, initial);
    let updates = "[0] w x 1\n[0] u z 0 1\n[0] r y 0\n[1] w y 1\n[1] u v 0 1\n[1] r x 0\n";
    rejects(updates, Model::Wtso, &Evidence::DecideAgain, cyclic);
}
