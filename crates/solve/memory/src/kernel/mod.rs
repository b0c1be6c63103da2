//! The SC-kernel: the pairs of same-location writes that every store order orders the same way. (Section 4 of wSC,
//! *Boosting Sequential Consistency Checking using Saturation*.)
//!
//! A pair that saturation leaves open is not in the kernel if two store orders differ on it. So the algorithm finds one
//! store order, and then tries each open pair the other way round. Every further store order that it finds settles all
//! pairs on which the two differ, so it looks for store orders that differ from the first as much as they can.

pub(crate) mod choices;
pub(crate) mod pair_solver;

use history::Execution;
use history::execution::EventId;
use model::GaveUp;
use rustc_hash::FxHashSet;

use crate::causal::Causality;
use crate::causal::ccm::PartialStoreOrder;
use crate::store::frame::Frame;
use crate::store::saturate::{Saturated, Unsaturated};
use crate::{Budget, causal::Halt};
use choices::Choices;
use pair_solver::{PairSolver, StoreOrder};

/// After so many failures, the solver that looks for other store orders is not asked any more.
const MAX_FAILURES: u32 = 4;

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

/// The partial store orders, the weakest first. Each has all pairs of those before it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelOrder {
    /// That of `ccv`: `(co_WW u cf[co])+`.
    Ccv,
    /// `pww` of `ccm`.
    Pww,
    /// `st`, the saturation of wSC.
    St,
    /// What every store order has.
    Kernel,
}

impl KernelOrder {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ccv, Self::Pww, Self::St, Self::Kernel];

    /// The name in the papers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ccv => "ccv",
            Self::Pww => "pww",
            Self::St => "st",
            Self::Kernel => "kernel",
        }
    }
}

/// A pair of same-location writes. If it is in the kernel, the first write comes first in every store order.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The first write.
    pub first: EventId,
    /// The second write.
    pub second: EventId,
    /// The weakest order that has the pair. `None` if it is open.
    pub weakest: Option<KernelOrder>,
}

impl Pair {
    /// Whether an order has the pair.
    pub fn is_in(&self, order: KernelOrder) -> bool {
        self.weakest.is_some_and(|weakest| weakest <= order)
    }
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
/// let kernel = memory::kernel::kernel(&builder.build(), &memory::Budget::UNLIMITED).unwrap();
/// assert_eq!((kernel.pairs, kernel.kernel), (1, 0));
/// ```
pub fn kernel(execution: &Execution, budget: &Budget) -> Result<Kernel, NoKernel> {
    visit(execution, budget, |_| ())
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
/// memory::kernel::visit(&builder.build(), &memory::Budget::UNLIMITED, |pair| pairs.push(pair)).unwrap();
/// assert_eq!((pairs.len(), pairs[0].weakest, pairs[0].first.0), (1, Some(memory::kernel::KernelOrder::Ccv), 0));
/// ```
pub fn visit(execution: &Execution, budget: &Budget, mut visit: impl FnMut(Pair)) -> Result<Kernel, NoKernel> {
    if !execution.thin_air().is_empty() {
        return Err(NoKernel::Violation);
    }
    let frame = Frame::sequential(execution);
    let saturated = Saturated::new(&frame, budget).map_err(|unsaturated| match unsaturated {
        Unsaturated::GaveUp(why) => NoKernel::GaveUp(why),
        _ => NoKernel::Violation,
    })?;
    let choices = Choices::after_saturation(&frame, &saturated)?;
    // The pairs that saturation leaves open and every store order has, as it has them.
    let forced: FxHashSet<(u32, u32)> = forced(&choices, budget)?.into_iter().collect();
    let causality = Causality::new(execution, budget)?;
    let convergent = PartialStoreOrder::new(&causality, &budget.into())?;
    let causal = PartialStoreOrder::of_causality(&causality, &budget.into())?;
    let mut writes = vec![Vec::new(); execution.location_count()];
    for id in execution.ids().filter(|&id| execution.event(id).kind.writes()) {
        writes[execution.event(id).location.index()].push(id);
    }
    let mut counts = Kernel::default();
    for writes in &writes {
        for (at, &b) in writes.iter().enumerate() {
            budget.check()?;
            for &a in &writes[..at] {
                let order = &saturated.order;
                let is_back = order.before(b.0, a.0) || forced.contains(&(b.0, a.0));
                let (first, second) = if is_back { (b, a) } else { (a, b) };
                let has = |it| match it {
                    KernelOrder::Ccv => causal.before(first, second),
                    KernelOrder::Pww => convergent.before(first, second),
                    KernelOrder::St => order.before(first.0, second.0),
                    KernelOrder::Kernel => forced.contains(&(first.0, second.0)),
                };
                let pair = Pair { first, second, weakest: KernelOrder::ALL.into_iter().find(|&it| has(it)) };
                counts.pairs += 1;
                counts.ccv += u64::from(pair.is_in(KernelOrder::Ccv));
                counts.pww += u64::from(pair.is_in(KernelOrder::Pww));
                counts.st += u64::from(pair.is_in(KernelOrder::St));
                counts.kernel += u64::from(pair.is_in(KernelOrder::Kernel));
                visit(pair);
            }
        }
    }
    Ok(counts)
}

/// The open pairs that every store order orders the same way, in that order.
fn forced(choices: &Choices<'_>, budget: &Budget) -> Result<Vec<(u32, u32)>, NoKernel> {
    let mut solver = PairSolver::new(choices, budget);
    let StoreOrder { chosen, .. } = solver.solve(None)?.ok_or(NoKernel::Violation)?;
    let mut unlike = PairSolver::unlike(choices, budget, &chosen);
    // How often the solver for other orders took too long. Then the first one, whose guess is mostly right, decides.
    let mut failures = 0;
    let mut other_order = |assumed| {
        if failures < MAX_FAILURES {
            match unlike.solve_soon(Some(assumed)) {
                Err(GaveUp::Steps) => failures += 1,
                answer => return answer,
            }
        }
        solver.solve(Some(assumed))
    };
    let mut differs = vec![false; chosen.len()];
    let mut forced = Vec::new();
    for (pair, &forth) in chosen.iter().enumerate() {
        if differs[pair] {
            continue;
        }
        if let Some(other) = other_order((pair, !forth))? {
            for (differs, (a, b)) in differs.iter_mut().zip(chosen.iter().zip(&other.chosen)) {
                *differs |= a != b;
            }
        } else {
            let (first, second) = choices.pairs[pair];
            forced.push(if forth { (first, second) } else { (second, first) });
        }
    }
    Ok(forced)
}

#[cfg(test)]
mod tests;
