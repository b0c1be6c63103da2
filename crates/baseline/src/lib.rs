//! The slow ways to decide memory models that the papers compare with, for the same comparison here.
//!
//! For `sc`, `tso` and `pso` each is a [strategy](memory::Strategy) with the name of a [tactic](Tactic): [`direct`]
//! writes the axioms down as clauses (`sat`), [`enumerate`](mod@enumerate) tries all orders of the open pairs of writes
//! (`ccm+enum`, `wccm+enum`), [`frontier`] searches the states of the threads (`dbcop`) or of the machine (`machine`).
//! For `ra` there are two algorithms that came before the engine's ([`ra`]).
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
//! ```

pub mod direct;
pub mod enumerate;
pub mod frontier;
pub mod ra;

use certificate::Tactic;
use memory::{Baseline, Strategy};

/// Every strategy: those of the crate `memory`, and the baselines.
pub fn strategies() -> impl Iterator<Item = Strategy> {
    Strategy::all().chain(Tactic::all().filter_map(of_tactic))
}

/// The strategy of that name.
pub fn strategy(name: &str) -> Option<Strategy> {
    strategies().find(|strategy| strategy.name() == name)
}

/// The strategy that is a tactic alone, if it is a baseline.
pub const fn of_tactic(tactic: Tactic) -> Option<Strategy> {
    let method = match tactic {
        Tactic::Dbcop | Tactic::Machine => Baseline::OfFrame(frontier::search),
        Tactic::Sat => Baseline::OfFrame(direct::solve),
        Tactic::CcmEnum | Tactic::WccmEnum => Baseline::OfChoices(enumerate::enumerate),
        _ => return None,
    };
    Some(Strategy::Baseline(tactic, method))
}
