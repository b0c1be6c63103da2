//! The slow ways to decide memory models and linearizability that the papers compare with, so that the same comparison
//! can be made here.
//!
//! Most users do not want this crate: the crate `seriatim` decides the same much faster. This crate is for
//! benchmarks, and for a second opinion in tests.
//!
//! For `sc`, `tso` and `pso` each way is a [strategy](memory::Strategy) with the name of a [tactic](Tactic):
//!
//! - `sat` ([`direct`]) writes the axioms down as clauses for a SAT solver;
//! - `ccm+enum` and `wccm+enum` ([`enumerate`](mod@enumerate)) try all orders of the open pairs of writes;
//! - `dbcop` and `machine` ([`frontier`]) search the states of the threads, or of the machine.
//!
//! These strategies find evidence, too. The algorithms of wSC and GCC as their papers write them, which only decide,
//! are in [`literal`].
//!
//! For `ra` and `rc20` there are the older algorithms that RF compares with, and RF's own for `ra`, event by event
//! ([`ra`]).
//!
//! For linearizability there are three checkers ([`refinement`]), each an [algorithm](object::Algorithm): `enumerate`,
//! `symbolic` and `counting(k)`.
//!
//! The modules name the papers by short names, as the crate `memory` does: wSC is *Boosting Sequential Consistency
//! Checking using Saturation*, GCC is *Gradual Consistency Checking*, and RF is *Optimal Reads-From Consistency
//! Checking for C11-Style Memory Models*. `docs/models.md` has the full references.
//!
//! ```
//! use certificate::{Model, Verdict};
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
//! let mut checker = memory::Checker::new(&execution, &memory::Options::default());
//! checker.set_strategy(baseline::strategy("dbcop").unwrap());
//! let decision = checker.check(Model::Sc);
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

use certificate::Tactic;
use memory::{Baseline, Strategy};
use object::Algorithm;

/// Every strategy: those of the crate `memory`, and the baselines.
pub fn strategies() -> impl Iterator<Item = Strategy> {
    Strategy::all().chain(Tactic::all().filter_map(of_tactic))
}

/// The strategy of that name, if there is one.
pub fn strategy(name: &str) -> Option<Strategy> {
    strategies().find(|strategy| strategy.name() == name)
}

/// The strategy that tries this tactic alone, if the tactic is a baseline.
pub const fn of_tactic(tactic: Tactic) -> Option<Strategy> {
    let method = match tactic {
        Tactic::Dbcop | Tactic::Machine => Baseline::OfFrame(frontier::search),
        Tactic::Sat => Baseline::OfFrame(direct::solve),
        Tactic::CcmEnum | Tactic::WccmEnum => Baseline::OfChoices(enumerate::enumerate),
        _ => return None,
    };
    Some(Strategy::Baseline(tactic, method))
}

/// The algorithm of that name: those of the crate `object`, and the [checkers](refinement::checker) `enumerate`,
/// `symbolic` and `counting(k)`.
///
/// ```
/// use certificate::Verdict;
/// use history::format::{ReadOptions, read};
/// use object::{ObjectHistory, Options, check};
///
/// // What is enqueued first is dequeued first.
/// let text = "# @object queue\n[1] call enqueue 1\n[1] return\n[1] call enqueue 2\n[1] return\n\
///             [1] call dequeue\n[1] return 2\n";
/// let history = read(Box::new(text.as_bytes()), &ReadOptions::default()).next().unwrap()?;
/// let algorithm = baseline::algorithm("symbolic").unwrap();
/// let decision = check(&ObjectHistory::new(&history)?, &Options { algorithm, ..Options::default() });
/// assert_eq!((decision.verdict, decision.strategy), (Verdict::Violation, "symbolic"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn algorithm(name: &str) -> Option<Algorithm> {
    Algorithm::from_name(name).or_else(|| refinement::checker(name).map(Algorithm::Refinement))
}
