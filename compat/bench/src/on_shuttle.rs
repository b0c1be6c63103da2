//! The programs with the names of shuttle.

mod shim {
    pub use shuttle::{hint, sync, thread};

    /// Shuttle has no cells: these are not checked.
    pub mod cell {
        pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

        impl<T> UnsafeCell<T> {
            pub fn new(value: T) -> Self {
                Self(std::cell::UnsafeCell::new(value))
            }

            pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
                read(self.0.get())
            }

            pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
                write(self.0.get())
            }
        }
    }
}
#[path = "../../../crates/program/explore/tests/all/programs/bugs.rs"]
pub mod bugs;
#[path = "../../../crates/program/explore/tests/all/programs/data.rs"]
mod data;
#[path = "../../../crates/program/explore/tests/all/programs/structures.rs"]
pub mod structures;
