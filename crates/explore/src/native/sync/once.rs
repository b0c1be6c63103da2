//! What is done once. The word is 0 at first, 1 while it is being done, 2 when it is done.

#![allow(unsafe_code, reason = "the word protects the value")]

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ops::Deref;

use super::super::place::Place;
use super::super::runtime;
use crate::program::{Await, Order, Update, Value};

const DONE: Value = 2;

/// Code that is run once, like `std::sync::Once`.
#[derive(Debug)]
pub struct Once {
    word: Place,
}

impl Once {
    /// Nothing has been run.
    #[track_caller]
    pub const fn new() -> Self {
        Self { word: Place::new(0) }
    }

    /// Runs the code if none has been run, or waits for the one that runs.
    #[track_caller]
    pub fn call_once(&self, code: impl FnOnce()) {
        let begin = Update::CompareExchange { expected: 0, new: 1 };
        if self.word.update_when(Await::not_equal(1), begin, Order::Acquire, Order::Acquire) == 0 {
            code();
            self.word.write(DONE, Order::Release);
        }
    }

    /// Whether code has been run.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.word.read(Order::Acquire) == DONE
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

/// A value that is given once, like `std::sync::OnceLock`.
pub struct OnceLock<T> {
    once: Once,
    /// The run in which the value was given. In a static there may be one of an earlier run.
    generation: Cell<u64>,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: as for the standard library's.
unsafe impl<T: Send> Send for OnceLock<T> {}
// SAFETY: the same. The value does not change after the word says that it is there.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

fn generation() -> u64 {
    runtime::get().map_or(0, runtime::Run::generation)
}

impl<T> OnceLock<T> {
    /// There is no value.
    #[track_caller]
    pub const fn new() -> Self {
        Self { once: Once::new(), generation: Cell::new(0), value: UnsafeCell::new(None) }
    }

    /// The value, if there is one.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if !self.once.is_completed() || self.generation.get() != generation() {
            return None;
        }
        // SAFETY: it is there, and stays.
        unsafe { &*self.value.get() }.as_ref()
    }

    /// Gives the value, unless there is one.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.once.call_once(|| self.put(value.take()));
        value.map_or(Ok(()), Err)
    }

    fn put(&self, value: Option<T>) {
        self.generation.set(generation());
        // SAFETY: this runs once, and nobody refers to the value before it is done.
        unsafe { *self.value.get() = value }
    }

    /// The value, which is made now if there is none.
    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.once.call_once(|| {
            let value = make();
            self.put(Some(value));
        });
        // SAFETY: it is there, and stays.
        unsafe { &*self.value.get() }.as_ref().expect("the value was made")
    }

    /// The value, which nobody else refers to.
    #[track_caller]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.get()?;
        self.value.get_mut().as_mut()
    }

    /// The value.
    #[track_caller]
    pub fn into_inner(self) -> Option<T> {
        self.get()?;
        self.value.into_inner()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}

/// A value that is made when it is first asked for, like `std::sync::LazyLock`.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    make: F,
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    /// The value is made by this code.
    #[track_caller]
    pub const fn new(make: F) -> Self {
        Self { value: OnceLock::new(), make }
    }

    /// The value, which is made now if it has not been.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        this.value.get_or_init(|| (this.make)())
    }
}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
