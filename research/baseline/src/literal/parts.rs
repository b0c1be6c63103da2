//! Parts of the algorithms, to measure where their time goes.

use history::Execution;
use memory::research::{Choices, Frame};
use model::{Budget, GaveUp};

use super::accesses::Accesses;
use super::{causal, saturation};
use crate::direct::{self, Size};
use crate::enumerate::{self, Effort};

/// wSC+ENUM up to the formula: it is written, and not solved. `None` if the saturation refutes the execution, which has
/// no thin-air reads.
pub fn formula(execution: &Execution, budget: &Budget) -> Result<Option<Size>, GaveUp> {
    let accesses = Accesses::new(execution);
    let Some(order) = saturation::saturate(&accesses, budget)? else { return Ok(None) };
    direct::write_after(&Frame::sequential(execution), |a, b| order.has(a, b), budget).map(Some)
}

/// What the enumeration of SC-CCM+Enum tries until it is interrupted or comes to an end, and whether it does. `None` if
/// `ccm` refutes the execution, which has no thin-air reads.
pub fn tried(execution: &Execution, budget: &Budget) -> Result<Option<(Effort, bool)>, GaveUp> {
    let accesses = Accesses::new(execution);
    let Some(co) = causal::causality(&accesses) else { return Ok(None) };
    let Some(known) = causal::ccm(&accesses, &co, budget)? else { return Ok(None) };
    let frame = Frame::sequential(execution);
    let choices = Choices::after(&frame, |a, b| known.store_order.has(a, b))?;
    let (line, effort) = enumerate::effort(&choices, budget);
    Ok(Some((effort, line.is_ok())))
}
