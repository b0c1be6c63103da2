//! The axioms of every model, enumerated literally on small executions.
//!
//! This crate is for tests only: use it to compare a fast checker with the definitions. It is exponential, and limited
//! to 128 events and locations. To check a history, use the crate `seriatim` instead.
//!
//! Each model is a few lines that read as its definition does, over dense relations: a least fixpoint is iterated, and
//! all store orders are tried. The initial writes are nodes of the graph. The oracle shares nothing with the engines
//! that are compared with it, except the execution itself.
//!
//! ```
//! use history::execution::Kind::{Read, Write};
//! use history::execution::{EventId, ExecutionBuilder};
//! use oracle::machine::{Machine, runs};
//! use oracle::{Model, allowed, allowed_with_last, implies};
//!
//! // Store buffering: each thread writes one location, and then reads the initial value of the other.
//! let mut builder = ExecutionBuilder::new();
//! for thread in 0..2 {
//!     builder.push(thread, Write, thread);
//!     let read = builder.push(thread, Read, 1 - thread);
//!     builder.read_from(read, None);
//! }
//! let execution = builder.build();
//! assert!(!allowed(Model::Sc, &execution) && allowed(Model::Tso, &execution));
//! assert!(implies(Model::Sc, Model::Tso) && !implies(Model::Tso, Model::Sc));
//! // The same by running the machines.
//! assert!(!runs(Machine::Sc, &execution) && runs(Machine::Tso, &execution));
//! // Location 0 cannot end with its initial value.
//! assert!(!allowed_with_last(Model::Tso, &execution, &[(0, EventId::INIT)]));
//!
//! // Linearizability of an object, by trying every order.
//! let history = format::parse("# object: queue\n[0] call enq 1\n[0] ret\n[1] call deq\n[1] ret 1\n")?;
//! assert!(oracle::object::linearizable(&history));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules name the papers by short names: wSC is *Boosting Sequential Consistency Checking using Saturation*, GCC
//! is *Gradual Consistency Checking*, and RF is *Optimal Reads-From Consistency Checking for C11-Style Memory Models*.
//! `docs/models.md` has the full references.

mod c11;
mod causal;
pub mod corpus;
mod graph;
pub mod machine;
pub mod object;
pub mod observed;
mod relation;
pub mod sources;
mod strong;
pub mod transaction;

use history::execution::EventId;
use history::{Execution, MemoryOrder};

use graph::Graph;

