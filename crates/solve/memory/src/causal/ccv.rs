//! `ccv`: `cc`, and `po u rf u cf[co]` is acyclic. The algorithm is Algorithm 2 of RF.
//!
//! A quick test comes first: it decides from the targets of the conflict edges alone whether the union is acyclic
//! ([`Targets`]). All events are put in an order only if it is not, or if a witness is wanted. For that, the conflict
//! edges into a write w become one clock, the bound of w: the events of each thread that w has to wait for. An order of
//! execution in which every read comes after its source and every write after its bound exists iff the union is
//! acyclic. Restricted to the writes, this order is the witness: it extends causality, and each read reads the last of
//! the writes that it knows of. The algorithm takes O(n k).
//!
//! A violation of `cc`, w co w' co r, is a cycle of this kind, too, since w' -> w is a conflict edge. The evidence
//! shows it as a violation of `cc`.

use history::Execution;
use history::execution::EventId;
use model::Evidence;
use order::lanes::BLOCK;
use order::{Clocks, Failure, Fixed, Width};

use super::bounds::Bounds;
use super::cc::{self, find_conflicts};
use super::cuts::Cuts;
use super::derive::Deriver;
use super::lasts::{Conflict, Conflicts};
use super::targets::Targets;
use super::{Answer, Causality, Halt, PassStop, in_blocks, in_one_block, with_write_clocks};
use crate::Limits;
use crate::writes::Readers;

/// Decides `ccv`, which includes `cc`. If `witness` is set, the answer has the order of the writes. The execution must
/// have no thin-air reads.
pub fn check(execution: &Execution, witness: bool, limits: &Limits) -> Answer {
    if !witness {
        let is_acyclic = if in_one_block(execution) {
            is_acyclic(Fixed::<BLOCK>, execution, limits)?
        } else {
            is_acyclic(in_blocks(execution), execution, limits)?
        };
        if is_acyclic {
            return Ok(None);
        }
    }
    cc::check(execution, limits)?;
    let threads = execution.threads();
    let width = in_blocks(execution);
    let bounds = with_write_clocks(width, execution, limits, |clocks, _| {
        let mut bounds = Bounds::new(execution);
        find_conflicts(width, execution, clocks, limits.knobs.causal.epoch, limits, |found, _| {
            for &Conflict { source, write, .. } in found.all() {
                bounds.raise(source, write, threads[write as usize].index());
            }
            found.clear();
            Ok(())
        })?;
        Ok(bounds)
    })?;
    let knowledge = || {
        // For each edge of the cycle that is not reads-from, the read that forces it is needed.
        let causality = Causality::new(execution, &limits.budget)?;
        Ok(move |read: u32, write: u32| write < causality.clocks.of(read)[threads[write as usize].index()])
    };
    order_writes(execution, witness, limits, |id, cursors| bounds.blocker(id, cursors), knowledge)
}

/// Puts all events in an order in which each read comes after its source, and each write after the events that
/// `blocker` names: the first of them that is not done. If there is no such order, `knowledge` tells whether a read
/// knows of a write.
pub(super) fn order_writes<K: Fn(u32, u32) -> bool>(
    execution: &Execution,
    witness: bool,
    limits: &Limits,
    blocker: impl Fn(u32, &[u32]) -> Option<u32>,
    knowledge: impl FnOnce() -> Result<K, Halt>,
) -> Answer {
    let (threads, events) = (execution.threads(), execution.events());
    let mut write_order = Vec::new();
    let outcome = order::schedule(
        execution.starts(),
        |event| threads[event as usize].index(),
        || limits.budget.is_due(),
        |cursors, _, id| {
            let event = events[id as usize];
            if event.source.is_event() && event.source.0 >= cursors[threads[event.source.index()].index()] {
                return Some(event.source.0);
            }
            if !event.kind.writes() {
                return None;
            }
            if let Some(blocker) = blocker(id, cursors) {
                return Some(blocker);
            }
            if witness {
                write_order.push(execution.operation(EventId(id)));
            }
            None
        },
    );
    match outcome {
        Ok(()) => Ok(witness.then_some(Evidence::WriteOrder(write_order))),
        Err(Failure::Interrupted) => Err(Halt::GaveUp(limits.budget.why())),
        Err(Failure::Stuck(stuck)) => {
            let cycle = stuck.cycle(|event| threads[event as usize].index());
            let readers = Readers::new(execution);
            let knows = knowledge()?;
            let forced_by = |write: u32, source: u32| {
                readers.of(source).iter().copied().find(|&read| read != write && knows(read, write))
            };
            Err(Halt::Violation(Deriver::new(execution).conflict_cycle(&cycle, forced_by)))
        }
    }
}

/// Whether the union is acyclic, and `cc` holds, with clocks of so many entries.
fn is_acyclic<W: Width>(width: W, execution: &Execution, limits: &Limits) -> Result<bool, Halt> {
    let mut cutting = limits.knobs.causal.cuts;
    let (targets, is_bounded) = with_write_clocks(width, execution, limits, |clocks, recent| {
        let mut targets = Targets::of_width(width, execution);
        let mut add = |conflict: Conflict, clocks: &Clocks<W>| -> Result<(), PassStop> {
            let Conflict { source, source_rank, write, rank } = conflict;
            if !targets.has(source, write, execution.thread(EventId(write)).index()) {
                let clock = |rank| clocks.recent(rank).ok_or(PassStop::Forgotten);
                targets.add(source, clock(source_rank)?, clock(rank)?);
            }
            Ok(())
        };
        let mut cuts = cutting.then(|| Cuts::new(execution.len()));
        // The conflicts of the epoch before this one, and how many writes were done at its end.
        let (mut before, mut done) = (Conflicts::default(), 0);
        let mut settle = |found: &mut Conflicts, clocks: &Clocks<W>| {
            if let Some(cuts) = &mut cuts {
                for conflict in found.all() {
                    cutting &= cuts.add(conflict.rank, conflict.source_rank);
                }
                if !cutting {
                    return Err(PassStop::Late);
                }
                cuts.settle(done);
                done = clocks.next_rank() as usize;
                std::mem::swap(&mut before, found);
                let mut kept = found.all().iter().filter(|found| !cuts.separate(found.source_rank, found.rank));
                kept.try_for_each(|&conflict| add(conflict, clocks))?;
            } else {
                found.all().iter().try_for_each(|&conflict| add(conflict, clocks))?;
            }
            found.clear();
            Ok(())
        };
        let is_bounded = find_conflicts(
            width,
            execution,
            clocks,
            recent / limits.knobs.causal.kept_epochs + 1,
            limits,
            &mut settle,
        )?;
        settle(&mut Conflicts::default(), clocks)?;
        Ok((targets, is_bounded))
    })?;
    Ok(is_bounded && targets.find_cycle(&limits.budget)?.is_none())
}
