//! Explores every execution of a concurrent program that a memory model allows, each exactly once.

mod bits;
mod exploration;
mod graph;
mod linear;
pub mod litmus;
mod model;
mod program;
mod psc;
mod solve;

pub use exploration::{Counts, Ending, Exploration, Run};
pub use graph::{Graph, Source};
pub use model::Model;
pub use program::{Await, Comparison, Next, Order, Program, Step, Update, Value};
