//! A lock. To take it is one event, which waits: no execution in which a thread looks in vain is explored.

#![allow(unsafe_code, reason = "the lock protects the value")]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::super::runtime;
use crate::program::{Await, Order, Step, Update};

/// A lock, like `std::sync::Mutex`. A panic is a finding, so it is never poisoned.
pub struct Mutex<T: ?Sized> {
    location: u32,
    value: UnsafeCell<T>,
}

// SAFETY: as for the standard library's.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: the same. The value is accessed by the thread that has the lock.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The value of a lock that is taken.
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
}

const TAKE: Update = Update::CompareExchange { expected: 0, new: 1 };

impl<T> Mutex<T> {
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

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock, and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let (order, failure, until) = (Order::Acquire, Order::Relaxed, Some(Await::equal(0)));
        runtime::step(Step::Rmw { location: self.location, order, failure, update: TAKE, until });
        Ok(MutexGuard { mutex: self })
    }

    /// Takes the lock if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let (order, failure) = (Order::Acquire, Order::Relaxed);
        let step = Step::Rmw { location: self.location, order, failure, update: TAKE, until: None };
        if runtime::step(step) == 0 { Ok(MutexGuard { mutex: self }) } else { Err(TryLockError::WouldBlock) }
    }

    /// The value, which nobody else refers to.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        runtime::step(Step::Write { location: self.mutex.location, order: Order::Release, value: 0 });
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutexGuard").finish_non_exhaustive()
    }
}
