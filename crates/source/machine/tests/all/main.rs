//! All tests of `machine` that need no process of their own, as one program: it is linked once.

mod examples;
mod hunts;
mod observers;
mod protocols;
