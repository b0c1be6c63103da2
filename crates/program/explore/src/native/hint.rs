//! Hints, with the names of `std::hint`.

#![allow(unsafe_code, reason = "the signature of the standard library")]

use std::panic::Location;

use super::runtime;

/// This loop waits for a value that another thread writes. If it only reads, the execution ends here, and those in
/// which another value comes are explored. A loop that gives up after a number of rounds needs
/// [`Builder::max_spins`](crate::Builder::max_spins).
#[track_caller]
pub fn spin_loop() {
    match runtime::get() {
        Some(run) => run.hint(Location::caller()),
        None => std::hint::spin_loop(),
    }
}

/// This cannot be reached; if it is, that is a finding.
///
/// # Safety
///
/// As for the standard library's. In code that is explored it panics.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    panic!("`unreachable_unchecked` was reached")
}
