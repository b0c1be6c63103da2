//! The programs with the names of loom.

mod shim {
    pub use loom::{cell, hint, sync, thread};
}
#[path = "../../../crates/program/explore/tests/programs/bugs.rs"]
pub mod bugs;
#[path = "../../../crates/program/explore/tests/programs/data.rs"]
mod data;
#[path = "../../../crates/program/explore/tests/programs/structures.rs"]
pub mod structures;
