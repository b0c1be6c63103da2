//! The place of an execution in the lattice of models. `sc` is decided first: if it allows the execution, no other
//! engine runs.

use history::execution::Kind;
use history::{Execution, OpenExecution};
use model::classification::{self, Classification, Known};
use model::{Budget, Model};

use crate::{ExecutionChecker, MemoryOptions, fits, sources};

/// Classifies an execution. Each run gets a `budget` of its own, which is made when the run begins. What is `known`
/// already is not decided again.
///
/// ```
/// use model::{Budget, Model};
/// use history::ExecutionBuilder;
/// use history::execution::Kind::{Read, Write};
///
/// // Store buffering: each thread writes one location, and then reads the initial value of the other.
/// let mut builder = ExecutionBuilder::new();
/// for thread in 0..2 {
///     builder.push(thread, Write, thread);
///     let read = builder.push(thread, Read, 1 - thread);
///     builder.read_from(read, None);
/// }
/// let classification = memory::classify::classify(&builder.build(), None, model::Budget::default);
/// assert!(classification.strongest_satisfied().contains(&Model::Tso));
/// ```
pub fn classify(execution: &Execution, known: Known, budget: impl Fn() -> Budget) -> Classification {
    let rmw_free = !execution.events().iter().any(|event| event.kind == Kind::Rmw);
    let mut checker = ExecutionChecker::new(execution, &MemoryOptions::default());
    let check = |model, budget| {
        checker.set_budget(budget);
        checker.check(model)
    };
    classification::classify(
        &Model::ALL,
        Model::Sc,
        rmw_free,
        |model| fits(model, execution).is_ok(),
        check,
        known,
        budget,
    )
}

/// Classifies an execution of which some sources are open. A model that implies another for every choice of sources
/// implies it for such an execution, too.
pub fn classify_open(open: &OpenExecution, known: Known, budget: impl Fn() -> Budget) -> Classification {
    let is_rmw = |read| open.whole(read).kind == Kind::Rmw;
    let rmw_free =
        !open.execution().events().iter().any(|event| event.kind == Kind::Rmw) && !(0..open.reads().len()).any(is_rmw);
    let mut checker = sources::OpenChecker::new(open, &MemoryOptions::default());
    let fitting: Vec<Model> = Model::ALL.into_iter().filter(|&model| checker.fits(model).is_ok()).collect();
    let check = |model, budget| {
        checker.set_budget(budget);
        checker.check(model)
    };
    classification::classify(&Model::ALL, Model::Sc, rmw_free, |model| fitting.contains(&model), check, known, budget)
}
