//! The programs with the names of explore.

mod shim {
    pub use explore::{cell, hint, sync, thread};
}
#[path = "../../../crates/explore/tests/programs/bugs.rs"]
pub mod bugs;
#[path = "../../../crates/explore/tests/programs/data.rs"]
mod data;
#[path = "../../../crates/explore/tests/programs/structures.rs"]
pub mod structures;
