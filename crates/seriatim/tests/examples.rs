//! The examples run, and what they assert holds.

#[path = "../examples/check_a_file.rs"]
mod check_a_file;
#[path = "../examples/embed_c11.rs"]
mod embed_c11;
#[path = "../examples/own_verifier.rs"]
mod own_verifier;

#[test]
fn check_a_file() {
    check_a_file::main().unwrap();
}

#[test]
fn embed_c11() {
    embed_c11::main().unwrap();
}

#[test]
fn own_verifier() {
    own_verifier::main().unwrap();
}
