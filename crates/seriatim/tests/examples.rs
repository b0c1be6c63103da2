//! The examples run, and what they assert holds.

#[path = "../examples/check_a_file.rs"]
mod check_a_file;
#[path = "../examples/embed_c11.rs"]
mod embed_c11;
#[path = "../examples/monitor_beside.rs"]
mod monitor_beside;
#[path = "../examples/own_object.rs"]
mod own_object;
#[path = "../examples/own_verifier.rs"]
mod own_verifier;
#[path = "../examples/record_a_queue.rs"]
mod record_a_queue;

#[test]
fn check_a_file() {
    check_a_file::main().unwrap();
}

#[test]
fn embed_c11() {
    embed_c11::main().unwrap();
}

#[test]
fn monitor_beside() {
    monitor_beside::main().unwrap();
}

#[test]
fn own_object() {
    own_object::main().unwrap();
}

#[test]
fn own_verifier() {
    own_verifier::main().unwrap();
}

#[test]
fn record_a_queue() {
    record_a_queue::main().unwrap();
}
