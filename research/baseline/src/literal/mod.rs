//! The algorithms of wSC and GCC as their papers write them: they decide, and give no evidence.
//!
//! | algorithm | of | what it does |
//! | --- | --- | --- |
//! | DBCOP | wSC | searches over [frontiers](crate::frontier) |
//! | wSC+DBCOP | wSC | saturates, and searches over frontiers with `st` as a constraint |
//! | wSC+ENUM | wSC | saturates, and writes the axioms and `st` as [clauses](crate::direct) |
//! | CCM+ENUM | wSC | the same with `pww`; it is the SC-CCM+SAT of GCC |
//! | SC-SAT, TSO-SAT | GCC | write the axioms as clauses |
//! | SC-CCM+Enum, TSO-CCM+Enum | GCC | compute `pww` (`wpww`), and [try](crate::enumerate) all open pairs |
//! | SC-CCM+SAT, TSO-CCM+SAT | GCC | compute `pww` (`wpww`), and write the axioms with it as clauses |
//!
//! [`Saturation`] has the saturations of section 4 of wSC, which find more of the kernel.
//!
//! Before `ccm`, those of GCC for `sc` check `cc` and `ccv`, as the paper's implementation does.
//!
//! The papers define relations, and no data structures. Here a [`Relation`] has one row of bits for each event, and is
//! kept closed as pairs are added. wSC+DBCOP can also be run on the saturation of the crate `memory`
//! ([`Algorithm::WscDbcopLent`]), so that a comparison does not depend on how well the relation is kept. [`formula`]
//! and [`tried`] tell where the time goes.

mod accesses;
mod buffers;
mod causal;
mod guess;
mod parts;
mod relation;
mod saturation;

use history::Execution;
use history::execution::EventId;
use memory::research::{Choices, Frame, Relaxation, Saturated, Unsaturated, numbered_frame};
use model::{Budget, GaveUp, Model};
use order::Rows;

use crate::{direct, enumerate, frontier};
use accesses::Accesses;
pub use causal::Convergent;
pub use guess::{Rule, Saturation};
pub use parts::{formula, tried};
pub use relation::Relation;

/// An algorithm of wSC or GCC.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Algorithm {
    Dbcop,
    WscDbcop,
    WscDbcopLent,
    WscEnum,
    ScSat,
    ScCcmEnum,
    ScCcmSat,
    TsoSat,
    TsoCcmEnum,
    TsoCcmSat,
    /// The saturation of wSC alone, for `wsc`.
    Wsc,
    /// The partial store order of GCC alone, for `ccm`, after `cc` and `ccv`.
    Ccm,
    /// The same, without looking at `cc` and `ccv` before: all of its relations are computed.
    CcmWhole,
    /// For `wccm`.
    Wccm,
    /// For `cc`.
    Cc,
    /// For `ccv`, after `cc`.
    Ccv,
}

