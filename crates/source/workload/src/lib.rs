//! Simulated memories and objects: generators of histories for tests and benchmarks.
//!
//! Use this crate to test a checker, or to measure one. It makes histories of machines that are right, and of machines
//! that go wrong in a known way. To check a history, use the crate `seriatim` instead.
//!
//! | to make | use |
//! | --- | --- |
//! | a long history of a memory | [`memory::history`], [`memory::execution`] |
//! | a long history of an object, with calls and returns | [`object::history`], [`object::events`] |
//! | a long history of transactions of a database | [`transactions::history`] |
//! | small histories of transactions near the boundary of the levels | [`transactions::small()`] |
//! | small executions near the boundary of the models | [`small::executions`] |
//! | small runs of an object near the boundary | [`object::small()`] |
//! | histories that saturation does not decide | [`hard::history`] |
//! | executions that are hard for `sra` | [`rings::execution`] |
//! | executions that `ra` allows if a graph has no triangle | [`triangles::execution`] |
//!
//! Everything is a function of its configuration and of a seed. The same seed makes the same history, in every version.
//!
//! ```
//! use workload::memory::{MemoryConfig, MemoryMachine};
//!
//! let machine = MemoryMachine::Tso;
//! let config = MemoryConfig { machine, threads: 3, operations: 60, seed: 7, ..MemoryConfig::default() };
//! let history = workload::memory::history(&config, workload::memory::generate(&config));
//! assert_eq!(history.operations().len(), 60);
//! assert_eq!(workload::memory::execution(&config).len(), 60);
//!
//! // A queue that loses a value: most such runs are not linearizable.
//! use workload::object::{ObjectConfig as Objects, Fault};
//! let queue = Objects { fault: Some(Fault::Lost), faults: 1, operations: 40, ..Objects::new(history::Object::Queue) };
//! assert!(workload::object::history(&queue).operations().len() <= 40);
//! assert!(workload::object::events(&queue).count() <= 80);
//!
//! // Small executions, as many as wanted.
//! assert!(workload::small::executions(1).take(10).all(|execution| execution.len() <= 12));
//!
//! // The shapes of which the papers say that saturation does not decide them.
//! use workload::hard::{HardConfig as Hard, HardShape};
//! let hard = Hard { shape: HardShape::TwoGuesses, copies: 3, side_by_side: false, violating: true };
//! assert!(!workload::hard::history(&hard).operations().is_empty());
//! let rings = workload::rings::crossed(true);
//! assert!(!workload::rings::execution(&workload::rings::steps(2, &[rings], false)).is_empty());
//! ```
//!
//! The modules name two papers by short names: wSC is *Boosting Sequential Consistency Checking using Saturation*, and
//! RF is *Optimal Reads-From Consistency Checking for C11-Style Memory Models*. `docs/models.md` has the full
//! references.

pub mod hard;
mod machines;
pub mod memory;
pub mod object;
pub mod random;
pub mod rings;
pub mod small;
pub mod transactions;
pub mod triangles;

pub use small::{cases, to_history};
