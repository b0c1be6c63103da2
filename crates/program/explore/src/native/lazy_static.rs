//! Statics that are made at their first use: what `lazy_static!` makes.

use std::fmt;
use std::marker::PhantomData;

use super::runtime;
use super::sync::Once;
pub use super::thread::AccessError;

/// A static of [`lazy_static!`](macro@crate::lazy_static). It is made anew in each execution. Those of earlier
/// executions stay in memory and are not dropped: code may have kept references to them.
pub struct Lazy<T> {
    #[doc(hidden)]
    pub init: fn() -> T,
    #[doc(hidden)]
    pub once: Once,
    #[doc(hidden)]
    pub _p: PhantomData<fn(T)>,
}

impl<T: 'static> Lazy<T> {
    /// The value, which is made now if it has not been.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let key = std::ptr::from_ref(self) as usize;
        let run = runtime::expect();
        self.once.call_once(|| run.add_lazy(key, (self.init)()));
        let value = run.lazy(key).expect("a static is used after the execution has ended");
        value.downcast_ref().expect("the static has this type")
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}
