//! The names of loom 0.7 on the engine of Seriatim.
//!
//! With this in a manifest, the loom tests of a crate, and of those that it depends on, run on this engine, unchanged:
//!
//! ```toml
//! [patch.crates-io]
//! loom = { path = "…/seriatim/compat/loom" }
//! ```

pub use explore::model::{MAX_THREADS, explore, skip_branch, stop_exploring};
pub use explore::{alloc, cell, future, hint, lazy_static, sync, thread, thread_local};
pub use model::model;

/// Explores the code under the model `c20` of Seriatim.
pub mod model {
    pub use explore::model::Builder;

    /// Explores every execution of the code. Panics if one of them has a finding, or a thread has too many steps.
    #[track_caller]
    pub fn model(code: impl Fn() + Sync + Send + 'static) {
        Builder::new().check(code);
    }
}

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: alloc::Quarantine = alloc::Quarantine;
