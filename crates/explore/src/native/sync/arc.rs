//! Counted references.
//!
//! Who drops the last reference drops the value, and its `drop` may access what is modelled. So the count is modelled,
//! too, with the orders of the standard library. If the value has no `drop`, nobody can tell who was last, and the
//! count is not modelled. In either case the memory is freed by a count of the real machine.

#![allow(unsafe_code, reason = "the value is dropped before its memory")]

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use super::super::runtime;
use super::atomic::{AtomicUsize, Ordering, fence};

/// A counted reference, like `std::sync::Arc`.
pub struct Arc<T> {
    inner: std::sync::Arc<Inner<T>>,
}

struct Inner<T> {
    count: Option<AtomicUsize>,
    value: UnsafeCell<ManuallyDrop<T>>,
    is_dropped: Cell<bool>,
}

// SAFETY: as for the standard library's. The threads of a program run on one thread of the operating system, so the
// flag is accessed by one at a time.
unsafe impl<T: Sync + Send> Send for Inner<T> {}
// SAFETY: the same.
unsafe impl<T: Sync + Send> Sync for Inner<T> {}

impl<T> Inner<T> {
    /// Drops the value, once.
    fn drop_value(&self) {
        if !self.is_dropped.replace(true) {
            // SAFETY: the flag says that the value is there, and nobody refers to it any more.
            unsafe { ManuallyDrop::drop(&mut *self.value.get()) }
        }
    }
}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        self.drop_value();
    }
}

impl<T> Arc<T> {
    /// The first reference to a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        let count = std::mem::needs_drop::<T>().then(|| AtomicUsize::new(1));
        let value = UnsafeCell::new(ManuallyDrop::new(value));
        Self { inner: std::sync::Arc::new(Inner { count, value, is_dropped: Cell::new(false) }) }
    }

    /// Whether both refer to the same value.
    pub fn ptr_eq(one: &Self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&one.inner, &other.inner)
    }
}

impl<T> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some(count) = &self.inner.count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        Self { inner: std::sync::Arc::clone(&self.inner) }
    }
}

impl<T> Drop for Arc<T> {
    fn drop(&mut self) {
        if let Some(count) = &self.inner.count
            && !runtime::is_tearing_down()
            && count.fetch_sub(1, Ordering::Release) == 1
        {
            fence(Ordering::Acquire);
            self.inner.drop_value();
        }
    }
}

impl<T> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value is dropped when the last reference is, and this is one.
        unsafe { &*self.inner.value.get() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
