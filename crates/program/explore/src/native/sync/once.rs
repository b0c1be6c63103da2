//! What is done once. The word is 0 at first, 1 while it is being done, 2 when it is done.

#![allow(unsafe_code, reason = "values are in a list that only grows")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

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

/// A value that is given once, like `std::sync::OnceLock`. In a static it is given once in each execution, and those of
/// earlier executions stay in memory: there may be references to them.
pub struct OnceLock<T> {
    once: Once,
    /// The values of all executions, the newest first.
    given: AtomicPtr<Given<T>>,
    value: PhantomData<*mut T>,
}

/// A value, and the run in which it was given; 0 outside of one.
struct Given<T> {
    generation: u64,
    value: T,
    before: *mut Given<T>,
}

// SAFETY: as for the standard library's.
unsafe impl<T: Send> Send for OnceLock<T> {}
// SAFETY: the same. A value that was given does not change.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

fn generation() -> u64 {
    runtime::get().map_or(0, runtime::Run::generation)
}

impl<T> OnceLock<T> {
    /// There is no value.
    #[track_caller]
    pub const fn new() -> Self {
        Self { once: Once::new(), given: AtomicPtr::new(null_mut()), value: PhantomData }
    }

    /// The value of this run, or the one that was given outside of all runs: then none is given in a run.
    fn find(&self) -> Option<NonNull<Given<T>>> {
        let generation = generation();
        let mut next = NonNull::new(self.given.load(Ordering::Acquire));
        while let Some(given) = next {
            // SAFETY: what was given stays as long as this does.
            let Given { generation: other, before, .. } = unsafe { given.as_ref() };
            if *other == generation || *other == 0 {
                return Some(given);
            }
            next = NonNull::new(*before);
        }
        None
    }

    /// The value, if there is one.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let given = if self.once.is_completed() { self.find()? } else { return None };
        // SAFETY: it stays as long as this does, and does not change.
        Some(&unsafe { given.as_ref() }.value)
    }

    /// Gives the value, unless there is one.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.once.call_once(|| value.take().into_iter().for_each(|value| self.put(value)));
        value.map_or(Ok(()), Err)
    }

    /// Gives the value of this run. Other runs may do so at the same time.
    fn put(&self, value: T) {
        let new = Box::into_raw(Box::new(Given { generation: generation(), value, before: null_mut() }));
        let mut newest = self.given.load(Ordering::Relaxed);
        loop {
            // SAFETY: nobody else knows of it yet.
            unsafe { (*new).before = newest };
            match self.given.compare_exchange(newest, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }

    /// The value, which is made now if there is none.
    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.once.call_once(|| self.put(make()));
        let given = self.find().expect("the value was made");
        // SAFETY: it stays as long as this does, and does not change.
        &unsafe { given.as_ref() }.value
    }

    /// The value, which nobody else refers to.
    #[track_caller]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let mut given = if self.once.is_completed() { self.find()? } else { return None };
        // SAFETY: it stays as long as this does, and nobody else has a reference to this.
        Some(&mut unsafe { given.as_mut() }.value)
    }

    /// The value.
    #[track_caller]
    pub fn into_inner(mut self) -> Option<T> {
        let generation = generation();
        let is_there = self.once.is_completed();
        let mut all = std::iter::from_fn(|| self.take_newest());
        let found = all.find(|given| given.generation == generation || given.generation == 0);
        found.filter(|_| is_there).map(|given| given.value)
    }

    /// Takes the newest value out.
    fn take_newest(&mut self) -> Option<Box<Given<T>>> {
        let newest = NonNull::new(*self.given.get_mut())?;
        // SAFETY: it was made by a box, and is taken out once: nobody else has a reference to this.
        let newest = unsafe { Box::from_raw(newest.as_ptr()) };
        *self.given.get_mut() = newest.before;
        Some(newest)
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        while self.take_newest().is_some() {}
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
