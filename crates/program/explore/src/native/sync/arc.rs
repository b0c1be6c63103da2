//! Counted references.
//!
//! Who drops the last reference drops the value, and its `drop` may access what is modelled. So drops are events, with
//! the orders of the standard library: all release, and the last one acquires. A clone is no event. It is made of a
//! reference that is still there, so whether a drop is the last one does not depend on clones that are not among its
//! causes. What is an event depends on what can be told apart ([`Counting`]):
//! - if the value has no `drop`, nobody can tell who was last, and its drops are no events either;
//! - unless the code asks whether a reference is the only one (`get_mut`, `try_unwrap`);
//! - if the code asks how many there are (`strong_count`), clones are events, too.
//!
//! The exploration begins without the latter two, and begins again if the code asks. A value whose references are not
//! all dropped when the execution ends is a finding.

#![allow(unsafe_code, reason = "references are made from addresses")]

use std::borrow::Borrow;
use std::cmp::Ordering as Comparison;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc as Real;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::place::{Look, Own, Place};
use super::super::runtime::{self, Code, Counting};
use super::atomic::fence;
use crate::program::{Order, Update};

/// What the references to one value share.
#[derive(Debug)]
pub(in crate::native) struct Counter {
    /// 1, with all clones that were events, without all drops that were.
    count: Place<Own>,
    /// The clones that were no events, without the drops that were none.
    silent: AtomicUsize,
    real: AtomicUsize,
    live: Option<(u64, u32)>,
    has_drop: bool,
}

impl Counter {
    fn new(code: Code, has_drop: bool) -> Self {
        let live = runtime::get().map(|run| run.add_live(code, "an `Arc`"));
        let count = Place::with(Own::new(1), Look::Word);
        Self { count, silent: AtomicUsize::new(0), real: AtomicUsize::new(1), live, has_drop }
    }

    /// Whether the drops, or with `All` the clones, are events.
    fn has_events(&self, least: Counting) -> bool {
        let counting = runtime::get().map(|run| run.counting.get());
        counting.is_some_and(|counting| counting >= least || self.has_drop && least == Counting::Drops)
    }

    #[track_caller]
    fn clone_one(&self) {
        if self.has_events(Counting::All) {
            self.count.update(Update::Add(1), Order::Relaxed, Order::Relaxed);
        } else {
            self.silent.fetch_add(1, Ordering::Relaxed);
        }
        self.real.fetch_add(1, Ordering::Relaxed);
    }

    /// The address by which drops that are no events are known.
    fn address(&self) -> usize {
        ptr::from_ref(self) as usize
    }

    /// One reference less. The answer is whether it was the last one.
    #[track_caller]
    fn drop_one(&self) -> bool {
        let has_event = self.has_events(Counting::Drops);
        if has_event {
            self.count.update(Update::Sub(1), Order::Release, Order::Relaxed);
        } else {
            self.silent.fetch_sub(1, Ordering::Relaxed);
            if let Some(run) = runtime::get() {
                run.drop_silently(self.address());
            }
        }
        if self.real.fetch_sub(1, Ordering::Relaxed) != 1 {
            return false;
        }
        if has_event {
            fence(Ordering::Acquire);
        }
        if let (Some(live), Some(run)) = (self.live, runtime::get()) {
            run.remove_live(live);
        }
        true
    }

    #[track_caller]
    fn count(&self, least: Counting) -> usize {
        if let Some(run) = runtime::get()
            && !self.has_events(least)
        {
            run.want_counting(least);
        }
        (self.count.read(Order::Acquire) as usize).wrapping_add(self.silent.load(Ordering::Relaxed))
    }
}

/// A counted reference, like `std::sync::Arc`.
pub struct Arc<T: ?Sized> {
    counter: Real<Counter>,
    value: ManuallyDrop<Real<T>>,
}

impl<T> Arc<T> {
    /// The first reference to a value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::from_std(Real::new(value))
    }

    /// The first reference to a value that does not move.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Self> {
        // SAFETY: the value is in a box, which no reference moves it out of as long as there are others.
        unsafe { Pin::new_unchecked(Self::new(value)) }
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        if this.counter.count(Counting::Drops) != 1 {
            return Err(this);
        }
        let (counter, value) = this.into_parts();
        counter.drop_one();
        // Where the counter has just been found too coarse, other references may be left.
        Real::try_unwrap(value).map_err(|value| Self { counter, value: ManuallyDrop::new(value) })
    }

    /// The value, if this is the last reference.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let (counter, value) = this.into_parts();
        if let Some(run) = runtime::get() {
            run.want_counting(Counting::Drops);
        }
        counter.drop_one();
        Real::into_inner(value)
    }
}

