//! The SC-kernel: the pairs of same-location writes that every store order orders the same way. (Section 4 of wSC,
//! *Boosting Sequential Consistency Checking using Saturation*.)
//!
//! A pair that saturation leaves open is not in the kernel if two store orders differ on it. So the algorithm finds one
//! store order, and then tries each open pair the other way round. Every further store order that it finds settles all
//! pairs on which the two differ.

use certificate::GaveUp;
use history::Execution;
use history::execution::EventId;
use rustc_hash::FxHashSet;

use crate::causal::Causality;
use crate::causal::ccm::PartialStoreOrder;
use crate::store::choices::Choices;
use crate::store::frame::Frame;
use crate::store::sat::{PairSolver, StoreOrder};
use crate::store::saturate::{Saturated, Unsaturated};
use crate::{Interrupt, causal::Halt};

/// How many pairs of same-location writes each order orders.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// All pairs of same-location writes.
    pub pairs: u64,
    /// The pairs that `st`, the saturation of wSC, orders.
    pub st: u64,
    /// The pairs that `pww` of `ccm` orders.
    pub pww: u64,
    /// The pairs that the partial store order of `ccv` orders: `(co_WW u cf[co])+`.
    pub ccv: u64,
    /// The pairs that every store order orders the same way.
    pub kernel: u64,
}

/// A pair of same-location writes, and which orders order it. If it is in the kernel, the first write comes first. What
/// another order orders is in the kernel.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The first write.
    pub first: EventId,
    /// The second write.
    pub second: EventId,
    /// Whether `st` orders it.
    pub st: bool,
    /// Whether `pww` orders it.
    pub pww: bool,
    /// Whether the partial store order of `ccv` orders it.
    pub ccv: bool,
    /// Whether it is in the kernel.
    pub kernel: bool,
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
    visit(execution, interrupt, |_| ())
}

/// Computes the kernel exactly, and visits all pairs of same-location writes: location by location, then by the numbers
/// of the events.
///
/// ```
/// use history::ExecutionBuilder;
/// use history::execution::Kind::{Read, Write};
///
/// // The second thread reads the write of the first before its own: program order and the read order the writes.
/// let mut builder = ExecutionBuilder::new();
/// let write = builder.push(0, Write, 0);
/// let read = builder.push(1, Read, 0);
/// builder.read_from(read, Some(write));
/// builder.push(1, Write, 0);
/// let mut pairs = Vec::new();
/// memory::sc::kernel::visit(&builder.build(), memory::Interrupt::never(), |pair| pairs.push(pair)).unwrap();
/// assert!(pairs.len() == 1 && pairs[0].ccv && pairs[0].kernel && pairs[0].first.0 == 0);
/// ```
pub fn visit(execution: &Execution, interrupt: Interrupt, mut visit: impl FnMut(Pair)) -> Result<Kernel, NoKernel> {
    if !execution.thin_air().is_empty() {
        return Err(NoKernel::Violation);
    }
    let frame = Frame::sequential(execution);
    let saturated = Saturated::new(&frame, interrupt).map_err(|unsaturated| match unsaturated {
        Unsaturated::GaveUp(why) => NoKernel::GaveUp(why),
        _ => NoKernel::Violation,
    })?;
    let choices = Choices::after_saturation(&frame, &saturated)?;
    // The pairs that saturation leaves open and every store order has, as it has them.
    let forced: FxHashSet<(u32, u32)> = forced(&choices, interrupt)?.into_iter().collect();
    let causality = Causality::new(execution, interrupt)?;
    let convergent = PartialStoreOrder::new(&causality, &interrupt.into())?;
    let causal = PartialStoreOrder::of_causality(&causality, &interrupt.into())?;
    let mut writes = vec![Vec::new(); execution.location_count()];
    for id in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
        writes[execution.event(id).location.index()].push(id);
    }
    let mut counts = Kernel::default();
    for writes in &writes {
        for (at, &b) in writes.iter().enumerate() {
            interrupt.check()?;
            for &a in &writes[..at] {
                let order = &saturated.order;
                let is_back = order.before(b.0, a.0) || forced.contains(&(b.0, a.0));
                let (first, second) = if is_back { (b, a) } else { (a, b) };
                let st = order.before(first.0, second.0);
                let pair = Pair {
                    first,
                    second,
                    st,
                    pww: convergent.before(first, second),
                    ccv: causal.before(first, second),
                    kernel: st || forced.contains(&(first.0, second.0)),
                };
                counts.pairs += 1;
                counts.st += u64::from(pair.st);
                counts.pww += u64::from(pair.pww);
                counts.ccv += u64::from(pair.ccv);
                counts.kernel += u64::from(pair.kernel);
                visit(pair);
            }
        }
    }
    Ok(counts)
}

/// The open pairs that every store order orders the same way, in that order.
fn forced(choices: &Choices<'_>, interrupt: Interrupt) -> Result<Vec<(u32, u32)>, NoKernel> {
    let mut solver = PairSolver::new(choices, interrupt);
    let StoreOrder { chosen, .. } = solver.solve(None)?.ok_or(NoKernel::Violation)?;
    let mut differs = vec![false; chosen.len()];
    let mut forced = Vec::new();
    for (pair, &forth) in chosen.iter().enumerate() {
        if differs[pair] {
            continue;
        }
        match solver.solve(Some((pair, !forth)))? {
            Some(other) => {
                for (differs, (a, b)) in differs.iter_mut().zip(chosen.iter().zip(&other.chosen)) {
                    *differs |= a != b;
                }
            }
            None => {
                let (first, second) = choices.pairs[pair];
                forced.push(if forth { (first, second) } else { (second, first) });
            }
        }
    }
    Ok(forced)
}
