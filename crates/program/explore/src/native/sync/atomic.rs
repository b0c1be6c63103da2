//! Atomics, with the names of `std::sync::atomic`.
//!
//! A value is kept in the upper bits of a word, so that arithmetic wraps around where the type does.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

pub use std::sync::atomic::Ordering;

use super::super::place::{Kind, Look, Number, Place, Wide};
use super::super::runtime;
use crate::chance::Chance;
use crate::program::{Order, Step, Update, Value};

fn order(order: Ordering) -> Order {
    match order {
        Ordering::Relaxed => Order::Relaxed,
        Ordering::Acquire => Order::Acquire,
        Ordering::Release => Order::Release,
        Ordering::AcqRel => Order::AcquireRelease,
        _ => Order::SequentiallyConsistent,
    }
}

#[track_caller]
fn load_order(of: Ordering) -> Order {
    assert!(!matches!(of, Ordering::Release | Ordering::AcqRel), "there is no such thing as a load with {of:?}");
    order(of)
}

#[track_caller]
fn store_order(of: Ordering) -> Order {
    assert!(!matches!(of, Ordering::Acquire | Ordering::AcqRel), "there is no such thing as a store with {of:?}");
    order(of)
}

/// A fence.
#[track_caller]
pub fn fence(of: Ordering) {
    assert!(of != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    match runtime::get() {
        Some(run) => drop(run.step(Step::Fence(order(of)), Kind::Number, Location::caller())),
        None => std::sync::atomic::fence(of),
    }
}

/// A fence between a thread and a signal handler in it: for programs without signals it does nothing.
pub fn compiler_fence(_of: Ordering) {}

/// The same as [`hint::spin_loop`](crate::hint::spin_loop).
#[deprecated(note = "use `hint::spin_loop` instead")]
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

/// What all atomics have. Their values are converted by `word` and `value`.
macro_rules! common {
    ([$($generics:tt)*] $name:ty, $type:ty) => {
        impl<$($generics)*> $name {
            /// Reads the value.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $type {
                Self::value(self.0.read(load_order(order)))
            }

            /// Writes a value.
            #[track_caller]
            pub fn store(&self, value: $type, order: Ordering) {
                Self::publish(value);
                self.0.write(Self::word(value), store_order(order));
            }

            /// Writes a value. The answer is the old one.
            #[track_caller]
            pub fn swap(&self, value: $type, of: Ordering) -> $type {
                Self::publish(value);
                Self::value(self.0.update(Update::Set(Self::word(value)), order(of), order(of)))
            }

            /// Writes a value if the old one is as expected. The answer is the old one.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                Self::publish(new);
                let update = Update::CompareExchange { expected: Self::word(current), new: Self::word(new) };
                let old = self.0.update(update, order(success), load_order(failure));
                if old == Self::word(current) { Ok(Self::value(old)) } else { Err(Self::value(old)) }
            }

            /// The same, but it may also fail without a reason: as often as
            /// [`Builder::spurious_failures`](crate::Builder::spurious_failures) says.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                let code = Location::caller();
                if let Some(run) = runtime::get()
                    && run.happens(Chance::Fails, code)
                {
                    Self::publish(new);
                    let old = self.0.read(load_order(failure));
                    if old != Self::word(current) {
                        // So does the strong one.
                        run.is_redundant(code);
                    }
                    return Err(Self::value(old));
                }
                self.compare_exchange(current, new, success, failure)
            }

            /// Writes a value if the old one is as expected. The answer is the old one.
            #[deprecated(note = "use `compare_exchange` instead")]
            #[track_caller]
            pub fn compare_and_swap(&self, current: $type, new: $type, order: Ordering) -> $type {
                let failure = match order {
                    Ordering::AcqRel => Ordering::Acquire,
                    Ordering::Release => Ordering::Relaxed,
                    other => other,
                };
                self.compare_exchange(current, new, order, failure).unwrap_or_else(|old| old)
            }

            /// Exchanges the value for what the function makes of it, until none has come between.
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut update: impl FnMut($type) -> Option<$type>,
            ) -> Result<$type, $type> {
                let mut old = self.load(fetch_order);
                while let Some(new) = update(old) {
                    match self.compare_exchange_weak(old, new, set_order, fetch_order) {
                        Ok(old) => return Ok(old),
                        Err(other) => old = other,
                    }
                }
                Err(old)
            }

            /// Reads the value without atomicity. A write at the same time is a data race.
            #[track_caller]
            pub fn unsync_load(&self) -> $type {
                Self::value(self.0.read(Order::NonAtomic))
            }

            /// Changes the value without atomicity.
            #[track_caller]
            pub fn with_mut<R>(&mut self, change: impl FnOnce(&mut $type) -> R) -> R {
                let mut value = self.unsync_load();
                let result = change(&mut value);
                self.0.write(Self::word(value), Order::NonAtomic);
                result
            }

            /// The value.
            #[track_caller]
            pub fn into_inner(self) -> $type {
                self.unsync_load()
            }
        }

        impl<$($generics)*> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        impl<$($generics)*> From<$type> for $name {
            #[track_caller]
            fn from(value: $type) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! integer {
    ($name:ident, $type:ty, $place:ident, $max:ident, $min:ident) => {
        #[doc = concat!("An atomic `", stringify!($type), "`.")]
        pub struct $name(Place<$place>);

        impl $name {
            const SHIFT: u32 = Value::BITS - <$type>::BITS;
            const LOOK: Look = if <$type>::MIN == 0 { Look::Unsigned(Self::SHIFT) } else { Look::Signed(Self::SHIFT) };

            /// An atomic with this value.
            #[track_caller]
            pub const fn new(value: $type) -> Self {
                Self(Place::with($place::new(Self::word(value)), Self::LOOK))
            }

            fn publish(_: $type) {}

            const fn word(value: $type) -> Value {
                (value as Value) << Self::SHIFT
            }

            const fn value(word: Value) -> $type {
                (word >> Self::SHIFT) as $type
            }

            integer!(@ $type: fetch_add, Add, "Adds", fetch_sub, Sub, "Subtracts", fetch_and, And, "Keeps the bits of",
                fetch_or, Or, "Adds the bits of", fetch_xor, Xor, "Flips the bits of",
                fetch_max, $max, "Makes it at least", fetch_min, $min, "Makes it at most");

            /// Makes it the complement of the bits of both. The answer is the old value.
            #[track_caller]
            pub fn fetch_nand(&self, operand: $type, of: Ordering) -> $type {
                Self::value(self.0.update(Update::Nand(Self::word(operand)), order(of), order(of)))
            }
        }

        common!([] $name, $type);

        impl Default for $name {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
    (@ $type:ty: $($method:ident, $update:ident, $text:literal),*) => {
        $(
            #[doc = concat!($text, " the operand. The answer is the old value.")]
            #[track_caller]
            pub fn $method(&self, operand: $type, of: Ordering) -> $type {
                Self::value(self.0.update(Update::$update(Self::word(operand)), order(of), order(of)))
            }
        )*
    };
}

integer!(AtomicU8, u8, Number, UnsignedMax, UnsignedMin);
integer!(AtomicU16, u16, Number, UnsignedMax, UnsignedMin);
integer!(AtomicU32, u32, Number, UnsignedMax, UnsignedMin);
integer!(AtomicU64, u64, Number, UnsignedMax, UnsignedMin);
integer!(AtomicUsize, usize, Wide, UnsignedMax, UnsignedMin);
integer!(AtomicI8, i8, Number, Max, Min);
integer!(AtomicI16, i16, Number, Max, Min);
integer!(AtomicI32, i32, Number, Max, Min);
integer!(AtomicI64, i64, Number, Max, Min);
integer!(AtomicIsize, isize, Number, Max, Min);

/// An atomic `bool`.
pub struct AtomicBool(Place);

impl AtomicBool {
    /// An atomic with this value.
    #[track_caller]
    pub const fn new(value: bool) -> Self {
        Self(Place::with(Number::new(Self::word(value)), Look::Bool))
    }

    fn publish(_: bool) {}

    const fn word(value: bool) -> Value {
        value as Value
    }

    fn value(word: Value) -> bool {
        word & 1 == 1
    }

    /// Keeps it true if the operand is. The answer is the old value.
    #[track_caller]
    pub fn fetch_and(&self, operand: bool, of: Ordering) -> bool {
        Self::value(self.0.update(Update::And(Self::word(operand)), order(of), order(of)))
    }

    /// Makes it true if the operand is. The answer is the old value.
    #[track_caller]
    pub fn fetch_or(&self, operand: bool, of: Ordering) -> bool {
        Self::value(self.0.update(Update::Or(Self::word(operand)), order(of), order(of)))
    }

    /// Flips it if the operand is true. The answer is the old value.
    #[track_caller]
    pub fn fetch_xor(&self, operand: bool, of: Ordering) -> bool {
        Self::value(self.0.update(Update::Xor(Self::word(operand)), order(of), order(of)))
    }
}

common!([] AtomicBool, bool);

impl AtomicBool {
    /// Makes it the complement of both. The answer is the old value.
    #[track_caller]
    pub fn fetch_nand(&self, operand: bool, of: Ordering) -> bool {
        Self::value(self.0.update(Update::Nand(Self::word(operand)), order(of), order(of)))
    }

    /// Makes it the other value. The answer is the old one.
    #[track_caller]
    pub fn fetch_not(&self, of: Ordering) -> bool {
        self.fetch_xor(true, of)
    }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

/// An atomic pointer.
///
/// What it points to was made by the thread that stores the pointer first. Others may access the atomics and cells in
/// it only after that; if an access does not happen after, it is a data race. (With the allocator of
/// [`explore::alloc`](crate::alloc) it is known who has allocated it.)
pub struct AtomicPtr<T>(Place<std::sync::atomic::AtomicPtr<()>>, PhantomData<*mut T>);

// SAFETY: as for the standard library's.
#[allow(unsafe_code, reason = "what it points to is the user's")]
unsafe impl<T> Send for AtomicPtr<T> {}
// SAFETY: the same.
#[allow(unsafe_code, reason = "what it points to is the user's")]
unsafe impl<T> Sync for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    /// An atomic with this value.
    #[track_caller]
    pub const fn new(value: *mut T) -> Self {
        Self(Place::with(std::sync::atomic::AtomicPtr::new(value.cast()), Look::Address), PhantomData)
    }

    fn word(value: *mut T) -> Value {
        value as usize as Value
    }

    fn value(word: Value) -> *mut T {
        word as usize as *mut T
    }

    /// Tells that the pointer becomes known to others.
    fn publish(value: *mut T) {
        if let Some(run) = runtime::get() {
            run.publish(value as usize, size_of::<T>());
        }
    }
}

common!([T] AtomicPtr<T>, *mut T);

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
