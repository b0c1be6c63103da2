//! Synchronization, with the names of `std::sync`.

mod arc;
pub mod atomic;
mod mutex;

pub use arc::Arc;
pub use mutex::{Mutex, MutexGuard};
