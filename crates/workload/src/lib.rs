//! Simulated memory systems and generators of histories.

pub mod hard;
mod machines;
pub mod memory;
pub mod object;
pub mod random;
pub mod rings;
pub mod small;

pub use small::{cases, to_history};
