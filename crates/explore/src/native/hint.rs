//! Hints, with the names of `std::hint`.

use super::runtime;

/// This loop waits for a value that another thread writes. If it has read, and has had no effect on modelled memory
/// since the last hint, the execution ends here, and those in which the value comes are explored. A loop that gives up
/// after a number of rounds needs [`Builder::max_spins`](crate::Builder::max_spins).
#[track_caller]
pub fn spin_loop() {
    runtime::spin();
}
