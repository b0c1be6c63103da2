//! All tests of `memory` that need no process of their own, as one program: it is linked once.

mod c11;
mod c11_certificates;
mod c11_incremental;
mod classify;
mod common;
mod corpus;
mod empty;
mod machines;
mod oracle;
mod portfolio;
mod sequential;
mod sources;
#[cfg(feature = "sat")]
mod strategies;
mod strong;
mod tampering;
mod wccm;
