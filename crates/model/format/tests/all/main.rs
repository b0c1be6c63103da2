//! All tests of `format` that need no process of their own, as one program: it is linked once.

mod common;
mod csv;
mod errors;
mod fast;
mod foreign;
mod jepsen;
mod numbers;
mod robustness;
mod round_trip;
mod shared_data;
mod spec;
mod store;
mod stream;
#[cfg(feature = "arrow")]
mod tables;
mod time;
mod transaction_formats;
mod transactions;
