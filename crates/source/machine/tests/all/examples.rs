//! The example runs, and finds the bug.

#[path = "../../examples/wrong_cache.rs"]
mod wrong_cache;

#[test]
fn wrong_cache() {
    wrong_cache::main().unwrap();
}