/// Whether a model allows an execution, or why nothing is known.
pub type Answer = Result<bool, GaveUp>;

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 16] = [
        Self::Dbcop,
        Self::WscDbcop,
        Self::WscDbcopLent,
        Self::WscEnum,
        Self::ScSat,
        Self::ScCcmEnum,
        Self::ScCcmSat,
        Self::TsoSat,
        Self::TsoCcmEnum,
        Self::TsoCcmSat,
        Self::Wsc,
        Self::Ccm,
        Self::CcmWhole,
        Self::Wccm,
        Self::Cc,
        Self::Ccv,
    ];

    /// The model that it decides.
    pub const fn model(self) -> Model {
        match self {
            Self::TsoSat | Self::TsoCcmEnum | Self::TsoCcmSat => Model::Tso,
            Self::Wsc => Model::Wsc,
            Self::Ccm | Self::CcmWhole => Model::Ccm,
            Self::Wccm => Model::Wccm,
            Self::Cc => Model::Cc,
            Self::Ccv => Model::Ccv,
            _ => Model::Sc,
        }
    }

    /// Decides its model.
    ///
    /// ```
    /// use baseline::literal::Algorithm;
    /// use history::execution::{ExecutionBuilder, Kind};
    /// use memory::Budget;
    ///
    /// // Store buffering: neither thread sees the write of the other.
    /// let mut builder = ExecutionBuilder::new();
    /// for thread in 0..2 {
    ///     builder.push(thread, Kind::Write, thread);
    ///     let read = builder.push(thread, Kind::Read, 1 - thread);
    ///     builder.read_from(read, None);
    /// }
    /// let execution = builder.build();
    /// assert_eq!(Algorithm::WscDbcop.decide(&execution, &Budget::UNLIMITED), Ok(false));
    /// assert_eq!(Algorithm::TsoCcmEnum.decide(&execution, &Budget::UNLIMITED), Ok(true));
    /// ```
    pub fn decide(self, execution: &Execution, budget: &Budget) -> Answer {
        if !execution.thin_air().is_empty() {
            return Ok(false);
        }
        match self {
            Self::TsoSat | Self::TsoCcmEnum | Self::TsoCcmSat => return self.buffered(execution, budget),
            Self::Wccm => return Ok(buffers::wccm(&Accesses::new(execution), budget)?.is_some()),
            _ => {}
        }
        let frame = Frame::sequential(execution);
        let accesses = Accesses::new(execution);
        match self {
            Self::Dbcop => frontier::search(&frame, budget).map(|line| line.is_some()),
            Self::WscDbcop | Self::WscEnum | Self::Wsc => {
                let Some(order) = saturation::saturate(&accesses, budget)? else { return Ok(false) };
                let line = match self {
                    Self::Wsc => return Ok(true),
                    Self::WscDbcop => {
                        let constraints = last_writes(&accesses, |a, b| order.has(a, b));
                        frontier::search_after(&frame, &constraints, budget)
                    }
                    _ => direct::solve_after(&frame, |a, b| order.has(a, b), budget),
                };
                Ok(line?.is_some())
            }
            Self::WscDbcopLent => match Saturated::new(&frame, budget) {
                Err(Unsaturated::GaveUp(why)) => Err(why),
                Err(_) => Ok(false),
                Ok(saturated) => {
                    let constraints = last_writes(&accesses, |a, b| saturated.order.before(a, b));
                    Ok(frontier::search_after(&frame, &constraints, budget)?.is_some())
                }
            },
            Self::ScSat => Ok(direct::solve(&frame, budget)?.is_some()),
            Self::Cc | Self::Ccv | Self::Ccm | Self::CcmWhole | Self::ScCcmEnum | Self::ScCcmSat => {
                self.gradual(&frame, &accesses, budget)
            }
            Self::TsoSat | Self::TsoCcmEnum | Self::TsoCcmSat | Self::Wccm => unreachable!("decided before"),
        }
    }

    /// `cc`, `ccv`, `ccm` one after the other, and then what is left of `sc`.
    fn gradual(self, frame: &Frame<'_>, accesses: &Accesses<'_>, budget: &Budget) -> Answer {
        let Some(co) = causal::causality(accesses) else { return Ok(false) };
        if self == Self::CcmWhole {
            return Ok(causal::ccm(accesses, &co, budget)?.is_some());
        }
        let is_causal = causal::cc(accesses, &co);
        if !is_causal || self == Self::Cc {
            return Ok(is_causal);
        }
        budget.check()?;
        let is_convergent = causal::ccv(accesses, &co);
        if !is_convergent || self == Self::Ccv {
            return Ok(is_convergent);
        }
        let Some(Convergent { store_order, order }) = causal::ccm(accesses, &co, budget)? else {
            return Ok(false);
        };
        let line = match self {
            Self::ScCcmEnum => {
                let choices = Choices::after(frame, |a, b| store_order.has(a, b))?;
                enumerate::enumerate(&choices, budget)
            }
            Self::ScCcmSat => direct::solve_after(frame, |a, b| order.has(a, b), budget),
            _ => return Ok(true),
        };
        Ok(line?.is_some())
    }

    /// `wccm`, and then what is left of `tso`.
    fn buffered(self, execution: &Execution, budget: &Budget) -> Answer {
        let Ok((frame, numbers)) = numbered_frame(execution, Relaxation::WriteRead) else {
            return Ok(false);
        };
        if self == Self::TsoSat {
            return Ok(direct::solve(&frame, budget)?.is_some());
        }
        let Some(store_order) = buffers::wccm(&Accesses::new(execution), budget)? else { return Ok(false) };
        // What is known, by the numbers of the frame.
        let mut known = Relation::new(execution.len());
        for (a, b) in Accesses::new(execution).pairs().filter(|&(a, b)| store_order.has(a, b)) {
            known.set(numbers[a as usize], numbers[b as usize]);
        }
        let choices = || Choices::after(&frame, |a, b| known.has(a, b));
        let line = if self == Self::TsoCcmEnum {
            enumerate::enumerate(&choices()?, budget)
        } else {
            let mut order = known.clone();
            for event in 0..execution.len() as u32 {
                if frame.execution().position(EventId(event)) > 0 {
                    order.set(event - 1, event);
                }
                frame.predecessors(event).for_each(|predecessor| order.set(predecessor, event));
            }
            Accesses::new(frame.execution()).add_read_write(&known, &mut order);
            if !order.close(budget)? {
                return Ok(false);
            }
            direct::solve_after(&frame, |a, b| order.has(a, b), budget)
        };
        Ok(line?.is_some())
    }
}

/// For each write, the last write of each thread that comes before it in a store order.
fn last_writes(accesses: &Accesses<'_>, before: impl Fn(u32, u32) -> bool) -> Rows {
    let execution = accesses.execution;
    let mut pairs = Vec::new();
    for writes in &accesses.writes {
        for &second in writes {
            // Writes are sorted by thread. Those of the own thread are in order by themselves.
            let mut last: Option<u32> = None;
            for &first in writes.iter().filter(|&&first| !accesses.same_thread(first, second)) {
                if !before(first, second) {
                    continue;
                }
                if let Some(last) = last.filter(|&last| !accesses.same_thread(last, first)) {
                    pairs.push((second as usize, last));
                }
                last = Some(first);
            }
            pairs.extend(last.map(|last| (second as usize, last)));
        }
    }
    Rows::new(execution.len(), pairs.into_iter())
}

/// `cf[co]` of an execution without thin-air reads: the pairs that `ccv` adds to causality, and no others. `None` if
/// causality has a cycle, or a read of an initial value comes after a write.
pub fn conflicts(execution: &Execution) -> Option<Relation> {
    let accesses = Accesses::new(execution);
    let co = causal::causality(&accesses)?;
    let mut conflicts = Relation::new(execution.len());
    causal::add_conflicts(&accesses, &co, &mut conflicts).then_some(conflicts)
}

/// `pww` of an execution without thin-air reads, and how it orders all events. `None` if `ccm` is violated.
pub fn partial_store_order(execution: &Execution, budget: &Budget) -> Result<Option<Convergent>, GaveUp> {
    let accesses = Accesses::new(execution);
    let Some(co) = causal::causality(&accesses) else { return Ok(None) };
    causal::ccm(&accesses, &co, budget)
}