macro_rules! models {
    ($($(#[$doc:meta])* $variant:ident $name:literal $decide:path;)*) => {
        /// A memory model that the oracle knows.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Model { $($(#[$doc])* $variant,)* }

        impl Model {
            /// Every model.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in the specification.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            fn decide(self, graph: &Graph) -> bool {
                match self { $(Self::$variant => $decide(graph),)* }
            }
        }
    };
}

models! {
    /// Causal consistency.
    Cc "cc" causal::cc;
    /// Causal convergence.
    Ccv "ccv" causal::ccv;
    /// Causal memory.
    Cm "cm" causal::cm;
    /// Convergent causal memory.
    Ccm "ccm" causal::ccm;
    /// Sequential consistency.
    Sc "sc" strong::sc;
    /// Weak sequential consistency.
    Wsc "wsc" strong::wsc;
    /// Total store order.
    Tso "tso" strong::tso;
    /// The saturation of total store order.
    Wtso "wtso" strong::wtso;
    /// Weak convergent causal memory.
    Wccm "wccm" strong::wccm;
    /// Partial store order.
    Pso "pso" strong::pso;
    /// The saturation of partial store order.
    Wpso "wpso" strong::wpso;
    /// SC per location.
    Coherence "coherence" strong::coherence;
    /// Release-acquire.
    Ra "ra" c11::ra;
    /// Strong release-acquire.
    Sra "sra" c11::sra;
    /// Weak release-acquire.
    Wra "wra" c11::wra;
    /// RC20.
    Rc20 "rc20" c11::rc20;
    /// RC20 with sequentially consistent accesses and fences.
    C20 "c20" c11::c20;
    /// The same with the release sequences of RC11.
    Rc11 "rc11" c11::rc11;
    /// Relaxed.
    Relaxed "relaxed" c11::relaxed;
}

/// The implications that the specification states, and those that follow from the axioms (`model::implies`). The
/// second model of a pair allows every execution that the first allows, if both models [apply](Model::applies).
pub const IMPLICATIONS: &[(Model, Model)] = &[
    (Model::Sc, Model::Wsc),
    (Model::Wsc, Model::Ccm),
    (Model::Ccm, Model::Cm),
    (Model::Cm, Model::Cc),
    (Model::Ccv, Model::Cc),
    (Model::Sc, Model::Tso),
    (Model::Tso, Model::Wtso),
    (Model::Wtso, Model::Wccm),
    (Model::Wsc, Model::Wtso),
    (Model::Ccm, Model::Wccm),
    (Model::Tso, Model::Pso),
    (Model::Pso, Model::Wpso),
    (Model::Wtso, Model::Wpso),
    (Model::Pso, Model::Coherence),
    (Model::Sc, Model::Sra),
    (Model::Sra, Model::Ra),
    (Model::Ra, Model::Wra),
    (Model::Ra, Model::Rc20),
    (Model::Rc20, Model::Relaxed),
    (Model::C20, Model::Rc20),
    (Model::Rc11, Model::C20),
    (Model::Sc, Model::Rc11),
    (Model::Relaxed, Model::Coherence),
    (Model::Tso, Model::Sra),
    (Model::Wtso, Model::Ra),
    (Model::Wccm, Model::Ccv),
    (Model::Wccm, Model::Wra),
    (Model::Wpso, Model::Relaxed),
    (Model::Sra, Model::Ccv),
    (Model::Wra, Model::Cc),
];

/// Models that allow the same executions, among those to which both [apply](Model::applies). The first applies to more.
pub const EQUAL: &[(Model, Model)] = &[(Model::C20, Model::Rc20)];

/// Whether the first model implies the second by one or more of the [`IMPLICATIONS`].
///
/// ```
/// use oracle::{Model, implies};
///
/// assert!(implies(Model::Sc, Model::Cc));
/// assert!(!implies(Model::Cc, Model::Sc));
/// ```
pub fn implies(strong: Model, weak: Model) -> bool {
    strong == weak || IMPLICATIONS.iter().any(|&(from, to)| from == strong && implies(to, weak))
}

impl Model {
    /// The model of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|model| model.name() == name)
    }

    /// Whether the model asks for an order of the writes to each location, or for the pairs that all such orders have
    /// in common.
    pub const fn orders_writes(self) -> bool {
        !matches!(self, Self::Cc | Self::Cm | Self::Ccm | Self::Wccm | Self::Wra)
    }

    /// Whether the model applies to this execution: `rc20` says nothing of sequentially consistent accesses.
    pub fn applies(self, execution: &Execution) -> bool {
        self != Self::Rc20 || execution.events().iter().all(|e| e.order != MemoryOrder::SequentiallyConsistent)
    }
}

/// Whether the model allows the execution. No model allows a thin-air read.
///
/// ```
/// use history::{Execution, History};
/// use oracle::{Model, allowed};
///
/// // Message passing: thread 1 sees the flag, and not the data.
/// let history = format::parse("[0] w data 1\n[0] w flag 1\n[1] r flag 1\n[1] r data 0\n")?;
/// let execution = Execution::from_history(&history)?;
/// assert!(!allowed(Model::Tso, &execution));
/// assert!(allowed(Model::Relaxed, &execution));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// If the model does not [apply](Model::applies), or if there are more than 128 events and locations.
pub fn allowed(model: Model, execution: &Execution) -> bool {
    assert!(model.applies(execution), "{} says nothing of sc accesses", model.name());
    Graph::new(execution).is_some_and(|graph| model.decide(&graph))
}

/// Whether the model allows the execution with an order of writes in which these writes are the last of their
/// locations. [`EventId::INIT`] stands for the initial write.
///
/// ```
/// use history::{Execution, History};
/// use oracle::{Model, allowed_with_last};
///
/// let execution = Execution::from_history(&format::parse("[0] w x 1\n[0] w x 2\n")?)?;
/// let [first, second] = [0, 1].map(history::execution::EventId);
/// assert!(allowed_with_last(Model::Sc, &execution, &[(0, second)]));
/// assert!(!allowed_with_last(Model::Sc, &execution, &[(0, first)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// As [`allowed`], and if the model asks for no order of writes.
pub fn allowed_with_last(model: Model, execution: &Execution, last: &[(u32, EventId)]) -> bool {
    assert!(model.orders_writes(), "{} asks for no order of writes", model.name());
    assert!(model.applies(execution), "{} says nothing of sc accesses", model.name());
    Graph::new(execution).is_some_and(|mut graph| {
        for &(location, write) in last {
            graph.set_last(location, write);
        }
        model.decide(&graph)
    })
}
