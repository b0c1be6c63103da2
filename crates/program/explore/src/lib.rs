//! Explores every execution of a concurrent program that a memory model allows, each exactly once.
//!
//! | to do this | use |
//! | --- | --- |
//! | explore Rust code that uses atomics | [`model`](model()) or [`Builder`], with the types of [`sync`] and [`cell`] |
//! | explore the small clients of an object | [`object()`] |
//! | explore a litmus test of herd | [`litmus::Test`] |
//! | explore a program of your own | [`Program`] and [`Exploration`] |
//! | explore it with several processors | [`explore`] |
//! | run a program at random, because it is too large | [`Program`] and [`Sampler`] |
//! | try an event and take it back, in a model checker of your own | [`Execution`] |
//! | know which memory of a program was freed, and when | [`heap::Heap`] |
//!
//! An execution is a *reads-from class*: the events of each thread, and which write each read reads. The order in which
//! events happen is no part of it, and neither is the modification order: a class is allowed if some modification order
//! satisfies the axioms of the model. So there are far fewer classes than interleavings.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use explore::{Exploration, Graph, Model, Next, Order, Program, Step, Update, Value};
//!
//! /// As many threads as told add one to a counter.
//! struct Counter(u32);
//!
//! impl Program for Counter {
//!     fn threads(&self) -> u32 {
//!         self.0
//!     }
//!
//!     fn initial(&self, _location: u32) -> Value {
//!         0
//!     }
//!
//!     fn next(&mut self, thread: u32, graph: &Graph) -> Next {
//!         let (order, failure, update) = (Order::Relaxed, Order::Relaxed, Update::Add(1));
//!         match graph.len(thread) {
//!             0 => Next::Step(Step::Rmw { location: 0, order, failure, update, until: None }),
//!             _ => Next::Finished,
//!         }
//!     }
//! }
//!
//! let mut exploration = Exploration::new(Counter(4), Model::C20);
//! let mut finals = Vec::new();
//! let _ = exploration.run(|run| {
//!     run.memories(&[0], |memory| finals.push(memory[0]));
//!     ControlFlow::Continue(())
//! });
//! // The threads add in any of 4! orders. In each of them, none is lost.
//! assert_eq!(exploration.counts().executions, 24);
//! assert!(finals.iter().all(|&last| last == 4));
//! ```
//!
//! What is where: the exploration and the argument for it in `exploration/`; a graph, with clocks and coherence, in
//! `graph/`; what models ask of all locations together in `psc.rs` and `linear.rs`; the search for modification
//! orders in `solve.rs`. Relations are written as in the papers: `po` is program order, `rf` reads-from, `mo` the
//! modification order, `hb` happens-before, and an rmw is a read-modify-write.

mod accesses;
mod bits;
mod chance;
mod execution;
mod exploration;
mod graph;
pub mod heap;
mod linear;
pub mod litmus;
pub mod model;
mod native;
mod parallel;
mod program;
mod psc;
mod random;
mod recording;
mod solve;
mod trace;

pub use accesses::DataAccess;
pub use chance::Chance;
pub use execution::Execution;
pub use exploration::{Counts, Estimate, Exploration, ExplorationEnding, Run};
pub use graph::{Graph, Source};
pub use model::Model;
pub use native::{
    Broken, Builder, Called, Calls, Clients, Finding, Object, ObjectVerdict, Omitted, Trial, Verdict, alloc, cell,
    choose, clients, future, hint, lazy_static, model, object, sync, thread,
};
pub use parallel::explore;
pub use program::{Await, Comparison, Integer, Next, Order, Program, Step, Update, Value};
pub use random::{RandomStrategy, Sampler};
pub use trace::{Taken, Trace, TraceWords, read_token};
