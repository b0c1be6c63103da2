//! A lock for one writer or many readers. Its word counts the readers, and is -1 while there is a writer.

#![allow(unsafe_code, reason = "the lock protects the value")]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::super::place::Place;
use crate::program::{Await, Comparison, Order, Update};

/// A lock, like `std::sync::RwLock`. A panic is a finding, so it is never poisoned.
pub struct RwLock<T: ?Sized> {
    word: Place,
    value: UnsafeCell<T>,
}

// SAFETY: as for the standard library's.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: the same. The value is accessed by threads that have the lock.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The value of a lock that is taken for reading.
#[must_use = "if it is dropped, the lock is given back"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

/// The value of a lock that is taken for writing.
#[must_use = "if it is dropped, the lock is given back"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

const FREE: Await = Await::equal(0);
const NO_WRITER: Await = Await { mask: -1, comparison: Comparison::GreaterOrEqual, value: 0 };
const TAKE: Update = Update::CompareExchange { expected: 0, new: -1 };

impl<T> RwLock<T> {
    /// A lock that is free.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { word: Place::new(0), value: UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until there is no writer.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.word.refresh(self.value.get());
        self.word.update_when(NO_WRITER, Update::Add(1), Order::Acquire, Order::Relaxed);
        Ok(RwLockReadGuard { lock: self })
    }

    /// Waits until there is nobody else.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.word.refresh(self.value.get());
        self.word.update_when(FREE, TAKE, Order::Acquire, Order::Relaxed);
        Ok(RwLockWriteGuard { lock: self })
    }

    /// Takes the lock for reading if there is no writer.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        self.word.refresh(self.value.get());
        let mut readers = self.word.read(Order::Relaxed);
        while readers >= 0 {
            let update = Update::CompareExchange { expected: readers, new: readers + 1 };
            match self.word.update(update, Order::Acquire, Order::Relaxed) {
                same if same == readers => return Ok(RwLockReadGuard { lock: self }),
                other => readers = other,
            }
        }
        Err(TryLockError::WouldBlock)
    }

    /// Takes the lock for writing if it is free.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        self.word.refresh(self.value.get());
        match self.word.update(TAKE, Order::Acquire, Order::Relaxed) {
            0 => Ok(RwLockWriteGuard { lock: self }),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// The value, which nobody else refers to.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.word.update(Update::Sub(1), Order::Release, Order::Relaxed);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.word.write(0, Order::Release);
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
