//! Parts of the algorithms, to measure where their time goes.

use certificate::{GaveUp, Interrupt};
use history::Execution;
use memory::store::choices::Choices;
use memory::store::frame::Frame;

use super::accesses::Accesses;
use super::{causal, saturation};
use crate::direct::{self, Size};
use crate::enumerate::{self, Effort};

/// wSC+ENUM up to the formula: it is written, and not solved. `None` if the saturation refutes the execution, which has
/// no thin-air reads.
pub fn formula(execution: &Execution, interrupt: Interrupt) -> Result<Option<Size>, GaveUp> {
    let accesses = Accesses::new(execution);
    let Some(order) = saturation::saturate(&accesses, interrupt)? else { return Ok(None) };
    direct::write_after(&Frame::sequential(execution), |a, b| order.has(a, b), interrupt).map(Some)
}

/// What the enumeration of SC-CCM+Enum tries until it is interrupted or comes to an end, and whether it does. `None` if
/// `ccm` refutes the execution, which has no thin-air reads.
pub fn tried(execution: &Execution, interrupt: Interrupt) -> Result<Option<(Effort, bool)>, GaveUp> {
    let accesses = Accesses::new(execution);
    let Some(co) = causal::causality(&accesses) else { return Ok(None) };
    let Some(known) = causal::ccm(&accesses, &co, interrupt)? else { return Ok(None) };
    let frame = Frame::sequential(execution);
    let choices = Choices::after(&frame, |a, b| known.store_order.has(a, b))?;
    let (line, effort) = enumerate::effort(&choices, interrupt);
    Ok(Some((effort, line.is_ok())))
}
