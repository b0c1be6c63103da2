//! Hints, with the names of `std::hint`.

use super::runtime;

/// This loop waits. If it has had no effect since the last hint, it waits for a value that another thread writes: the
/// execution ends here, and those in which the value comes are explored.
#[track_caller]
pub fn spin_loop() {
    runtime::spin();
}
