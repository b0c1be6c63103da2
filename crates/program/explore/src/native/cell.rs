//! Cells that are checked for data races.
//!
//! The value is in the memory of the real machine. An access goes on until the closure returns, or the pointer
//! ([`UnsafeCell::get`]) is dropped.

#![allow(unsafe_code, reason = "a cell's value is moved in and out")]

use std::cmp::Ordering;
use std::fmt;

use super::place::{Accessing, Place};

/// A cell like `std::cell::UnsafeCell`. Each access is checked: if two threads access it, one of them writes, and
/// neither access happens before the other, that is a data race, and a finding.
pub struct UnsafeCell<T: ?Sized> {
    place: Place,
    value: std::cell::UnsafeCell<T>,
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

impl<T> UnsafeCell<T> {
    /// A cell with this value.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { place: Place::new(0), value: std::cell::UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    #[track_caller]
    fn access(&self, writes: bool) -> Accessing {
        self.place.refresh(self.value.get());
        self.place.access(writes)
    }

    /// Reads the value through a pointer.
    #[track_caller]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        let _access = self.access(false);
        read(self.value.get())
    }

    /// Writes the value through a pointer.
    #[track_caller]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        let _access = self.access(true);
        write(self.value.get())
    }

    /// A pointer for reading. As long as it lives, the value is being read.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr { _access: self.access(false), pointer: self.value.get() }
    }

    /// A pointer for writing. As long as it lives, the value is being written.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr { _access: self.access(true), pointer: self.value.get() }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// A pointer to the value of an [`UnsafeCell`], for reading.
pub struct ConstPtr<T: ?Sized> {
    _access: Accessing,
    pointer: *const T,
}

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    ///
    /// As for any pointer: the cell must still be there.
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller's promise.
        unsafe { &*self.pointer }
    }

    /// Reads the value.
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.pointer)
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer, f)
    }
}

/// A pointer to the value of an [`UnsafeCell`], for writing.
pub struct MutPtr<T: ?Sized> {
    _access: Accessing,
    pointer: *mut T,
}

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    ///
    /// As for any pointer: the cell must still be there, and no other reference to its value.
    #[expect(clippy::mut_from_ref, reason = "it stands for a pointer")]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.pointer }
    }

    /// Writes the value.
    pub fn with<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.pointer)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.pointer, f)
    }
}

/// A cell like `std::cell::Cell`. Its accesses are checked as those of [`UnsafeCell`].
#[derive(Debug, Default)]
pub struct Cell<T> {
    value: UnsafeCell<T>,
}

impl<T> Cell<T> {
    /// A cell with this value.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Self { value: UnsafeCell::new(value) }
    }

    /// The value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: the cell is accessed by one thread of the operating system, and no reference to the value leaves it.
        self.value.with(|value| unsafe { *value })
    }

    /// Another value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Another value; gives the old one back.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: the same.
        self.value.with_mut(|old| unsafe { std::mem::replace(&mut *old, value) })
    }

    /// Exchanges the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if !std::ptr::eq(self, other) {
            // SAFETY: the same, and the cells are different.
            let exchange = |one: *mut T| other.value.with_mut(|other| unsafe { std::ptr::swap(one, other) });
            self.value.with_mut(exchange);
        }
    }

    /// The default value; gives the old one back.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: Copy> Clone for Cell<T> {
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Copy + PartialEq> PartialEq for Cell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Copy + Eq> Eq for Cell<T> {}

impl<T: Copy + PartialOrd> PartialOrd for Cell<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Copy + Ord> Ord for Cell<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}
