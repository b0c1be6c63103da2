//! A lock for one writer or many readers. Its word counts the readers, and is -1 while there is a writer.

#![allow(unsafe_code, reason = "the lock protects the value")]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::super::runtime;
use crate::program::{Await, Comparison, Order, Step, Update};

/// A lock, like `std::sync::RwLock`. A panic is a finding, so it is never poisoned.
pub struct RwLock<T: ?Sized> {
    location: u32,
    value: UnsafeCell<T>,
}

// SAFETY: as for the standard library's.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: the same. The value is accessed by threads that have the lock.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The value of a lock that is taken for reading.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

/// The value of a lock that is taken for writing.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

const FREE: Await = Await::equal(0);
const NO_WRITER: Await = Await { mask: -1, comparison: Comparison::GreaterOrEqual, value: 0 };
const TAKE: Update = Update::CompareExchange { expected: 0, new: -1 };

impl<T> RwLock<T> {
    /// A lock that is free.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let location = runtime::location();
        runtime::step(Step::Write { location, order: Order::NonAtomic, value: 0 });
        Self { location, value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    #[track_caller]
    fn update(&self, update: Update, order: Order, until: Option<Await>) -> i64 {
        runtime::step(Step::Rmw { location: self.location, order, failure: Order::Relaxed, update, until })
    }

    /// Waits until there is no writer.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.update(Update::Add(1), Order::Acquire, Some(NO_WRITER));
        Ok(RwLockReadGuard { lock: self })
    }

    /// Waits until there is nobody else.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.update(TAKE, Order::Acquire, Some(FREE));
        Ok(RwLockWriteGuard { lock: self })
    }

    /// Takes the lock for reading if there is no writer.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let step = Step::Read { location: self.location, order: Order::Relaxed, until: None };
        let mut readers = runtime::step(step);
        while readers >= 0 {
            let update = Update::CompareExchange { expected: readers, new: readers + 1 };
            match self.update(update, Order::Acquire, None) {
                same if same == readers => return Ok(RwLockReadGuard { lock: self }),
                other => readers = other,
            }
        }
        Err(TryLockError::WouldBlock)
    }

    /// Takes the lock for writing if it is free.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        match self.update(TAKE, Order::Acquire, None) {
            0 => Ok(RwLockWriteGuard { lock: self }),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// The value, which nobody else refers to.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.update(Update::Sub(1), Order::Release, None);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        runtime::step(Step::Write { location: self.lock.location, order: Order::Release, value: 0 });
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock, and nobody writes.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread alone has the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread alone has the lock.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLockReadGuard").finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLockWriteGuard").finish_non_exhaustive()
    }
}