impl<T: ?Sized> Arc<T> {
    /// A reference of the standard library, which must be the only one. This is the way to a reference to a value
    /// without a size.
    #[track_caller]
    pub fn from_std(mut value: Real<T>) -> Self {
        assert!(Real::get_mut(&mut value).is_some(), "there is another reference to the value");
        if let Some(run) = runtime::get() {
            run.allocated(Real::as_ptr(&value).cast::<()>() as usize, size_of_val(&*value));
        }
        let counter = Real::new(Counter::new(Location::caller(), mem::needs_drop::<T>()));
        Self { counter, value: ManuallyDrop::new(value) }
    }

    fn into_parts(self) -> (Real<Counter>, Real<T>) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: neither is dropped here, and each is moved once.
        unsafe { (ptr::read(&raw const this.counter), ManuallyDrop::take(&mut this.value)) }
    }

    /// Whether both refer to the same value.
    pub fn ptr_eq(one: &Self, other: &Self) -> bool {
        Real::ptr_eq(&one.value, &other.value)
    }

    /// How many references there are.
    #[track_caller]
    pub fn strong_count(this: &Self) -> usize {
        this.counter.count(Counting::All)
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let is_only = this.counter.count(Counting::Drops) == 1;
        if is_only { Real::get_mut(&mut this.value) } else { None }
    }

    /// The address of the value.
    pub fn as_ptr(this: &Self) -> *const T {
        Real::as_ptr(&this.value)
    }

    /// Keeps the reference as an address.
    pub fn into_raw(this: Self) -> *const T {
        let (counter, value) = this.into_parts();
        let address = Real::into_raw(value);
        if let Some(run) = runtime::get() {
            run.keep_counter(address.cast::<()>() as usize, &counter);
        }
        mem::forget(counter);
        address
    }

    /// The reference that was kept as an address.
    ///
    /// # Safety
    ///
    /// The address comes from [`Arc::into_raw`], and each gives one reference back.
    pub unsafe fn from_raw(address: *const T) -> Self {
        let run = runtime::expect();
        let counter = run.counter(address.cast::<()>() as usize).expect("the address comes from `Arc::into_raw`");
        // SAFETY: the caller's promise. The counter was forgotten once for each address, so its count is one too high;
        // it is never freed too early.
        unsafe {
            Real::decrement_strong_count(Real::as_ptr(&counter));
            Self { counter, value: ManuallyDrop::new(Real::from_raw(address)) }
        }
    }

    /// One more reference to the value at an address.
    ///
    /// # Safety
    ///
    /// The address comes from [`Arc::into_raw`], and there is still a reference.
    #[track_caller]
    pub unsafe fn increment_strong_count(address: *const T) {
        // SAFETY: the caller's promise.
        let this = ManuallyDrop::new(unsafe { Self::from_raw(address) });
        let (one, other) = ((*this).clone(), ManuallyDrop::into_inner(this));
        let _ = (Self::into_raw(one), Self::into_raw(other));
    }

    /// One reference less to the value at an address.
    ///
    /// # Safety
    ///
    /// The address comes from [`Arc::into_raw`], and there is still a reference.
    #[track_caller]
    pub unsafe fn decrement_strong_count(address: *const T) {
        // SAFETY: the caller's promise.
        drop(unsafe { Self::from_raw(address) });
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.counter.clone_one();
        Self { counter: Real::clone(&self.counter), value: self.value.clone() }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        let is_last = self.counter.drop_one();
        // SAFETY: the value is not used any more.
        let mut drop_value = || unsafe { ManuallyDrop::drop(&mut self.value) };
        match runtime::get() {
            Some(run) if is_last => run.free_counted(self.counter.address(), drop_value),
            _ => drop_value(),
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Comparison> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Self) -> Comparison {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: std::task::Wake + Send + Sync + 'static> From<Arc<T>> for std::task::Waker {
    fn from(waker: Arc<T>) -> Self {
        Real::new(Woken(waker)).into()
    }
}

/// Wakes through a reference of the standard library: it is the reference that counts.
struct Woken<T>(Arc<T>);

impl<T: std::task::Wake + Send + Sync + 'static> std::task::Wake for Woken<T> {
    fn wake(self: Real<Self>) {
        Real::clone(&self.0.value).wake();
    }
}
