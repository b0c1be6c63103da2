//! A lock. To take it is one event, which waits: no execution in which a thread looks in vain is explored.

#![allow(unsafe_code, reason = "the lock protects the value")]

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::super::place::Place;
use crate::program::{Await, Order, Update};

/// A lock, like `std::sync::Mutex`. A panic is a finding, so it is never poisoned.
pub struct Mutex<T: ?Sized> {
    word: Place,
    value: UnsafeCell<T>,
}

// SAFETY: as for the standard library's.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: the same. The value is accessed by the thread that has the lock.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The value of a lock that is taken. It gives access to the value, so threads can share it only if they can share the
/// value:
///
/// ```compile_fail,E0277
/// fn is_shared<T: Sync>() {}
/// is_shared::<explore::sync::MutexGuard<'static, std::cell::Cell<u32>>>();
/// ```
#[must_use = "if it is dropped, the lock is free"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) mutex: &'a Mutex<T>,
    value: PhantomData<&'a mut T>,
}

const TAKE: Update = Update::CompareExchange { expected: 0, new: 1 };

impl<T> Mutex<T> {
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

impl<T: ?Sized> Mutex<T> {
    #[track_caller]
    pub(super) fn take(&self) {
        self.word.refresh(self.value.get());
        self.word.update_when(Await::equal(0), TAKE, Order::Acquire, Order::Relaxed);
    }

    #[track_caller]
    pub(super) fn release(&self) {
        self.word.write(0, Order::Release);
    }

    /// Waits for the lock, and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.take();
        Ok(MutexGuard { mutex: self, value: PhantomData })
    }

    /// Takes the lock if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.word.refresh(self.value.get());
        let is_free = self.word.update(TAKE, Order::Acquire, Order::Relaxed) == 0;
        if is_free { Ok(MutexGuard { mutex: self, value: PhantomData }) } else { Err(TryLockError::WouldBlock) }
    }

    /// The value, which nobody else refers to.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }

    /// A panic is a finding, so there is no poison.
    pub fn is_poisoned(&self) -> bool {
        false
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.release();
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

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
