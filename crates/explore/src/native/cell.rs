//! Cells that are checked for data races.

#![allow(unsafe_code, reason = "a cell's value is moved in and out")]

use std::fmt;

use super::runtime;
use crate::program::{Order, Step};

/// A cell like `std::cell::UnsafeCell`. Each access is checked: if two threads access it, one of them writes, and
/// neither access happens before the other, that is a data race, and a finding.
pub struct UnsafeCell<T: ?Sized> {
    location: u32,
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
    pub fn new(value: T) -> Self {
        let location = runtime::location();
        runtime::step(Step::Write { location, order: Order::NonAtomic, value: 0 });
        Self { location, value: std::cell::UnsafeCell::new(value) }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Reads the value through a pointer.
    #[track_caller]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        runtime::step(Step::Read { location: self.location, order: Order::NonAtomic, until: None });
        read(self.value.get())
    }

    /// Writes the value through a pointer.
    #[track_caller]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        runtime::step(Step::Write { location: self.location, order: Order::NonAtomic, value: 0 });
        write(self.value.get())
    }
}

/// A cell like `std::cell::Cell`. Its accesses are checked as those of [`UnsafeCell`].
#[derive(Debug)]
pub struct Cell<T> {
    value: UnsafeCell<T>,
}

impl<T> Cell<T> {
    /// A cell with this value.
    #[track_caller]
    pub fn new(value: T) -> Self {
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
