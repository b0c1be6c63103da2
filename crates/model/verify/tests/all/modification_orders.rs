//! Witnesses of the C11 family and of `coherence`: a modification order of each location.

use crate::common;
use common::*;
use model::{Evidence, Model};

const ALL: [Model; 6] = [Model::Wra, Model::Ra, Model::Sra, Model::Rc20, Model::Relaxed, Model::Coherence];

fn orders(all: &[&[u32]]) -> Evidence {
    Evidence::ModificationOrders(all.iter().map(|order| ids(order)).collect())
}

#[test]
fn one_order_for_each_location() {
    let history = "[0] w x 1\n[0] w y 1\n[1] w x 2\n[1] r y 1\n[1] f\n";
    for model in ALL {
        witnesses(history, model, &orders(&[&[0, 2], &[1]]));
        witnesses(history, model, &orders(&[&[2, 0], &[1]]));
        let rejects = |all: &[&[u32]], reason: &str| rejects(history, model, &orders(all), reason);
        rejects(&[&[0, 2]], "the order of writes: there must be one order for each location");
        rejects(&[&[0, 2], &[1], &[]], "the order of writes: there must be one order for each location");
        rejects(&[&[0, 2, 0], &[1]], "the modification order of location 0: a write is listed twice");
        let other = "the modification order of location 0: it lists an operation that does not write the location";
        for operation in [1, 3, 4, 9] {
            rejects(&[&[0, 2, operation], &[1]], other);
        }
        rejects(&[&[0], &[1]], "the modification order of location 0: operation 2 is missing");
        rejects(&[&[0, 2], &[]], "the modification order of location 1: operation 1 is missing");
    }
}

const CONTRADICTION: &str = "deciding again: the orders of the locations form a cycle with po and rf";

/// Asserts that the order is refused. Under `sra` the reason is a cycle with happens-before; otherwise it is `reason`.
#[track_caller]
fn contradicts(history: &str, model: Model, order: &[u32], reason: &str) {
    let reason = if model == Model::Sra { CONTRADICTION } else { reason };
    rejects(history, model, &orders(&[order]), reason);
}

fn knows_later(operation: u32) -> String {
    format!(
        "the modification order of location 0: operation {operation} knows of a write that is later in this order \
         than the one it writes or reads from"
    )
}

#[test]
fn coherence_of_each_location() {
    for model in ALL {
        // A write before a write, a read before a write, a write before a read, a read before a read.
        contradicts("[0] w x 1\n[0] w x 2\n", model, &[1, 0], &knows_later(1));
        contradicts("[0] r x 2\n[0] w x 1\n[1] w x 2\n", model, &[1, 2], &knows_later(1));
        rejects("[0] w x 1\n[1] w x 2\n[0] r x 2\n", model, &orders(&[&[1, 0]]), &knows_later(2));
        rejects("[0] w x 1\n[1] w x 2\n[2] r x 2\n[2] r x 1\n", model, &orders(&[&[0, 1]]), &knows_later(3));
        rejects("[0] w x 1\n[0] r x 0\n", model, &orders(&[&[0]]), &knows_later(1));
    }
}

#[test]
fn rmws_stand_next_to_their_source() {
    let between =
        "the modification order of location 0: an rmw does not stand right after the write that it reads from";
    for model in ALL {
        let history = "[0] w x 1\n[1] u x 1 2\n[2] w x 3\n";
        witnesses(history, model, &orders(&[&[0, 1, 2]]));
        witnesses(history, model, &orders(&[&[2, 0, 1]]));
        rejects(history, model, &orders(&[&[0, 2, 1]]), between);
        contradicts(history, model, &[1, 0, 2], between);
        rejects("[0] w x 1\n[1] u x 0 2\n", model, &orders(&[&[0, 1]]), between);
        witnesses("[0] w x 1\n[1] u x 0 2\n", model, &orders(&[&[1, 0]]));
        let own = "[0] w x 1\n[1] w x 3\n[1] u x 1 2\n";
        rejects(own, model, &orders(&[&[0, 1, 2]]), between);
        witnesses(own, model, &orders(&[&[1, 0, 2]]));
        let later = "[0] w x 1\n[1] u x 1 2\n[2] r x 3\n[2] u x 2 4\n[0] w x 3\n";
        contradicts(later, model, &[0, 1, 3, 4], &knows_later(3));
    }
}

#[test]
fn program_order_and_reads_from_have_no_cycle() {
    let history = "[0] r x 1\n[0] w y 1\n[1] r y 1\n[1] w x 1\n";
    for model in [Model::Wra, Model::Ra, Model::Sra, Model::Rc20, Model::Relaxed] {
        let reason = "deciding again: the history is not allowed: po and rf have a cycle";
        rejects(history, model, &orders(&[&[3], &[1]]), reason);
    }
    witnesses(history, Model::Coherence, &orders(&[&[3], &[1]]));
}

#[test]
fn what_happens_before() {
    let history = |write: &str, read: &str| format!("[0] w x 1\n[0] {write} y 1\n[1] {read} y 1\n[1] r x 0\n");
    let witness = orders(&[&[0], &[1]]);
    for (write, read) in [("w", "r"), ("w.rel", "r.acq"), ("w.acqrel", "r.acqrel")] {
        for model in [Model::Ra, Model::Sra, Model::Wra] {
            rejects(&history(write, read), model, &witness, &knows_later(3));
        }
        for model in [Model::Relaxed, Model::Coherence] {
            witnesses(&history(write, read), model, &witness);
        }
    }
    rejects(&history("w.rel", "r.acq"), Model::Rc20, &witness, &knows_later(3));
    for (write, read) in [("w", "r"), ("w.rel", "r"), ("w", "r.acq"), ("w.rlx", "r.acq")] {
        witnesses(&history(write, read), Model::Rc20, &witness);
    }
}

#[test]
fn fences_and_release_sequences_of_rc20() {
    let fenced = |release: &str, acquire: &str| {
        format!("[0] w x 1\n[0] {release}\n[0] w y 1\n[1] r y 1\n[1] {acquire}\n[1] r x 0\n")
    };
    let witness = orders(&[&[0], &[2]]);
    for (release, acquire) in [("f", "f"), ("f.rel", "f.acq"), ("f.acqrel", "f.acqrel")] {
        rejects(&fenced(release, acquire), Model::Rc20, &witness, &knows_later(5));
        witnesses(&fenced(release, acquire), Model::Relaxed, &witness);
    }
    for (release, acquire) in [("f.acq", "f.acq"), ("f.rel", "f.rel")] {
        witnesses(&fenced(release, acquire), Model::Rc20, &witness);
    }
    let sequence = |rmw: &str| format!("[0] w x 1\n[0] w.rel y 1\n[2] {rmw}\n[1] r.acq y 2\n[1] r x 0\n");
    rejects(&sequence("u y 1 2"), Model::Rc20, &orders(&[&[0], &[1, 2]]), &knows_later(4));
    witnesses(&sequence("w y 2"), Model::Rc20, &orders(&[&[0], &[1, 2]]));
}

#[test]
fn the_orders_agree_under_sra() {
    let history = "[0] w x 1\n[0] w y 1\n[1] w y 2\n[1] w x 2\n";
    let crossed = orders(&[&[3, 0], &[1, 2]]);
    rejects(history, Model::Sra, &crossed, CONTRADICTION);
    witnesses(history, Model::Sra, &orders(&[&[0, 3], &[1, 2]]));
    for model in [Model::Ra, Model::Rc20, Model::Relaxed, Model::Coherence, Model::Wra] {
        witnesses(history, model, &crossed);
    }
}
