//! `cc`: no read r of w has a write w' on its location with w co w' co r. RF Algorithm 1, corrected.
//!
//! It is enough to look at the last write w' of each thread before r: if an earlier one is after w, so is the last. And it
//! is enough to look at reads of writes that the thread knew of before: if w comes into its past only with r, whatever
//! was there before is not after w, and what came along with w is before w.
//!
//! If w' is neither w nor `co`-before w, either it is a violation (w co w') or there is a conflict edge w' -> w, which `ccv`
//! collects. O(n k).

use history::Execution;
use history::execution::{EventId, Kind};
use order::Clocks;

use super::derive::Deriver;
use super::{Answer, Halt, pass};
use crate::Interrupt;
use crate::writes::{Cursors, Writes};

/// Decides `cc`. The execution must have no thin-air reads.
pub fn check(execution: &Execution, interrupt: Interrupt) -> Answer {
    visit_conflicts(execution, interrupt, None::<fn(u32, u32, usize, &Clocks)>)?;
    Ok(None)
}

/// How many clocks [`visit_conflicts`] keeps: those of the writes.
pub fn clock_count(execution: &Execution) -> usize {
    execution.events().iter().filter(|event| event.kind.writes()).count()
}

/// Calls back `(source, write, thread, clocks)` for each conflict edge `write -> source` that `cf[co]` adds to causality,
/// `write` being the last one of the thread. A violation of `cc` ends the sweep.
pub fn visit_conflicts(
    execution: &Execution,
    interrupt: Interrupt,
    mut conflict: Option<impl FnMut(u32, u32, usize, &Clocks)>,
) -> Result<(), Halt> {
    let writes = Writes::new(execution);
    let mut cursors = Cursors::new(&writes);
    let mut clocks = Clocks::new(execution.starts(), clock_count(execution));
    pass(execution, &mut clocks, interrupt, Kind::writes, |read, thread, known, clocks| {
        let event = execution.event(EventId(read));
        if !event.kind.reads() || (!known && conflict.is_none()) {
            return Ok(());
        }
        let source = event.source;
        let violation = |write| Err(Halt::Violation(Deriver::new(execution).stale_read(read, source, write, false)));
        let range = writes.segment_range(event.location);
        // A write that was done before the source cannot be after it: the tags are ranks in the order of doing.
        cursors.seek(&writes, range.clone(), clocks.running(thread), |write| clocks.rank(write));
        if source == EventId::INIT {
            return cursors.last(range).next().map_or(Ok(()), |(_, _, write, _)| violation(write));
        }
        let source_rank = clocks.rank(source.0);
        let source_clock = clocks.ranked(source_rank);
        if known && cursors.any_beyond(range.clone(), source_clock, source_rank) {
            let source_thread = execution.thread(source).index();
            for (_, thread, write, rank) in cursors.last(range.clone()) {
                if write >= source_clock[thread] && source.0 < clocks.ranked(rank)[source_thread] {
                    return violation(write);
                }
            }
        }
        if let Some(conflict) = &mut conflict {
            for (_, thread, write, _) in cursors.last(range) {
                if write >= source_clock[thread] {
                    conflict(source.0, write, thread, clocks);
                }
            }
        }
        Ok(())
    })
}
