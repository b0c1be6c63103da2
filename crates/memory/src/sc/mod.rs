//! Sequential consistency.

pub mod rules;
pub mod schedule;
pub mod probe;
