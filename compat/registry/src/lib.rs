//! See `tests/unchanged.rs`.
