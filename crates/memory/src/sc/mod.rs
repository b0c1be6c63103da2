//! Sequential consistency.

pub mod interleaving;
pub mod rules;
pub mod probe;
