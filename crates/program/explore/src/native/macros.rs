//! The macros of the standard library and of loom.

/// Thread-locals, like `std::thread_local!`.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const { $init:expr } $(; $($rest:tt)*)?) => {
        $crate::thread_local!($(#[$attr])* $vis static $name: $t = $init $(; $($rest)*)?);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::thread_local!($(#[$attr])* $vis static $name: $t = $init $(; $($rest)*)?);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$t> = $crate::thread::LocalKey {
            init: (|| $init) as fn() -> $t,
            _p: ::core::marker::PhantomData,
        };
        $($crate::thread_local!($($rest)*);)?
    };
}

/// Statics that are made at their first use, like `lazy_static::lazy_static!`.
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attr:meta])* $vis:vis static ref $name:ident: $t:ty = $init:expr; $($rest:tt)*) => {
        #[allow(missing_copy_implementations, non_camel_case_types, dead_code, missing_docs)]
        $(#[$attr])*
        $vis struct $name { __private_field: () }
        #[doc(hidden)]
        $vis static $name: $name = $name { __private_field: () };
        impl ::core::ops::Deref for $name {
            type Target = $t;
            fn deref(&self) -> &$t {
                static LAZY: $crate::lazy_static::Lazy<$t> = $crate::lazy_static::Lazy {
                    init: (|| $init) as fn() -> $t,
                    once: $crate::sync::Once::new(),
                    _p: ::core::marker::PhantomData,
                };
                LAZY.get()
            }
        }
        $crate::lazy_static!($($rest)*);
    };
}
