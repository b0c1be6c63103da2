//! `cc`: no read r of w has a write w' on its location with w co w' co r. The algorithm is Algorithm 1 of RF,
//! corrected.
//!
//! Such a w' is done after w, so it stands after w in the [`Log`] of the location. It is enough to look at reads r
//! whose thread knew of w before r. Otherwise w comes into the past of the thread with r. Then no event that the thread
//! knew before is after w, and every event that comes in together with w is before w.
//!
//! Let r know of w', and let w' be neither w nor `co`-before w. Then either w co w', which is a violation, or there is
//! a conflict edge w' -> w, which `ccv` collects.
//!
//! The algorithm takes O(n k). If the log has more than a few writes for each thread after w, the last write w' of each
//! thread before r is looked at instead. If an earlier write of the thread is after w, so is the last. A conflict edge
//! from the last write implies those from the earlier writes of the thread.

use history::Execution;
use history::execution::{Event, EventId, Kind};
use order::lanes::BLOCK;
use order::{Clocks, Fixed, Width};

use super::derive::Deriver;
use super::lasts::{Conflict, Conflicts, LastWrites};
use super::log::Log;
use super::{Answer, Halt, PassStop, in_blocks, in_one_block, pass, with_write_clocks};
use crate::Limits;
use crate::writes::{Cursors, Writes};

/// Decides `cc`. The execution must have no thin-air reads.
pub fn check(execution: &Execution, limits: &Limits) -> Answer {
    if in_one_block(execution) {
        decide(Fixed::<BLOCK>, execution, limits)
    } else {
        decide(in_blocks(execution), execution, limits)
    }
}

/// Decides `cc` with clocks of so many entries.
fn decide<W: Width>(width: W, execution: &Execution, limits: &Limits) -> Answer {
    with_write_clocks(width, execution, limits, |clocks, _| {
        let mut log = Log::new(execution, limits);
        let mut last_of_threads = None;
        pass(execution, clocks, &limits.budget, Kind::writes, |id, event, thread, known, clocks| {
            if event.source != EventId::NONE && known {
                let running = clocks.running(thread);
                match log.after(event.location, rank(event, clocks)) {
                    Some(after) if !after.iter().fold(false, |any, write| any | write.is_in(running)) => {}
                    Some(after) => {
                        for write in after.iter().filter(|write| write.is_in(running)) {
                            refuse_stale(execution, id, write.event, clocks)?;
                        }
                    }
                    None => LastOfThreads::of(&mut last_of_threads, execution)
                        .visit(id, thread, clocks, |write| refuse_stale(execution, id, write, clocks))?,
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

/// Reports a violation if `write`, which a read knows of, overwrites the write that it reads.
#[inline]
fn refuse_stale<W: Width>(execution: &Execution, read: u32, write: u32, clocks: &Clocks<W>) -> Result<(), PassStop> {
    let source = execution.event(EventId(read)).source;
    if source != EventId::INIT {
        let clock = clocks.recent(clocks.rank(write)).ok_or(PassStop::Forgotten)?;
        if source.0 >= clock[execution.thread(source).index()] {
            return Ok(());
        }
    }
    Err(Halt::Violation(Deriver::new(execution).stale_read(read, source, write, false)).into())
}

/// Finds conflicts that, together with causality, generate all of `cf[co]`. If a read violates `cc`, its conflicts make
/// a cycle. A read of an initial value is the exception, since the initial write is no event that could be on a cycle.
/// The answer is `false` if such a read violates `cc`.
///
/// `settle` is called after every `every` writes, and at the end. It gets the conflicts that were found since the last
/// call. All their writes are done.
pub(super) fn find_conflicts<W: Width>(
    width: W,
    execution: &Execution,
    clocks: &mut Clocks<W>,
    every: usize,
    limits: &Limits,
    mut settle: impl FnMut(&mut Conflicts, &Clocks<W>) -> Result<(), PassStop>,
) -> Result<bool, PassStop> {
    // The clock of the initial write, before which there is nothing.
    let mut nothing = execution.starts()[..execution.thread_count()].to_vec();
    nothing.resize(width.entries(), 0);
    let mut lasts = LastWrites::new(width, execution, limits);
    let mut last_of_threads = None;
    let (mut found, mut overwritten) = (Conflicts::default(), Conflicts::default());
    let mut is_bounded = true;
    let mut countdown = every;
    let most = limits.knobs.causal.conflicts;
    pass(execution, clocks, &limits.budget, Kind::writes, |id, event, thread, _, clocks| {
        if event.source != EventId::NONE {
            let source_rank = rank(event, clocks);
            let (list, source_clock) = match source_rank {
                Some(rank) => (&mut found, clocks.recent(rank).ok_or(PassStop::Forgotten)?),
                None => (&mut overwritten, &*nothing),
            };
            let (source, source_rank) = (event.source.0, source_rank.unwrap_or_default());
            let is_near = lasts.as_ref().is_some_and(|lasts| {
                lasts.find(event.location, clocks.running(thread), (source, source_rank, source_clock), list)
            });
            if !is_near {
                LastOfThreads::of(&mut last_of_threads, execution).visit(id, thread, clocks, |write| {
                    list.reserve(1);
                    list.push_if(true, Conflict { source, source_rank, write, rank: clocks.rank(write) });
                    Ok(())
                })?;
            }
            if event.source == EventId::INIT {
                is_bounded &= overwritten.all().is_empty();
                overwritten.clear();
            }
        }
        if event.kind.writes() {
            if let Some(lasts) = &mut lasts {
                lasts.push(id, thread, event.location);
            }
            countdown = countdown.saturating_sub(1);
        }
        if countdown == 0 || found.all().len() >= most {
            countdown = every;
            settle(&mut found, clocks)?;
        }
        Ok(())
    })?;
    settle(&mut found, clocks)?;
    Ok(is_bounded)
}

/// The last write of each thread on each location. It serves reads that have too many writes in the log to look at.
struct LastOfThreads<'a> {
    execution: &'a Execution,
    writes: Writes,
    cursors: Cursors,
}

impl<'a> LastOfThreads<'a> {
    /// The value in the option. It is built when it is needed for the first time.
    #[cold]
    fn of<'f>(last_of_threads: &'f mut Option<Self>, execution: &'a Execution) -> &'f mut Self {
        last_of_threads.get_or_insert_with(|| {
            let writes = Writes::new(execution);
            let cursors = Cursors::new(&writes);
            Self { execution, writes, cursors }
        })
    }

    /// For each thread, visits the last write that a read knows of, unless the source of the read knows of it, too.
    fn visit<W: Width>(
        &mut self,
        read: u32,
        thread: usize,
        clocks: &Clocks<W>,
        mut visit: impl FnMut(u32) -> Result<(), PassStop>,
    ) -> Result<(), PassStop> {
        let event = self.execution.event(EventId(read));
        let range = self.writes.segment_range(event.location);
        self.cursors.seek(&self.writes, range.clone(), |of| clocks.before(read, thread, of as usize));
        let source_clock = match rank(event, clocks) {
            Some(rank) => clocks.recent(rank).ok_or(PassStop::Forgotten)?,
            None => &[],
        };
        for (_, thread, write) in self.cursors.last(range) {
            if source_clock.get(thread).is_none_or(|&known| write >= known) {
                visit(write)?;
            }
        }
        Ok(())
    }
}
