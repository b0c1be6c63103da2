//! Synchronization, with the names of `std::sync`.

mod arc;
pub mod atomic;
mod mutex;
mod rwlock;

pub use arc::Arc;
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
