//! The slow ways to decide memory models and linearizability that the papers compare with, so that the same comparison
//! can be made here.
//!
//! Most users do not want this crate: the crate `seriatim` decides the same much faster. This crate is for
//! benchmarks, and for a second opinion in tests.
//!
//! For `sc`, `tso` and `pso` each way has a name, and is a [strategy](Strategy) beside those of the product:
//!
//! - `wsc+dbcop`, `wsc+enum`, `ccm+enum` and `dbcop` are those of wSC, and `sc-sat`, `sc-ccm+enum`, `sc-ccm+sat`,
//!   `tso-sat`, `tso-ccm+enum` and `tso-ccm+sat` those of GCC, as the papers write them ([`literal`]);
//! - `wsc+six` and `wsc+guess(k)` saturate more than wSC does, as its section 4 proposes, and may leave pairs of writes
//!   open ([`literal::Saturation`]);
//! - `sat` ([`direct`]) writes the axioms down as clauses for a SAT solver, for `pso`, too;
//! - `machine` ([`frontier`]) searches the states of the machine, as `dbcop` does those of the threads;
//! - `wsc+sat`, `wtso+sat`, `wpso+sat`, `ccm+sat` and `wccm+sat` ask a SAT solver for the pairs of writes that the
//!   saturation of the product, or its partial store order, leaves open.
//!
//! For `sc-observed` there is VC's Table 1 as printed ([`TableOne`]).
//!
//! For the C11 family there are RF's algorithms as printed, and the older ones for `ra` and `rc20` that it compares
//! with ([`ra`]).
//!
//! For linearizability there are four checkers ([`refinement`]), each an [algorithm](Algorithm): `enumerate`,
//! `symbolic`, `saturate` and `counting(k)`.
//!
//! The modules name the papers by short names, as the crate `memory` does: wSC is *Boosting Sequential Consistency
//! Checking using Saturation*, GCC is *Gradual Consistency Checking*, and RF is *Optimal Reads-From Consistency
//! Checking for C11-Style Memory Models*. `docs/models.md` has the full references.
//!
//! ```
//! use model::{Model, Verdict};
//! use history::Execution;
//! use history::execution::{ExecutionBuilder, Kind};
//!
//! // Store buffering: neither thread sees the write of the other.
//! let mut builder = ExecutionBuilder::new();
//! for thread in 0..2 {
//!     builder.push(thread, Kind::Write, thread);
//!     let read = builder.push(thread, Kind::Read, 1 - thread);
//!     builder.read_from(read, None);
//! }
//! let execution: Execution = builder.build();
//! let strategy = baseline::Strategy::from_name("dbcop").unwrap();
//! let decision = strategy.check(Model::Sc, &execution, &memory::MemoryOptions::default());
//! assert_eq!((decision.verdict, decision.strategy), (Verdict::Violation, "dbcop"));
//!
//! // Release-acquire allows the same execution.
//! assert!(baseline::ra::writes_before(&execution, Model::Ra));
//! assert!(baseline::ra::closed_order(&execution, Model::Ra));
//! ```

pub mod direct;
pub mod enumerate;
pub mod frontier;
pub mod literal;
pub mod ra;
pub mod refinement;
pub mod strategy;
mod table_one;

use model::Decided;
use object::ObjectHistory;

pub use strategy::Strategy;
pub use table_one::TableOne;

/// A way to decide linearizability.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// One of the product's.
    Product(object::Algorithm),
    /// A [checker](refinement) of MR.
    Refinement(refinement::Checker),
}

impl Algorithm {
    /// The algorithm of that name: those of the crate `object`, and the checkers `enumerate`, `symbolic`, `saturate`
    /// and `counting(k)`.
    pub fn from_name(name: &str) -> Option<Self> {
        let product = object::Algorithm::from_name(name).map(Self::Product);
        product.or_else(|| refinement::checker(name).map(Self::Refinement))
    }

    /// Decides a history, with the witness of a consistent one.
    ///
    /// ```
    /// use baseline::Algorithm;
    /// use baseline::refinement::Options;
    /// use model::Verdict;
    /// use object::ObjectHistory;
    ///
    /// // What is enqueued first is dequeued first.
    /// let text = "# @object queue\n[1] call enqueue 1\n[1] return\n[1] call enqueue 2\n[1] return\n\
    ///             [1] call dequeue\n[1] return 2\n";
    /// let history = format::parse(text)?;
    /// let algorithm = Algorithm::from_name("symbolic").unwrap();
    /// let decision = algorithm.check(&ObjectHistory::new(&history)?, &Options::default());
    /// assert_eq!((decision.verdict, decision.strategy), (Verdict::Violation, "symbolic"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(self, history: &ObjectHistory, options: &refinement::Options) -> Decided {
        match self {
            Self::Product(algorithm) => {
                let budget = options.budget.clone();
                let options =
                    object::ObjectOptions { algorithm, budget, witness: true, ..object::ObjectOptions::default() };
                object::check(history, &options)
            }
            Self::Refinement(checker) => refinement::check(history, checker, options),
        }
    }
}
