//! The SC-kernel: the pairs of same-location writes that every store order orders the same way. (Section 4 of wSC,
//! *Boosting Sequential Consistency Checking using Saturation*.)
//!
//! A pair that saturation leaves open is not in the kernel if two store orders differ on it. So the algorithm finds one
//! store order, and then tries each open pair the other way round. Every further store order that it finds settles all
//! pairs on which the two differ.

use certificate::GaveUp;
use history::Execution;

use crate::causal::Causality;
use crate::causal::ccm::PartialStoreOrder;
use crate::store::choices::Choices;
use crate::store::frame::Frame;
use crate::store::sat::{PairSolver, StoreOrder};
use crate::store::saturate::{Saturated, Unsaturated};
use crate::{Interrupt, causal::Halt};

/// How many pairs of same-location writes each order orders.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// All pairs of same-location writes.
    pub pairs: u64,
    /// The pairs that `st`, the saturation of wSC, orders.
    pub st: u64,
    /// The pairs that `pww` of `ccm` orders.
    pub pww: u64,
    /// The pairs that every store order orders the same way.
    pub kernel: u64,
}

/// Why there is no kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NoKernel {
    /// The execution is not sequentially consistent.
    Violation,
    /// The computation takes too long, or more pairs are open than can be listed.
    GaveUp(GaveUp),
}

impl From<GaveUp> for NoKernel {
    fn from(why: GaveUp) -> Self {
        Self::GaveUp(why)
    }
}

impl From<Halt> for NoKernel {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Violation(_) => Self::Violation,
            Halt::GaveUp(why) => Self::GaveUp(why),
        }
    }
}

/// Computes the kernel exactly.
///
/// ```
/// use history::ExecutionBuilder;
/// use history::execution::Kind::Write;
///
/// // Two threads write one location, and nobody reads: either order is possible.
/// let mut builder = ExecutionBuilder::new();
/// builder.push(0, Write, 0);
/// builder.push(1, Write, 0);
/// let kernel = memory::sc::kernel::kernel(&builder.build(), memory::Interrupt::never()).unwrap();
/// assert_eq!((kernel.pairs, kernel.kernel), (1, 0));
/// ```
pub fn kernel(execution: &Execution, interrupt: Interrupt) -> Result<Kernel, NoKernel> {
    if !execution.thin_air().is_empty() {
        return Err(NoKernel::Violation);
    }
    let frame = Frame::sequential(execution);
    let saturated = Saturated::new(&frame, interrupt).map_err(|unsaturated| match unsaturated {
        Unsaturated::GaveUp(why) => NoKernel::GaveUp(why),
        _ => NoKernel::Violation,
    })?;
    let choices = Choices::after_saturation(&frame, &saturated)?;
    let mut solver = PairSolver::new(&choices, interrupt);
    let StoreOrder { chosen, .. } = solver.solve(None)?.ok_or(NoKernel::Violation)?;
    let mut differs = vec![false; chosen.len()];
    let mut forced = 0;
    for pair in 0..chosen.len() {
        if differs[pair] {
            continue;
        }
        match solver.solve(Some((pair, !chosen[pair])))? {
            Some(other) => {
                for (differs, (a, b)) in differs.iter_mut().zip(chosen.iter().zip(&other.chosen)) {
                    *differs |= a != b;
                }
            }
            None => forced += 1,
        }
    }
    let pairs = pair_count(execution);
    let st = pairs - choices.pairs.len() as u64;
    let pww = partial(execution, interrupt)?;
    Ok(Kernel { pairs, st, pww, kernel: st + forced })
}

fn pair_count(execution: &Execution) -> u64 {
    let mut writes = vec![0u64; execution.location_count()];
    for event in execution.events().iter().filter(|event| event.kind.writes()) {
        writes[event.location.index()] += 1;
    }
    writes.iter().map(|count| count * count.saturating_sub(1) / 2).sum()
}

fn partial(execution: &Execution, interrupt: Interrupt) -> Result<u64, NoKernel> {
    let causality = Causality::new(execution, interrupt)?;
    let order = PartialStoreOrder::new(&causality, &interrupt.into())?;
    let mut writes = vec![Vec::new(); execution.location_count()];
    for id in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
        writes[execution.event(id).location.index()].push(id);
    }
    let mut count = 0;
    for writes in &writes {
        for (at, &second) in writes.iter().enumerate() {
            let ordered = |&&first: &&_| order.before(first, second) || order.before(second, first);
            count += writes[..at].iter().filter(ordered).count() as u64;
        }
    }
    Ok(count)
}
