//! The parts of the engines that the research workspace builds the papers' algorithms from. They stand behind the
//! feature `research`, which nothing of the product turns on, and may change with every version.

use history::Execution;
use history::execution::EventId;
use model::{Budget, Family, GaveUp, Model};

pub use crate::causal::Causality;
use crate::causal::Halt;
pub use crate::causal::ccm::PartialStoreOrder;
pub use crate::kernel::choices::{Choices, Graph};
pub use crate::kernel::pair_solver::PairSolver;
pub use crate::limits::Limits;
pub use crate::store::frame::{Frame, Relaxation};
pub use crate::store::saturate::{Saturated, Unsaturated};
pub use crate::tso::numbered_frame;
use crate::tso::{self, wccm};

/// The frame of `sc`, `tso`, `pso` or of their weak forms. `None` if a thread by itself breaks coherence.
pub fn frame<'a>(model: Model, execution: &'a Execution) -> Option<Frame<'a>> {
    if model.row().family == Family::Sequential {
        Some(Frame::sequential(execution))
    } else {
        tso::frame(model, execution).ok()
    }
}

/// The pairs of writes that the partial store order of the causal family leaves open: `pww` of `ccm` for `sc`, `wpww`
/// of `wccm` for `tso`. `None` if that order has a cycle. The execution must have no thin-air reads.
pub fn open_pairs<'a>(
    execution: &Execution,
    frame: &'a Frame<'a>,
    budget: &Budget,
) -> Result<Option<Choices<'a>>, GaveUp> {
    let choices = if frame.relaxation() == Relaxation::Nothing {
        Causality::new(frame.execution(), budget).and_then(|causality| {
            let order = PartialStoreOrder::new(&causality, &budget.into())?;
            Ok(Choices::after(frame, |a, b| a != b && order.before(EventId(a), EventId(b)))?)
        })
    } else {
        wccm::PartialStoreOrder::new(execution, budget)
            .and_then(|order| Ok(Choices::after(frame, |first, second| order.before(first, second))?))
    };
    match choices {
        Ok(choices) => Ok(Some(choices)),
        Err(Halt::Violation(_)) => Ok(None),
        Err(Halt::GaveUp(why)) => Err(why),
    }
}
