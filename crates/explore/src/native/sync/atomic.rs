//! Atomics, with the names of `std::sync::atomic`.
//!
//! A value is kept in the upper bits of a word, so that arithmetic wraps around where the type does.

pub use std::sync::atomic::Ordering;

use super::super::runtime;
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

fn load_order(of: Ordering) -> Order {
    assert!(!matches!(of, Ordering::Release | Ordering::AcqRel), "there is no such thing as a load with {of:?}");
    order(of)
}

fn store_order(of: Ordering) -> Order {
    assert!(!matches!(of, Ordering::Acquire | Ordering::AcqRel), "there is no such thing as a store with {of:?}");
    order(of)
}

/// A fence.
#[track_caller]
pub fn fence(of: Ordering) {
    assert!(of != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    runtime::step(Step::Fence(order(of)));
}

/// A location that is modelled.
#[derive(Debug)]
struct Cell(u32);

impl Cell {
    #[track_caller]
    fn new(value: Value) -> Self {
        let location = runtime::location();
        runtime::step(Step::Write { location, order: Order::NonAtomic, value });
        Self(location)
    }

    #[track_caller]
    fn read(&self, order: Order) -> Value {
        runtime::step(Step::Read { location: self.0, order, until: None })
    }

    #[track_caller]
    fn write(&self, value: Value, order: Order) {
        runtime::step(Step::Write { location: self.0, order, value });
    }

    #[track_caller]
    fn update(&self, update: Update, success: Ordering, failure: Ordering) -> Value {
        let (order, failure) = (order(success), order(failure));
        runtime::step(Step::Rmw { location: self.0, order, failure, update, until: None })
    }
}

macro_rules! common {
    ($name:ident, $type:ty) => {
        impl $name {
            /// An atomic with this value.
            #[track_caller]
            pub fn new(value: $type) -> Self {
                Self(Cell::new(Self::word(value)))
            }

            /// Reads the value.
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $type {
                Self::value(self.0.read(load_order(order)))
            }

            /// Writes a value.
            #[track_caller]
            pub fn store(&self, value: $type, order: Ordering) {
                self.0.write(Self::word(value), store_order(order));
            }

            /// Writes a value, and gives the old one back.
            #[track_caller]
            pub fn swap(&self, value: $type, order: Ordering) -> $type {
                Self::value(self.0.update(Update::Set(Self::word(value)), order, order))
            }

            /// Writes a value if the old one is `current`; gives the old one back.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                load_order(failure);
                let update = Update::CompareExchange { expected: Self::word(current), new: Self::word(new) };
                let old = Self::value(self.0.update(update, success, failure));
                if old == current { Ok(old) } else { Err(old) }
            }

            /// The same: it does not fail without a reason.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $type,
                new: $type,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$type, $type> {
                self.compare_exchange(current, new, success, failure)
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
    };
}

macro_rules! integer {
    ($name:ident, $type:ty, $max:ident, $min:ident) => {
        #[doc = concat!("An atomic `", stringify!($type), "`.")]
        #[derive(Debug)]
        pub struct $name(Cell);

        impl $name {
            const SHIFT: u32 = Value::BITS - <$type>::BITS;

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
            pub fn fetch_nand(&self, operand: $type, order: Ordering) -> $type {
                Self::value(self.0.update(Update::Nand(Self::word(operand)), order, order))
            }
        }

        common!($name, $type);
    };
    (@ $type:ty: $($method:ident, $update:ident, $text:literal),*) => {
        $(
            #[doc = concat!($text, " the operand. The answer is the old value.")]
            #[track_caller]
            pub fn $method(&self, operand: $type, order: Ordering) -> $type {
                Self::value(self.0.update(Update::$update(Self::word(operand)), order, order))
            }
        )*
    };
}

integer!(AtomicU8, u8, UnsignedMax, UnsignedMin);
integer!(AtomicU16, u16, UnsignedMax, UnsignedMin);
integer!(AtomicU32, u32, UnsignedMax, UnsignedMin);
integer!(AtomicU64, u64, UnsignedMax, UnsignedMin);
integer!(AtomicUsize, usize, UnsignedMax, UnsignedMin);
integer!(AtomicI8, i8, Max, Min);
integer!(AtomicI16, i16, Max, Min);
integer!(AtomicI32, i32, Max, Min);
integer!(AtomicI64, i64, Max, Min);
integer!(AtomicIsize, isize, Max, Min);

/// An atomic `bool`.
#[derive(Debug)]
pub struct AtomicBool(Cell);

impl AtomicBool {
    const fn word(value: bool) -> Value {
        value as Value
    }

    const fn value(word: Value) -> bool {
        word & 1 == 1
    }

    /// Keeps it true if the operand is. The answer is the old value.
    #[track_caller]
    pub fn fetch_and(&self, operand: bool, order: Ordering) -> bool {
        Self::value(self.0.update(Update::And(Self::word(operand)), order, order))
    }

    /// Makes it true if the operand is. The answer is the old value.
    #[track_caller]
    pub fn fetch_or(&self, operand: bool, order: Ordering) -> bool {
        Self::value(self.0.update(Update::Or(Self::word(operand)), order, order))
    }

    /// Flips it if the operand is true. The answer is the old value.
    #[track_caller]
    pub fn fetch_xor(&self, operand: bool, order: Ordering) -> bool {
        Self::value(self.0.update(Update::Xor(Self::word(operand)), order, order))
    }
}

common!(AtomicBool, bool);
