//! `ccv`: `cc`, and `po u rf u cf[co]` is acyclic. RF Algorithm 2.
//!
//! First the quick question: is it acyclic, by the targets of the conflict edges alone ([`Targets`])? Only if not, or if a
//! witness is wanted, all events are put in an order. Then the conflict edges into a write w are one clock, `bounds`:
//! what w has to wait for, thread by thread. An order of execution in which every read comes after its source and every
//! write after its bound exists iff the union is acyclic, and restricted to the writes it is the witness: one order of
//! all writes that extends causality, in which each read has read the last of the writes that it knows of. O(n k).

use certificate::Evidence;
use history::Execution;
use history::execution::EventId;
use order::{Failure, OneBlock, Width};

use super::bounds::Bounds;
use super::cc::visit_conflicts;
use super::derive::Deriver;
use super::targets::Targets;
use super::{Answer, Causality, Halt, Stop, in_blocks, in_one_block, with_write_clocks};
use crate::Interrupt;
use crate::writes::Readers;

/// Decides `ccv`, which includes `cc`. With `witness`, the order of the writes. The execution must have no thin-air reads.
pub fn check(execution: &Execution, witness: bool, interrupt: Interrupt) -> Answer {
    if !witness {
        let is_acyclic = if in_one_block(execution) {
            is_acyclic(OneBlock, execution, interrupt)?
        } else {
            is_acyclic(in_blocks(execution), execution, interrupt)?
        };
        if is_acyclic {
            return Ok(None);
        }
    }
    let threads = execution.threads();
    let events = execution.events();
    let width = in_blocks(execution);
    let bounds = with_write_clocks(width, execution, |clocks| {
        let mut bounds = Bounds::new(execution);
        visit_conflicts(width, execution, clocks, interrupt, |source, write, _| {
            bounds.raise(source, write.event, write.thread);
            Ok(())
        })?;
        Ok(bounds)
    })?;

    let mut write_order = Vec::new();
    let outcome = order::schedule(
        execution.starts(),
        |event| threads[event as usize].index(),
        || interrupt.is_due(),
        |cursors, _, id| {
            let event = events[id as usize];
            if event.source.is_event() && event.source.0 >= cursors[threads[event.source.index()].index()] {
                return Some(event.source.0);
            }
            if !event.kind.writes() {
                return None;
            }
            if let Some(blocker) = bounds.blocker(id, cursors) {
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
        Err(Failure::Interrupted) => Err(Halt::Interrupted),
        Err(Failure::Stuck(stuck)) => {
            let cycle = stuck.cycle(|event| threads[event as usize].index());
            // Of each edge of the cycle: if it is not reads-from, which read forces it?
            let readers = Readers::new(execution);
            let causality = Causality::new(execution, interrupt)?;
            let forced_by = |write: u32, source: u32| {
                let thread = threads[write as usize].index();
                readers
                    .of(source)
                    .iter()
                    .copied()
                    .find(|&read| read != write && write < causality.clocks.of(read)[thread])
            };
            Err(Halt::Violation(Deriver::new(execution).conflict_cycle(&cycle, forced_by)))
        }
    }
}

/// Whether the union is acyclic, with clocks of so many entries.
fn is_acyclic<W: Width>(width: W, execution: &Execution, interrupt: Interrupt) -> Result<bool, Halt> {
    let targets = with_write_clocks(width, execution, |clocks| {
        let mut targets = Targets::of_width(width, execution);
        visit_conflicts(width, execution, clocks, interrupt, |source, write, clocks| {
            if !targets.has(source, write.event, write.thread) {
                let clock = |rank| clocks.recent(rank).ok_or(Stop::Forgotten);
                targets.add(source, clock(clocks.rank(source))?, clock(write.rank)?);
            }
            Ok(())
        })?;
        Ok(targets)
    })?;
    Ok(targets.find_cycle(interrupt)?.is_none())
}
