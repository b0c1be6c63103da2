//! Partial orders over chains.

pub mod saturation;

pub use saturation::Saturation;
