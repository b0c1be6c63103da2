//! `cc`: no read r of w has a write w' on its location with w co w' co r. RF Algorithm 1, corrected.
//!
//! Such a w' is done after w, so it is among the last in the [`Log`] of the location. And it is enough to look at reads of
//! writes that the thread knew of before: if w comes into its past only with r, whatever was there before is not after w,
//! and what came along with w is before w.
//!
//! If w' is known to r, and is neither w nor `co`-before w, either it is a violation (w co w') or there is a conflict edge w' -> w,
//! which `ccv` collects.
//!
//! O(n k): where there are more writes in the log than a few for each thread, the last write w' of each thread before r is looked at
//! instead. If an earlier one is after w, so is the last; and a conflict edge from the last stands for those from earlier ones.

use history::Execution;
use history::execution::{Event, EventId, Kind};
use order::{Clocks, OneBlock, Width};

use super::derive::Deriver;
use super::lasts::{Done, LastWrites};
use super::log::Log;
use super::{Answer, Halt, Stop, in_blocks, in_one_block, pass, with_write_clocks};
use crate::Interrupt;
use crate::writes::{Cursors, Writes};

/// Decides `cc`. The execution must have no thin-air reads.
pub fn check(execution: &Execution, interrupt: Interrupt) -> Answer {
    if in_one_block(execution) {
        decide(OneBlock, execution, interrupt)
    } else {
        decide(in_blocks(execution), execution, interrupt)
    }
}

/// Decides it with clocks of so many entries.
fn decide<W: Width>(width: W, execution: &Execution, interrupt: Interrupt) -> Answer {
    with_write_clocks(width, execution, |clocks| {
        let mut log = Log::new(execution);
        let mut far = None;
        pass(execution, clocks, interrupt, Kind::writes, |id, thread, known, clocks| {
            let event = execution.event(EventId(id));
            if event.kind.reads() && known {
                let running = clocks.running(thread);
                match log.after(event.location, rank(event, clocks)) {
                    Some(after) if !after.iter().fold(false, |any, write| any | write.is_in(running)) => {}
                    Some(after) => {
                        for write in after.iter().filter(|write| write.is_in(running)) {
                            refuse_stale(execution, id, write.event, clocks.rank(write.event), clocks)?;
                        }
                    }
                    None => Far::of(&mut far, execution).visit(id, thread, clocks, |write| {
                        refuse_stale(execution, id, write.event, write.rank, clocks)
                    })?,
                }
            }
            if event.kind.writes() {
                log.push(id, thread, event.location);
            }
            Ok(())
        })
    })?;
    Ok(None)
}

/// The rank of the source of a read; `None` for the initial write.
fn rank<W: Width>(event: Event, clocks: &Clocks<W>) -> Option<u32> {
    event.source.is_event().then(|| clocks.rank(event.source.0))
}

/// Whether `write`, which a read knows of and whose clock has that rank, does not overwrite what it reads: a violation if it
/// does.
#[inline]
fn refuse_stale<W: Width>(
    execution: &Execution,
    read: u32,
    write: u32,
    rank: u32,
    clocks: &Clocks<W>,
) -> Result<(), Stop> {
    let source = execution.event(EventId(read)).source;
    if source != EventId::INIT {
        let clock = clocks.recent(rank).ok_or(Stop::Forgotten)?;
        if source.0 >= clock[execution.thread(source).index()] {
            return Ok(());
        }
    }
    Err(Halt::Violation(Deriver::new(execution).stale_read(read, source, write, false)).into())
}

/// Calls back `(source, write, clocks)` for conflict edges `write -> source`: with causality they generate all that `cf[co]`
/// adds to it. A violation of `cc` ends the sweep.
pub(super) fn visit_conflicts<W: Width>(
    width: W,
    execution: &Execution,
    clocks: &mut Clocks<W>,
    interrupt: Interrupt,
    mut conflict: impl FnMut(u32, Done, &Clocks<W>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    // What a read of the initial write knows of is beyond what is before everything: nothing.
    let mut nothing = execution.starts()[..execution.thread_count()].to_vec();
    nothing.resize(width.entries(), 0);
    let mut lasts = LastWrites::new(width, execution);
    let mut far = None;
    pass(execution, clocks, interrupt, Kind::writes, |id, thread, _, clocks| {
        let event = execution.event(EventId(id));
        if event.kind.reads() {
            let source_rank = rank(event, clocks);
            let source_clock = match source_rank {
                Some(rank) => clocks.recent(rank).ok_or(Stop::Forgotten)?,
                None => &nothing,
            };
            let mut visit = |write: Done| {
                // What was done before the source is not after it.
                if source_rank.is_none_or(|rank| rank < write.rank) {
                    refuse_stale(execution, id, write.event, write.rank, clocks)?;
                }
                conflict(event.source.0, write, clocks)
            };
            let is_near = match &lasts {
                Some(lasts) => lasts.visit(event.location, clocks.running(thread), source_clock, &mut visit)?,
                None => false,
            };
            if !is_near {
                Far::of(&mut far, execution).visit(id, thread, clocks, visit)?;
            }
        }
        if event.kind.writes()
            && let Some(lasts) = &mut lasts
        {
            lasts.push(id, thread, event.location);
        }
        Ok(())
    })
}

/// The last write of each thread on each location, for reads that have too many writes in the log to look at.
struct Far<'a> {
    execution: &'a Execution,
    writes: Writes,
    cursors: Cursors,
}

impl<'a> Far<'a> {
    /// Made when it is needed for the first time.
    #[cold]
    fn of<'f>(far: &'f mut Option<Self>, execution: &'a Execution) -> &'f mut Self {
        far.get_or_insert_with(|| {
            let writes = Writes::new(execution);
            let cursors = Cursors::new(&writes);
            Self { execution, writes, cursors }
        })
    }

    /// Visits of each thread the last write that a read knows of, if its source does not.
    fn visit<W: Width>(
        &mut self,
        read: u32,
        thread: usize,
        clocks: &Clocks<W>,
        mut visit: impl FnMut(Done) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let event = self.execution.event(EventId(read));
        let range = self.writes.segment_range(event.location);
        self.cursors.seek(&self.writes, range.clone(), clocks.running(thread));
        let source_clock = match rank(event, clocks) {
            Some(rank) => clocks.recent(rank).ok_or(Stop::Forgotten)?,
            None => &[],
        };
        for (_, thread, event) in self.cursors.last(range) {
            if source_clock.get(thread).is_none_or(|&known| event >= known) {
                visit(Done { event, rank: clocks.rank(event), thread })?;
            }
        }
        Ok(())
    }
}
