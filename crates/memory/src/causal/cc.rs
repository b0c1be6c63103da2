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
use order::Clocks;

use super::derive::Deriver;
use super::log::Log;
use super::{Answer, Halt, Stop, pass, with_write_clocks};
use crate::Interrupt;
use crate::writes::{Cursors, Writes};

/// Decides `cc`. The execution must have no thin-air reads.
pub fn check(execution: &Execution, interrupt: Interrupt) -> Answer {
    with_write_clocks(execution, |clocks| {
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
                            refuse_stale(execution, id, write.event, clocks)?;
                        }
                    }
                    None => Far::of(&mut far, execution).visit(id, thread, clocks, |_, _| Ok(()))?,
                }
            }
            if event.kind.writes() {
                log.push_plain(id, thread, event.location);
            }
            Ok(())
        })
    })?;
    Ok(None)
}

/// How many clocks of writes there are.
pub fn clock_count(execution: &Execution) -> usize {
    execution.events().iter().filter(|event| event.kind.writes()).count()
}

/// The rank of the source of a read; `None` for the initial write.
fn rank(event: Event, clocks: &Clocks) -> Option<u32> {
    event.source.is_event().then(|| clocks.rank(event.source.0))
}

/// Whether `write`, which a read knows of, does not overwrite what it reads: a violation if it does.
fn refuse_stale(execution: &Execution, read: u32, write: u32, clocks: &Clocks) -> Result<(), Stop> {
    let source = execution.event(EventId(read)).source;
    if source != EventId::INIT {
        let clock = clocks.recent(clocks.rank(write)).ok_or(Stop::Forgotten)?;
        if source.0 >= clock[execution.thread(source).index()] {
            return Ok(());
        }
    }
    Err(Halt::Violation(Deriver::new(execution).stale_read(read, source, write, false)).into())
}

/// Calls back `(source, write, thread, clocks)` for conflict edges `write -> source`, `write` being of the thread: with causality
/// they generate all that `cf[co]` adds to it. A violation of `cc` ends the sweep.
pub(super) fn visit_conflicts(
    execution: &Execution,
    clocks: &mut Clocks,
    interrupt: Interrupt,
    mut conflict: impl FnMut(u32, u32, usize, &Clocks) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut log = Log::new(execution);
    let mut far = None;
    pass(execution, clocks, interrupt, Kind::writes, |id, thread, _, clocks| {
        let event = execution.event(EventId(id));
        if event.kind.reads() && !visit_near(execution, id, thread, &log, clocks, &mut conflict)? {
            let add = |write, of| conflict(event.source.0, write, of, clocks);
            Far::of(&mut far, execution).visit(id, thread, clocks, add)?;
        }
        if event.kind.writes() {
            log.push(id, thread, event.location, clocks.running(thread));
        }
        Ok(())
    })
}

/// The conflict edges of one read, from the log. `false` if there are too many writes to look at: then some edges are missing.
#[inline]
fn visit_near(
    execution: &Execution,
    read: u32,
    thread: usize,
    log: &Log,
    clocks: &Clocks,
    mut conflict: impl FnMut(u32, u32, usize, &Clocks) -> Result<(), Stop>,
) -> Result<bool, Stop> {
    let event = execution.event(EventId(read));
    let rank = rank(event, clocks);
    let running = clocks.running(thread);
    let Some(after) = log.after(event.location, rank) else { return Ok(false) };
    for write in after {
        if write.is_in(running) {
            refuse_stale(execution, read, write.event, clocks)?;
            conflict(event.source.0, write.event, write.thread(), clocks)?;
        }
    }
    let Some(rank) = rank else { return Ok(true) };
    let (source, before, is_all) = log.before(event.location, rank);
    if source.is_solid() {
        return Ok(true);
    }
    let source_clock = clocks.recent(rank).ok_or(Stop::Forgotten)?;
    for write in before {
        if write.is_in(source_clock) {
            if write.is_solid() {
                return Ok(true);
            }
        } else if write.is_in(running) {
            conflict(event.source.0, write.event, write.thread(), clocks)?;
        }
    }
    Ok(is_all)
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

    /// Calls back `(write, thread)` for the conflict edges of a read.
    fn visit(
        &mut self,
        read: u32,
        thread: usize,
        clocks: &Clocks,
        mut conflict: impl FnMut(u32, usize) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let event = self.execution.event(EventId(read));
        let range = self.writes.segment_range(event.location);
        self.cursors.seek(&self.writes, range.clone(), clocks.running(thread));
        let source_clock = match rank(event, clocks) {
            Some(rank) => clocks.recent(rank).ok_or(Stop::Forgotten)?,
            None => &[],
        };
        for (_, of, write) in self.cursors.last(range) {
            if source_clock.get(of).is_none_or(|&known| write >= known) {
                refuse_stale(self.execution, read, write, clocks)?;
                conflict(write, of)?;
            }
        }
        Ok(())
    }
}
